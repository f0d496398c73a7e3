"""The power law of solving times: recovered from made-up times, pulled to the prior by noise; memory against a tracer."""

import math
import tracemalloc

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling.calibration import EXPONENT_OF_C, SIZES, Timing, calibrate, fit, small_problem
from dpsyn.mechanisms.private_sampling.tractability import (
    duration,
    log_bytes,
    log_quadprog_seconds,
    memory,
    quadprog_seconds,
)
from dpsyn.solvers.closest import closest_to_uniform
from dpsyn.solvers.shrinkage import least_shrinkage

POINTS = [(2000, 22), (20_000, 22), (5000, 56), (40_000, 56), (4000, 172), (16_000, 172), (9000, 254)]


def made_up(noise: float = 0.0, *, b: float = 1.0, c: float = 1.9, seed: int = 0) -> list[Timing]:
    generator = np.random.default_rng(seed)
    return [
        Timing("lp", m, size, 1e-9 * m**b * size**c * math.exp(noise * generator.standard_normal()), "interior point")
        for m, size in POINTS
    ]


@pytest.mark.parametrize(("b", "c"), [(1.0, 1.9), (0.95, 1.6)])
def test_a_law_without_noise_is_found_again(b: float, c: float) -> None:
    model = fit("lp", made_up(b=b, c=c))
    assert (model.exponent_m, model.exponent_c) == (pytest.approx(b, abs=0.06), pytest.approx(c, abs=0.1))
    assert math.exp(model.log_seconds(math.log(1e6), math.log(100))) == pytest.approx(1e-9 * 1e6**b * 100**c, rel=0.25)
    assert model.scatter == pytest.approx(math.log(1.3))


def test_predictions_cover_what_they_say() -> None:
    truth = math.log(1e-9 * 1e7 * 1000**1.9)
    inside = 0
    for seed in range(100):
        model = fit("lp", made_up(0.4, seed=seed))
        at = (math.log(1e7), math.log(1000))
        inside += abs(model.log_seconds(*at) - truth) <= model.log_factor(*at)
    assert inside >= 90


def test_the_further_away_the_less_certain() -> None:
    model = fit("lp", made_up(0.4))
    factors = [model.log_factor(math.log(m), math.log(100)) for m in (1e4, 1e6, 1e9, 1e20)]
    assert factors == sorted(factors)
    noisy = fit("lp", made_up(3.0, seed=4))
    assert abs(noisy.exponent_c - EXPONENT_OF_C[0]) < 2 * EXPONENT_OF_C[1]
    assert noisy.log_factor(math.log(1e6), math.log(100)) > model.log_factor(math.log(1e6), math.log(100))


def test_a_solver_that_steps_in_is_set_apart() -> None:
    slow = Timing("lp", 12_000, 106, 60.0, "highs-ipm")
    model = fit("lp", [*made_up(), slow])
    assert model.others == (slow,)
    assert model.log_seconds(math.log(12_000), math.log(106)) < math.log(1.0)
    assert len(model.timings) == len(POINTS)


def test_too_few_sizes_name_the_field() -> None:
    with pytest.raises(ParameterError, match="timings"):
        fit("lp", made_up()[:3])
    with pytest.raises(ParameterError, match="timings"):
        fit("lp", [Timing("lp", m, 37, 1.0) for m in (10, 20, 30, 40)])
    with pytest.raises(ParameterError, match="timings"):
        fit("qp", made_up())


def test_this_machine_can_be_timed() -> None:
    steps: list[tuple[str, float]] = []
    sizes = ((4, 300), (4, 900), (6, 300), (6, 900))
    found = calibrate(sizes=sizes, repeats=1, progress=lambda name, share: steps.append((name, share)))
    assert [share for _, share in steps] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert sum(len(m.timings) + len(m.others) for m in (found.lp, found.qp)) == 8
    assert {t.dimension for t in found.qp.timings} == {11, 22}
    prediction = found.predict(math.log(1e40), math.log(4394))
    assert prediction.log_quadprog_seconds == pytest.approx(log_quadprog_seconds(math.log(1e40)))
    for program in ("lp", "qp"):
        assert math.isfinite(prediction.log_seconds[program])
        assert prediction.log_bytes[program] > math.log(8e40 * 4394)


def test_the_time_limit_leaves_enough_sizes() -> None:
    sizes = ((4, 300), (4, 900), (6, 300), (6, 900), (7, 300), (7, 900))
    found = calibrate(sizes=sizes, repeats=1, most_seconds=0.0)
    assert len(found.qp.timings) + len(found.qp.others) == 4


def test_sizes_differ_early_enough() -> None:
    first = SIZES[:4]
    assert len({p for p, _ in first}) >= 3
    assert len({m for _, m in first}) >= 3


@pytest.mark.parametrize(("p", "m"), [(6, 12_000), (10, 6000)])
def test_memory_is_what_a_tracer_sees(p: int, m: int) -> None:
    problem = small_problem(p, m)
    inner = problem.with_box(0.5, 1.75)
    shrinkage = least_shrinkage(inner).shrinkage
    for program, work in (
        ("lp", lambda: least_shrinkage(inner)),
        ("qp", lambda: closest_to_uniform(problem, min(1.0, shrinkage + 1e-9))),
    ):
        tracemalloc.start()
        work()
        peak = tracemalloc.get_traced_memory()[1] + problem.functions.nbytes
        tracemalloc.stop()
        predicted = math.exp(log_bytes(program, math.log(m), math.log(len(problem.target))))  # type: ignore[arg-type]
        assert 0.6 < predicted / peak < 1.7


def test_times_and_sizes_in_words() -> None:
    assert duration(log_quadprog_seconds(math.log(1.2e8))) == "45.6 years"
    assert quadprog_seconds(1.2e8) == pytest.approx(1.44e9)
    assert duration(math.log(0.034)) == "0.034 s"
    assert duration(math.log(100)) == "100 s"
    assert duration(math.log(150)) == "2.5 minutes"
    assert duration(math.log(3e5)) == "3.47 days"
    assert duration(2000.0).endswith("× 10⁸⁶¹ years")
    assert memory(math.log(8e9)) == "8 GB"
    assert memory(math.log(500)) == "0.5 kB"
    assert memory(200.0).endswith("TB")
