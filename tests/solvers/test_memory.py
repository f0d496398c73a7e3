from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.solvers import memory as module
from dpsyn.solvers.executors import ThreadExecutor
from dpsyn.solvers.functions import product_functions
from dpsyn.solvers.memory import operator_bytes, require_memory
from dpsyn.solvers.operator import BlockOperator


@pytest.mark.parametrize(
    ("sizes", "degree", "count", "threads"),
    [
        ((2,) * 20, 2, 1_000_000, 2),
        ((2,) * 30, 2, 300_000, 1),
        ((9, 16, 7, 15, 6, 5, 2, 2), 2, 20_000, 1),
        ((2,) * 12, 3, 100_000, 2),
        ((2,) * 60, 1, 2_000_000, 2),
    ],
)
def test_the_estimate_is_not_exceeded_and_not_idle(sizes: tuple[int, ...], degree: int, count: int, threads: int) -> None:
    """Measured peak <= estimate <= 6 times the measured peak and the fixed allowance."""
    product_functions.cache_clear()
    estimate = operator_bytes(sizes, degree, count, threads)
    tracemalloc.start()
    try:
        operator = BlockOperator.uniform(sizes, degree, count, np.random.default_rng(0), ThreadExecutor(threads))
        operator.reduce(_products, np.ones(operator.shape[0]))
        operator.gram()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= estimate <= 6 * peak + module._ALLOWANCE


def _products(block, y):  # type: ignore[no-untyped-def]
    return (block.apply(block.adjoint(y)),)


def test_the_largest_published_instance_fits_in_sixteen_gigabytes() -> None:
    assert 7 * 166_000_000 < operator_bytes((2,) * 54, 2, 166_000_000, 2) < 2.5e9


def test_weights_cost_eight_bytes_a_point() -> None:
    bare, weighted = (operator_bytes((2,) * 20, 2, 1_000_000, 1, weighted=flag) for flag in (False, True))
    assert weighted == bare + 8_000_000


def test_what_does_not_fit_is_refused_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "available_memory", lambda: 1_000_000_000)
    require_memory("reduced_space_size", 10, 1_000_000_000)
    with pytest.raises(
        ParameterError, match=r"2\.00 GB of memory and 1\.00 GB may be used\. At most 5 points fit"
    ) as caught:
        require_memory("reduced_space_size", 10, 2_000_000_000, detail="At most 5 points fit.")
    assert caught.value.field == "reduced_space_size"


def test_every_blas_has_one_thread_also_one_that_is_loaded_later() -> None:
    """Sums in another order end in other rows, so that a seed would give the same only on as many processors."""
    code = (
        "from dpsyn.solvers.executors import one_blas_thread\n"
        "with one_blas_thread():\n"
        "    import scipy.linalg, threadpoolctl\n"
        "    print(*(found['num_threads'] for found in threadpoolctl.threadpool_info() if found['user_api'] == 'blas'))"
    )
    two = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=two)
    assert set(found.stdout.split()) == {"1"}
