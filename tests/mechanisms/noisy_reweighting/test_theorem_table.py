"""Noisy reweighting side by side: the published table, the corrected rows by hand, condition numbers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsyn.data.samples import load_sample
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting.figures import (
    VARIANTS,
    ReweightingRow,
    Variant,
    reweighting_frame,
    reweighting_table,
)
from dpsyn.mechanisms.noisy_reweighting.setting import condition_number_table
from dpsyn.mechanisms.noisy_reweighting.theorems import conditions
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.privacy.zcdp import zcdp_rho
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.datasets import ADULT, ASIA, BUILT_IN, CAR

SPEC = PrivacySpec(1.0, 1e-6)
WALSH_PUBLISHED: Variant = ("walsh", "laplace", False)
# 8 times the smallest accuracy as published, γ = 1/8, at ε = 1 and 10.
SMALLEST_ERROR = {
    ("ASIA", 1): ("0.117", "0.117"),
    ("ASIA", 2): ("0.168", "0.135"),
    ("CAR", 1): ("1.28", "0.445"),
    ("CAR", 2): ("23.7", "2.37"),
    ("ADULT", 1): ("0.193", "0.111"),
    ("ADULT", 2): ("9.27", "0.927"),
    ("MUSHROOM", 1): ("1.62", "0.233"),
    ("MUSHROOM", 2): ("154", "15.4"),
}


def rows_of(stats: DatasetStatistics, spec: PrivacySpec = SPEC, **more: object) -> dict[Variant, ReweightingRow]:
    return {row.variant: row for row in reweighting_table(stats, spec, **more)}  # type: ignore[arg-type]


def sensitivity(row: ReweightingRow) -> float:
    return math.exp(row.setting.log_sensitivity - row.setting.log_n)


@pytest.mark.parametrize(("name", "degree"), SMALLEST_ERROR)
def test_published_rows_reproduce(name: str, degree: int) -> None:
    for epsilon, text in zip((1.0, 10.0), SMALLEST_ERROR[name, degree], strict=True):
        row = rows_of(BUILT_IN[name], PrivacySpec(epsilon), degree=degree)[WALSH_PUBLISHED]
        assert row.name.endswith("published")
        assert f"{row.smallest_error:.3g}" == text


def test_asia_by_hand() -> None:
    table = rows_of(ASIA)
    laplace, gaussian = table["walsh", "laplace", True], table["walsh", "gaussian", True]
    assert laplace.setting.family.size == 37
    assert sensitivity(laplace) == pytest.approx(2 * 20 / 20_000)
    assert math.exp(laplace.setting.log_sigma) == pytest.approx(2 * 20 / 20_000)
    assert sensitivity(gaussian) == pytest.approx(2 * math.sqrt(20) / 20_000)
    assert math.exp(gaussian.setting.log_sigma) == pytest.approx(
        2 * math.sqrt(20) / 20_000 / math.sqrt(2 * zcdp_rho(1.0, 1e-6))
    )
    tables = table["contingency", "laplace", True]
    assert tables.setting.family.size == 4 * 28 + 1
    assert sensitivity(tables) == pytest.approx(2 * 28 / 20_000)
    assert math.exp(laplace.setting.log_smallest_rows) == pytest.approx(200 * math.log(2 * 37 * 8))
    assert math.exp(table[WALSH_PUBLISHED].setting.log_smallest_rows) == pytest.approx(100 * math.log(37 * 8))
    assert math.exp(laplace.setting.log_smallest_m) == pytest.approx(100 * 256 * 0.2904 * 37 * 8)
    # They are shown rounded to the side on which the theorem holds: 0.00044721 as 0.000448, 1276.70 as 1,277.
    frame = reweighting_frame(list(table.values())).set_index("Statistics and noise")
    assert frame.loc["Walsh, Gaussian"].to_dict() == {
        "|F|": "37",
        "Sensitivity of the averages": "4.48 × 10⁻⁴",
        "σ": "0.00203",
        "Smallest 8·accuracy": "0.203",
        "Informative": "yes",
        "n at least": "1,449",
        "k at least": "1,277",
        "m at least": "2.21 × 10⁶",
    }
    assert math.exp(gaussian.setting.log_sigma) == pytest.approx(0.0020263, rel=1e-4)
    assert math.exp(gaussian.log_n) == pytest.approx(1448.01, rel=1e-5)
    assert gaussian.smallest_error == pytest.approx(8 * math.sqrt(2 * math.log(2 * 37 * 8) / 20_000))


@pytest.mark.parametrize(
    ("epsilon", "sigma", "error", "n"), [(0.3, "0.00667", "0.304", "7,588"), (3, "6.67 × 10⁻⁴", "0.203", "1,277")]
)
def test_the_table_shows_the_numbers_of_asia_rounded_up(epsilon: float, sigma: str, error: str, n: str) -> None:
    """Of 37 Walsh functions, 20 move by 2; in 20,000 rows, by an accuracy of 1/10 and γ = 1/8."""
    table = rows_of(ASIA, PrivacySpec(epsilon, 1e-6))
    shown = reweighting_frame([table["walsh", "laplace", True], table["walsh", "gaussian", True]])
    laplace, gaussian = shown.to_dict("records")
    assert laplace["Sensitivity of the averages"] == "0.002"
    assert gaussian["Sensitivity of the averages"] == "4.48 × 10⁻⁴"
    assert (laplace["σ"], laplace["Smallest 8·accuracy"], laplace["n at least"]) == (sigma, error, n)
    assert (laplace["k at least"], laplace["m at least"]) == ("1,277", "2.21 × 10⁶")


def test_tables_of_adult_need_27_times_less_noise() -> None:
    table = rows_of(ADULT)
    exact_on_valid_rows = 2 * 752 / 32561
    assert exact_on_valid_rows / math.exp(table["contingency", "laplace", True].setting.log_sigma) == pytest.approx(
        27, abs=0.2
    )
    assert table["contingency", "laplace", True].smallest_error < 1
    assert not table["walsh", "laplace", True].smallest_error < 1


@pytest.mark.parametrize("accuracy", [0.01, 0.1, 0.4])
def test_what_is_required_is_what_the_conditions_say(accuracy: float) -> None:
    for row in rows_of(CAR, accuracy=accuracy, rows=100).values():
        setting = row.setting
        found = {c.key: c for c in conditions(setting)}
        assert row.log_n == pytest.approx(max(found["n_noise"].log_required, found["n_sampling"].log_required))
        assert setting.log_smallest_rows == pytest.approx(found["rows_lower"].log_required)
        assert setting.log_smallest_m == pytest.approx(found["m_lower"].log_required)
        assert (setting.log_n >= row.log_n) == (found["n_noise"].holds and found["n_sampling"].holds)


@settings(max_examples=40)
@given(st.floats(-3, 3), st.integers(1, 10**30), st.sampled_from([1, 8, 62, 10**4]), st.floats(1.1, 100))
def test_more_data_and_more_epsilon_never_hurt(order: float, n: int, p: int, factor: float) -> None:
    stats = DatasetStatistics(p=p, n=n, max_frequency=1.0)
    more = DatasetStatistics(p=p, n=2 * n, max_frequency=1.0)
    degree = min(2, p)
    now = rows_of(stats, PrivacySpec(10**order), degree=degree)
    for variant, row in now.items():
        if row.reason:
            continue
        assert math.isfinite(row.setting.smallest_accuracy)
        later = rows_of(more, PrivacySpec(10**order), degree=degree)[variant]
        freer = rows_of(stats, PrivacySpec(10**order * factor), degree=degree)[variant]
        assert later.setting.smallest_accuracy < row.setting.smallest_accuracy
        assert freer.setting.smallest_accuracy <= row.setting.smallest_accuracy * (1 + 1e-12)
        assert later.log_n == row.log_n


def test_without_delta_gaussian_rows_say_why() -> None:
    table = rows_of(ASIA, PrivacySpec(1.0))
    assert [bool(table[v].reason) for v in VARIANTS] == [False, True, False, True, False, False]
    frame = reweighting_frame(list(table.values()))
    assert frame.shape[0] == len(VARIANTS)
    assert frame.loc[1, "σ"] == "—"
    assert "δ" in frame.loc[1, "Informative"]


def test_condition_numbers_of_the_bundled_asia() -> None:
    table = load_sample("asia")
    found = {(r.measure, r.kind): math.exp(r.log_value) for r in condition_number_table(table.statistics(), table.codes)}
    assert found["uniform on the cube", "population"] == pytest.approx(42.4, rel=0.03)
    assert found["uniform on valid rows", "population"] == pytest.approx(found["uniform on the cube", "population"])
    assert found["product of the one-way marginals", "rows"] < found["uniform on the cube", "rows"]
    assert found["uniform on the cube", "bound"] >= found["uniform on the cube", "rows"]


def test_condition_numbers_of_adult_differ_by_the_share_of_valid_rows() -> None:
    cube, valid = condition_number_table(ADULT)
    assert math.exp(cube.log_value - valid.log_value) == pytest.approx(2**62 / 1_814_400)
    # 7.7e15 on the cube and 3043 on valid rows, found on the data themselves, are in the same proportion.
    assert pytest.approx(2**62 / 1_814_400, rel=0.01) == 7.7e15 / 3043
    assert pytest.approx(4e-13, rel=0.05) == 1_814_400 / 2**62


def test_condition_numbers_need_fitting_rows() -> None:
    with pytest.raises(ParameterError, match="codes"):
        condition_number_table(CAR, np.zeros((5, 3), dtype=np.int32))
    alone = condition_number_table(DatasetStatistics(p=10**4, n=10, max_frequency=0.1))
    assert [r.kind for r in alone] == ["bound"]
    assert alone[0].log_value == pytest.approx(10**4 * math.log(2) + math.log(0.1))
    one = condition_number_table(
        DatasetStatistics(p=2, n=1, max_frequency=1.0, sizes=(2, 2)), np.zeros((1, 2), dtype=np.int32)
    )
    assert {r.kind for r in one} == {"bound", "rows"}


@pytest.mark.parametrize(
    ("field", "value"), [("rows", 0), ("degree", 0), ("accuracy", 0.0), ("reduced_space_size", 0), ("condition_number", 0.5)]
)
def test_meaningless_values_name_their_field(field: str, value: float) -> None:
    with pytest.raises(ParameterError) as caught:
        reweighting_table(ASIA, SPEC, **{field: value})  # type: ignore[arg-type]
    assert caught.value.field == field
