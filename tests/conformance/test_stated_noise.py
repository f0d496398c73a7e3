"""What a record states of its noise is what was drawn: every entry of the ledger, scales, and the deviations of its tables.

What was drawn is written down by a source of noise, with how far a neighbour moves it by hand.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.mechanisms import points
from dpsyn.mechanisms.base import Release
from dpsyn.mechanisms.dp_cda import _mechanism as dp_cda
from dpsyn.mechanisms.dp_gan import mechanism as dp_gan
from dpsyn.mechanisms.dp_merf.embedding import UNIT
from dpsyn.mechanisms.encoding import HISTOGRAMS
from dpsyn.mechanisms.noisy_reweighting._ledger import MARGINALS
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily
from dpsyn.mechanisms.registry import MECHANISMS
from dpsyn.privacy.mixing.pld import gaussian_epsilon
from dpsyn.privacy.zcdp import zcdp_rho
from tests.conformance.neighbours import Call, Deaf, Truthful, called, neighbours

ROWS = 2000
VALUES: dict[str, list[Any]] = {
    **{name: [0, 1] for name in "adefgh"},
    "b": ["x", "y", "z"],
    "c": [*"stuvw"],
    "age": [*range(100)],
}
ATTRIBUTES = {
    **{name: dpsyn.Attribute(name, "truth", (0, 1), public=True) for name in "adefgh"},
    "b": dpsyn.Attribute("b", "categorical", tuple("xyz"), public=True),
    "c": dpsyn.Attribute("c", "categorical", tuple("stuvw"), public=True),
    "age": dpsyn.Attribute("age", "numeric", lower=0, upper=99, bins=4, integer=True, public=True),
}
LEVELS = 2
"""Of the fine histogram of a column of whole numbers: as many counts are moved by a row that is added."""


class Written(Truthful):
    """Answers without noise and writes down what it is handed, real numbers and choices too."""

    def gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        self.calls.append(Call("real", values.copy(), scale))
        return values

    def continuous(self, scale: float, *_: Any, **__: Any) -> Callable[[np.ndarray], np.ndarray]:
        def noisy(values: np.ndarray) -> np.ndarray:
            self.calls.append(Call("continuous", values.copy(), scale))
            return values

        return noisy


def table_of(names: Sequence[str], n: int = ROWS) -> dpsyn.Table:
    random = np.random.default_rng(7)
    frame = pd.DataFrame({name: random.choice(VALUES[name], n).astype(object) for name in names})
    for name in names:  # all differ in their counts, and each depends on the others
        frame.loc[: random.integers(n // 2), name] = VALUES[name][0]
    return dpsyn.Table(frame.infer_objects(), dpsyn.Domain.of(ATTRIBUTES[name] for name in names))


def released(
    config: Any, spec: dpsyn.PrivacySpec, table: dpsyn.Table, patch: pytest.MonkeyPatch
) -> tuple[Any, list[Call], Release]:
    mechanism, noise = config.calibrate(spec, table.domain, table.n), Written()
    for module in (points, dp_cda, dp_gan):
        patch.setattr(module, "gaussian_noise", noise.continuous)
    return mechanism, noise.calls, called(noise, mechanism, table)


def scale_of(calls: Sequence[Call]) -> float:
    (scale,) = {call.scale for call in calls}
    return scale


def cost(calls: Sequence[Call], moved: Sequence[float], gaussian: bool) -> float:
    """ε, or ρ: of counts of which so many move by 1, or a choice by scores that move so far."""
    found = 0.0
    for call, by in zip(calls, moved, strict=True):
        if call.kind == "choice":
            found += by**2 / (2 * call.scale**2) if gaussian else 2 * by / call.scale
        else:
            assert call.kind == ("gaussian" if gaussian else "laplace")
            found += by / (2 * call.scale**2) if gaussian else by / call.scale
    return found


Parts = list[tuple[list[Call], list[float], float | None]]
"""Of each entry of a ledger: the calls, how far a neighbour moves each, and the scale where theirs differ."""


def constant(
    calls: Sequence[Call], moved: float, scale: float | None = None
) -> tuple[list[Call], list[float], float | None]:
    return list(calls), [moved] * len(calls), scale


def choices(calls: Sequence[Call]) -> list[Call]:
    return [call for call in calls if call.kind == "choice"]


def others(calls: Sequence[Call]) -> list[Call]:
    return [call for call in calls if call.kind != "choice"]


def unit_scale(spent: float, moved: float, gaussian: bool) -> float:
    return math.sqrt(moved / (2 * spent)) if gaussian else moved / spent


def of_mst(calls: list[Call], columns: int, moved: int, mechanism: Any) -> Parts:
    singles, chosen, trees = calls[:columns], choices(calls), others(calls)[columns:]
    assert len(chosen) == len(trees) == columns - 1
    return [constant(singles, moved), constant(chosen, moved), constant(trees, moved)]


def of_aim(calls: list[Call], columns: int, moved: int, mechanism: Any) -> Parts:
    rounds = calls[columns:]
    far: list[float] = [moved * 2 if call.kind == "choice" else moved for call in rounds]
    return [constant(calls[:columns], moved), (rounds, far, rounds[1].scale)]


def of_mwem(calls: list[Call], columns: int, moved: int, mechanism: Any) -> Parts:
    each = moved if mechanism.config.measured == "tables" else 1
    chosen, measured = choices(calls), others(calls)
    assert len(chosen) == mechanism.rounds
    start = measured[: -mechanism.rounds]
    return [*([constant(start, moved)] if start else []), constant(chosen, each), constant(measured[len(start) :], each)]


def far_of_r(moved: int) -> int:
    """How far a neighbour moves a score of PrivBayes or PrivSyn on columns of any size, at most."""
    return 6 * ROWS + 4 if moved == 2 else 4


def of_privbayes(calls: list[Call], columns: int, moved: int, mechanism: Any) -> Parts:
    chosen, tables = choices(calls), others(calls)
    assert len(chosen) == columns - 1
    binary = set(mechanism.domain.shape) == {2}
    assert mechanism.calibrated()["score"] == ("F" if binary else "R")
    far = 2 if binary else far_of_r(moved)
    # There may be fewer tables than columns, which then have less noise than was planned.
    gaussian = mechanism.spec.delta > 0
    planned = unit_scale(cost(tables, [moved] * len(tables), gaussian), moved * columns, gaussian)
    return [constant(chosen, far), constant(tables, moved, planned)]


def of_privsyn(calls: list[Call], columns: int, moved: int, mechanism: Any) -> Parts:
    singles, scores, tables, gaussian = calls[:columns], calls[columns], calls[columns + 1 :], mechanism.spec.delta > 0
    alone = unit_scale(cost(tables, [moved] * len(tables), gaussian), moved, gaussian)
    together = scores.values.size * far_of_r(moved) ** (2 if gaussian else 1)
    return [constant(singles, moved), constant([scores], together), constant(tables, moved, alone)]


def of_dual_query(calls: list[Call], columns: int, moved: int, mechanism: Any) -> Parts:
    config = mechanism.config
    return [(calls, [float(t) for t in range(1, config.rounds) for _ in range(config.samples)], None)]


def of_independent(calls: list[Call], columns: int, moved: int, mechanism: Any) -> Parts:
    return [constant(calls, moved * math.comb(columns, mechanism.config.degree))]


Case = tuple[Any, Callable[[list[Call], int, int, Any], Parts]]
ADDING_UP: dict[str, Case] = {
    "MST": (dpsyn.MST(rows=20), of_mst),
    "AIM": (dpsyn.AIM(rows=20, model_cells=100), of_aim),
    "MWEM": (dpsyn.MWEM(rows=20, rounds=3, replays=1), of_mwem),
    "MWEM from noisy counts": (dpsyn.MWEM(rows=20, rounds=3, replays=1, start_share=0.3), of_mwem),
    "MWEM on cells": (dpsyn.MWEM(rows=20, rounds=3, replays=1, start_share=0.3, measured="cells"), of_mwem),
    "PrivBayes": (dpsyn.PrivBayes(rows=20, usefulness=0.01), of_privbayes),
    "PrivSyn": (dpsyn.PrivSyn(rows=20, rounds=2), of_privsyn),
    "DualQuery": (dpsyn.DualQuery(rows=20, rounds=12, samples=12), of_dual_query),
    "independent columns": (dpsyn.Independent(rows=20), of_independent),
    "independent pairs": (dpsyn.Independent(rows=20, degree=2), of_independent),
}
COUNTED_FIRST = ("MWEM", "PrivBayes", "DualQuery")
DOMAINS = {"categories": ("a", "b", "c"), "bits": tuple("adefgh"), "ages": ("a", "b", "c", "age")}
BOTH_NEIGHBOURS = pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
BOTH_KINDS = pytest.mark.parametrize("delta", [0.0, 1e-6])


@BOTH_NEIGHBOURS
@BOTH_KINDS
@pytest.mark.parametrize("names", DOMAINS)
@pytest.mark.parametrize("case", ADDING_UP)
def test_a_ledger_that_adds_up_states_what_was_drawn(
    case: str, names: str, delta: float, neighbouring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, by_hand = ADDING_UP[case]
    # So small that the scale of DualQuery is that of its budget, and hardly rounded up.
    spec, table = dpsyn.PrivacySpec(0.1, delta, neighbouring), table_of(DOMAINS[names])
    mechanism, calls, release = released(config, spec, table, monkeypatch)
    facts, moved = mechanism.calibrated(), 2 if neighbouring == "replace_one" else 1
    gaussian, left = facts["noise"] == "gaussian", calls
    parts: Parts = []
    if names == "ages":
        before = [call for call in calls if call.scale == calls[0].scale]
        parts, left = [(before, [moved * LEVELS, *[0.0] * (len(before) - 1)], None)], calls[len(before) :]
    if case.startswith(COUNTED_FIRST) and neighbouring == "add_remove":
        assert left[0].values.tolist() == [ROWS]
        parts, left = [*parts, constant(left[:1], 1)], left[1:]
    parts += by_hand(left, len(table.domain), moved, mechanism)
    total = zcdp_rho(spec.epsilon, delta) if gaussian else spec.epsilon
    rounded = 1e-3 if case == "DualQuery" else 1e-9
    for entry, (drawn, far, scale) in zip(facts["ledger"], parts, strict=True):
        spent = cost(drawn, far, gaussian)
        if many := re.match(r"(?:choice of |scores of )?([\d,]+) ", entry["name"]):
            each = drawn[0].values.size if "scores" in entry["name"] else len(drawn)
            pairs = math.comb(len(table.domain), 2) if "tables of 2 columns" in entry["name"] else each
            assert int(many[1].replace(",", "")) == pairs
        assert entry["scale"] == pytest.approx(scale_of(drawn) if scale is None else scale, rel=1e-9)
        assert entry["rho" if gaussian else "epsilon"] == pytest.approx(spent, rel=rounded)
        if facts["accounting"] != "exact":
            assert entry["share"] == pytest.approx(spent / total, rel=rounded)
    assert sum(entry["share"] for entry in facts["ledger"]) == pytest.approx(1.0, rel=1e-9)
    assert ("tables of 2 columns" in facts["ledger"][-1]["name"]) is (case == "independent pairs")
    assert ("one-way tables" in str(facts["ledger"])) is (case.startswith(("MST", "AIM", "PrivSyn")) or "columns" in case)
    assert_rows(mechanism)
    assert (release.tables != {}) is (case not in ("MWEM on cells", "DualQuery"))
    assert_deviations(table, left, release, facts["noise"])
    assert_source(mechanism)


def assert_source(mechanism: Any) -> None:
    """A claim names the noise and the argument that its record states, and no other; what came before is named after it."""
    words = {"pure": "Laplace", "exact": "exact law", "zcdp": "zCDP"}
    source = mechanism.guarantee.source.split(", after")[0]
    assert [how for how, word in words.items() if word in source] == [mechanism.calibrated()["accounting"]]


def assert_rows(mechanism: Any) -> None:
    """As many as were asked for are stated, or n where it is public, and no number that tells it where it is not."""
    spec = mechanism.spec
    assert mechanism.calibrated()["rows"] == mechanism.config.rows
    every = replace(mechanism.config, rows=None).calibrate(spec, mechanism.domain, mechanism.n).calibrated()
    assert every.get("rows") == (mechanism.n if spec.neighbouring == "replace_one" else None)
    assert ("rows" in every) is (spec.neighbouring == "replace_one")


def assert_deviations(table: dpsyn.Table, calls: Sequence[Call], release: Release, noise: str) -> None:
    """Every noisy table has the deviation of the mean of all draws that were added to its counts."""
    encoding = release.diagnostics["encoding"]
    for names, found in release.tables.items():
        counts = encoding.rows(table).counts(tuple(table.domain.index(name) for name in names))
        precision = 0.0
        for call in calls:
            if call.kind != "choice" and call.values.size >= counts.size:
                pieces = np.lib.stride_tricks.sliding_window_view(call.values.ravel(), counts.size)
                here = int((pieces == counts).all(axis=1).sum())
                precision += here / (call.scale**2 * (1 if noise == "gaussian" else 2))
        assert precision
        assert found["deviation"].to_numpy() == pytest.approx(np.full(counts.size, precision**-0.5), rel=1e-9)


@BOTH_NEIGHBOURS
@BOTH_KINDS
@pytest.mark.parametrize("cells", ["all", "present"])
@pytest.mark.parametrize("names", DOMAINS)
def test_a_contingency_table_states_what_was_drawn(
    names: str, cells: Any, delta: float, neighbouring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if cells == "present" and not delta:
        return  # which is refused
    spec, table = dpsyn.PrivacySpec(0.5, delta, neighbouring), table_of(DOMAINS[names])
    config, moved = dpsyn.Contingency(rows=20, cells=cells), 2 if neighbouring == "replace_one" else 1
    mechanism, (*before, call), release = released(config, spec, table, monkeypatch)
    facts = mechanism.calibrated()
    (entry,) = facts["ledger"]
    gaussian = facts["noise"] == "gaussian"
    assert entry["scale"] == call.scale
    assert entry["rho" if gaussian else "epsilon"] == pytest.approx(cost([call], [moved], gaussian), rel=1e-9)
    first = moved * LEVELS / scale_of(before) if before else 0.0
    if before:
        assert facts["histogram_noise_scale"] == scale_of(before)
        assert facts["epsilon_for_histograms"] == pytest.approx(first, rel=1e-9)
    if not gaussian:
        assert first + moved / call.scale == pytest.approx(spec.epsilon, rel=1e-9)
    assert_deviations(table, [call], release, facts["noise"])
    assert_rows(mechanism)
    assert facts.get("threshold") == mechanism.threshold
    assert ("threshold" in facts) is (cells == "present")
    assert_source(mechanism)


@BOTH_NEIGHBOURS
@pytest.mark.parametrize("share", [0.1, 0.3])
@pytest.mark.parametrize("names", DOMAINS)
def test_dp_gan_states_what_was_drawn(names: str, share: float, neighbouring: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, table = dpsyn.PrivacySpec(2.0, 1e-6, neighbouring), table_of(DOMAINS[names])
    config = dpsyn.DPGAN(rows=20, steps=3, histogram_share=share)
    mechanism, calls, _ = released(config, spec, table, monkeypatch)
    facts, moved = mechanism.calibrated(), 2 if neighbouring == "replace_one" else 1
    (count,), steps = [call for call in calls if call.kind == "real"], [call for call in calls if call.kind == "continuous"]
    before = [call for call in calls if call.kind == "laplace"]
    counts, critic = facts["ledger"]
    first = moved * LEVELS / scale_of(before) if before else 0.0
    assert facts.get("epsilon_for_histograms", 0.0) == pytest.approx(first, rel=1e-9)
    assert facts.get("histogram_noise_scale", 0.0) == (scale_of(before) if before else 0.0)
    assert len(steps) == 3
    assert critic["scale"] == facts["noise_scale"] == scale_of(steps)
    assert counts["scale"] == facts["count_noise_scale"] == count.scale
    # A row is in one cell of every column; its share of ε is what the counts would have by themselves.
    alone = gaussian_epsilon(math.sqrt(moved * len(table.domain)) / count.scale, spec.delta)
    assert counts["share"] * spec.epsilon == pytest.approx(alone, rel=1e-4)
    assert counts["share"] + critic["share"] + first / spec.epsilon == pytest.approx(1.0, rel=1e-9)
    assert critic["epsilon"] == pytest.approx(spec.epsilon - first, rel=1e-9)
    assert critic["delta"] == spec.delta


CLASSES: dict[str, dict[str, Any]] = {
    "counted": {},
    "counted, Poisson": {"variant": "poisson"},
    "stated": {"class_sizes": 200},
    "stated, Poisson": {"class_sizes": 200, "variant": "poisson"},
    "counted and standardised": {"scaling": "private", "scaling_share": 0.2},
    "stated and standardised": {"class_sizes": 200, "scaling": "private", "variant": "poisson"},
}


@BOTH_NEIGHBOURS
@pytest.mark.parametrize("sampler", ["system", "exact"])
@pytest.mark.parametrize("case", CLASSES)
def test_dp_cda_states_what_was_drawn(case: str, sampler: Any, neighbouring: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, table = dpsyn.PrivacySpec(2.0, 1e-6, neighbouring), table_of(DOMAINS["ages"])
    config = dpsyn.DPCDA("b", rows=30, noise_sampler=sampler, **CLASSES[case])
    mechanism, calls, release = released(config, spec, table, monkeypatch)
    facts, moved, left = mechanism.calibrated(), 2 if neighbouring == "replace_one" else 1, list(calls)
    entries = {entry["name"]: entry for entry in facts["ledger"]}
    averages = entries.pop("averages")
    if config.scaling == "private":
        call, entry = left.pop(0), entries.pop("means and deviations")
        far = 2.0 if moved == 2 else math.sqrt(3)  # of (x, x²), and of their number where that is a secret
        assert (call.kind, entry["noise"], entry["scale"]) == ("real", "discrete Gaussian", call.scale)
        assert entry["epsilon"] == pytest.approx(gaussian_epsilon(far / call.scale, entry["delta"]), rel=1e-4)
        rest = averages["delta"], spec.epsilon - facts.get("epsilon_for_counts", 0.0)
        assert (entry["delta"], entry["share"]) == (rest[0], pytest.approx(entry["epsilon"] / spec.epsilon, rel=1e-9))
        assert entry["epsilon"] == pytest.approx(config.scaling_share * rest[1], rel=1e-4)
        averages["share"] += entry["share"]
    if config.class_sizes is None:
        call, entry = left.pop(0), entries.pop("class counts")
        assert (call.kind, entry["noise"], entry["scale"]) == ("laplace", "discrete Laplace", call.scale)
        assert facts["count_noise_scale"] == call.scale
        assert entry["epsilon"] == facts["epsilon_for_counts"] == pytest.approx(moved / call.scale, rel=1e-9)
        assert entry["share"] == pytest.approx(entry["epsilon"] / spec.epsilon, rel=1e-9)
        assert entry["delta"] + averages["delta"] == pytest.approx(spec.delta, rel=1e-9)
        averages["share"] += entry["share"]
    else:
        assert averages["scale"] == facts["noise_scale"] == scale_of(left)
        assert averages["delta"] == spec.delta
    assert not entries
    assert averages["share"] == pytest.approx(1.0, rel=1e-9)
    assert release.diagnostics["noise_scale"] == scale_of(left)
    assert {call.kind for call in left} == {"continuous" if sampler == "system" else "real"}
    source = mechanism.guarantee.source
    assert ("discrete Laplace noise on the class counts" in source) is (config.class_sizes is None)
    assert ("Poisson samples" in source) is (config.variant == "poisson")
    assert ("drawn without replacement" in source) is (config.variant == "fixed_size")
    assert ("means and deviations" in source) is (config.scaling == "private")


ON_POINTS = [dpsyn.DPMix(rows=30, size=1000), dpsyn.LocalPerturbation(30), dpsyn.RandomProjection(30)]


@BOTH_NEIGHBOURS
@pytest.mark.parametrize("names", DOMAINS)
@pytest.mark.parametrize("config", ON_POINTS)
def test_a_mechanism_on_points_states_what_was_drawn(
    config: Any, names: str, neighbouring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, table = dpsyn.PrivacySpec(2.0, 1e-6, neighbouring), table_of(DOMAINS[names])
    mechanism, calls, _ = released(config, spec, table, monkeypatch)
    facts = mechanism.calibrated()
    (entry,) = facts["ledger"]
    assert {call.kind for call in calls} == {"continuous"}
    assert sum(call.values.size for call in calls) == 30 * facts["dimension"]
    assert entry["scale"] == facts["noise_scale"] == scale_of(calls)
    assert (entry["epsilon"], entry["share"]) == (spec.epsilon, 1.0)


@BOTH_NEIGHBOURS
@pytest.mark.parametrize("target", [None, "b"])
@pytest.mark.parametrize("names", DOMAINS)
def test_dp_merf_states_what_was_drawn(
    names: str, target: str | None, neighbouring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if target not in (None, *DOMAINS[names]):
        return
    spec, table = dpsyn.PrivacySpec(2.0, 1e-6, neighbouring), table_of(DOMAINS[names])
    mechanism, (call,), _ = released(dpsyn.DPMERF(target, features=20, rows=30), spec, table, monkeypatch)
    (entry,) = mechanism.calibrated()["ledger"]
    assert_rows(mechanism)
    assert entry["scale"] * UNIT == pytest.approx(call.scale, rel=1e-9)
    assert (entry["rho"], entry["share"]) == (pytest.approx(zcdp_rho(spec.epsilon, spec.delta), rel=1e-9), 1.0)


def test_private_sampling_states_no_noise_and_draws_none(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, table = dpsyn.PrivacySpec(50.0), table_of(DOMAINS["bits"][:3])
    mechanism, calls, _ = released(dpsyn.PrivateSampling(rows=2), spec, table, monkeypatch)
    assert not calls
    assert not {"ledger", "noise", "noise_scale"} & mechanism.calibrated().keys()


def one_sided(codes: np.ndarray) -> np.ndarray:
    """Values that a row more moves further than a row that is replaced."""
    return np.stack([0.75 + 0.25 * codes[:, 0], 1 - codes[:, 1] / 4], axis=1)


def signed(codes: np.ndarray) -> np.ndarray:
    return np.stack([codes[:, 0] * 2 - 1, codes[:, 1] / 2 - 0.5], axis=1)


ONE_SIDED = FunctionFamily(one_sided, (2, 3, 5), low=0.5, high=1.0, unit=0.25)
SIGNED = FunctionFamily(signed, (2, 3, 5), low=-1.0, high=1.0, unit=0.5)
OWN = {"reduced_space": "marginals", "reduced_space_size": 6, "marginal_share": 0.3, "refinements": 0}
FEW_AGES = ("b", "a", "age")
REWEIGHTINGS: dict[str, tuple[Sequence[str], dict[str, Any]]] = {
    "tables": (DOMAINS["categories"], {}),
    "tables alike": (DOMAINS["categories"], {"allocation": "equal"}),
    "tables and their marginals": (DOMAINS["categories"], OWN),
    "binned tables": (FEW_AGES, {}),
    "conjunctions": (DOMAINS["categories"], {"statistics": "conjunctions"}),
    "Walsh functions": (DOMAINS["bits"][:3], {"statistics": "walsh"}),
    "Walsh functions of three": (DOMAINS["bits"][:3], {"statistics": "walsh", "degree": 3}),
    "functions of one sign": (DOMAINS["categories"], {"family": ONE_SIDED}),
    "functions": (DOMAINS["categories"], {"family": SIGNED}),
    "functions of one sign and marginals": (DOMAINS["categories"], {"family": ONE_SIDED, **OWN}),
}


@BOTH_NEIGHBOURS
@BOTH_KINDS
@pytest.mark.parametrize("case", REWEIGHTINGS)
def test_noisy_reweighting_states_what_was_drawn(case: str, delta: float, neighbouring: Any) -> None:
    """Held against all neighbours of a small table, while the noise answers alike."""
    names, settings = REWEIGHTINGS[case]
    table = table_of(names, 6)
    mechanism = dpsyn.NoisyReweighting(rows=20, **settings).calibrate(
        dpsyn.PrivacySpec(1.0, delta, neighbouring), table.domain, table.n
    )
    facts, entries, gaussian = mechanism.calibrated(), mechanism.calibrated()["ledger"], delta > 0
    assert_rows(mechanism)
    assert "nothing_moves" not in facts
    unit, deviation = ("rho", 1.0) if gaussian else ("epsilon", math.sqrt(2))

    def asked(of: dpsyn.Table) -> tuple[list[Call], Any]:
        noise = Deaf()
        found = mechanism.measured(noise, of)
        return noise.calls, found

    calls, measured = asked(table)
    later = sorted((entry for entry in entries if entry["name"] != HISTOGRAMS), key=lambda entry: entry["name"] == MARGINALS)
    first = len(calls) - len(later)
    assert {call.kind for call in calls} == {facts["noise"]} == {"gaussian" if gaussian else "laplace"}
    assert [entry["count"] for entry in later] == [call.values.size for call in calls[first:]]
    assert [entry["scale"] for entry in later] == [call.scale for call in calls[first:]]
    costs = []
    values = {name: VALUES[name] if name != "age" else [0, 50, 99] for name in names}
    for frame in neighbours(table.frame, values, neighbouring):
        apart = [
            (a.values - b.values).ravel() for a, b in zip(calls, asked(dpsyn.Table(frame, table.domain))[0], strict=True)
        ]
        lengths = [float((move**2).sum() if gaussian else np.abs(move).sum()) for move in apart[first:]]
        costs.append([cost([call], [far], gaussian) for call, far in zip(calls[first:], lengths, strict=True)])
    stated = np.array([entry[unit] for entry in later])
    if "Walsh" in case:  # no neighbour is the worst for every order: those of the worst one are stated
        assert max(map(sum, costs)) == pytest.approx(stated.sum(), rel=1e-9)
        assert min(np.abs(np.array(costs) - stated).max(axis=1)) < 1e-9
    else:
        assert stated == pytest.approx(np.max(costs, axis=0), rel=1e-9)
    for entry in entries:
        if entry["name"] == HISTOGRAMS:
            moved = (2 if neighbouring == "replace_one" else 1) * LEVELS
            assert entry["scale"] == scale_of(calls[:first])
            assert entry[unit] == pytest.approx(cost(calls[:1], [moved], gaussian), rel=1e-9)
    total = sum(entry[unit] for entry in entries)
    assert [entry["share"] for entry in entries] == pytest.approx([entry[unit] / total for entry in entries], rel=1e-9)
    if facts["accounting"] != "exact":
        assert total == pytest.approx(zcdp_rho(1.0, delta) if gaussian else 1.0, rel=1e-9)
    own = [call.scale for entry, call in zip(later, calls[first:], strict=True) if entry["name"] == MARGINALS]
    counted = "functions" in case and "family" in settings and neighbouring == "add_remove"
    of_statistics = calls[first : len(calls) - len(own) - counted]
    scales = np.repeat([call.scale for call in of_statistics], [call.values.size for call in of_statistics])
    assert facts["noise_scale_on_sums"] == scales.max()
    assert facts["smallest_noise_scale_on_sums"] == scales.min()
    assert facts["noise_scale_on_marginal_counts"] == (own[0] if own else 0.0)
    assert np.sort(measured.spreads) == pytest.approx(deviation * np.sort(scales), rel=1e-12)
    if neighbouring == "replace_one":
        by = 0.25 if "one sign" in case else 0.5 if "family" in settings else 1.0
        assert facts["noise_scale_on_averages"] == pytest.approx(scales.max() * by / table.n, rel=1e-12)
    assert_source(mechanism)


@BOTH_NEIGHBOURS
@BOTH_KINDS
@pytest.mark.parametrize("wide", [False, True])
def test_so_does_noisy_reweighting_of_many_columns_and_of_wide_ones(wide: bool, delta: float, neighbouring: Any) -> None:
    """Where noisy scores choose the tables, and where noisy tables merge the codes."""
    spec, random, gaussian = dpsyn.PrivacySpec(1.0, delta, neighbouring), np.random.default_rng(8), delta > 0
    sizes = (2, 40, 36) if wide else (2,) * 26
    domain = dpsyn.Domain.of(
        dpsyn.Attribute(f"c{j}", "categorical", tuple(range(k)), public=True) for j, k in enumerate(sizes)
    )
    same = random.random(ROWS)
    codes = [np.where(random.random(ROWS) < 0.8, same, random.random(ROWS)) * k // 1 for k in sizes]
    table = dpsyn.Table(pd.DataFrame({f"c{j}": column.astype(int) for j, column in enumerate(codes)}), domain)
    mechanism, noise = dpsyn.NoisyReweighting(rows=20).calibrate(spec, domain, ROWS), Written()
    measured = mechanism.measured(noise, table)
    calls, moved, pairs = noise.calls, 2 if neighbouring == "replace_one" else 1, math.comb(len(sizes), 2)
    parts: Parts
    if wide:
        parts = [constant(calls[:1], moved * 2), constant(calls[1:], moved)]
        drawn = calls
    else:
        tables = calls[2:]
        assert len(tables) > 1
        assert calls[1].values.size == pairs
        alone = unit_scale(cost(tables, [moved] * len(tables), gaussian), moved, gaussian)
        parts = [constant(calls[:1], moved * len(sizes)), constant(calls[1:2], pairs), constant(tables, moved, alone)]
        drawn = [calls[0], *tables]
    unit = "rho" if gaussian else "epsilon"
    for entry, (called_, far, scale) in zip(mechanism.calibrated()["ledger"], parts, strict=True):
        assert entry["scale"] == pytest.approx(scale_of(called_) if scale is None else scale, rel=1e-9)
        assert entry[unit] == pytest.approx(cost(called_, far, gaussian), rel=1e-9)
    spreads = np.concatenate([np.full(call.values.size, call.scale) for call in drawn]) * (1 if gaussian else math.sqrt(2))
    assert measured.spreads == pytest.approx(spreads, rel=1e-9)
    assert_source(mechanism)


def test_every_mechanism_is_held_to_what_it_states() -> None:
    apart = {"contingency", "dp_cda", "dp_gan", "dp_merf", "private_sampling", "noisy_reweighting"}
    listed = {config.name for config, _ in ADDING_UP.values()} | {config.name for config in ON_POINTS}
    assert listed | apart == set(MECHANISMS)
