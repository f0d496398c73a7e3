"""Linear systems with W diag(p on some points) Wᵀ: how exactly the matrix is formed, and how it is solved with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpsyn.solvers.functions import Floats

FormGram = Callable[[bool, float, Any], Floats]
FormProduct = Callable[[Floats], Floats]

_DOUBLE_WORK = 2e10
"""Multiplications up to which the matrix is formed in double precision."""
_MOST_WORK = 4e11
"""Multiplications spent on one matrix: beyond, a share of the points stands for all."""
_POINTS_PER_FUNCTION = 40
"""That share keeps at least so many points per function: the matrix is then right to about 2/√40 of itself."""
DENSE_UP_TO = 6_000
"""C up to which the matrix is formed at all; beyond, conjugate gradients with products."""
_GRADIENT_STEPS = 200


@dataclass(eq=False)
class NormalMatrix:
    """Forms H = W diag(p on the free points) Wᵀ and returns v ↦ (H + regularisation)⁻¹ v.

    Attributes:
        dimension: C.
        orthonormal: over all points the matrix is nearly the unit matrix.
        double: always form in double precision.
        most_work: multiplications spent on one matrix.
        dense_up_to: C up to which H is formed.
    """

    dimension: int
    orthonormal: bool = False
    double: bool = False
    most_work: float = _MOST_WORK
    dense_up_to: int = DENSE_UP_TO

    def sharpen(self) -> bool:
        """Form the next matrices more exactly; False if they are as exact as they get."""
        if self.double:
            return False
        self.double = True
        return True

    def solver(
        self, free: int, points: int, residual: float, gram: FormGram, product: FormProduct, extra: Floats | None = None
    ) -> Callable[[Floats], Floats] | None:
        """r ↦ (H + c cᵀ/|c|² + εI)⁻¹ r, with ε in proportion to the residual; None if the matrix is beyond use.

        Args:
            free: number of points that H sums over.
            points: m.
            residual: max |missing|.
            gram: forms the matrix over the free points, or over the others, or from a share of either.
            product: forms H d.
            extra: c, a direction along which the step is prescribed, so that nothing but the condition of the matrix
                depends on the term in it; at the optimum of the LP, H alone is nearly singular.
        """
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        shift = min(1e-2, 1e-2 * residual) + 1e-14
        unit = None if extra is None else extra * np.sqrt(max(free, 1) / points) / float(np.linalg.norm(extra))
        if self.dimension > self.dense_up_to:

            def times(d: Floats) -> Floats:
                image = product(d) + shift * d
                return image if unit is None else image + unit * float(unit @ d)

            return partial(_conjugate_gradients, times)
        square = float(self.dimension) ** 2
        most = max(self.most_work / square, _POINTS_PER_FUNCTION * self.dimension)
        if free <= most or not self.orthonormal:
            matrix = self._formed(free, most, gram, True)
        elif free == points:
            matrix = np.eye(self.dimension)
        elif points - free < free:
            # W diag(p) Wᵀ over all points is nearly the unit matrix; the difference is smaller and sampled better.
            matrix = np.eye(self.dimension) - self._formed(points - free, most, gram, False)
        else:
            matrix = self._formed(free, most, gram, True)
        if unit is not None:
            matrix += np.outer(unit, unit)
        matrix[np.diag_indices_from(matrix)] += shift
        try:
            return partial(cho_solve, cho_factor(matrix, overwrite_a=True))
        except (LinAlgError, ValueError):  # not positive definite, or not finite
            return None

    def _formed(self, count: int, most: float, gram: FormGram, free: bool) -> Floats:
        keep = min(1.0, most / max(count, 1))
        single = not self.double and count * keep * float(self.dimension) ** 2 > _DOUBLE_WORK
        matrix = gram(free, keep, np.float32 if single else np.float64)
        if single:
            matrix[np.diag_indices_from(matrix)] += 1e-7 * matrix.diagonal().max()
        return matrix


def _conjugate_gradients(product: Callable[[Floats], Floats], right: Floats, *, share: float = 1e-2) -> Floats:
    """A solution of H d = right up to a residual of ``share`` of the right-hand side."""
    solution, left = np.zeros_like(right), right.copy()
    direction, size = left.copy(), float(left @ left)
    aim = share**2 * size
    for _ in range(_GRADIENT_STEPS):
        if not size > aim:
            break
        image = product(direction)
        length = size / float(direction @ image)
        solution += length * direction
        left -= length * image
        new = float(left @ left)
        direction = left + (new / size) * direction
        size = new
    return solution
