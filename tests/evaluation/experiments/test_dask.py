"""README's example of a cluster: two worker processes run an experiment, with the numbers that one process gives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpsyn.data.samples import load_sample
from dpsyn.evaluation.experiments import results_frame, run_grid
from dpsyn.evaluation.report import real_baseline

pytest.importorskip("distributed")
README = Path(__file__).parents[3] / "README.md"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore:Sending large graph")
def test_two_workers_give_the_numbers_of_one_process() -> None:
    (example,) = re.findall(r"```python\n(from distributed import .*?)```", README.read_text(), flags=re.DOTALL)
    table = load_sample("asia").take(np.arange(600))
    train, test = table.split(0.25, np.random.default_rng(0))
    known: dict[str, Any] = {"train": train, "test": test}
    exec(example, known)
    baseline = real_baseline(train, test, "bronc", degrees=(1, 2))
    here = run_grid(known["grid"], train, baseline=baseline, backend="here")
    assert [r.status for r in known["results"]] == ["done"] * len(here)
    assert len(here) == 4
    assert results_frame(known["results"]).equals(results_frame(here))
    assert "n_workers=2" in example
    assert "processes=True" in example
