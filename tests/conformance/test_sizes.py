"""Where rows, columns or cells are many, each is still paid for, and a secret number of rows still decides nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.mechanisms import points
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.dp_cda import _mechanism as dp_cda
from dpsyn.mechanisms.dp_cda._budget import StandardRelease
from dpsyn.mechanisms.dp_merf.embedding import Features
from dpsyn.mechanisms.feature_map import FeatureMap
from dpsyn.mechanisms.registry import config_class
from dpsyn.privacy.mixing.averaging import averages_in_blocks
from tests.conformance.neighbours import Call, Deaf, alike, assert_same, remember_fits
from tests.conformance.test_extremes import Answering, check_prices
from tests.conformance.test_neighbours import SETTINGS, TIGHT, VARIANTS, part_spent

MANY = 300_000
WIDE = dpsyn.Domain.of(
    [
        *(dpsyn.Attribute(name, "categorical", tuple("wxyz"), public=True) for name in "abcd"),
        dpsyn.Attribute("real", "numeric", lower=0.0, upper=1.0, bins=3, public=True),
        dpsyn.Attribute("day", "date", lower=0, upper=3000, bins=2, missing=True, public=True),
    ]
)
"""Tables may have hundreds of cells and trees all their levels, whatever n is."""
KINDS: dict[str, tuple[dict[str, Any], Any]] = {
    "number": ({"kind": "numeric", "lower": 0, "upper": 8}, [0, 8]),
    "whole": ({"kind": "numeric", "lower": 0, "upper": 8, "integer": True}, [0, 8]),
    "cents": ({"kind": "numeric", "lower": 0, "upper": 8, "unit": 0.01}, [0, 8]),
    "date": ({"kind": "date", "lower": 0, "upper": 9}, pd.to_datetime([0, 9], unit="D")),
    "truth": ({"kind": "truth", "categories": (0, 1)}, [0, 1]),
    "category": ({"kind": "categorical", "categories": ("x", "y", "z")}, ["x", "z"]),
}
"""Columns, and two values of theirs that are as far apart as any."""
UNITS = ("whole", "cents")
OUTSIDE: dict[str, Any] = {
    "number": [-1e6, 1e300],
    "whole": [-(10**6), 10**18],
    "cents": [-0.01, 8.01],
    "date": np.array([-700_000, 2_900_000], dtype="datetime64[D]").astype("datetime64[s]"),
}
"""Values beyond these two, near and far."""
LONG = ("independent", "mst", "privbayes", "privsyn", "dual_query")
"""Mechanisms that many columns are no trouble for."""
COUNTING = [*VARIANTS, ("noisy_reweighting", {}), ("dp_merf", {"features": 9, "target": "a"})]


def rows_from_everywhere(n: int) -> dpsyn.Table:
    random = np.random.default_rng(n)
    return dpsyn.Table(WIDE.decode(random.integers(0, WIDE.shape, (n, len(WIDE)), dtype=np.int32), random), WIDE)


@pytest.fixture(scope="module")
def many() -> dpsyn.Table:
    return rows_from_everywhere(MANY)


@pytest.fixture(scope="module")
def all_but_one(many: dpsyn.Table) -> list[dpsyn.Table]:
    """Without the first row, and without the last one."""
    return [many.take(np.arange(MANY)[left]) for left in (slice(1, None), slice(None, -1))]


def calibrated(name: str, settings: dict[str, Any], n: int) -> Any:
    """With little noise, so that answers have a say in where the bins of numbers lie."""
    config = config_class(name)(**SETTINGS.get(name, {}), **settings)
    # Of a table with a threshold only the cells that somebody is in are counted.
    return config.calibrate(dpsyn.PrivacySpec(50.0, 0.0 if name == "contingency" else 1e-5, "add_remove"), WIDE, n)


def asked(noise: Deaf, mechanism: Any, table: dpsyn.Table) -> tuple[list[Call], pd.DataFrame]:
    """What this noise is handed, and the rows; also of another number of rows than a mechanism is calibrated to."""
    rows, _ = mechanism._run(noise, table, no_progress)
    return noise.calls, rows


def run(mechanism: Any, table: dpsyn.Table) -> tuple[list[Call], pd.DataFrame]:
    """The same of noise that answers at random."""
    return asked(Deaf(), mechanism, table)


@pytest.mark.parametrize(("name", "settings"), COUNTING, ids=str)
def test_no_part_of_a_run_knows_a_secret_number_of_rows(
    name: str, settings: dict[str, Any], many: dpsyn.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither from the mechanism, which has lost it here, nor from the table."""
    remember_fits(monkeypatch)
    found = []
    for table in (rows_from_everywhere(1), rows_from_everywhere(7), many):
        mechanism: Any = replace(calibrated(name, settings, table.n), n=None)
        found.append(asked(Deaf(0, 20, 30), mechanism, table))
    for calls, rows in found[1:]:
        assert alike(found[0][0], calls)
        assert rows.equals(found[0][1])


@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=str)
def test_of_many_rows_each_is_counted_and_paid_for(
    name: str, settings: dict[str, Any], many: dpsyn.Table, all_but_one: list[dpsyn.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    remember_fits(monkeypatch)
    mechanism = calibrated(name, settings, MANY)
    calls, _ = run(mechanism, many)
    for table in all_but_one:
        found, _ = run(mechanism, table)
        assert 0 < part_spent(mechanism, calls, found) <= 1
        for a, b in zip(calls, found, strict=True):
            # A row moves counts by 1; the scores of PrivSyn are no counts.
            assert a.kind == "choice" or name == "privsyn" or set(np.unique(a.values - b.values)) <= {0, 1}


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize(("name", "settings"), [("privsyn", {"selection": "privbayes"}), *product(LONG, [{}])], ids=str)
def test_of_many_columns_each_is_paid_for(
    name: str, settings: dict[str, Any], neighbouring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember_fits(monkeypatch)
    domain = dpsyn.Domain.of(dpsyn.Attribute(f"c{j}", "truth", (0, 1), public=True) for j in range(60))
    mechanism: Any = config_class(name)(**SETTINGS.get(name, {}), **settings).calibrate(
        dpsyn.PrivacySpec(1.0, 1e-5, neighbouring), domain, 4
    )
    other = [0, 1, 1, 1] if neighbouring == "replace_one" else [0, 0, 1]
    frames = (pd.DataFrame(dict.fromkeys(domain.names, values)) for values in ([0, 0, 1, 1], other))
    mine, theirs = (run(mechanism, dpsyn.Table(frame, domain))[0] for frame in frames)
    assert TIGHT < part_spent(mechanism, mine, theirs) <= 1


@pytest.mark.parametrize("many", [1, 2, 7, 19, 39, 40, 41, 100, 300])
@pytest.mark.parametrize(
    "kinds",
    [*combinations_with_replacement([kind for kind in KINDS if kind not in UNITS], 2), UNITS, *product(UNITS, ["date"])],
    ids=str,
)
def test_two_points_are_a_diameter_apart_however_many_columns_they_have(kinds: tuple[str, ...], many: int) -> None:
    columns = {
        f"{kind} {j}": (dpsyn.Attribute(f"{kind} {j}", public=True, **KINDS[kind][0]), KINDS[kind][1])
        for kind in kinds
        for j in range(many)
    }
    domain = dpsyn.Domain.of(attribute for attribute, _ in columns.values())
    features = FeatureMap(domain)
    found = features.encode(dpsyn.Table(pd.DataFrame({name: ends for name, (_, ends) in columns.items()}), domain))
    assert features.diameter == pytest.approx(float(np.linalg.norm(found[0] - found[1])), rel=1e-12)


def of_codes(name: str, *codes: int) -> list[dpsyn.Attribute]:
    """A column for each number of codes."""
    return [dpsyn.Attribute(f"{name}{j}", "categorical", tuple(range(size)), public=True) for j, size in enumerate(codes)]


Variant = tuple[str, dict[str, Any]]
ANY: list[Variant] = [
    *(("mwem", {"rounds": 2, "degree": degree}) for degree in (1, 2, 3)),
    *(("mwem", {"rounds": 2, "degree": degree, "measured": "cells"}) for degree in (1, 3)),
    *(("independent", {"degree": degree}) for degree in (1, 2, 3)),
    ("mst", {}),
    ("aim", {}),
    ("privbayes", {"usefulness": 1e-6}),
    ("privsyn", {"rounds": 1}),
    ("dual_query", {"rounds": 3, "samples": 2}),
    ("contingency", {"cells": "all"}),
    ("noisy_reweighting", {}),
    ("mwem", {"rounds": 2, "start_share": 0.3}),
    ("dp_merf", {"features": 20, "target": "c0"}),
]
FAMILIES: list[Variant] = [
    ("noisy_reweighting", {"statistics": statistics, "degree": degree, "allocation": allocation, "noise": "laplace"})
    for statistics in ("walsh", "conjunctions", "contingency")
    for degree in (1, 3)
    for allocation in ("by_size", "equal")
]
UNUSUAL: dict[str, tuple[dpsyn.Domain, list[Variant]]] = {
    "few columns": (dpsyn.Domain.of(of_codes("c", 3, 2, 2)), ANY),
    "many rounds": (dpsyn.Domain.of(of_codes("c", 2, 2)), [("dual_query", {"rounds": 210, "samples": 1})]),
    "many tables": (dpsyn.Domain.of(of_codes("c", *[2] * 15)), [*(one for one in ANY if one[0] != "aim"), *FAMILIES]),
    "many tables and rounds": (dpsyn.Domain.of(of_codes("c", *[2] * 10)), [("aim", {})]),
    "many columns": (
        dpsyn.Domain.of(of_codes("c", *[2] * 42)),
        [
            (name, settings)
            for name, settings in ANY
            if name in ("noisy_reweighting", "dp_merf", *LONG) and name != "privsyn" and settings.get("degree", 1) < 3
        ],
    ),
    "many choices": (dpsyn.Domain.of(of_codes("c", *[2] * 46)), [("privsyn", {"rounds": 1})]),
    "many cells": (dpsyn.Domain.of(of_codes("c", 400, 350)), ANY),
    "many pairs": (dpsyn.Domain.of(of_codes("c", *[3] * 24)), [("noisy_reweighting", {})]),
    "many wide pairs": (dpsyn.Domain.of(of_codes("c", 2, *[40] * 7)), [("noisy_reweighting", {})]),
}
"""Just beyond where somebody might think that noise is too dear: as small as that can be."""
ROWS = 64


@cache
def tables_far_and_near(domain: dpsyn.Domain, neighbouring: str) -> tuple[list[dpsyn.Table], list[tuple[int, int]]]:
    """Tables of which all must be answered alike, and which of them are neighbours; of a secret n one is large."""
    random = np.random.default_rng(0)
    first, last = (
        np.zeros((ROWS, len(domain)), dtype=np.int32),
        np.tile(np.array(domain.shape, dtype=np.int32) - 1, (ROWS, 1)),
    )
    spread = random.integers(0, domain.shape, (ROWS, len(domain)), dtype=np.int32)
    frames = [domain.decode(codes, random) for codes in (first, last, spread)]
    found = []
    for frame, other in zip(frames, [frames[1], frames[2], frames[0]], strict=True):
        less = frame.iloc[1:]
        found += [frame, less if neighbouring == "add_remove" else pd.concat([other.iloc[:1], less])]
    tables = [dpsyn.Table(frame.reset_index(drop=True), domain) for frame in found]
    if neighbouring == "add_remove":
        tables.append(tables[0].take(np.zeros(5_000, dtype=np.int64)))
    return tables, [(0, 1), (2, 3), (4, 5)]


def most_moved(calls: list[list[Call]], near: list[tuple[int, int]]) -> list[tuple[float, float]]:
    """How many numbers of each call neighbours move at most, and how far: found, not known."""
    found = []
    for at, call in enumerate(calls[0]):
        apart = [np.abs(calls[a][at].values - calls[b][at].values) for a, b in near]
        if call.kind == "choice":
            found.append((1.0, float(max(one.max() for one in apart))))
        else:
            power = 1 if call.kind == "laplace" else 2
            found.append((float(max((one**power).sum() for one in apart)), 1.0))
    return found


def learned(noise: Deaf, mechanism: Any, table: dpsyn.Table) -> tuple[list[Call], pd.DataFrame]:
    """As :func:`asked`, for noisy reweighting: what it makes its rows of, which takes longer."""
    found = mechanism.measured(noise, table)
    return noise.calls, pd.DataFrame({"sum": found.sums, "spread": found.spreads, "rows": found.rows})


def check_all(config: Any, spec: dpsyn.PrivacySpec, domain: dpsyn.Domain, answers: tuple[int, int]) -> None:
    """Whatever the rows are, questions and rows follow from the answers, and what neighbours move is paid for."""
    mechanism, (tables, near) = config.calibrate(spec, domain, ROWS), tables_far_and_near(domain, spec.neighbouring)
    reweighting = config.name == "noisy_reweighting"
    found = [(learned if reweighting else asked)(Deaf(0, *answers), mechanism, table) for table in tables]
    for calls, rows in found[1:]:
        assert alike(found[0][0], calls)
        assert_same(found[0][1], rows)
    # Parts are paid for one by one, but those of noisy reweighting for what moves together.
    for pairs in [[pair] for pair in near] if reweighting else [near]:
        check_prices(mechanism, found[0][0], most_moved([calls for calls, _ in found], pairs), 0.0)


@pytest.mark.parametrize(("epsilon", "delta", "neighbouring"), [(1.0, 0.0, "replace_one"), (0.2, 1e-5, "add_remove")])
@pytest.mark.parametrize(
    ("size", "name", "settings"), [(size, *one) for size, (_, every) in UNUSUAL.items() for one in every], ids=str
)
def test_at_unusual_sizes_all_follows_from_noise_that_is_paid_for(
    size: str,
    name: str,
    settings: dict[str, Any],
    epsilon: float,
    delta: float,
    neighbouring: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if name == "dp_merf" and not delta:
        return  # which is refused
    remember_fits(monkeypatch)
    # Where n is a secret a large one is answered, so that models expect rows in many cells.
    answers = (0, 30) if neighbouring == "replace_one" else (10**6, 10**5)
    spec = dpsyn.PrivacySpec(epsilon, delta, neighbouring)
    check_all(config_class(name)(rows=9, **settings), spec, UNUSUAL[size][0], answers)


NUMBERS = dpsyn.Domain.of([*WIDE.attributes[:2], *WIDE.attributes[-2:]])


@pytest.mark.parametrize(
    ("share", "epsilon", "delta", "neighbouring"),
    [
        (1e-4, 5.0, 0.0, "replace_one"),
        (1e-4, 1.0, 1e-5, "add_remove"),
        (0.004, 0.7, 0.05, "replace_one"),
        (0.004, 5.0, 0.0, "add_remove"),
        (0.02, 3.0, 1e-40, "replace_one"),
        (0.6, 200.0, 0.0, "add_remove"),
        (0.99, 5.0, 0.3, "add_remove"),
    ],
)
@pytest.mark.parametrize(("name", "settings"), [*VARIANTS, ("noisy_reweighting", {})], ids=str)
def test_of_a_budget_of_any_size_all_parts_together_take_no_more(
    name: str,
    settings: dict[str, Any],
    share: float,
    epsilon: float,
    delta: float,
    neighbouring: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    remember_fits(monkeypatch)
    config = config_class(name)(rows=9, histogram_share=share, **SETTINGS.get(name, {}), **settings)
    check_all(config, dpsyn.PrivacySpec(epsilon, delta, neighbouring), NUMBERS, (0, 30))


def of_kinds(kinds: Any, empty: tuple[str, ...] = ()) -> dpsyn.Domain:
    """A column for each of these, by its kind; those of some kinds may be empty."""
    return dpsyn.Domain.of(
        dpsyn.Attribute(f"{kind} {j}", missing=kind in empty, public=True, **KINDS[kind][0]) for j, kind in enumerate(kinds)
    )


def table_of_kinds(domain: dpsyn.Domain, cells: dict[str, Any]) -> dpsyn.Table:
    """Cells by the kind of their column."""
    return dpsyn.Table(pd.DataFrame({name: cells[name.split()[0]] for name in domain.names}), domain)


def pointed(domain: dpsyn.Domain) -> list[Any]:
    """What makes points of numbers and dates: the map of points, and DP-MERF's."""
    return [FeatureMap(domain).encode, Features.of(domain, 6, np.random.default_rng(0)).points]


@pytest.mark.parametrize(
    ("kinds", "columns"),
    [*product(((kind,) for kind in OUTSIDE), (1, 20)), *product([tuple(OUTSIDE)], (4, 65, 200))],
    ids=str,
)
def test_cells_outside_their_bounds_count_as_at_them_however_many_columns_there_are(
    kinds: tuple[str, ...], columns: int
) -> None:
    for empty in ((), kinds[-1:]):
        domain = of_kinds((kinds * columns)[:columns], empty)
        sums = Features.of(domain, 6, np.random.default_rng(0)).sums
        for make in (*pointed(domain), lambda table, sums=sums: sums(table, np.arange(2), 2)):
            outside = make(table_of_kinds(domain, OUTSIDE))
            np.testing.assert_array_equal(outside, make(table_of_kinds(domain, {kind: KINDS[kind][1] for kind in OUTSIDE})))


@pytest.mark.parametrize("many", [1, 30])
@pytest.mark.parametrize("empty", [kinds for size in (1, 2, 4) for kinds in combinations(OUTSIDE, size)], ids=str)
def test_an_empty_number_or_date_is_in_the_middle_whichever_others_may_be_empty(empty: tuple[str, ...], many: int) -> None:
    domain = of_kinds(tuple(OUTSIDE) * many, empty)
    cells = {kind: pd.Series(ends).astype("float64") if kind in UNITS else ends for kind, (_, ends) in KINDS.items()}
    nothing = {kind: [pd.NaT, pd.NaT] if kind == "date" else [np.nan, np.nan] for kind in empty}
    at = np.array([name.split()[0] in empty for name in domain.names])
    for make in pointed(domain):
        full, found = make(table_of_kinds(domain, cells)), make(table_of_kinds(domain, cells | nothing))
        np.testing.assert_array_equal(found[:, at], np.zeros((2, at.sum())))
        np.testing.assert_array_equal(found[:, ~at], full[:, ~at])


@pytest.mark.parametrize("sizes", [(2, 3), (40, 2), (200, 3), (2,) * 16, (3,) * 40, (40,) + (2,) * 20], ids=str)
@pytest.mark.parametrize("numbers", [0, 1, 20])
def test_a_row_moves_the_features_of_dp_merf_no_further_than_is_said_however_many_columns_it_has(
    sizes: tuple[int, ...], numbers: int
) -> None:
    bounds = [dpsyn.Attribute(f"x{j}", "numeric", lower=0.0, upper=1.0, public=True) for j in range(numbers)]
    domain = dpsyn.Domain.of([*of_codes("c", *sizes), *bounds])
    # A quarter of a wave from bound to bound for each number together: opposite waves at opposite ends.
    features = Features(domain, np.full((numbers, 4), np.pi / 2 / max(numbers, 1)))
    first, last = (
        dpsyn.Table(
            pd.DataFrame([[*(at * (size - 1) for size in sizes), *[float(at)] * numbers]], columns=domain.names), domain
        )
        for at in (0, 1)
    )
    here, there = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    one, other = features.sums(first, here, 2), features.sums(last, here, 2)
    moved = max(np.linalg.norm(one - other), np.linalg.norm(one - features.sums(last, there, 2)))
    assert 0.999 * moved <= 0.999 * features.sensitivity("replace_one") < moved
    assert (
        0.999 * np.linalg.norm(one) <= 0.999 * features.sensitivity("add_remove") < np.linalg.norm(one) * (1 + (not numbers))
    )


def on_points(name: str, columns: int) -> tuple[dpsyn.Domain, Any]:
    """Numbers, some of them missing, beside a class of two values."""
    numbers = (
        dpsyn.Attribute(f"x{j}", "numeric", lower=0.0, upper=9.0, missing=j % 2 == 0, public=True) for j in range(columns)
    )
    domain = dpsyn.Domain.of([*numbers, *of_codes("y", 2)])
    if name == "dp_cda":
        return domain, dpsyn.DPCDA("y0", rows={0: 5, 1: 4}, order_of_mixture=2, scaling="private")
    return domain, config_class(name)(rows=9, **({"order_of_mixture": 2, "size": 50} if name == "dp_mix" else {}))


@pytest.mark.parametrize("columns", [3, 60])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("name", ["local_perturbation", "random_projection", "dp_mix", "dp_cda"])
def test_rows_of_points_follow_from_the_noisy_points_however_many_columns_and_rows_there_are(
    name: str, neighbouring: Any, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise answers with numbers of its own, whatever it is handed; so do noisy sizes of classes."""
    sizes: list[Any] = []
    monkeypatch.setattr(dp_cda.DPCDAMechanism, "noise_scale_for", lambda self, found: sizes.append(found) or 1.0)
    for module in (points, dp_cda):
        monkeypatch.setattr(module, "gaussian_noise", lambda *_, **__: lambda values: 0 * values + 0.25)
    domain, config = on_points(name, columns)
    mechanism = config.calibrate(dpsyn.PrivacySpec(1.0, 1e-5, neighbouring), domain, 10**7 if name == "dp_cda" else ROWS)
    sizes.clear()
    tables, _ = tables_far_and_near(domain, neighbouring)
    found = [mechanism._run(Answering(0, 10**9, 50), table, no_progress)[0] for table in tables]
    for rows in found[1:]:
        assert_same(found[0], rows)
    assert all(one == sizes[0] for one in sizes)


@pytest.mark.parametrize("columns", [1, 3, 60])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_means_and_deviations_follow_from_noisy_sums_alone(neighbouring: Any, columns: int) -> None:
    domain, _ = on_points("dp_cda", columns)
    features, release = FeatureMap(domain), StandardRelease(columns, 1.0, neighbouring)
    tables, _ = tables_far_and_near(domain, neighbouring)
    first, *others = (release.run(Answering(0, -20, 60), features, table) for table in tables)
    assert len(np.unique(first.centre)) > columns / 3
    for found in others:
        np.testing.assert_array_equal(found.centre, first.centre)
        np.testing.assert_array_equal(found.spread, first.spread)


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize(
    "kinds", [*((kind,) for kind in KINDS), *combinations(KINDS, 2), tuple(KINDS), tuple(KINDS) * 9], ids=str
)
def test_every_number_and_date_is_paid_for_among_means_and_deviations(
    kinds: tuple[str, ...], neighbouring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows at either end of all columns, of which one is replaced, added or removed, by what the noise is handed."""
    monkeypatch.setattr(dp_cda.DPCDAMechanism, "noise_scale_for", lambda *_: 1.0)
    domain = dpsyn.Domain.of([*of_kinds(kinds, kinds[:1] if kinds[0] in OUTSIDE else ()).attributes, *of_codes("y", 2)])
    config = dpsyn.DPCDA("y0", rows={0: 5, 1: 4}, class_sizes=9, order_of_mixture=2, scaling="private")
    mechanism = config.calibrate(dpsyn.PrivacySpec(1.0, 1e-5, neighbouring), domain, 18)
    release = mechanism.budget.standard
    if not set(kinds) & set(OUTSIDE):
        assert release is None
        return
    assert release is not None
    tables = {
        ends: table_of_kinds(
            domain, {**{kind: [KINDS[kind][1][at] for at in ends] for kind in kinds}, "y0": [0] * len(ends)}
        )
        for ends in ((0, 1), (0, 0), (1, 1), (0,), (1,))
    }
    calls = {}
    for ends, table in tables.items():
        noise = Answering(0, -20, 60)
        release.run(noise, mechanism.features, table)
        (calls[ends],) = noise.calls
    near = (
        [((0, 1), (0, 0)), ((0, 1), (1, 1))]
        if neighbouring == "replace_one"
        else [(two, one) for two in calls for one in calls if len(two) > len(one) and set(one) <= set(two)]
    )
    moved = max(float(np.linalg.norm(calls[a].values - calls[b].values)) for a, b in near)
    # At σ = multiplier·moved this is the Gaussian mechanism that the ledger has.
    assert 1 <= calls[0, 1].scale / (release.multiplier * moved) <= 1 + 1e-6


@pytest.mark.parametrize(("n", "rows"), [(6, 4_000), (6_000, 3), (6_000, 4_000)])
def test_dp_cda_mixes_all_records_of_a_class_however_many_there_are_and_alike(
    n: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed = []

    def kept(members: Any, *arguments: Any, **more: Any) -> Any:
        handed.append(len(members))
        return averages_in_blocks(members, *arguments, **more)

    monkeypatch.setattr(dp_cda, "averages_in_blocks", kept)
    config = dpsyn.DPCDA("y0", rows={0: rows, 1: rows}, class_sizes=n, order_of_mixture=2)
    domain, _ = on_points("dp_cda", 1)
    table = dpsyn.Table(pd.DataFrame({"x0": [1.0, 2.0] * n, "y0": [0, 1] * n}), domain)
    config.calibrate(dpsyn.PrivacySpec(5.0, 1e-5), domain, 2 * n)(np.random.default_rng(0), table)
    assert handed == [n, n]
