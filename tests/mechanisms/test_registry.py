from __future__ import annotations

import subprocess
import sys

import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.registry import MECHANISMS, config_class, title


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_names_and_titles(name: str) -> None:
    found = config_class(name)
    assert issubclass(found, Config)
    assert found.name == name
    assert title(name) == found.title
    assert found.paper.name


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(ParameterError, match="private_sampling"):
        config_class("magic")


def test_the_registry_imports_no_mechanism_and_private_sampling_no_solver() -> None:
    code = (
        "import sys; import dpsyn.mechanisms.registry; "
        "assert not [m for m in sys.modules if m.startswith('dpsyn.mechanisms.') and m.split('.')[-1] not in "
        "('registry', 'base')]; import dpsyn.mechanisms.private_sampling; "
        "assert not {'cvxpy', 'highspy', 'clarabel', 'opendp', 'streamlit', 'scipy.optimize'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
