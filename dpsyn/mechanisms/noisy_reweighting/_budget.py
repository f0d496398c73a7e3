"""Weights of marginals and counts that are released on their own, and what the guarantee says."""

from __future__ import annotations

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import PUBLIC_DOMAIN_ASSUMPTION
from dpsyn.mechanisms.noisy_reweighting._ledger import Ledger, NoiseKind, Part
from dpsyn.mechanisms.noisy_reweighting.families import Family, TableFamily
from dpsyn.privacy.spec import PrivacySpec

N_IS_PUBLIC = "The number of rows n is public."
FLOATING_POINT = (
    "Real arithmetic: continuous Laplace noise in floating point is not safe (Mironov 2012), "
    "its low bits can give a value away."
)
PUBLIC_ROWS = "The rows of the reduced space were public: nobody chose them, or made them, with the private rows."
_ROUNDING = 1e-9
ROW_BY_ROW = "The functions look at one row at a time (tried on random rows, not proven)."


def scaled_up(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The same weights eight times as large, so that the marginals' weight can be a whole number too."""
    return tuple(Part(p.name, p.count, p.moved, p.step, p.weight * 8, p.l1, p.l2) for p in parts)


def marginal_part(parts: tuple[Part, ...], marginals: TableFamily, spec: PrivacySpec, kind: NoiseKind, share: float) -> Part:
    """One-way counts with a weight that gives them ``share`` of the budget, up to rounding to a whole number."""
    moved = marginals.l1(spec.neighbouring)
    power = 2 if kind == "gaussian" else 1
    spent = sum(p.weight * 8 * p.size[power - 1] ** power for p in parts)
    # Nothing moves where every column has one code: any weight will do.
    weight = max(1, round(share / (1 - share) * spent / moved)) if moved else 1
    return Part("one-way marginals", marginals.count, moved, 1, weight)


def count_part(parts: tuple[Part, ...], kind: NoiseKind, share: float) -> Part:
    """The number of rows, which moves by 1 when a row is added, with a weight that gives it ``share`` of the budget."""
    power = 2 if kind == "gaussian" else 1
    spent = sum(p.weight * p.size[power - 1] ** power for p in parts)
    return Part("number of rows", 1, 1, 1, share / (1 - share) * spent)


def published_l1(family: Family) -> float:
    """2|F|, in the unit of the sums: what the proof of Theorem 2.2 allows the sums to move together when a row is replaced.

    Raises:
        ParameterError: the functions can move further, as some value is not in [-1, 1].
    """
    step = 2 / family.unit
    nearest = round(step)
    length = family.count * (nearest if abs(step - nearest) < _ROUNDING * step else step)
    if family.l1("replace_one") > length:
        raise ParameterError(
            "family",
            f"functions of which some have values outside [-1, 1], in multiples of {family.unit:g}",
            "functions with values in [-1, 1], which is what Theorem 2.2 (noise='as_published') is about: declare a range "
            "inside it and a unit that divides 1, or take noise='laplace', which goes by the exact sensitivity",
        )
    return length


def source_of(ledger: Ledger, spec: PrivacySpec) -> str:
    """The theorem, or the proof, behind the claim."""
    if ledger.kind == "continuous_laplace":
        return "Theorem 2.2 of Boedihardjo, Strohmer, Vershynin 2021b"
    if ledger.kind == "laplace" and spec.neighbouring == "add_remove":
        return "Laplace mechanism with the exact L1 sensitivity of adding or removing one record, discrete Laplace noise"
    if ledger.kind == "laplace":
        return "Theorem 2.2 of Boedihardjo, Strohmer, Vershynin 2021b with the exact L1 sensitivity, discrete Laplace noise"
    if ledger.argument == "exact":
        return "Discrete Gaussian mechanism, exact law of the privacy loss (Canonne, Kamath, Steinke 2020)"
    return "Discrete Gaussian mechanism, zCDP (Canonne, Kamath, Steinke 2020), exact L2 sensitivity"


def assumptions_of(family: Family, kind: NoiseKind, spec: PrivacySpec, *, public_rows: bool) -> tuple[str, ...]:
    found = [PUBLIC_DOMAIN_ASSUMPTION]
    if spec.neighbouring == "replace_one":
        found.append(N_IS_PUBLIC)
    if kind == "continuous_laplace":
        found.append(FLOATING_POINT)
    if public_rows:
        found.append(PUBLIC_ROWS)
    if not getattr(family, "row_by_row", True):
        found.append(ROW_BY_ROW)
    return tuple(found)
