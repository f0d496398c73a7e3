"""Where noisy scores choose the tables: what neighbours cost, what scores are, and when tables are chosen at all."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.mechanisms import noisy_reweighting
from dpsyn.mechanisms.base import Release
from dpsyn.mechanisms.noisy_reweighting import _choice, expectations
from dpsyn.mechanisms.noisy_reweighting._choice import ChoosingMechanism, parts_of_choice
from dpsyn.mechanisms.noisy_reweighting._ledger import calibrated_ledger
from dpsyn.mechanisms.records import verify
from dpsyn.privacy.zcdp import zcdp_rho
from dpsyn.solvers.coded import CodedRows
from dpsyn.table import Table
from tests.conformance.neighbours import Deaf, Exact, Repeating, Truthful, alike, neighbours, spent

VALUES: dict[str, list[Any]] = {"a": ["x", "y", "z"], "b": [0, 1], "c": [0, 1], "x": [0, 4, 9]}
ATTRIBUTES = (
    dpsyn.Attribute("a", "categorical", ("x", "y", "z"), public=True),
    dpsyn.Attribute("b", "truth", (0, 1), public=True),
    dpsyn.Attribute("c", "truth", (0, 1), public=True),
    dpsyn.Attribute("x", "numeric", lower=0, upper=9, bins=2, integer=True, public=True),
)
ROWS = [("x", 0, 0, 0), ("x", 0, 0, 0), ("y", 1, 1, 4), ("z", 1, 1, 9), ("z", 0, 0, 4)]


@pytest.fixture
def chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even of a few pairs."""
    monkeypatch.setattr(noisy_reweighting, "MOST_PAIRS", 0)


def table_of(frame: pd.DataFrame, columns: int = 4) -> Table:
    return Table(frame, dpsyn.Domain.of(ATTRIBUTES[:columns]))


def mechanism_of(table: Table, spec: dpsyn.PrivacySpec, **settings: Any) -> ChoosingMechanism:
    found = dpsyn.NoisyReweighting(**settings).calibrate(spec, table.domain, table.n)
    assert isinstance(found, ChoosingMechanism)
    return found


@pytest.mark.usefixtures("chooses")
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("columns", [3, 4])
def test_no_neighbour_costs_more_than_was_asked_for(
    neighbouring: Any, delta: float, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two tables, whatever the scores: what is done with noisy scores costs nothing.
    monkeypatch.setattr(_choice, "dense_pairs", lambda pairs, *_: pairs[:2])
    names = list(VALUES)[:columns]
    values = {name: VALUES[name] for name in names}
    table = table_of(pd.DataFrame([row[:columns] for row in ROWS], columns=names), columns)
    spec, worst = dpsyn.PrivacySpec(1.7, delta, neighbouring), 0.0
    for seed, many in ((0, 12), (1, 12), (0, 2)):  # also far fewer rows than there are
        noise = Deaf(seed, 0, many)
        mine = mechanism_of(table, spec).measured(noise, table)
        for other in neighbours(table.frame, values, neighbouring):
            theirs, heard = table_of(other, columns), Deaf(seed, 0, many)
            same = mechanism_of(theirs, spec).measured(heard, theirs)
            assert same.statistics.groups == mine.statistics.groups
            np.testing.assert_array_equal(same.sums, mine.sums)
            cost = spent(noise.calls, heard.calls)
            if delta:
                assert cost.epsilon == 0
                assert cost.rho <= zcdp_rho(spec.epsilon, delta) * (1 + 1e-12)
            else:
                assert cost.rho == 0
                assert cost.epsilon <= spec.epsilon * (1 + 1e-12)
            worst = max(worst, cost.rho / zcdp_rho(spec.epsilon, delta) if delta else cost.epsilon / spec.epsilon)
    assert worst > 0.65


@pytest.mark.usefixtures("chooses")
@pytest.mark.parametrize(("neighbouring", "one"), [("replace_one", 2), ("add_remove", 1)])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("many", [1, 9, 51, 210])
def test_all_tables_that_are_chosen_are_paid_for_however_many_and_small(
    many: int, delta: float, neighbouring: Any, one: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables of four cells beside those of 900; of 210 the first 200 are measured, as is said."""
    monkeypatch.setattr(_choice, "dense_pairs", lambda pairs, *_: pairs[:many])
    attributes = [
        dpsyn.Attribute(f"c{j}", "categorical", tuple(range(size)), public=True)
        for j, size in enumerate([2] * 10 + [30] * 11)
    ]
    table = Table(pd.DataFrame([[0] * 21] * 4, columns=[each.name for each in attributes]), dpsyn.Domain.of(attributes))
    mechanism, noise = mechanism_of(table, dpsyn.PrivacySpec(1.0, delta, neighbouring)), Deaf(0)
    mechanism.measured(noise, table)
    _, _, *chosen = noise.calls
    assert len(chosen) == min(many, 200)
    cost = sum(one / (2 * call.scale**2) if delta else one / call.scale for call in chosen)
    assert cost == pytest.approx(mechanism.ledger.entries[2]["rho" if delta else "epsilon"], rel=1e-9)


@pytest.mark.parametrize(("neighbouring", "one"), [("replace_one", 2), ("add_remove", 1)])
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_columns_and_scores_have_a_tenth_each_and_the_chosen_tables_the_rest(neighbouring: Any, one: int, kind: Any) -> None:
    """For 5 columns: their tables move by 5 or 10 together, 10 scores by 10, and a table that is chosen by 1 or 2."""
    family, found = parts_of_choice((3, 2, 4, 2, 2), neighbouring, kind)
    assert family.tables == ((0,), (1,), (2,), (3,), (4,))
    assert found.part_of.tolist() == [0] * 13
    assert [part.size[0] for part in found.parts] == [5 * one, 10, one]
    assert [part.size[1] ** 2 for part in found.parts] == pytest.approx([5 * one, 10, one])
    ledger = calibrated_ledger(found, kind, dpsyn.PrivacySpec(0.7, 1e-5 if kind == "gaussian" else 0.0))
    unit, asked = ("rho", zcdp_rho(0.7, 1e-5)) if kind == "gaussian" else ("epsilon", 0.7)
    assert ledger.argument == ("zcdp" if kind == "gaussian" else "pure")
    assert [entry[unit] for entry in ledger.entries] == pytest.approx([0.1 * asked, 0.1 * asked, 0.8 * asked], rel=1e-12)


@pytest.mark.usefixtures("chooses")
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_a_neighbour_moves_every_score_by_one_at_most(neighbouring: Any) -> None:
    frame = pd.DataFrame([row[:3] for row in ROWS], columns=list(VALUES)[:3])
    mechanism = mechanism_of(table_of(frame, 3), dpsyn.PrivacySpec(1.0, 1e-5, neighbouring))
    generator, furthest = np.random.default_rng(0), 0
    for _ in range(20):
        laws, rows = [generator.dirichlet(np.ones(size)) for size in (3, 2, 2)], generator.uniform(1, 9)

        def scores(one: pd.DataFrame, laws: Any = laws, rows: float = rows) -> Any:
            return mechanism._scores(CodedRows(table_of(one, 3).codes, (3, 2, 2)), laws, rows)

        mine = scores(frame)
        assert mine.dtype == np.int64
        for other in neighbours(frame, {name: VALUES[name] for name in frame}, neighbouring):
            furthest = max(furthest, int(np.abs(scores(other) - mine).max()))
    assert furthest == 1


@pytest.mark.usefixtures("chooses")
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("answers", ["few", "many", "those of rows that depend"])
def test_which_tables_are_measured_follows_from_the_answers_alone(neighbouring: Any, answers: str) -> None:
    """Also where a table has a single cell that is not empty, or none that stands out."""
    every = pd.DataFrame(list(product(*VALUES.values())), columns=list(VALUES))
    depend = [every.iloc[[0] * 18 + [35] * 18], every.iloc[[4] * 36]]
    frames = [every, *depend, every.iloc[np.random.default_rng(0).integers(0, 36, 36)]]
    if neighbouring == "add_remove":
        frames += [every.iloc[[7]], pd.concat([every] * 50)]
    tables, spec, found = (
        [table_of(frame.reset_index(drop=True)) for frame in frames],
        dpsyn.PrivacySpec(9.0, 1e-5, neighbouring),
        [],
    )
    truthful = Truthful()
    mechanism_of(tables[1], spec).measured(truthful, tables[1])
    for table in tables:
        noise = Repeating(truthful.calls) if answers.startswith("those") else Deaf(0, {"few": 0, "many": 300}[answers])
        found.append((mechanism_of(table, spec).measured(noise, table), noise.calls))
    assert answers == "few" or len(found[0][1]) > 2
    for measured, calls in found[1:]:
        assert alike(found[0][1], calls)
        assert measured.statistics.groups == found[0][0].statistics.groups
        np.testing.assert_array_equal(measured.sums, found[0][0].sums)
        assert measured.rows == found[0][0].rows


def data(columns: int, rows: int = 3_000) -> Table:
    """Columns of three codes; the second is nearly the first one, all others are independent."""
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 3, (rows, columns)).astype(np.int32)
    codes[:, 1] = np.where(generator.random(rows) < 0.9, codes[:, 0], codes[:, 1])
    domain = dpsyn.Domain.of(dpsyn.Attribute(f"c{j}", "categorical", (0, 1, 2), public=True) for j in range(columns))
    return Table(domain.decode(codes, generator), domain)


def test_scores_are_what_cells_hold_beyond_independent_columns_and_choose_the_pair_that_depends() -> None:
    table = data(26)
    mechanism, noise = mechanism_of(table, dpsyn.PrivacySpec(20.0, 1e-5)), Exact()
    measured = mechanism.measured(noise, table)
    ones, scores, *chosen = noise.calls
    assert ones.values.tolist() == np.concatenate([np.bincount(table.codes[:, j], minlength=3) for j in range(26)]).tolist()
    for (i, j), score in zip(combinations(range(26), 2), scores.values, strict=True):
        laws = [np.bincount(table.codes[:, column], minlength=3) / table.n for column in (i, j)]
        counts = np.array(
            [((table.codes[:, i] == a) & (table.codes[:, j] == b)).sum() for a, b in product(range(3), repeat=2)]
        )
        assert score == np.maximum(counts - np.rint(table.n * np.outer(*laws)).ravel(), 0).sum()
    pairs = [columns for columns in measured.statistics.tables if len(columns) == 2]
    assert pairs[0] == (0, 1)
    for call, (i, j) in zip(chosen, pairs, strict=True):
        assert call.values.sum() == table.n
        assert call.values.tolist() == np.bincount(3 * table.codes[:, i] + table.codes[:, j], minlength=9).tolist()
    # Their scales cost what was left for them together.
    rest = mechanism.ledger.entries[2]["rho"]
    assert sum(2 / (2 * call.scale**2) for call in chosen) == pytest.approx(rest, rel=1e-9)
    assert [entry["share"] for entry in mechanism.ledger.entries] == pytest.approx([0.1, 0.1, 0.8])


def test_tables_are_chosen_from_301_pairs_on_and_where_nothing_else_was_asked_for() -> None:
    spec = dpsyn.PrivacySpec(1.0, 1e-5)

    def chosen(columns: int, spec: dpsyn.PrivacySpec = spec, **settings: Any) -> bool:
        table = data(columns, 10)
        return isinstance(dpsyn.NoisyReweighting(**settings).calibrate(spec, table.domain, 10), ChoosingMechanism)

    assert chosen(26)
    assert chosen(26, dpsyn.PrivacySpec(1.0))
    assert chosen(26, reduced_space="tree")
    assert not chosen(25)
    assert not chosen(26, tables=(("c0", "c1"),))
    for settings in ({"degree": 1}, {"allocation": "equal"}, {"marginal_share": 0.1}, {"statistics": "conjunctions"}):
        assert not chosen(26, **settings)


def test_a_release_is_a_table_like_the_rows_and_its_record_holds() -> None:
    table, spec = data(26), dpsyn.PrivacySpec(5.0, 1e-5)
    mechanism = mechanism_of(table, spec, reduced_space_size=2_000, refinements=2)
    release = mechanism(np.random.default_rng(1), table)
    assert isinstance(release, Release)
    rows = release.rows
    assert len(rows) == table.n
    assert (rows["c0"] == rows["c1"]).mean() == pytest.approx(0.933, abs=0.05)
    assert (rows["c0"] == rows["c2"]).mean() == pytest.approx(1 / 3, abs=0.05)
    again = mechanism(np.random.default_rng(1), table).rows
    pd.testing.assert_frame_equal(rows, again)
    assert "chosen by noisy scores" in release.guarantee.source
    assert len(release.diagnostics["noisy_statistics"]) == len(release.diagnostics["fitted_statistics"])
    assert verify(mechanism(None, table).record()).holds
    noise, _ = expectations.table_noise(mechanism) or (np.nan, "")
    assert 0 < noise < 1
    assert "noisy scores choose up to 200 tables" in expectations.of_run(mechanism)[0][1]


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_columns_that_never_change_are_no_obstacle(neighbouring: Any) -> None:
    domain = dpsyn.Domain.of(dpsyn.Attribute(f"c{j}", "categorical", ("only",), public=True) for j in range(26))
    table = Table(domain.decode(np.zeros((40, 26), dtype=np.int32), np.random.default_rng(0)), domain)
    mechanism = mechanism_of(table, dpsyn.PrivacySpec(10.0, 1e-5, neighbouring), rows=9)
    assert all(0 < entry["scale"] < np.inf for entry in mechanism.ledger.entries)
    assert set(mechanism(np.random.default_rng(1), table).rows["c7"]) == {"only"}
