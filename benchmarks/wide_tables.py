"""How long every page takes to open on tables of very many columns or categories.

    python benchmarks/wide_tables.py [--columns 3000 10000] [--categories 5000]

Each page is opened without a browser, as its visitor would: once so that everything is loaded, on bundled data, then on the
table; with every mechanism, and where more is drawn. Printed: seconds by the clock and of the processor for the first answer
and the next. It exits with 1 if a page fails, or if a first answer takes a second of the processor or more. The table is
read beforehand; on the page Data a worker does that.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest

from dpsyn.data.read import read_table
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.registry import MECHANISMS

ROUTER = str(Path(__file__).parents[1] / "pages" / "_router.py")
VIEWS: list[tuple[str, dict[str, Any]]] = [
    ("start", {}),
    ("data", {}),
    ("domain", {}),
    ("feasibility", {}),
    ("feasibility", {"f_section": "Export"}),
    *(("generator", {"mechanism": name}) for name in MECHANISMS),
    ("generator", {"mechanism": "private_sampling", "degree": 3}),
    ("generator", {"mechanism": "noisy_reweighting", "degree": 3}),
    ("generator", {"mechanism": "mwem", "degree": 3}),
    *(("inside", {"inside_mechanism": name}) for name in MECHANISMS),
    *(("inside", {"inside_mechanism": "private_sampling", "is_section": name}) for name in ("2 · Why λ", "4 · Privacy")),
    *(
        ("inside", {"inside_mechanism": "noisy_reweighting", "in_nr_view": n})
        for n in ("Fitted statistics", "Support and rows")
    ),
    *(("inside", {"inside_mechanism": "dp_cda", "in_cda_view": name}) for name in ("What mixing does", "Order of mixture")),
    ("inside", {"inside_mechanism": "dp_cda", "in_cda_view": "Against the paper"}),
    ("comparison", {}),
    ("comparison", {"comparison_what": "Experiments"}),
    ("lessons", {}),
]
"""Pages, and what is chosen on them."""


def dataset(frame: pd.DataFrame, revision: int) -> Dataset:
    """The frame as an upload becomes one."""
    start = time.process_time()
    table = read_table(frame.to_csv(index=False).encode(), name="wide", wide="leave_out")
    print(f"reading {table.n:,} rows of {len(table.domain):,} columns: {time.process_time() - start:.1f} s", flush=True)
    found = Dataset(table=table, full=table, notes=table.notes, revision=revision)
    return replace(found, target=found.classes[-1] if found.classes else None)


def opened(page: str, chosen: dict[str, Any], current: Dataset | None) -> tuple[list[tuple[float, float]], list[str]]:
    """Clock and processor seconds of the first and the second answer, and what went wrong."""
    app = AppTest.from_file(ROUTER, default_timeout=600).run()
    if page != "start":
        app.switch_page(f"{page}.py")
    for key, value in chosen.items():
        app.session_state[key] = value
    if current is not None:
        app.session_state["dataset"] = current
        app.query_params.clear()
    taken = []
    for _ in range(2):
        clock, processor = time.perf_counter(), time.process_time()
        app.run()
        taken.append((time.perf_counter() - clock, time.process_time() - processor))
    return taken, [fault.message for fault in app.exception]


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, nargs="*", default=[3_000, 10_000])
    parser.add_argument("--categories", type=int, nargs="*", default=[5_000])
    options = parser.parse_args()
    generator = np.random.default_rng(0)
    tables = {
        f"{count:,} columns": pd.DataFrame({f"c{j}": generator.integers(0, 3, 50) for j in range(count)})
        for count in options.columns
    }
    for count in options.categories:
        many = [f"v{i}" for i in range(count)] * 2
        rest = {"b": generator.integers(0, 2, 2 * count), "x": generator.integers(0, 100, 2 * count)}
        tables[f"{count:,} categories"] = pd.DataFrame({"many": many, **rest})
    failed = 0
    for revision, (name, frame) in enumerate(tables.items(), start=1_000):
        current = dataset(frame, revision)
        for page, chosen in VIEWS:
            opened(page, chosen, None)
            (first, again), faults = opened(page, chosen, replace(current))
            slow = first[1] >= 1
            failed += slow or bool(faults)
            print(
                f"{name:18} {page:12} {' '.join(map(str, chosen.values())):38} first {first[0]:6.2f} s "
                f"({first[1]:5.2f} s of the processor)   again {again[0]:6.2f} s ({again[1]:5.2f} s){'   SLOW' * slow}",
                *(fault[:100] for fault in faults),
                flush=True,
            )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
