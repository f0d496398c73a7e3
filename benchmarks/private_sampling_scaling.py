"""How the time of both programs grows with the points m and with the functions C: fitted exponents and a picture.

    python benchmarks/private_sampling_scaling.py [--quick] [--repeats 3] [--output DIRECTORY]

Correlated binary columns, degree 2, draws from the cube, floor 0.05, ceiling 20 (bounds are active). Against m: p = 20
(C = 211), m = 1e4 to 3e6. Against C: m = 3e5, p = 8 to 46 (C = 37 to 1082). Writes scaling.csv, scaling.json (exponents) and
scaling.svg, on logarithmic axes, into the directory. --quick: m up to 1e5, p up to 20, m = 3e4.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np

from dpsyn.solvers.closest import closest_to_uniform
from dpsyn.solvers.matching import MatchingProblem
from dpsyn.solvers.operator import BlockOperator
from dpsyn.solvers.shrinkage import least_shrinkage

FLOOR, CEILING, ROWS = 0.05, 20.0, 20_000


def measure(columns: int, draws: int, repeats: int) -> dict[str, Any]:
    """Median seconds of LP and QP."""
    times: list[tuple[float, float]] = []
    for seed in range(repeats):
        generator = np.random.default_rng(seed)
        level = generator.random((ROWS, 1))
        data = (generator.random((ROWS, columns)) < 0.05 + 0.9 * level).astype(np.int32)
        operator = BlockOperator.uniform((2,) * columns, 2, draws, generator)
        problem = MatchingProblem(operator, operator.functions.basis.means(data), FLOOR, CEILING)
        linear = least_shrinkage(problem.with_box(2 * FLOOR, CEILING - FLOOR))
        closest = closest_to_uniform(problem, min(1.0, linear.shrinkage + 1e-9))
        times.append((linear.seconds, closest.seconds))
    lp, qp = (statistics.median(each) for each in zip(*times, strict=True))
    return {
        "p": columns,
        "C": operator.shape[0],
        "m": draws,
        "lp_seconds": lp,
        "qp_seconds": qp,
        "shrinkage": linear.shrinkage,
        "lp_gap": linear.gap,
        "residual": max(linear.residual, closest.residual),
    }


def exponent(rows: list[dict[str, Any]], over: str, program: str) -> float:
    """Slope of ln seconds against ln m or ln C, by least squares."""
    x = np.log([row[over] for row in rows])
    return float(np.polyfit(x, np.log([row[f"{program}_seconds"] for row in rows]), 1)[0])


def picture(sweeps: dict[str, list[dict[str, Any]]], exponents: dict[str, float], path: Path) -> None:
    """Two panels on logarithmic axes, with the fitted lines."""
    import altair as alt
    import pandas as pd

    panels = []
    for over, rows in sweeps.items():
        flat = [
            {over: row[over], "seconds": row[f"{program}_seconds"], "program": f"{program.upper()} ~ {over}^{power:.2f}"}
            for program in ("lp", "qp")
            for power in (exponents[f"{program} over {over}"],)
            for row in rows
        ]
        base = alt.Chart(pd.DataFrame(flat)).encode(
            x=alt.X(f"{over}:Q", scale=alt.Scale(type="log"), title="points m" if over == "m" else "functions C"),
            y=alt.Y("seconds:Q", scale=alt.Scale(type="log")),
            color=alt.Color("program:N", title=None),
        )
        line = base.transform_regression(over, "seconds", method="pow", groupby=["program"]).mark_line(strokeDash=[4, 3])
        panels.append((base.mark_point(filled=True, size=60) + line).properties(width=320, height=260))
    alt.hconcat(*panels).resolve_scale(color="independent").save(path, scale_factor=2)


def main() -> None:
    """Measure, fit, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("benchmark_results"))
    given = parser.parse_args()
    points = [10_000, 30_000, 100_000] if given.quick else [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000]
    widths, fixed = ([8, 14, 20], 30_000) if given.quick else ([8, 12, 17, 24, 33, 46], 300_000)
    sweeps: dict[str, list[dict[str, Any]]] = {"m": [], "C": []}
    for over, settings in (("m", [(20, m) for m in points]), ("C", [(p, fixed) for p in widths])):
        for columns, draws in settings:
            row = measure(columns, draws, given.repeats)
            sweeps[over].append(row)
            print(
                f"p = {row['p']:2}, C = {row['C']:4}, m = {row['m']:9,}: LP {row['lp_seconds']:8.2f} s, QP "
                f"{row['qp_seconds']:8.2f} s, λ {row['shrinkage']:.6f}, gap {row['lp_gap']:.0e}, residual "
                f"{row['residual']:.0e}",
                flush=True,
            )
    exponents = {
        f"{program} over {over}": exponent(rows, over, program) for over, rows in sweeps.items() for program in ("lp", "qp")
    }
    for name, value in exponents.items():
        print(f"seconds of the {name}: exponent {value:.2f}")
    given.output.mkdir(parents=True, exist_ok=True)
    rows = [{"sweep": over, **row} for over, each in sweeps.items() for row in each]
    with (given.output / "scaling.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (given.output / "scaling.json").write_text(json.dumps(exponents, indent=1))
    picture(sweeps, exponents, given.output / "scaling.svg")


if __name__ == "__main__":
    main()
