"""The same regression on real and on synthetic rows: does an analyst come to the same coefficients?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.evaluation.prediction import MAX_TRAINING_ROWS, check_target, known_rows
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]

MOST_TERMS = 60
_COMMON = 0.05
"""Share of the real rows from which a category has a term of its own; all others are with the commonest one."""
_NORMAL = 1.959963984540054


@dataclass(frozen=True)
class Interval:
    """A coefficient and the 95 % interval that an analyst would report."""

    value: float
    low: float
    high: float

    @property
    def is_estimated(self) -> bool:
        """Whether the rows say anything of it: of a column that is constant in them the penalty alone does."""
        return self.high - self.value < (1 - 1e-6) * _NORMAL


@dataclass(frozen=True)
class Term:
    """One predictor.

    Attributes:
        name: a column, or ``column = category``.
        real: its coefficient by the real rows.
        other: by the others; None where the regression cannot be fitted.
    """

    name: str
    real: Interval
    other: Interval | None

    @property
    def overlap(self) -> float:
        """What the two intervals share, in parts of each, on average (Karr, Kohnen, Oganian, Reiter, Sanil 2006): 1 if they
        are one, 0 if they do not meet. Two samples of one source and as many rows have 0.71 on average."""
        if self.other is None:
            return 0.0
        shared = min(self.real.high, self.other.high) - max(self.real.low, self.other.low)
        return max(0.0, shared) / 2 * sum(1 / (one.high - one.low) for one in (self.real, self.other))


@dataclass(frozen=True)
class Regression:
    """A regression of the target on the other columns, on real rows and on others.

    Attributes:
        target: what is explained: the column, or ``column = commonest class``.
        terms: at most 60, standardised by the real rows.
    """

    target: str
    terms: tuple[Term, ...]

    @property
    def mean_overlap(self) -> float:
        """Over the terms."""
        return float(np.mean([term.overlap for term in self.terms]))

    @property
    def worst(self) -> Term:
        """The term whose intervals share least; of several that share nothing the one that moved furthest."""

        def order(term: Term) -> tuple[float, float]:
            moved = np.inf if term.other is None else abs(term.other.value - term.real.value)
            return term.overlap, -moved / (term.real.high - term.real.low)

        return min(self.terms, key=order)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        terms = [asdict(term) | {"overlap": term.overlap} for term in self.terms]
        return {"target": self.target, "terms": terms, "mean_overlap": self.mean_overlap}


def regression(table: Table, rows: Table, target: str, seed: int) -> Regression | None:
    """Logistic regression of "is of the commonest class", or linear regression of a number, on all other columns.

    Numbers and indicators of common categories are standardised by the real rows. The penalty ½ Σ b² keeps finite what is
    separated or collinear; beside thousands of rows it is nothing. Intervals are b ± 1.96 standard errors, by the Hessian,
    as if the synthetic rows were real ones: what an analyst reports who does not know better.

    Args:
        table: the real rows.
        rows: the others, over the same domain.
        target: the column to explain.
        seed: of the choice of 50,000 rows, where there are more.

    Returns:
        None where the real rows have nothing to explain, or nothing to explain it by.

    Raises:
        DomainError: there is no such target.
        ParameterError: it has fewer than two values.
    """
    attribute = check_target(table, target)
    (real, truth, _), (other, others_truth, _) = (
        known_rows(side, target, seed, MAX_TRAINING_ROWS) for side in (table, rows)
    )
    if len(truth) < 2 or truth.min() == truth.max():
        return None
    if attribute.is_binned:
        of, outcomes = target, [(side - truth.mean()) / truth.std() for side in (truth, others_truth)]
    else:
        common = int(np.bincount(truth).argmax())
        of, outcomes = f"{target} = {attribute.categories[common]}", [side == common for side in (truth, others_truth)]
    design, others = _predictors(table, real), _predictors(table, real, other)
    middle, spread = design.mean(), design.std(ddof=0)
    names = [str(name) for name in design.columns[spread > 0]]
    names = [names[i] for i in np.linspace(0, len(names) - 1, min(MOST_TERMS, len(names))).astype(int)]
    if not names:
        return None
    fits = [
        _intervals(((side - middle) / spread)[names].to_numpy(), outcome, linear=attribute.is_binned)
        for side, outcome in zip((design, others), outcomes, strict=True)
    ]
    return Regression(of, tuple(Term(*one) for one in zip(names, *fits, strict=True)))


def _predictors(table: Table, real: pd.DataFrame, rows: pd.DataFrame | None = None) -> pd.DataFrame:
    """Numbers as they are, and an indicator of every category that is common among the real rows but for the commonest."""
    found: dict[str, Any] = {}
    for name, values in (real if rows is None else rows).items():
        kind, at = str(name).split()
        attribute = table.domain.attributes[int(at) if int(at) >= 0 else -1 - int(at)]
        if kind == "number":
            found[attribute.name if int(at) >= 0 else f"{attribute.name} is empty"] = values
            continue
        shares = real[name].value_counts(normalize=True)
        texts = [str(c) for c in attribute.categories]
        for code in shares.index[1:][shares.iloc[1:] >= _COMMON]:
            label = texts[code] if code < len(texts) else "(empty)"
            found[f"{attribute.name} = {label}"] = (values == code).astype(np.float64)
    return pd.DataFrame(found)


def _intervals(design: Floats, outcome: npt.NDArray[Any], *, linear: bool) -> list[Interval | None]:
    """The coefficients of all columns but the constant; None where all outcomes are alike."""
    from sklearn.linear_model import LogisticRegression, Ridge

    count, terms = design.shape
    if count == 0 or outcome.min() == outcome.max():
        return [None] * terms
    model = Ridge(alpha=1.0) if linear else LogisticRegression(C=1.0, solver="newton-cholesky")
    model.fit(design, outcome)
    if linear:
        left = outcome - model.predict(design)
        weights = np.full(count, max(count - terms - 1, 1) / float(left @ left)) if left.any() else None
    else:
        share = model.predict_proba(design)[:, 1]
        weights = share * (1 - share)
    if weights is None:
        return [None] * terms
    columns = np.column_stack([np.ones(count), design])
    hessian = (columns * weights[:, None]).T @ columns + np.diag([0.0] + [1.0] * terms)
    errors = np.sqrt(np.diag(np.linalg.pinv(hessian, hermitian=True))[1:])
    found = np.stack([model.coef_.ravel(), model.coef_.ravel() - _NORMAL * errors, model.coef_.ravel() + _NORMAL * errors])
    return [Interval(*map(float, one)) for one in found.T]
