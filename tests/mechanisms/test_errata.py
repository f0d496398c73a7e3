"""What docs/errata.md says that no other test shows, and that everything it points at exists."""

import importlib
import math
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from dpsyn.data.samples import load_sample
from dpsyn.mechanisms.dp_cda import counterexamples as dp_cda
from dpsyn.mechanisms.private_sampling.certificates import stability_epsilon, whole_cube_geometry
from dpsyn.solvers.contingency import walsh_dimension
from dpsyn.solvers.contrasts import ContrastBasis
from dpsyn.solvers.matching import MatchingProblem
from dpsyn.solvers.operator import DenseOperator
from dpsyn.solvers.shrinkage import least_shrinkage
from tests.mechanisms.dp_cda import changes

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")


def test_what_it_points_at_exists() -> None:
    files = re.findall(r"`((?:tests|benchmarks)/[\w/]+\.py)(?:::(\w+))?`", TEXT)
    assert len(files) > 15
    for path, name in files:
        assert f"def {name}" in (ROOT / path).read_text(encoding="utf-8") if name else (ROOT / path).is_file(), path
    modules = set(re.findall(r"`(dpsyn(?:\.\w+)+)`", TEXT))
    assert len(modules) > 8
    for module in modules:
        if not (ROOT / (module.replace(".", "/") + ".py")).is_file():
            parent, name = module.rsplit(".", 1)
            assert hasattr(importlib.import_module(parent), name), module


@pytest.mark.parametrize(
    ("n", "entries", "euclidean"), [(20_000, 3.07, 3.21), (1_000_000, 1.37, 1.48), (100_000_000, 0.257, 0.294)]
)
def test_two_bounds_on_the_response(n: int, entries: float, euclidean: float) -> None:
    """On the whole cube rows of Wᵀ(W Wᵀ)⁻¹ have entries ±1/m and norm √C/m; N = 20 of C = 37 functions can change."""
    geometry = whole_cube_geometry(8, 2)
    looser = replace(geometry, largest_response=math.sqrt(20 * walsh_dimension(8, 2)) / 256)
    for used, expected in ((geometry, entries), (looser, euclidean)):
        assert stability_epsilon(rows=1, floor=0.25, ceiling=2.0, n=n, geometry=used) == pytest.approx(expected, rel=4e-3)


@pytest.mark.parametrize(("ceiling", "shrinkage"), [(2.0, 0.841), (50.0, 0.122), (58.0, 0.101), (60.0, 0.1), (100.0, 0.1)])
def test_asia_reaches_twice_the_floor_from_a_ceiling_of_sixty(ceiling: float, shrinkage: float) -> None:
    basis = ContrastBasis((2,) * 8, 2)
    points = np.array(list(product((0, 1), repeat=8)), dtype=np.int32)
    problem = MatchingProblem(
        DenseOperator(basis.matrix(points), np.full(256, 1 / 256)),
        target=basis.means(load_sample("asia").codes),
        lower=2 * 0.05,
        upper=ceiling - 0.05,
    )
    assert least_shrinkage(problem).shrinkage == pytest.approx(shrinkage, abs=6e-4)


def test_the_true_epsilon_of_published_noise_for_four_records() -> None:
    """MNIST's size, ε = 10: more noise than needed at l = 4."""
    sigma = dp_cda.published_sigma(epsilon=10.0, order_of_mixture=4, n=60_000, delta=1e-5)
    found = changes.replace_one_epsilon(
        order_of_mixture=4, sigma=sigma, clip_norm=1.0, class_sizes=[6000, 6000], rows=6000, delta=1e-5
    )
    assert found == pytest.approx(7.56, abs=0.02)


@pytest.mark.parametrize(
    ("size", "found"),
    [
        (6000, {1: 3.16, 4: 3.72, 16: 5.05, 64: 5.58}),
        (179, {1: 3.90, 4: 4.93, 16: 5.18, 64: 5.48}),
    ],
    ids=["MNIST", "digits"],
)
def test_exact_epsilon_where_the_corrected_bound_is_ten(size: int, found: dict[int, float]) -> None:
    for order, expected in found.items():
        shared = {"order_of_mixture": order, "rows": size, "delta": 1e-5, "clip_norm": 1.0}

        def bound(sigma: float, shared: dict[str, float] = shared) -> float:
            return dp_cda.corrected_rdp_epsilon(population=size, sigma=sigma, label_sigma=math.inf, **shared)  # type: ignore[arg-type]

        sigma = brentq(lambda sigma: bound(sigma) - 10.0, 0.3 / order, 5.0 / math.sqrt(order), rtol=1e-4)
        exact = changes.replace_one_epsilon(sigma=sigma, class_sizes=[size, size], **shared)  # type: ignore[arg-type]
        assert exact == pytest.approx(expected, rel=5e-3)
