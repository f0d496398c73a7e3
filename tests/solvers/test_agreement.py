"""Our solvers and others on a shelf of small problems: the same optimum, and solutions that are what they say."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.solvers import matching as matching_module
from dpsyn.solvers import shrinkage as shrinkage_module
from dpsyn.solvers.closest import closest_to_uniform
from dpsyn.solvers.matching import Control, MatchingProblem, Solution
from dpsyn.solvers.operator import BlockOperator, DenseOperator
from dpsyn.solvers.shrinkage import ShrinkageSolution, least_shrinkage
from tests.solvers.reference import density_by_clarabel, shrinkage_by_highs
from tests.solvers.shelf import SHELF, Shelved

SAME = 1e-6
MISSING = 1e-8
OUTSIDE = 1e-9


def check(problem: MatchingProblem, found: Solution) -> None:
    """The solution's residual and bounds, computed here from W."""
    functions, weights = problem.functions, problem.weights
    wanted = (1 - found.shrinkage) * problem.target + found.shrinkage * (functions @ weights)
    assert np.abs(functions @ (weights * found.ratio) - wanted).max() <= MISSING
    assert found.residual <= MISSING
    assert found.ratio.min() >= problem.lower - OUTSIDE
    assert found.ratio.max() <= problem.upper + OUTSIDE
    assert found.status == "optimal"
    assert found.seconds >= 0


@pytest.fixture(params=list(SHELF), scope="module")
def shelved(request: pytest.FixtureRequest) -> Shelved:
    return SHELF[request.param]()


def test_highs_finds_the_same_shrinkage(shelved: Shelved) -> None:
    problem = shelved.linear
    ours, theirs = least_shrinkage(problem), shrinkage_by_highs(problem)
    check(problem, ours)
    check(problem, theirs)
    assert theirs.solver.startswith("highs")
    assert not ours.solver.startswith("highs")
    assert ours.shrinkage == pytest.approx(theirs.shrinkage, rel=SAME, abs=1e-9)
    assert ours.objective == ours.shrinkage
    assert ours.dual_bound == pytest.approx(ours.shrinkage, rel=SAME, abs=1e-7)
    if shelved.shrinkage is not None:
        assert ours.shrinkage == pytest.approx(shelved.shrinkage, abs=1e-8)


def test_the_path_of_smoothed_programs_finds_it_too(shelved: Shelved) -> None:
    problem = shelved.linear
    if problem.pinned or problem.operator.shape[1] < 4 * problem.operator.shape[0]:
        pytest.skip("the path is for many more points than functions")
    found = shrinkage_module._path(problem, Control(), None)
    assert isinstance(found, ShrinkageSolution), found
    assert found.status == "optimal"
    assert found.shrinkage == pytest.approx(least_shrinkage(problem).shrinkage, rel=SAME, abs=1e-7)
    assert found.residual <= MISSING
    assert np.abs(problem.statistics(found.ratio) - problem.wanted(found.shrinkage)).max() <= MISSING


def test_clarabel_finds_the_same_density(shelved: Shelved) -> None:
    problem = shelved.problem
    shrinkage = min(1.0, least_shrinkage(shelved.linear).shrinkage + 1e-9)
    ours = closest_to_uniform(problem, shrinkage)
    theirs = density_by_clarabel(problem, shrinkage)
    check(problem, ours)
    check(problem, theirs)
    assert (ours.solver, theirs.solver) == ("newton", "clarabel")
    assert ours.objective == pytest.approx(theirs.objective, rel=SAME, abs=1e-12)
    assert ours.objective == pytest.approx(0.5 * problem.weights @ (ours.ratio - 1) ** 2, rel=1e-12)
    assert ours.gap <= 1e-9 * max(1.0, ours.objective)
    assert np.abs(ours.ratio - theirs.ratio).max() < 1e-3
    # x(y) is a function of the multipliers.
    assert ours.ratio == pytest.approx(np.clip(1 + problem.functions.T @ ours.multipliers, problem.lower, problem.upper))


def test_duplicates_and_multiplicities_are_the_same_problem() -> None:
    one, two = SHELF["duplicate points"](), SHELF["multiplicities"]()
    assert one.problem.points > two.problem.points
    assert least_shrinkage(one.linear).shrinkage == pytest.approx(least_shrinkage(two.linear).shrinkage, abs=1e-9)
    assert closest_to_uniform(one.problem, 0.6).objective == pytest.approx(
        closest_to_uniform(two.problem, 0.6).objective, rel=1e-9
    )


def block_problem(count: int, *, columns: int = 12, lower: float = 0.4, upper: float = 3.0) -> MatchingProblem:
    """Correlated bits on uniform draws, W never formed."""
    generator = np.random.default_rng(3)
    level = generator.random((5000, 1))
    data = (generator.random((5000, columns)) < 0.1 + 0.8 * level).astype(np.int32)
    operator = BlockOperator.uniform((2,) * columns, 2, count, generator)
    return MatchingProblem(operator, operator.functions.basis.means(data), lower, upper)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few thousand points are many."""
    monkeypatch.setattr(matching_module, "_FEWEST", 2000)
    monkeypatch.setattr(matching_module, "_PER_FUNCTION", 20)
    monkeypatch.setattr(shrinkage_module, "_DENSE_UP_TO", 0)


@pytest.mark.usefixtures("many")
def test_many_points_from_coarse_to_fine() -> None:
    problem = block_problem(20_000)
    steps: list[str] = []

    def listen(step: str, share: float, numbers: Mapping[str, float]) -> None:
        assert 0 <= share <= 1
        assert numbers["iteration"] == int(numbers["iteration"])
        steps.append(step)

    found = least_shrinkage(problem, progress=listen)
    assert found.solver == "smoothed dual"
    assert found.status == "optimal"
    assert {"linear program on 2,000 points", "linear program on 20,000 points"} <= set(steps)
    assert found.iterations > 3
    formed = MatchingProblem(DenseOperator(problem.functions, problem.weights), problem.target, problem.lower, problem.upper)
    check(formed, found)
    other = shrinkage_module._interior_point(formed, Control())
    assert isinstance(other, ShrinkageSolution)
    assert 0.1 < other.shrinkage < 0.95
    assert found.shrinkage == pytest.approx(other.shrinkage, abs=1e-7)

    steps.clear()
    box = (0.2, 3.2)
    shrinkage = found.shrinkage + 1e-9
    closest = closest_to_uniform(problem.with_box(*box), shrinkage, progress=listen)
    assert {"quadratic program on 2,000 points", "quadratic program on 20,000 points"} <= set(steps)
    check(formed.with_box(*box), closest)
    again = closest_to_uniform(formed.with_box(*box), shrinkage, start=np.zeros_like(formed.target))
    assert closest.objective == pytest.approx(again.objective, rel=1e-9)


def test_few_of_the_points_stand_for_all_in_the_hessian() -> None:
    from dpsyn.solvers._newton import Dual, NormalMatrix

    problem = block_problem(100_000)
    for lower, upper in ((0.5, 20.0), (0.7, 20.0)):
        box = problem.with_box(lower, upper)
        normal = NormalMatrix.of(box)
        normal.most_work, normal.orthonormal = 1e4, True
        dual = Dual(box, box.wanted(0.6), normal, whole=False)
        place, steps = dual.maximise(0.4 * box.towards, aim=1e-10, most=80)
        assert place.residual <= 1e-10
        assert steps > 3
        assert 0 < place.free < problem.points
        assert place.objective == pytest.approx(closest_to_uniform(box, 0.6).objective, rel=1e-9)


def test_conjugate_gradients_where_no_matrix_is_formed() -> None:
    from dpsyn.solvers._newton import Dual, NormalMatrix

    problem = block_problem(20_000)
    normal = NormalMatrix(dense_up_to=0)
    dual = Dual(problem, problem.wanted(0.6), normal, whole=False)
    place, _ = dual.maximise(0.4 * problem.towards, aim=1e-10, most=60)
    assert place.residual <= 1e-10
    assert place.objective == pytest.approx(closest_to_uniform(problem, 0.6).objective, rel=1e-9)


def test_no_data_away_from_uniform_needs_no_shrinkage() -> None:
    generator = np.random.default_rng(0)
    operator = BlockOperator.uniform((2,) * 24, 2, 200_000, generator)
    ideal = np.zeros(operator.shape[0])
    ideal[0] = 1.0
    problem = MatchingProblem(operator, ideal, 0.5, 1.25)
    found = least_shrinkage(problem)
    assert (found.shrinkage, found.solver, found.status) == (0.0, "least norm", "optimal")
    assert found.residual <= 1e-10
    closest = closest_to_uniform(problem.with_box(0.25, 1.5), 1e-9)
    assert closest.residual <= 1e-10
    assert closest.objective == pytest.approx(closest.dual_bound, abs=1e-12)


def test_a_start_from_nearby_is_used() -> None:
    shelved = SHELF["eight bits, low floor"]()
    cold = closest_to_uniform(shelved.problem, 0.3)
    warm = closest_to_uniform(shelved.problem, 0.3, start=cold)
    assert cold.iterations > 2
    assert warm.iterations == 0
    assert warm.objective == pytest.approx(cold.objective, rel=1e-12)
    near = closest_to_uniform(shelved.problem, 0.31, start=cold.multipliers)
    assert near.iterations < cold.iterations
    assert near.objective == pytest.approx(closest_to_uniform(shelved.problem, 0.31).objective, rel=1e-10)


@pytest.mark.usefixtures("many")
def test_a_start_for_the_shrinkage_is_used() -> None:
    problem = block_problem(10_000)
    cold = least_shrinkage(problem)
    assert cold.stage is not None
    other = problem.with_box(0.41, 2.95)
    warm = least_shrinkage(other, start=cold)
    again = least_shrinkage(other)
    assert warm.shrinkage == pytest.approx(again.shrinkage, abs=1e-7)
    assert warm.status == "optimal"
    assert warm.iterations < again.iterations


def test_what_a_listener_raises_reaches_the_caller() -> None:
    class Enough(Exception):
        pass

    def listen(step: str, share: float, numbers: Mapping[str, float]) -> None:
        raise Enough

    shelved = SHELF["eight bits"]()
    with pytest.raises(Enough):
        least_shrinkage(shelved.linear, progress=listen)
    with pytest.raises(Enough):
        closest_to_uniform(shelved.problem, 0.7, progress=listen)


def test_no_shrinkage_above_one() -> None:
    with pytest.raises(ParameterError, match="shrinkage"):
        closest_to_uniform(SHELF["eight bits"]().problem, 1.1)
