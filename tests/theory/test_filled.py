"""Formulas with numbers: each is read back and computed, and must give what the condition requires."""

from __future__ import annotations

import math
import re

import pytest

from dpsyn.data.samples import load_sample
from dpsyn.mechanisms.feasibility import feasibility
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import Condition
from dpsyn.theory.formulas import fill, latex_number

_SIDES = re.compile(r"\\[lg]e(?![a-z])|<|>")


def computed(latex: str) -> float:
    """The value of a formula that holds numbers only."""
    text = latex.replace(r"\,", "").replace(r"\left", "").replace(r"\right", "").replace(r"\ ", " ")
    text = re.sub(r"\\cdot|\\times", "*", text)
    group = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
    for _ in range(6):
        text = re.sub(rf"\\frac{group}{group}", r"((\1)/(\2))", text)
        text = re.sub(rf"\\sqrt{group}", r"sqrt(\1)", text)
        text = re.sub(rf"\^{group}", r"**(\1)", text)
    text = re.sub(r"\\sqrt(\d)", r"*sqrt(\1)", text)
    text = text.replace("^", "**")
    text = re.sub(r"\\ln\s*\(", "log(", text)
    text = re.sub(r"\\ln\s*(\(\([^()]*\)/\([^()]*\)\)|[0-9.]+)", r"log(\1)", text)
    text = re.sub(r"(?<![a-z])e\*\*", r"*E**", text)
    text = re.sub(r"\\max", "max", text)
    text = re.sub(r"([0-9)])\s*(log|sqrt|\()", r"\1*\2", text)
    text = re.sub(r"\)\s*([0-9])", r")*\1", text)
    text = re.sub(r"\s+", " ", text).strip().removeprefix("*").replace("* *", "*").replace("(*", "(")
    return float(eval(text, {"__builtins__": {}}, {"log": math.log, "sqrt": math.sqrt, "E": math.e, "max": max}))


def filled_conditions() -> list[tuple[str, Condition, str]]:
    found = []
    wide = DatasetStatistics(p=62, n=32561, max_frequency=577 / 32561)
    for stats in (load_sample("asia").statistics(), wide):
        for spec in (PrivacySpec(1.0, 1e-5), PrivacySpec(0.25, 1e-6)):
            for verdict in feasibility(stats, spec, floor=0.2, ceiling=3.0, rows=10):
                for c in (*verdict.conditions, *verdict.alternatives):
                    if not c.assumed and not c.experimental and c.key not in ("delta", "rows_upper"):
                        found.append(
                            (f"{verdict.mechanism} {c.key} {stats.p} {spec.epsilon}", c, fill(c.formula, verdict.symbols))
                        )
    return found


@pytest.mark.parametrize(
    ("condition", "text"), [f[1:] for f in filled_conditions()], ids=[f[0] for f in filled_conditions()]
)
def test_a_filled_formula_says_what_the_condition_says(condition: Condition, text: str) -> None:
    left, right = _SIDES.split(text)
    # The numbers are shown with three digits, in powers up to the second and exponentials.
    assert computed(left) == pytest.approx(condition.actual, rel=0.02)
    assert computed(right) == pytest.approx(condition.required, rel=0.02)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.25, "0.25"),
        (20000, r"20\,000"),
        (3.0, "3"),
        (1234.4, r"1\,234"),
        (1.2e-7, r"(1.20 \times 10^{-7})"),
        (9.999e9, r"(1.00 \times 10^{10})"),
        (1e10, r"10^{10}"),
        (0.0, "0"),
        (math.inf, r"\infty"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert latex_number(math.log(value) if value > 0 else -math.inf) == text


def test_letters_of_commands_and_with_indices_stay() -> None:
    symbols = {"n": "5", "k": "2", "d": "3", r"\delta": "0.5", r"\Delta": "4"}
    assert fill(r"\min_n k_1 + \Delta_1", symbols) == r"\min_{5} k_1 + \Delta_1"
    assert fill(r"2n\delta^{-1}", symbols) == r"2 \cdot 5 \cdot (0.5)^{-1}"
    assert fill(r"\sqrt n + x^d", symbols) == r"\sqrt{5} + x^{3}"
    assert fill(r"\Delta-\delta", {}) == r"\Delta-\delta"
