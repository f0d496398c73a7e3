"""The lines behind DP-CDA's pictures, and that they draw."""

import json
import math

import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.dp_cda import counterexamples as dp_cda
from dpsyn.mechanisms.dp_cda.accounting import exact as mixing
from dpsyn.mechanisms.dp_cda.accounting.functions import Accountant, dp_cda_epsilon, dp_cda_noise_scale
from dpsyn.mechanisms.dp_cda.accounting.quick import Sizes
from dpsyn.mechanisms.dp_cda.figures.feasibility import (
    EpsilonAgainstSigmaInfo,
    SigmaNeededInfo,
    draw_epsilon_against_sigma,
    draw_sigma_needed,
    epsilon_against_sigma_info,
    sigma_needed_info,
)
from dpsyn.mechanisms.dp_cda.figures.noise import noise_info
from dpsyn.mechanisms.dp_cda.figures.paper import PAPER, published_info, where_too_small
from tests.mechanisms.dp_cda import changes

DIGITS = {"n": 1797, "classes": 10, "smallest_class": 174, "rows": 1790, "delta": 1e-5}
LARGE = {"n": 2_000_000, "classes": 2, "smallest_class": 10**6, "rows": 1000, "delta": 1e-6}


@pytest.fixture(scope="module")
def against_sigma() -> EpsilonAgainstSigmaInfo:
    return epsilon_against_sigma_info(**DIGITS, orders=(4, 16, 512), points=6, here=(0.5, 2.0))


@pytest.fixture(scope="module")
def needed() -> SigmaNeededInfo:
    return sigma_needed_info(epsilon=10.0, **DIGITS, orders=(1, 4, 64, 256), here=(4, 0.3))


def test_every_point_is_what_its_accountant_says(against_sigma: EpsilonAgainstSigmaInfo) -> None:
    assert {(line.accountant, line.order_of_mixture) for line in against_sigma.lines} == {
        (name, order) for name in ("published", "rdp", "exact") for order in (4, 16)
    }
    for line in against_sigma.lines:
        assert 4 <= len(line.sigma) <= 6
        for sigma, epsilon in zip(line.sigma, line.epsilon, strict=True):
            shared = {"order_of_mixture": line.order_of_mixture, "sigma": sigma, "delta": 1e-5}
            if line.accountant == "published":
                assert epsilon == dp_cda.published_epsilon(n=1797, rows=1790, **shared)
            elif line.accountant == "rdp":
                order = line.order_of_mixture
                assert epsilon == dp_cda_epsilon(sigma, 1e-5, order, 1.0, [174] * 10, [179] * 10, "rdp")
            else:
                fine = changes.replace_one_epsilon(clip_norm=1.0, class_sizes=[174, 174], rows=179, **shared)
                assert 0.998 * fine <= epsilon <= 1.07 * fine


def test_epsilon_falls_along_each_line_and_the_exact_one_is_below_the_corrected(
    against_sigma: EpsilonAgainstSigmaInfo,
) -> None:
    for line in against_sigma.lines:
        assert list(line.sigma) == sorted(line.sigma)
        assert list(line.epsilon) == sorted(line.epsilon, reverse=True)
    for order in (4, 16):
        by_name = {line.accountant: line for line in against_sigma.lines if line.order_of_mixture == order}
        assert by_name["exact"].sigma == by_name["rdp"].sigma
        assert all(e < r for e, r in zip(by_name["exact"].epsilon, by_name["rdp"].epsilon, strict=True))


def test_the_lines_reach_the_user_and_leave_out_what_cannot_be_mixed(against_sigma: EpsilonAgainstSigmaInfo) -> None:
    assert against_sigma.impossible == (512,)
    assert against_sigma.here == (0.5, 2.0)
    assert all(line.sigma[0] <= 0.5 * (1 + 1e-12) for line in against_sigma.lines)
    assert "1,797" in against_sigma.subtitle


def test_sigma_needed_by_three_accountants(needed: SigmaNeededInfo) -> None:
    published, rdp, exact = needed.lines
    assert [line.accountant for line in needed.lines] == ["published", "rdp", "exact"]
    assert published.sigma[1] == pytest.approx(
        dp_cda.published_sigma(epsilon=10.0, order_of_mixture=4, n=1797, rows=1790, delta=1e-5)
    )
    best = mixing.calibrate_sigma(
        epsilon=10.0, delta=1e-5, order_of_mixture=4, clip_norm=1.0, class_sizes=[174, 174], rows=179
    )
    assert exact.sigma[1] == pytest.approx(best, rel=0.04)
    for line in needed.lines:
        assert line.orders == (1, 4, 64, 256)
        assert line.sigma[3] is None
        assert line.sigma[0] > line.sigma[1] > line.sigma[2]  # type: ignore[operator]
    assert all(r > e for r, e in zip(rdp.sigma[:3], exact.sigma[:3], strict=True))  # type: ignore[operator]
    assert needed.impossible == (256,)
    assert needed.notes == ("No row can average more than the 174 records that the smallest class has.",)


@pytest.mark.parametrize(("accountant", "digits"), [("rdp", 0.327), ("exact", 0.2823)])
def test_the_library_inside_and_feasibility_have_one_sigma(accountant: Accountant, digits: float) -> None:
    """Classes of 174, T_k = 179, l = 4, ε = 10. By the Rényi bound it was 0.327, 0.3286 and 0.368 when each had its own."""
    library = dp_cda_noise_scale(10.0, 1e-5, 4, 1.0, [174] * 10, [179] * 10, accountant)
    assert library == pytest.approx(digits, abs=5e-4)
    shown = {line.accountant: line.sigma for line in noise_info(Sizes((174,) * 10, 179, 1e-5), 10.0, 4).lines}
    assert shown[accountant] == library
    info = sigma_needed_info(epsilon=10.0, **DIGITS, orders=(4,))
    (feasibility,) = next(line.sigma for line in info.lines if line.accountant == accountant)
    assert feasibility is not None
    if accountant == "rdp":
        assert feasibility == library
    else:  # found quickly there, to within 3 % of ε, and never too small
        assert library * (1 - 1e-3) <= feasibility <= 1.03 * library
    spent = dp_cda_epsilon(feasibility, 1e-5, 4, 1.0, [174] * 10, [179] * 10, accountant)
    assert 9.3 < spent <= 10.0
    # A valid bound is never below what two datasets attain.
    assert library > dp_cda_noise_scale(10.0, 1e-5, 4, 1.0, [174] * 10, [179] * 10, "exact", "label_change") * (1 - 2e-3)


def test_an_accountant_that_cannot_reach_epsilon_has_no_line_and_says_why() -> None:
    info = sigma_needed_info(epsilon=1.0, **DIGITS, orders=(4,))
    assert info.lines[0].sigma == (None,)
    assert info.lines[2].sigma[0] is not None
    assert info.notes == ("Published: ε stays above ln(1/δ)/3 ≈ 3.837 however large σ is.",)


def test_large_data_get_fewer_points() -> None:
    info = epsilon_against_sigma_info(**LARGE, orders=(64,), accountants=("published",))
    small = epsilon_against_sigma_info(**DIGITS, orders=(64,), accountants=("published",))
    assert len(info.lines[0].sigma) <= 5 < len(small.lines[0].sigma)
    assert sigma_needed_info(epsilon=10.0, **LARGE, accountants=("published",)).lines[0].orders == (1, 4, 16, 64, 256)


def test_pictures_carry_the_numbers(against_sigma: EpsilonAgainstSigmaInfo, needed: SigmaNeededInfo) -> None:
    for chart, info, names in (
        (draw_epsilon_against_sigma(against_sigma), against_sigma, ("published", "corrected Rényi", "exact")),
        (draw_sigma_needed(needed), needed, ("published", "corrected Rényi", "exact")),
    ):
        spec = chart.to_dict()
        text = json.dumps(spec, ensure_ascii=False, allow_nan=False)
        assert "you are here" in text
        assert spec["title"]["text"] == info.title
        assert all(name in text for name in names)
    rows = max(draw_sigma_needed(needed).to_dict()["datasets"].values(), key=len)
    assert len(rows) == 9
    assert {row["l"] for row in rows} == {"1", "4", "64"}


def test_pictures_with_nothing_to_show() -> None:
    empty = epsilon_against_sigma_info(**DIGITS, orders=(512,))
    assert empty.lines == ()
    assert draw_epsilon_against_sigma(empty).to_dict()["title"]["text"] == empty.title
    none = sigma_needed_info(epsilon=1.0, **DIGITS, orders=(512,))
    assert draw_sigma_needed(none).to_dict()["title"]["text"] == none.title


def test_the_published_curve_is_too_low_at_the_papers_sizes() -> None:
    info, (gap,) = published_info(PAPER, orders=(64,), points=15)
    assert gap.worst is not None
    sigma, published, attained = gap.worst
    at = gap.sigma.index(sigma)
    exact = gap.exact[at]
    assert exact / published == max(e / p for e, p in zip(gap.exact, gap.published, strict=True)) > 1.3
    assert 0.96 * exact < attained < exact
    assert published == dp_cda.published_epsilon(order_of_mixture=64, sigma=sigma, n=60_000, delta=1e-5, rows=60_000)
    assert "too small in the shaded parts" in where_too_small([gap])
    assert f"{sigma:.3g}" in where_too_small([gap])
    spec = draw_epsilon_against_sigma(info).to_dict()
    shaded = [rows for rows in spec["datasets"].values() if "low" in rows[0]]
    assert all(row["high"] >= row["low"] for row in shaded[0])
    assert any(row["high"] > row["low"] for row in shaded[0])
    assert math.log10(exact) == pytest.approx(max(row["high"] for row in shaded[0] if row["x"] == pytest.approx(sigma)))


def test_a_difference_that_the_grid_could_make_is_not_called_too_small() -> None:
    _, (gap,) = published_info(PAPER, orders=(4,), points=15)
    assert gap.worst is None
    assert "no two datasets are known" in where_too_small([gap])


def test_one_class_has_no_pair_that_refutes() -> None:
    facts = {"n": 6000, "classes": 1, "smallest_class": 6000, "rows": 6000, "delta": 1e-5}
    _, (gap,) = published_info(facts, orders=(256,), points=7)
    assert gap.worst is None


def test_an_order_that_no_class_allows_has_no_curve() -> None:
    info, gaps = published_info(DIGITS, orders=(512,), points=5)
    assert gaps == ()
    assert draw_epsilon_against_sigma(info).to_dict()["title"]["text"] == info.title
    assert "no two datasets are known" in where_too_small(gaps)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("orders", {"orders": ()}),
        ("orders", {"orders": (0, 4)}),
        ("orders", {"orders": (1, 2, 4, 8, 16, 32)}),
        ("accountants", {"accountants": ("guess",)}),
        ("points", {"points": 1}),
        ("here", {"here": (0.0, 1.0)}),
        ("delta", {"delta": 0.0}),
    ],
)
def test_wrong_arguments_name_the_field(field: str, change: dict[str, object]) -> None:
    with pytest.raises(ParameterError) as caught:
        epsilon_against_sigma_info(**(DIGITS | change))  # type: ignore[arg-type]
    assert caught.value.field == field
