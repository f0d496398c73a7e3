"""Observed losses are exact and below the certificate; times stand beside their predictions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.private_sampling.calibration import Calibration, Timing, fit
from dpsyn.mechanisms.private_sampling.figures.instance import Instance, make_instance
from dpsyn.mechanisms.private_sampling.figures.privacy import (
    CERTIFIES,
    OBSERVED,
    RATIO,
    THEOREM,
    Claim,
    certificates,
    draw_log_ratios,
    draw_privacy,
    neighbour_loss,
    privacy_info,
)
from dpsyn.mechanisms.private_sampling.figures.timing import LP, PAPER, QP, MeasuredRun, draw_timing, timing_info
from dpsyn.mechanisms.private_sampling.local_loss import Change, LossMeter
from dpsyn.table import Table
from tests.mechanisms.private_sampling.figures.conftest import bits_table, instance_of

TIMINGS = [
    Timing(program, m, size, 2e-8 * m * size**1.75, "interior point")  # type: ignore[arg-type]
    for program in ("lp", "qp")
    for m, size in ((24_000, 22), (8000, 56), (4000, 172), (24_000, 56), (12_000, 172))
]
CALIBRATION = Calibration(fit("lp", TIMINGS), fit("qp", TIMINGS))


def replaced(table: Table, at: int, row: tuple[int, ...]) -> Table:
    frame = table.frame.copy()
    for name, code in zip(table.domain.names, row, strict=True):
        frame.loc[at, name] = table.domain[name].categories[code]
    return Table(frame, table.domain, table.name)


@pytest.mark.parametrize("draws", [None, 60])
def test_the_loss_is_that_of_two_runs_from_scratch(draws: int | None) -> None:
    table = bits_table(6, n=40)
    instance = instance_of(table, draws=draws)
    leaves, comes = tuple(int(c) for c in table.codes[3]), (1, 0, 1, 0, 1, 0)
    loss = neighbour_loss(instance, leaves, comes, floor=0.25, ceiling=2.0, rows=3)
    first = int(np.flatnonzero((table.codes == leaves).all(axis=1))[0])
    other = make_instance(instance.space, replaced(table, first, comes))
    logs = np.log(instance.solved(0.25, 2.0).ratio / other.solved(0.25, 2.0).ratio)
    assert loss.epsilon == pytest.approx(3 * np.abs(logs).max(), abs=1e-6)
    assert loss.log_ratios == pytest.approx(np.sort(logs), abs=1e-6)
    assert loss.epsilon > 0
    assert loss.epsilon <= 3 * math.log(2.0 / 0.25)
    meter = LossMeter(
        PrivateSampling(floor=0.25, ceiling=2.0, rows=3, reduced_space_size=draws), table, generator=np.random.default_rng(1)
    )
    assert meter.loss(Change(leaves, comes)).loss == pytest.approx(loss.epsilon, abs=1e-5)


def test_a_row_that_is_not_there_cannot_leave(bits: Instance) -> None:
    with pytest.raises(ParameterError, match="row of the data"):
        neighbour_loss(bits, (1, 0, 0, 0, 0), (0,) * 5, floor=0.25, ceiling=2.0)


def test_the_smaller_certificate_certifies(bits: Instance, product: Instance) -> None:
    claims = {claim.name: claim for claim in certificates(bits, floor=0.25, ceiling=2.0, rows=2)}
    assert claims[RATIO].epsilon == pytest.approx(2 * math.log(8))
    assert claims[RATIO].kind == CERTIFIES
    expected = 4 * math.sqrt(2) * 2 * 8**1.5 * math.e * 16**0.25 * 32**0.75 / math.sqrt(400)
    assert claims[THEOREM].epsilon == pytest.approx(expected)
    categories = {claim.name: claim for claim in certificates(product, floor=0.25, ceiling=2.0, rows=2)}
    assert categories[THEOREM].epsilon is None
    assert "cube" in categories[THEOREM].note


@pytest.mark.parametrize("which", ["bits", "drawn", "product"])
@pytest.mark.parametrize("box", [(0.25, 2.0), (0.5, 2.0)])
def test_the_picture_draws_zero_and_missing_claims(
    request: pytest.FixtureRequest, which: str, box: tuple[float, float]
) -> None:
    instance: Instance = request.getfixturevalue(which)
    claims = certificates(instance, floor=box[0], ceiling=box[1], rows=5)
    info = privacy_info(claims, [Claim("This neighbour", 0.0, OBSERVED)], rows=5)
    drawn = [row for rows in draw_privacy(info).to_dict()["datasets"].values() for row in rows]
    assert len(drawn) == sum(claim.epsilon is not None for claim in info.claims)
    assert all(math.isfinite(row["x"]) for row in drawn)
    assert "lower bound on the true ε" in info.subtitle


@pytest.mark.parametrize("n", [3, 4000])
def test_log_ratios_draw_with_and_without_the_ends(n: int) -> None:
    instance = instance_of(bits_table(4, n=n))
    leaves = tuple(int(c) for c in instance.codes[0])
    loss = neighbour_loss(instance, leaves, (1, 1, 1, 1), floor=0.25, ceiling=2.0)
    spec = draw_log_ratios(loss, 8.0).to_dict()
    text = str(spec)
    assert ("the certificate for one row" in text) == (2.5 * 1.25 * loss.epsilon >= math.log(8))


def test_measured_times_stand_beside_predictions() -> None:
    runs = [MeasuredRun("a", 2000, 37, 0.5, None), MeasuredRun("b", 256, 37, 0.01, 0.002)]
    before = timing_info(runs, None)
    assert [line[0] for line in before.lines] == [PAPER]
    assert [row.program for row in before.rows] == [LP, LP, QP]
    assert all(row.predicted == "not calibrated" for row in before.rows)
    assert before.rows[2].paper == "0.00655 s"
    after = timing_info(runs, CALIBRATION)
    assert [line[0] for line in after.lines] == [PAPER, LP, QP]
    for x, y in after.lines[1][1]:
        assert y == pytest.approx(math.log10(2e-8 * 37**1.75) + x, abs=1e-2)
    for info in (before, after):
        rows = [row for data in draw_timing(info).to_dict()["datasets"].values() for row in data if "y" in row]
        assert all(math.isfinite(row["y"]) for row in rows)
    assert {(dot[0], round(10 ** dot[2], 6)) for dot in after.dots} == {(LP, 0.5), (LP, 0.01), (QP, 0.002)}


def test_both_programs_are_timed(bits: Instance) -> None:
    linear, quadratic = bits.seconds(0.25, 2.0)
    assert linear > 0
    assert quadratic > 0


def test_what_is_certified_is_rounded_up_and_what_was_observed_down() -> None:
    claims = [Claim(RATIO, math.log(120), CERTIFIES), Claim("Worst one found", 0.0036060, OBSERVED)]
    info = privacy_info(claims[:1], claims[1:], rows=1)
    assert math.log(120) > 4.787
    assert "ε = 4.788 by" in info.subtitle
    assert "seen, 0.0036, is a lower bound" in info.subtitle
    drawn = [row for rows in draw_privacy(info).to_dict()["datasets"].values() for row in rows]
    assert {"4.79", "0.0036"} <= {row.get("text") for row in drawn}
