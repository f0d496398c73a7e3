"""The shape that every mechanism has: configuration -> (calibrate) -> mechanism -> (run on a table) -> release."""

from __future__ import annotations

import platform
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import version
from typing import Any, ClassVar, NoReturn, cast

import numpy as np
import pandas as pd

from dpsyn import checks
from dpsyn.calendar import with_calendar
from dpsyn.data.counted import AnyTable, CountedTable
from dpsyn.display import PRIVATE, PUBLIC, RELEASED, Shown
from dpsyn.domain import Domain, listed
from dpsyn.errors import DomainError, DpsynError, InputError, NotCalibratedError, ParameterError, quoted
from dpsyn.notation import counted, worded
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import Guarantee, PrivacySpec, Status
from dpsyn.solvers.memory import require_memory
from dpsyn.table import Table
from dpsyn.theory.formulas import Paper

Progress = Callable[[str, float], None]
"""Called with the name of the step that begins and the share of the work done so far, in [0, 1]."""

N_IS_PUBLIC = "The number of rows n is public."
TABLES_ARE_PUBLIC = "The tables that are measured were chosen without looking at the rows."
ROWS_ASSUMPTION = "The number of rows that are made was fixed without looking at the data."


def no_progress(step: str, share: float) -> None:
    """Report nothing."""


@cache
def _versions() -> dict[str, str]:
    tools = ("dpsyn", "numpy", "scipy", "pandas", "cvxpy", "clarabel", "highspy", "opendp", "dp-accounting")
    return {"python": platform.python_version(), **{tool: version(tool) for tool in tools}}


_LOOKED_AT, _MOST_ON_A_BOUND = 10_000, 0.5
"""Rows of which it is told that most of their cells were cut off at a bound."""


@dataclass(frozen=True, repr=False, eq=False)
class Release(Shown):
    """What a mechanism gives out.

    Attributes:
        rows: the synthetic rows; the input's columns and values of its domain. Safe to publish under the guarantee.
        guarantee: the exact claim.
        diagnostics: residuals, shrinkage, solver status, …; NOT private: never publish them.
        mechanism: registered name, e.g. ``"private_sampling"``.
        settings: the configuration and what calibration made of it; n only where it is public (replace-one).
        seeded: the caller handed in the random generator, so the run may be repeatable: the claim is a demonstration's.
        name: how to call the release on a page.
        config, domain: what the mechanism was calibrated from; the record holds them as far as they are public.
    """

    rows: pd.DataFrame
    guarantee: Guarantee
    diagnostics: Mapping[str, Any]
    mechanism: str
    settings: Mapping[str, Any]
    seeded: bool
    name: str = ""
    config: Config | None = None
    domain: Domain | None = None

    def __post_init__(self) -> None:
        checks.instance("rows", self.rows, pd.DataFrame, "a DataFrame")
        checks.instance("guarantee", self.guarantee, Guarantee, "a guarantee")
        for name in ("diagnostics", "settings"):
            checks.instance(name, getattr(self, name), Mapping, "a mapping by name")
        for name in ("mechanism", "name"):
            object.__setattr__(self, name, checks.text(name, getattr(self, name), "a text"))
        checks.instance("config", self.config, Config, "a configuration, or None", optional=True)
        checks.instance("domain", self.domain, Domain, "a domain, or None", optional=True)
        if checks.flag("seeded", self.seeded):
            object.__setattr__(self, "guarantee", self.guarantee.of_a_demonstration())

    def _shown(self) -> tuple[str, list[str]]:
        from dpsyn.mechanisms.registry import DEMONSTRATIONS, MECHANISMS, title

        known = self.mechanism in MECHANISMS | DEMONSTRATIONS
        rows, columns = self.rows.shape
        size = f"{counted(rows, 'row')} of {counted(columns, 'column')}"
        heading = f"{self.name or (title(self.mechanism) if known else self.mechanism)}: {size}"
        proven = self.guarantee.status == "proven"
        notes = [f"  {note}" for note in self.notes]
        may = "The rows may be published under it" if proven else "Nothing of it may be published yet"
        claim = [f"  {line}" for line in self.guarantee._shown()[1][:2]]
        return RELEASED if proven else PRIVATE, [heading, *claim, *notes, f"  {may}; the diagnostics never."]

    @property
    def notes(self) -> tuple[str, ...]:
        """What its rows cannot be, in sentences, from public facts, from the rows and from what the noise let through."""
        from dpsyn.mechanisms.encoding import said_of_noise
        from dpsyn.mechanisms.registry import offered

        if self.config is None or self.domain is None:
            return ()
        of_release = offered(self.mechanism, "expectations:of_release")
        stated = self.guarantee.status == "stated"  # by a file, and by nothing else
        told = () if of_release is None or stated else of_release(self, self.domain)
        noise = () if stated else said_of_noise(self.settings, self.settings.get("n"))
        lost = (*told, *noise, *self.config.not_kept(self.domain))
        if not self.config.fills_empty_numbers:
            return lost
        binned = [a for a in self.domain.attributes if a.is_binned and a.name in self.rows]
        names = [quoted(a.name) for a in binned if a.missing]
        said = f"No cell of {listed(names)} is empty in these rows, though the domain allows it: {self.config.title} takes "
        empty = (f"{said}an empty number or date for the middle of its bounds.",) if names else ()
        ends = [quoted(a.name) for a in binned if a.on_a_bound(self.rows[a.name].iloc[:_LOOKED_AT]) > _MOST_ON_A_BOUND]
        said = (
            f"Most cells of {listed(ends)} lie on a bound of their column: unless the real ones do, there is too much noise"
        )
        return (*lost, *empty, *((f"{said}.",) if ends else ()))

    @property
    def tables(self) -> dict[tuple[str, ...], pd.DataFrame]:
        """Noisy tables that the rows were made from, by the names of their columns; safe to publish as the rows are."""
        from dpsyn.mechanisms.categories import released_tables

        return released_tables(self)

    def record(self) -> dict[str, Any]:
        """A machine-readable record of the run: settings, versions, guarantee. No diagnostics, they are not private.

        No seed either: with it, anybody can take the noise off. With the configuration, and the domain where it is public,
        :func:`~dpsyn.mechanisms.records.verify` calibrates again. Where it is not, categories are named by their numbers.
        """
        from dpsyn.data.schema_file import as_written
        from dpsyn.mechanisms.records import categories_by_number, recorded_config

        config, settings, domain = recorded_config(self.config), dict(self.settings), self.domain
        if domain is not None and not domain.is_public:
            config = None if config is None else categories_by_number(config, domain)
            settings, domain = categories_by_number(settings, domain), None
        return {
            "mechanism": self.mechanism,
            "config": config,
            "domain": None if domain is None else as_written(domain),
            "settings": settings,
            "guarantee": self.guarantee.to_dict(),
            "rows": len(self.rows),
            "columns": list(self.rows.columns),
            "demonstration": self.seeded,
            "versions": dict(_versions()),
        }


@dataclass(frozen=True)
class Axis:
    """A setting that an experiment can vary: what to call it, letter first, and the values that the form proposes."""

    label: str
    values: str
    logarithmic: bool = True

    @property
    def symbol(self) -> str:
        """Its letter."""
        return self.label.split(" (")[0]


DEGREE = Axis("d (degree)", "1, 2, 3", logarithmic=False)
SPACE_SIZE = Axis("m (size of the reduced space)", "1000, 3000, 10000")
ROWS = Axis("k (rows released)", "100, 1000, 10000")


@dataclass(frozen=True)
class Config(ABC):
    """A frozen configuration, validated when made. It cannot run: calibrate it.

    Attributes:
        name, title, paper: as registered, on screen, and where it and its theorems stand.
        axes: its fields that an experiment can vary.
        added_later: fields that earlier versions lack, with the value that says what these did: what a file without them
            means.
        removed: fields that earlier versions had, with the value at which they did what is done now.
        noise_is_draw: every row has noise of its own, so there is no fit to draw from again.
        fills_empty_numbers: no number or date of its rows is empty, whatever the domain allows.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[Paper]
    axes: ClassVar[Mapping[str, Axis]] = {}
    added_later: ClassVar[Mapping[str, Any]] = {}
    removed: ClassVar[Mapping[str, Any]] = {}
    noise_is_draw: ClassVar[bool] = False
    fills_empty_numbers: ClassVar[bool] = False

    @abstractmethod
    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> Mechanism:
        """A runnable mechanism that meets ``spec`` on ``n`` rows of ``domain``.

        Raises:
            CalibrationError: no such guarantee exists; the message says what would have to change.
            ParameterError: a parameter does not fit the domain or n.
        """

    def epsilon_needed(self, spec: PrivacySpec, domain: Domain, n: int) -> tuple[Config, float] | None:
        """Settings that release about n rows, and the ε that they need, where ``spec`` cannot be met; None if no ε helps.

        For comparisons: a mechanism that cannot give what was asked is shown with what it would need.
        """
        return None

    @classmethod
    def as_it_comes(cls, rows: int, target: str | None) -> Config | None:
        """The settings that it has when nobody chooses any, releasing about as many rows as there are.

        Args:
            rows: n, the number of real rows.
            target: the column to predict; a mechanism that needs one gives None without it.

        Raises:
            ParameterError: rows are no number of rows, or the target is no name.
        """
        checks.whole("rows", rows)
        if target is not None:
            checks.text("target", target, "the name of a column, or None")
        return cls()

    def fewer_rows(self, rows: int | None = None) -> Config | None:
        """The same with so many rows, or with as many as the budget allows; None where rows cost nothing."""
        return None

    @property
    def keeps_calendar(self) -> bool:
        """Whether its rows have what dates of the domain are to keep of the calendar."""
        return not self.fills_empty_numbers

    def not_kept(self, domain: Domain) -> tuple[str, ...]:
        """Of what the domain asks to keep, what its rows will not have, in a sentence."""
        checks.instance("domain", domain, Domain, "a dpsyn.Domain, such as table.domain")
        dates = [] if self.keeps_calendar else [quoted(a.name) for a in domain.attributes if a.keep]
        said = f"{self.title} does not keep weekday, month or day of the month of {listed(dates)}, though the domain asks."
        return (said,) if dates else ()

    def _set(self, field: str, value: object) -> None:
        """Keep a field as it was checked, and a mapping for good: for ``__post_init__``."""
        object.__setattr__(self, field, checks.Fixed(value) if isinstance(value, Mapping) else value)

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise NotCalibratedError(
            f"{type(self).__name__} is a configuration and has no guarantee yet: "
            "call .calibrate(spec, table.domain, n=table.n) and run what it returns"
        )

    def settings(self) -> dict[str, Any]:
        """The configuration as plain data."""
        return asdict(self)


_NARROWEST = sys.float_info.min * 2.0**64
"""Width of bounds that can be halved and cut into the steps of a double, all of them normal numbers."""


def check_request(spec: PrivacySpec, domain: Domain, n: int, rows: int | None) -> int:
    """What every ``calibrate`` checks first; n as a plain number.

    Here the public box of the domain becomes numbers that mechanisms compute with: a width that arithmetic cannot carry
    would scale a record by 0.

    Args:
        spec: what is asked for.
        domain: what is public.
        n: how many rows there are.
        rows: how many are to be made; None for as many as there are.

    Raises:
        ParameterError: no specification, no domain, n is no whole number from 1 on, or the rows do not fit into memory.
        DomainError: the bounds of a column are too close together.
    """
    checks.instance("spec", spec, PrivacySpec, "a dpsyn.PrivacySpec")
    checks.instance("domain", domain, Domain, "a dpsyn.Domain, such as table.domain")
    for attribute in domain.attributes:
        if attribute.is_binned and float(attribute.upper or 0.0) - float(attribute.lower or 0.0) < _NARROWEST:
            raise DomainError(
                f"column {quoted(attribute.name)}: the bounds {attribute.lower} and {attribute.upper} are closer "
                "together than "
                f"{_NARROWEST:.0e}, which arithmetic cannot scale by; take wider bounds, or measure in a smaller unit",
                column=attribute.name,
            )
    if rows is not None:
        require_memory("rows", rows, 16 * len(domain) * rows)
    return checks.whole("n", n, why="the number of rows")


@dataclass(frozen=True, repr=False)
class Mechanism(Shown, ABC):
    """A calibrated mechanism: it states its exact guarantee before it has seen a row.

    Attributes:
        config: the configuration it came from.
        spec: what was asked for.
        domain, n: the public facts that it was calibrated to; the domain may have what dates keep of the calendar besides
            (:mod:`dpsyn.calendar`).
        guarantee: the exact claim for one run.
    """

    config: Config
    spec: PrivacySpec
    domain: Domain
    n: int
    guarantee: Guarantee = field(compare=False)

    needs_counts_alone: ClassVar[bool] = False
    """Whether :meth:`_run` takes a table that is counted in place, too."""

    def __init_subclass__(cls) -> None:
        # A dataclass would write a text of its own, with the whole domain in it.
        type.__setattr__(cls, "__repr__", Shown.__repr__)

    def _shown(self) -> tuple[str, list[str]]:
        public = self.domain.is_public and self.guarantee.neighbouring == "replace_one"
        chosen = {name: worded(value) for name, value in self.config.settings().items() if value is not None}
        lines = [
            f"{self.config.title}, calibrated to {self.n:,} rows of {len(self.domain):,} columns; not run yet",
            *(f"  {line}" for line in self.guarantee._shown()[1][:2]),
            "  settings: " + "; ".join(f"{name.replace('_', ' ')} {said}" for name, said in chosen.items()),
            *(f"  {sentence}" for kind, sentence in self.expected() if kind == "warning"),
            "  to run it: mechanism(None, table)",
        ]
        return PUBLIC if public else PRIVATE, lines

    def __post_init__(self) -> None:
        told = self.guarantee.assumptions
        asked = self.config.settings().get("rows") is not None and self.spec.neighbouring == "add_remove"
        if asked and not any("the number of rows" in said.lower() for said in told):
            # n is a secret there, and whoever asks for n rows has told it.
            object.__setattr__(self, "guarantee", replace(self.guarantee, assumptions=(*told, ROWS_ASSUMPTION)))
        warning = self.domain.warning
        if warning and self.guarantee.status in ("proven", "real_arithmetic"):
            # What holds in real arithmetic only is not true once the domain is confirmed, so it keeps its mark.
            status: Status = "unconfirmed_domain" if self.guarantee.status == "proven" else self.guarantee.status
            others = (said for said in self.guarantee.assumptions if said != warning)
            guarded = replace(self.guarantee, status=status, assumptions=(warning, *others))
            object.__setattr__(self, "guarantee", guarded)
        if self.guarantee.status == "published_but_wrong":
            return
        if self.guarantee.epsilon > self.spec.epsilon * (1 + 1e-9) or self.guarantee.delta > self.spec.delta * (1 + 1e-9):
            raise ParameterError("guarantee", self.guarantee.claim, f"at most what was asked for, {self.spec}")

    def claim(self, *, seeded: bool) -> Guarantee:
        """What a release will claim, with a given generator or without one."""
        return self.guarantee.of_a_demonstration() if checks.flag("seeded", seeded) else self.guarantee

    def calibrated(self) -> dict[str, Any]:
        """What calibration added (noise scales, number of rows, …), from public facts only."""
        return {}

    def expected(self) -> list[tuple[str, str]]:
        """What there is to say of a run before it starts, from n and public facts only: ("caption" or "warning", sentence).
        A warning says that little of the data, or of what fine histograms are for, will be left."""
        from dpsyn.mechanisms.encoding import said_of_noise
        from dpsyn.mechanisms.registry import offered

        of_run = offered(self.config.name, "expectations:of_run")
        told = [] if of_run is None else list(of_run(self))
        return [*told, *(("warning", sentence) for sentence in said_of_noise(self.calibrated(), self.n))]

    @property
    def may_drop_rows(self) -> bool:
        """Whether a run may make fewer rows than :meth:`calibrated` says, by what its noise shows."""
        return False

    def facts(self) -> dict[str, Any]:
        """The settings of a release: what was asked for, n where it is public, the configuration, and :meth:`calibrated`."""
        return {
            "requested": asdict(self.spec),
            # Under add_remove the number of rows is a secret of the data.
            **({"n": self.n} if self.guarantee.neighbouring == "replace_one" else {}),
            **self.config.settings(),
            **self.calibrated(),
        }

    @np.errstate(under="ignore")
    def redraw(self, generator: np.random.Generator | None, release: Release) -> pd.DataFrame | None:
        """Rows drawn once more from what ``release`` has fitted, to tell the draw's error from that of the noise.

        For experiments: a second draw is not part of the release, and its privacy is not accounted for. None where noise
        and draw are one.

        Args:
            generator: draws the rows; None takes the system's entropy.
            release: of this mechanism, with its diagnostics.

        Raises:
            ParameterError: they are something else.
        """
        why = f"what {self.config.title} returned"
        if checks.instance("release", release, Release, why).mechanism != self.config.name:
            raise ParameterError("release", release, why)
        return self._redraw(NoiseSource(generator).generator, release)

    def _redraw(self, generator: np.random.Generator, release: Release) -> pd.DataFrame | None:
        """The rows of :meth:`redraw`."""
        return None

    @abstractmethod
    def _run(self, noise: NoiseSource, table: Table, progress: Progress) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Rows and diagnostics."""

    @np.errstate(under="ignore")  # a probability that is too small for a double is 0, whatever the caller has it do
    def __call__(
        self, generator: np.random.Generator | None, table: AnyTable | None = None, progress: Progress = no_progress
    ) -> Release:
        """Run once.

        Args:
            generator: None draws on the system's entropy, with the exact samplers of OpenDP for whole numbers (DP-CDA: see
                ``noise_sampler``). A generator makes the run repeatable, hence a demonstration: the release says so.
            table: rows over the domain that the mechanism was calibrated to. Those of a table that is counted in place are
                read into memory for a mechanism that needs more than counts.
            progress: told of each step.
        """
        checks.function("progress", progress, checks.PROGRESS)
        if not isinstance(table, AnyTable):
            raise ParameterError(
                "table",
                table,
                "a dpsyn Table, which dpsyn.read_table(...) makes, of a DataFrame too: mechanism(None, table)",
            )
        if self.domain not in (table.domain, with_calendar(table.domain)):
            raise InputError("the table's domain is not the one that the mechanism was calibrated to; calibrate again")
        if table.n != self.n:
            raise ParameterError("n", table.n, f"the mechanism was calibrated to {self.n} rows; calibrate again")
        if isinstance(table, CountedTable) and not self.needs_counts_alone:
            progress("drawing the rows from where they lie", 0.0)
            table = table.loaded()
        noise = NoiseSource(generator)
        rows, diagnostics = self._run(noise, cast(Table, table), progress)
        progress("handing over the rows", 1.0)
        return Release(
            rows=rows,
            guarantee=self.claim(seeded=noise.seeded),
            diagnostics=diagnostics,
            mechanism=self.config.name,
            settings=self.facts(),
            seeded=noise.seeded,
            config=self.config,
            domain=table.domain,
        )


def run_all(mechanisms: Mapping[str, Mechanism], table: Table, progress: Progress) -> dict[str, tuple[Release | str, float]]:
    """A background job: one release of each, or why there is none, with the seconds that it took."""
    made: dict[str, tuple[Release | str, float]] = {}
    for i, (name, mechanism) in enumerate(mechanisms.items()):
        begun = time.monotonic()
        title, share = mechanism.config.title, 1 / len(mechanisms)

        def part(step: str, done: float, title: str = title, before: float = i * share, share: float = share) -> None:
            progress(f"{title}: {step}", before + done * share)

        try:
            found: Release | str = mechanism(None, table, part)
        except DpsynError as fault:
            found = str(fault)
        made[name] = found, time.monotonic() - begun
    return made


def run(mechanism: Mechanism, table: Table, seed: int | None, progress: Progress) -> Release:
    """A background job: one release; a seed makes it a demonstration."""
    return mechanism(None if seed is None else np.random.default_rng(seed), table, progress)
