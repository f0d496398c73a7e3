"""The linear program for the density of least largest deviation, by HiGHS: to check against, and for vertices."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Floats = npt.NDArray[np.float64]
Method = Literal["highs-ds", "highs-ipm"]


def solve_with_highs(matrix: Any, target: Floats, method: Method, time_limit: float | None = None) -> Any:
    """SciPy's result for: minimise t subject to -t ≤ A h - y ≤ t, Σ h = 1, h ≥ 0; ``result.x`` is (h, t)."""
    from scipy.optimize import linprog

    statistics, points = matrix.shape
    slack: Any = np.ones((statistics, 1))
    both: Any
    if not isinstance(matrix, np.ndarray):
        both = sp.vstack([sp.hstack([matrix, -slack]), sp.hstack([-matrix, -slack])]).tocsc()
    else:
        both = np.block([[matrix, -slack], [-matrix, -slack]])
    total = np.append(np.ones(points), 0.0)
    options: Any = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
    if time_limit is not None:
        options["time_limit"] = max(time_limit, 0.01)
    return linprog(
        np.append(np.zeros(points), 1.0),
        A_ub=both,
        b_ub=np.concatenate([target, -target]),
        A_eq=total[None, :],
        b_eq=np.ones(1),
        bounds=(0, None),
        method=method,
        options=options,
    )


def weights_of(result: Any, statistics: int) -> Floats | None:
    """The multipliers w of the statistics, or None if the solver gave none that are finite."""
    marginals = getattr(getattr(result, "ineqlin", None), "marginals", None)
    if marginals is None or not np.isfinite(marginals).all():
        return None
    return np.asarray(marginals[statistics:] - marginals[:statistics], dtype=np.float64)
