"""Where tests elsewhere are small: tiny and large ε, many columns, few rows and many. Noise has to pay for all there, too.

A part is priced by what a neighbour moves of it, written down here once more, and by the scale that the noise is asked for.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.errors import DpsynError
from dpsyn.mechanisms import points
from dpsyn.mechanisms.base import Config, Mechanism, no_progress
from dpsyn.mechanisms.categories import Categories
from dpsyn.mechanisms.dp_cda import _mechanism as dp_cda
from dpsyn.mechanisms.dp_gan import mechanism as dp_gan
from dpsyn.mechanisms.registry import MECHANISMS, config_class
from dpsyn.privacy.discrete_gaussian import Moved, continuous_delta, discrete_delta
from dpsyn.privacy.zcdp import zcdp_rho
from tests.conformance.neighbours import Call, Deaf, alike, asked, assert_same, remember_fits, run
from tests.conformance.test_every_mechanism import CASES, TABLE

FEW = dpsyn.Domain.of(
    [
        dpsyn.Attribute("a", "categorical", ("x", "y", "z"), public=True),
        dpsyn.Attribute("b", "truth", (0, 1), public=True),
        dpsyn.Attribute("x", "numeric", lower=0, upper=9, bins=2, integer=True, public=True),
    ]
)
MANY = dpsyn.Domain.of(replace(FEW["x" if j < 32 else "b"], name=f"c{j}") for j in range(40))
TWELVE = dpsyn.Domain.of(replace(FEW["a"], name=f"c{j}") for j in range(12))
WIDE = [dpsyn.Attribute(name, "categorical", tuple(range(9)), public=True) for name in "cd"]
UNEVEN = dpsyn.Domain.of([*FEW.attributes, *WIDE])
"""PrivBayes finds parents for some columns and none for the others, whichever comes first."""
LARGE = dpsyn.Domain.of(
    [FEW["b"], *(dpsyn.Attribute(name, "categorical", tuple(range(40)), public=True) for name in "cdef")]
)
"""Six pairs are so wide that noisy reweighting merges their codes."""
KEPT = dpsyn.Attribute("d", "date", lower=0, upper=9, bins=2, public=True, keep=("weekday", "month", "day"))
DATES = dpsyn.Domain.of([FEW["b"], FEW["x"], KEPT])
CELLS = dpsyn.Domain.of(
    [
        *(dpsyn.Attribute(name, "categorical", tuple(range(size)), public=True) for name, size in (("a", 60), ("b", 40))),
        dpsyn.Attribute("x", "numeric", lower=0, upper=10**6 - 1, bins=2, integer=True, public=True),
    ]
)
ON_CATEGORIES = [name for name in MECHANISMS if issubclass(config_class(name), Categories) and name != "dp_gan"]
PRICED = [*ON_CATEGORIES, "dp_merf"]
RUN_AT_ALL_SIZES = [*PRICED, "noisy_reweighting", "dp_gan", "local_perturbation", "random_projection"]
NARROW = ("mwem", "aim")
"""A weight for every possible row; 16 rounds a column."""
SETTINGS: dict[str, dict[str, Any]] = {
    "mwem": {"start_share": 0.3},
    "privsyn": {"rounds": 1},
    "dual_query": {"rounds": 12, "samples": 4},
    "dp_merf": {"features": 20},
    "dp_gan": {"steps": 1, "sampling_rate": 1.0},
}
SINGLY = [("mwem", {"measured": "cells", "output": output}) for output in ("last", "average")]
VARIANTS = [*((name, SETTINGS.get(name, {})) for name in PRICED), ("mwem", {"output": "average"}), *SINGLY]
LARGE_VARIANTS = [
    *((name, {**SETTINGS.get(name, {}), "rows": 100}) for name in ON_CATEGORIES),
    ("noisy_reweighting", {"rows": 100}),
]
ASKED = [(0.0, "replace_one"), (0.0, "add_remove"), (1e-5, "replace_one"), (1e-5, "add_remove")]


class Answering(Deaf):
    """Answers questions about real numbers, too."""

    def gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        self.calls.append(Call("real", values.copy(), scale))
        return self._counts(values.shape).astype(np.float64)


@cache
def table_of(domain: dpsyn.Domain, n: int) -> dpsyn.Table:
    """So many equal rows."""
    codes = np.zeros((n, len(domain)), dtype=np.int32)
    return dpsyn.Table(domain.decode(codes, np.random.default_rng(0)), domain)


def moves(mechanism: Any, calls: list[Call]) -> list[tuple[float, float]]:
    """How many numbers of each call a neighbour moves at most, and how far; of a choice how far a score."""
    name, columns, found = mechanism.config.name, len(mechanism.domain), list[tuple[float, float]]()
    public = mechanism.spec.neighbouring == "replace_one"
    one, far = (2, 6 * mechanism.n + 4) if public else (1, 4)
    cells, pairs = getattr(mechanism.config, "measured", "") == "cells", columns * (columns - 1) // 2
    tables, rounds = 0, 0
    for call in calls:
        count, step = one, 1.0  # a table, a level of a fine histogram, the number of rows
        if call.kind == "choice":
            scores = {"aim": 2 * one, "privbayes": 2 if columns == len(MANY) else far, "dual_query": rounds // 4 + 1}
            count, step = 1, 1 if cells else scores.get(name, one)
            rounds += 1
        elif call.values.ndim == 1 and name != "dp_merf":
            if name == "independent":
                count = one * columns
            elif name == "privsyn" and tables == columns:
                count, step = pairs, far
            elif cells and rounds:
                count = 1
            tables += 1
        elif name == "dp_merf":
            count, step = 1, mechanism._features(np.random.default_rng(0)).sensitivity(mechanism.spec.neighbouring)
        found.append((count, step))
    return found


def moves_of_reweighting(mechanism: Any, calls: list[Call]) -> list[tuple[float, float]]:
    """The same, of all tables of one part, of the scores that choose tables, and of tables one by one."""
    one, columns = 2 if mechanism.spec.neighbouring == "replace_one" else 1, len(mechanism.domain)
    starts = [group.start for group in mechanism.statistics.groups]
    found, known = [(float(one), 1.0)] * len(calls), 0
    for at, call in enumerate(calls):
        if call.values.ndim == 1 and known < mechanism.statistic_count:
            found[at] = one * int((mechanism.scales[starts] == call.scale).sum()), 1.0
            known += len(call.values)
        elif call.values.shape == (math.comb(columns, 2),):
            found[at] = math.comb(columns, 2), 1.0
        elif mechanism.domain is LARGE:
            found[at] = one * 6, 1.0
    return found


def price(call: Call, count: float, step: float) -> tuple[float, float]:
    """ε of Laplace noise or of a choice, and ρ of Gaussian noise or of a choice."""
    once, squared = count * step / call.scale, count * step**2 / (2 * call.scale**2)
    return {"laplace": (once, 0.0), "gaussian": (0.0, squared), "choice": (2 * once, squared)}[call.kind]


def check_prices(mechanism: Any, calls: list[Call], moved: list[tuple[float, float]], least: float) -> None:
    epsilon, delta = mechanism.spec.epsilon, mechanism.spec.delta
    prices = np.array([price(call, *move) for call, move in zip(calls, moved, strict=True)])
    how = mechanism.calibrated()["accounting"]
    if how == "exact":
        noisy = [(int(count), call.scale) for (count, _), call in zip(moved, calls, strict=True) if call.kind == "gaussian"]
        base = mechanism.ledger.base if mechanism.config.name == "noisy_reweighting" else noisy[0][1]
        parts = [Moved(count, 1, round((base / scale) ** 2)) for count, scale in noisy]
        assert 0.9 * least * delta <= discrete_delta(parts, base, epsilon - prices[:, 0].sum()) <= delta
        return
    assert not any(call.kind == ("gaussian" if how == "pure" else "laplace") for call in calls)
    spent = prices[:, 0].sum() if how == "pure" else prices[:, 1].sum()
    assert least - 1e-6 < spent / (epsilon if how == "pure" else zcdp_rho(epsilon, delta)) <= 1 + 1e-9


@pytest.mark.parametrize("epsilon", [1e-4, 200.0])
@pytest.mark.parametrize("domain", [FEW, MANY, DATES], ids=["few", "many", "dates"])
@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=str)
def test_what_the_noise_is_asked_for_costs_the_whole_budget_and_no_more(
    name: str, settings: dict[str, Any], domain: dpsyn.Domain, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in NARROW and domain is MANY:
        return
    remember_fits(monkeypatch)
    for delta, neighbouring in ASKED:
        if not delta and (name == "dp_merf" or (name == "contingency" and domain is MANY)):
            continue  # which is refused
        spec = dpsyn.PrivacySpec(epsilon, delta, neighbouring)
        mechanism = config_class(name)(rows=2, **settings).calibrate(spec, domain, 2)
        calls, _ = run(mechanism, table_of(domain, 2))
        # Scales of DualQuery are whole numbers, and there is a least one.
        least = (0.0 if epsilon > 1 else 0.999) if name == "dual_query" else 1.0
        check_prices(mechanism, calls, moves(mechanism, calls), least)


@pytest.mark.parametrize("epsilon", [1e-4, 200.0])
@pytest.mark.parametrize("domain", [FEW, TWELVE, MANY, LARGE, DATES], ids=["few", "twelve", "many", "large", "dates"])
@pytest.mark.parametrize(("delta", "neighbouring"), ASKED)
def test_so_does_what_noisy_reweighting_asks(domain: dpsyn.Domain, epsilon: float, delta: float, neighbouring: Any) -> None:
    spec = dpsyn.PrivacySpec(epsilon, delta, neighbouring)
    mechanism: Any = dpsyn.NoisyReweighting(degree=2, rows=2).calibrate(spec, domain, 2)
    noise = Deaf(0, 10**12)  # so high that tables are chosen
    mechanism.measured(noise, table_of(domain, 2))
    check_prices(mechanism, noise.calls, moves_of_reweighting(mechanism, noise.calls), 1.0)


@pytest.fixture
def scales(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """σ of the noise in real numbers that a run asks for."""
    found: list[float] = []
    made = points.gaussian_noise

    def kept(scale: float, *arguments: Any, **more: Any) -> Any:
        found.append(scale)
        return made(scale, *arguments, **more)

    for module in (points, dp_gan, dp_cda):
        monkeypatch.setattr(module, "gaussian_noise", kept)
    return found


@pytest.mark.parametrize("epsilon", [1e-4, 200.0])
@pytest.mark.parametrize("domain", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("name", ["local_perturbation", "random_projection", "dp_mix", "dp_gan"])
def test_noise_in_real_numbers_has_the_scale_of_its_exact_law(
    name: str, domain: dpsyn.Domain, epsilon: float, scales: list[float]
) -> None:
    """Where every record has a part in all, what is released is one point that a neighbour moves so many σ."""
    settings = {"dp_mix": {"order_of_mixture": 2}, "dp_gan": {"steps": 2, "sampling_rate": 1.0, "histogram_share": 0.0}}
    config = config_class(name)(rows=2, **settings.get(name, {}))
    mechanism: Any = config.calibrate(dpsyn.PrivacySpec(epsilon, 1e-5), domain, 2)
    noise = Answering()
    mechanism._run(noise, table_of(domain, 2), no_progress)
    (scale,) = scales
    if name == "dp_gan":
        (counts,) = noise.calls
        moved = (2 * len(domain) / counts.scale**2 + 2 * (2 * config.clip_norm / scale) ** 2) ** 0.5
    else:
        moved = mechanism.features.diameter / scale / (2**0.5 if name == "dp_mix" else 1)
    assert 0.9e-5 < continuous_delta(moved, epsilon) <= 1e-5


@pytest.mark.parametrize("epsilon", [1e-4, 200.0])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("scaling", ["public", "private"])
def test_dp_cda_asks_for_noise_of_its_stated_scales(
    scaling: Any, neighbouring: Any, epsilon: float, scales: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dp_cda.DPCDAMechanism, "noise_scale_for", lambda self, sizes: 1e9)  # which takes long
    config = dpsyn.DPCDA("b", rows={0: 2, 1: 2}, order_of_mixture=1, scaling=scaling)
    mechanism: Any = config.calibrate(dpsyn.PrivacySpec(epsilon, 1e-5, neighbouring), FEW, 10**7)
    noise, budget = Answering(0, 10**9, 1), mechanism.budget
    mechanism._run(noise, table_of(FEW, 2), no_progress)
    first = [] if budget.standard is None else [("real", budget.standard.noise_scale)]
    assert [(call.kind, call.scale) for call in noise.calls] == [*first, ("laplace", budget.count_noise_scale)]
    assert budget.count_noise_scale * budget.epsilon_for_counts >= (2 if neighbouring == "replace_one" else 1)
    assert scales == [1e9]


@pytest.mark.parametrize("answers", [(-3, 7), (300, 300)], ids=["few", "many"])
@pytest.mark.parametrize(("name", "settings"), LARGE_VARIANTS, ids=str)
def test_questions_and_rows_follow_from_answers_on_large_tables_too(
    name: str, settings: dict[str, Any], answers: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of cells and rows, and a tree of six levels: all rows alike, one in each cell, or any number in some."""
    remember_fits(monkeypatch)
    every = np.array(list(product(range(60), range(40))), dtype=np.int32)
    random, found = np.random.default_rng(0), []
    for at in (np.zeros(2400, int), np.arange(2400), np.sort(random.integers(0, 2400, 2400)), np.repeat(np.arange(800), 3)):
        a, b = every[at].T
        x = np.zeros(2400, int) if len(found) == 0 else random.integers(0, 10**6, 2400)
        table = dpsyn.Table(pd.DataFrame({"a": a, "b": b, "x": x}), CELLS)
        mechanism = config_class(name)(**settings).calibrate(dpsyn.PrivacySpec(1e4, 1e-5), CELLS, 2400)
        found.append(asked(Deaf(0, *answers), mechanism, table))
    for calls, rows in found[1:]:
        assert alike(found[0][0], calls)
        assert_same(found[0][1], rows)


@pytest.mark.parametrize("rows", [None, 1000])
@pytest.mark.parametrize("name", RUN_AT_ALL_SIZES)
def test_a_secret_number_of_rows_changes_no_question_and_no_number_of_rows_that_are_made(
    name: str, rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember_fits(monkeypatch)
    on_points = issubclass(config_class(name), points.Points)
    if on_points and rows is None:
        return  # which is refused
    spec, found = dpsyn.PrivacySpec(1.0, 1e-5, "add_remove"), []
    for n in (2, 200_000):
        mechanism = config_class(name)(rows=rows, **SETTINGS.get(name, {})).calibrate(spec, UNEVEN, n)
        found.append(asked(Answering(0, 300), mechanism, table_of(UNEVEN, n)))
    (few, made), (many, also) = found
    assert alike(few, many)
    assert len(made) == len(also)
    assert rows in (None, len(made))
    if name != "dp_gan" and not on_points:  # whose rows are not all that noise makes of them
        assert_same(made, also)


@pytest.mark.parametrize("name", sorted(CASES))
def test_calibration_sees_nothing_of_a_secret_number_of_rows(name: str) -> None:
    def told(config: Config, epsilon: float, n: int) -> Any:
        try:
            mechanism: Mechanism = config.calibrate(dpsyn.PrivacySpec(epsilon, 1e-5, "add_remove"), TABLE.domain, n)
        except DpsynError as refused:
            return str(refused)
        return mechanism.facts(), mechanism.guarantee

    for epsilon in (1e-4, 1.0, 1e6):
        for config in (CASES[name].config, replace(CASES[name].config, rows=None)):
            found = [told(config, epsilon, n) for n in (1, 5_000, 10**7)]
            assert found[0] == found[1] == found[2]
