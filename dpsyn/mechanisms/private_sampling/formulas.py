"""The formulas behind the ε of private sampling, and the threshold of its step 2."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dpsyn.mechanisms.private_sampling import THEOREM_SOURCE, PrivateSampling
from dpsyn.mechanisms.private_sampling.certificates import bounded_ratio_epsilon, check_box, is_degenerate
from dpsyn.privacy.spec import Guarantee
from dpsyn.theory.formulas import OUR_PROOF, TIMES, ClaimFormula, number, power, up, whole

_STEP_4 = f"Algorithm 1, step 4 of {PrivateSampling.paper}"


def claim(guarantee: Guarantee, settings: Mapping[str, Any]) -> tuple[ClaimFormula, ...]:
    """The lines of a record's settings."""
    theorem = settings["theorem_4_1_epsilon"]
    floor, ceiling = float(settings["floor"]), float(settings["ceiling"])
    check_box(floor, ceiling)
    return certificate_formulas(
        floor=floor,
        ceiling=ceiling,
        rows=whole(settings["rows"]),
        degree=whole(settings["degree"]),
        functions=whole(settings["functions"]),
        reduced_space_size=whole(settings["reduced_space_size"]),
        theorem=None if theorem is None else (whole(settings["n"]), float(theorem)),
        enough=THEOREM_SOURCE not in guarantee.source,
    )


def certificate_formulas(
    *,
    floor: float,
    ceiling: float,
    rows: int,
    degree: int,
    functions: int,
    reduced_space_size: int,
    theorem: tuple[int, float] | None,
    enough: bool = False,
) -> tuple[ClaimFormula, ...]:
    """The two proven certificates of k rows of private sampling, and the one that is claimed.

    Args:
        floor: the paper's δ.
        ceiling: the paper's Δ.
        rows: k.
        degree: d.
        functions: C, the number of Walsh functions of up to d columns.
        reduced_space_size: m.
        theorem: n and the ε of Theorem 4.1; None where it says nothing (no cube, or not for replacing one record).
        enough: whether the ratio is claimed however small the ε of the theorem, which holds in exact arithmetic only.
    """
    k, low, high = number(rows), number(floor, 6), number(ceiling, 6)
    if is_degenerate(floor, ceiling):
        return (
            ClaimFormula(
                "Only the uniform density fits into the box",
                r"2\delta \le m\,h \le \Delta - \delta \;\Rightarrow\; h = u_m,\quad \varepsilon = 0",
                rf"{number(2 * floor, 6)} \le m\,h \le {number(ceiling - floor, 6)} \;\Rightarrow\; "
                r"h = u_m,\quad \varepsilon = 0",
                _STEP_4,
                "δ is the floor and Δ the ceiling, h the density on the m points of S, and uₘ the uniform one. The output "
                "ignores the data.",
            ),
        )
    ratio = bounded_ratio_epsilon(rows=rows, floor=floor, ceiling=ceiling)
    first = ClaimFormula(
        "Bounded ratio",
        r"\varepsilon_{\text{ratio}} = k\,\ln\frac{\Delta}{\delta}",
        rf"\varepsilon_{{\text{{ratio}}}} = {k} {TIMES}\ln\frac{{{high}}}{{{low}}} = {up(ratio)}",
        OUR_PROOF,
        "δ is the floor, Δ the ceiling, k the number of rows. It holds for any two datasets.",
    )
    if theorem is None:
        return (first,)
    n, epsilon = theorem
    second = ClaimFormula(
        "Theorem 4.1",
        r"\varepsilon_{4.1} = 4\sqrt2\,k\left(\frac{\Delta}{\delta}\right)^{3/2}e^{d/2}\binom{p}{\le d}^{1/4}"
        r"\frac{m^{3/4}}{\sqrt n}",
        rf"\varepsilon_{{4.1}} = 4\sqrt2 {TIMES}{k}\left(\frac{{{high}}}{{{low}}}\right)^{{3/2}}e^{{{degree}/2}} {TIMES}"
        rf"{power(number(functions), '1/4')} {TIMES}"
        rf"\frac{{{power(number(reduced_space_size), '3/4')}}}{{\sqrt{{{number(n)}}}}} = {up(epsilon)}",
        f"Theorem 4.1 of {PrivateSampling.paper}",
        "d is the degree, p the number of columns, the binomial coefficient the number of Walsh functions of at most d of "
        "them, m the number of points of S. For the Boolean cube and replacing one of n records.",
    )
    if enough and epsilon < ratio:
        claimed = ClaimFormula(
            "The claim",
            r"\varepsilon = \varepsilon_{\text{ratio}}",
            rf"\varepsilon = {up(ratio)}",
            OUR_PROOF,
            "Theorem 4.1's ε is smaller, but true in exact arithmetic only. The ratio has no such if, and fits the budget.",
        )
    else:
        claimed = ClaimFormula(
            "The claim",
            r"\varepsilon = \min(\varepsilon_{\text{ratio}},\ \varepsilon_{4.1})",
            rf"\varepsilon = \min({up(ratio)},\ {up(epsilon)}) = {up(min(ratio, epsilon))}",
            OUR_PROOF,
            "Where Theorem 4.1 is the smaller one, it holds in exact arithmetic only." if epsilon < ratio else "",
        )
    return first, second, claimed


def threshold_formula(
    *, reduced_space_size: int, degree: int, cube: bool, smallest: float, threshold: float
) -> ClaimFormula:
    """Step 2 of private sampling: the smallest singular value of W against √m/(2e^d), or √m/(2B) off the cube.

    Args:
        reduced_space_size: m.
        degree: d.
        cube: whether S is taken from {-1, 1}^p.
        smallest: σ_min(W).
        threshold: what it must reach.
    """
    sign = r"\ge" if smallest >= threshold else "<"
    bound = "e^d" if cube else "B"
    value = f"e^{{{degree}}}" if cube else rf"\cdot {number(math.sqrt(reduced_space_size) / (2 * threshold))}"
    return ClaimFormula(
        "Step 2",
        rf"\sigma_{{\min}}(W) \ge \frac{{\sqrt m}}{{2{bound}}}",
        rf"{number(smallest)} {sign} \frac{{\sqrt{{{number(reduced_space_size)}}}}}{{2{value}}} = {number(threshold)}",
        f"Algorithm 1, step 2 of {PrivateSampling.paper}{'' if cube else ' (corrected: B in place of eᵈ)'}",
        "W holds the functions on the m points of S, one a row; "
        + ("d is the degree." if cube else "‖f‖₂ ≤ B·‖f‖₁ for all their combinations f."),
    )
