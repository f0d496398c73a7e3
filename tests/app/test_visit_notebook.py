"""The notebook of a visit runs from top to bottom and gives what the visit gave; names from the data stay words in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import dpsyn
from dpsyn import escape
from dpsyn.app.lab.notebook import visit_notebook
from dpsyn.app.lab.releases import Asked
from dpsyn.evaluation.experiments import Experiment, Grid, MadeRelease, run_grid
from dpsyn.evaluation.report import evaluate
from dpsyn.kit.layers import GUIDE
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.dp_cda import PublishedDPCDA
from tests.notebook import read, run

ODD = "a\"b'''\n# <img src=x onerror=alert(1)>"
SPEC = dpsyn.PrivacySpec(3.0, 1e-3)
SETTINGS = {"degree": 3, "rows": 40}
ASKED = Asked("ill", (1, 2), ("logistic regression",))


@pytest.fixture(scope="module")
def current() -> Dataset:
    draw = np.random.default_rng(0)
    ill = draw.choice(["no", "yes"], 120)
    frame = pd.DataFrame({ODD: draw.choice(["uncommon word", ODD], 120), "age": draw.integers(0, 90, 120), "ill": ill})
    table = dpsyn.read_table(frame, name="people.csv")
    return Dataset(table=table, full=table, target="ill", revision=1)


def made(current: Dataset, config: Config | None, number: int, seed: int | None = 3) -> MadeRelease:
    learn = current.parts[0]
    by = config or dpsyn.NoisyReweighting(rows=30)
    release = by.calibrate(SPEC, learn.domain, n=learn.n)(None if seed is None else np.random.default_rng(seed), learn)
    return MadeRelease(number, ODD, release, seed, current.table.name, current.table.domain, config=config)


def test_it_runs_and_gives_what_the_visit_gave(
    current: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    releases = [
        made(current, dpsyn.NoisyReweighting(rows=30), 1),
        made(current, None, 2),
        made(current, PublishedDPCDA(target="ill", rows=20), 3),
    ]
    grid = Grid({ODD: dpsyn.NoisyReweighting(rows=9)}, SPEC, values=(1.0, 2.0), repeats=1, draws=1)
    learn, held_out = current.parts
    asked = {"target": "ill", "degrees": (1, 2), "models": ("logistic regression",)}
    experiment = Experiment(1, ODD, "people.csv", "", grid, **asked)
    before = run_grid(grid, learn, holdout=held_out, backend="here", **asked)
    experiment.results = {result.key: result for result in before}
    text = visit_notebook(current, releases, ASKED, [experiment], SPEC, SETTINGS).decode()
    current.table.frame.to_csv(tmp_path / "people.csv", index=False)
    shown, names = run(text.replace("workers=2", "backend='here'"), tmp_path, monkeypatch)

    assert names["table"].domain == current.table.domain
    np.testing.assert_array_equal(names["train"].codes, learn.codes)
    for number, release in ((1, releases[0]), (2, releases[2])):
        again = names[f"release_{number}"]
        pd.testing.assert_frame_equal(again.rows, release.release.rows)
        assert again.guarantee == release.release.guarantee
        assert (tmp_path / f"release_{number}.csv").stat().st_size
    assert names["reports"].keys() == {releases[0].label, releases[2].label}
    expected = evaluate(learn, releases[0].release.rows, holdout=held_out, **asked)
    assert names["reports"][releases[0].label].to_dict() == expected.to_dict()
    assert [result.measures for result in names["results"]] == [result.measures for result in before]
    assert {figure.layout.font.color for figure in shown if hasattr(figure, "layout")} == {GUIDE}
    titles = [figure.layout.title.text for figure in shown if hasattr(figure, "layout")]
    assert titles[0] == "Error of the marginal tables"
    assert titles[-1] == "2-way error, mean"
    assert "marginals, worst table" in capsys.readouterr().out


def words_of(text: bytes) -> str:
    return "\n".join("".join(cell["source"]) for cell in read(text)["cells"] if cell["cell_type"] == "markdown")


def test_without_a_row_no_theorem_is_asked(current: Dataset) -> None:
    none = current.table.take(np.arange(0))
    text = visit_notebook(Dataset(table=none, full=none, target="ill", revision=1), [], ASKED, [], SPEC, SETTINGS)
    assert b"dpsyn.feasibility" not in text
    assert b"read_table" in text


def test_words_of_the_data_are_no_mark_up(current: Dataset) -> None:
    words = words_of(visit_notebook(current, [made(current, None, 2)], ASKED, [], SPEC, SETTINGS))
    assert "nothing here makes these again" in words
    assert "<img" not in words.replace("\\<img", "")
    assert not any(line.startswith("# ") and "img" in line for line in words.splitlines())


def test_it_says_what_is_not_public_and_where_the_rest_is_known_from(current: Dataset) -> None:
    assert "no guarantee is true yet" in words_of(visit_notebook(current, [], ASKED, [], SPEC, SETTINGS))
    public = current.table.with_domain(current.table.domain.confirmed())
    known = Dataset(table=public, full=public, target="ill", sources={"age": "code book"}, revision=2)
    words = words_of(visit_notebook(known, [], ASKED, [], SPEC, SETTINGS))
    assert "- age: code book" in words
    assert "no guarantee is true yet" not in words


@pytest.mark.parametrize("known", range(4))
def test_one_column_that_nobody_confirmed_is_enough_for_no_guarantee_to_be_true(current: Dataset, known: int) -> None:
    columns = [replace(a, public=at < known) for at, a in enumerate(current.table.domain.attributes)]
    table = current.table.with_domain(dpsyn.Domain.of(columns))
    words = words_of(
        visit_notebook(Dataset(table=table, full=table, target="ill", revision=3), [], ASKED, [], SPEC, SETTINGS)
    )
    assert ("no guarantee is true yet" in words) == (known < len(columns))
    assert ("It is public." in words) == (known == len(columns))


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("seed", [None, 0, 3, [0, 5]])
def test_a_release_is_made_again_as_it_was_and_its_claim_is_said_with_its_status(
    current: Dataset, seed: Any, neighbouring: Any
) -> None:
    spec, learn = dpsyn.PrivacySpec(1.00041, 1e-6, neighbouring), current.parts[0]
    for domain in (learn.domain, learn.domain.confirmed()):
        table = learn.with_domain(domain)
        config = dpsyn.MWEM(rounds=2, rows=9)
        release = config.calibrate(spec, domain, table.n)(None if seed is None else np.random.default_rng(seed), table)
        one = MadeRelease(1, "mine", release, seed, "people.csv", domain, config=config)
        text = visit_notebook(current, [one], ASKED, [], SPEC, SETTINGS)
        claim = str(release.guarantee)
        assert escape.markdown(claim[0].upper() + claim[1:]) in words_of(text)
        assert release.guarantee.status_in_words in claim.lower()
        assert ("A seed makes it a demonstration" in words_of(text)) == (seed is not None)
        (code,) = ("".join(cell["source"]) for cell in read(text)["cells"] if "release_1 = " in "".join(cell["source"]))
        assert f"release_1 = mechanism({'None' if seed is None else f'np.random.default_rng({seed})'}, train)" in code
        names: dict[str, Any] = {"dpsyn": dpsyn}
        exec("\n".join(line for line in code.splitlines() if line.startswith(("config = ", "spec = "))), names)
        assert (names["config"], names["spec"]) == (config, spec)


def test_an_experiment_is_there_once(current: Dataset) -> None:
    grid = Grid({"a": dpsyn.NoisyReweighting(rows=9)}, SPEC, values=(1.0, 2.0), repeats=1, draws=1)
    experiment = Experiment(1, "one", "people.csv", "", grid, None, (1,), ())
    text = visit_notebook(current, [], ASKED, [experiment], SPEC, SETTINGS, "print(7)").decode()
    assert text.count("run_grid(") == 1
    assert "print(7)" not in text


def test_without_a_release_it_ends_with_what_was_on_screen(
    current: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = visit_notebook(current, [], ASKED, [], SPEC, SETTINGS, "print(7)")
    current.table.frame.to_csv(tmp_path / "people.csv", index=False)
    shown, names = run(text, tmp_path, monkeypatch)
    classes = {"classes": 2, "smallest_class": current.parts[0].smallest_class("ill")}
    assert [*shown[-2]] == [*dpsyn.feasibility(current.statistics, SPEC, **SETTINGS, **classes)]
    assert names["spec"] == SPEC
    assert "print(7)" in str(read(text)["cells"][-1])  # what the page showed
    assert b"reports" not in text
    smallest = current.parts[0].smallest_class("ill")
    assert f"smallest_class={smallest}".encode() not in text  # a count of private rows


def test_share_offers_it_on_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    offered: dict[str, Any] = {}

    def keep(label: str, data: Any, file: str, **_options: Any) -> None:
        offered[file] = data

    root = Path(__file__).parents[2]
    monkeypatch.setattr("dpsyn.kit.widgets.download", keep)
    app = AppTest.from_file(str(root / "pages" / "_router.py"), default_timeout=60)
    app.session_state["share"] = True
    app.query_params["data"] = "car"
    app = app.switch_page("data.py").run()
    assert not app.exception
    (text,) = [data() for file, data in offered.items() if file == "dpsyn_car.ipynb"]
    assert "dpsyn.load_sample('car')" in str(read(text))
