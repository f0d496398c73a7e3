"""How much of the house one answer goes through: files and functions of ours behind a move of ε and behind a run.

    python benchmarks/files_behind_a_move.py [--list]

The page is drawn once before, so that imports and what is remembered do not count; then every call is traced.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[1]
OURS = (str(ROOT / "dpsyn") + os.sep, str(ROOT / "pages") + os.sep, str(ROOT / "app.py"))


def traced(do: Callable[[], object]) -> set[tuple[str, str]]:
    """(file, function) of ours that were entered; comprehensions and lambdas belong to the function around them."""
    seen: set[tuple[str, str]] = set()

    def enter(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            name = frame.f_code.co_qualname.split(".<locals>")[0]
            if not name.startswith("<"):
                seen.add((os.path.relpath(frame.f_code.co_filename, ROOT), name))

    threading.setprofile(enter)
    sys.setprofile(enter)
    try:
        do()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return seen


def move_of_epsilon() -> set[tuple[str, str]]:
    """The page Feasibility, section Verdict, bundled data."""
    app = AppTest.from_file(str(ROOT / "pages" / "_router.py"), default_timeout=60).run()
    app = app.switch_page("feasibility.py").run()
    app = app.select_slider(key="epsilon").set_value(0.5).run()
    return traced(lambda: app.select_slider(key="epsilon").set_value(2.0).run())


def run_of_noisy_reweighting() -> set[tuple[str, str]]:
    """What "Run" does: a calibrated mechanism makes a release."""
    import numpy as np

    import dpsyn

    table = dpsyn.load_sample("asia")
    config = dpsyn.NoisyReweighting(degree=2)

    def run() -> None:
        config.calibrate(dpsyn.PrivacySpec(1.0, 1e-5), table.domain, n=table.n)(np.random.default_rng(1), table)

    run()
    return traced(run)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="name the files, with how many functions of each")
    options = parser.parse_args()
    for name, trace in (
        ("a move of ε on Feasibility", move_of_epsilon),
        ("Run, noisy reweighting", run_of_noisy_reweighting),
    ):
        seen = trace()
        files = Counter(file for file, _ in seen)
        print(f"{name}: {len(files)} files, {len(seen)} functions")
        if options.list:
            for file, count in sorted(files.items()):
                print(f"  {count:4} {file}")


if __name__ == "__main__":
    main()
