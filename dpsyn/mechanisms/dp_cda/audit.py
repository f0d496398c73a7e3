"""DP-CDA under audit: noisy averages, the paper's algorithm on the pair that its z-score gives away; all on one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from dpsyn.attribute import Attribute
from dpsyn.domain import Domain
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.dp_cda import DPCDA, DPCDAMechanism, PublishedDPCDAMechanism, noisy_averages, published_rows
from dpsyn.privacy.audit import CONFIDENCE, RUNS, Audit, Scores, audit
from dpsyn.privacy.spec import PrivacySpec

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, float], None]
Pair = Literal["same_class", "label_change"]

RECORDS, FEATURES, CLASSES = 100, 16, 2
REPLACED, MOVED, POISSON = "a record replaced", "a record moved to the other class", "a record replaced, Poisson"
HALVED, PUBLISHED = "half of the noise (on purpose)", "as published, with its z-score"

_DELTAS = (0.001, 0.01, 0.05, 0.1, 0.2)
_ENTRIES = 4_000_000
"""Numbers made at once."""


def audit_dp_cda(
    mechanism: DPCDAMechanism,
    *,
    pair: Pair = "same_class",
    runs: int = RUNS,
    confidence: float = CONFIDENCE,
    noise_factor: float = 1.0,
    generator: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Audit the noisy averages of the classes that a record x = c·u is in.

    All other records lie at -c·u, or at 0 under Poisson sampling; only the coordinate along u is made, since noise in the
    others says nothing.

    Args:
        mechanism: calibrated with public class sizes.
        pair: ``"same_class"``: x against -x in the class with the highest sampling rate. ``"label_change"``: x in one class
            against x in another.
        runs: on each of the two datasets.
        confidence: of the bound.
        noise_factor: the noise is drawn at this multiple of its scale: 1 audits the mechanism, 1/2 a faulty one.
        generator: None draws on the system's entropy.
        progress: told the step and the share of the work done.

    Raises:
        ParameterError: an argument is out of range, class sizes are estimated, or there is no second class.
    """
    if mechanism.public_sizes is None:
        raise ParameterError("class_sizes", None, "public class sizes: private ones are released with noise of their own")
    if not noise_factor > 0:
        raise ParameterError("noise_factor", noise_factor, "a number > 0")
    order, exact = mechanism.config.order_of_mixture, mechanism.noise_scale_for(mechanism.public_sizes)
    sigma = exact * noise_factor
    classes = _classes(mechanism, pair)

    def scored(which: int) -> Scores:
        def run(count: int, random: np.random.Generator) -> Floats:
            total = np.zeros(count)
            for one in classes:
                averages = noisy_averages(
                    one.members[which],
                    order,
                    one.rows * count,
                    sigma,
                    random,
                    variant=mechanism.config.variant,
                    rate=one.rate,
                )
                total += one.log_ratio(averages.reshape(count, one.rows), order, sigma)
            return total.round(9)

        return run

    guarantee = mechanism.guarantee
    sizes = mechanism.public_sizes
    profile = [(mechanism.epsilon_of_averages(sizes, exact, delta), delta) for delta in _DELTAS if delta > guarantee.delta]
    return audit(
        scored(0),
        scored(1),
        generator=generator,
        runs=runs,
        delta=guarantee.delta,
        confidence=confidence,
        claim=guarantee.epsilon,
        profile=profile,
        progress=progress,
    )


@dataclass(frozen=True, eq=False)
class _Class:
    """A class in the two datasets: its records along u, where x lies in each (None: it is not there), rows made, rate."""

    members: tuple[Floats, Floats]
    places: tuple[float | None, float | None]
    base: float
    rows: int
    rate: float

    def log_ratio(self, averages: Floats, order: int, sigma: float) -> Floats:
        """Σ over rows of ln P(row | first) - ln P(row | second); a row that x is in has moved by (x - base)/l."""
        return self._log_density(averages, 0, order, sigma) - self._log_density(averages, 1, order, sigma)

    def _log_density(self, averages: Floats, which: int, order: int, sigma: float) -> Floats:
        place = self.places[which]
        if place is None or place == self.base:
            return np.zeros(len(averages))
        shift = (place - self.base) / order
        with np.errstate(divide="ignore"):
            stays = np.log1p(-self.rate)
        moved = np.log(self.rate) + (shift * (averages - self.base) - shift**2 / 2) / sigma**2
        return np.asarray(np.logaddexp(stays, moved).sum(axis=1))


def _classes(mechanism: DPCDAMechanism, pair: Pair) -> list[_Class]:
    """The classes that differ between the two datasets, at the smallest sizes that the guarantee covers."""
    if pair not in ("same_class", "label_change"):
        raise ParameterError("pair", pair, "'same_class' or 'label_change'")
    poisson, radius, order = mechanism.config.variant == "poisson", mechanism.radius, mechanism.config.order_of_mixture
    base = 0.0 if poisson else -radius
    sizes = mechanism.public_sizes or ()
    made = [(s, r) for s, r in zip(sizes, mechanism.rows_for(sizes), strict=True) if r]
    (size, rows), *others = sorted(made, key=lambda one: (one[0], -one[1]))

    def members(count: int, place: float | None) -> Floats:
        return np.array([[base]] * (count - (place is not None)) + ([] if place is None else [[place]])).reshape(-1, 1)

    if pair == "same_class":
        places = radius, -radius
        return [_Class((members(size, radius), members(size, -radius)), places, base, rows, order / size)]
    if not others:
        raise ParameterError("pair", pair, "'same_class': there is one class only")
    to_size, to_rows = others[0]
    entered = order / (to_size if poisson else to_size + 1)
    return [
        _Class((members(size, radius), members(size - 1, None)), (radius, None), base, rows, order / size),
        _Class((members(to_size, None), members(to_size + 1, radius)), (None, radius), base, to_rows, entered),
    ]


def audit_published_dp_cda(
    mechanism: PublishedDPCDAMechanism,
    *,
    runs: int = RUNS,
    confidence: float = CONFIDENCE,
    generator: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Audit DP-CDA as printed on the pair that its z-score gives away: all records equal but one, which moves up or down.

    With N - 1 records at v and one at v + a the others are at -1/√(N-1) after the z-score, in every coordinate; with v - a
    they are at 1/√(N-1). So every synthetic row tells where the one record lies. The score is minus the sum of all numbers.

    Args:
        mechanism: calibrated to the published formula; the claim under audit is what it was asked for.
        runs: on each of the two datasets.
        confidence: of the bound.
        generator: None draws on the system's entropy.
        progress: told the step and the share of the work done.
    """
    order, rows = mechanism.config.order_of_mixture, mechanism.rows_per_class
    classes = mechanism.domain[mechanism.config.target].size
    labels = np.arange(mechanism.n, dtype=np.int64) % classes
    dimension = mechanism.features.dimension

    def scored(place: float) -> Scores:
        values = np.zeros((mechanism.n, dimension))
        values[0] = place

        def some(count: int, random: np.random.Generator) -> Floats:
            made, _ = published_rows(
                values,
                labels,
                classes,
                order,
                rows * count,
                mechanism.noise_scale,
                random,
                clip_norm=mechanism.config.clip_norm,
            )
            return np.asarray(-made.reshape(classes, count, -1).sum(axis=(0, 2)).round(9))

        def run(count: int, random: np.random.Generator) -> Floats:
            chunk = max(1, _ENTRIES // (classes * rows * max(dimension, 1)))
            return np.concatenate([some(min(chunk, count - start), random) for start in range(0, count, chunk)])

        return run

    return audit(
        scored(1.0),
        scored(-1.0),
        generator=generator,
        runs=runs,
        delta=mechanism.spec.delta,
        confidence=confidence,
        claim=mechanism.spec.epsilon,
        progress=progress,
    )


def audit_mixing(
    *,
    epsilon: float,
    delta: float,
    order_of_mixture: int,
    runs: int = RUNS,
    confidence: float = CONFIDENCE,
    seed: int | None = None,
    progress: Progress = no_progress,
) -> dict[str, Audit]:
    """Audit DP-CDA on 100 records of 16 numbers in two classes, as many rows as records; the audits by name.

    Args:
        epsilon: of the claim.
        delta: of the claim.
        order_of_mixture: l, at most 50.
        runs: on each of the two datasets of an audit.
        confidence: of every bound.
        seed: None draws on the system's entropy.
        progress: told the step and the share of the work done.

    Raises:
        ParameterError: an argument is out of range.
    """
    domain = Domain.of(
        [
            *[Attribute(f"x{i}", "numeric", lower=0.0, upper=1.0, public=True) for i in range(FEATURES)],
            Attribute("class", "truth", ("no", "yes"), public=True),
        ]
    )
    spec, generator = PrivacySpec(epsilon, delta), np.random.default_rng(seed)
    fixed, poisson = (
        DPCDA(
            target="class",
            order_of_mixture=order_of_mixture,
            rows=RECORDS,
            class_sizes=RECORDS // CLASSES,
            variant=variant,
        ).calibrate(spec, domain, RECORDS)
        for variant in ("fixed_size", "poisson")
    )
    trials: dict[str, Callable[..., Audit]] = {
        REPLACED: lambda **shared: audit_dp_cda(fixed, **shared),
        MOVED: lambda **shared: audit_dp_cda(fixed, pair="label_change", **shared),
        POISSON: lambda **shared: audit_dp_cda(poisson, **shared),
        HALVED: lambda **shared: audit_dp_cda(fixed, pair="label_change", noise_factor=0.5, **shared),
    }
    try:
        published = DPCDA.as_published("class", order_of_mixture, RECORDS).calibrate(spec, domain, RECORDS)
    except CalibrationError:
        pass
    else:
        trials[PUBLISHED] = lambda **shared: audit_published_dp_cda(published, **shared)
    found: dict[str, Audit] = {}
    for at, (name, trial) in enumerate(trials.items()):

        def told(step: str, share: float, at: int = at, name: str = name) -> None:
            progress(f"{name}: {step}", (at + share) / len(trials))

        found[name] = trial(runs=runs, confidence=confidence, generator=generator, progress=told)
    progress("handing over what was found", 1.0)
    return found
