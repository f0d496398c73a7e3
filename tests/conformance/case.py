"""What the tests of every mechanism need to know of one; ``tests/mechanisms/<name>/case.py`` says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dpsyn
from dpsyn.mechanisms.base import Config


@dataclass(frozen=True)
class Case:
    """A mechanism, a specification that it can meet, one at which noise is negligible, and wrong parameters.

    ``keeps_dependence`` says what its rows promise at negligible noise: tables of two columns, or of one alone; ``error``
    by how much one of these may be off.
    """

    config: Config
    spec: dpsyn.PrivacySpec
    faithful: Config
    faithful_spec: dpsyn.PrivacySpec
    wrong: dict[str, Any]
    keeps_dependence: bool = True
    error: float = 0.04
