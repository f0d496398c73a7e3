from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dpsyn.data import samples
from dpsyn.data.samples import SAMPLES, load_sample
from dpsyn.errors import DataError, ParameterError

FOLDER = Path(__file__).parents[2] / "sample_data"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["asia", "car"])
def test_scripts_reproduce_the_files_byte_for_byte(name: str) -> None:
    assert script(f"make_{name}").text().encode() == (FOLDER / f"{name}.csv").read_bytes()


@pytest.mark.parametrize(
    ("name", "p", "n", "columns"),
    [("asia", 8, 20_000, 8), ("car", 25, 1728, 7), ("digits", 266, 1797, 65), ("breast_cancer", 302, 569, 31)],
)
def test_samples_are_public_and_have_their_sizes(name: str, p: int, n: int, columns: int) -> None:
    table = load_sample(name)
    statistics = table.statistics()
    assert (statistics.p, statistics.n, len(table.domain)) == (p, n, columns)
    assert table.domain.is_public
    assert table.name == name
    assert SAMPLES[name].target in table.domain
    assert not table.domain[SAMPLES[name].target].is_binned


@pytest.mark.parametrize("name", ["digits", "breast_cancer"])
def test_no_measurement_lies_outside_its_public_bounds(name: str) -> None:
    table = load_sample(name)
    for attribute in table.domain.attributes:
        if attribute.is_binned:
            column = table.frame[attribute.name]
            assert attribute.lower is not None
            assert attribute.upper is not None
            assert attribute.lower <= column.min()
            assert column.max() <= attribute.upper


def test_asia_is_the_network() -> None:
    make = script("make_asia")
    joint = make.probabilities()
    assert len(joint) == 256
    assert sum(joint.values()) == pytest.approx(1.0, abs=1e-12)
    # No visit, no disease, non-smoker: 0.99 · 0.99 · 0.5 · 0.99 · 0.7 · 0.95 · 0.9.
    assert max(joint.values()) == pytest.approx(0.29036, abs=5e-6)
    table = load_sample("asia")
    assert all((a.kind, a.categories) == ("truth", ("no", "yes")) for a in table.domain.attributes)
    counts = Counter(map(tuple, table.codes.astype(bool).tolist()))
    assert set(counts) <= {row for row, probability in joint.items() if probability > 0}
    # Pearson's statistic over cells that expect 5 rows or more, against its mean ± 5 standard deviations.
    cells = [(counts[row], 20_000 * probability) for row, probability in joint.items() if 20_000 * probability >= 5]
    statistic = sum((seen - expected) ** 2 / expected for seen, expected in cells)
    assert abs(statistic - len(cells)) < 5 * np.sqrt(2 * len(cells))


def test_car_is_the_whole_grid_with_its_classes() -> None:
    table = load_sample("car")
    assert table.statistics().max_frequency == 1 / 1728
    assert len(table.frame.drop(columns="class").drop_duplicates()) == 1728
    # Class counts that the data set's documentation gives.
    assert table.frame["class"].value_counts().to_dict() == {"unacc": 1210, "acc": 384, "good": 69, "vgood": 65}
    judged = table.frame.set_index(["buying", "maint", "doors", "persons", "lug_boot", "safety"])["class"]
    assert judged["low", "low", "5more", "more", "big", "high"] == "vgood"
    assert (judged.xs("low", level="safety") == "unacc").all()
    assert (judged.xs("2", level="persons") == "unacc").all()


def test_an_unknown_sample_is_refused() -> None:
    with pytest.raises(ParameterError, match="'asia', 'car', 'digits', 'breast_cancer'"):
        load_sample("iris")


def test_a_missing_file_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    samples._loaded.cache_clear()
    monkeypatch.setattr(Path, "is_file", lambda _: False)
    with pytest.raises(DataError, match="install dpsyn again"):
        load_sample("car")


def test_a_sample_is_as_it_came_whatever_was_done_to_the_last_one() -> None:
    first = load_sample("car")
    rows = first.frame
    rows.loc[0, "class"] = "vgood"
    with pytest.raises(ValueError, match="read-only"):
        first.codes[0, 0] = 1
    assert load_sample("car").frame.loc[0, "class"] == "unacc"
