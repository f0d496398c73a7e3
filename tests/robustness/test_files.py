"""Files as nobody wants them: each is read as what it says, or refused with words that help."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.robustness.awkward import Case, check
from tests.robustness.awkward_cells import CELLS
from tests.robustness.awkward_frames import FRAMES
from tests.robustness.awkward_parquet import PARQUETS
from tests.robustness.awkward_texts import TEXTS

CASES = [*TEXTS, *CELLS, *PARQUETS, *FRAMES]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_truth_or_a_refusal(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_there_are_many_kinds() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 150
