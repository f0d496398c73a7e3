"""DP-CDA under audit: noisy averages, the paper's algorithm on the pair that its z-score gives away; all on one table."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal, Unpack, get_args

import numpy as np
import numpy.typing as npt

from dpsyn import checks
from dpsyn.attribute import Attribute
from dpsyn.domain import Domain
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.audit import Trial
from dpsyn.mechanisms.dp_cda import DPCDA, DPCDAMechanism, PublishedDPCDAMechanism, noisy_averages, published_rows
from dpsyn.privacy.audit import Audit, Runs, Scores, audit, log_ratio_if_picked, profile_of
from dpsyn.privacy.mixing.pairs import Variant
from dpsyn.privacy.spec import PrivacySpec

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, float], None]
Pair = Literal["same_class", "label_change"]

RECORDS, FEATURES, CLASSES = 100, 16, 2
REPLACED, POISSON, PUBLISHED = "inside a class", "Poisson sampling", "as published, with its z-score"
_ORDER = 4

_ENTRIES = 4_000_000
"""Numbers made at once."""


def audit_dp_cda(
    mechanism: DPCDAMechanism,
    *,
    pair: Pair = "same_class",
    noise_factor: float = 1.0,
    **how: Unpack[Runs],
) -> Audit:
    """Audit the noisy averages of the classes that a record x = c·u is in.

    All other records lie at -c·u, or at 0 under Poisson sampling; only the coordinate along u is made, since noise in the
    others says nothing.

    Args:
        mechanism: calibrated with public class sizes.
        pair: ``"same_class"``: x against -x in the class with the highest sampling rate. ``"label_change"``: x in one class
            against x in another. Under add_remove x is added to the former class, whatever this says.
        noise_factor: the noise is drawn at this multiple of its scale: 1 audits the mechanism, 1/2 a faulty one.
        how: :class:`~dpsyn.privacy.audit.Runs`.

    Raises:
        ParameterError: an argument is out of range, class sizes are estimated, or there is no second class.
    """
    checks.instance("mechanism", mechanism, DPCDAMechanism, "what dpsyn.DPCDA(...).calibrate(...) returns")
    if mechanism.public_sizes is None:
        raise ParameterError("class_sizes", None, "public class sizes: private ones are released with noise of their own")
    noise_factor = checks.scale("noise_factor", noise_factor)
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
    return audit(
        scored(0),
        scored(1),
        delta=guarantee.delta,
        claim=guarantee.epsilon,
        profile=profile_of(lambda delta: mechanism.epsilon_of_averages(sizes, exact, delta), guarantee.delta),
        **how,
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
        return np.asarray(
            log_ratio_if_picked(averages - self.base, (place - self.base) / order, self.rate, sigma).sum(axis=1)
        )


def _classes(mechanism: DPCDAMechanism, pair: Pair) -> list[_Class]:
    """The classes that differ between the two datasets, at the smallest sizes that the guarantee covers."""
    pair = checks.choice("pair", pair, get_args(Pair))
    poisson, radius, order = mechanism.config.variant == "poisson", mechanism.radius, mechanism.config.order_of_mixture
    base = 0.0 if poisson else -radius
    sizes = mechanism.public_sizes or ()
    made = [(s, r) for s, r in zip(sizes, mechanism.rows_for(sizes), strict=True) if r]
    (size, rows), *others = sorted(made, key=lambda one: (one[0], -one[1]))

    def members(count: int, place: float | None) -> Floats:
        return np.array([[base]] * (count - (place is not None)) + ([] if place is None else [[place]])).reshape(-1, 1)

    def entered(size: int, rows: int) -> _Class:
        there = members(size, None), members(size + 1, radius)
        return _Class(there, (None, radius), base, rows, order / (size if poisson else size + 1))

    if mechanism.spec.neighbouring == "add_remove":
        return [entered(size, rows)]
    if pair == "same_class":
        places = radius, -radius
        return [_Class((members(size, radius), members(size, -radius)), places, base, rows, order / size)]
    if not others:
        raise ParameterError("pair", pair, "'same_class': there is one class only")
    left = members(size, radius), members(size - 1, None)
    return [_Class(left, (radius, None), base, rows, order / size), entered(*others[0])]


def audit_published_dp_cda(
    mechanism: PublishedDPCDAMechanism,
    **how: Unpack[Runs],
) -> Audit:
    """Audit DP-CDA as printed on the pair that its z-score gives away: all records equal but one, which moves up or down.

    With N - 1 records at v and one at v + a the others are at -1/√(N-1) after the z-score, in every coordinate; with v - a
    they are at 1/√(N-1). So every synthetic row tells where the one record lies. The score is minus the sum of all numbers.

    Args:
        mechanism: calibrated to the published formula; the claim under audit is what it was asked for.
        how: :class:`~dpsyn.privacy.audit.Runs`.

    Raises:
        ParameterError: an argument is out of range.
    """
    why = "what dpsyn.DPCDA.as_published(...).calibrate(...) returns"
    checks.instance("mechanism", mechanism, PublishedDPCDAMechanism, why)
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
        delta=mechanism.spec.delta,
        claim=mechanism.spec.epsilon,
        **how,
    )


def worst_case(spec: PrivacySpec) -> Trial:
    """A record moved to the other class, or added to one, on 100 records in two classes, as many rows."""
    return partial(audit_dp_cda, _small(spec), pair="label_change")


def more_trials(spec: PrivacySpec) -> dict[str, Trial]:
    """Other neighbours, Poisson sampling, and the algorithm as it is published where its formula can make this claim."""
    if spec.neighbouring != "replace_one":
        return {POISSON: partial(audit_dp_cda, _small(spec, "poisson"))}
    found: dict[str, Trial] = {
        REPLACED: partial(audit_dp_cda, _small(spec)),
        POISSON: partial(audit_dp_cda, _small(spec, "poisson")),
    }
    with suppress(CalibrationError):
        published = DPCDA.as_published("class", _ORDER, RECORDS).calibrate(spec, _domain(), RECORDS)
        found[PUBLISHED] = partial(audit_published_dp_cda, published)
    return found


def _small(spec: PrivacySpec, variant: Variant = "fixed_size") -> DPCDAMechanism:
    config = DPCDA(target="class", order_of_mixture=_ORDER, rows=RECORDS, class_sizes=RECORDS // CLASSES, variant=variant)
    return config.calibrate(spec, _domain(), RECORDS)


def _domain() -> Domain:
    numbers = [Attribute(f"x{i}", "numeric", lower=0.0, upper=1.0, public=True) for i in range(FEATURES)]
    return Domain.of([*numbers, Attribute("class", "truth", ("no", "yes"), public=True)])
