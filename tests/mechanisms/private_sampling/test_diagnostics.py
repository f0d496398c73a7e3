from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import dpsyn
from dpsyn.data.samples import load_sample
from dpsyn.mechanisms.private_sampling import _mechanism
from dpsyn.mechanisms.private_sampling._reduced_space import draw_space, space_size
from dpsyn.mechanisms.private_sampling._solve import Densities, match
from dpsyn.privacy.histograms import Encoding
from dpsyn.solvers.coded import CodedRows
from dpsyn.solvers.contingency import all_codes
from dpsyn.solvers.contrasts import ContrastBasis
from dpsyn.solvers.shrinkage import least_shrinkage
from dpsyn.table import Table
from tests.conftest import categories
from tests.solvers.reference import shrinkage_by_highs

LOOSE = dpsyn.PrivacySpec(1e9)


def _run(config: dpsyn.PrivateSampling, table: Table, seed: int = 0) -> dict:
    return dict(config.calibrate(LOOSE, table.domain, n=table.n)(np.random.default_rng(seed), table).diagnostics)


@pytest.fixture(scope="module")
def asia() -> Table:
    return load_sample("asia")


def test_the_spectrum_is_that_of_the_points(asia: Table) -> None:
    found = _run(dpsyn.PrivateSampling(reduced_space_size=200, rows=1), asia, 3)
    functions = ContrastBasis((2,) * 8, 2).matrix(found["points"])
    expected = np.linalg.eigvalsh((functions * found["multiplicity"]) @ functions.T / 200)
    assert found["spectrum"] == pytest.approx(expected, abs=1e-10)
    assert found["smallest_singular_value"] == pytest.approx(np.sqrt(200 * expected[0]))
    assert found["spectrum_threshold"] == pytest.approx(found["failure_threshold"] ** 2 / 200)
    assert found["smallest_singular_value_is_exact"]
    whole = _run(dpsyn.PrivateSampling(rows=1), asia)
    assert whole["spectrum"] == pytest.approx(np.ones(37))


def test_a_large_space_is_tested_without_its_spectrum(monkeypatch: pytest.MonkeyPatch, asia: Table) -> None:
    from dpsyn.mechanisms.private_sampling import _reduced_space

    size = space_size(asia.domain, 1, 250)
    exact = draw_space(size, np.random.default_rng(0))
    monkeypatch.setattr(_reduced_space, "_SPECTRUM_WORK", 0)
    bounded = draw_space(size, np.random.default_rng(0))
    assert bounded.spectrum is None
    assert bounded.threshold <= bounded.smallest_singular_value <= exact.smallest_singular_value * (1 + 1e-9)
    assert (bounded.codes == exact.codes).all()


def test_the_histogram_is_that_of_the_density(asia: Table) -> None:
    found = _run(dpsyn.PrivateSampling(floor=0.1, ceiling=6.0, rows=1, reduced_space_size=180), asia)
    ratio = found["density"] / found["multiplicity"] * 180
    edges = found["ratio_edges"]
    assert edges[0] == pytest.approx(0.1)
    assert edges[-1] == pytest.approx(6.0)
    inside = np.clip(ratio, 0.1, 6.0)
    expected = np.histogram(inside, edges, weights=found["multiplicity"] / 180)[0]
    assert np.abs(np.cumsum(found["ratio_points"]) - np.cumsum(expected)).max() <= 0.05
    assert found["ratio_points"].sum() == pytest.approx(1)
    assert found["ratio_mass"].sum() == pytest.approx(1)
    assert found["share_at_floor"] == pytest.approx(found["multiplicity"][ratio <= 0.1 * (1 + 1e-8)].sum() / 180)
    assert found["share_at_floor"] > 0


def test_binding_cells_have_the_shares_of_the_data_and_the_most_important_one_is_empty(asia: Table) -> None:
    found = _run(dpsyn.PrivateSampling(floor=0.05, ceiling=100.0, rows=1), asia)
    cells = found["binding"]
    assert found["least_shrinkage"] == pytest.approx(0.1, abs=1e-7)
    assert 0 < len(cells) <= _mechanism.CELLS_TOLD
    assert [abs(cell["dual"]) for cell in cells] == sorted((abs(cell["dual"]) for cell in cells), reverse=True)
    for cell in cells:
        rows = np.ones(asia.n, dtype=bool)
        for name, value in zip(cell["columns"], cell["values"], strict=True):
            attribute = asia.domain[name]
            rows &= asia.codes[:, asia.domain.index(name)] == attribute.labels().index(value)
        assert cell["share"] == pytest.approx(rows.mean(), abs=1e-12)
    # λ = 2·floor is forced by cells that the data leave empty: more rows there would lower it.
    assert any(cell["share"] < 1e-12 and cell["dual"] < 0 for cell in cells)


def test_duals_of_cells_are_derivatives_of_the_least_shrinkage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_mechanism, "CELLS_TOLD", 10**6)
    generator = np.random.default_rng(4)
    domain = categories(2, 3, 2)
    level = generator.random((300, 1))
    codes = np.minimum((0.6 * level + 0.4 * generator.random((300, 3))) * (2, 3, 2), (1, 2, 1)).astype(np.int32)
    densities = Densities.on(draw_space(space_size(domain, 2, None), generator), 0.1, 3.0)
    problem = densities.problem_of(CodedRows(codes, domain.shape))
    matched = match(problem)
    assert matched.linear is not None
    shrinkage = matched.linear.shrinkage
    assert 0 < shrinkage < 1
    cells = _mechanism.binding_cells(Encoding(domain), densities.basis, problem, matched)
    duals = {(cell["columns"], cell["values"]): cell["dual"] for cell in cells}

    def total(row: np.ndarray) -> float:
        """Σ_J g_J of the cells that a row lies in."""
        found = 0.0
        for count in (1, 2):
            for columns in combinations(range(3), count):
                names = tuple(domain.names[j] for j in columns)
                values = tuple(domain.attributes[j].labels()[row[j]] for j in columns)
                found += duals.get((names, values), 0.0)
        return found

    step, errors, sizes = 1e-6, [], []
    points = all_codes((2, 3, 2))
    values = densities.basis.matrix(points)
    for come, go in [(0, 11), (3, 5), (7, 2), (10, 4)]:
        moved = densities.problem(problem.target + step * (values[:, come] - values[:, go]))
        after = match(moved).linear
        assert after is not None
        slope = (after.shrinkage - shrinkage) / step
        errors.append(abs(slope - (1 - shrinkage) * (total(points[come]) - total(points[go]))))
        sizes.append(abs(slope))
    assert max(sizes) > 0.05
    assert max(errors) < 0.02 * max(sizes)


def test_without_shrinkage_nothing_binds() -> None:
    domain = dpsyn.Domain.of(dpsyn.Attribute(name, "categorical", ("no", "yes"), public=True) for name in "ab")
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]], dtype=np.int32)
    table = Table(domain.decode(codes, np.random.default_rng(0)), domain)
    found = _run(dpsyn.PrivateSampling(floor=0.05, ceiling=5.0, rows=1), table)
    assert found["least_shrinkage"] == 0
    assert found["binding"] == []
    degenerate = _run(dpsyn.PrivateSampling(floor=0.5, rows=1), table)
    assert degenerate["binding"] == []
    assert degenerate["shrinkage"] == 1


def test_both_bases_state_the_same_equations() -> None:
    domain = categories(2, 3, 2)
    codes = np.array([[0, 0, 0], [0, 0, 0], [1, 2, 1], [0, 1, 1]], dtype=np.int32)
    space = draw_space(space_size(domain, 2, None), np.random.default_rng(0))
    densities = Densities.on(space, 0.1, 3.0)
    problem = densities.problem_of(CodedRows(codes, domain.shape))
    assert (problem.lower, problem.upper) == (0.1, 3.0)
    assert problem.target == pytest.approx(densities.basis.matrix(codes).mean(axis=1))
    assert problem.sparse_functions is not None
    assert problem.sparse_target == pytest.approx(densities.basis.sparse_matrix(codes).mean(axis=1))
    assert problem.sparse_functions.toarray() == pytest.approx(densities.basis.sparse_matrix(space.codes).toarray())
    inner = problem.with_box(0.2, 2.9)
    least = least_shrinkage(inner).shrinkage
    assert 0.1 < least < 0.9
    assert shrinkage_by_highs(inner).shrinkage == pytest.approx(least, abs=1e-7)
    alone = densities.problem(problem.target)
    assert alone.sparse_functions is alone.sparse_target is None
    pinned = Densities.on(space, 0.5, 3.0).problem_of(CodedRows(codes, domain.shape))
    assert pinned.sparse_functions is pinned.sparse_target is None
