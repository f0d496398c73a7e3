"""A release measured against rows that an engine counts: what counts say is what memory says, the rest is of drawn rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.data import counted as counted_module
from dpsyn.data.counted import CountedTable
from dpsyn.evaluation.report import flat_measures


def people(n: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    age = random.integers(0, 90, n)
    return pd.DataFrame(
        {
            "age": pd.Series(age).where(random.random(n) > 0.1).astype("Int64"),
            "höhe": np.round(age / 3 + random.normal(0, 5, n), 2),
            "day": np.datetime64("2020-01-01") + random.integers(0, 700, n).astype("timedelta64[D]"),
            "code": [f"c{i}" for i in random.integers(0, 300, n)],
            "ill": np.where(age + random.integers(0, 40, n) > 70, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people")
    for part in range(2):
        people(1_500, part).to_parquet(path / f"{part}.parquet")
    return path


@pytest.fixture(scope="module")
def both(folder: Path) -> tuple[CountedTable, dpsyn.Table]:
    counted = dpsyn.read_table(folder)
    assert isinstance(counted, CountedTable)
    return counted, counted.loaded()


def test_what_is_counted_is_what_memory_says(both: tuple[CountedTable, dpsyn.Table]) -> None:
    counted, table = both
    rows = people(800, 9).assign(code=lambda frame: frame["code"].where(frame["code"].isin(set(table.frame["code"])), "c1"))
    one, other = (dpsyn.evaluate(of, rows, degrees=(1, 2), target="ill") for of in (counted, table))
    assert one.marginals == other.marginals
    pd.testing.assert_frame_equal(one.pairwise, other.pairwise)
    assert one.values == other.values
    assert one.n == other.n == 3_000
    assert one.ranges.queries == other.ranges.queries


def test_what_needs_rows_is_of_drawn_ones_and_the_report_says_so(
    both: tuple[CountedTable, dpsyn.Table], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted_module, "MOST_DRAWN", 1_000)
    counted = dpsyn.read_table(folder)
    report = dpsyn.evaluate(counted, both[1].frame, degrees=(1, 2), target="ill", models=("logistic regression",))
    assert report.marginals[2].max == 0.0
    assert report.noise_floor is not None
    assert report.noise_floor.rows == 250
    assert report.noise_floor.copies.equal == 0  # beside the 750, which they are no part of
    assert not isinstance(report.prediction, str)
    assert report.prediction.real.test_rows == 250
    assert report.prediction.real.scores[0].training_rows == 750
    assert any("are of 750 of 1,000 rows that it drew, which the mechanism has seen" in note for note in report.notes)
    again = dpsyn.evaluate(counted, both[1].frame.iloc[:500], baseline=report.baseline)
    assert again.n == 3_000
    with pytest.raises(dpsyn.errors.ParameterError, match="baseline"):
        dpsyn.evaluate(both[0].project(["ill"]), both[1].frame, baseline=report.baseline)


def test_a_holdout_is_taken_where_it_is_given(both: tuple[CountedTable, dpsyn.Table]) -> None:
    counted, table = both
    held = table.take(np.arange(40))
    report = dpsyn.evaluate(counted, table.frame, holdout=held, target="ill", degrees=(1,), models=("logistic regression",))
    assert report.noise_floor is not None
    assert report.noise_floor.rows == 40
    # All rows are drawn of a small table, so what looks at rows is that of memory, too.
    other = dpsyn.evaluate(table, table.frame, holdout=held, target="ill", degrees=(1,), models=("logistic regression",))
    assert flat_measures(report) == pytest.approx(flat_measures(other), abs=1e-12)


def test_rows_are_drawn_without_regard_to_where_they_lie(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted_module, "MOST_DRAWN", 600)
    drawn = dpsyn.read_table(folder).drawn
    assert drawn.n == 600
    whole = dpsyn.read_table(folder).loaded()
    assert set(map(tuple, drawn.codes)) <= set(map(tuple, whole.codes))
    # Half of them come from each file; 5 standard deviations.
    first = set(map(tuple, whole.codes[:1_500]))
    from_first = sum(tuple(row) in first for row in drawn.codes)
    assert abs(from_first - 300) < 5 * np.sqrt(600 / 4)
