"""Every mechanism under audit on two small tables, the worst pair that is known for it.

All that most mechanisms learn of the rows is what their noise answers. So a mechanism runs on D while every question to the
noise and every answer is written down, and once more on D' with those very answers: what the answers tell is the sum over
the questions of ln P(answer | asked of D) - ln P(answer | asked of D'), and no score says more (Neyman, Pearson). Whatever
else is drawn at random has nothing to do with the rows, and counts as known. A folder whose mechanism learns otherwise, or
comes nearer to its claim elsewhere, offers ``audit:worst_case(spec)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count as count_from
from typing import Any, NoReturn, Unpack

import numpy as np
import pandas as pd

from dpsyn import checks
from dpsyn.attribute import Attribute
from dpsyn.domain import Domain
from dpsyn.mechanisms.base import Config, Mechanism, no_progress
from dpsyn.mechanisms.feature_map import FeatureMap, Floats
from dpsyn.mechanisms.points import OnPoints, Points
from dpsyn.mechanisms.registry import config_class, offered
from dpsyn.privacy.audit import (
    RUNS,
    SHARES,
    Audit,
    Claim,
    Runs,
    Scores,
    audit,
    log_ratio,
    log_ratio_if_picked,
)
from dpsyn.privacy.discrete_gaussian import continuous_delta
from dpsyn.privacy.noise import Integers, NoiseSource
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.privacy.zcdp import zcdp_delta
from dpsyn.solvers.executors import one_blas_thread
from dpsyn.table import Table

Trial = Callable[..., Audit]
"""An audit that takes ``runs``, ``confidence``, ``noise_factor``, ``generator`` and ``progress`` by name."""

CALIBRATED, HALVED = "as calibrated", "half of the noise (on purpose)"
_TOLD = 100
"""Runs between two reports."""
_PLAINLY = 1e6
"""Score of a run whose questions themselves tell the two tables apart."""


def trials(name: str, spec: PrivacySpec) -> dict[str, Trial]:
    """The audits of a mechanism by what is under audit: the mechanism, with half of its noise, and what else it offers.

    Raises:
        CalibrationError: it cannot make this claim.
        ParameterError: no mechanism has this name, or ``spec`` is none.
    """
    checks.instance("spec", spec, PrivacySpec, "a dpsyn.PrivacySpec")
    config, own, more = config_class(name), offered(name, "audit:worst_case"), offered(name, "audit:more_trials")
    trial: Trial
    if own:
        trial = own(spec)
    elif issubclass(config, Points):
        trial = partial(audit_points, config(rows=1), spec)
    else:
        trial = partial(audit_answers, config(), spec)
    return {CALIBRATED: trial, HALVED: partial(trial, noise_factor=0.5), **(more(spec) if more else {})}


def audit_worst_case(
    name: str,
    spec: PrivacySpec,
    **how: Unpack[Runs],
) -> dict[str, Audit]:
    """All :func:`trials` of a mechanism; nobody's rows are used.

    Args:
        name: registered.
        spec: what is claimed; some mechanisms claim less, as their audit says.
        runs: on each of the two tables of an audit.
        confidence: of every bound.
        how: :class:`~dpsyn.privacy.audit.Runs`.
    """
    wanted, progress = trials(name, spec), how.get("progress")
    progress = no_progress if progress is None else progress
    checks.function("progress", progress, checks.PROGRESS)
    how["generator"] = checks.generator("generator", how.get("generator")) or np.random.default_rng()
    found: dict[str, Audit] = {}
    for at, (what, trial) in enumerate(wanted.items()):

        def told(step: str, share: float, at: int = at, what: str = what) -> None:
            progress(f"{what}: {step}", (at + share) / len(wanted))

        found[what] = trial(**how | {"progress": told})
    progress("handing over what was found", 1.0)
    return found


def _check(config: object, kind: type, spec: object) -> None:
    checks.instance("config", config, kind, "the settings of a mechanism that this audits")
    checks.instance("spec", spec, PrivacySpec, "a dpsyn.PrivacySpec")


def bits(columns: int) -> Domain:
    """So many columns of truth values.

    Raises:
        ParameterError: it is no number of columns.
    """
    columns = checks.whole("columns", columns, 1, 10_000)
    return Domain.of(Attribute(f"b{j}", "truth", (0, 1), public=True) for j in range(columns))


def small_tables(columns: int, rows: int, spec: PrivacySpec) -> tuple[Table, Table]:
    """Rows of truth values: 0 in the first column and 1 in the others, but for the first row, which is 0 everywhere. It
    becomes 1 everywhere, or such a row is added.

    That moves two cells of every table (one, where a row is added), and scores of the first column against those of others.

    Raises:
        ParameterError: an argument is out of range.
    """
    columns, rows = checks.whole("columns", columns, 1, 20), checks.whole("rows", rows, 1, 1_000_000)
    checks.instance("spec", spec, PrivacySpec, "a dpsyn.PrivacySpec")
    domain, codes = bits(columns), np.ones((rows, columns), dtype=np.int64)
    codes[:, 0] = codes[0] = 0
    ones = np.ones((1, columns), dtype=np.int64)
    changed = [ones, codes[spec.neighbouring == "replace_one" :]]
    first, second = (Table(pd.DataFrame(each, columns=domain.names), domain) for each in (codes, np.concatenate(changed)))
    return first, second


def audit_answers(
    config: Config,
    spec: PrivacySpec,
    *,
    columns: int = 2,
    rows: int = 2,
    noise_factor: float = 1.0,
    **how: Unpack[Runs],
) -> Audit:
    """Audit all answers of the noise on :func:`small_tables`. Steps after the last question are left out.

    Args:
        config: of a mechanism that learns of the rows by whole numbers with noise and by choices alone.
        spec: what it is calibrated to.
        columns: of the tables.
        rows: of the first.
        noise_factor: the noise is drawn at this multiple of its scale: 1 audits the mechanism, 1/2 a faulty one.
        how: :class:`~dpsyn.privacy.audit.Runs`.

    Raises:
        ParameterError: an argument is out of range.
    """
    _check(config, Config, spec)
    noise_factor = checks.scale("noise_factor", noise_factor)
    tables = small_tables(columns, rows, spec)
    mechanism = config.calibrate(spec, tables[0].domain, tables[0].n)
    source, quiet, done = NoiseSource(how.get("generator")), _last_steps(mechanism, tables[0]), count_from()
    runs, progress = how.get("runs", RUNS), how.pop("progress", None)
    progress = no_progress if progress is None else progress
    checks.function("progress", progress, checks.PROGRESS)
    how["generator"] = source.generator

    def told_apart(mine: Table, theirs: Table) -> float:
        """ln P(answers | mine) - ln P(answers | theirs) of a run on mine."""
        coins = int(source.generator.integers(2**63))
        heard = _heard(mechanism, mine, _Listening(coins, source, noise_factor), quiet)
        again = _heard(mechanism, theirs, _Listening(coins, source, noise_factor, heard), set())
        if [one.alike for one in heard] != [one.alike for one in again]:
            return _PLAINLY
        return sum(a.log_ratio(b.values) for a, b in zip(heard, again, strict=True))

    def scored(at: int) -> Scores:
        def run(count: int, _: np.random.Generator) -> Floats:
            scores = np.empty(count)
            with one_blas_thread():
                for i in range(count):
                    if (before := next(done)) % _TOLD == 0:
                        progress("running it on small tables", before / (2 * runs))
                    scores[i] = (1 - 2 * at) * told_apart(tables[at], tables[1 - at])
            return scores.round(9)

        return run

    claim = mechanism.guarantee
    return audit(
        scored(0),
        scored(1),
        delta=claim.delta,
        claim=claim.epsilon,
        profile=_profile(mechanism),
        **how,
    )


def _profile(mechanism: Mechanism) -> list[Claim]:
    """(ε', δ(ε')) by zCDP where all parts of the ledger have their ρ; pure ε claims nothing more."""
    parts = mechanism.calibrated().get("ledger", ())
    if not parts or not all("rho" in part for part in parts):
        return []
    rho = sum(part["rho"] for part in parts)
    return [(epsilon, zcdp_delta(rho, epsilon)) for epsilon in (share * mechanism.guarantee.epsilon for share in SHARES)]


@dataclass(frozen=True, eq=False)
class _Answer:
    """A question to the noise, with the scale that is answered at, and the answer."""

    kind: str
    values: Integers
    scale: float
    said: Any

    @property
    def alike(self) -> tuple[Any, ...]:
        """What has to be alike on neighbours."""
        return self.kind, self.values.shape, self.scale

    def log_ratio(self, others: Integers) -> float:
        """ln P(answer | these values) - ln P(answer | others)."""
        return float(log_ratio(self.kind, np.ravel(self.said), np.ravel(self.values), np.ravel(others), self.scale))


class _Over(Exception):
    """Nothing that follows is asked of the rows."""


class _Listening(NoiseSource):
    """Answers by another source at a multiple of its scale, or as it was answered before, and keeps all of it."""

    def __init__(self, coins: int, source: NoiseSource, factor: float, before: Sequence[_Answer] | None = None) -> None:
        super().__init__(np.random.default_rng(coins))
        self.source, self.factor, self.before = source, factor, before
        self.heard: list[_Answer] = []

    def _answered(self, kind: str, values: Integers, scale: float, ask: Callable[..., Any]) -> Any:
        at, before = len(self.heard), self.before
        if before is not None and at == len(before):
            raise _Over
        self.heard.append(_Answer(kind, values, scale, ask(values, scale) if before is None else before[at].said))
        if before is not None and at + 1 == len(before):
            raise _Over
        return self.heard[-1].said

    def discrete_laplace(self, values: Integers, scale: float) -> Any:
        return self._answered("laplace", values, scale * self.factor, self.source.discrete_laplace)

    def discrete_gaussian(self, values: Integers, scale: float) -> Any:
        return self._answered("gaussian", values, scale * self.factor, self.source.discrete_gaussian)

    def exponential_choice(self, scores: Integers, scale: float) -> Any:
        return self._answered("choice", scores, scale * self.factor, self.source.exponential_choice)

    def exponential_choices(self, scores: Integers, scale: int, count: int) -> Any:
        ask = partial(self.source.exponential_choices, count=count)
        return self._answered("choice", scores, max(1, round(scale * self.factor)), ask)


def _heard(mechanism: Mechanism, table: Table, noise: _Listening, quiet: set[str]) -> list[_Answer]:
    def progress(step: str, share: float) -> None:
        if step in quiet:
            raise _Over

    with suppress(_Over):
        mechanism._run(noise, table, progress)
    return noise.heard


def _last_steps(mechanism: Mechanism, table: Table) -> set[str]:
    """Names of the steps before which a run had asked its last question."""
    noise, told = _Listening(0, NoiseSource(np.random.default_rng(0)), 1.0), []
    mechanism._run(noise, table, lambda step, share: told.append((step, len(noise.heard))))
    return {step for step, _ in told} - {step for step, asked in told if asked < len(noise.heard)}


class _Undecoded(FeatureMap):
    """Ends a run at its noisy points: decoding them is post-processing, which loses some of what they tell."""

    def decode_pieces(self, values: Floats, generator: np.random.Generator, standard: Any = None) -> NoReturn:
        raise _Over(values / self.length)


def audit_points(
    config: Config,
    spec: PrivacySpec,
    *,
    n: int = 1,
    picked: int = 1,
    profile: Callable[[Any], list[Claim]] | None = None,
    noise_factor: float = 1.0,
    **how: Unpack[Runs],
) -> Audit:
    """Audit noisy points of n records at one end of a line, of which one moves to the other end, or of one more there.

    Args:
        config: of a mechanism on points; the points have records of their own, drawn independently of each other.
        spec: what it is calibrated to.
        n: how many records.
        picked: how many of them are in a point.
        profile: what the accounting claims besides; None for that of one Gaussian mechanism.
        noise_factor: the noise is drawn at this multiple of its scale: 1 audits the mechanism, 1/2 a faulty one.
        how: :class:`~dpsyn.privacy.audit.Runs`.

    Raises:
        ParameterError: an argument is out of range.
    """
    _check(config, Points, spec)
    n, picked = checks.whole("n", n, 1, 1_000_000), checks.whole("picked", picked, 1, n)
    noise_factor = checks.scale("noise_factor", noise_factor)
    if profile is not None:
        checks.function("profile", profile, "a function of the mechanism, or None")
    domain = Domain.of([Attribute("x", "numeric", lower=-1.0, upper=1.0, public=True)])
    mechanism = config.calibrate(spec, domain, n)
    assert isinstance(mechanism, OnPoints)
    others = np.full(n - (spec.neighbouring == "replace_one"), -1.0)
    first, second = (Table(pd.DataFrame({"x": values}), domain) for values in (np.append(others, 1.0), np.full(n, -1.0)))
    shift, sigma = mechanism.sensitivity, mechanism.noise_scale * noise_factor
    tested = replace(mechanism, noise_scale=sigma, features=_Undecoded(domain))
    gaussian = [(e, continuous_delta(shift / mechanism.noise_scale, e)) for e in (s * spec.epsilon for s in SHARES)]

    def points(table: Table, noise: NoiseSource) -> Floats:
        try:
            tested._run(noise, table, no_progress)
        except _Over as over:
            return np.asarray(over.args[0][:, 0])
        raise AssertionError("points that are not decoded")

    def scored(table: Table) -> Scores:
        def run(count: int, random: np.random.Generator) -> Floats:
            noise = NoiseSource(random)
            found = np.array([points(table, noise) for _ in range(count)])
            return np.asarray(log_ratio_if_picked(found + 1.0, shift, picked / first.n, sigma).sum(axis=1).round(9))

        return run

    return audit(
        scored(first),
        scored(second),
        delta=spec.delta,
        claim=spec.epsilon,
        profile=gaussian if profile is None else profile(mechanism),
        **how,
    )
