"""From a fitted density to rows: which points it has, what they weigh, and how rows are drawn of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dpsyn
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.noisy_reweighting import _fit
from dpsyn.mechanisms.noisy_reweighting._fit import Fitted
from dpsyn.mechanisms.noisy_reweighting._spaces import NoisySums
from dpsyn.table import Table
from tests.conftest import categories

SPEC = dpsyn.PrivacySpec(1.0, 1e-5)


def fitted(public: list[list[int]], sizes: tuple[int, ...], spread: float, **settings: Any) -> Fitted:
    """To even sums with noise of this spread, on these public rows."""
    domain = categories(*sizes)
    rows = Table(domain.decode(np.array(public, dtype=np.int32), np.random.default_rng(0)), domain, "public")
    config = dpsyn.NoisyReweighting(reduced_space="public", public=rows, degree=1, **settings)
    mechanism: Any = config.calibrate(SPEC, domain, 100)
    family = mechanism.statistics
    even = np.concatenate([np.full(group.stop - group.start, 100 / (group.stop - group.start)) for group in family.groups])
    noisy = NoisySums(family, even, np.full(family.count, spread), 100)
    return _fit.fit(mechanism.plan, noisy, None, np.random.default_rng(1), no_progress)


def test_of_more_public_rows_than_points_any_are_taken() -> None:
    """60 of 200, of which half have the first code: a hypergeometric number with mean 30 and deviation 3.2."""
    found = fitted([[row // 100, row] for row in range(200)], (2, 200), 1.0, reduced_space_size=60)
    assert found.codes is not None
    assert len(np.unique(found.codes[:, 1])) == 60
    assert 15 < (found.codes[:, 0] == 0).sum() < 45


@pytest.mark.parametrize("objective", ["max_entropy", "least_squares"])
def test_a_point_that_is_there_three_times_weighs_three_times_as_much(objective: Any) -> None:
    found = fitted([[2], [0], [2], [2]], (4,), 1e9, objective=objective)
    assert found.codes is not None
    assert found.codes.ravel().tolist() == [0, 2]
    assert found.density == pytest.approx([0.25, 0.75], abs=1e-6)


@pytest.mark.parametrize("listed", [True, False])
def test_independent_rows_follow_a_density_that_does_not_quite_add_up(listed: bool) -> None:
    """0, 1/4, 1/4 and 0: below a half of what there is the second point, from a half on the third, never another."""

    class Told:
        def random(self, count: int) -> np.ndarray:
            return np.array([0.0, 0.25, 0.4999, 0.5, 0.75, np.nextafter(1, 0)])[:count]

    plan: Any = SimpleNamespace(config=dpsyn.NoisyReweighting(rounding="independent"))
    codes = np.array([[3], [2], [1], [0]], dtype=np.int32) if listed else None
    law = Fitted(codes, np.array([0.0, 0.25, 0.25, 0.0]), np.zeros(0), (), np.zeros(0), None)
    generator: Any = Told()
    rows = _fit.drawn_codes(plan, law, (4,), 6, generator)
    assert rows.ravel().tolist() == ([2, 2, 2, 1, 1, 1] if listed else [1, 1, 1, 2, 2, 2])


@pytest.mark.parametrize(
    ("sizes", "listed"),
    [((2_000, 2, 20), True), ((5_000, 2, 20), True), ((2, 20, 2_000), True), ((2,) * 8, False), ((16,) * 5, False)],
    ids=str,
)
def test_points_are_listed_where_products_of_matrices_would_take_longer(sizes: tuple[int, ...], listed: bool) -> None:
    """A column of 2,000 categories has 8 × 10⁹ products at every step; 40,000 points in three tables are soon looked up."""
    plan: Any = dpsyn.NoisyReweighting().calibrate(SPEC, categories(*sizes), 100)
    assert (plan.plan.space, plan.plan.listed) == ("whole", listed)


def places(n: int) -> Table:
    """Columns of 12 and 16 codes that lie in three places, the place, and a column of five codes beside them."""
    random = np.random.default_rng(0)
    place = random.choice(3, n, p=[0.5, 0.3, 0.2])
    codes = np.stack(
        [
            np.clip(np.rint(random.normal(np.array([2, 6, 9])[place], 0.5)), 0, 11),
            np.clip(np.rint(random.normal(np.array([3, 12, 7])[place], 0.5)), 0, 15),
            place,
            random.integers(0, 5, n),
        ],
        axis=1,
    ).astype(np.int32)
    domain = categories(12, 16, 3, 5)
    return Table(domain.decode(codes, random), domain, "places")


def test_the_more_epsilon_the_nearer_although_most_cells_of_a_table_are_empty() -> None:
    """Hundreds of cells without a row, and hardly noise: L-BFGS is far from done after 80 steps, and rows were worse the
    more was spent."""
    table, errors = places(50_000), []
    for epsilon in (1.0, 10.0):
        mechanism = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(epsilon, 1e-9), table.domain, table.n)
        release = mechanism(np.random.default_rng(1), table)
        assert release.diagnostics["solver_status"] == "optimal"
        assert release.diagnostics["misfit"] < 1.5
        assert not [note for note in release.notes if "fit" in note]
        errors.append(dpsyn.evaluate(table, release.rows).marginals[2].mean)
    assert errors[0] > 4 * errors[1]
    assert errors[1] < 0.001


@pytest.mark.parametrize(("columns", "size", "n", "epsilon"), [(6, 5, 300_000, 10.0), (8, 3, 500_000, 20.0)])
def test_a_first_step_that_is_far_too_long_does_no_harm(columns: int, size: int, n: int, epsilon: float) -> None:
    """Tables that contradict each other by next to nothing: a whole step of Newton's method puts all rows on one point."""
    random = np.random.default_rng(0)
    common = random.normal(size=n)
    codes = [0.7 * (common + random.normal(size=n)) * size / 5 + size / 2 for _ in range(columns)]
    domain = categories(*[size] * columns)
    table = Table(domain.decode(np.clip(np.stack(codes, axis=1), 0, size - 1).astype(np.int32), random), domain, "bell")
    mechanism = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(epsilon, 1e-6), domain, n)
    found = mechanism(np.random.default_rng(1), table).diagnostics
    assert found["solver_status"] == "optimal"
    assert found["duality_gap"] < 1e-6
    assert found["misfit"] < 1


def test_a_fit_that_ends_too_early_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fit, "NEWTON_AT_MOST", 0)
    table = places(50_000)
    mechanism = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(10.0, 1e-9), table.domain, table.n)
    release = mechanism(np.random.default_rng(1), table)
    assert release.diagnostics["solver_status"] == "stopped early"
    times = f"{np.sqrt(release.diagnostics['misfit']):.2g}"
    assert any(f"{times} times as far from the noisy averages as their noise explains" in note for note in release.notes)
