"""One question, three answers: may these mechanisms be used on data like this, under this privacy specification?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from dpsyn.mechanisms.dp_cda.theorems import MixingSetting, dp_cda_verdict
from dpsyn.mechanisms.noisy_reweighting.setting import Noise, reweighting_setting
from dpsyn.mechanisms.noisy_reweighting.statistics_family import FamilyChoice
from dpsyn.mechanisms.noisy_reweighting.theorems import noisy_reweighting_verdict
from dpsyn.mechanisms.private_sampling.setting import sampling_setting
from dpsyn.mechanisms.private_sampling.theorems import private_sampling_verdict
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import Verdict


@dataclass(frozen=True)
class Feasibility:
    """The verdicts on the three mechanisms for one dataset and one privacy specification."""

    stats: DatasetStatistics
    spec: PrivacySpec
    private_sampling: Verdict
    noisy_reweighting: Verdict
    dp_cda: Verdict

    def __iter__(self) -> Iterator[Verdict]:
        return iter((self.private_sampling, self.noisy_reweighting, self.dp_cda))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON: no infinities, logarithms beside numbers that a float cannot hold."""
        return {
            "data": asdict(self.stats),
            "privacy": asdict(self.spec),
            "verdicts": {verdict.mechanism: verdict.to_dict() for verdict in self},
        }


def feasibility(
    stats: DatasetStatistics,
    spec: PrivacySpec,
    *,
    degree: int = 2,
    floor: float = 0.25,
    ceiling: float = 2.0,
    failure_probability: float = 0.125,
    rows: int = 1,
    reduced_space_size: int | None = None,
    accuracy: float | None = None,
    statistics: FamilyChoice = "auto",
    noise: Noise = "laplace",
    condition_number: float | None = None,
    order_of_mixture: int = 4,
    classes: int = 2,
    smallest_class: int | None = None,
    noise_scale: float | None = None,
    clip_norm: float = 1.0,
    exact_accounting: bool | None = None,
) -> Feasibility:
    """Every condition of every theorem: required, actual, whether it holds, by how much, and what would make it true.

    Args:
        stats: p, n, ‖f_n‖∞ of the data.
        spec: ε, δ and the neighbours.
        degree: d, the order of the marginals.
        floor: the papers' δ, lower bound on m·h in private sampling; 0 < floor < 1.
        ceiling: the papers' Δ, upper bound on m·h; ceiling > floor.
        failure_probability: γ.
        rows: k, synthetic rows.
        reduced_space_size: m; None takes for each theorem the smallest m that its lower bound allows.
        accuracy: the α of noisy reweighting, which promises 8·accuracy; None takes floor/2, so that both theorems promise
            the same 4·floor.
        statistics: what noisy reweighting matches; ``"auto"``: Walsh functions where all columns have two values (or the
            columns are not known), contingency tables elsewhere.
        noise: Laplace as in the paper, or Gaussian (needs δ > 0).
        condition_number: K >= κ; None takes the bound N·‖f_n‖∞ for the uniform measure on N possible rows.
        order_of_mixture: l of DP-CDA.
        classes: K of DP-CDA.
        smallest_class: public lower bound on its N_k; None takes n // K, the largest that it can be.
        noise_scale: its σ; None takes one that is private.
        clip_norm: its c.
        exact_accounting: find DP-CDA's smallest σ by the exact accountant (True), or only a σ that is enough without
            counting on sampling (False), or the former where it is quick (None). With a ``noise_scale`` its ε is always by
            the exact accountant.

    Raises:
        ParameterError: a value with which the formulas mean nothing; it names the field. A value that the algorithm
            cannot use but the formulas can (floor = 0.6, say) is a condition that does not hold instead.
    """
    sampling = sampling_setting(
        stats,
        spec,
        degree=degree,
        floor=floor,
        ceiling=ceiling,
        failure_probability=failure_probability,
        rows=rows,
        reduced_space_size=reduced_space_size,
    )
    reweighting = reweighting_setting(
        stats,
        spec,
        degree=degree,
        accuracy=floor / 2 if accuracy is None else accuracy,
        statistics=statistics,
        noise=noise,
        failure_probability=failure_probability,
        rows=rows,
        reduced_space_size=reduced_space_size,
        condition_number=condition_number,
    )
    mixing = MixingSetting(
        n=stats.n,
        spec=spec,
        classes=classes,
        smallest_class=smallest_class,
        order_of_mixture=order_of_mixture,
        rows=rows,
        noise_scale=noise_scale,
        clip_norm=clip_norm,
        exact=exact_accounting,
    )
    return Feasibility(
        stats, spec, private_sampling_verdict(sampling), noisy_reweighting_verdict(reweighting), dp_cda_verdict(mixing)
    )
