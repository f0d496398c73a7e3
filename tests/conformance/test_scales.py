"""However long a run is, its noise pays for all of it: no round, row, column, class or level is free beyond some number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import dpsyn
from dpsyn.calendar import with_calendar
from dpsyn.mechanisms.dp_cda._budget import Budget as DPCDABudget
from dpsyn.privacy.histograms import Histograms

BITS = [dpsyn.Attribute(f"c{j}", "truth", (0, 1), public=True) for j in range(100)]
FEW = dpsyn.Domain.of(BITS[:4])


def made(config: Any, delta: float, domain: dpsyn.Domain = FEW, n: int = 1000) -> Any:
    return config.calibrate(dpsyn.PrivacySpec(1.0, delta), domain, n)


def columns(config: Any, delta: float, count: int) -> Any:
    return made(config, delta, dpsyn.Domain.of(BITS[:count]))


def mixing(many: int) -> dpsyn.DPCDA:
    return dpsyn.DPCDA("c0", rows={0: many, 1: many}, class_sizes=9, order_of_mixture=9)


def classes(many: int) -> dpsyn.Domain:
    return dpsyn.Domain.of([dpsyn.Attribute("k", "categorical", tuple(range(many)), public=True), BITS[0]])


Growing = dict[str, tuple[Callable[[int, float], float], Callable[[int], float]]]
ROUNDS: Growing = {
    "choices of MWEM": (lambda many, delta: made(dpsyn.MWEM(rounds=many, replays=0), delta).choice_scale, float),
    "tables of MWEM": (lambda many, delta: made(dpsyn.MWEM(rounds=many, replays=0), delta).noise_scale, float),
    "queries of DualQuery": (lambda many, delta: made(dpsyn.DualQuery(samples=many), delta).choice_scale, float),
}
COLUMNS: Growing = {
    "columns of MST": (lambda many, delta: columns(dpsyn.MST(), delta, many).one_way_scale, float),
    "choices of MST": (lambda many, delta: columns(dpsyn.MST(), delta, many).choice_scale, lambda many: many - 1),
    "tables of MST": (lambda many, delta: columns(dpsyn.MST(), delta, many).two_way_scale, lambda many: many - 1),
    "rounds of AIM": (lambda many, delta: columns(dpsyn.AIM(), delta, many).first.noise_scale, float),
    "choices of AIM": (lambda many, delta: columns(dpsyn.AIM(), delta, many).first.choice_scale, float),
}
ROWS: Growing = {
    "classes of DP-MERF": (lambda many, delta: made(dpsyn.DPMERF("k"), delta, classes(many)).noise_scale, lambda _: 1.0),
    # Where every record has a part in every row or step, as many of them are one with √T times the sensitivity.
    "steps of DP-GAN": (lambda many, delta: made(dpsyn.DPGAN(steps=many, sampling_rate=1.0), delta).multiplier, float),
    "rows of DP-Mix": (lambda many, delta: made(dpsyn.DPMix(rows=many, order_of_mixture=9), delta, n=9).noise_scale, float),
    "rows of DP-CDA": (lambda many, delta: made(mixing(many), delta, n=18).noise_scale_for((9, 9)), float),
}


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("name", ROUNDS | COLUMNS | ROWS)
def test_scales_grow_as_their_formulas_say_without_an_end(name: str, delta: float) -> None:
    """In proportion to what is done where ε adds up, and to its root where ρ does."""
    scale, done = (ROUNDS | COLUMNS | ROWS)[name]
    if name in ROWS and not delta:
        return  # which is refused
    counts = (2, 3, 7, 19, 21, 49, 51, 99) if name in COLUMNS else (2, 9, 51, 101, 499, 501, 1001, 10_000)
    found = [scale(many, delta) / done(many) ** (0.5 if delta else 1) for many in counts]
    assert found == pytest.approx([found[0]] * len(counts), rel=1e-2 if name in ROWS or "DualQuery" in name else 1e-9)


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0, 200.0])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("rounds", [2, 7, 50, 51, 100, 101, 102, 500, 1_000, 10_000])
def test_all_rounds_of_dual_query_are_paid_for(rounds: int, delta: float, epsilon: float, neighbouring: Any) -> None:
    spec = dpsyn.PrivacySpec(epsilon, delta, neighbouring)
    mechanism = dpsyn.DualQuery(rounds=rounds, samples=3).calibrate(spec, FEW, 1000)
    until, budget, scale = rounds - 1, mechanism.budget, mechanism.choice_scale
    counted = budget.noise_cost(mechanism._count_scale) if neighbouring == "add_remove" else 0.0

    def cost(scale: int) -> float:
        """Of three choices by scores that move by 1, three by 2, and so on, after the count of rows."""
        squares = until * rounds * (until + rounds) // 6
        return counted + (3 * squares / (2 * scale**2) if delta else 3 * until * rounds / scale)

    assert cost(scale) <= budget.total
    assert scale == 1 or budget.total < cost(scale - 1)


@pytest.mark.parametrize("classes", [1, 2, 5, 6, 7, 50, 1_000])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_the_margin_of_dp_cda_is_for_all_classes(classes: int, neighbouring: Any) -> None:
    spec = dpsyn.PrivacySpec(1.0, 1e-5, neighbouring)
    budget = DPCDABudget.split(dpsyn.DPCDA("y"), spec, 0, classes, counted=True)

    def beyond(margin: int) -> float:
        """The probability that any count exceeds the true one by more, or a little more than that."""
        q = math.exp(-1 / budget.count_noise_scale)
        return classes * q ** (margin + 1) / (1 + q)

    assert beyond(budget.count_margin) <= budget.overstated_probability < beyond(budget.count_margin - 1)


NUMBERS: dict[str, dict[str, Any]] = {
    "whole": {"kind": "numeric", "integer": True},
    "cents": {"kind": "numeric", "upper": 0.99, "unit": 0.01},
    "real": {"kind": "numeric"},
    "dates": {"kind": "date"},
    **{
        f"dates that keep {kept}": {"kind": "date", "keep": kept}
        for kept in (("weekday",), ("month",), ("day",), ("weekday", "month"))
    },
}


@pytest.mark.parametrize("many", [1, 2, 5, 13, 40, 200])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", NUMBERS)
def test_a_neighbour_moves_a_count_in_every_level_of_all_fine_histograms(kind: str, missing: bool, many: int) -> None:
    settings = {"lower": 0, "upper": 99, "bins": 4, "missing": missing, "public": True, **NUMBERS[kind]}
    domain = dpsyn.Domain.of(dpsyn.Attribute(f"x{j}", **settings) for j in range(many))
    levels = (4 if kind == "real" else 2) * many
    for columns in (domain, with_calendar(domain), dpsyn.Domain.of([*BITS, *domain.attributes])):
        found = Histograms.of(columns)
        assert found is not None
        assert found.levels == found.moved("add_remove") == levels
        assert found.moved("replace_one") == 2 * levels
