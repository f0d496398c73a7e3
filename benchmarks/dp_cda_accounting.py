"""Accounting of DP-CDA, side by side in one run: ours, dp_accounting's own two accountants, and Wang et al.

Usage: python benchmarks/dp_cda_accounting.py

For each setting, ε at δ = 1e-5 and c = 1 when one record is added or removed, by

* ``dp_cda_epsilon`` (two tolerances),
* ``dp_accounting.pld.from_gaussian_mechanism`` with Poisson sampling at the same rate (the same pair of distributions),
* ``dp_accounting.rdp`` for the same event,
* the bound of Wang, Balle, Kasiviswanathan 2019, which is for replacing a record,

then the time of a full replace-one evaluation and of a calibration. Last, for N = T = 60,000 with ten classes and with one,
what a move of a slider costs on the page Inside over the ends of its sliders: one ε of the exact accountant, its σ, a
calibrated σ as for a release, and all three accountants of the chart (processor seconds, nothing remembered from before).
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from dpsyn.mechanisms.dp_cda.accounting import _rdp as _mixing_rdp
from dpsyn.mechanisms.dp_cda.accounting import quick
from dpsyn.mechanisms.dp_cda.accounting.functions import dp_cda_epsilon
from dpsyn.mechanisms.dp_cda.counterexamples import corrected_rdp_epsilon
from dpsyn.mechanisms.dp_cda.figures.noise import noise_info
from dpsyn.privacy.mixing import exact as mixing

DELTA = 1e-5
SETTINGS = [  # name, N_k, T_k, l, sigma
    ("MNIST", 6000, 6000, 4, 0.1946),
    ("MNIST", 6000, 6000, 64, 0.0256),
    ("MNIST", 6000, 6000, 512, 0.0143),
    ("digits", 179, 179, 4, 0.2787),
    ("Adult, smaller class", 7841, 16280, 8, 0.1142),
]


def timed(compute: Callable[[], float]) -> str:
    """The result and the milliseconds of the fastest of three runs."""
    best, value = float("inf"), float("nan")
    for _ in range(3):
        start = time.perf_counter()
        value = compute()
        best = min(best, time.perf_counter() - start)
    return f"{value:9.4f} ({1000 * best:7.1f} ms)"


def theirs_pld(rate: float, multiplier: float, rows: int, interval: float) -> float:
    """dp_accounting's own privacy loss distribution."""
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

    single = from_gaussian_mechanism(multiplier, sampling_prob=rate, value_discretization_interval=interval)
    return float(single.self_compose(rows).get_epsilon_for_delta(DELTA))


def theirs_rdp(rate: float, multiplier: float, rows: int) -> float:
    """dp_accounting's Rényi accountant."""
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
    from dp_accounting.rdp import RdpAccountant

    event = SelfComposedDpEvent(PoissonSampledDpEvent(rate, GaussianDpEvent(multiplier)), rows)
    return float(RdpAccountant(range(2, 256)).compose(event).get_epsilon(DELTA))


def block(name: str, size: int, rows: int, order: int, sigma: float) -> None:
    """All accountants on one setting."""
    out = sys.stdout.write
    multiplier = mixing.noise_multiplier(order_of_mixture=order, sigma=sigma, clip_norm=1.0)
    shared: dict[str, Any] = {"order_of_mixture": order, "clip_norm": 1.0, "rows": rows, "delta": DELTA}

    def wang() -> float:
        return corrected_rdp_epsilon(
            order_of_mixture=order, sigma=sigma, population=size, rows=rows, delta=DELTA, label_sigma=float("inf")
        )

    lines: list[tuple[str, Callable[[], float]]] = [
        (
            f"ours, tolerance {tolerance:g}",
            lambda t=tolerance: dp_cda_epsilon(
                sigma, DELTA, order, 1.0, [size], [rows], neighbouring="add_remove", tolerance=t
            ),
        )
        for tolerance in (1e-2, 1e-3, 1e-4)
    ]
    lines += [
        (f"dp_accounting PLD, {step:g}", lambda d=step: theirs_pld(order / size, multiplier, rows, d))
        for step in (1e-2, 1e-3)
    ]
    lines += [
        ("dp_accounting RDP", lambda: theirs_rdp(order / size, multiplier, rows)),
        ("Wang et al., replace", wang),
        ("full replace-one", lambda: dp_cda_epsilon(sigma, DELTA, order, 1.0, size, rows)),
    ]
    out(f"{name}: N_k = {size}, T_k = {rows}, l = {order}, sigma = {sigma}\n")
    for label, compute in lines:
        out(f"  {label:26s} {timed(compute)}\n")
    start = time.perf_counter()
    found = mixing.calibrate_sigma(epsilon=10, class_sizes=[size] * 2, **shared)
    out(f"  {'sigma for epsilon = 10':26s} {found:9.5f} ({1000 * (time.perf_counter() - start):7.1f} ms)\n")


def forget() -> None:
    """Empty the memories of the accountants."""
    for remembered in (
        quick.sigma_for,
        quick.epsilon_at,
        mixing.calibrated_multiplier,
        _mixing_rdp._composed,
        _mixing_rdp._of_a_row,
    ):
        remembered.cache_clear()


def seconds(compute: Callable[[], object]) -> float:
    """Processor time from nothing remembered."""
    forget()
    start = time.process_time()
    compute()
    return time.process_time() - start


def page() -> None:
    """A move of a slider, over the ends of the sliders."""
    out = sys.stdout.write
    found: dict[str, list[tuple[float, str]]] = {}
    for classes, variant in ((10, "fixed_size"), (1, "fixed_size"), (10, "poisson")):
        size = 60_000 // classes
        for epsilon, delta, order in itertools.product(
            (0.001, 0.1, 1.0, 10.0, 1000.0), (1e-12, 1e-5, 1e-2), (1, 4, 64, 512)
        ):
            sizes = quick.Sizes((size,) * classes, size, delta, 1.0, variant)  # type: ignore[arg-type]
            sigma = quick.sigma_for(sizes, order, epsilon) or 0.0

            def calibration(sizes: quick.Sizes = sizes, order: int = order, epsilon: float = epsilon) -> float:
                return mixing.calibrate_sigma(
                    epsilon=epsilon,
                    delta=sizes.delta,
                    order_of_mixture=order,
                    clip_norm=1.0,
                    class_sizes=sizes.counts,
                    rows=sizes.rows,
                    variant=sizes.variant,
                )

            steps: dict[str, Callable[[], object]] = {
                "one ε": lambda s=sizes, o=order, x=sigma: quick.epsilon_at(s, o, x),
                "σ on Feasibility": lambda s=sizes, o=order, e=epsilon: quick.sigma_for(s, o, e),
                "σ of a release": calibration,
                "chart of three accountants": lambda s=sizes, o=order, e=epsilon: noise_info(s, e, o),
            }
            where = f"{classes} classes, {variant}, epsilon = {epsilon:g}, delta = {delta:g}, l = {order}"
            for name, compute in steps.items():
                found.setdefault(name, []).append((seconds(compute), where))
    out("N = T = 60,000, ends of the sliders: median, largest\n")
    for name, times in found.items():
        slowest, where = max(times)
        out(f"  {name:26s} {1000 * statistics.median(t for t, _ in times):7.0f} ms {1000 * slowest:7.0f} ms ({where})\n")


if __name__ == "__main__":
    for setting in SETTINGS:
        block(*setting)
    page()
