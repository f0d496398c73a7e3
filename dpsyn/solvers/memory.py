"""How much memory operators and solvers take, known before any point is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from dpsyn.errors import TooLargeError
from dpsyn.memory import available_memory
from dpsyn.solvers.contingency import contrast_dimension
from dpsyn.solvers.functions import MOST_FOR_PRODUCTS
from dpsyn.solvers.operator import largest_block
from dpsyn.solvers.points import DigitLayout

NEAR_ENTRIES = 1 << 25
"""Entries of W that a restricted problem of the solvers may keep."""
_VECTORS = 26
"""Vectors of length m that the interior-point method holds."""
_ALLOWANCE = 48 << 20
"""Bytes for what does not grow with the problem: tables of a plan, chunks, the interpreter's own."""


def operator_bytes(sizes: Sequence[int], degree: int, count: int, threads: int, *, weighted: bool = False) -> int:
    """Memory of a BlockOperator on one machine with its points in memory, while one Gram matrix is computed, at most.

    Args:
        sizes: number of codes of each column.
        degree: d.
        count: m, number of points.
        threads: how many work at once.
        weighted: the points have weights of their own.
    """
    layout = DigitLayout(sizes)
    columns = sum(size > 1 for size in sizes)
    functions = contrast_dimension(sizes, degree)
    width = max(1, min(degree, columns))
    largest = largest_block(count)
    # A thread holds the digits that it reads, one index for each of them, and a few vectors as long as the block.
    per_thread = largest * (8 * len(layout.groups) + 4 * width + 48) + 16 * functions
    prepared = functions * (8 * width + 40)
    results = 32 * functions + 16 * functions**2
    if functions <= MOST_FOR_PRODUCTS:
        # The table of all products of two functions.
        moments = contrast_dimension(sizes, 2 * width)
        moments = min(moments, functions * (functions + 1) // 2)
        prepared += 70 * functions**2 + moments * (16 * width + 80)
        per_thread += largest * 8 * width + 16 * functions**2 + 8 * moments
    points = (layout.bytes_per_point + (8 if weighted else 0)) * count
    return points + prepared + _ALLOWANCE + threads * per_thread + results


def solver_bytes(functions: int, points: int, *, dense: bool) -> int:
    """Memory of the solvers beyond that of the operator, at most: both programs, one after the other.

    The dual methods hold a few C x C matrices and some columns of W; the density itself has m numbers. The interior-point
    method (``dense``: W is small) holds vectors of length m too. What the operator takes, with its Gram matrices, is
    :func:`operator_bytes`.
    """
    matrices = 5 * 8 * functions**2
    near = 3 * 8 * min(NEAR_ENTRIES, functions * points)
    return matrices + near + 8 * points * (_VECTORS if dense else 2)


def require_memory(field: str, value: object, needed: int, detail: str = "") -> None:
    """Refuse what does not fit.

    Args:
        field: the parameter that decides the size, for the message.
        value: what it is.
        needed: bytes.
        detail: what the bytes are for, or what to do.

    Raises:
        TooLargeError: more is needed than there is now; the message has both numbers.
    """
    allowed = available_memory()
    if needed > allowed:
        says = f"it needs about {_readable(needed)} of memory and {_readable(allowed)} may be used"
        raise TooLargeError(field, value, f"{says}. {detail}".rstrip(". "))


def _readable(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
