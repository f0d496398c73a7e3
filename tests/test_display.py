"""What objects show of themselves fits a screen, says what may be published, and holds no row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.data.large import FileStatistics
from dpsyn.display import MOST_LINES, PRIVATE, PUBLIC, RELEASED, WIDTH, aligned
from dpsyn.evaluation.experiments import Grid, run_grid
from dpsyn.mechanisms.records import verify

SPEC = dpsyn.PrivacySpec(1.0)
LONG = "a\x1b[31m<b>" + "x" * 200


@pytest.fixture(scope="module")
def table() -> dpsyn.Table:
    draw = np.random.default_rng(0)
    columns = {f"column {j}": draw.choice(["yes", "no"], 80) for j in range(44)}
    return dpsyn.read_table(pd.DataFrame({LONG: draw.choice(["secret", "other"], 80), **columns}))


@pytest.fixture(scope="module")
def shown(table: dpsyn.Table) -> dict[str, Any]:
    few = table.project(["column 0", "column 1"])
    public = few.with_domain(few.domain.confirmed())
    release = dpsyn.NoisyReweighting(rows=80).calibrate(SPEC, public.domain, n=80)(None, public)
    unconfirmed = dpsyn.NoisyReweighting(rows=80).calibrate(SPEC, few.domain, n=80)(None, few)
    configs = {LONG: dpsyn.NoisyReweighting(rows=20), "ps": dpsyn.PrivateSampling(rows=2)}
    grid = Grid(configs, SPEC, values=(0.5, 1.0, 2.0), repeats=1, draws=1)
    return {
        "table": table,
        "domain": table.domain,
        "public domain": public.domain,
        "guarantee": release.guarantee,
        "feasibility": dpsyn.feasibility(table.statistics(), SPEC),
        "verdict": dpsyn.feasibility(table.statistics(), SPEC).private_sampling,
        "verified": verify(release.record()),
        "mechanism": dpsyn.NoisyReweighting(rows=80).calibrate(SPEC, public.domain, n=80),
        "unconfirmed mechanism": dpsyn.MST().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), table.domain, n=80),
        "release": release,
        "unconfirmed release": unconfirmed,
        "private statistics": dpsyn.private_statistics(public, SPEC),
        "unconfirmed statistics": dpsyn.private_statistics(few, SPEC),
        "local loss": dpsyn.local_loss(dpsyn.PrivateSampling(degree=1, rows=3), public),
        "file statistics": FileStatistics(table.statistics(), table.domain, ("A note.",)),
        "report": dpsyn.evaluate(few, release.rows, holdout=few, degrees=(1, 2)),
        "results": run_grid(grid, few, degrees=(1, 2), backend="here"),
        "no results": run_grid(grid, few, degrees=(1,), backend="here")[:0],
    }


BADGES = {
    "table": PRIVATE,
    "domain": PRIVATE,
    "public domain": PUBLIC,
    "guarantee": PUBLIC,
    "feasibility": PRIVATE,
    "verdict": PRIVATE,
    "verified": PUBLIC,
    "mechanism": PUBLIC,
    "unconfirmed mechanism": PRIVATE,
    "release": RELEASED,
    "unconfirmed release": PRIVATE,
    "private statistics": RELEASED,
    "unconfirmed statistics": PRIVATE,
    "local loss": PRIVATE,
    "file statistics": PRIVATE,
    "report": PRIVATE,
    "results": PRIVATE,
}


@pytest.mark.parametrize("name", BADGES)
def test_short_lines_with_the_badge(shown: dict[str, Any], name: str) -> None:
    lines = repr(shown[name]).splitlines()
    assert 2 <= len(lines) <= MOST_LINES + 8
    assert all(len(line) <= WIDTH and line.isprintable() for line in lines)
    assert lines[-1] == f"[{BADGES[name]}]"


@pytest.mark.parametrize("name", BADGES)
def test_the_same_in_a_notebook(shown: dict[str, Any], name: str) -> None:
    html = shown[name]._repr_html_()
    assert f">{BADGES[name]}</span>" in html
    assert "<b>x" not in html  # of a column's name
    assert "\x1b" not in html
    lines = len(shown[name]._shown()[1])
    assert html.count("<div") == (lines if lines < MOST_LINES + 4 else MOST_LINES + 1)


def test_a_domain_shows_as_public_once_every_column_is_confirmed() -> None:
    some = [dpsyn.Attribute(name, "truth", (0, 1), public=name == "a") for name in "abc"]
    for domain, badge in ((dpsyn.Domain.of(some), PRIVATE), (dpsyn.Domain.of(some).confirmed(), PUBLIC)):
        assert f"[{badge}]" in repr(domain)


def test_sentences_are_wrapped_and_never_cut(shown: dict[str, Any]) -> None:
    said = repr(shown["guarantee"])
    assert "bounds, units, bins) was known without looking at the data, and so was" in " ".join(said.split())
    assert "\n      " in said
    assert "was known without looking at the data, " in shown["guarantee"]._repr_html_()
    assert "pre-wrap" in shown["guarantee"]._repr_html_()


def test_a_cut_saves_more_than_it_costs() -> None:
    columns = [dpsyn.Attribute(f"c{j}", "truth", (False, True), public=True) for j in range(40)]
    assert "… and 11 more" in repr(dpsyn.Domain.of(columns))
    assert "more" not in repr(dpsyn.Domain.of(columns[: MOST_LINES + 2]))


def test_what_they_say(shown: dict[str, Any]) -> None:
    assert "80 rows, 45 columns" in repr(shown["table"])
    assert "… and 16 more" in repr(shown["table"])
    assert "confirmed as public" in repr(shown["public domain"])
    assert "column 0: truth: no, yes" in repr(shown["public domain"])
    assert "1-differentially private under replacing one row" in repr(shown["guarantee"])
    assert "MST, calibrated to 80 rows of 45 columns" in repr(shown["unconfirmed mechanism"])
    assert "not yet true" in repr(shown["unconfirmed mechanism"])
    assert "may be published under it" in repr(shown["release"])
    assert "Nothing of it may be published yet" in repr(shown["unconfirmed release"])
    assert "Private sampling" in repr(shown["feasibility"])
    verdict = shown["verdict"]
    assert verdict.line in " ".join(repr(shown["feasibility"]).split())
    assert repr(verdict).startswith(f"{verdict.mark} Private sampling: ")
    assert repr(verdict).count("✗") == (verdict.mark == "✗") + len(verdict.missed)
    assert repr(shown["verified"]).startswith("HOLDS")
    assert " ".join(repr(shown["verified"]).split()).startswith(str(shown["verified"]))
    report = shown["report"]
    assert f"{report.marginals[2].mean:.4f}" in repr(report)
    assert f"{report.noise_floor.marginals[2].mean:.4f}" in repr(report)
    assert "6 runs: 6 done" in repr(shown["results"])
    results = repr(shown["results"]).splitlines()
    assert any(line.startswith("  ps (over budget: ε = ") and line.count("—") == 2 for line in results)
    numbers = [line for line in results if "—" in line]
    assert len({len(line) for line in numbers}) == 1  # a long name hides no number


@pytest.mark.parametrize("n", [50, 10**5, 10**12])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_the_mark_of_a_verdict_means_the_same_for_every_mechanism(n: int, epsilon: float, neighbouring: Any) -> None:
    stats = dpsyn.DatasetStatistics(p=8, n=n, max_frequency=0.02)
    for verdict in dpsyn.feasibility(stats, dpsyn.PrivacySpec(epsilon, 1e-6, neighbouring)):
        assert verdict.headline is not None
        said = verdict.headline.sentence
        assert (verdict.mark == "✗") == (not said.startswith("Private"))
        assert verdict.mark != "✓" or " but " not in said


def test_a_report_says_what_was_not_measured() -> None:
    table = dpsyn.load_sample("asia").take(np.arange(40))
    said = " ".join(repr(dpsyn.evaluate(table, table.frame, target="bronc", degrees=(1, 20))).split())
    assert "prediction: not measured, " in said
    assert "held" in said
    assert "20" in said.split("not measured")[1]


def test_a_report_without_tables_shows_itself() -> None:
    table = dpsyn.load_sample("asia").project(["asia"]).take(np.arange(20))
    assert "20 synthetic rows" in repr(dpsyn.evaluate(table, table.frame, degrees=(2,)))


def test_dates_numbers_and_empty_cells_are_described() -> None:
    domain = dpsyn.Domain.of(
        [
            dpsyn.Attribute("born", "date", lower=0, upper=365, bins=5, public=True),
            dpsyn.Attribute("wage", "numeric", lower=0, upper=2.5, missing=True),
            dpsyn.Attribute("city", "categorical", tuple("abcdefg"), public=True),
            dpsyn.Attribute("town", "categorical", tuple("abcde"), public=True),
            dpsyn.Attribute("fax", "categorical", missing=True, public=True),
        ]
    )
    assert [line.strip() for line in repr(domain).splitlines()[1:-1]] == [
        "born: date, 5 bins: 1970-01-01 to 1971-01-01",
        "wage: numeric, 10 bins: 0 to 2.5, or empty (not confirmed)",
        "city: categorical, 7 values: a, b, c, d, e, …",
        "town: categorical, 5 values: a, b, c, d, e",
        "fax: categorical: empty in every row",
    ]


def test_a_fault_that_quotes_an_object_stays_one_line(table: dpsyn.Table) -> None:
    with pytest.raises(dpsyn.errors.ParameterError) as fault:
        dpsyn.feasibility(table, SPEC)  # type: ignore[arg-type]
    assert "\n" not in str(fault.value)


def test_public_rows_are_told_apart_by_their_cells_and_not_by_what_they_show(table: dpsyn.Table) -> None:
    few = table.project(["column 0", "column 1"])
    other = few.take(np.arange(few.n)[::-1])
    assert repr(few) == repr(other)
    cells = [
        next(Grid({"a": dpsyn.NoisyReweighting(reduced_space="public", public=public)}, SPEC).cells()).key
        for public in (few, other)
    ]
    assert cells[0] != cells[1]


def test_cells_stand_below_each_other() -> None:
    assert aligned([["a", "1"], ["long", "10"]]) == ["a      1", "long  10"]


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_private_statistics_say_what_is_noisy(shown: dict[str, Any], neighbouring: Any) -> None:
    secret, spec = neighbouring == "add_remove", dpsyn.PrivacySpec(1.0, 0.0, neighbouring)
    found = dpsyn.private_statistics(dpsyn.DatasetStatistics(20, 5_000, 0.5), spec)
    (least, most), (low, high) = found.n_interval, found.max_frequency_interval
    assert found._shown()[1] == [
        f"data: 20 bits; {'n and ' * secret}the largest share of equal rows, with noise",
        f"  n: {found.n:,}, " + (f"{least:,} to {most:,} with 95 % confidence" if secret else "which is public"),
        f"  largest share of equal rows: {found.max_frequency:.4g}, {low:.4g} to {high:.4g} with 95 % confidence",
        *(f"  {line}" for line in found.guarantee._shown()[1][:2]),
    ]


def test_statistics_of_a_file_say_how_many_rows_differ_where_that_is_known(shown: dict[str, Any]) -> None:
    domain = shown["public domain"]
    for known, said in ((3, "data: 80 rows, 3 of them different, 2 columns"), (None, "data: 80 rows, 2 columns")):
        lines = FileStatistics(dpsyn.DatasetStatistics(2, 80, 0.5, known), domain, ("A note.",))._shown()[1]
        assert lines[0].startswith(said)
        assert lines[1:3] == ["  p = 2 bits; largest share of equal rows: 0.5", "  A note."]
        assert lines[3:] == domain._shown()[1][1:]


def test_a_local_loss_says_no_more_than_was_found(shown: dict[str, Any]) -> None:
    found = shown["local loss"]
    worst = replace(found.worst, loss=0.123999, uncertainty=0.0)
    lines = replace(found, worst=worst, rows=3, whole_domain=False, certificates={"stability": 1.0001, "x": None})._shown()[
        1
    ]
    assert lines == [
        "replace_one: no epsilon below 0.123 is true of 3 rows together with the reduced space",
        f"  all {found.neighbours} neighbours tried",
        "  stability: 1.01",
    ]
