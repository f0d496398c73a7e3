"""A stage before a mechanism that works on categories: fine histograms of numbers and dates, with a budget of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dpsyn import checks
from dpsyn.data.counted import AnyTable
from dpsyn.domain import Domain
from dpsyn.errors import ParameterError
from dpsyn.privacy.histograms import Encoding, Histograms
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec

_SMALLEST_SHARE = 1e-4
_ROUNDING = 1e-12
"""By how much the noise is larger, and what is left smaller, than it has to be: rounding cannot cost more than ε."""


@dataclass(frozen=True)
class Stage:
    """Discrete Laplace noise on the histograms; what follows from them composes with whatever comes next.

    Attributes:
        domain: of the table.
        histograms: None where no column has one, or nothing is spent on them: bins are those of the domain.
        epsilon: what they cost.
        scale: of the noise on a count.
        rows: their number where it is public.
    """

    domain: Domain
    histograms: Histograms | None = None
    epsilon: float = 0.0
    scale: float = 0.0
    rows: int | None = None

    def encoding(self, noise: NoiseSource, table: AnyTable) -> Encoding:
        """Codes for the rows of a table, and rows for codes."""
        if self.histograms is None:
            return Encoding(self.domain)
        deviation = 2**0.5 * self.scale
        return self.histograms.learn(table, lambda counts: noise.discrete_laplace(counts, self.scale), deviation, self.rows)

    def source(self, following: str) -> str:
        """The argument for both: this stage and what follows it."""
        if self.histograms is None:
            return following
        return f"{following}, after discrete Laplace noise on fine histograms, whose ε is added (adaptive composition)"

    def facts(self) -> dict[str, Any]:
        """What a record says of it."""
        if self.histograms is None:
            return {}
        return {"epsilon_for_histograms": self.epsilon, "histogram_noise_scale": self.scale}


def checked_share(share: object) -> float:
    """
    Raises:
        ParameterError: it is neither 0 nor a share from 0.0001 up to 1, which is left out.
    """
    found = checks.number("histogram_share", share, 0.0, below=1.0)
    if 0 < found < _SMALLEST_SHARE:
        raise ParameterError("histogram_share", share, f"0, or at least {_SMALLEST_SHARE}")
    return found


def staged(share: float, spec: PrivacySpec, domain: Domain, n: int) -> tuple[Stage, PrivacySpec]:
    """The stage that spends ``share`` of ε, and what is left for the mechanism: both together are what was asked for.

    A neighbour moves so many counts by 1 (:meth:`Histograms.moved`), so noise of scale moved/(share·ε) is (share·ε)-DP, and
    ε adds up under adaptive composition.
    """
    histograms = Histograms.of(domain) if share else None
    if histograms is None:
        return Stage(domain), spec
    epsilon = share * spec.epsilon
    scale = histograms.moved(spec.neighbouring) / epsilon * (1 + _ROUNDING)
    rows = n if spec.neighbouring == "replace_one" else None
    left = (spec.epsilon - epsilon) * (1 - _ROUNDING)
    return Stage(domain, histograms, epsilon, scale, rows), replace(spec, epsilon=left)
