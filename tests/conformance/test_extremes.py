"""Where tests elsewhere are small: tiny and large ε, many columns, few rows and many. Noise has to pay for all there, too.

A part is priced by what a neighbour moves of it, written down here once more, and by the scale that the noise is asked for.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.errors import DpsynError
from dpsyn.mechanisms import points
from dpsyn.mechanisms.base import Config, Mechanism, no_progress
from dpsyn.mechanisms.categories import Categories
from dpsyn.mechanisms.dp_gan import mechanism as dp_gan
from dpsyn.mechanisms.registry import MECHANISMS, config_class
from dpsyn.privacy.discrete_gaussian import Moved, continuous_delta, discrete_delta
from dpsyn.privacy.zcdp import zcdp_rho
from tests.conformance.neighbours import Call, Deaf, alike, asked, remember_fits
from tests.conformance.test_every_mechanism import CASES, TABLE

FEW = dpsyn.Domain.of(
    [
        dpsyn.Attribute("a", "categorical", ("x", "y", "z"), public=True),
        dpsyn.Attribute("b", "truth", (0, 1), public=True),
        dpsyn.Attribute("x", "numeric", lower=0, upper=9, bins=2, integer=True, public=True),
    ]
)
MANY = dpsyn.Domain.of([dpsyn.Attribute(f"c{j}", "truth", (0, 1), public=True) for j in range(40)])
WIDE = [dpsyn.Attribute(name, "categorical", tuple(range(9)), public=True) for name in "cd"]
UNEVEN = dpsyn.Domain.of([*FEW.attributes, *WIDE])
"""PrivBayes finds parents for some columns and none for the others, whichever comes first."""
ON_CATEGORIES = [name for name in MECHANISMS if issubclass(config_class(name), Categories) and name != "dp_gan"]
PRICED = [*ON_CATEGORIES, "noisy_reweighting", "dp_merf"]
RUN_AT_ALL_SIZES = [*PRICED, "dp_gan", "local_perturbation", "random_projection"]
NARROW = ("mwem", "aim")
"""A weight for every possible row; 16 rounds a column."""
SETTINGS: dict[str, dict[str, Any]] = {
    "mwem": {"start_share": 0.3},
    "privsyn": {"rounds": 1},
    "dual_query": {"rounds": 30, "samples": 4},
    "dp_merf": {"features": 20},
    "dp_gan": {"steps": 1, "sampling_rate": 1.0},
}
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


def moves(name: str, calls: list[Call], one: int, n: int | None, columns: int) -> list[tuple[int, int]]:
    """How many numbers of each call a neighbour moves at most, and how far; of a choice how far a score.

    Args:
        name: of the mechanism.
        calls: of one run.
        one: cells of a table that a neighbour moves.
        n: where it is public.
        columns: of the table.
    """
    found, after, rounds = [], 0, 0
    far = 4 if n is None else 6 * n + 4
    pairs = columns * (columns - 1) // 2
    for call in calls:
        count, step = one, 1  # a table, a level of a fine histogram, the number of rows
        if call.kind == "choice":
            by_name = {"aim": 2 * one, "privbayes": 2 if columns == len(MANY) else far, "dual_query": rounds // 4 + 1}
            count, step = 1, by_name.get(name, one)
            rounds += 1
        elif call.values.ndim == 1:
            if name == "independent":
                count = one * columns
            elif after == columns and name in ("privsyn", "noisy_reweighting"):
                count, step = pairs, far if name == "privsyn" else 1
                assert len(call.values) == pairs
            elif after == 0 and name == "noisy_reweighting":
                count, after = one * columns, columns - 1
            after += 1
        found.append((count, step))
    return found


def price(call: Call, count: int, step: int) -> tuple[float, float]:
    """ε of Laplace noise or of a choice, and ρ of Gaussian noise or of a choice."""
    once, squared = count * step / call.scale, count * step**2 / (2 * call.scale**2)
    return {"laplace": (once, 0.0), "gaussian": (0.0, squared), "choice": (2 * once, squared)}[call.kind]


@pytest.mark.parametrize("epsilon", [1e-4, 200.0])
@pytest.mark.parametrize("domain", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("name", PRICED)
def test_what_the_noise_is_asked_for_costs_the_whole_budget_and_no_more(
    name: str, domain: dpsyn.Domain, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (name in NARROW and domain is MANY) or (name == "noisy_reweighting" and domain is FEW):
        return
    remember_fits(monkeypatch)
    for delta, neighbouring in ASKED:
        if not delta and (name == "dp_merf" or (name == "contingency" and domain is MANY)):
            continue  # which is refused
        public = neighbouring == "replace_one"
        config = config_class(name)(rows=2, **SETTINGS.get(name, {}))
        mechanism: Any = config.calibrate(dpsyn.PrivacySpec(epsilon, delta, neighbouring), domain, 2)
        calls = questions(mechanism)
        moved = moves(name, calls, 2 if public else 1, 2 if public else None, len(domain))
        if name == "dp_merf":
            moved = [(1, mechanism._features(np.random.default_rng(0)).sensitivity(neighbouring))]
        prices = np.array([price(call, *move) for call, move in zip(calls, moved, strict=True)])
        how = mechanism.calibrated()["accounting"]
        if how == "exact":
            (at,) = [at for at, call in enumerate(calls) if call.kind == "gaussian"]
            left = epsilon - prices[:, 0].sum()
            assert 0.9 * delta < discrete_delta((Moved(moved[at][0]),), calls[at].scale, left) <= delta
            continue
        assert not any(call.kind == ("gaussian" if how == "pure" else "laplace") for call in calls)
        spent = prices[:, 0].sum() if how == "pure" else prices[:, 1].sum()
        total = epsilon if how == "pure" else zcdp_rho(epsilon, delta)
        # Scales of DualQuery are whole numbers, and there is a least one; nothing is spent on tables that are not chosen.
        least = {"dual_query": 0.0 if epsilon > 1 else 1.0, "noisy_reweighting": 0.2}.get(name, 1.0)
        assert least - 1e-6 < spent / total <= 1 + 1e-9


def questions(mechanism: Any) -> list[Call]:
    """To the noise, on two equal rows; what noisy reweighting fits afterwards takes long."""
    noise, table = Deaf(), table_of(mechanism.domain, 2)
    if mechanism.config.name == "noisy_reweighting":
        mechanism.measured(noise, table)
        return noise.calls
    return asked(noise, mechanism, table)[0]


@pytest.mark.parametrize("epsilon", [1e-4, 200.0])
@pytest.mark.parametrize("domain", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("name", ["local_perturbation", "random_projection", "dp_mix", "dp_gan"])
def test_noise_in_real_numbers_has_the_scale_of_its_exact_law(
    name: str, domain: dpsyn.Domain, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where every record has a part in all, what is released is one point that a neighbour moves so many σ."""
    scales: list[float] = []
    made = points.gaussian_noise

    def kept(scale: float, *arguments: Any, **more: Any) -> Any:
        scales.append(scale)
        return made(scale, *arguments, **more)

    for module in (points, dp_gan):
        monkeypatch.setattr(module, "gaussian_noise", kept)
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
        pd.testing.assert_frame_equal(made, also)


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
