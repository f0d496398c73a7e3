"""Numbers and dates at the ends of what a column may hold: through every mechanism, and measured."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DpsynError
from dpsyn.mechanisms.claim_formulas import claim_formulas
from dpsyn.privacy.zcdp import zcdp_delta, zcdp_rho
from dpsyn.table import Table

_N = 24
_CYCLE = np.arange(_N)
_KEY = Attribute("k", "truth", (False, True), public=True)


def _numbers(lower: float, upper: float, values: Any, **more: Any) -> tuple[Attribute, pd.Series[Any]]:
    attribute = Attribute("x", "numeric", lower=lower, upper=upper, public=True, **more)
    return attribute, pd.Series(np.resize(np.asarray(values), _N))


def _dates(lower: float, upper: float, *days: str) -> tuple[Attribute, pd.Series[Any]]:
    attribute = Attribute("x", "date", lower=lower, upper=upper, bins=4, public=True)
    return attribute, pd.Series(np.resize(np.array(days, dtype="datetime64[us]"), _N))


COLUMNS = {
    "all dates there are": _dates(-719162, 2932896, "0001-01-01", "9999-12-31", "1970-01-01"),
    "two days": _dates(0, 1, "1970-01-01"),
    "all whole numbers that are exact": _numbers(-(2**53) + 1, 2**53 - 1, [-(2**53) + 1, 2**53 - 1, 0], integer=True),
    "a tiny unit": _numbers(0, 1e-90, [0, 3e-91, 1e-90], unit=1e-100),
    "a unit that does not divide the bounds": _numbers(-1, 1, [-1, 0.3, 1], unit=0.3),
    "empty and out of range": _numbers(0.05, 0.35, [-5, 0.2, np.nan], unit=0.1, missing=True),
    "thousands": _numbers(-1e6, 1e6, [-1e6, 0, 1e6], unit=1000),
    "as narrow as can be": _numbers(0, 1e-288, [0, 5e-289, 1e-288]),
    "as wide as can be": _numbers(-8e307, 8e307, [-8e307, 8e307]),
    "squares overflow": _numbers(-1e200, 1e200, [-1e200, 1e199, 3e198]),
    "squares vanish": _numbers(-1e-200, 1e-200, [-1e-200, 1e-201, 3e-202]),
    "two neighbouring doubles": _numbers(1.0, 1 + 2.0**-52, [1.0, 1 + 2.0**-52], bins=1),
    "twenty doubles": _numbers(1.0, 1 + 20 * 2.0**-52, [1.0, 1 + 7 * 2.0**-52], bins=5),
    "far from zero": _numbers(1e15, 1e15 + 3, [1e15, 1e15 + 2.5], bins=3),
    "always empty": _numbers(0, 9, [np.nan], integer=True, bins=3, missing=True),
    "always at the upper end": _numbers(0, 1000, [1000], integer=True),
    "one value": _numbers(3, 3.5, [3], integer=True),
    "far outside": _numbers(0, 1, [-9e99, 9e99]),
    "one outlier": _numbers(0, 1e18, [1e-3] * (_N - 1) + [1e18]),
}
CONFIGS = {
    "MWEM": dpsyn.MWEM(rows=10, rounds=2),
    "MWEM, all for histograms": dpsyn.MWEM(rows=9, rounds=1, histogram_share=0.9999999, output="average"),
    "noisy reweighting": dpsyn.NoisyReweighting(rows=10),
    "least squares, one row": dpsyn.NoisyReweighting(degree=1, rows=1, objective="least_squares", histogram_share=1e-4),
    "DP-CDA": dpsyn.DPCDA("k", rows=7),
    "DP-CDA, Poisson, private scaling": dpsyn.DPCDA("k", variant="poisson", scaling="private", class_sizes=8, rows=4),
}
SPECS = [(1.0, 0.0), (1.0, 1e-5), (1e-100, 0.0), (1e-100, 1e-300), (1e100, 0.0), (1e100, 1e-5)]


def table_of(name: str) -> Table:
    attribute, column = COLUMNS[name]
    return Table(pd.DataFrame({"x": column, "k": _CYCLE % 2 == 0}), Domain.of([attribute, _KEY]))


@pytest.fixture(autouse=True)
def every_warning_is_an_error() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("column", COLUMNS)
def test_rows_are_of_the_domain_whatever_is_asked_for(column: str) -> None:
    table, ran = table_of(column), 0
    attribute = table.domain["x"]
    for config in CONFIGS.values():
        for epsilon, delta in SPECS:
            for neighbouring in ("replace_one", "add_remove"):
                spec = dpsyn.PrivacySpec(epsilon, delta, neighbouring)  # type: ignore[arg-type]
                try:
                    release = config.calibrate(spec, table.domain, table.n)(np.random.default_rng(1), table)
                except DpsynError:
                    continue
                ran += 1
                assert release.guarantee.epsilon <= epsilon
                assert release.guarantee.delta <= delta
                table.domain.encode(release.rows)
                counts = attribute.in_units(release.rows["x"])
                there = ~np.isnan(counts)
                assert there.all() or attribute.missing
                kept = release.rows["x"][there]
                pd.testing.assert_series_equal(attribute.from_units(counts)[there], kept, check_dtype=False, rtol=0, atol=0)
    assert ran >= 20


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("target", ["x", "k"])
def test_measures_are_numbers(column: str, target: str) -> None:
    table = table_of(column)
    for rows in (table.frame, table.frame.iloc[:1])[: 1 + (target == "k")]:
        report = dpsyn.evaluate(table, rows, holdout=table, target=target, degrees=(1, 2), queries=3)
        json.dumps(report.to_dict()["release"], allow_nan=False)
        if not isinstance(report.prediction, str):
            measures = [v for score in report.prediction.synthetic for v in score.measures.values()]
            assert np.isfinite(measures).all()


def test_means_and_deviations_of_numbers_whose_squares_overflow_or_vanish() -> None:
    for column in ("squares overflow", "squares vanish", "as wide as can be"):
        found = dpsyn.evaluate(table_of(column), table_of(column).frame, degrees=(1,), queries=1).release.values[0]
        upper = float(COLUMNS[column][0].upper or 0)
        scaled = COLUMNS[column][1].to_numpy() / upper
        assert found.mean == pytest.approx(scaled.mean() * upper, rel=1e-12, abs=1e-15 * upper)
        assert found.deviation == pytest.approx(scaled.std() * upper, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-300, 1e-300), (1e-100, 1e-300), (1e-30, 1e-100), (1e100, 5e-324)])
def test_the_smallest_epsilon_and_delta_have_a_rho_or_none(epsilon: float, delta: float) -> None:
    rho = zcdp_rho(epsilon, delta)
    assert zcdp_delta(rho, epsilon) <= delta
    # Of small ε and δ, ρ lies near ε²/(4 ln 1/δ).
    assert rho > 0 or epsilon == 1e-300


@pytest.mark.parametrize("epsilon", [1e-101, 5e-324, 1e101])
def test_an_epsilon_that_arithmetic_cannot_carry_is_refused(epsilon: float) -> None:
    with pytest.raises(DpsynError, match="epsilon"):
        dpsyn.PrivacySpec(epsilon)


def test_a_record_of_the_largest_settings_is_json() -> None:
    """ε of Theorem 4.1 has no double there, and no line is written about it."""
    domain = Domain.of(Attribute(f"b{j}", "truth", (False, True), public=True) for j in range(4))
    mechanism = dpsyn.PrivateSampling(degree=2**53).calibrate(dpsyn.PrivacySpec(1e100), domain, 2**53)
    json.dumps(mechanism.facts(), allow_nan=False)
    assert mechanism.guarantee.epsilon == mechanism.calibrated()["bounded_ratio_epsilon"]
    assert [line.label for line in claim_formulas("private_sampling", mechanism.guarantee, mechanism.facts())] == [
        "Bounded ratio"
    ]
