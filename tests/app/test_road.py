"""The road from data to rows: what each mechanism offers before a run, what a column costs, where it is known from."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.app import editor, road, share, state
from dpsyn.app.columns import only_days
from dpsyn.app.road import Offer, best_of, conclude, expected, noise_in_words, not_run, offers, offers_tables, possible
from dpsyn.data.editing import READ_OFF, SOURCES, cell_shares, edited_table, editor_lines
from dpsyn.data.read import read_table
from dpsyn.domain import Attribute, Domain
from dpsyn.evaluation.report import Report
from dpsyn.kit import visit
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.private_sampling import _reduced_space
from dpsyn.mechanisms.private_sampling.expectations import table_noise
from dpsyn.mechanisms.registry import MECHANISMS, THE_THREE
from tests.evaluation.test_conclusions import report

ASIA = visit.bundled("asia")


def offered(current: Dataset, epsilon: float, delta: float = 1e-5) -> dict[str, Offer]:
    return {offer.name: offer for offer in offers(current, dpsyn.PrivacySpec(epsilon, delta))}


def table(columns: int, rows: int = 40) -> Dataset:
    """The user's own table, read off its rows."""
    names = ",".join(f"c{j}" for j in range(columns))
    cells = [",".join("ab"[(i >> j % 5) % 2] for j in range(columns)) for i in range(rows)]
    full = read_table("\n".join([names, *cells]).encode(), name="wide.csv")
    return Dataset(table=full, full=full, target="c0")


def test_every_mechanism_is_offered_and_what_cannot_run_says_what_it_would_need() -> None:
    found = offered(ASIA, 1.0)
    assert list(found) == list(MECHANISMS)
    # At floor 1/4 and ceiling 2 a row costs ln 8 = 2.0794.
    assert found["private_sampling"].refused == "one row needs ε ≥ 2.08"
    assert found["private_sampling"].noise is None
    # Never less than it needs: ln(2/0.13) = 2.7334.
    learn = ASIA.parts[0]
    assert possible(dpsyn.PrivateSampling(floor=0.13), dpsyn.PrivacySpec(1.0), learn) == "one row needs ε ≥ 2.74"
    assert not any(offer.refused for name, offer in found.items() if name != "private_sampling")
    few = offered(ASIA, 5.0)["private_sampling"]
    assert (few.refused, few.rows) == ("", 2)


def test_what_does_not_fit_in_memory_says_so_and_names_no_epsilon_that_would_not_help(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_reduced_space, "available_memory", lambda: 1_000_000)
    for epsilon in (1.0, 15.8):
        assert offered(ASIA, epsilon)["private_sampling"].refused == "needs more memory than there is"


def test_what_says_nothing_before_a_run_is_offered_without_figures() -> None:
    found = offered(ASIA, 1.0)
    assert found["dp_cda"] == Offer("dp_cda")
    assert (found["mwem"].noise, found["mwem"].refused) == (None, "")
    assert offered(table(30), 1.0)["mwem"].refused == "no run is possible for these columns"  # 2^30 possible rows
    assert "at most 4,194,304, because MWEM keeps a weight for each" in offered(table(30), 1.0)["mwem"].impossible
    assert not any(offer.impossible for offer in found.values())
    refused = offered(ASIA, 0.01)["dp_cda"]  # counts lose more than all rows
    assert refused.refused == "no run is possible at this ε and δ"
    assert expected(refused) == "Generator: no run is possible at this ε and δ."
    assert offered(table(1), 10.0)["dp_cda"].refused == "no run is possible for these columns"
    numbers = Domain.of([Attribute(name, "numeric", lower=0, upper=1, bins=4, public=True) for name in "xy"])
    full = dpsyn.Table(pd.DataFrame({"x": np.linspace(0, 1, 40), "y": np.linspace(0, 1, 40)}), numbers, "numbers")
    assert offered(Dataset(table=full, full=full), 1.0)["dp_cda"].refused == "needs a column of classes"


def test_the_noise_falls_with_the_budget() -> None:
    errors = []
    for epsilon in (0.1, 1.0, 10.0):
        error, bound = offered(ASIA, epsilon)["noisy_reweighting"].noise or (np.nan, "")
        assert bound == "before the fit"
        errors.append(error)
    assert 0 < errors[2] < errors[1] < errors[0]


@pytest.mark.parametrize(("ceiling", "cells"), [(1.0001, 4), (2.0, 2), (4.0, 1), (50.0, 1)])
def test_private_sampling_has_at_least_the_error_of_few_rows_in_as_few_cells_as_can_be(ceiling: float, cells: int) -> None:
    """Against rows drawn so, of the 4 cells of two columns with two categories."""
    config = dpsyn.PrivateSampling(floor=0.0001, ceiling=ceiling, rows=30)
    mechanism = config.calibrate(dpsyn.PrivacySpec(1000.0), table(3).full.domain, n=1000)
    counts = np.random.default_rng(0).multinomial(30, [1 / cells] * cells, 20_000)
    drawn = np.abs(counts / 30 - 1 / cells).sum(axis=1).mean() / 2
    error, bound = table_noise(mechanism)
    assert bound == "or more"
    assert error == pytest.approx(drawn, rel=0.02, abs=1e-9)


@pytest.mark.parametrize(
    ("found", "best"),
    [
        ([Offer("a", noise=(0.02, "before the fit")), Offer("b", noise=(0.01, "or more"))], "a"),
        ([Offer("a", noise=(0.02, "before the fit")), Offer("b", noise=(0.01, "before the fit"))], "b"),
        (
            [
                Offer("a", refused="too few rows", noise=(0.01, "before the fit")),
                Offer("b", noise=(0.5, "before the fit")),
            ],
            "b",
        ),
        ([Offer("a"), Offer("b", noise=(0.9, "before the fit"))], "b"),
        ([Offer("a", refused="no"), Offer("b")], "b"),
        ([Offer("a"), Offer("b", noise=(1.2, "before the fit"))], "b"),  # of which something is known
        ([Offer("a", refused="no"), Offer("b", refused="no")], "a"),
    ],
)
def test_the_best_can_run_and_has_the_least_noise(found: list[Offer], best: str) -> None:
    assert best_of(found) == best


def test_a_column_costs_its_share_of_the_cells_of_all_tables_of_two() -> None:
    sizes = (2, 5, 3, 17)
    attributes = [
        Attribute(f"c{j}", "categorical", tuple(f"v{i}" for i in range(size)), public=True) for j, size in enumerate(sizes)
    ]
    domain = Domain.of(attributes)
    cells = {pair: sizes[pair[0]] * sizes[pair[1]] for pair in combinations(range(4), 2)}
    expected = [sum(count / 2 for pair, count in cells.items() if j in pair) / sum(cells.values()) for j in range(4)]
    assert cell_shares(domain) == pytest.approx(expected)
    assert cell_shares(domain).sum() == pytest.approx(1)
    assert cell_shares(Domain.of(attributes[:2])) == pytest.approx([0.5, 0.5])  # one table, half of it each
    assert cell_shares(Domain.of(attributes[:1])) == pytest.approx([0])
    lines = editor_lines(dpsyn.load_sample("asia"), dpsyn.load_sample("asia").domain.project(["smoke", "lung"]))
    assert lines.set_index("column")["cost"].to_dict() == {
        name: 50.0 if name in ("smoke", "lung") else 0.0 for name in dpsyn.load_sample("asia").domain.names
    }


def applied(current: Dataset, part: str = "", source: str = READ_OFF, **edits: Any) -> Dataset:
    """After the columns with this part in their names were edited, and the button pressed."""
    names = [name for name in current.full.domain.names if part in name]
    lines = editor_lines(current.full, current.table.domain, names, current.sources, current.left_out)
    for name, (field, value) in edits.items():
        lines.at[lines.index[lines["column"] == name][0], field] = value
    editor.apply(current, lines, source, then="generator.py")
    assert editor.applied() == "generator.py"
    return visit.dataset()


def sources(current: Dataset) -> dict[str, str]:
    lines = editor_lines(current.full, current.table.domain, None, current.sources)
    return dict(zip(lines["column"], lines["source"], strict=True))


def test_a_column_that_is_taken_in_again_is_what_it_was() -> None:
    current = applied(table(3), source="code book")
    values = [*current.table.domain["c0"].categories, "one more"]
    current = applied(current, c0=("categories", values))
    known = current.table.domain
    assert known["c0"].categories == tuple(values)
    without = applied(current, c0=("use", False))
    assert without.table.domain == known.project(["c1", "c2"])
    again = applied(applied(without, c1=("use", False)), c0=("use", True))
    assert again.table.domain == known.project(["c0", "c2"])
    assert applied(again, c1=("use", True)).table.domain == known
    assert sources(visit.dataset()) == dict.fromkeys(("c0", "c1", "c2"), "code book")
    other = visit.dataset().changed(table=again.table.project(["c0"]))  # as in a release that has c0 alone
    assert other.left_out == {name: known[name] for name in ("c1", "c2")}


def test_where_a_column_is_known_from_survives_later_edits() -> None:
    current = applied(table(3))
    assert sources(current) == dict.fromkeys(("c0", "c1", "c2"), READ_OFF)
    assert not current.table.domain.is_public
    current = applied(current, c0=("source", "definition"))
    assert [attribute.public for attribute in current.table.domain.attributes] == [True, False, False]
    current = applied(current, source="code book")
    assert sources(current) == {"c0": "definition", "c1": "code book", "c2": "code book"}
    assert current.table.domain.is_public
    before = current.revision
    current = applied(current)
    assert (current.revision, sources(current)["c0"]) == (before, "definition")
    current = applied(current, c1=("use", False))
    assert "c1" not in current.table.domain
    current = applied(current, c1=("use", True))
    assert sources(current)["c0"] == "definition"
    current = applied(current, c0=("source", READ_OFF))
    assert not current.table.domain["c0"].public


@pytest.mark.parametrize("since", ["", "bits", "other data"])
def test_columns_that_were_counted_for_data_that_is_open_no_more_are_not_taken(since: str) -> None:
    current = table(3)
    lines = editor_lines(current.full, current.table.domain)
    lines.loc[0, "use"] = False
    context = {"current": current, "said": {}, "changes": {}, "then": ("", "generator.py")}
    visit.use({"bits": current.counted(two_valued_as_bit=True), "other data": ASIA}.get(since, current))
    found = edited_table(lines, current.full, current.table, {}, visit.quietly)
    said = editor._take_if_open(context, found)
    assert visit.dataset().table.domain.names == (ASIA.table.domain.names if since == "other data" else ("c1", "c2"))
    assert visit.dataset().two_valued_as_bit == (since == "bits")
    assert (said is None) == (since != "other data")


@pytest.mark.parametrize("asked", ["of all", "of one"])
def test_what_nobody_has_seen_yet_cannot_be_confirmed(asked: str) -> None:
    """A column of another kind takes its categories from the rows: they are shown first, and then said to be known."""
    frame = pd.DataFrame({"q": np.arange(200) % 50, "p": ["x", "y"] * 100})
    full = dpsyn.read_table(frame)
    current = Dataset(table=full, full=full)
    lines = editor_lines(current.full, current.table.domain)
    lines["kind"] = lines["kind"].mask(lines["column"] == "q", "categorical")
    lines["categories"] = [[], ["x", "y"]]
    if asked == "of one":
        lines["source"] = "code book"
    editor.apply(current, lines, "code book" if asked == "of all" else READ_OFF, then="generator.py")
    current = visit.dataset()
    assert [a.public for a in current.table.domain.attributes] == [False, True]
    assert editor.applied() == "domain.py"
    assert sources(current) == {"q": READ_OFF, "p": "code book"}
    current = applied(current, source="code book")
    assert current.table.domain.is_public
    assert current.table.domain["q"].size == 50


def test_the_source_of_a_bundled_column_is_public_from_the_start() -> None:
    assert set(sources(ASIA).values()) == {SOURCES[0]}
    assert applied(ASIA).table.domain == ASIA.table.domain


def test_a_share_link_keeps_what_is_read_off_these_rows_and_what_is_public() -> None:
    current = applied(ASIA, smoke=("source", READ_OFF), xray=("use", False), lung=("source", "definition"))
    again, refused = share.restored(share.described(current))
    assert again is not None
    assert refused == []
    assert again.table.domain == current.table.domain
    assert sources(again)["smoke"] == READ_OFF
    assert not again.table.domain.is_public
    assert share.described(applied(table(3), source="code book")) == {"data": "own"}


def said_of(found: list[Offer], best: str, monkeypatch: pytest.MonkeyPatch) -> str:
    said: list[str] = []
    for name in ("markdown", "caption"):
        monkeypatch.setattr(f"streamlit.{name}", said.append)
    offers_tables(found, dpsyn.PrivacySpec(1.0), best)
    return " ".join(said)


@pytest.mark.parametrize(("error", "poor"), [(0.10, False), (0.11, True)])
def test_a_poor_mechanism_is_not_recommended(error: float, poor: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    text = said_of([Offer("noisy_reweighting", noise=(error, ""))], "noisy_reweighting", monkeypatch)
    assert ("recommended" in text, "best that is known" in text, "fewer columns" in text) == (not poor, poor, poor)


def test_rows_that_cost_less_than_the_budget_stand_with_what_they_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    found = offers(table(3), dpsyn.PrivacySpec(1000.0, 1e-5))
    said: list[str] = []
    monkeypatch.setattr("streamlit.markdown", said.append)
    offers_tables(found, dpsyn.PrivacySpec(1000.0, 1e-5), "")
    (line,) = (line for line in "\n".join(said).splitlines() if "| Private sampling |" in line)
    assert "| ε = 62.4, 30 rows |" in line  # 30 rows, each for ln 8
    assert sum("| ε = 1000 |" in line for line in "\n".join(said).splitlines()) > 5
    one = Offer("private_sampling", rows=1, cost=2.0004)
    assert "| ε = 2.01, 1 row |" in said_of([one], "", monkeypatch)  # never less than they cost


def test_what_is_known_after_a_run_only_is_not_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    text = said_of([Offer("private_sampling", refused="no"), Offer("dp_cda")], "dp_cda", monkeypatch)
    assert "known after a run" in text
    assert "badge" not in text


@pytest.mark.parametrize("epsilon", [0.001, 10.0])
def test_one_column_is_judged_by_its_own_noise(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    full = read_table("\n".join(["fruit", *"abcde" * 40]).encode(), name="fruit.csv")
    current = Dataset(table=full, full=full, target="fruit")
    found, n = offered(current, epsilon), current.parts[0].n
    error, _ = found["noisy_reweighting"].noise or (np.nan, "")
    # Five cells, each with discrete Gaussian noise, of which a table is off by half the sum.
    mechanism = dpsyn.NoisyReweighting(degree=1).calibrate(dpsyn.PrivacySpec(epsilon, 1e-5), full.domain, n)
    assert error == pytest.approx(5 * np.sqrt(2 / np.pi) * mechanism.spreads.max() / n / 2, rel=1e-6)
    text = said_of(list(found.values()), best_of(list(found.values())), monkeypatch)
    assert ("recommended" in text, "best that is known" in text) == (epsilon > 1, epsilon < 1)
    assert ("noise may drown most counts" in text) == ("more rows or a larger ε would help" in text) == (epsilon < 1)
    assert "noise on tables of one column" in text
    assert "two-way" not in text


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ((0.5, "or more"), "two-way tables off by 50\N{NO-BREAK SPACE}% or more"),
        ((0.51, "or more"), "pairs are mostly lost"),
        ((0.51, "before the fit"), "noise may drown most pairs"),
    ],
)
def test_noise_of_more_than_a_half_is_said_without_a_figure(error: tuple[float, str], said: str) -> None:
    assert noise_in_words(Offer("mwem", noise=error)) == said


def concluded(reports: dict[str, Report], monkeypatch: pytest.MonkeyPatch, **kept: Any) -> list[str]:
    """Lines of what is said at the end of all runs, below the advice."""
    said: list[str] = []
    for name in ("markdown", "caption"):
        monkeypatch.setattr(f"streamlit.{name}", said.append)
    monkeypatch.setattr("streamlit.session_state", kept)
    monkeypatch.setattr(state, "mark", lambda: "these rows")
    conclude(reports)
    return "\n".join(said[1:]).splitlines()


def test_releases_stand_in_order_beside_the_yardsticks_of_the_closest(monkeypatch: pytest.MonkeyPatch) -> None:
    far, near = report(0.15, 0.05), report(0.02, 0.01)
    fewer = replace(near, release=replace(near.release, rows=500))
    percents = {name: f"{name}\N{NO-BREAK SPACE}%" for name in ("15", "2", "1")}
    ordered = [
        "| rank by tables | | error of tables |",
        "|---|---|---|",
        f"| 1 | **near** | {percents['2']} :green-badge[no fault seen] |",
        f"| 2 | **far** | {percents['15']} :orange-badge[with care] |",
    ]
    for closest in (near, fewer):
        found = concluded({"far": far, "near": closest}, monkeypatch)
        assert found == [*ordered, f"| | *Fresh real rows, 1,000* | {percents['1']} |"]


@pytest.mark.parametrize(("rows", "told"), [("these rows", True), ("others", False)])
def test_what_did_not_run_is_said_beside_the_rows_it_did_not_run_on(
    rows: str, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = concluded({"A": report(0.03), "B": report(0.04)}, monkeypatch, not_run=(rows, 1.0, {"DP-CDA": "no"}))
    assert ("Not run at ε = 1: DP-CDA (no)." in found) == told


@pytest.mark.parametrize(("error", "told"), [(0.03, False), (0.3, True), (0.64, True)])
def test_why_the_only_release_is_poor_or_cannot_be_judged_is_said(
    error: float, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = concluded({"A": report(error, 0.25 if error == 0.3 else 0.01)}, monkeypatch)
    assert any(line.startswith("- Tables of two columns are off by") for line in found) == told


@pytest.mark.parametrize(("seconds", "said"), [(15.0, ""), (16.0, "it takes about 16 s")])
def test_a_wait_is_long_from_a_quarter_of_a_minute_on(seconds: float, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(road, "offered", lambda *_: lambda mechanism: seconds)
    assert road.long_wait(dpsyn.MWEM().calibrate(dpsyn.PrivacySpec(1.0), ASIA.table.domain, 100)) == said


def test_all_of_the_three_run_however_long_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    started: dict[str, Any] = {}
    monkeypatch.setattr(road, "possible", lambda config, *_: SimpleNamespace(config=config))
    monkeypatch.setattr(road, "long_wait", lambda *_, **__: "slow")
    monkeypatch.setattr(road.jobs, "start", lambda *_, **given: started.update(given))
    monkeypatch.setattr(road.visit, "set_job", lambda job: None)
    monkeypatch.setattr(state, "mark", lambda: "these rows")
    monkeypatch.setattr(state, "kept_by_workspace", lambda keep: {})
    monkeypatch.setattr(road.widgets, "budget_in_link", dict)
    road.run_all(ASIA, dpsyn.PrivacySpec(1.0))
    assert {mechanism.config.name for mechanism in started["mechanisms"].values()} == set(THE_THREE)
    assert set(started["context"]["refused"].values()) == {"slow"}


def test_what_is_slow_is_left_out_of_the_field_only() -> None:
    assert not_run(1.0, {"MST": "it takes about 30 s"}) == (
        "Not run at ε = 1: MST (it takes about 30 s). Of the field only what is quick is run."
    )
    assert not_run(0.01, {"DP-CDA": "no"}) == "Not run at ε = 0.01: DP-CDA (no)."


def test_dates_without_times_are_days() -> None:
    moments = {"day": ["2020-01-01", None], "moment": ["2020-01-01", "2020-01-01 10:00"]}
    frame = pd.DataFrame({name: pd.to_datetime(values, format="mixed") for name, values in moments.items()})
    assert only_days(frame.assign(text="2020-01-01")) == ["day"]
