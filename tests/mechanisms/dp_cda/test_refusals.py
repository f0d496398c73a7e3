"""Bad input of DP-CDA: refused from public facts, before there is a table, with a number that works."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import CalibrationError, DataError, DomainError, ParameterError
from dpsyn.mechanisms.dp_cda._budget import Budget

N, CLASSES = 300, ("a", "b", "c")
DOMAIN = Domain.of(
    [Attribute("x", "numeric", lower=0.0, upper=1.0, public=True), Attribute("k", "categorical", CLASSES, public=True)]
)


def calibrate(epsilon: float = 1.0, delta: float = 1e-5, **settings: Any) -> Any:
    """With nothing but public facts: no table is made anywhere."""
    return dpsyn.DPCDA(target="k", **settings).calibrate(dpsyn.PrivacySpec(epsilon, delta), DOMAIN, n=N)


@pytest.mark.parametrize(
    ("settings", "name", "kind"),
    [
        ({"order_of_mixture": 81, "class_sizes": 80}, "order_of_mixture = ", ParameterError),
        ({"order_of_mixture": 81, "class_sizes": {"a": 80, "b": 90, "c": 100}}, "order_of_mixture = ", ParameterError),
        ({"order_of_mixture": 81, "class_sizes": 80, "variant": "poisson"}, "order_of_mixture = ", ParameterError),
        ({"order_of_mixture": N + 1, "variant": "poisson"}, "at most n = ", ParameterError),
        ({"order_of_mixture": N}, "order_of_mixture = ", CalibrationError),
        ({"epsilon": 0.01}, "epsilon = ", CalibrationError),
        ({"epsilon": 0.95, "count_share": 0.9, "order_of_mixture": N - 1}, "epsilon = ", CalibrationError),
        ({"rows": 2}, "at least ", ParameterError),
        ({"clip_norm": 0.0}, "> 0; ", ParameterError),
        ({"clip_norm": -1.0}, "> 0; ", ParameterError),
        ({"clip_norm": math.nan}, "> 0; ", ParameterError),
        ({"clip_norm": math.inf}, "> 0; ", ParameterError),
        ({"delta": 0.0}, "delta = ", CalibrationError),
        ({"epsilon": 1e-100, "delta": 1e-100, "class_sizes": 80}, "epsilon = ", CalibrationError),
        ({"epsilon": 1e-100, "delta": 1e-100, "class_sizes": 80, "scaling": "private"}, "epsilon = ", CalibrationError),
        ({"epsilon": 1e-100}, "epsilon = ", CalibrationError),
        ({"epsilon": 1e-100, "variant": "poisson"}, "epsilon = ", CalibrationError),
    ],
    ids=str,
)
def test_the_number_that_is_named_works(settings: dict[str, Any], name: str, kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught:
        calibrate(**settings)
    (field,) = [key for key in ("epsilon", "order_of_mixture", "rows", "clip_norm", "delta") if key in settings][:1]
    last = str(caught.value).split(name)[-1]
    named = float(re.match(r"[0-9.e-]*[0-9]", last).group())  # type: ignore[union-attr]
    whole = field in ("order_of_mixture", "rows")
    mechanism = calibrate(**(settings | {field: int(named) if whole else named}))
    assert mechanism.guarantee.status in (
        "proven",
        "real_arithmetic",
    )  # the latter where δ is below what floating point takes


@pytest.mark.parametrize("delta", [1e-308, 5e-324])
def test_a_delta_without_a_part_for_class_counts_is_refused(delta: float) -> None:
    with pytest.raises(CalibrationError, match="delta = 2e-299 would do"):
        calibrate(1e4, delta)
    assert calibrate(1e4, 2e-299).budget.overstated_probability > 0


def test_a_margin_that_leaves_one_record_more_than_a_row_averages_is_enough() -> None:
    margin = calibrate().budget.count_margin
    assert calibrate(order_of_mixture=N - margin - 1).budget.count_margin == margin
    with pytest.raises(CalibrationError, match=f"margin of {margin} records, so that of n = 300 no class"):
        calibrate(order_of_mixture=N - margin)
    spec, secret = dpsyn.PrivacySpec(0.01, 1e-5, "add_remove"), dpsyn.DPCDA(target="k", rows=30)
    assert secret.calibrate(spec, DOMAIN, n=N).budget.count_margin > N  # no refusal may hang on a secret n


@pytest.mark.parametrize("epsilon", [math.nan, math.inf, 0.0, -1.0])
def test_epsilon_is_a_positive_number(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="a finite number > 0"):
        calibrate(epsilon)


@pytest.mark.parametrize("bounds", [(1.0, 1.0), (0.0, math.inf), (math.nan, 1.0), (2.0, 1.0)])
def test_a_number_that_cannot_vary_or_has_no_bounds_is_no_column(bounds: tuple[float, float]) -> None:
    with pytest.raises(DomainError, match="finite"):
        Attribute("x", "numeric", lower=bounds[0], upper=bounds[1])


@pytest.mark.parametrize(
    ("cell", "said"), [("inf", "row 2: the number is infinite"), ("-inf", "row 2: the number is infinite")]
)
def test_infinite_cells_are_named_where_a_table_is_read(cell: str, said: str) -> None:
    import pandas as pd

    with pytest.raises(DataError, match=said):
        dpsyn.read_table(pd.DataFrame({"x": [0.5, float(cell)], "k": ["a", "b"]}))


def test_empty_cells_are_named_where_the_domain_has_none() -> None:
    import pandas as pd

    with pytest.raises(DomainError, match="row 2 is empty"):
        dpsyn.Table(pd.DataFrame({"x": [0.5, math.nan], "k": ["a", "b"]}), DOMAIN)


@pytest.mark.parametrize("settings", [{"variant": "poisson", "class_sizes": 18}, {"order_of_mixture": 36}], ids=str)
def test_no_refusal_depends_on_a_secret_n(settings: dict[str, Any]) -> None:
    config = dpsyn.DPCDA(target="k", rows=9, **settings)
    spec = dpsyn.PrivacySpec(1.0, 1e-5, "add_remove")
    facts = [config.calibrate(spec, DOMAIN, n=n).calibrated() for n in (60, 40, 20, 3)]
    assert all(found == facts[0] for found in facts)
    with pytest.raises(ParameterError, match="at most n = "):
        config.calibrate(dpsyn.PrivacySpec(1.0, 1e-5), DOMAIN, n=20)


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_counts_and_the_rest_cost_no_last_bit_more_than_epsilon(neighbouring: Any) -> None:
    moved = 2 if neighbouring == "replace_one" else 1
    for epsilon in np.random.default_rng(0).uniform(0.1, 10, 200).tolist():
        for share in (0.001, 0.1, 1 / 3):
            spec = dpsyn.PrivacySpec(epsilon, 1e-5, neighbouring)
            budget = Budget.split(dpsyn.DPCDA("k", count_share=share), spec, 1, 3, counted=True)
            assert Fraction(moved) / Fraction(budget.count_noise_scale) + Fraction(budget.epsilon) <= Fraction(epsilon)
