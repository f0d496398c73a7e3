"""Adam: its first steps by hand, and that it finds a minimum."""

from __future__ import annotations

import numpy as np
import pytest

from dpsyn.solvers.adam import Adam


def test_two_steps_by_hand() -> None:
    adam = Adam(first=0.5, second=0.9)
    first = adam.direction(np.array([3.0, -0.01, 0.0]))
    # The means of one gradient are the gradient and its square.
    np.testing.assert_allclose(first, [1, -1, 0], atol=1e-5)
    second = adam.direction(np.array([1.0, 0.03, 0.0]))
    mean = (0.25 * 3 + 0.5 * 1) / 0.75, (0.25 * -0.01 + 0.5 * 0.03) / 0.75
    square = (0.09 * 9 + 0.1 * 1) / 0.19, (0.09 * 1e-4 + 0.1 * 9e-4) / 0.19
    np.testing.assert_allclose(second, [*np.array(mean) / np.sqrt(square), 0], rtol=1e-5)


def test_it_descends_whatever_the_unit() -> None:
    for unit in (1e-3, 1.0, 1e3):
        adam, at = Adam(), np.array([1.0, -2.0])
        for _ in range(2000):
            at = at - 0.01 * adam.direction(unit * 2 * (at - 0.3))
        assert at == pytest.approx([0.3, 0.3], abs=0.01)
