"""The package as a whole: importing it is cheap, its public face is there, the pages stay thin."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dpsyn

ROOT = Path(__file__).parents[1]
HEAVY = ("streamlit", "pandas", "numpy", "scipy", "sklearn", "cvxpy", "opendp", "dp_accounting", "plotly", "altair")
PAGES = sorted((ROOT / "pages").glob("*.py"))


def test_importing_dpsyn_loads_nothing_heavy():
    code = f"import sys, dpsyn; print([name for name in {HEAVY!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.strip() == "[]"


def test_the_library_never_imports_streamlit():
    names = ", ".join(f"dpsyn.{name}" for name in dpsyn.__all__)
    code = f"import sys, dpsyn; ({names}); import dpsyn.evaluation.charts; print('streamlit' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.strip() == "False"


def test_drawing_noise_imports_neither_scikit_learn_nor_an_optimiser():
    code = (
        "import sys, numpy; from dpsyn.privacy import discrete_gaussian; from dpsyn.privacy.noise import NoiseSource; "
        "discrete_gaussian.continuous_delta(0.5, 1.0); NoiseSource(None).discrete_laplace(numpy.zeros(1, dtype=int), 1.0); "
        "print([name for name in ('sklearn', 'scipy.optimize', 'scipy.integrate') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("name", dpsyn.__all__)
def test_every_public_name_is_there_and_says_what_it_is(name):
    assert getattr(dpsyn, name).__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'unknown'"):
        _ = dpsyn.unknown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_hold_widgets_and_words_only(page):
    tree = ast.parse(page.read_text(encoding="utf-8"))
    imported = {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    imported |= {alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported <= {"streamlit", "dpsyn"}
