"""DP-MERF: what neighbours move, by brute force; what the sums are; and that rows have the embedding they are fitted to."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.claim_formulas import claim_formulas
from dpsyn.mechanisms.dp_merf import embedding
from dpsyn.mechanisms.dp_merf.embedding import UNIT, Features
from dpsyn.privacy.zcdp import zcdp_rho
from tests.conformance.neighbours import Deaf, Exact, alike, asked, neighbours, run

VALUES: dict[str, list[Any]] = {"k": ["p", "q"], "c": ["x", "y", "z"], "b": [0, 1], "x": [0.0, 3.0, 10.0], "y": [-1.0, 1.0]}
DOMAIN = dpsyn.Domain.of(
    [
        dpsyn.Attribute("k", "categorical", ("p", "q"), public=True),
        dpsyn.Attribute("c", "categorical", ("x", "y", "z"), public=True),
        dpsyn.Attribute("b", "truth", (0, 1), public=True),
        dpsyn.Attribute("x", "numeric", lower=0, upper=10, public=True),
        dpsyn.Attribute("y", "numeric", lower=-1, upper=1, public=True),
    ]
)
COLUMNS = {"all": "kcbxy", "no numbers": "kcb", "no categories": "kxy", "numbers alone": "xy", "one number": "x"}


def frame_of(columns: str, count: int = 4) -> pd.DataFrame:
    every = list(product(*(VALUES[name] for name in columns)))
    return pd.DataFrame([every[(7 * at) % len(every)] for at in range(count)], columns=list(columns))


def mechanism_of(columns: str, neighbouring: Any = "replace_one", n: int = 4, **settings: Any) -> Any:
    target = "k" if "k" in columns else None
    config = dpsyn.DPMERF(**{"target": target, "features": 100, "rows": 3, **settings})
    return config.calibrate(dpsyn.PrivacySpec(1.3, 1e-5, neighbouring), DOMAIN.project(list(columns)), n)


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
def test_no_neighbour_costs_more_than_was_asked_for(
    columns: str, neighbouring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Features, "fitted", lambda self, mean, count, generator: np.zeros((count, len(self.numbers))))
    frame = frame_of(columns)
    domain = DOMAIN.project(list(columns))
    values = {name: VALUES[name] for name in columns}
    mechanism = mechanism_of(columns, neighbouring)
    calls, rows = run(mechanism, dpsyn.Table(frame, domain))
    (call,) = calls
    assert (call.kind, call.scale) == ("gaussian", mechanism.noise_scale)
    worst, rho = 0.0, zcdp_rho(1.3, 1e-5)
    for other in neighbours(frame, values, neighbouring):
        table = dpsyn.Table(other, domain)
        theirs, same = run(mechanism_of(columns, neighbouring, table.n), table)
        pd.testing.assert_frame_equal(rows, same)
        (found,) = theirs
        assert found.scale == call.scale
        worst = max(worst, float(((found.values - call.values) ** 2).sum()) / (2 * call.scale**2))
    assert worst <= rho
    # Opposite waves are rare: of a row that is replaced within its class the bound allows for them.
    assert worst > (0.99 if neighbouring == "add_remove" or columns == "kcb" else 0.45) * rho


def test_opposite_waves_move_as_far_as_the_bound_says() -> None:
    """A frequency of π/2 at the bounds -1 and 1, and all categories changed: the worst that a replaced row can do."""
    domain = DOMAIN.project(["c", "b", "x"])
    features = Features(domain, np.full((1, 5), math.pi / 2))
    tables = [
        dpsyn.Table(pd.DataFrame({"c": [c], "b": [b], "x": [x]}), domain) for c, b, x in (("x", 0, 0.0), ("z", 1, 10.0))
    ]
    one, other = (features.sums(table, np.zeros(1, dtype=np.int64), 1) for table in tables)
    moved = math.sqrt(float(((one - other) ** 2).sum()))
    bound = features.sensitivity("replace_one")
    assert moved <= bound
    assert moved == pytest.approx(UNIT * math.sqrt(6), rel=1e-5)
    assert bound == pytest.approx(moved, rel=1e-5)
    alone = math.sqrt(float((one**2).sum()))
    assert alone <= features.sensitivity("add_remove") == pytest.approx(alone, rel=1e-5)


def test_rounding_is_allowed_for() -> None:
    domain = DOMAIN.project(["x"])
    features = Features(domain, np.zeros((1, 500)))
    assert features.sensitivity("add_remove") == UNIT * math.sqrt(2) + math.sqrt(1001) / 2
    assert features.sensitivity("replace_one") == UNIT * 2 + math.sqrt(1001)


def test_sums_are_those_of_the_rows_of_each_class() -> None:
    table = dpsyn.Table(frame_of("kcbxy", 60), DOMAIN)
    others = DOMAIN.project(list("cbxy"))
    features = Features.of(others, 50, np.random.default_rng(0))
    sums = features.sums(table, table.codes[:, 0].astype(np.int64), 2)
    rows, means, counts = features.parts(sums / UNIT)
    for label in range(2):
        inside = table.codes[:, 0] == label
        assert rows[label] == pytest.approx(inside.sum(), rel=1e-5)
        scaled = np.stack([table.frame["x"] / 5 - 1, table.frame["y"]], axis=1)[inside]
        phase = scaled @ features.frequencies
        expected = np.concatenate([np.cos(phase), np.sin(phase)], axis=1).mean(axis=0) / 5
        np.testing.assert_allclose(means[label], expected, atol=1e-5)
        for j, column in enumerate((1, 2)):
            real = np.bincount(table.codes[inside, column], minlength=DOMAIN.shape[column])
            np.testing.assert_allclose(counts[j][label], real, rtol=1e-5)


def test_sums_are_of_rounded_features_of_many_rows() -> None:
    """More rows than are done at a time; 2^20/√3 ends in .6, which is rounded up."""
    random = np.random.default_rng(0)
    names = list("kcbx")
    frame = pd.DataFrame({name: random.choice(VALUES[name], 9000) for name in "kcb"} | {"x": random.uniform(0, 10, 9000)})
    table = dpsyn.Table(frame, DOMAIN.project(names))
    features = Features.of(table.domain, 6, np.random.default_rng(1))
    classes = random.integers(0, 2, 9000)
    phase = (frame["x"].to_numpy()[:, None] / 5 - 1) @ features.frequencies
    waves = np.rint(UNIT * np.concatenate([np.cos(phase), np.sin(phase)], axis=1) / math.sqrt(3)).astype(np.int64)
    one_hot = [np.eye(size, dtype=np.int64)[table.codes[:, j]] for j, size in enumerate((2, 3, 2))]
    steps = np.concatenate([waves, *(605_396 * one for one in one_hot)], axis=1)
    expected = [steps[classes == label].sum(axis=0) for label in (0, 1)]
    np.testing.assert_array_equal(features.sums(table, classes, 2), expected)


def test_what_a_row_adds_does_not_depend_on_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit, which steps of 2^-52 show; a product of whole matrices has others for some rows."""
    monkeypatch.setattr(embedding, "UNIT", 2**52)
    random, names = np.random.default_rng(0), [f"x{j}" for j in range(14)]
    domain = dpsyn.Domain.of(dpsyn.Attribute(name, "numeric", lower=-1, upper=1, public=True) for name in names)
    frame = pd.DataFrame(random.uniform(-1, 1, (41, 14)), columns=names)
    features = Features.of(domain, 1000, random)

    def sums(rows: pd.DataFrame) -> np.ndarray:
        return features.sums(dpsyn.Table(rows, domain), np.zeros(len(rows), dtype=np.int64), 1)

    whole = sums(frame)
    for at in (0, 20, 40):
        np.testing.assert_array_equal(whole - sums(frame.drop(index=at)), sums(frame.iloc[[at]]))


def test_points_stay_between_their_bounds_where_doubles_are_far_apart() -> None:
    """2^54 and 2^54 + 4: their middle is exact, that of the next pair is rounded to one of them."""
    lower = 2.0**54
    domain = dpsyn.Domain.of([dpsyn.Attribute("x", "numeric", lower=lower, upper=lower + 4, bins=1, public=True)])
    near = dpsyn.Domain.of([dpsyn.Attribute("x", "numeric", lower=lower + 4, upper=lower + 8, bins=1, public=True)])
    for one in (domain, near):
        (attribute,) = one.attributes
        table = dpsyn.Table(pd.DataFrame({"x": [attribute.lower, attribute.upper]}), one)
        assert np.abs(Features(one, np.zeros((1, 2))).points(table)).max() <= 1


def test_numbers_outside_their_bounds_or_missing_are_inside() -> None:
    missing = dpsyn.Attribute("x", "numeric", lower=0, upper=10, missing=True, public=True)
    domain = dpsyn.Domain.of([missing])
    table = dpsyn.Table(pd.DataFrame({"x": [-5.0, 0.0, 2.5, 99.0, np.nan]}), domain)
    points = Features(domain, np.zeros((1, 2))).points(table)
    assert points.ravel().tolist() == [-1, -1, -0.5, 1, 0]


def test_points_get_the_embedding_that_they_are_fitted_to() -> None:
    domain = DOMAIN.project(["x", "y"])
    features = Features.of(domain, 300, np.random.default_rng(1))
    random = np.random.default_rng(2)
    real = np.stack([random.choice([-0.8, 0.5], 400, p=[0.3, 0.7]), random.uniform(-1, 0, 400)], axis=1)
    mean = features.waves(real).mean(axis=0)
    fitted = features.fitted(mean, 200, np.random.default_rng(3))
    before = features.waves(np.random.default_rng(3).uniform(-1, 1, (200, 2))).mean(axis=0)
    assert np.linalg.norm(features.waves(fitted).mean(axis=0) - mean) < 0.02 * np.linalg.norm(before - mean)
    np.testing.assert_allclose(fitted.mean(axis=0), real.mean(axis=0), atol=0.03)
    assert np.abs(fitted).max() <= 1


def test_without_noise_classes_keep_their_categories_and_numbers() -> None:
    random = np.random.default_rng(0)
    k = random.choice(["p", "q"], 1500, p=[0.3, 0.7])
    frame = pd.DataFrame(
        {
            "k": k,
            "c": np.where(k == "p", "x", random.choice(["y", "z"], 1500)),
            "x": np.clip(np.where(k == "p", 2.0, 8.0) + random.normal(0, 0.5, 1500), 0, 10),
        }
    )
    table = dpsyn.Table(frame, DOMAIN.project(["k", "c", "x"]))
    mechanism = dpsyn.DPMERF(target="k", features=200).calibrate(dpsyn.PrivacySpec(1.0, 1e-5), table.domain, table.n)
    made, diagnostics = mechanism._run(Exact(), table, no_progress)
    assert diagnostics["mean_error_of_sums"] == 0
    assert (made["k"] == "p").sum() == pytest.approx((k == "p").sum(), abs=1)
    assert set(made["c"][made["k"] == "p"]) == {"x"}
    for label in "pq":
        assert made["x"][made["k"] == label].mean() == pytest.approx(frame["x"][k == label].mean(), abs=0.15)


def test_where_n_is_a_secret_the_sums_say_how_many_rows_there_are() -> None:
    table = dpsyn.load_sample("asia")
    spec = dpsyn.PrivacySpec(1.0, 1e-5, "add_remove")
    mechanism = dpsyn.DPMERF(target="dysp").calibrate(spec, table.domain, table.n)
    made = mechanism(np.random.default_rng(0), table).rows
    assert len(made) != table.n
    assert len(made) == pytest.approx(table.n, abs=100)
    assert mechanism.facts() == dpsyn.DPMERF(target="dysp").calibrate(spec, table.domain, 5).facts()


def test_sums_that_say_that_nobody_is_there_make_one_row() -> None:
    class Drowned(Exact):
        def discrete_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
            return np.full(values.shape, -UNIT)

    table = dpsyn.Table(frame_of("kcb", 30), DOMAIN.project(list("kcb")))
    mechanism = mechanism_of("kcb", "add_remove", 30, rows=None)
    made, diagnostics = mechanism._run(Drowned(), table, no_progress)
    assert diagnostics["noisy_rows_by_class"] == [0, 0]
    assert len(made) == 1


@pytest.mark.parametrize("least", [-3 * UNIT, 0, 2 * UNIT, 500 * UNIT])
@pytest.mark.parametrize("columns", ["kcb", "kxy"])
def test_as_many_rows_are_made_as_the_noisy_sums_say_however_many_there_are(
    columns: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Features, "fitted", lambda self, mean, count, generator: np.zeros((count, len(self.numbers))))
    found = []
    for n in (1, 4, 54, 20_000):
        table = dpsyn.Table(frame_of(columns, n), DOMAIN.project(list(columns)))
        found.append(asked(Deaf(0, least), mechanism_of(columns, "add_remove", n, rows=None), table))
    for calls, rows in found[1:]:
        assert alike(found[0][0], calls)
        pd.testing.assert_frame_equal(found[0][1], rows)


@pytest.mark.parametrize("classes", [1, 2, 3, 4, 5, 17, 100, 1001])
def test_the_model_follows_from_noisy_sums_alone_whichever_of_the_classes_are_empty(
    classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Features, "fitted", lambda self, mean, count, generator: np.zeros((count, len(self.numbers))))
    labels = np.arange(classes)
    target = dpsyn.Attribute("k", "categorical", tuple(labels.tolist()), public=True)
    domain = dpsyn.Domain.of([target, *DOMAIN.project(["b", "x"]).attributes])
    mechanism = dpsyn.DPMERF("k", features=4, rows=3).calibrate(dpsyn.PrivacySpec(1.0, 1e-5), domain, classes)
    found = []
    for at in (labels, np.zeros_like(labels), np.full_like(labels, classes - 1), labels // 2):
        table = dpsyn.Table(pd.DataFrame({"k": at, "b": at % 2, "x": 1.0}), domain)
        found.append(mechanism._run(Deaf(least=UNIT), table, no_progress)[1]["model"])
    for model in found[1:]:
        assert model.rows.tolist() == found[0].rows.tolist()
        assert model.means.tolist() == found[0].means.tolist()
        assert [counts.tolist() for counts in model.counts] == [counts.tolist() for counts in found[0].counts]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(CalibrationError, match="delta > 0"):
        dpsyn.DPMERF().calibrate(dpsyn.PrivacySpec(1.0), DOMAIN, 10)
    spec = dpsyn.PrivacySpec(1.0, 1e-5)
    for target in ("x", "none such"):
        with pytest.raises(ParameterError, match="target"):
            dpsyn.DPMERF(target=target).calibrate(spec, DOMAIN, 10)
    with pytest.raises(ParameterError, match="target"):
        dpsyn.DPMERF(target="k").calibrate(spec, DOMAIN.project(["k"]), 10)


def test_its_ledger_is_the_claim() -> None:
    mechanism = mechanism_of("kcbxy")
    (entry,) = mechanism.calibrated()["ledger"]
    assert entry["rho"] == mechanism.budget.total <= zcdp_rho(1.3, 1e-5)
    assert entry["scale"] == pytest.approx(math.sqrt(6 / (2 * entry["rho"])), rel=1e-4)
    shift, claim = claim_formulas("dp_merf", mechanism.guarantee, mechanism.facts())
    assert r"\frac{6}" in shift.filled
    assert claim.filled.startswith(r"\delta(1.3)")


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_what_is_claimed_and_handed_over(neighbouring: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Features, "fitted", lambda self, mean, count, generator: np.zeros((count, len(self.numbers))))
    table = dpsyn.Table(frame_of("kcb", 30), DOMAIN.project(list("kcb")))
    mechanism = mechanism_of("kcb", neighbouring, 30)
    assert ("The number of rows n is public." in mechanism.guarantee.assumptions) is (neighbouring == "replace_one")
    needed = Features.of(table.domain.project(["c", "b"]), 100, np.random.default_rng(0)).sensitivity(neighbouring)
    assert needed**2 / (2 * mechanism.noise_scale**2) < mechanism.budget.total
    ((call,), _) = run(mechanism, table)
    counts = [[(table.codes[table.codes[:, 0] == k, j] == c).sum() for j in (1, 2) for c in range(4 - j)] for k in (0, 1)]
    assert call.values.tolist() == (round(UNIT / math.sqrt(2)) * np.array(counts)).tolist()
    noise = Exact()
    made, _ = mechanism_of("kcb", neighbouring, 30, rows=None)._run(noise, table, no_progress)
    assert len(made) == 30
    noisy = [mechanism_of("kcb", neighbouring, 30, rows=None)(np.random.default_rng(seed), table) for seed in range(3)]
    public = neighbouring == "replace_one"
    assert {len(release.rows) == 30 for release in noisy} == ({True} if public else {False})
    assert [len(release.rows) for release in noisy] == [
        30 if public else max(1, round(sum(release.diagnostics["noisy_rows_by_class"]))) for release in noisy
    ]


def test_one_class_where_there_is_no_target_and_as_few_as_two_columns() -> None:
    assert mechanism_of("xy").calibrated()["classes"] == 1
    assert mechanism_of("kx").calibrated()["classes"] == 2
    large = dpsyn.DPMERF(target="k", features=100_000)
    many = dpsyn.Domain.of(
        [dpsyn.Attribute("k", "categorical", tuple(range(100_000)), public=True), *DOMAIN.project(["x"]).attributes]
    )
    with pytest.raises(ParameterError, match="memory"):
        large.calibrate(dpsyn.PrivacySpec(1.0, 1e-5), many, 10)


def test_the_error_of_the_sums_is_that_of_the_noise() -> None:
    table = dpsyn.load_sample("asia")
    mechanism = dpsyn.DPMERF(target="dysp").calibrate(dpsyn.PrivacySpec(1.0, 1e-5), table.domain, table.n)
    off = [mechanism(np.random.default_rng(s), table).diagnostics["mean_error_of_sums"] for s in range(3)]
    assert np.mean(off) == pytest.approx(mechanism.noise_scale / UNIT * math.sqrt(2 / math.pi), rel=0.4)
