"""A stage before a mechanism that works on categories: fine histograms of numbers and dates, with a budget of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpsyn import checks
from dpsyn.data.counted import AnyTable
from dpsyn.domain import Domain
from dpsyn.errors import ParameterError
from dpsyn.notation import counted, number
from dpsyn.privacy.budget import Budget
from dpsyn.privacy.histograms import Encoding, Histograms, deafened
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec

HISTOGRAMS = "fine histograms"
"""Their name in a ledger."""
_SMALLEST_SHARE = 1e-4
_ROUNDING = 1e-12
"""By how much what is left is smaller than it has to be: rounding cannot cost more than was asked for."""


@dataclass(frozen=True)
class Stage:
    """Discrete noise on the histograms; what follows from them composes with whatever comes next.

    Attributes:
        domain: of the table.
        budget: whose part the histograms cost: its kind of noise is theirs.
        histograms: None where no column has one, or nothing is spent on them: bins are those of the domain.
        spent: what they cost, in ε or ρ as the budget.
        scale: of the noise on a count.
        rows: their number where it is public.
    """

    domain: Domain
    budget: Budget
    histograms: Histograms | None = None
    spent: float = 0.0
    scale: float = 0.0
    rows: int | None = None

    @property
    def epsilon(self) -> float:
        """What the histograms cost where ε adds up; 0 where ρ does."""
        return self.spent if self.budget.noise == "laplace" else 0.0

    def ledger(self, *parts: tuple[str, float, float]) -> dict[str, Any]:
        """What a record says of the whole budget: the histograms, and the parts of the mechanism with name, cost, scale."""
        return self.budget.ledger(*[(HISTOGRAMS, self.spent, self.scale)] * bool(self.spent), *parts)

    def encoding(self, noise: NoiseSource, table: AnyTable) -> Encoding:
        """Codes for the rows of a table, and rows for codes."""
        if self.histograms is None:
            return Encoding(self.domain)
        deviation = self.budget.deviation(self.scale)
        return self.histograms.learn(
            table, lambda counts: self.budget.released(noise, counts, self.scale), deviation, self.rows
        )

    def source(self, following: str) -> str:
        """The argument for both: this stage and what follows it."""
        if self.histograms is None:
            return following
        name, unit = ("Laplace", "ε") if self.budget.noise == "laplace" else ("Gaussian", "ρ")
        return f"{following}, after discrete {name} noise on fine histograms, whose {unit} is added (adaptive composition)"

    def facts(self) -> dict[str, Any]:
        """What a record says of it beside a mechanism that has a ledger of its own."""
        if self.histograms is None:
            return {}
        return {"epsilon_for_histograms": self.epsilon, "histogram_noise_scale": self.scale}


def said_of_noise(settings: Mapping[str, Any], n: int | None) -> tuple[str, ...]:
    """That noise hides what fine histograms are for, by the settings of a run and its rows; nothing where n is a secret."""
    before = {"name": HISTOGRAMS, "scale": settings.get("histogram_noise_scale")}  # a mechanism that has its own ledger
    part = next(part for part in (*settings.get("ledger", ()), before) if part["name"] == HISTOGRAMS)
    if n is None or part["scale"] is None:
        return ()
    deviation = part["scale"] * (1 if "rho" in part else math.sqrt(2))
    if not deafened(n, deviation):
        return ()
    return (
        f"Noise of standard deviation {number(deviation)} goes on fine histograms of {counted(n, 'row')}, so where in its "
        "bin a value lies is mostly lost, and a column of mostly zeros may have few: drop numeric columns, give the "
        "histograms a larger share, or raise ε.",
    )


def checked_share(share: object) -> float:
    """
    Raises:
        ParameterError: it is neither 0 nor a share from 0.0001 up to 1, which is left out.
    """
    found = checks.number("histogram_share", share, 0.0, below=1.0)
    if 0 < found < _SMALLEST_SHARE:
        raise ParameterError("histogram_share", share, f"0, or at least {_SMALLEST_SHARE}")
    return found


def staged(share: float, budget: Budget, spec: PrivacySpec, domain: Domain, n: int) -> tuple[Stage, Budget]:
    """The stage that spends ``share`` of a budget, and what is left for the mechanism: both together are the budget.

    A neighbour moves so many counts by 1 (:meth:`Histograms.moved`), whichever were asked for before. So Laplace noise of
    scale moved/ε' is ε'-DP, Gaussian noise with σ² = moved/(2ρ') is ρ'-zCDP, and both add up under adaptive composition.

    Raises:
        ParameterError: ``share`` is no number from 0 to 1, which is left out, or one of the others is something else.
    """
    share = checks.number("share", share, 0.0, below=1.0)
    for field, value, kind in (("budget", budget, Budget), ("spec", spec, PrivacySpec), ("domain", domain, Domain)):
        checks.instance(field, value, kind, f"an object of the class {kind.__name__}")
    histograms = Histograms.of(domain) if share else None
    if histograms is None:
        return Stage(domain, budget), budget
    spent = share * budget.total
    scale = budget.noise_scale_for(spent, histograms.moved(spec.neighbouring))
    rows = n if spec.neighbouring == "replace_one" else None
    left = (budget.total - spent) * (1 - _ROUNDING)
    return Stage(domain, budget, histograms, spent, scale, rows), replace(budget, total=left)


def staged_before(share: float, spec: PrivacySpec, domain: Domain, n: int) -> tuple[Stage, PrivacySpec]:
    """As :func:`staged`, by Laplace noise before a mechanism that has an accounting of its own: ε adds up, δ is its."""
    stage, left = staged(share, Budget.of(replace(spec, delta=0.0)), spec, domain, n)
    return stage, replace(spec, epsilon=left.total) if stage.spent else spec
