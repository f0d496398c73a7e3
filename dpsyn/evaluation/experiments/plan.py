"""What an experiment consists of: mechanisms × values of one setting × repeats, each cell with a seed of its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpsyn import checks
from dpsyn.data.counted import AnyTable
from dpsyn.errors import DataError, ParameterError
from dpsyn.evaluation.experiments.marks import fingerprint
from dpsyn.mechanisms.base import Axis, Config
from dpsyn.mechanisms.records import config_from_dict, config_to_dict, spec_from_dict
from dpsyn.mechanisms.registry import MECHANISMS, as_it_comes, config_class
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.table import Table

REPEATS, DRAWS = 5, 2
_SETTINGS = ("vary", "values", "repeats", "draws", "seed")
_MOST_CELLS = 20_000


def axes() -> dict[str, Axis]:
    """What an experiment can vary: ε, n (which has no values of its own), and the settings that mechanisms name."""
    named = {field: axis for name in MECHANISMS for field, axis in config_class(name).axes.items()}
    epsilon = Axis("ε (privacy budget): more private to the left", "0.3, 1, 3, 10")
    return {"epsilon": epsilon, "n": Axis("n (real rows learnt from)", ""), **dict(sorted(named.items()))}


def _written(value: object) -> str:
    """What JSON has no word for. Public rows are told apart by all of their cells."""
    return fingerprint(value, None) if isinstance(value, Table) else repr(value)


@dataclass(frozen=True)
class Cell:
    """One run of one mechanism.

    Attributes:
        label: what the mechanism with its settings is called in the experiment.
        config, spec: the settings and the privacy asked for.
        n: number of real rows that it learns from; None takes all.
        value: of the setting that the experiment varies.
        repeat: number of the run among those with the same settings, from 0.
        draws: how many times rows are drawn from what the run has fitted.
        seed: of the experiment.

    Raises:
        ParameterError: a field has a value that it cannot have.
    """

    label: str
    config: Config
    spec: PrivacySpec
    n: int | None
    value: float
    repeat: int
    draws: int
    seed: int

    def __post_init__(self) -> None:
        for name, kind in (("label", str), ("config", Config), ("spec", PrivacySpec)):
            checks.instance(name, getattr(self, name), kind, f"an object of the class {kind.__name__}")
        checks.number("value", self.value)
        object.__setattr__(self, "n", checks.whole_or_none("n", self.n))
        for name, least in (("repeat", 0), ("draws", 1), ("seed", 0)):
            object.__setattr__(self, name, checks.whole(name, getattr(self, name), least))

    @cached_property
    def key(self) -> str:
        """Names the cell by all that decides about its numbers: settings, privacy, n, repeat, draws, seed; not the label."""
        later = self.config.added_later
        settings = {k: v for k, v in config_to_dict(self.config).items() if k not in later or v != later[k]}
        settings |= self.config.removed
        content = [settings, list(asdict(self.spec).values()), self.n, self.repeat, self.draws, self.seed]
        text = json.dumps(content, sort_keys=True, default=_written)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def asked(self) -> dict[str, Any]:
        """ε, δ and neighbouring."""
        return {name: getattr(self.spec, name) for name in ("epsilon", "delta", "neighbouring")}

    @property
    def own_seed(self) -> list[int]:
        """What :meth:`generator` starts from."""
        return [self.seed, *bytes.fromhex(self.key)]

    def generator(self) -> np.random.Generator:
        """Random numbers of this cell alone: the same whatever else is in the experiment and wherever it runs."""
        return np.random.default_rng(self.own_seed)

    def rows_generator(self) -> np.random.Generator:
        """Decides which n real rows a repeat learns from: the same for all mechanisms, so that they see the same rows."""
        return np.random.default_rng([self.seed, self.repeat, self.n or 0])


@dataclass(frozen=True)
class Grid:
    """An experiment: every mechanism at every value of one setting, several times, under one (ε, δ, neighbouring).

    Args:
        configs: settings of each mechanism, by the label that figures and tables show.
        spec: the privacy asked of all of them; its ε is replaced where ε varies.
        vary: the setting on the horizontal axis: ``"epsilon"``, ``"n"`` (real rows learnt from) or a setting of the
            mechanisms; a mechanism that has no such setting is run once per repeat, which counts at all values alike.
        values: what it takes, in ascending order.
        repeats: runs of every mechanism at every value; their spread is noise and draw together.
        draws: times that rows are drawn from one run's fit; two or more tell the draw's part of the spread.
        seed: makes the experiment repeatable. Its releases are demonstrations.

    Raises:
        ParameterError: nothing to run, an unknown setting, a value that it cannot take, or more than 20,000 runs.
    """

    configs: Mapping[str, Config]
    spec: PrivacySpec
    vary: str = "epsilon"
    values: Sequence[float] = (1.0,)
    repeats: int = 5
    draws: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        why = "settings of at least one mechanism, by labels"
        given_configs = checks.mapping("configs", self.configs, why)
        configs = {
            checks.text("configs", label, why): checks.instance("configs", config, Config, why)
            for label, config in given_configs.items()
        }
        if not configs:
            raise ParameterError("configs", configs, why)
        object.__setattr__(self, "configs", configs)
        checks.instance("spec", self.spec, PrivacySpec, "a dpsyn.PrivacySpec")
        object.__setattr__(self, "vary", checks.choice("vary", self.vary, axes()))
        for name, least, most in (("repeats", 1, 1_000), ("draws", 1, 1_000), ("seed", 0, checks.LARGEST_WHOLE)):
            object.__setattr__(self, name, checks.whole(name, getattr(self, name), least, most))
        given = [
            checks.number("values", value, above=0.0) for value in checks.items("values", self.values, "a list of numbers")
        ]
        if self.vary != "epsilon":
            given = [checks.whole("values", int(v) if v == int(v) else v) for v in given]
        values = tuple(sorted(given))
        if not values or len(set(values)) < len(values):
            raise ParameterError("values", values, "at least one number, and none of them twice")
        object.__setattr__(self, "values", values)
        if self.repeats * len(values) * len(configs) > _MOST_CELLS:
            raise ParameterError("repeats", self.repeats, f"at most {_MOST_CELLS:,} runs of all mechanisms at all values")
        if not any(self._varies(config) for config in self.configs.values()):
            raise ParameterError("vary", self.vary, "a setting that at least one of the mechanisms has")
        for value in (values[0], values[-1]):  # what every mechanism can have lies between two ends
            labels: dict[str, str] = {}
            for label, config in configs.items():
                try:
                    same = labels.setdefault(self._cell(label, config, value, 0).key, label)
                except ParameterError as fault:
                    raise ParameterError("values", value, fault.allowed) from fault
                if same != label:
                    raise ParameterError("configs", [same, label], "settings that differ; these come to the same runs")

    def _varies(self, config: Config) -> bool:
        return self.vary in {"epsilon", "n", *config.axes}

    def counts_at(self, label: str, value: float) -> Sequence[float]:
        """The values at which a run counts: its cell's own, or all where the mechanism has no setting that varies."""
        label, value = checks.text("label", label, "that of a mechanism"), checks.number("value", value)
        return [value] if label not in self.configs or self._varies(self.configs[label]) else self.values

    def cells(self) -> Iterator[Cell]:
        """All cells: repeat by repeat, so that an experiment that is stopped early has a bit of everything."""
        for repeat in range(self.repeats):
            for value in self.values:
                for label, config in self.configs.items():
                    yield self._cell(label, config, value, repeat)

    def _cell(self, label: str, config: Config, value: float, repeat: int) -> Cell:
        spec, n = self.spec, None
        if self.vary == "epsilon":
            spec = replace(spec, epsilon=float(value))
        elif self.vary == "n":
            n = int(value)
        elif self._varies(config):
            config = replace(config, **{self.vary: int(value)})
        return Cell(label, config, spec, n, value, repeat, self.draws, self.seed)

    def to_dict(self) -> dict[str, Any]:
        """The experiment as plain data."""
        return {
            "configs": {label: config_to_dict(config) for label, config in self.configs.items()},
            "spec": asdict(self.spec),
            **{name: getattr(self, name) for name in _SETTINGS},
            "values": list(self.values),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Grid:
        """The experiment that :meth:`to_dict` wrote down.

        Raises:
            InputError: something in it does not make an experiment.
        """
        data = checks.mapping("grid", data, "what to_dict wrote")
        absent = {f.name for f in fields(cls)} - data.keys()
        if absent:
            raise DataError(f"the experiment's plan lacks {min(absent)!r}")
        configs = checks.mapping("configs", data["configs"], "settings of at least one mechanism, by labels")
        made = {label: config_from_dict(config) for label, config in configs.items()}
        return cls(made, spec_from_dict(data["spec"]), **{name: data[name] for name in _SETTINGS})


def mechanisms_as_they_come(table: AnyTable, target: str | None, names: Iterable[str] = MECHANISMS) -> dict[str, Config]:
    """The mechanisms by their titles, with the settings that they have when nobody chooses any.

    Args:
        table: the real rows. Everyone releases as many, whatever that costs: an experiment says what it costs.
        target: the column to predict. A mechanism that needs one is left out without it.
        names: of the mechanisms; all by default.
    """
    found = [as_it_comes(name, table, target) for name in names]
    return {config.title: config for config in found if config is not None}


def standard_degrees(columns: int) -> tuple[int, ...]:
    """Numbers of columns of the tables that it compares."""
    return tuple(range(1, min(2, columns) + 1))
