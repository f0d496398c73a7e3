"""Every public call with odd arguments works or raises a DpsynError: nothing else, and no guarantee that is no number.

Each argument of each call is replaced by every odd value in turn; Hypothesis replaces several at once. With
``DPSYN_FUZZ=random`` (``make fuzz``) the values and what they replace are new every time.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dpsyn
from dpsyn.data.code_books import read_code_book
from dpsyn.data.schema_file import is_schema
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DataError, DpsynError, ParameterError
from dpsyn.evaluation.baseline import real_baseline
from dpsyn.evaluation.experiments import (
    CellResult,
    Experiment,
    Grid,
    MadeRelease,
    Point,
    Workspace,
    archive_text,
    config_from_dict,
    config_to_dict,
    crossings,
    read_archive,
    results_frame,
    run_grid,
    summarise,
)
from dpsyn.mechanisms.audit import audit_answers, audit_points, audit_worst_case, bits, small_tables
from dpsyn.mechanisms.dp_cda.accounting.plan import plan_order_of_mixture
from dpsyn.mechanisms.dp_cda.audit import audit_dp_cda, audit_published_dp_cda
from dpsyn.mechanisms.feasibility import side_by_side, verdict_json, verdict_markdown, verdict_of
from dpsyn.mechanisms.noisy_reweighting.audit import audit_noisy_reweighting
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily
from dpsyn.mechanisms.records import verify
from dpsyn.mechanisms.registry import MECHANISMS, as_it_comes, config_class
from dpsyn.privacy import dp_cda_epsilon, dp_cda_noise_scale
from dpsyn.privacy.audit import audit
from dpsyn.privacy.noise import NoiseSource
from dpsyn.table import Table
from dpsyn.theory.datasets import CAR, ideal_cube

DOMAIN = Domain.of(
    [
        Attribute("x", "numeric", lower=0.0, upper=1.0, bins=3, public=True),
        Attribute("k", "truth", (False, True), public=True),
        Attribute("c", "categorical", ("a", "b"), public=True),
    ]
)
_CYCLE = np.arange(24)
TABLE = Table(pd.DataFrame({"x": _CYCLE % 7 / 7, "k": _CYCLE % 2 == 0, "c": np.where(_CYCLE % 3 > 0, "a", "b")}), DOMAIN)
SPEC = dpsyn.PrivacySpec(50.0, 1e-5)


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


class RaisingSequence(Sequence[Any]):
    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __getitem__(self, at: Any) -> Any:
        raise KeyError(at)


class RaisingMapping(Mapping[Any, Any]):
    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Any]:
        return iter(["x"])

    def __getitem__(self, name: Any) -> Any:
        raise RuntimeError("no member")


ODD: dict[str, Any] = {
    "raising sequence": RaisingSequence(),
    "raising mapping": RaisingMapping(),
    "list of raising sequence": [RaisingSequence()],
    "dict of raising mapping": {"x": RaisingMapping()},
    "None": None,
    "True": True,
    "False": False,
    "empty text": "",
    "text": "x",
    "bytes": b"x",
    "digits": "3",
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "-1": -1,
    "0": 0,
    "2": 2,
    "-0.0": -0.0,
    "0.5": 0.5,
    "2.5": 2.5,
    "subnormal": 5e-324,
    "1e-300": 1e-300,
    "1e308": 1e308,
    "2^31": 2**31,
    "2^53": 2**53,
    "2^63": 2**63,
    "-2^63": -(2**63),
    "10^400": 10**400,
    "10^5000": 10**5000,
    "int64": np.int64(1),
    "int64 < 0": np.int64(-5),
    "float32": np.float32(0.5),
    "float64 nan": np.float64(math.nan),
    "float16 inf": np.float16(math.inf),
    "bool_": np.bool_(True),
    "array of none": np.array([]),
    "array": np.array([1, 2]),
    "array of texts": np.array(["x"]),
    "0-d": np.array(1.0),
    "matrix": np.ones((2, 2)),
    "list": [],
    "list of None": [None],
    "list of text": ["x"],
    "list of nan": [math.nan],
    "mixed": [1, "a"],
    "nested": [[1], [2]],
    "tuple": (1, 2),
    "dict": {},
    "dict of text": {"a": "b"},
    "dict of None": {None: None},
    "set": {1},
    "range": range(3),
    "object": object(),
    "unprintable": Unprintable(),
    "function": lambda *a, **k: None,
    "type": int,
    "complex": 1 + 2j,
    "Decimal": Decimal(1),
    "Fraction": Fraction(1, 3),
    "NA": pd.NA,
    "NaT": pd.NaT,
    "date": date(2020, 1, 1),
    "frame": pd.DataFrame(),
    "series": pd.Series([1.0]),
    "iterator": iter([1]),
    "spec": SPEC,
    "table": TABLE,
    "domain": DOMAIN,
    "exception": ValueError("x"),
    "surrogate": "\ud800",
    "NUL": "\x00",
}


def _calibrated(name: str) -> Any:
    configs = {
        "dp_cda": dpsyn.DPCDA("k", rows=4, class_sizes=8),
        "private_sampling": dpsyn.PrivateSampling(rows=4),
        "dual_query": dpsyn.DualQuery(rows=4, rounds=2),
        "dp_gan": dpsyn.DPGAN(rows=4, steps=2),
    }
    return configs.get(name, config_class(name)(rows=4)).calibrate(SPEC, DOMAIN, n=TABLE.n)


def _configured(kind: Any) -> Callable[..., Any]:
    """Make the configuration, calibrate it, and run it: what it lets through must not fail later."""

    def call(**settings: Any) -> Any:
        mechanism = kind(**settings).calibrate(SPEC, DOMAIN, n=TABLE.n)
        claim = mechanism.guarantee
        assert claim.status == "published_but_wrong" or 0 <= claim.epsilon <= SPEC.epsilon * (1 + 1e-9)
        release = mechanism(np.random.default_rng(1), TABLE)
        assert not release.rows.isna().any(axis=None)
        return release

    return call


def _scores(runs: int, generator: np.random.Generator) -> np.ndarray:
    return generator.normal(size=runs)


@dataclass(frozen=True)
class Call:
    """A public call and arguments with which it works."""

    function: Callable[..., Any]
    arguments: dict[str, Any]


def _kept(thing: Any, **given: Any) -> None:
    """Make it anew, and use it: what is accepted is read back where it can be written."""
    made = replace(thing, **given)
    if isinstance(made, CellResult):
        results_frame([made])
        json.dumps(made.to_dict())
    elif isinstance(made, Point):
        crossings([made], 0.5, "below")
    elif isinstance(made, MadeRelease | Experiment):
        of_kind = [made] if isinstance(made, MadeRelease) else [], [made] if isinstance(made, Experiment) else []
        found = read_archive(archive_text(*of_kind))
        assert not found.set_aside, found.set_aside


def _settings(kind: Any, **given: Any) -> dict[str, Any]:
    return {field.name: getattr(kind(**given), field.name) for field in fields(kind)}


_CDA = {"delta": 1e-3, "order_of_mixture": 2, "clip": 1.0, "class_counts": [6, 8], "rows_per_class": 1}
_MORE = {"accountant": "exact", "neighbouring": "replace_one", "variant": "fixed_size"}
_FEASIBILITY = {
    "stats": CAR,
    "spec": dpsyn.PrivacySpec(1.0, 1e-5),
    "degree": 2,
    "rows": 10,
    "reduced_space_size": 100,
    "failure_probability": 0.1,
    "floor": 0.25,
    "ceiling": 2.0,
    "accuracy": 0.1,
    "order_of_mixture": 4,
    "classes": 4,
    "smallest_class": 60,
    "noise_scale": 1.0,
    "clip_norm": 1.0,
    "statistics": "auto",
    "noise": "laplace",
    "condition_number": 3.0,
    "rounds": 5,
    "exact_accounting": False,
}
_EVALUATE = {
    "table": TABLE,
    "rows": TABLE.frame,
    "holdout": None,
    "target": None,
    "degrees": (1,),
    "max_subsets": None,
    "queries": 3,
    "generator": None,
    "models": None,
    "baseline": None,
}
GRID = Grid({"mine": dpsyn.MWEM(rounds=1, rows=3)}, SPEC, values=(1.0,), repeats=1, draws=1)
BASELINE = real_baseline(TABLE, degrees=(1,), queries=3)
RESULTS = run_grid(GRID, TABLE, baseline=BASELINE, backend="here")

RUNS: dict[str, Any] = {"runs": 10, "confidence": 0.9, "generator": None}
PUBLISHED = dpsyn.DPCDA.as_published("k", 2, 4).calibrate(SPEC, DOMAIN, TABLE.n)
REWEIGHTING = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(2.0), bits(2), 2)
VERDICTS = dpsyn.feasibility(CAR, SPEC)
POINT = summarise(RESULTS, "1-way error, mean")[0]
KEPT: dict[str, Any] = {
    "CellResult": RESULTS[0],
    "Point": POINT,
    "Crossing": crossings([POINT], 0.5, "below")[0],
    "Experiment": Experiment(1, "one", "rows", "f00", GRID, None, (1,), ()),
    "MadeRelease": MadeRelease(1, "one", _calibrated("mwem")(np.random.default_rng(1), TABLE), 1, "rows", DOMAIN),
}
CLAIM = dpsyn.Guarantee(1.0, 0.0, "replace_one", "a source").to_dict()
BOOK = read_code_book({"properties": {"x": {"type": "number"}, "k": {"type": "boolean"}, "c": {"enum": ["a", "b"]}}})

LABELLED: dict[str, dict[str, Any]] = {
    "numbers": {"kind": "numeric", "lower": 0.0, "upper": 9.0},
    "cents": {"kind": "numeric", "lower": 0.0, "upper": 1.0, "unit": 0.01},
    "dates": {"kind": "date", "lower": 0, "upper": 99},
}

CALLS: dict[str, Call] = {
    "PrivacySpec": Call(dpsyn.PrivacySpec, {"epsilon": 1.0, "delta": 0.0, "neighbouring": "replace_one", "unit": "row"}),
    "NoisyReweighting": Call(_configured(dpsyn.NoisyReweighting), _settings(dpsyn.NoisyReweighting, rows=4, refinements=1)),
    "PrivateSampling": Call(_configured(dpsyn.PrivateSampling), _settings(dpsyn.PrivateSampling, rows=4)),
    "DPCDA": Call(_configured(dpsyn.DPCDA), _settings(dpsyn.DPCDA, target="k", rows=4, class_sizes=8)),
    "MWEM": Call(_configured(dpsyn.MWEM), _settings(dpsyn.MWEM, rows=4, rounds=2)),
    "as_published (DP-CDA)": Call(
        _configured(dpsyn.DPCDA.as_published), {"target": "k", "order_of_mixture": 2, "rows": 4, "clip_norm": 1.0}
    ),
    "as_published (noisy reweighting)": Call(
        _configured(dpsyn.NoisyReweighting.as_published),
        {"degree": 1, "statistics": "auto", "rows": 4, "reduced_space_size": None},
    ),
    **{
        f"{name}.calibrate": Call(_calibrated(name).config.calibrate, {"spec": SPEC, "domain": DOMAIN, "n": TABLE.n})
        for name in MECHANISMS
    },
    **{f"{name}()": Call(_calibrated(name), {"generator": np.random.default_rng(1), "table": TABLE}) for name in MECHANISMS},
    "feasibility": Call(lambda **given: dpsyn.feasibility(**given).to_dict(), _FEASIBILITY),
    "ideal_cube": Call(ideal_cube, {"p": 8}),
    "dp_cda_epsilon": Call(dp_cda_epsilon, {"noise_scale": 1.0, **_CDA, **_MORE, "tolerance": 0.1}),
    "dp_cda_noise_scale": Call(dp_cda_noise_scale, {"epsilon": 1.0, **_CDA, **_MORE, "tolerance": 0.1}),
    "dp_cda_epsilon, published": Call(partial(dp_cda_epsilon, accountant="published"), {"noise_scale": 1.0, **_CDA}),
    "dp_cda_noise_scale, published": Call(partial(dp_cda_noise_scale, accountant="published"), {"epsilon": 9.0, **_CDA}),
    "plan_order_of_mixture": Call(
        plan_order_of_mixture,
        {"epsilon": 1.0, "delta": 1e-3, "clip": 1.0, "class_counts": 8, "rows_per_class": 1, "orders": (2,), "dimension": 1},
    ),
    "private_statistics": Call(dpsyn.private_statistics, {"source": TABLE, "spec": SPEC, "noise": None, "domain": None}),
    "local_loss": Call(
        dpsyn.local_loss,
        {
            "config": dpsyn.PrivateSampling(degree=1, rows=1),
            "table": TABLE,
            "neighbouring": "replace_one",
            "method": "random",
            "tries": 1,
            "generator": None,
        },
    ),
    "evaluate": Call(dpsyn.evaluate, _EVALUATE),
    "real_baseline": Call(
        real_baseline, {name: value for name, value in _EVALUATE.items() if name not in ("rows", "models", "baseline")}
    ),
    "Grid": Call(
        lambda **given: list(Grid(**given).cells()),
        {"configs": GRID.configs, "spec": SPEC, "vary": "epsilon", "values": (1.0,), "repeats": 1, "draws": 1, "seed": 0},
    ),
    "Grid.from_dict": Call(lambda **given: Grid.from_dict(given), GRID.to_dict()),
    "Grid.counts_at": Call(GRID.counts_at, {"label": "x", "value": 1.0}),
    "CellResult.from_dict": Call(
        lambda **given: CellResult.from_dict(RESULTS[0].to_dict() | given).budget,
        {name: RESULTS[0].to_dict()[name] for name in ("asked", "guarantee")},
    ),
    "CellResult.from_dict, asked": Call(
        lambda **given: CellResult.from_dict(RESULTS[0].to_dict() | {"asked": given}).budget, RESULTS[0].asked
    ),
    **{
        f"labels of {name}": Call(Attribute(name, public=True, **bounds).labels, {"edges": np.array([0.0, 2.0, 9.0])})
        for name, bounds in LABELLED.items()
    },
    **{f"{name}.as_it_comes": Call(config_class(name).as_it_comes, {"rows": 4, "target": "k"}) for name in MECHANISMS},
    "run_grid": Call(
        run_grid,
        {
            "grid": GRID,
            "table": TABLE,
            "holdout": None,
            "target": None,
            "degrees": (1,),
            "baseline": BASELINE,
            "backend": "here",
            "scheduler": None,
            "done": RESULTS,
            "on_result": None,
        },
    ),
    "summarise": Call(summarise, {"results": RESULTS, "measure": "1-way error, mean"}),
    "crossings": Call(
        crossings,
        {"points": summarise(RESULTS, "1-way error, mean"), "wish": 0.5, "direction": "below", "logarithmic": True},
    ),
    "audit_worst_case": Call(audit_worst_case, {"name": "independent", "spec": SPEC, **RUNS}),
    "audit_dp_cda": Call(
        audit_dp_cda, {"mechanism": _calibrated("dp_cda"), "pair": "label_change", "noise_factor": 1.0, **RUNS}
    ),
    "audit_published_dp_cda": Call(audit_published_dp_cda, {"mechanism": PUBLISHED, **RUNS}),
    "audit_noisy_reweighting": Call(
        audit_noisy_reweighting, {"mechanism": REWEIGHTING, "noise_factor": 1.0, "keep_bits": False, **RUNS}
    ),
    "audit_points": Call(
        audit_points,
        {"config": dpsyn.LocalPerturbation(rows=1), "spec": SPEC, "n": 1, "picked": 1, **RUNS},
    ),
    "bits": Call(bits, {"columns": 2}),
    "small_tables": Call(small_tables, {"columns": 2, "rows": 2, "spec": SPEC}),
    **{
        f"{name}.redraw": Call(_calibrated(name).redraw, {"generator": None, "release": _calibrated(name)(None, TABLE)})
        for name in ("private_sampling", "noisy_reweighting", "dp_cda", "mst", "dp_merf")
    },
    "claim": Call(_calibrated("mwem").claim, {"seeded": True}),
    "epsilon_needed": Call(dpsyn.PrivateSampling().epsilon_needed, {"spec": SPEC, "domain": DOMAIN, "n": TABLE.n}),
    "as_it_comes": Call(as_it_comes, {"name": "private_sampling", "table": TABLE, "target": None}),
    "verdict_of": Call(verdict_of, {"mechanism": "mwem", "stats": CAR, "spec": SPEC}),
    "side_by_side": Call(side_by_side, {"verdicts": [VERDICTS]}),
    "verdict_json": Call(verdict_json, {"verdicts": [VERDICTS], "settings": {"degree": 2}, "private": True}),
    "verdict_markdown": Call(verdict_markdown, {"verdicts": [VERDICTS], "settings": {"degree": 2}, "private": True}),
    "is_schema": Call(is_schema, {"data": "{}"}),
    **{
        kind: Call(partial(_kept, one), {field.name: getattr(one, field.name) for field in fields(one)})
        for kind, one in KEPT.items()
    },
    "Guarantee.from_dict": Call(dpsyn.Guarantee.from_dict, {"data": CLAIM}),
    "Guarantee.from_dict, parts": Call(lambda **given: dpsyn.Guarantee.from_dict(given), CLAIM),
    "verify": Call(verify, {"record": _calibrated("mwem")(None, TABLE).record(), "domain": None}),
    "config_from_dict": Call(config_from_dict, {"data": config_to_dict(dpsyn.MWEM())}),
    "config_from_dict, parts": Call(lambda **given: config_from_dict(given), config_to_dict(dpsyn.PrivSyn())),
    "archive_text": Call(archive_text, {"releases": [], "experiments": []}),
    "CodeBook.project": Call(BOOK.project, {"names": ["c"]}),
    "CodeBook.domain": Call(BOOK.domain, {"rows": TABLE}),
    "NoiseSource": Call(NoiseSource, {"generator": None}),
    "audit": Call(audit, {"first": _scores, "second": _scores, "runs": 20, "delta": 0.0, "confidence": 0.9, "claim": None}),
    "FunctionFamily": Call(
        FunctionFamily,
        {
            "functions": [lambda codes: codes[:, 0] / 4],
            "sizes": (3, 2, 2),
            "low": 0.0,
            "high": 1.0,
            "unit": 0.25,
            "names": None,
        },
    ),
}


RANDOM = os.environ.get("DPSYN_FUZZ") == "random"


def survives(call: Call, arguments: dict[str, Any]) -> bool:
    """Whether the call gave something; a DpsynError is no failure, anything else is one."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            call.function(**arguments)
        except DpsynError:
            return False
    return True


@pytest.mark.parametrize("name", CALLS)
def test_what_it_is_tried_with_works(name: str) -> None:
    call = CALLS[name]
    assert survives(call, call.arguments)


@pytest.mark.parametrize(
    "call",
    [
        partial(_calibrated("mwem"), None, TABLE),
        partial(dpsyn.local_loss, dpsyn.PrivateSampling(degree=1, rows=1), TABLE),
        partial(audit_worst_case, "independent", SPEC, runs=20),
        partial(audit, _scores, _scores, runs=20),
    ],
)
def test_progress_is_told_to_a_function(call: Callable[..., object]) -> None:
    with pytest.raises(ParameterError, match="progress = 7 is not possible: a function of a step and a share"):
        call(progress=7)


@pytest.mark.parametrize("name", CALLS)
def test_one_odd_argument(name: str) -> None:
    call, wrong = CALLS[name], []
    for field in call.arguments:
        for what, value in ODD.items():
            try:
                survives(call, call.arguments | {field: value})
            except Exception as fault:  # noqa: BLE001
                wrong.append(f"{field} = {what}: {type(fault).__name__}: {str(fault)[:90]}")
    assert not wrong, "\n".join(wrong)


def test_what_is_of_another_kind_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("k\nyes\nno\nyes\n")
    read = partial(dpsyn.read_table, tmp_path / "rows.csv")
    rows = dpsyn.DPCDA("k", rows=4, class_sizes=8)
    wrong: list[tuple[str, Callable[[], object]]] = [
        ("spec", lambda: audit_worst_case("mwem", 4.0)),
        ("mechanism", lambda: audit_dp_cda(rows)),
        ("mechanism", lambda: audit_published_dp_cda(_calibrated("dp_cda"))),
        ("mechanism", lambda: audit_noisy_reweighting(_calibrated("mwem"))),
        ("pair", lambda: audit_dp_cda(_calibrated("dp_cda"), pair=pd.array([1, None]))),
        *(("names", lambda names=names: BOOK.project(names)) for names in (7, "kc", {"x": 1})),
        *(("rows", lambda rows=rows: BOOK.domain(rows)) for rows in (TABLE.frame, "rows.csv")),
        *(("name", lambda name=name: read(name=name, in_place=True)) for name in (math.nan, np.ones(2))),
        ("folder", lambda: Workspace(10**5000)),
        ("keep_bits", lambda: audit_noisy_reweighting(REWEIGHTING, keep_bits="no")),
        ("profile", lambda: audit_points(dpsyn.LocalPerturbation(rows=1), SPEC, profile=True)),
        ("columns", lambda: bits(2**53 + 1)),
        ("release", lambda: _calibrated("dp_merf").redraw(None, _calibrated("mst")(None, TABLE))),
        ("seeded", lambda: _calibrated("mwem").claim(seeded="no")),
        ("n", lambda: dpsyn.PrivateSampling().epsilon_needed(SPEC, DOMAIN, math.nan)),
        ("value", lambda: GRID.counts_at("mine", "x")),
        ("mechanism", lambda: verdict_of("mst", CAR, SPEC)),
        ("accuracy", lambda: verdict_of("mwem", CAR, SPEC, accuracy=0)),
        ("floor", lambda: verdict_of("mwem", CAR, SPEC, floor=0)),
        ("settings", lambda: verdict_json([], {"epsilon": math.inf}, private=True)),
        ("settings", lambda: verdict_json([], {1: 2, "1": 3}, private=True)),
        ("progress", lambda: audit_answers(config_class("mst")(), SPEC, progress=[])),
        ("private", lambda: verdict_markdown([VERDICTS], {}, private=pd.NA)),
        *(("target", partial(config_class(name).as_it_comes, 4, math.nan)) for name in MECHANISMS),
        ("tables", lambda: dpsyn.NoisyReweighting(tables=RaisingSequence())),
        ("selection", lambda: dpsyn.PrivSyn(selection=RaisingSequence())),
        ("rows", lambda: dpsyn.DPCDA("k", rows=RaisingMapping())),
        ("class_sizes", lambda: dpsyn.DPCDA("k", class_sizes=RaisingMapping())),
        ("config", lambda: config_from_dict(RaisingMapping())),
        ("releases", lambda: archive_text(RaisingSequence(), [])),
        ("results", lambda: summarise(RaisingSequence(), "1-way error, mean")),
        ("columns", lambda: read(columns=RaisingSequence())),
        *(("rows", partial(config_class(name).as_it_comes, rows, "k")) for name in MECHANISMS for rows in (-1, "2")),
        *(("edges", partial(DOMAIN["x"].labels, edges)) for edges in (7, [0.5, 0.2], [0.0, 0.0], [0.0, 1.5])),
    ]
    for field, call in wrong:
        with pytest.raises(ParameterError) as refused:
            call()
        assert refused.value.field == field
    for claim in (None, 3, [], RaisingMapping()):
        with pytest.raises(DataError, match="this is no guarantee"):
            dpsyn.Guarantee.from_dict(claim)


@settings(
    max_examples=600 if RANDOM else 150, derandomize=not RANDOM, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(data=st.data())
def test_several_odd_arguments(data: st.DataObject) -> None:
    """Odd values and numbers of any size in several places at once."""
    name = data.draw(st.sampled_from(sorted(CALLS)), label="call")
    numbers = st.one_of(st.integers(), st.floats(), st.floats(width=32).map(np.float32), st.integers(-9, 99).map(np.int64))
    odd = st.one_of(
        st.sampled_from(sorted(ODD)).map(lambda name: ODD[name]), numbers, st.text(max_size=4), st.lists(numbers, max_size=3)
    )
    fields = data.draw(st.lists(st.sampled_from(sorted(CALLS[name].arguments)), unique=True, max_size=3), label="fields")
    given_ = {field: data.draw(odd, label=field) for field in fields}
    survives(CALLS[name], CALLS[name].arguments | given_)
