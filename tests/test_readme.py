"""Every block of Python in README, copied into a script, runs; the one on a cluster gives the numbers of one process."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import dpsyn
from dpsyn.cli import dpsyn as command
from dpsyn.cli.terminal import NO
from dpsyn.evaluation.experiments import Grid, run_grid, summarise

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
(COMMANDS,) = [
    block.splitlines() for block in re.findall(r"```sh\n(.*?)```", TEXT, flags=re.DOTALL) if "dpsyn schema" in block
]
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


def test_the_commands_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dpsyn.load_sample("asia").take(np.arange(300)).frame.to_csv(tmp_path / "people.csv", index=False)
    (grid,) = re.findall(r"```toml\n(.*?)```", TEXT, flags=re.DOTALL)
    (tmp_path / "grid.toml").write_text(grid, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [line.split()[1] for line in COMMANDS] == ["schema", "feasibility", "generate", "compare", "verify", "experiment"]
    for line in COMMANDS:
        words = [*shlex.split(line, comments=True)[1:], *(["--workers", "1"] if " experiment " in line else [])]
        found = CliRunner().invoke(command, words)
        # Of 300 rows the answer to feasibility may be no.
        assert found.exit_code in ({0, NO} if words[0] == "feasibility" else {0}), found.output
    assert (tmp_path / "synthetic.csv").stat().st_size


def test_the_accounting_of_dp_cda_is_shown() -> None:
    assert any("from dpsyn.privacy import dp_cda_epsilon, dp_cda_noise_scale" in block for block in BLOCKS)
