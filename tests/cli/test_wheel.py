"""The wheel, installed where no checkout is: the command, a run, a notebook in a kernel, and the app."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from dpsyn.kit.notebook import Code, Words, notebook

ROOT = Path(__file__).parents[2]
PARTS = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "app.py")
FOLDERS = ("dpsyn", "pages", "sample_data", "docs", ".streamlit")
WAIT = 60.0


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``dpsyn`` in a new environment that sees the packages of this one, but for dpsyn itself. Nothing is downloaded."""
    place = tmp_path_factory.mktemp("wheel")
    source = place / "source"
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for part in PARTS:
        shutil.copy(ROOT / part, source / part)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = ["wheel", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", str(place), str(source)]
    environment = alone()
    subprocess.run([*pip, *build], check=True, env=environment)
    shutil.rmtree(source)
    (wheel,) = place.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place / "venv")], check=True, env=environment)
    (packages,) = (place / "venv").glob("lib/python*/site-packages")
    python = place / "venv" / "bin" / "python"
    install = ["--python", str(python), "install", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([*pip, *install], check=True, env=environment)
    # The folder of this environment comes behind its own; .pth files in it, that of dpsyn too, stay unread.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return place / "venv" / "bin" / "dpsyn"


def alone() -> dict[str, str]:
    """The environment without what points to the checkout."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "DPSYN_FILE", "DPSYN_LOCAL")}


def said(*words: str, cwd: Path) -> str:
    found = subprocess.run(words, cwd=cwd, env=alone(), capture_output=True, text=True, timeout=WAIT, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_it_runs_from_another_folder(command: Path, tmp_path: Path) -> None:
    assert "Exit codes" in said(str(command), "--help", cwd=tmp_path)
    where = said(str(command.with_name("python")), "-c", "import dpsyn.places as p; print(p.HOME)", cwd=tmp_path).strip()
    assert Path(where).is_relative_to(command.parents[1])
    assert not (Path(where) / "tests").exists()
    lines = ["sick,smokes", *(f"{'yes' if i % 3 else 'no'},{'yes' if i % 2 else 'no'}" for i in range(100))]
    (tmp_path / "people.csv").write_text("\n".join(lines), encoding="utf-8")
    said(str(command), "generate", "people.csv", "-o", "rows.csv", "-q", cwd=tmp_path)
    assert (tmp_path / "rows.csv").read_text(encoding="utf-8").startswith("sick,smokes\n")
    assert (tmp_path / "rows.record.json").stat().st_size


KERNEL = """\
import sys, nbformat, nbclient
book = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(book, timeout=60, kernel_name="python3").execute()
print(nbformat.writes(book))
"""
CELLS = [
    Code("import dpsyn, dpsyn.places as p\nprint(p.HOME)"),
    Code("table = dpsyn.load_sample('asia').project(['asia', 'tub'])\ntable"),
    Words("# A chart"),
    Code("dpsyn.evaluate(table, table.frame[:50], degrees=(1,)).figure('marginals')"),
]


@pytest.mark.skipif(find_spec("nbclient") is None or find_spec("ipykernel") is None, reason="needs a kernel and its client")
def test_a_notebook_runs_in_a_kernel_of_that_environment(command: Path, tmp_path: Path) -> None:
    (tmp_path / "book.ipynb").write_bytes(notebook(CELLS))
    places = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    alone_there = alone() | {name: str(tmp_path / name) for name in places}
    words = [str(command.with_name("python")), "-c", KERNEL, "book.ipynb"]
    found = subprocess.run(words, cwd=tmp_path, env=alone_there, capture_output=True, text=True, timeout=WAIT, check=False)
    assert found.returncode == 0, found.stderr
    home, table, chart = ([*cell["outputs"]] for cell in json.loads(found.stdout)["cells"] if cell["cell_type"] == "code")
    assert Path("".join(home[0]["text"]).strip()).is_relative_to(command.parents[1])
    assert "confirmed as public" in "".join(table[0]["data"]["text/html"])
    assert "application/vnd.plotly.v1+json" in chart[0]["data"]


@pytest.fixture
def address(command: Path, tmp_path: Path) -> Iterator[str]:
    """Of the app, opened by the command on a free port."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    words = [str(command), "app", "--port", str(port), "--no-browser"]
    server = subprocess.Popen(words, cwd=tmp_path, env=alone(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield f"http://localhost:{port}"
    finally:
        server.terminate()
        server.communicate(timeout=WAIT)


def test_the_app_answers(address: str) -> None:
    end = time.monotonic() + WAIT
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                policy = answer.headers["Content-Security-Policy"]  # of app.py itself, not of Streamlit alone
                assert answer.status == 200
            break
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.2)
    assert "frame-ancestors 'none'" in policy
