"""What every registered mechanism must do. Of a new one, ``tests/mechanisms/<name>/case.py`` says what to try."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.errors import DpsynError, InputError, NotCalibratedError, ParameterError
from dpsyn.mechanisms import base, points
from dpsyn.mechanisms.base import Config, no_progress, run_all
from dpsyn.mechanisms.dp_cda import _mechanism as dp_cda
from dpsyn.mechanisms.dp_gan import mechanism as dp_gan
from dpsyn.mechanisms.private_sampling import _mechanism as private_sampling
from dpsyn.mechanisms.registry import MECHANISMS
from dpsyn.privacy.histograms import bins_of
from dpsyn.privacy.spec import DEMO_ASSUMPTION
from dpsyn.table import Table
from tests.conformance.case import Case
from tests.conformance.neighbours import Deaf, called
from tests.conftest import mixed_table

TABLE = mixed_table()


CASES: dict[str, Case] = {name: import_module(f"tests.mechanisms.{name}.case").CASE for name in MECHANISMS}
each = pytest.mark.parametrize("name", sorted(CASES))


def run(config: Config, spec: dpsyn.PrivacySpec, seed: int | None = 5, table: dpsyn.Table = TABLE) -> dpsyn.Release:
    mechanism = config.calibrate(spec, table.domain, n=table.n)
    return mechanism(None if seed is None else np.random.default_rng(seed), table)


def two_way(codes: np.ndarray, shape: tuple[int, ...]) -> dict[tuple[int, int], np.ndarray]:
    tables = {}
    for i, j in combinations(range(len(shape)), 2):
        counts = np.bincount(codes[:, i] * shape[j] + codes[:, j], minlength=shape[i] * shape[j])
        tables[i, j] = counts / counts.sum()
    return tables


def independent(codes: np.ndarray, shape: tuple[int, ...]) -> dict[tuple[int, int], np.ndarray]:
    one = [np.bincount(codes[:, j], minlength=size) / len(codes) for j, size in enumerate(shape)]
    return {(i, j): np.outer(one[i], one[j]).ravel() for i, j in combinations(range(len(shape)), 2)}


def total_variation(a: dict, b: dict) -> np.ndarray:
    return np.array([np.abs(a[key] - b[key]).sum() / 2 for key in a])


@each
def test_columns_categories_and_number_of_rows_are_kept(name):
    case = CASES[name]
    release = run(case.config, case.spec)
    assert list(release.rows.columns) == list(TABLE.domain.names)
    assert len(release.rows) == 20
    TABLE.domain.encode(release.rows)  # raises if a value is outside the domain
    assert release.rows["age"].between(0, 99).all()
    assert pd.api.types.is_integer_dtype(release.rows["age"])
    assert release.rows["dose"].between(0, 1).all()


OPEN = TABLE.domain.replace("dose", missing=True)
MADE = pd.concat(
    [
        TABLE.frame.head(2),
        pd.DataFrame(
            {
                "smokes": ["yes", "no", "no", "yes"],
                "colour": ["green", "blue", "red", "red"],
                "age": [0, 99, 17, 17],
                "dose": [0.0, 1.0, 1 / 3, np.nan],
            }
        ),
    ]
)
OTHERS = [
    TABLE.frame.assign(smokes="no", colour="blue", age=40, dose=0.5),
    TABLE.frame.assign(dose=TABLE.frame["dose"].where(np.arange(TABLE.n) % 2 > 0)),
    TABLE.frame.iloc[::-1].astype({"age": "int8", "dose": "float32"}),
]
"""As many rows of other ends, decimals, categories, empty cells and types.

``MADE`` has rows at both bounds and beyond what a real row has, some of them real, with an index of their own."""


@each
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_what_is_given_out_is_what_the_run_made_whatever_the_rows_are(name, neighbouring, monkeypatch):
    """Nothing of the rows comes to it, or to what is said of it: other ends, decimals, categories and empty cells."""
    config, spec = CASES[name].config, replace(CASES[name].spec, neighbouring=neighbouring)
    config = replace(config, size=8) if name == "dp_mix" else config  # which has to be given where n is a secret
    frames = [TABLE.frame, *OTHERS]
    if neighbouring == "add_remove":
        frames += [OTHERS[0].head(1), pd.concat(OTHERS)]
    found = []
    for frame in frames:
        table, steps, handed = (
            Table(frame, OPEN),
            [],
            {"n": len(frame), "ends": (float(frame["age"].min()), str(frame["dose"]))},
        )
        mechanism = config.calibrate(spec, OPEN, table.n)
        mechanism.facts()
        known = set(vars(mechanism))
        monkeypatch.setattr(type(mechanism), "_run", lambda *_, handed=handed: (MADE.copy(), handed))
        release = mechanism(None, table, lambda *step, steps=steps: steps.append(step))
        pd.testing.assert_frame_equal(release.rows, MADE, check_exact=True)
        assert release.diagnostics is handed
        for job in (base.run(mechanism, table, None, no_progress), run_all({"": mechanism}, table, no_progress)[""][0]):
            pd.testing.assert_frame_equal(job.rows, MADE, check_exact=True)
            assert job.record() == release.record()
        assert set(vars(mechanism)) == known
        rest = {name: value for name, value in vars(release).items() if name not in ("rows", "diagnostics")}
        found.append((rest, release.record(), release.notes, repr(release), release.tables, release.rows.attrs, steps))
    assert all(one == found[0] for one in found)
    assert found[0][-3:] == ({}, {}, [("handing over the rows", 1.0)])


def cache_of_one(make: Any) -> Any:
    """What it made first, whatever it is asked for later."""
    made: list[Any] = []
    return lambda *asked: (made or made.append(make(*asked)) or made)[0]


class DeafToAll(Deaf):
    """Answers by its seed alone to real numbers, too."""

    def gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        return 300 + self.answers.uniform(-1, 1, values.shape)


WITH_TABLES = {"aim", "contingency", "independent", "mst", "mwem", "privbayes", "privsyn"}
"""Mechanisms whose noisy tables are given out."""


@each
def test_all_that_is_learned_of_the_rows_is_told_by_the_noise(name, monkeypatch):
    """Rows, noisy tables, all that is said of them and steps of a whole call are those of another table where the noise
    answers alike."""
    case, found = CASES[name], []
    # Private sampling has no noise: its rows are drawn from densities, here those of the first table.
    monkeypatch.setattr(private_sampling, "match", cache_of_one(private_sampling.match))
    for frame in (TABLE.frame, *OTHERS):
        answers = np.random.default_rng(6)
        noise = lambda *_, answers=answers, **__: lambda values: answers.uniform(-1, 1, values.shape)  # noqa: E731
        for module in (dp_cda, dp_gan, points):
            monkeypatch.setattr(module, "gaussian_noise", noise)
        steps: list[Any] = []
        table = Table(frame, OPEN)
        mechanism = case.config.calibrate(case.spec, OPEN, table.n)
        found.append(
            (called(DeafToAll(0, 300, 100), mechanism, table, lambda *step, steps=steps: steps.append(step)), steps)
        )
    first, at_first = found[0]
    assert bool(first.tables) == (name in WITH_TABLES)
    for release, steps in found[1:]:
        pd.testing.assert_frame_equal(release.rows, first.rows, check_exact=True)
        assert (release.record(), release.notes) == (first.record(), first.notes)
        assert list(release.tables) == list(first.tables)
        for columns, counts in release.tables.items():
            pd.testing.assert_frame_equal(counts, first.tables[columns], check_exact=True)
        assert name == "private_sampling" or steps == at_first  # whose program tells how it gets on


@each
def test_same_seed_same_rows_and_different_seeds_differ(name):
    case = CASES[name]
    pd.testing.assert_frame_equal(run(case.config, case.spec, 5).rows, run(case.config, case.spec, 5).rows)
    assert not run(case.config, case.spec, 5).rows.equals(run(case.config, case.spec, 6).rows)


@each
def test_without_a_generator_runs_differ_and_are_no_demonstration(name):
    case = CASES[name]
    first, second = run(case.config, case.spec, None), run(case.config, case.spec, None)
    assert not first.rows.equals(second.rows)
    assert not first.seeded
    assert first.guarantee.status == "proven"
    assert DEMO_ASSUMPTION not in first.guarantee.assumptions


def everybodys() -> tuple[Any, str]:
    """The state of the generators that anybody may set."""
    return random.getstate(), str(np.random.get_state())  # noqa: NPY002


@each
def test_without_a_generator_all_is_drawn_by_the_runs_own_source(name, monkeypatch):
    """No generator of a seed that is known, and none that anybody else can set."""
    case = CASES[name]
    mechanism = case.config.calibrate(case.spec, TABLE.domain, n=TABLE.n)
    mechanism.calibrated()
    run(case.config, case.spec, None)  # packages make generators while they are imported
    made, before = [], everybodys()
    for kind in ("default_rng", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"):
        true = getattr(np.random, kind)
        monkeypatch.setattr(np.random, kind, lambda *a, _kind=kind, _true=true, **k: made.append(_kind) or _true(*a, **k))
    mechanism(None, TABLE)
    assert made == ["Philox"]
    assert everybodys() == before


@each
def test_a_seeded_run_says_that_it_is_a_demonstration(name):
    case = CASES[name]
    release = run(case.config, case.spec)
    assert release.guarantee.status == "demonstration"
    assert "without a guarantee" in str(release.guarantee)
    assert release.guarantee.assumptions.count(DEMO_ASSUMPTION) == 1
    mechanism = case.config.calibrate(case.spec, TABLE.domain, n=TABLE.n)
    assert mechanism.claim(seeded=True) == release.guarantee
    assert mechanism.claim(seeded=False) == mechanism.guarantee
    record = json.loads(json.dumps(release.record()))
    assert record["demonstration"] is True
    assert record["guarantee"]["status"] == "demonstration"
    assert record["guarantee"]["epsilon"] == release.guarantee.epsilon
    assert record["versions"]["numpy"] == np.__version__
    assert "seed" not in record


@each
def test_the_guarantee_is_stated_before_the_run_and_is_what_was_asked_for(name):
    case = CASES[name]
    mechanism = case.config.calibrate(case.spec, TABLE.domain, n=TABLE.n)
    release = mechanism(None, TABLE)
    before, after = mechanism.guarantee, release.guarantee
    assert 0 < before.epsilon <= case.spec.epsilon
    assert before.delta <= case.spec.delta
    assert (before.epsilon, before.delta, before.neighbouring, before.status) == (
        after.epsilon,
        after.delta,
        "replace_one",
        "proven",
    )
    # Also where fine histograms of numbers come first.
    assert sum(said.startswith("The number of r") and "n is public" in said for said in before.assumptions) == 1
    json.dumps(mechanism.calibrated())


@each
def test_an_unconfirmed_domain_is_never_called_proven(name):
    case = CASES[name]
    age = replace(TABLE.domain["age"], public=False)
    table = TABLE.with_domain(TABLE.domain.replace(age))
    guarantee = run(case.config, case.spec, None, table).guarantee
    assert guarantee.status == "unconfirmed_domain"
    assert "age" in guarantee.assumptions[0]


@each
def test_a_huge_epsilon_brings_back_the_marginals_and_their_dependence(name):
    case = CASES[name]
    release = run(case.faithful, case.faithful_spec)
    shape = TABLE.domain.shape
    # In the bins that a mechanism would choose without noise.
    bins = bins_of(TABLE)
    real_codes, synthetic_codes = bins.codes(TABLE), bins.codes(Table(release.rows, TABLE.domain))
    tables = two_way if case.keeps_dependence else independent
    real = tables(real_codes, shape)
    assert total_variation(real, tables(synthetic_codes, shape)).max() < case.error
    if case.keeps_dependence:
        assert total_variation(real, independent(synthetic_codes, shape)).max() > 0.25


@each
def test_rows_come_in_random_order(name):
    """Neighbours are no more alike than any two rows, in whatever order rows are made: of a class, or of the domain."""
    rows = run(replace(CASES[name].config, rows=400), CASES[name].faithful_spec).rows
    for column in TABLE.domain.encode(rows).T:
        if np.ptp(column):
            assert abs(np.corrcoef(column[:-1], column[1:])[0, 1]) < 5 / np.sqrt(400)
            assert abs(np.corrcoef(column, np.arange(400))[0, 1]) < 5 / np.sqrt(400)


@each
def test_a_release_without_empty_cells_says_so(name):
    case = CASES[name]
    domain = TABLE.domain.replace("dose", missing=True)
    frame = TABLE.frame.assign(dose=TABLE.frame["dose"].where(np.arange(TABLE.n) % 2 > 0))
    release = run(case.faithful, case.faithful_spec, table=Table(frame, domain))
    assert release.rows["dose"].isna().any() != any("No cell of 'dose' is empty" in note for note in release.notes)
    assert not any("is empty" in note for note in run(case.config, case.spec).notes)


@each
def test_a_release_whose_numbers_the_noise_cut_off_says_so(name):
    """Where they are cut off at all: of 'age', which lies within its bounds in the data."""
    case = CASES[name]
    ages = TABLE.frame["age"]
    bounds = TABLE.domain["age"].lower, TABLE.domain["age"].upper
    assert ages.isin(bounds).mean() < 0.2
    assert not any("lie on a bound" in note for note in run(case.faithful, case.faithful_spec).notes)
    release = run(case.config, case.spec)
    cut_off = release.rows["age"].isin(bounds).mean() > 0.5
    assert any("lie on a bound" in note and "'age'" in note for note in release.notes) is bool(cut_off)
    assert not any(note.endswith("..") for note in release.notes)


@each
def test_wrong_parameters_raise_with_the_fields_name(name):
    case = CASES[name]
    for parameter, value in case.wrong.items():
        with pytest.raises(ParameterError) as caught:
            replace(case.config, **{parameter: value}).calibrate(case.spec, TABLE.domain, n=TABLE.n)
        assert caught.value.field == parameter


@each
def test_an_uncalibrated_mechanism_cannot_run(name):
    with pytest.raises(NotCalibratedError, match="calibrate"):
        CASES[name].config(np.random.default_rng(1), TABLE)


@each
def test_a_mechanism_runs_only_on_what_it_was_calibrated_to(name):
    case = CASES[name]
    mechanism = case.config.calibrate(case.spec, TABLE.domain, n=TABLE.n)
    with pytest.raises(ParameterError) as caught:
        mechanism(np.random.default_rng(1), TABLE.take(np.arange(100)))
    assert caught.value.field == "n"
    other = TABLE.domain.replace(replace(TABLE.domain["age"], upper=120))
    with pytest.raises(InputError, match="domain"):
        mechanism(np.random.default_rng(1), TABLE.with_domain(other))


@each
def test_a_guarantee_beyond_the_specification_cannot_be_built(name):
    case = CASES[name]
    mechanism = case.config.calibrate(case.spec, TABLE.domain, n=TABLE.n)
    with pytest.raises(ParameterError, match="guarantee"):
        replace(mechanism, guarantee=replace(mechanism.guarantee, epsilon=case.spec.epsilon * 1.01))


@each
def test_progress_reaches_the_end_and_never_goes_back(name):
    case = CASES[name]
    seen: list[tuple[str, float]] = []
    report: Callable[[str, float], None] = lambda step, share: seen.append((step, share))  # noqa: E731
    case.config.calibrate(case.spec, TABLE.domain, n=TABLE.n)(np.random.default_rng(1), TABLE, report)
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(seen) >= 3


@each
def test_everything_survives_a_trip_to_another_process(name):
    import pickle

    case = CASES[name]
    mechanism = pickle.loads(pickle.dumps(case.config.calibrate(case.spec, TABLE.domain, n=TABLE.n)))
    release = pickle.loads(pickle.dumps(mechanism(np.random.default_rng(5), TABLE)))
    pd.testing.assert_frame_equal(release.rows, run(case.config, case.spec, 5).rows)


@each
def test_faults_are_of_our_own_kind(name):
    case = CASES[name]
    for spec, domain, n in (
        (case.spec, TABLE.domain, 0),
        (case.spec, TABLE.domain, True),
        (case.spec, TABLE.domain, 2.5),
        (case.spec, TABLE.domain, None),
        (1.0, TABLE.domain, TABLE.n),
        (case.spec, TABLE, TABLE.n),
    ):
        with pytest.raises(DpsynError):
            case.config.calibrate(spec, domain, n=n)
    narrow = replace(TABLE.domain["dose"], lower=0.0, upper=5e-324, bins=1)
    with pytest.raises(DpsynError, match="dose"):
        case.config.calibrate(case.spec, TABLE.domain.replace(narrow), n=TABLE.n)
