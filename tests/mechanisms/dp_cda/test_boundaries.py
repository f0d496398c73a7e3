"""What DP-CDA still accepts and what it refuses first, what a refusal names, and margins to the last digit."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.dp_cda import _config
from dpsyn.mechanisms.dp_cda._checks import (
    check_count_noise,
    check_delta,
    count_margin,
    in_proportion,
    per_class,
    public_class_sizes,
    rows_of_classes,
)
from dpsyn.mechanisms.records import config_from_dict, config_to_dict
from dpsyn.privacy.mixing.averaging import floating_noise_assumption

CLASS = Attribute("k", "categorical", ("a", "b", "c"), public=True)
DOMAIN = Domain.of([Attribute("x", "numeric", lower=0.0, upper=1.0, public=True), CLASS])


def refused(field: str, call: Any, *arguments: Any) -> str:
    with pytest.raises(ParameterError) as caught:
        call(*arguments)
    assert caught.value.field == field
    return str(caught.value)


def test_rows_of_classes_up_to_what_is_refused() -> None:
    assert rows_of_classes(3, "equal", CLASS, 50) == (3, (1, 1, 1))
    assert rows_of_classes(11, "equal", CLASS, 50) == (9, (3, 3, 3))
    assert rows_of_classes(3, "size", CLASS, 50) == (3, None)
    assert rows_of_classes(None, "size", CLASS, 50) == (50, None)
    assert rows_of_classes(None, "equal", CLASS, 50) == (48, (16, 16, 16))
    assert rows_of_classes({"c": 1, "b": 0, "a": 0}, "size", CLASS, 50) == (1, (0, 0, 1))
    assert rows_of_classes({"a": 5, "c": 7, "b": 0}, "equal", CLASS, 50) == (12, (5, 0, 7))
    for rows_by in ("equal", "size"):
        assert "at least 3, one for each class" in refused("rows", rows_of_classes, 2, rows_by, CLASS, 50)
        assert "at least 3, one for each class" in refused("rows", rows_of_classes, None, rows_by, CLASS, 2)
    for rows in ({"a": 0, "b": 0, "c": 0}, {"a": -1, "b": 5, "c": 5}):
        assert "at least 1 of some class" in refused("rows", rows_of_classes, rows, "size", CLASS, 50)
    assert "is missing" in refused("rows", rows_of_classes, {"a": 1, "b": 1}, "size", CLASS, 50)
    unknown = refused("rows", rows_of_classes, {"a": 1, "b": 1, "c": 1, "d": 1}, "size", CLASS, 50)
    assert re.search("d.? is not one of them", unknown)


def test_missing_values_are_the_last_class() -> None:
    with_gaps = Attribute("k", "categorical", ("a", "b"), missing=True, public=True)
    assert rows_of_classes({"None": 4, "b": 2, "a": 1}, "size", with_gaps, 50) == (7, (1, 2, 4))
    assert public_class_sizes({"None": 9, "a": 7, "b": 8}, with_gaps, 50, 4) == (7, 8, 9)
    with pytest.raises(ParameterError) as caught:
        public_class_sizes({"None": 3, "a": 7, "b": 8}, with_gaps, 50, 4)
    assert caught.value.value == {"None": 3, "a": 7, "b": 8}


def test_public_class_sizes_up_to_what_is_refused() -> None:
    assert public_class_sizes(None, CLASS, 50, 4) is None
    assert public_class_sizes(4, CLASS, 12, 4) == (4, 4, 4)
    assert public_class_sizes({"c": 6, "a": 4, "b": 5}, CLASS, 15, 4) == (4, 5, 6)
    assert public_class_sizes({"a": 0, "b": 3, "c": 4}, CLASS, 15, 4, (0, 0, 7)) == (0, 3, 4)
    assert public_class_sizes({"a": 100, "b": 300, "c": 400}, CLASS, None, 4) == (100, 300, 400)
    assert "order_of_mixture = 3 would do" in refused("class_sizes", public_class_sizes, 3, CLASS, 50, 4)
    assert "order_of_mixture = 1 would do" in refused("class_sizes", public_class_sizes, 1, CLASS, 50, 4)
    for sizes, rows, said in (
        ({"a": 5, "b": 3, "c": 9}, None, "b.? has 3: records are drawn without replacement; order_of_mixture = 3 would do"),
        ({"a": 5, "b": 3, "c": 2}, (1, 1, 0), "b.? has 3.*order_of_mixture = 3 would do"),
        ({"a": 3, "b": 3, "c": 5}, None, "a.? has 3"),
        ({"a": 5, "b": 0, "c": 9}, None, "b.? has 0: records are drawn without replacement, or no rows"),
    ):
        assert re.search(said, refused("class_sizes", public_class_sizes, sizes, CLASS, 50, 4, rows))
    refused("class_sizes", public_class_sizes, {"a": 5, "b": -1, "c": 9}, CLASS, 50, 4, (1, 0, 1))
    too_many = refused("class_sizes", public_class_sizes, 5, CLASS, 14, 4)
    assert "add up to at most n = 14 over 3 classes, so at most 4 for all of them" in too_many
    refused("class_sizes", public_class_sizes, {"a": 4, "b": 5, "c": 7}, CLASS, 15, 4)
    refused("class_sizes", public_class_sizes, {"a": 4, "b": 5}, CLASS, 15, 4)
    refused("class_sizes", public_class_sizes, {"a": 4, "b": 5, "c": 6, "e": 4}, CLASS, 50, 4)


def test_a_size_is_enough_from_the_order_of_mixture_on_in_a_calibration() -> None:
    spec = dpsyn.PrivacySpec(1.0, 1e-5)
    for variant in ("fixed_size", "poisson"):
        config = dpsyn.DPCDA(target="k", order_of_mixture=20, class_sizes=20, rows=3, variant=variant)
        assert config.calibrate(spec, DOMAIN, 60).public_sizes == (20, 20, 20)
        assert config.calibrate(dpsyn.PrivacySpec(1.0, 1e-5, "add_remove"), DOMAIN, 5).public_sizes == (20, 20, 20)
        assert refused("class_sizes", config.calibrate, spec, DOMAIN, 59)
    alone = dpsyn.DPCDA(target="k", order_of_mixture=20, rows=3, variant="poisson")
    assert alone.calibrate(spec, DOMAIN, 20).config.order_of_mixture == 20
    assert "at most n = 19" in refused("order_of_mixture", alone.calibrate, spec, DOMAIN, 19)


@pytest.mark.parametrize("classes", [1, 3, 40])
@pytest.mark.parametrize("scale", [0.05, 1.0, 2.0, 37.5, 1234.5, 1e6, 3e9])
def test_a_margin_holds_to_the_last_digit(scale: float, classes: int) -> None:
    """β just below and just above K·P(Z > t), to forty digits: the margin suffices in every case, and t + 1 always does."""
    with localcontext() as context:
        context.prec = 40
        ratio = (-1 / Decimal(scale)).exp()
        for t in (0, 1, 2, 17, 300, 4001, 13 * int(scale), 20 * int(scale) + 3, 31 * int(scale) - 1):
            tail = [classes * ratio ** (t + k) / (1 + ratio) for k in (1, 2)]
            for share in (1 - 2e-13, 1 - 2e-15, 1.0, 1 + 2e-15, 1 + 2e-11):
                failure = float(tail[0]) * share
                if not 1e-300 < failure < 0.9:
                    continue
                margin = count_margin(scale, classes, failure)
                assert margin in (t, t + 1)
                assert tail[margin - t] <= Decimal(failure)
                assert margin == t or scale * (share - 1) < (t + 3) * 1e-12
    assert count_margin(0.001, 1, 0.5) == count_margin(1.0, 1, 0.9) == 0


def test_noise_on_counts_up_to_what_whole_numbers_hold() -> None:
    check_count_noise(1.0, 2.0**40)
    with pytest.raises(CalibrationError, match="class counts cannot be released") as caught:
        check_count_noise(1e-11, 1.23456 * 2.0**40)
    assert "epsilon = 1.24e-11 is the least" in str(caught.value)
    with pytest.raises(CalibrationError):
        check_count_noise(1e-11, 2.0**40 * (1 + 1e-12))


@pytest.mark.parametrize(
    ("n", "usual"), [(None, "1e-05"), (100, "1e-05"), (10**4, "1e-05"), (10**6, "1e-07"), (50_000, "2e-06")]
)
def test_the_usual_delta_is_a_tenth_of_a_record_where_n_may_be_told(n: int | None, usual: str) -> None:
    with pytest.raises(CalibrationError, match="delta > 0") as caught:
        check_delta(dpsyn.PrivacySpec(1.0, 0.0), n)
    assert f"delta = {usual} is usual" in str(caught.value)
    assert (f"for {n} records" in str(caught.value)) is (n is not None)
    check_delta(dpsyn.PrivacySpec(1.0, 1e-300), n)


def test_of_rows_that_classes_have_to_have_the_largest_gives() -> None:
    assert in_proportion(10, (99, 1, 1, 1)) == (7, 1, 1, 1)
    assert in_proportion(6, (40, 40, 1, 1)) == (2, 2, 1, 1)
    assert in_proportion(4, (10, 10, 10)) == (2, 1, 1)
    assert in_proportion(5, (0, 7, 0, 7)) == (0, 3, 0, 2)
    assert in_proportion(2, (1, 0, 5)) == (1, 0, 1)


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
@pytest.mark.parametrize("sizes", [None, 25])
@pytest.mark.parametrize("rows", [30, {"a": 10, "b": 20, "c": 0}])
def test_a_claim_assumes_what_was_taken_for_public_and_nothing_else(
    rows: Any, sizes: Any, variant: Any, neighbouring: Any
) -> None:
    config = dpsyn.DPCDA("k", rows=rows, class_sizes=sizes, variant=variant, noise_sampler="exact")
    spec = dpsyn.PrivacySpec(3.0, 1e-5, neighbouring)
    mechanism = config.calibrate(spec, DOMAIN, 100)
    wanted = [_config.PUBLIC_DOMAIN_ASSUMPTION]
    counted = sizes is None and rows == 30
    wanted.append(_config.COUNTED_ROWS_ASSUMPTION if counted else _config.FIXED_ROWS_ASSUMPTION)
    wanted.append(_config.FIXED_SETTINGS_ASSUMPTION)
    if neighbouring == "replace_one":
        wanted.append(_config.PUBLIC_N_ASSUMPTION)
    if sizes is not None:
        wanted.append(_config.PUBLIC_SIZES_ASSUMPTION if variant == "fixed_size" else _config.PUBLIC_RATE_ASSUMPTION)
    if sizes is not None and variant == "poisson" and neighbouring == "add_remove":
        wanted.append(_config.LARGEST_CLASS_ASSUMPTION)
    claim = mechanism.guarantee
    assert list(claim.assumptions) == wanted
    assert (claim.epsilon, claim.delta, claim.neighbouring, claim.status) == (3.0, 1e-5, neighbouring, "proven")
    # Where noise comes from the system's generator one is added: at the least σ there can be, if somebody knows it.
    system = replace(config, noise_sampler="system").calibrate(spec, DOMAIN, 100)
    least = (sizes,) * 3 if sizes else (100 + system.count_error(2.0**-65),) * 3 if neighbouring == "replace_one" else None
    counts = 2 + 3 * 2 * system.budget.count_noise_scale / math.e / 5
    times = 1.0 if variant == "fixed_size" else 32 if neighbouring == "add_remove" else 100 / 25 if sizes else counts
    average = None if least is None else times * system.radius / system.noise_scale_for(least)
    assert system.features.dimension == 1
    assert list(system.guarantee.assumptions) == [*wanted, floating_noise_assumption(30, average, 1e-5)]
    assert system.guarantee.status == "proven"


def test_a_delta_of_just_what_floating_point_takes_is_enough() -> None:
    wide = Domain.of([*[Attribute(f"x{j}", "numeric", lower=0.0, upper=1.0, public=True) for j in range(3)], CLASS])
    delta = 30 * 3 * (2.0**-42 + 2.0**-45 * 8)
    config = dpsyn.DPCDA("k", rows=30)
    for share, status in ((1.0, "proven"), (1 - 1e-12, "real_arithmetic")):
        mechanism = config.calibrate(dpsyn.PrivacySpec(3.0, delta * share, "add_remove"), wide, 100)
        assert mechanism.guarantee.status == status


def test_noise_that_cannot_be_had_is_refused_before_there_is_a_table() -> None:
    exact = dpsyn.DPCDA("k", rows=3, class_sizes=20, noise_sampler="exact")
    with pytest.raises(CalibrationError, match="can be reached"):
        exact.calibrate(dpsyn.PrivacySpec(1e-100, 1e-100), DOMAIN, 100)
    counted = replace(exact, class_sizes=None)
    for config, said in ((counted, "lose a margin of"), (replace(counted, variant="poisson"), "cannot be released")):
        with pytest.raises(CalibrationError, match=f"class counts {said}"):
            config.calibrate(dpsyn.PrivacySpec(1e-14, 1e-5), DOMAIN, 100)
        with pytest.raises(CalibrationError, match="delta = 1e-05 is usual for 100 records"):
            config.calibrate(dpsyn.PrivacySpec(1.0, 0.0), DOMAIN, 100)
        with pytest.raises(CalibrationError, match=r"delta = 1e-05 is usual$"):
            config.calibrate(dpsyn.PrivacySpec(1.0, 0.0, "add_remove"), DOMAIN, 10**9)


@pytest.mark.parametrize("classes", [(False, True), (0, 1), (0.0, 1.0), (2.5, 1)])
def test_classes_of_any_type_are_settings_that_a_record_keeps(classes: tuple[Any, ...]) -> None:
    domain = Domain.of([Attribute("y", "categorical", classes, public=True), CLASS])
    config = dpsyn.DPCDA("y", rows={classes[1]: 3, np.array(classes)[0]: 9}, class_sizes=20)
    assert config_from_dict(json.loads(json.dumps(config_to_dict(config)))) == config
    assert config.calibrate(dpsyn.PrivacySpec(5.0, 1e-3), domain, 60).rows_per_class == (9, 3)


def test_classes_that_are_written_alike_have_one_number() -> None:
    alike = Attribute("y", "categorical", ("1", 1))
    assert "some are written alike" in refused("rows", rows_of_classes, {"1": 4}, "size", alike, 50)
    assert "two are written alike" in refused("rows", per_class, "rows", {1: 4, "1": 5})
