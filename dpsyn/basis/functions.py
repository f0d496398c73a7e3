"""The functions of an operator, evaluated on packed points."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpsyn.basis.contrasts import ContrastBasis
from dpsyn.basis.digits import DigitLayout, Digits

Floats = npt.NDArray[np.float64]


class ProductFunctions:
    """Products of contrasts of at most ``degree`` columns, in the order of ContrastBasis, on packed points.

    Made by :func:`product_functions`, one for each process: what is prepared once serves every block.

    Attributes:
        basis: the functions themselves.
        layout: how points are packed.
    """

    def __init__(self, sizes: tuple[int, ...], degree: int) -> None:
        self.basis = ContrastBasis(sizes, degree)
        self.layout = DigitLayout(sizes)

    def __reduce__(self) -> tuple[Callable[..., ProductFunctions], tuple[tuple[int, ...], int]]:
        return product_functions, (self.basis.sizes, self.basis.degree)

    @property
    def dimension(self) -> int:
        """C."""
        return self.basis.dimension

    def matrix(self, digits: Digits) -> Floats:
        """W on the points, shape (C, b)."""
        return self.basis.matrix(self.layout.decode(digits))


@lru_cache(maxsize=16)
def product_functions(sizes: tuple[int, ...], degree: int) -> ProductFunctions:
    """The functions of this degree on a domain of these sizes, shared inside a process."""
    return ProductFunctions(sizes, degree)
