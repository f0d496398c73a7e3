"""Every block of Python in README, copied into a script, runs; the one on a cluster gives the numbers of one process."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import dpsyn
from dpsyn.evaluation.experiments import Grid, run_grid, summarise

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
CLUSTER = [block for block in BLOCKS if "LocalCluster" in block]


def printed(block: str, folder: Path) -> str:
    script = folder / "block.py"
    script.write_text(block, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script.name], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("block", [block for block in BLOCKS if block not in CLUSTER], ids=lambda text: text[:40])
def test_a_block_is_a_script(block: str, tmp_path: Path) -> None:
    assert printed(block, tmp_path)
    if "to_csv" in block:
        rows = dpsyn.read_table(tmp_path / "synthetic.csv")
        assert rows.domain.names == dpsyn.load_sample("asia").domain.names


@pytest.mark.skipif(find_spec("distributed") is None, reason="needs the extra 'cluster'")
def test_the_block_on_a_cluster_is_a_script_with_the_numbers_of_one_process(tmp_path: Path) -> None:
    (block,) = CLUSTER
    assert "n_workers=2" in block
    assert "processes=True" in block
    train, test = dpsyn.load_sample("asia").take(np.arange(600)).split(0.25, np.random.default_rng(0))
    grid = Grid(
        {"tables": dpsyn.NoisyReweighting(rows=500)},
        dpsyn.PrivacySpec(1.0, 1e-5),
        vary="epsilon",
        values=(0.5, 2.0),
        repeats=2,
    )
    results = run_grid(grid, train, holdout=test, target="bronc", degrees=(1, 2), backend="here")
    points = summarise(results, "2-way error, mean")
    expected = [f"{p.label} {p.value} {p.mean} {p.low} {p.high}" for p in points]
    assert printed(block, tmp_path).splitlines() == expected
    assert len(expected) == 2


def test_the_accounting_of_dp_cda_is_shown() -> None:
    assert any("from dpsyn.privacy import dp_cda_epsilon, dp_cda_noise_scale" in block for block in BLOCKS)
