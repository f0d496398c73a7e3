from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.errors import ParameterError, SolverError
from dpsyn.mechanisms.private_sampling import PrivateSampling, _solve
from dpsyn.mechanisms.private_sampling._neighbours import Change, log_density_slopes
from dpsyn.mechanisms.private_sampling.local_loss import LossMeter
from dpsyn.solvers.closest import closest_to_uniform
from dpsyn.table import Table
from tests.conftest import categories
from tests.mechanisms.private_sampling.small_runs import run_of, table_of


def _table(codes: object, *sizes: int) -> Table:
    return table_of(codes, categories(*sizes))


def _dependent(n: int, sizes: tuple[int, ...], seed: int) -> Table:
    generator = np.random.default_rng(seed)
    level = generator.random((n, 1))
    mixed = 0.6 * level + 0.4 * generator.random((n, len(sizes)))
    return _table(np.minimum(mixed * sizes, np.array(sizes) - 1).astype(np.int32), *sizes)


def _density(config: PrivateSampling, table: Table, seed: int) -> np.ndarray:
    return np.asarray(run_of(config, table, seed).diagnostics["density"])


def test_two_hundred_random_pairs_lose_no_more_than_the_bounded_ratio() -> None:
    generator = np.random.default_rng(2021)
    shares = []
    for case in range(50):
        p = int(generator.integers(1, 5))
        floor = float(10 ** generator.uniform(-4, -0.31))
        ceiling = 1 + floor + float(10 ** generator.uniform(-2, 1.5))
        n = int(generator.integers(1, 40))
        codes = generator.integers(0, 2, (n, p)) * generator.integers(0, 2, (n, 1))
        config = PrivateSampling(degree=int(generator.integers(1, 3)), floor=floor, ceiling=ceiling, rows=2)
        meter = LossMeter(config, _table(codes, *(2,) * p), generator=generator)
        certificate = meter.certificates["bounded_ratio"]
        assert certificate == pytest.approx(2 * math.log(ceiling / floor))
        for change in meter.neighbours.random("replace_one", 4, generator):
            loss = meter.loss(change, measure_uncertainty=False).loss
            assert loss <= certificate, case
            shares.append(loss / certificate)
    assert len(shares) >= 180
    assert max(shares) > 0.3


@pytest.mark.parametrize(("floor", "share"), [(1e-4, 0.92), (1e-6, 0.95)])
def test_a_certificate_ten_percent_smaller_would_be_wrong(floor: float, share: float) -> None:
    config = PrivateSampling(degree=1, floor=floor, ceiling=2 - floor, rows=1)
    found = dpsyn.local_loss(config, _table([[0]], 2))
    # One bit, one row: at λ = 2·floor the two densities are (2 - 2·floor, 2·floor)/2 and its mirror image.
    assert found.worst is not None
    assert found.worst.loss == pytest.approx(math.log((1 - floor) / floor), rel=1e-4)
    certificate = found.certificates["bounded_ratio"]
    assert certificate is not None
    assert share * certificate < found.worst.loss <= certificate
    assert found.exhaustive


@pytest.mark.parametrize(("floor", "ceiling", "share"), [(0.01, 2.0, 1 - 1e-9), (1e-4, 2.0, 1 - 1e-9), (0.25, 2.0, 0.96)])
def test_the_bounded_ratio_is_attained(floor: float, ceiling: float, share: float) -> None:
    # Three bits, one row, d = 1: the row that is there has density ceiling, the one that was not has density floor.
    table = _table([[0, 0, 0]], 2, 2, 2)
    found = dpsyn.local_loss(PrivateSampling(degree=1, floor=floor, ceiling=ceiling, rows=2), table, method="all")
    assert found.worst is not None
    assert share * 2 * math.log(ceiling / floor) <= found.worst.loss <= 2 * math.log(ceiling / floor)
    assert found.worst.uncertainty < 1e-6


def test_a_loss_is_that_of_the_mechanisms_own_densities() -> None:
    sizes = (2, 3, 2)
    table = _dependent(30, sizes, 5)
    config = PrivateSampling(floor=0.05, ceiling=5.0, rows=3)
    meter = LossMeter(config, table)
    before = _density(config, table, 0)
    generator = np.random.default_rng(0)
    for change in meter.neighbours.random("replace_one", 5, generator):
        codes = table.codes.copy()
        codes[np.flatnonzero((codes == change.removed).all(axis=1))[0]] = change.added
        after = _density(config, _table(codes, *sizes), 0)
        found = meter.loss(change)
        logs = np.abs(np.log(before / after))
        assert found.loss == pytest.approx(3 * logs.max(), rel=1e-6)
        at = np.ravel_multi_index(tuple(found.point), sizes)
        assert logs[at] == pytest.approx(logs.max(), rel=1e-6)
        assert 0 < found.uncertainty < 1e-4
        assert found.lower_bound == found.loss - found.uncertainty


@pytest.mark.parametrize("rows", [2, 7, 100])
def test_k_rows_lose_k_times_as_much_and_are_k_times_as_unsure(rows: int) -> None:
    table, settings = _dependent(30, (2, 3, 2), 5), {"floor": 0.05, "ceiling": 5.0}
    one, many = (LossMeter(PrivateSampling(rows=k, **settings), table) for k in (1, rows))
    for change in one.neighbours.random("replace_one", 5, np.random.default_rng(0)):
        single, together = one.loss(change), many.loss(change)
        for field in ("loss", "uncertainty", "lower_bound"):
            assert getattr(together, field) == pytest.approx(rows * getattr(single, field), rel=1e-9)
        assert 0 < single.lower_bound < single.loss


def test_what_the_smallest_shrinkage_is_not_known_by_makes_a_loss_unsure() -> None:
    """λ may be smaller by what the dual bound leaves open: the loss moves as much as ln h* does with λ."""
    meter = LossMeter(PrivateSampling(floor=0.05, ceiling=5.0, rows=3), _dependent(30, (2, 3, 2), 5))
    change = meter.neighbours.random("replace_one", 1, np.random.default_rng(0))[0]
    known, linear, matched = meter.loss(change), meter._matched.linear, meter._matched
    assert linear is not None
    meter._matched = replace(matched, linear=replace(linear, dual_bound=matched.shrinkage - 0.01))
    found = meter.loss(change)
    moved = closest_to_uniform(meter._problem, matched.shrinkage + 0.01).ratio
    at = int(np.ravel_multi_index(tuple(found.point), (2, 3, 2)))
    assert found.loss == known.loss
    assert found.uncertainty == pytest.approx(3 * abs(math.log(moved[at] / matched.ratio[at])), rel=1e-3)
    assert found.uncertainty > 100 * known.uncertainty


@pytest.mark.parametrize("whose", ["data", "neighbour"])
@pytest.mark.parametrize("program", ["linear", "quadratic"])
def test_a_loss_is_as_unsure_as_the_residual_of_either_solution_leaves_it(
    program: str, whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter = LossMeter(PrivateSampling(floor=0.05, ceiling=5.0, rows=1), _dependent(30, (2, 3, 2), 5))
    change, matched = meter.neighbours.random("replace_one", 1, np.random.default_rng(5))[0], meter._matched
    found = [meter.loss(change).uncertainty]

    def left_open(of: Any, residual: float) -> Any:
        return replace(of, **{program: replace(getattr(of, program), residual=residual)})

    for residual in (1e-5, 1e-4):
        if whose == "data":
            meter._matched = left_open(matched, residual)
        else:
            solved = partial(lambda residual, *asked, **more: left_open(_solve.match(*asked, **more), residual), residual)
            monkeypatch.setattr("dpsyn.mechanisms.private_sampling.local_loss.match", solved)
        loss = meter.loss(change)
        assert (loss.residual == residual) is (program == "quadratic")
        found.append(loss.uncertainty)
    assert found[1] > 100 * found[0]
    assert found[2] == pytest.approx(10 * found[1], rel=0.1)


def test_dates_that_keep_their_weekdays_are_measured_by_their_bins() -> None:
    days = [dpsyn.Attribute("d", "date", lower=0, upper=9, bins=2, public=True, keep=keep) for keep in ((), ("weekday",))]
    frame = pd.DataFrame({"d": pd.to_datetime([0, 1, 8], unit="D")})
    plain, kept = (dpsyn.local_loss(PrivateSampling(degree=1, rows=1), Table(frame, dpsyn.Domain.of([day]))) for day in days)
    assert kept.lower_bound == plain.lower_bound > 0


def test_the_worst_neighbour_is_the_one_of_the_largest_lower_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not of the largest loss, which may be the least certain one."""
    meter = LossMeter(PrivateSampling(rows=1), _table([[0, 0], [1, 2]], 2, 3))
    plain = meter.search("all")
    first, second = np.argsort(-plain.losses, kind="stable")[:2]
    measure = meter.loss

    def unsure(change: Change, **settings: Any) -> Any:
        return replace(measure(change, **settings), uncertainty=1e-9 if change == plain.changes[second] else 0.5)

    monkeypatch.setattr(meter, "loss", unsure)
    found = meter.search("all")
    assert found.worst is not None
    assert found.worst.change == plain.changes[second] != plain.changes[first]
    assert found.lower_bound == pytest.approx(plain.losses[second])


def test_bins_that_noise_would_choose_are_not_measured() -> None:
    numbers = dpsyn.Domain.of([dpsyn.Attribute("x", "numeric", lower=0.0, upper=100.0, bins=2, public=True)])
    table = dpsyn.read_table(pd.DataFrame({"x": np.linspace(0, 4, 3)}), domain=numbers)
    with pytest.raises(ParameterError, match=r"histogram_share = 0\.5 is not possible") as caught:
        dpsyn.local_loss(PrivateSampling(degree=1, rows=1, histogram_share=0.5), table)
    assert caught.value.field == "histogram_share"
    assert dpsyn.local_loss(PrivateSampling(degree=1, rows=1), table).lower_bound > 0
    # Categories have no bins that noise could choose, nor does a box without an interior look at any.
    shared = PrivateSampling(rows=1, histogram_share=0.5)
    assert dpsyn.local_loss(shared, _table([[0, 0], [1, 1]], 2, 2)).lower_bound > 0
    ignored = PrivateSampling(degree=1, rows=1, floor=0.5, histogram_share=0.5)
    assert dpsyn.local_loss(ignored, table).lower_bound == 0


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_every_neighbour_has_the_statistics_of_the_changed_rows(neighbouring: str) -> None:
    sizes = (2, 3)
    table = _table([[0, 0], [0, 0], [1, 2], [0, 1]], *sizes)
    meter = LossMeter(PrivateSampling(), table, neighbouring=neighbouring)  # type: ignore[arg-type]
    changes = meter.neighbours.all(neighbouring)  # type: ignore[arg-type]
    assert len(changes) == len(set(changes)) == (3 * 5 if neighbouring == "replace_one" else 6 + 3)
    for change in changes:
        rows = [tuple(int(c) for c in row) for row in table.codes]
        if change.removed is not None:
            rows.remove(change.removed)
        if change.added is not None:
            rows.append(change.added)
        codes = np.array(rows, dtype=np.int32)
        statistics, sparse = meter.neighbours.after(change)
        assert statistics == pytest.approx(meter.densities.basis.means(codes), abs=1e-14)
        assert sparse == pytest.approx(meter.densities.basis.sparse_means(codes), abs=1e-14)


def test_the_proven_and_the_experimental_bounds_hold_where_they_are_not_empty() -> None:
    table = _dependent(100_000, (2, 2, 2), 1)
    found = dpsyn.local_loss(PrivateSampling(floor=0.1, ceiling=4.0, rows=1), table, method="all")
    assert found.exhaustive
    assert found.worst is not None
    bounds = found.certificates
    assert 1e-5 < found.worst.loss <= bounds["stability"] < bounds["bounded_ratio"] < bounds["theorem_4_1"]  # type: ignore[operator]


def test_theorem_4_1_and_the_stability_bound_hold_on_drawn_spaces() -> None:
    generator = np.random.default_rng(3)
    for _ in range(5):
        table = _dependent(int(generator.integers(200, 3000)), (2,) * 5, int(generator.integers(1000)))
        found = dpsyn.local_loss(
            PrivateSampling(degree=1, floor=0.1, ceiling=6.0, rows=1, reduced_space_size=30),
            table,
            tries=15,
            generator=generator,
        )
        assert found.worst is not None
        for name in ("stability", "theorem_4_1", "bounded_ratio"):
            bound = found.certificates[name]
            assert bound is not None
            assert found.worst.loss <= bound


def test_steering_finds_what_the_search_of_all_finds() -> None:
    table = _dependent(400, (2, 2, 3), 9)
    config = PrivateSampling(floor=0.05, ceiling=5.0, rows=1)
    meter = LossMeter(config, table)
    everything = meter.search("all")
    steered = meter.search("steered", tries=25, generator=np.random.default_rng(0))
    random = [meter.search("random", tries=25, generator=np.random.default_rng(seed)) for seed in range(3)]
    assert everything.worst is not None
    assert steered.worst is not None
    assert len(everything.losses) == everything.neighbours > 100
    assert not steered.exhaustive
    assert steered.worst.loss >= 0.98 * everything.worst.loss
    assert steered.worst.loss >= max(found.worst.loss for found in random if found.worst is not None)


def test_slopes_are_derivatives_of_the_log_density() -> None:
    table = _dependent(500, (2, 3, 2), 4)
    meter = LossMeter(PrivateSampling(floor=0.05, ceiling=20.0, rows=1), table)
    slopes = log_density_slopes(meter._problem, meter._matched)
    logs = np.log(meter._matched.ratio)
    directions = np.random.default_rng(0).normal(size=(3, len(slopes)))
    for direction in directions:
        step = 1e-5 * direction * (np.arange(len(direction)) > 0)
        moved = _solve.match(meter.densities.problem(meter._problem.target + step))
        change = np.log(moved.ratio) - logs
        predicted = step @ slopes
        closest = [float(np.abs(change - one).min()) for one in predicted]
        assert max(closest) < 0.02 * np.abs(predicted).max()


@pytest.mark.parametrize("seed", [4, 5, 9])
def test_steering_begins_with_the_change_that_moves_the_density_most(seed: int) -> None:
    meter = LossMeter(PrivateSampling(floor=0.05, ceiling=20.0, rows=1), _dependent(60, (2, 3, 2), seed))
    slopes, neighbours = log_density_slopes(meter._problem, meter._matched), meter.neighbours

    def moved(change: Change) -> float:
        removed, added = meter.densities.basis.matrix(np.array([change.removed, change.added], dtype=np.int32)).T
        return float(np.abs((added - removed) @ slopes).max())

    (first,) = neighbours.steered("replace_one", 1, np.random.default_rng(0), meter._problem, meter._matched)
    assert moved(first) == pytest.approx(max(map(moved, neighbours.all("replace_one"))))


def test_a_failing_solver_is_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    table = _dependent(50, (2, 2), 0)
    meter = LossMeter(PrivateSampling(floor=0.05, ceiling=3.0), table)
    solve: Callable[..., object] = _solve.closest_to_uniform
    calls = []

    def fail_sometimes(*arguments: object, **named: object) -> object:
        calls.append(1)
        if len(calls) < 8:
            raise SolverError("no answer")
        return solve(*arguments, **named)

    monkeypatch.setattr(_solve, "closest_to_uniform", fail_sometimes)
    found = meter.search("all")
    assert found.failures == 2
    assert not found.exhaustive
    assert len(found.losses) == found.neighbours - 2
    calls.clear()
    with pytest.raises(SolverError, match="no answer"):
        LossMeter(PrivateSampling(floor=0.05, ceiling=3.0), table)


def test_degenerate_boxes_lose_nothing() -> None:
    found = dpsyn.local_loss(PrivateSampling(floor=0.5), _dependent(20, (2, 2), 0), method="all")
    assert found.worst is None
    assert found.lower_bound == 0
    assert not found.losses.any()
    assert found.certificates["bounded_ratio"] == 0


def test_the_listener_may_end_a_search() -> None:
    def listen(step: str, share: float) -> None:
        if share > 0.1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dpsyn.local_loss(PrivateSampling(), _dependent(20, (2, 2, 2), 0), method="all", progress=listen)


def test_wrong_changes_and_searches() -> None:
    meter = LossMeter(PrivateSampling(), _table([[0, 0], [1, 2]], 2, 3))
    for change, message in [
        (Change((0, 1), (0, 0)), "codes of a row of the table"),
        (Change((0, 0), (2, 0)), "row of the domain"),
        (Change((0, 0), (0,)), "row of the domain"),
        (Change(None, (0, 0)), "a row removed and a row added"),
        (Change((0, 0), None), "a row removed and a row added"),
    ]:
        with pytest.raises(ParameterError, match=message):
            meter.loss(change)
    single = LossMeter(PrivateSampling(), _table([[0, 0]], 2, 3), neighbouring="add_remove")
    with pytest.raises(ParameterError, match="at least one row that stays"):
        single.loss(Change((0, 0), None))
    every = single.search("all")
    assert (len(every.losses), every.neighbours, every.exhaustive) == (6, 6, True)
    with pytest.raises(ParameterError, match="steered"):
        meter.search("everything")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"at least 1|from 1 to"):
        meter.search(tries=0)


@pytest.mark.parametrize(
    ("field", "change", "settings"),
    [
        ("change", None, {}),
        ("change", ((0, 0), (1, 1)), {}),
        ("removed", Change(0, (1, 1)), {}),  # type: ignore[arg-type]
        ("removed", Change((0, math.nan), (1, 1)), {}),  # type: ignore[arg-type]
        ("added", Change((0, 0), 1), {}),  # type: ignore[arg-type]
        ("added", Change((0, 0), (0.5, 1)), {}),  # type: ignore[arg-type]
        ("added", Change((0, 0), (True, 1)), {}),
        ("measure_uncertainty", Change((0, 0), (1, 1)), {"measure_uncertainty": "abc"}),
    ],
)
def test_what_is_no_change_is_refused_by_name(field: str, change: Any, settings: dict[str, Any]) -> None:
    meter = LossMeter(PrivateSampling(), _table([[0, 0], [1, 2]], 2, 3))
    with pytest.raises(ParameterError) as caught:
        meter.loss(change, **settings)
    assert caught.value.field == field


@pytest.mark.parametrize("row", [list, np.array, partial(np.array, dtype=np.int8)])
def test_codes_may_stand_in_any_sequence(row: Callable[[Sequence[int]], Any]) -> None:
    meter = LossMeter(PrivateSampling(), _table([[0, 0], [1, 2]], 2, 3))
    change = Change((0, 0), (1, 1))
    found = meter.loss(Change(row(change.removed), row(change.added)))  # type: ignore[arg-type]
    assert (found.change, found.loss) == (change, meter.loss(change).loss)


def test_large_problems_are_refused_with_the_number_that_fits() -> None:
    table = _table(np.zeros((3, 20)), *(2,) * 20)
    with pytest.raises(ParameterError, match="at most 94,786 points"):
        LossMeter(PrivateSampling(reduced_space_size=100_000), table)


def test_a_large_domain_is_searched_from_a_pool() -> None:
    table = _dependent(40, (2,) * 18, 2)
    found = dpsyn.local_loss(
        PrivateSampling(degree=1, reduced_space_size=300), table, tries=6, generator=np.random.default_rng(0)
    )
    assert len(found.losses) == 6
    assert found.neighbours == len(np.unique(table.codes, axis=0)) * (2**18 - 1)


@pytest.mark.parametrize("whole", [True, False])
def test_what_is_said_of_a_search_is_rounded_to_the_safe_side(whole: bool) -> None:
    found = dpsyn.local_loss(PrivateSampling(rows=1), _table([(0, 0)], 2, 2), method="random", tries=1)
    assert found.worst is not None
    worst = replace(found.worst, loss=1.2379, uncertainty=0.0)
    told = str(replace(found, worst=worst, whole_domain=whole, certificates={"bounded_ratio": 2.0703, "theorem_4_1": None}))
    assert f"no epsilon below 1.23 is true of 1 row{'' if whole else ' together with the reduced space'}\n" in told
    assert "1 of 3 neighbours tried" in told
    assert "  bounded ratio: 2.08\n" in told
    assert "theorem" not in told


def test_rows_alone_can_lose_less_than_rows_together_with_a_drawn_space() -> None:
    """One row of two bits, S three points of the square: the law of a released row is the mean over the four equally likely
    S that pass the test of step 2, and its exact loss is below what a search finds on one of them."""
    config = PrivateSampling(degree=1, floor=0.01, ceiling=2.0, rows=1, reduced_space_size=3)
    square = [(a, b) for a in (0, 1) for b in (0, 1)]
    laws: dict[tuple[int, int], dict[tuple, dict[tuple, float]]] = {point: {} for point in square}
    for point in square:
        for seed in range(20):
            meter = LossMeter(config, _table([point], 2, 2), generator=np.random.default_rng(seed))
            space = [tuple(codes) for codes in meter.space.codes.tolist()]
            laws[point][tuple(sorted(space))] = dict(zip(space, meter._distribution.probabilities, strict=True))
        assert len(laws[point]) == 4  # three different points each; with repeats W has no full rank
    of_a_row = {x: {theta: np.mean([law.get(theta, 0.0) for law in laws[x].values()]) for theta in square} for x in square}
    true = max(math.log(of_a_row[x][theta] / of_a_row[y][theta]) for x in square for y in square for theta in square)
    assert true == pytest.approx(1.757, abs=1e-3)
    found = dpsyn.local_loss(config, _table([(0, 0)], 2, 2), method="all", generator=np.random.default_rng(0))
    assert not found.whole_domain
    assert found.lower_bound > 2 * true
    assert dpsyn.local_loss(PrivateSampling(rows=1), _table([(0, 0)], 2, 2), method="all").whole_domain
