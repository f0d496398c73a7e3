"""MST: the tree that it chooses, and what it measures."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.errors import DpsynError
from dpsyn.solvers.noisy_tables import NoisyTables
from dpsyn.table import Table
from tests.conformance.neighbours import Call, Deaf, Exact

ASIA = dpsyn.load_sample("asia")


def exact_run(table: Table, spec: dpsyn.PrivacySpec, **settings: object) -> tuple[list[Call], dict]:
    mechanism = dpsyn.MST(**settings).calibrate(spec, table.domain, table.n)
    noise = Exact()
    return noise.calls, mechanism._run(noise, table, lambda step, share: None)[1]


def distances(codes: np.ndarray) -> dict[tuple[int, int], int]:
    """Σ |count - count of independent columns| of every pair, by hand."""
    found = {}
    for i, j in combinations(range(codes.shape[1]), 2):
        joint = np.zeros((2, 2))
        np.add.at(joint, (codes[:, i], codes[:, j]), 1)
        alone = np.rint(np.outer(joint.sum(axis=1), joint.sum(axis=0)) / len(codes))
        found[i, j] = int(np.abs(joint - alone).sum())
    return found


def test_without_noise_it_is_the_largest_spanning_tree_and_its_tables_are_counted() -> None:
    calls, diagnostics = exact_run(ASIA, dpsyn.PrivacySpec(1.0, 1e-5))
    kinds = [call.kind for call in calls]
    assert kinds == ["gaussian"] * 8 + ["choice"] * 7 + ["gaussian"] * 7
    far = distances(ASIA.codes)
    # Kruskal by hand: by weight, what joins two parts.
    part, tree = list(range(8)), []
    for i, j in sorted(far, key=lambda edge: -far[edge]):
        if part[i] != part[j]:
            part = [part[i] if one == part[j] else one for one in part]
            tree.append((i, j))
    names = ASIA.domain.names
    assert diagnostics["tree"] == [f"{names[i]} – {names[j]}" for i, j in tree]
    assert sorted(calls[8].values.tolist()) == sorted(far.values())
    for (i, j), call in zip(tree, calls[15:], strict=True):
        counts = np.bincount(2 * ASIA.codes[:, i] + ASIA.codes[:, j], minlength=4)
        assert call.values.tolist() == counts.tolist()
    assert len({call.scale for call in calls[:8]}) == len({call.scale for call in calls[15:]}) == 1


@pytest.mark.parametrize("rows", [1, 40, 20_000])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_a_neighbour_moves_a_score_by_the_cells_that_it_moves_however_large_a_table_is(neighbouring: Any, rows: int) -> None:
    """A row more moves the distance of every table from whole numbers by 1, up or down; a replaced one by 2 or not."""
    sizes, random = (2, 3, 7, 40, 101, 1500), np.random.default_rng(0)
    domain = dpsyn.Domain.of(
        dpsyn.Attribute(f"c{j}", "categorical", tuple(range(size)), public=True) for j, size in enumerate(sizes)
    )
    mechanism = dpsyn.MST(rows=3).calibrate(dpsyn.PrivacySpec(1.0, 1e-5, neighbouring), domain, rows)
    codes = random.integers(0, sizes, (rows + 1, len(sizes)))
    other = codes if neighbouring == "add_remove" else np.delete(codes, rows - 1, axis=0)
    moved = []
    for some in (codes[:-1], other):
        noise, tables = Deaf(many=4 * rows), NoisyTables()
        table = Table(pd.DataFrame(some, columns=list(domain.names)), domain)
        for j, size in enumerate(sizes):
            tables.add((j,), noise.discrete_laplace(np.zeros(size, dtype=np.int64), 1.0), 1.0)
        mechanism._tree(noise, mechanism.stage.encoding(noise, table).rows(table), tables)
        moved.append(np.concatenate([call.values for call in noise.calls if call.kind == "choice"]))
    apart = np.abs(moved[0] - moved[1])
    assert len(apart) >= len(sizes) * (len(sizes) - 1) // 2
    assert set(apart.tolist()) <= ({1} if neighbouring == "add_remove" else {0, 2})


def test_edges_never_close_a_cycle_whatever_is_chosen() -> None:
    for seed in range(5):
        noise = Deaf(seed)
        mechanism = dpsyn.MST(rows=5).calibrate(dpsyn.PrivacySpec(1.0), ASIA.domain, ASIA.n)
        edges = mechanism._run(noise, ASIA, lambda step, share: None)[1]["tree"]
        joined: dict[str, set[str]] = {name: {name} for name in ASIA.domain.names}
        for edge in edges:
            first, second = edge.split(" – ")
            assert joined[first] is not joined[second]
            joined[first] |= joined[second]
            for name in joined[first]:
                joined[name] = joined[first]
        assert len(joined["asia"]) == 8


def test_a_chain_comes_back_where_there_is_enough_data() -> None:
    random = np.random.default_rng(0)
    codes = np.zeros((4000, 5), dtype=int)
    codes[:, 0] = random.integers(0, 3, 4000)
    for j in range(1, 5):
        codes[:, j] = np.where(random.random(4000) < 0.8, codes[:, j - 1], random.integers(0, 3, 4000))
    domain = dpsyn.Domain.of(dpsyn.Attribute(f"c{j}", "categorical", (0, 1, 2), public=True) for j in range(5))
    table = Table(pd.DataFrame(codes, columns=list(domain.names)), domain)
    release = dpsyn.MST().calibrate(dpsyn.PrivacySpec(3.0, 1e-6), domain, 4000)(np.random.default_rng(1), table)
    assert sorted(release.diagnostics["tree"]) == [f"c{j} – c{j + 1}" for j in range(4)]
    made = domain.encode(release.rows)
    for i, j in combinations(range(5), 2):  # pairs off the tree, too: they follow from it
        real, drawn = (np.bincount(3 * c[:, i] + c[:, j], minlength=9) / 4000 for c in (codes, made))
        assert np.abs(real - drawn).sum() / 2 < 0.03


def test_what_cannot_be_is_refused() -> None:
    for columns, allowed in ((300, True), (301, False)):
        wide = dpsyn.Domain.of(dpsyn.Attribute(f"c{j}", "truth", (0, 1), public=True) for j in range(columns))
        if allowed:
            assert dpsyn.MST().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), wide, 100).edges == 299
            continue
        with pytest.raises(DpsynError, match="all pairs"):
            dpsyn.MST().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), wide, 100)
    large = dpsyn.Domain.of(dpsyn.Attribute(name, "numeric", lower=0, upper=1, bins=10**5, public=True) for name in "ab")
    with pytest.raises(DpsynError, match="memory"):
        dpsyn.MST(histogram_share=0.0).calibrate(dpsyn.PrivacySpec(1.0, 1e-5), large, 100)


@pytest.mark.parametrize(("columns", "part"), [(1, 1.0), (2, 1 / 3), (8, 1 / 3)])
def test_each_step_costs_a_third_and_with_one_column_there_is_but_one(columns: int, part: float) -> None:
    domain = ASIA.domain.project(ASIA.domain.names[:columns])
    for delta in (0.0, 1e-5):
        mechanism = dpsyn.MST().calibrate(dpsyn.PrivacySpec(2.0, delta), domain, 100)
        entries = mechanism.calibrated()["ledger"]
        assert [entry["share"] for entry in entries] == pytest.approx([part] * (3 if columns > 1 else 1))
        budget = mechanism.budget
        assert budget.noise_cost(mechanism.one_way_scale, columns) == pytest.approx(part * budget.total)


def test_rows_are_drawn_again_from_the_same_tree() -> None:
    mechanism = dpsyn.MST().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), ASIA.domain, ASIA.n)
    release = mechanism(np.random.default_rng(1), ASIA)
    again = mechanism.redraw(np.random.default_rng(2), release)
    assert again is not None
    assert not again.equals(release.rows)
    model = release.diagnostics["model"]
    for rows in (release.rows, again):
        codes = ASIA.domain.encode(rows)
        for i, j in [pair for pair in model.tree.tables if len(pair) == 2]:
            counts = np.bincount(2 * codes[:, i] + codes[:, j], minlength=4)
            assert np.abs(counts - len(codes) / model.rows * model.table((i, j))).max() < 4
