"""The story of λ: lines through the linear program's λ, and a certificate on cells that proves it."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from dpsyn.data.read import read_table
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling.figures.shrinkage import (
    AXES,
    EMPTY,
    TOO_FEW,
    TOO_MANY,
    Axis,
    all_cells,
    alone_cells,
    binding_info,
    cell_weights,
    draw_alone,
    draw_binding,
    draw_shrinkage,
    shrinkage_info,
)
from dpsyn.mechanisms.private_sampling.small_run import SmallRun, small_space
from dpsyn.solvers import reach
from dpsyn.solvers.matching import MatchingProblem
from dpsyn.solvers.shrinkage import least_shrinkage
from dpsyn.table import Table
from tests.mechanisms.private_sampling.figures.conftest import bits_table, run_of

KINDS = ["bits", "drawn", "product"]


@pytest.mark.parametrize("which", KINDS)
@pytest.mark.parametrize("axis", AXES)
def test_the_line_is_the_linear_programs_answer(request: pytest.FixtureRequest, which: str, axis: Axis) -> None:
    instance: SmallRun = request.getfixturevalue(which)
    info = shrinkage_info(instance, axis, floor=0.2, ceiling=2.5)
    assert info.here[1] == pytest.approx(least_shrinkage(instance.problem.with_box(0.4, 2.3)).shrinkage, abs=1e-6)
    for at in range(5, len(info.x) - 1, 31):
        floor, ceiling = (0.2, info.x[at]) if axis == "ceiling" else (info.x[at], 2.5)
        exact = least_shrinkage(instance.problem.with_box(2 * floor, ceiling - floor)).shrinkage
        assert info.shrinkage[at] == pytest.approx(exact, abs=1e-6 + instance.reach.gap)
    slopes = np.diff(info.shrinkage) / np.diff(info.x)
    assert (slopes <= 1e-6).all() if axis == "ceiling" else (slopes >= -1e-6).all()
    assert min(info.shrinkage) >= -1e-12
    assert max(info.shrinkage) <= 1


def test_breaks_lie_where_the_line_bends(bits: SmallRun) -> None:
    info = shrinkage_info(bits, "ceiling", floor=0.1, ceiling=2.0)
    assert info.breaks
    for x, y in info.breaks:
        lower, upper = (bits.reach.shrinkage(0.2, x + step - 0.1) for step in (-1e-3, 1e-3))
        assert y < (lower + upper) / 2 - 1e-9


def test_few_linear_programs_make_a_picture_of_many_line_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[float] = []

    def solve(problem: MatchingProblem, ratio: float, *more: float) -> reach.Tangent:
        solved.append(ratio)
        return one(problem, ratio, *more)

    one = reach._solve
    monkeypatch.setattr(reach, "_solve", solve)
    table = read_table(pd.DataFrame(np.random.default_rng(0).integers(0, 3, (50, 6))))
    curve = SmallRun(small_space(table.domain.shape, 2), table).reach
    assert not curve.exact
    assert len(solved) == 30
    pixel = 1.08 / 230  # of the axis of λ
    assert curve.gap < pixel / 2


@pytest.mark.parametrize("box", [(0.25, 2.0), (0.25, 1.3), (0.02, 9.0), (0.5, 3.0), (0.3, 1.3)])
def test_ends_and_degenerate_boxes_draw(bits: SmallRun, box: tuple[float, float]) -> None:
    for axis in AXES:
        spec = draw_shrinkage(shrinkage_info(bits, axis, floor=box[0], ceiling=box[1])).to_dict()
        assert spec["title"]["text"] == f"λ against the {axis}"


@pytest.mark.parametrize("which", KINDS)
@pytest.mark.parametrize("box", [(0.25, 2.0), (0.05, 1.5), (0.1, 8.0)])
def test_weights_on_cells_prove_the_shrinkage(request: pytest.FixtureRequest, which: str, box: tuple[float, float]) -> None:
    instance: SmallRun = request.getfixturevalue(which)
    floor, ceiling = box
    info = binding_info(instance, floor=floor, ceiling=ceiling, most=10_000)
    # The proof with nothing but the cells: score every point, and let the box do its best.
    cells = {cell.text: cell for cell in info.cells}
    assert info.others == (0, 0)
    scores = np.zeros(instance.space.points)
    on_data = on_uniform = 0.0
    labels = [a.labels() for a in instance.table.domain.attributes]
    names = instance.table.domain.names
    for cell in all_cells(instance):
        text = ", ".join(f"{names[j]} = {labels[j][c]}" for j, c in zip(cell.columns, cell.codes, strict=True))
        if text in cells:
            inside = (instance.space.codes[:, cell.columns] == cell.codes).all(axis=1)
            scores += cells[text].weight * inside
            on_data += cells[text].weight * (instance.table.codes[:, cell.columns] == cell.codes).all(axis=1).mean()
            on_uniform += cells[text].weight * instance.space.weights[inside].sum()
    p = instance.space.weights
    pull = scores - p @ scores
    lower, upper = 2 * floor, ceiling - floor
    # max Σ p x pull over the box with Σ p x = 1: the dual solution's constant shifts the scores.
    order = np.argsort(-pull)
    ratio, left = np.full(len(p), lower), 1 - lower
    for i in order:
        take = min(left, p[i] * (upper - lower))
        ratio[i] += take / p[i]
        left -= take
    reach = float(p * ratio @ pull)
    assert on_data - on_uniform == pytest.approx(1, abs=1e-6)
    assert reach == pytest.approx(info.reach, abs=1e-6)
    assert info.shrinkage == pytest.approx(1 - reach, abs=1e-6)
    assert sum(cell.share for cell in info.cells) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("floor", "ceiling"), [(0.15, 1.15), (0.5, 10.0), (0.49, 1.5)])
def test_a_cell_as_common_as_in_the_space_forces_nothing(floor: float, ceiling: float) -> None:
    table = read_table(
        pd.DataFrame({"a": ["x", "y"] * 30, "b": (["u"] * 13 + ["v"] * 17) * 2, "c": ["p"] * 20 + ["q"] * 40})
    )
    instance = run_of(table, 1)
    for cell in all_cells(instance, 2 * floor, ceiling - floor):
        assert cell.least <= cell.uniform <= cell.most
        assert cell.data != cell.uniform or cell.alone == 0
    binding_info(instance, floor=floor, ceiling=ceiling)


def test_an_empty_cell_is_found_and_forces_twice_the_floor(bits: SmallRun) -> None:
    info = binding_info(bits, floor=0.3, ceiling=50.0)
    assert info.empty >= 1
    assert info.shrinkage == pytest.approx(0.6, abs=1e-6)
    assert info.alone is not None
    assert info.alone.alone == pytest.approx(0.6)
    assert info.alone.data == 0
    assert {cell.kind for cell in info.cells} <= {TOO_FEW, TOO_MANY}


def test_no_single_cell_forces_more_than_lambda(bits: SmallRun, drawn: SmallRun) -> None:
    for instance, floor, ceiling in itertools.product((bits, drawn), (0.05, 0.3), (1.5, 6.0)):
        info = binding_info(instance, floor=floor, ceiling=ceiling)
        assert info.alone is None or info.alone.alone <= info.shrinkage + 1e-6


def test_nothing_binds_on_uniform_rows() -> None:
    table = bits_table(1)
    full = run_of(table.take(np.array([int(np.argmax(table.codes == 0)), int(np.argmax(table.codes == 1))])))
    info = binding_info(full, floor=0.25, ceiling=2.0)
    assert info.shrinkage == 0
    assert info.cells == ()
    with pytest.raises(ParameterError, match="nothing binds"):
        draw_binding(info)


def test_weights_rebuild_the_test_function(product: SmallRun) -> None:
    cells = all_cells(product)
    multipliers = np.random.default_rng(0).normal(size=product.space.size.dimension)
    weights = cell_weights(product, cells, multipliers)
    rebuilt = sum(
        weight * (product.space.codes[:, cell.columns] == cell.codes).all(axis=1)
        for cell, weight in zip(cells, weights, strict=True)
    )
    wanted = multipliers @ product.space.functions
    assert np.ptp(wanted - rebuilt) == pytest.approx(0, abs=1e-6)


def test_the_bars_say_what_the_cells_are(bits: SmallRun) -> None:
    info = binding_info(bits, floor=0.25, ceiling=2.0, most=3)
    spec = draw_binding(info).to_dict()
    (rows,) = spec["datasets"].values()
    assert [row["cell"] for row in rows] == [cell.text for cell in info.cells]
    assert len(rows) <= 3


def test_each_bar_is_the_shrinkage_that_its_cell_alone_forces(bits: SmallRun) -> None:
    cells = alone_cells(bits, floor=0.25, ceiling=2.0)
    assert cells[0] == binding_info(bits, floor=0.25, ceiling=2.0).alone
    (rows,) = draw_alone(cells).to_dict()["datasets"].values()
    for cell, row in zip(cells, rows, strict=True):  # mixed by so much, the cell is just inside of what the box allows
        assert row["cell"] == cell.text
        mixed = (1 - row["value"]) * cell.data + row["value"] * cell.uniform
        assert mixed == pytest.approx(cell.least if cell.kind == TOO_FEW else cell.most)


def test_an_empty_cell_of_more_than_d_columns_forces_nothing() -> None:
    """a, b and a xor b: half of the eight cells are empty, no cell of two columns is, and d = 2 takes all of the data."""
    codes = np.array([[a, b, a ^ b] for a in (0, 1) for b in (0, 1)] * 10)
    frame = pd.DataFrame(np.array(["no", "yes"], dtype=object)[codes], columns=["a", "b", "c"])
    table = Table(frame, Domain.of(Attribute(c, "truth", ("no", "yes"), public=True) for c in frame.columns), "xor")
    assert run_of(table, degree=2).shrinkage(0.25, 2.0) == pytest.approx(0, abs=1e-9)
    assert run_of(table, degree=3).shrinkage(0.25, 2.0) >= 0.5 - 1e-9
    assert "up to d columns" in EMPTY
