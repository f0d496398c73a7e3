"""Adam (Kingma, Ba 2015): steps that are as long in every coordinate, however large its gradients are."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_SMALL = 1e-8


class Adam:
    """Directions for one array of parameters; what it remembers are two running means of gradients.

    Args:
        first, second: how much of the means of gradients and of their squares is kept in a step; β₁ and β₂ in the paper.
    """

    def __init__(self, first: float = 0.9, second: float = 0.999) -> None:
        self._first, self._second = first, second
        self._mean: Floats = np.zeros(1)
        self._square: Floats = np.zeros(1)
        self._steps = 0

    def direction(self, gradient: Floats) -> Floats:
        """Where the parameters go at the rate 1, with the sign of the gradient: take it off to descend. Same shape."""
        self._steps += 1
        self._mean = self._first * self._mean + (1 - self._first) * gradient
        self._square = self._second * self._square + (1 - self._second) * gradient**2
        mean = self._mean / (1 - math.pow(self._first, self._steps))
        found: Floats = mean / (np.sqrt(self._square / (1 - math.pow(self._second, self._steps))) + _SMALL)
        return found
