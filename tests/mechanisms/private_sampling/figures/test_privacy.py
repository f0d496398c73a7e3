"""Observed losses are exact and below the certificate."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.private_sampling.certificates import is_degenerate
from dpsyn.mechanisms.private_sampling.figures.density import (
    OBSERVED,
    RATIO,
    SMALLER,
    THEOREM,
    Claim,
    claims,
    draw_log_ratios,
    draw_privacy,
)
from dpsyn.mechanisms.private_sampling.local_loss import Change, LossMeter
from dpsyn.mechanisms.private_sampling.small_run import SmallRun
from dpsyn.table import Table
from tests.mechanisms.private_sampling.figures.conftest import bits_table, run_of


def replaced(table: Table, at: int, row: tuple[int, ...]) -> Table:
    frame = table.frame.copy()
    for name, code in zip(table.domain.names, row, strict=True):
        frame.loc[at, name] = table.domain[name].categories[code]
    return Table(frame, table.domain, table.name)


def meter_of(run: SmallRun, floor: float = 0.25, ceiling: float = 2.0, draws: int | None = None) -> LossMeter:
    config = PrivateSampling(floor=floor, ceiling=ceiling, rows=1, reduced_space_size=draws)
    return LossMeter(config, run.table, generator=np.random.default_rng(1))


def claims_of(run: SmallRun, floor: float, ceiling: float, rows: int) -> tuple[Claim, ...]:
    certificates = meter_of(run, floor, ceiling, None if run.space.size.whole else run.space.m).certificates
    return claims(certificates, rows=rows, cube=run.table.domain.is_binary, degenerate=is_degenerate(floor, ceiling))


@pytest.mark.parametrize("draws", [None, 60])
def test_the_loss_is_that_of_two_runs_from_scratch(draws: int | None) -> None:
    table = bits_table(6, n=40)
    run = run_of(table, draws=draws)
    leaves, comes = tuple(int(c) for c in table.codes[3]), (1, 0, 1, 0, 1, 0)
    loss = meter_of(run, draws=draws).loss(Change(leaves, comes))
    first = int(np.flatnonzero((table.codes == leaves).all(axis=1))[0])
    other = SmallRun(run.space, replaced(table, first, comes))
    logs = np.log(run.matched(0.25, 2.0).ratio / other.matched(0.25, 2.0).ratio)
    assert loss.loss == pytest.approx(np.abs(logs).max(), abs=1e-6)
    assert loss.log_ratios == pytest.approx(logs, abs=1e-6)
    assert 0 < loss.loss <= math.log(2.0 / 0.25)
    assert loss.residual <= 1e-8


def test_a_row_that_is_not_there_cannot_leave(bits: SmallRun) -> None:
    with pytest.raises(ParameterError, match="row of the table"):
        meter_of(bits).loss(Change((1, 0, 0, 0, 0), (0,) * 5))


def test_the_smaller_certificate_certifies(bits: SmallRun, product: SmallRun) -> None:
    found = {claim.name: claim for claim in claims_of(bits, 0.25, 2.0, rows=2)}
    assert found[RATIO].epsilon == pytest.approx(2 * math.log(8))
    assert found[RATIO].kind == SMALLER
    expected = 4 * math.sqrt(2) * 2 * 8**1.5 * math.e * 16**0.25 * 32**0.75 / math.sqrt(400)
    assert found[THEOREM].epsilon == pytest.approx(expected)
    categories = {claim.name: claim for claim in claims_of(product, 0.25, 2.0, rows=2)}
    assert categories[THEOREM].epsilon is None
    assert "cube" in categories[THEOREM].note


@pytest.mark.parametrize(
    ("theorem", "by"), [(0.25, "0.5 by Theorem 4.1, in exact arithmetic."), (9.0, "4.159 by the bounded ratio.")]
)
def test_the_picture_says_that_the_theorem_holds_in_exact_arithmetic(theorem: float, by: str) -> None:
    certificates = {"theorem_4_1": theorem, "bounded_ratio": math.log(8), "stability": None}
    found = claims(certificates, rows=2, cube=True, degenerate=False)
    assert (found[0].kind == SMALLER) is (theorem < 1)
    assert found[0].note == "in exact arithmetic"
    assert " ".join(draw_privacy(found, [], rows=2).to_dict()["title"]["subtitle"]) == f"ε = {by}"


@pytest.mark.parametrize("which", ["bits", "drawn", "product"])
@pytest.mark.parametrize("box", [(0.25, 2.0), (0.5, 2.0)])
def test_the_picture_draws_zero_and_missing_claims(
    request: pytest.FixtureRequest, which: str, box: tuple[float, float]
) -> None:
    run: SmallRun = request.getfixturevalue(which)
    found, observed = claims_of(run, *box, rows=5), [Claim("This neighbour", 0.0, OBSERVED)]
    chart = draw_privacy(found, observed, rows=5)
    drawn = [row for rows in chart.to_dict()["datasets"].values() for row in rows]
    assert len(drawn) == sum(claim.epsilon is not None for claim in (*found, *observed))
    assert all(math.isfinite(row["x"]) for row in drawn)
    assert "lower bound on the true ε" in " ".join(chart.to_dict()["title"]["subtitle"])


@pytest.mark.parametrize("n", [3, 4000])
def test_log_ratios_draw_with_and_without_the_ends(n: int) -> None:
    run = run_of(bits_table(4, n=n))
    leaves = tuple(int(c) for c in run.table.codes[0])
    loss = meter_of(run).loss(Change(leaves, (1, 1, 1, 1)))
    text = str(draw_log_ratios(loss.log_ratios, 8.0).to_dict())
    assert ("the certificate for one row" in text) == (2.5 * 1.25 * loss.loss >= math.log(8))


def test_what_is_certified_is_rounded_up_and_what_was_observed_down() -> None:
    found = [Claim(RATIO, math.log(120), SMALLER), Claim("Worst one found", 0.0036060, OBSERVED)]
    chart = draw_privacy(found[:1], found[1:], rows=1).to_dict()
    words = " ".join(chart["title"]["subtitle"])
    assert math.log(120) > 4.787
    assert "ε = 4.788 by" in words
    assert "seen, 0.0036, is a lower bound" in words
    drawn = [row for rows in chart["datasets"].values() for row in rows]
    assert {"4.79", "0.0036"} <= {row.get("text") for row in drawn}
