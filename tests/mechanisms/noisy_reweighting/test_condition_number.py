"""The Rényi condition number: by definition on small cases, and ASIA's on the cube."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting.setting import log_condition_number, log_condition_number_bound


def asia_shares() -> np.ndarray:
    """Probabilities of the 256 points of the ASIA network (Lauritzen and Spiegelhalter 1988)."""
    shares = []
    for asia, tub, smoke, lung, bronc, xray, dysp in itertools.product((True, False), repeat=7):
        either = tub or lung

        def pick(yes: float, value: bool) -> float:
            return yes if value else 1 - yes

        breath = {(True, True): 0.9, (True, False): 0.8, (False, True): 0.7, (False, False): 0.1}[bronc, either]
        shares.append(
            pick(0.01, asia)
            * pick(0.05 if asia else 0.01, tub)
            * pick(0.5, smoke)
            * pick(0.1 if smoke else 0.01, lung)
            * pick(0.6 if smoke else 0.3, bronc)
            * pick(0.98 if either else 0.05, xray)
            * pick(breath, dysp)
        )
    return np.array(shares)


def test_asia_on_the_cube() -> None:
    shares = asia_shares()
    assert shares.sum() == pytest.approx(1)
    assert shares.max() == pytest.approx(0.29036, abs=1e-5)
    kappa = 256 * float((shares**2).sum())
    assert kappa == pytest.approx(42.4, abs=0.05)
    assert kappa <= math.exp(log_condition_number_bound(math.log(shares.max()), 8 * math.log(2)))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 3)), min_size=2, max_size=30))
def test_against_the_definition(rows: list[tuple[int, int, int]]) -> None:
    codes, sizes = np.array(rows, dtype=np.int32), (2, 3, 4)
    points = list(itertools.product(*(range(s) for s in sizes)))
    nu = {x: rows.count(x) / len(rows) for x in points}
    marginals = [[sum(nu[x] for x in points if x[j] == v) for v in range(s)] for j, s in enumerate(sizes)]
    product = {x: math.prod(marginals[j][x[j]] for j in range(3)) for x in points}

    def kappa(mu: dict[tuple[int, ...], float], unbiased: bool) -> float:
        n = len(rows)
        pairs = {x: rows.count(x) * (rows.count(x) - 1) / (n * (n - 1)) if unbiased else nu[x] ** 2 for x in points}
        return max(1.0, sum(pairs[x] / mu[x] for x in points if nu[x] > 0))

    for unbiased in (False, True):
        valid = log_condition_number(codes, sizes, math.log(24), unbiased=unbiased)
        cube = log_condition_number(codes, sizes, 8 * math.log(2), unbiased=unbiased)
        own = log_condition_number(codes, sizes, unbiased=unbiased)
        assert math.exp(valid) == pytest.approx(kappa(dict.fromkeys(points, 1 / 24), unbiased))
        assert math.exp(cube) == pytest.approx(kappa(dict.fromkeys(points, 1 / 256), unbiased))
        assert math.exp(own) == pytest.approx(kappa(product, unbiased))
        assert valid <= log_condition_number_bound(math.log(max(nu.values())), math.log(24)) + 1e-9


def test_the_unbiased_estimate_finds_the_population() -> None:
    generator = np.random.default_rng(3)
    shares = asia_shares()
    drawn = generator.choice(len(shares), p=shares / shares.sum(), size=(400, 50))
    estimates = {True: [], False: []}
    for sample in drawn:
        for unbiased, found in estimates.items():
            found.append(math.exp(log_condition_number_uniform_sample(sample, unbiased)))
    assert np.mean(estimates[True]) == pytest.approx(42.4, rel=0.05)
    assert np.mean(estimates[False]) - np.mean(estimates[True]) == pytest.approx(256 / 50, rel=0.25)


def log_condition_number_uniform_sample(sample: np.ndarray, unbiased: bool) -> float:
    return log_condition_number(sample[:, None].astype(np.int32), (256,), 8 * math.log(2), unbiased=unbiased)


def test_large_cubes_do_not_overflow() -> None:
    codes = np.zeros((5, 2), dtype=np.int32)
    assert log_condition_number(codes, (2, 2), 10**4 * math.log(2)) == pytest.approx(10**4 * math.log(2))


def test_no_rows_have_no_distribution() -> None:
    for rows in (0, 1):
        with pytest.raises(ParameterError, match="codes"):
            log_condition_number(np.zeros((rows, 2), dtype=np.int32), (2, 2), math.log(4))
