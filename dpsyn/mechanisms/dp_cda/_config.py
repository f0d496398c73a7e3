"""The configuration of DP-CDA, and its calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

from dpsyn import checks
from dpsyn.domain import Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import ROWS, Axis, Config, check_request
from dpsyn.mechanisms.dp_cda._budget import Budget
from dpsyn.mechanisms.dp_cda._checks import (
    RowsBy,
    check_count_noise,
    check_delta,
    check_features,
    check_margin,
    class_column,
    in_proportion,
    per_class,
    public_class_sizes,
    rows_of_classes,
)
from dpsyn.mechanisms.dp_cda._mechanism import TIMES, DPCDAMechanism
from dpsyn.mechanisms.dp_cda._published import PAPER, PublishedDPCDA
from dpsyn.mechanisms.dp_cda.accounting.functions import Variant
from dpsyn.mechanisms.feature_map import FeatureMap
from dpsyn.privacy.mixing.averaging import changed_by_floating_point, floating_noise_assumption
from dpsyn.privacy.mixing.pairs import check_clip_norm
from dpsyn.privacy.spec import PUBLIC_DOMAIN_ASSUMPTION, Guarantee, PrivacySpec
from dpsyn.theory.formulas import Paper

Scaling = Literal["public", "private"]
Sampler = Literal["system", "exact"]

FIXED_ROWS_ASSUMPTION = "The list of classes and the number of rows made from each were fixed without looking at the data."
COUNTED_ROWS_ASSUMPTION = (
    "The list of classes and the number of rows in all were fixed without looking at the data; how many rows each class has "
    "follows from the noisy counts."
)
PUBLIC_SIZES_ASSUMPTION = "It is public knowledge that every class holds at least as many records as was declared."
PUBLIC_RATE_ASSUMPTION = (
    "The class sizes that set the sampling rates were stated without looking at the data; they need not be right."
)
LARGEST_CLASS_ASSUMPTION = (
    f"No class holds more than {TIMES} times the records that were stated for it: longer sums can lose more to rounding in "
    "floating point than the noise allows for. n is a secret, so nothing public bounds them."
)
PUBLIC_N_ASSUMPTION = "The number of records n is public; the settings of the release name it."
FIXED_SETTINGS_ASSUMPTION = (
    "l, c and the scaling were fixed without trying them on these records (what was tried counts as released)."
)


@dataclass(frozen=True)
class DPCDA(Config):
    """Each row of class k: the average of l records of class k plus N(0, σ²I), with the label k.

    Differences from the paper (Section 3, Algorithm 1), without which its claim is false: no z-score by the data's own mean
    and deviation; the sampling rate is l/N_k and not l/N; class sizes are public or estimated privately; labels are released
    as they are, since how many rows each class has is fixed beforehand or follows from these sizes. :meth:`as_published` is
    the paper's own.

    Args:
        target: the class column; a truth or categorical column.
        order_of_mixture: l, records per average.
        rows: T, rows in all; or T_k for each value of the target (None is the key of missing values; a class may have 0).
            None takes n, where n is public (replace-one).
        rows_by: how T rows are shared out. ``"size"``: in proportion to the class sizes, those of ``class_sizes`` or else
            the noisy counts, so that T_k is known once these are released; a class that is kept has 1 at least.
            ``"equal"``: each of K classes gets ⌊T/K⌋, as in the paper.
        class_sizes: public facts: how many records each class holds at least (a number for all classes, or one for each
            value of the target). None estimates them privately.
        count_share: share of ε spent on estimating the class sizes; unused if they are public.
        clip_norm: c, in units of scaled records. Records that are scaled by public bounds have norm at most 1, so a larger c
            changes nothing there; standardised ones have a mean square norm of about 1.
        variant: ``"fixed_size"`` draws l records of the class without replacement: an exchange moves the average by up to
            2c/l, and the guarantee needs N_k ≥ the size accounted for. ``"poisson"`` picks each record with probability
            l/(class size as stated or estimated) and divides the sum by l: a record moves it by up to c/l, so half the noise
            is enough, and a wrong size only makes the averages too long or too short.
        scaling: of numbers: ``"public"`` to [-1, 1] by their public bounds; ``"private"`` to (x - mean)/deviation, both
            released with Gaussian noise. Categories are vertices of a regular simplex, truth values ±1, in either case.
        scaling_share: share of ε that the release of means and deviations has by itself; unused with public scaling.
        noise_sampler: of the noise on averages: ``"system"``, NumPy's generator keyed by the system's entropy, in floating
            point, the sums rounded to steps of about σ/64; or ``"exact"``, OpenDP's discrete Gaussian, about 10,000 draws a
            second. Counts, means and deviations always take the exact one.

    Raises:
        ParameterError: a parameter is outside its range.
    """

    target: str = ""
    order_of_mixture: int = 4
    rows: Mapping[Any, int] | int | None = None
    rows_by: RowsBy = "size"
    class_sizes: Mapping[Any, int] | int | None = None
    count_share: float = 0.1
    clip_norm: float = 1.0
    variant: Variant = "fixed_size"
    scaling: Scaling = "public"
    scaling_share: float = 0.1
    noise_sampler: Sampler = "system"

    name: ClassVar[str] = "dp_cda"
    title: ClassVar[str] = "DP-CDA"
    paper: ClassVar[Paper] = PAPER
    axes: ClassVar[Mapping[str, Axis]] = {"order_of_mixture": Axis("l (order of mixture)", "1, 4, 16, 64"), "rows": ROWS}
    added_later: ClassVar[Mapping[str, Any]] = {"rows_by": "equal"}
    noise_is_draw: ClassVar[bool] = True
    fills_empty_numbers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._set("target", checks.text("target", self.target, "the name of a column"))
        kinds_of = {"rows_by": RowsBy, "variant": Variant, "scaling": Scaling, "noise_sampler": Sampler}
        for field, kinds in kinds_of.items():
            self._set(field, checks.choice(field, getattr(self, field), get_args(kinds)))
        self._set("order_of_mixture", checks.whole("order_of_mixture", self.order_of_mixture))
        self._set("clip_norm", check_clip_norm("clip_norm", self.clip_norm))
        for field in ("count_share", "scaling_share"):
            self._set(field, checks.share(field, getattr(self, field)))
        for field in ("rows", "class_sizes"):
            self._set(field, per_class(field, getattr(self, field)))

    @classmethod
    def as_published(
        cls, target: str, order_of_mixture: int = 4, rows: int | None = None, clip_norm: float = 1.0
    ) -> PublishedDPCDA:
        """The paper's Algorithm 1 as printed, with its own formula for σ. No guarantee holds; it runs as a demonstration."""
        return PublishedDPCDA(target, order_of_mixture, rows, clip_norm)

    @classmethod
    def as_it_comes(cls, rows: int, target: str | None) -> DPCDA | None:
        """With the column to predict as its class."""
        checks.whole("rows", rows)
        return None if target is None else cls(target=target)

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> DPCDAMechanism:
        """The smallest σ that meets ``spec`` by the exact accountant (:mod:`exact`).

        With public class sizes L_k this is the guarantee between any two neighbours in which every class holds at least L_k
        records; ``replace_one`` covers a change of the label, and T_k and σ are known before the run. With
        ``class_sizes=None`` ε is split: the K counts are released with discrete Laplace noise of scale (L1 sensitivity)/
        (``count_share``·ε), the sensitivity being 2 for replace-one and 1 for add/remove; a margin t is taken off with P(any
        count exceeds the truth by more than t) ≤ β = δ/10; the averages get the rest, (1 - ``count_share``)·ε and δ - β, at
        the sizes S_k found so. Classes with S_k ≤ l are dropped: they get no rows. T_k is in proportion to the counts of the
        others, and σ is found for these S_k and T_k. Poisson sampling needs no margin and no β, since its rates need not be
        right. Private scaling is one Gaussian mechanism more, composed with the rows as privacy-loss distributions.

        Proof that this composes. Let D, D' be neighbours in this order, c the released counts, and E the set of c with
        S_k(c) ≤ N_k(D) for all classes kept; P(c ∉ E | D) ≤ β. For c ∈ E the averages B_c are made with noise for rates
        l/S_k ≥ l/N_k(D), so they are (ε₂, δ - β)-indistinguishable between D and D': a class that loses a record was mixed
        at rate l/N_k and still has N_k - 1 ≥ S_k - 1 ≥ l of them, one that gains a record is mixed at rate l/(N_k + 1). So
        P(M(D) ∈ W) ≤ β + Σ_{c∈E} P(c|D)·(min(1, e^{ε₂} P(B_c(D') ∈ W)) + δ - β) ≤ δ + e^{ε₁+ε₂} P(M(D') ∈ W), the last
        step by P(c|D) ≤ e^{ε₁} P(c|D'). D and D' may change places. What happens for c ∉ E is paid for by β. Means and
        deviations are part of B_c: for any that come out, the rows have the same dominating pairs, and adaptive composition
        allows that. It allows T_k that follow from the counts, too: they are a function of c, as S_k and l/S_k are, so the
        same on D and D', and σ(c) is calibrated to just these, so that B_c is (ε₂, δ - β)-indistinguishable for every c ∈ E.

        Raises:
            CalibrationError: δ = 0, no noise reaches ε, or n is public and the margin leaves no class of n records enough of
                them; the message names an ε that can be reached.
            ParameterError: the target, the class sizes or the number of rows do not fit the domain or n, another column has
                a single value, or ``rows`` is None and n is not public.
        """
        n = check_request(spec, domain, n, sum(self.rows.values()) if isinstance(self.rows, Mapping) else self.rows)
        # Under add_remove n is a secret, and a refusal that depends on it would tell.
        known = n if spec.neighbouring == "replace_one" else None
        check_delta(spec, known)
        if self.rows is None and spec.neighbouring == "add_remove":
            allowed = "a number fixed without looking at the data: under add_remove n is a secret, so it cannot be n"
            raise ParameterError("rows", None, allowed)
        attribute = class_column(self.target, domain)
        check_features(self.target, domain)
        features = FeatureMap(domain.project([name for name in domain.names if name != self.target]))
        rows, rows_per_class = rows_of_classes(self.rows, self.rows_by, attribute, n)
        # Poisson rates are l/size, so a size below l is refused alike.
        sizes = public_class_sizes(self.class_sizes, attribute, known, self.order_of_mixture, rows_per_class)
        if sizes is not None and rows_per_class is None:
            rows_per_class = in_proportion(rows, sizes)
        if known is not None and known < self.order_of_mixture:
            raise ParameterError("order_of_mixture", self.order_of_mixture, f"at most n = {n}, the number of records")
        budget = Budget.split(self, spec, len(features.numbers), attribute.size, counted=sizes is None)
        if known is not None and budget.count_margin:
            check_margin(spec.epsilon, budget.count_noise_scale, budget.count_margin, known, self.order_of_mixture)
        check_count_noise(spec.epsilon, budget.count_noise_scale)
        mechanism = DPCDAMechanism(
            config=self,
            spec=spec,
            domain=domain,
            n=n,
            guarantee=Guarantee(
                epsilon=spec.epsilon,
                delta=spec.delta,
                neighbouring=spec.neighbouring,
                source=self._source(budget),
                assumptions=self._assumptions(spec, counted_rows=rows_per_class is None, public_sizes=sizes is not None),
            ),
            features=features,
            rows=rows,
            rows_per_class=rows_per_class,
            public_sizes=sizes,
            budget=budget,
        )
        if sizes is not None:
            mechanism.noise_scale_for(sizes)
        if self.noise_sampler != "system":
            return mechanism
        numbers, average = rows * features.dimension, mechanism.largest_average
        claim = mechanism.guarantee
        changed = changed_by_floating_point(numbers, average) > spec.delta
        claimed = replace(
            claim,
            assumptions=(*claim.assumptions, floating_noise_assumption(numbers, average, spec.delta)),
            status="real_arithmetic" if changed else claim.status,
        )
        return replace(mechanism, guarantee=claimed)

    def _source(self, budget: Budget) -> str:
        drawn = "Poisson samples of each class" if self.variant == "poisson" else "drawn without replacement from each class"
        parts = [f"Privacy loss distributions of the averages, {drawn}"]
        if budget.standard is not None:
            parts.append("and of Gaussian noise on the sums that means and deviations come from")
        if budget.counted:
            parts.append("composed with discrete Laplace noise on the class counts")
        return ", ".join(parts)

    def _assumptions(self, spec: PrivacySpec, *, counted_rows: bool, public_sizes: bool) -> tuple[str, ...]:
        rows = COUNTED_ROWS_ASSUMPTION if counted_rows else FIXED_ROWS_ASSUMPTION
        found = [PUBLIC_DOMAIN_ASSUMPTION, rows, FIXED_SETTINGS_ASSUMPTION]
        if spec.neighbouring == "replace_one":
            found.append(PUBLIC_N_ASSUMPTION)
        if public_sizes:
            found.append(PUBLIC_SIZES_ASSUMPTION if self.variant == "fixed_size" else PUBLIC_RATE_ASSUMPTION)
            if self.variant == "poisson" and spec.neighbouring == "add_remove":
                found.append(LARGEST_CLASS_ASSUMPTION)
        return tuple(found)
