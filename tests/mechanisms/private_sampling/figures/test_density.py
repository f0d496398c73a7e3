"""The density is that of the mechanism; the histogram counts every point once; the cube has every corner."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import dpsyn
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling.figures.density import density_info, draw_density
from dpsyn.mechanisms.private_sampling.figures.hypercube import as_bits, draw_hypercube, hypercube_info
from dpsyn.mechanisms.private_sampling.small_run import SmallRun
from dpsyn.table import Table
from tests.mechanisms.private_sampling.figures.conftest import bits_table, run_of


@pytest.mark.parametrize("draws", [None, 60])
def test_everything_is_what_a_release_with_the_same_seed_says(draws: int | None) -> None:
    table = bits_table(7)
    config = dpsyn.PrivateSampling(floor=0.2, ceiling=3.0, rows=1, reduced_space_size=draws)
    mechanism = config.calibrate(dpsyn.PrivacySpec(10.0), table.domain, table.n)
    release = mechanism(np.random.default_rng(1), table)
    run, told = run_of(table, draws=draws), release.diagnostics
    matched = run.matched(0.2, 3.0)
    assert run.space.size.dimension == told["functions"]
    assert run.space.m == told["reduced_space_size"]
    assert run.space.spectrum == pytest.approx(told["spectrum"], abs=1e-12)
    assert run.space.smallest_singular_value == pytest.approx(told["smallest_singular_value"], rel=1e-12)
    assert (run.space.codes == told["points"]).all()
    assert matched.linear is not None
    assert matched.linear.shrinkage == pytest.approx(told["least_shrinkage"], abs=1e-12)
    assert run.shrinkage(0.2, 3.0) == pytest.approx(told["least_shrinkage"], abs=1e-7)
    assert matched.shrinkage == pytest.approx(told["shrinkage"], abs=1e-12)
    theirs = told["density"] / told["multiplicity"] * (draws or 128)
    assert matched.ratio == pytest.approx(theirs, abs=1e-12)
    p = run.space.weights
    assert p @ (matched.ratio - 1) ** 2 == pytest.approx(p @ (theirs - 1) ** 2, abs=1e-12)


@pytest.mark.parametrize("which", ["bits", "drawn", "product"])
@pytest.mark.parametrize("box", [(0.25, 2.0), (0.01, 10.0), (0.5, 2.0), (0.2, 1.2), (0.45, 9.0)])
def test_every_point_is_counted_once(request: pytest.FixtureRequest, which: str, box: tuple[float, float]) -> None:
    run: SmallRun = request.getfixturevalue(which)
    density = run.matched(*box)
    info = density_info(run, *box)
    assert sum(info.shares) + info.at_floor + info.at_ceiling == pytest.approx(1.0)
    assert density.ratio.min() >= box[0]
    assert density.ratio.max() <= box[1]
    assert run.space.weights @ density.ratio == pytest.approx(1.0)
    drawn = draw_density(info).to_dict()
    assert drawn["title"]["subtitle"]
    bars = sorted(
        (row for rows in drawn["datasets"].values() for row in rows if "share" in row), key=lambda row: row["from"]
    )
    assert sum(row["share"] for row in bars) == pytest.approx(1.0)
    # All lie in the box, which their axis goes beyond, and none covers another.
    assert box[0] <= bars[0]["from"] < bars[-1]["to"] <= box[1]
    assert all(one["from"] < one["to"] < other["from"] for one, other in pairwise(bars))
    assert (bars[0]["where"], bars[-1]["where"]) == ("at the floor", "at the ceiling")


def test_a_degenerate_box_says_so(bits: SmallRun) -> None:
    density = bits.matched(0.5, 2.0)
    assert density.shrinkage == 1.0
    assert (density.ratio == 1.0).all()
    assert "uniform" in density_info(bits, 0.5, 2.0).words


def test_marginals_are_the_mixture(bits: SmallRun) -> None:
    density = bits.matched(0.1, 3.0)
    assert density.residual <= 1e-8
    found = bits.space.functions @ (density.ratio / bits.space.m)
    uniform = bits.space.functions.mean(axis=1)
    wanted = (1 - density.shrinkage) * bits.problem.target + density.shrinkage * uniform
    assert found == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_the_cube_has_every_corner_and_edge(p: int) -> None:
    table = bits_table(p)
    info = hypercube_info(run_of(table), 0.25, 2.0)
    assert len({corner.place for corner in info.corners}) == 2**p
    assert len(info.edges) == p * 2 ** (p - 1)
    for one, two in info.edges:
        differ = [a != b for a, b in zip(info.corners[one].bits, info.corners[two].bits, strict=True)]
        assert sum(differ) == 1
    assert sum(corner.data for corner in info.corners) == pytest.approx(1)
    assert sum(corner.density for corner in info.corners) == pytest.approx(1)
    for corner in info.corners:
        assert corner.data == pytest.approx((table.codes == corner.bits).all(axis=1).mean())
    figure = draw_hypercube(info)
    discs, rings = figure.data[1], figure.data[2]
    areas = np.array(discs.marker.size) ** 2
    assert areas / areas.sum() == pytest.approx([corner.density for corner in info.corners])
    assert (np.array(rings.marker.size) ** 2).max() == pytest.approx(
        max(c.data for c in info.corners) / max(c.density for c in info.corners) * areas.max(), rel=1e-6
    )


def test_a_category_against_the_rest_is_a_bit(mixed: Table) -> None:
    bits = as_bits(mixed, {"smokes": None, "colour": "blue"})
    assert bits.domain.is_binary
    blue = (mixed.frame["colour"] == "blue").to_numpy()
    assert np.array_equal(bits.codes[:, 1] == 1, blue)
    assert bits.domain["colour"].labels() == ["not blue", "blue"]
    with pytest.raises(ParameterError, match="two values"):
        as_bits(mixed, {"colour": None})
    with pytest.raises(ParameterError, match="one of the values"):
        as_bits(mixed, {"colour": "pink"})
    with pytest.raises(ParameterError, match="1 to 4"):
        as_bits(mixed, {})


def test_only_whole_cubes_are_drawn(drawn: SmallRun, product: SmallRun) -> None:
    for run in (drawn, product):
        with pytest.raises(ParameterError, match="whole cube"):
            hypercube_info(run, 0.25, 2.0)
