"""What the page Feasibility is about: which data, which privacy, and the settings that its sliders give the theorems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from dpsyn.kit import widgets
from dpsyn.kit.visit import Dataset
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics

_SMALLEST = widgets.SIZES[0]


@dataclass(frozen=True)
class Slider:
    """A setting of the theorems in the sidebar. Mechanisms that share a setting share its slider.

    Attributes:
        setting: its name, as ``dpsyn.feasibility`` takes it.
        draw: draws the widget with a ``value`` to begin with, and gives the setting's value.
        usual: what it is until somebody moves it.
        key: of the widget.
        values: what it can be, in order; pictures that follow it while it is dragged are made for each of them.
    """

    setting: str
    draw: Callable[..., Any]
    usual: Any
    key: str = ""
    values: Sequence[Any] = ()

    def drawn(self) -> Any:
        """Draw the widget: the setting's value."""
        return self.draw(value=self.usual)


@dataclass(frozen=True)
class Chosen:
    """One dataset on the page: its statistics and what is known of its classes.

    ``loaded`` is the dataset of this visit, where these are its numbers.
    ``smallest_class`` is the real one of loaded data with a target; None where nobody knows it, and n / K stands in.
    ``domain_warning`` says why no guarantee holds yet, and is empty where the domain is public.
    """

    stats: DatasetStatistics
    private: bool
    loaded: Dataset | None = None
    classes: int = 2
    smallest_class: int | None = None
    domain_warning: str = ""

    @classmethod
    def of(cls, current: Dataset) -> Chosen:
        """The dataset of this visit."""
        classes, smallest = current.balance
        warning = current.table.domain.warning
        return cls(current.statistics, True, current, classes, smallest, warning)


@dataclass(frozen=True)
class Explorer:
    """Everything that the sections draw from.

    Attributes:
        chosen: the datasets side by side; the first is the one in the details.
        spec: the privacy asked for.
        settings: what the sliders say, by setting.
        sliders: those that pictures can follow.
    """

    chosen: tuple[Chosen, ...]
    spec: PrivacySpec
    settings: Mapping[str, Any]
    sliders: tuple[Slider, ...] = ()

    @property
    def focus(self) -> Chosen:
        """The dataset of the details."""
        return self.chosen[0]

    @property
    def private(self) -> bool:
        """Whether any of the datasets' statistics were read from private rows."""
        return any(chosen.private for chosen in self.chosen)

    @property
    def stats(self) -> DatasetStatistics:
        """Its statistics."""
        return self.focus.stats

    def settings_of(self, chosen: Chosen) -> dict[str, Any]:
        """The settings for one of the datasets: d is at most p, and its classes are among them."""
        return {
            **self.settings,
            "degree": min(self.settings["degree"], chosen.stats.p),
            "classes": chosen.classes,
            "smallest_class": chosen.smallest_class,
        }

    def moved(self, *names: str) -> tuple[list[Explorer], dict[str, int]]:
        """The page as it would be at every value of some of its sliders, one after the other; and how many values each has,
        by its key, as :mod:`dpsyn.kit.live` takes both."""
        sliders = [slider for name in names for slider in self.sliders if slider.setting == name]
        found = [self.at(slider.setting, value) for slider in sliders for value in slider.values]
        return found, {slider.key: len(slider.values) for slider in sliders}

    def at(self, setting: str, value: Any) -> Explorer:
        """The page with one slider at this value."""
        if setting == "epsilon":
            return replace(self, spec=replace(self.spec, epsilon=value))
        return replace(self, settings={**self.settings, setting: value})

    def only(self, *names: str) -> dict[str, Any]:
        """Some settings of the dataset of the details, by name."""
        settings = self.settings_of(self.focus)
        return {name: settings[name] for name in names}


def _reduced_space_size(*, value: None) -> int | None:
    """Its slider; ``value`` stands for the smallest size that is allowed."""
    size = st.select_slider(
        "m (size of the reduced space)", widgets.SIZES, _SMALLEST, key="f_m", bind="query-params", help=widgets.AFTERWARDS
    )
    return None if size == _SMALLEST else round(float(size))


EPSILON = Slider("epsilon", widgets.epsilon_slider, widgets.USUAL[widgets.EPSILON], widgets.EPSILON, widgets.EPSILONS)
DEGREE = Slider(
    "degree",
    partial(widgets.degree_slider, "It moves every verdict but DP-CDA's."),
    widgets.USUAL[widgets.DEGREE],
    widgets.DEGREE,
    widgets.DEGREES,
)
DELTA = Slider(
    "delta",
    partial(
        widgets.delta_slider,
        why=f"It moves DP-CDA's verdict, and the noise of a run of noisy reweighting. {widgets.AFTERWARDS}",
    ),
    widgets.USUAL[widgets.DELTA],
    widgets.DELTA,
    widgets.DELTAS,
)
FAILURE_PROBABILITY = Slider(
    "failure_probability",
    partial(
        st.slider,
        "γ (failure probability of the accuracy theorems)",
        0.005,
        0.245,
        step=0.005,
        key="f_gamma",
        format="%.3f",
        bind="query-params",
        help=widgets.AFTERWARDS,
    ),
    0.125,
    "f_gamma",
    tuple(round(0.005 * i, 3) for i in range(1, 50)),
)
ACCURACY = Slider(
    "accuracy",
    partial(
        st.number_input,
        "accuracy (the papers' δ or α)",
        0.001,
        0.5,
        step=0.001,
        format="%.3f",
        key="f_accuracy",
        bind="query-params",
        help="What noisy reweighting and MWEM are asked for: an error of at most 8 times it.",
    ),
    0.125,
    "f_accuracy",
    tuple(round(0.001 * i, 3) for i in range(1, 501)),
)
ROWS = Slider(
    "rows",
    partial(
        st.select_slider,
        "k (synthetic rows)",
        widgets.COUNTS,
        key="f_rows",
        bind="query-params",
        format_func="{:,}".format,
        help="How many rows a release has. It moves every verdict but MWEM's.",
    ),
    1000,
    "f_rows",
    widgets.COUNTS,
)
REDUCED_SPACE_SIZE = Slider("reduced_space_size", _reduced_space_size, None)
