"""The comparison that the page proposes and the benchmark runs: every mechanism as it comes, under one budget."""

from __future__ import annotations

from collections.abc import Sequence

from dpsyn.evaluation.classifiers import BOOSTED, LOGISTIC
from dpsyn.evaluation.experiments.plan import Grid
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.registry import MECHANISMS, config_class
from dpsyn.privacy.spec import PrivacySpec

CLASSIFIERS = (LOGISTIC, BOOSTED)
REPEATS, DRAWS, DELTA, HELD_OUT, SPLIT_SEED = 5, 2, 1e-5, 0.25, 0


def mechanisms_as_they_come(rows: int, target: str | None) -> dict[str, Config]:
    """The mechanisms by their titles, with the settings that they have when nobody chooses any.

    Args:
        rows: n, the number of real rows. Everyone releases as many, whatever that costs: an experiment says what it costs.
        target: the column to predict. A mechanism that needs one is left out without it.
    """
    found = [config_class(name).as_it_comes(rows, target) for name in MECHANISMS]
    return {config.title: config for config in found if config is not None}


def standard_grid(
    rows: int, target: str | None, *, epsilons: Sequence[float] = (1.0,), repeats: int = REPEATS, seed: int = 0
) -> Grid:
    """The experiment that the comparison page runs when only its ε are typed in."""
    spec = PrivacySpec(1.0, DELTA)
    return Grid(
        mechanisms_as_they_come(rows, target), spec, "epsilon", tuple(epsilons), repeats=repeats, draws=DRAWS, seed=seed
    )


def standard_degrees(columns: int) -> tuple[int, ...]:
    """Numbers of columns of the tables that it compares."""
    return tuple(range(1, min(2, columns) + 1))
