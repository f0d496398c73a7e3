"""The lines behind DP-CDA's pictures, and that they draw."""

import json

import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.dp_cda import counterexamples as dp_cda
from dpsyn.mechanisms.dp_cda.accounting.functions import Accountant, dp_cda_epsilon, dp_cda_noise_scale
from dpsyn.mechanisms.dp_cda.accounting.quick import Sizes, sigma_for
from dpsyn.mechanisms.dp_cda.figures.feasibility import (
    Point,
    draw_epsilon_against_sigma,
    draw_sigma_needed,
    epsilon_against_sigma,
    noise_of_runs,
    sigma_needed,
    with_run,
)
from dpsyn.mechanisms.dp_cda.figures.noise import noise_info
from dpsyn.privacy.mixing import exact as mixing
from tests.mechanisms.dp_cda import changes

DIGITS = Sizes.stated(n=1797, classes=10, smallest_class=174, rows=1790, delta=1e-5)
LARGE = Sizes.stated(n=2_000_000, classes=2, smallest_class=10**6, rows=1000, delta=1e-6)
Lines = dict[tuple[Accountant, int], list[Point]]


def lines_of(points: tuple[Point, ...]) -> Lines:
    """The points of each accountant and l."""
    found: Lines = {}
    for point in points:
        found.setdefault((point.accountant, point.order_of_mixture), []).append(point)
    return found


@pytest.fixture(scope="module")
def against_sigma() -> tuple[Point, ...]:
    return epsilon_against_sigma(DIGITS, (4, 16, 512), points=6)


@pytest.fixture(scope="module")
def needed() -> tuple[tuple[Point, ...], tuple[str, ...]]:
    return sigma_needed(DIGITS, 10.0, (1, 4, 64, 256))


def test_every_point_is_what_its_accountant_says(against_sigma: tuple[Point, ...]) -> None:
    lines = lines_of(against_sigma)
    assert set(lines) == {(name, order) for name in ("published", "rdp", "exact") for order in (4, 16)}
    assert all(4 <= len(line) <= 6 for line in lines.values())
    for accountant, order, sigma, epsilon in against_sigma:
        shared = {"order_of_mixture": order, "sigma": sigma, "delta": 1e-5}
        if accountant == "published":
            assert epsilon == dp_cda.published_epsilon(n=1797, rows=1790, **shared)
        elif accountant == "rdp":
            assert epsilon == dp_cda_epsilon(sigma, 1e-5, order, 1.0, [174] * 10, [179] * 10, "rdp")
        else:
            fine = changes.replace_one_epsilon(clip_norm=1.0, class_sizes=[174, 174], rows=179, **shared)
            assert 0.998 * fine <= epsilon <= 1.07 * fine


def test_epsilon_falls_along_each_line_and_the_exact_one_is_below_the_corrected(against_sigma: tuple[Point, ...]) -> None:
    lines = lines_of(against_sigma)
    for line in lines.values():
        assert [p.sigma for p in line] == sorted(p.sigma for p in line)
        assert [p.epsilon for p in line] == sorted((p.epsilon for p in line), reverse=True)
    for order in (4, 16):
        for exact, rdp in zip(lines["exact", order], lines["rdp", order], strict=True):
            assert exact.sigma == rdp.sigma
            assert exact.epsilon < rdp.epsilon


def test_the_user_is_in_the_picture_and_what_cannot_be_mixed_is_not(against_sigma: tuple[Point, ...]) -> None:
    assert {point.order_of_mixture for point in against_sigma} == {4, 16}
    text = json.dumps(draw_epsilon_against_sigma(against_sigma, DIGITS, (0.5, 2.0)).to_dict(), ensure_ascii=False)
    assert "σ = 0.5, ε = 2" in text
    assert "1,797" in text


def test_sigma_needed_by_three_accountants(needed: tuple[tuple[Point, ...], tuple[str, ...]]) -> None:
    points, notes = needed
    sigma = {point[:2]: point.sigma for point in points}
    assert list(sigma) == [(name, order) for name in ("published", "rdp", "exact") for order in (1, 4, 64)]
    assert sigma["published", 4] == pytest.approx(
        dp_cda.published_sigma(epsilon=10.0, order_of_mixture=4, n=1797, rows=1790, delta=1e-5)
    )
    best = mixing.calibrate_sigma(
        epsilon=10.0, delta=1e-5, order_of_mixture=4, clip_norm=1.0, class_sizes=[174, 174], rows=179
    )
    assert sigma["exact", 4] == pytest.approx(best, rel=0.04)
    for name in ("published", "rdp", "exact"):
        assert sigma[name, 1] > sigma[name, 4] > sigma[name, 64]
    assert all(sigma["rdp", order] > sigma["exact", order] for order in (1, 4, 64))
    assert notes == ("No row can average more than the 174 records that the smallest class has.",)


@pytest.mark.parametrize(("accountant", "digits"), [("rdp", 0.327), ("exact", 0.2823)])
def test_the_library_inside_and_feasibility_have_one_sigma(accountant: Accountant, digits: float) -> None:
    """Classes of 174, T_k = 179, l = 4, ε = 10. By the Rényi bound it was 0.327, 0.3286 and 0.368 when each had its own."""
    library = dp_cda_noise_scale(10.0, 1e-5, 4, 1.0, [174] * 10, [179] * 10, accountant)
    assert library == pytest.approx(digits, abs=5e-4)
    shown = {line.accountant: line.sigma for line in noise_info(Sizes((174,) * 10, 179, 1e-5), 10.0, 4).lines}
    assert shown[accountant] == library
    ((_, _, feasibility, _),), _ = sigma_needed(DIGITS, 10.0, (4,), (accountant,))
    if accountant == "rdp":
        assert feasibility == library
    else:  # found quickly there, to within 3 % of ε, and never too small
        assert library * (1 - 1e-3) <= feasibility <= 1.03 * library
    spent = dp_cda_epsilon(feasibility, 1e-5, 4, 1.0, [174] * 10, [179] * 10, accountant)
    assert 9.3 < spent <= 10.0
    # A valid bound is never below what two datasets attain.
    assert library > dp_cda_noise_scale(10.0, 1e-5, 4, 1.0, [174] * 10, [179] * 10, "exact", "label_change") * (1 - 2e-3)


def test_an_accountant_that_cannot_reach_epsilon_has_no_line_and_says_why() -> None:
    points, notes = sigma_needed(DIGITS, 1.0, (4,))
    assert [point.accountant for point in points if point.accountant != "rdp"] == ["exact"]
    assert notes == ("Published but wrong: ε stays above ln(1/δ)/3 ≈ 3.837 however large σ is.",)


def test_large_data_get_fewer_points() -> None:
    large, small = (epsilon_against_sigma(sizes, (64,), ("published",)) for sizes in (LARGE, DIGITS))
    assert len(large) <= 5 < len(small)
    assert [p.order_of_mixture for p in sigma_needed(LARGE, 10.0, None, ("published",))[0]] == [1, 4, 16, 64, 256]


def test_pictures_carry_the_numbers(
    against_sigma: tuple[Point, ...], needed: tuple[tuple[Point, ...], tuple[str, ...]]
) -> None:
    charts = {
        "Privacy ε against noise σ": draw_epsilon_against_sigma(against_sigma, DIGITS, (0.5, 2.0)),
        "Noise σ needed for ε = 10": draw_sigma_needed(needed[0], DIGITS, 10.0, (4, 0.3)),
    }
    for title, chart in charts.items():
        spec = chart.to_dict()
        text = json.dumps(spec, ensure_ascii=False, allow_nan=False)
        assert "you are here" in text
        assert spec["title"]["text"] == title
        assert all(name in text for name in ("published", "corrected Rényi", "exact"))
    rows = max(spec["datasets"].values(), key=len)
    assert len(rows) == 9
    assert {row["l"] for row in rows} == {"1", "4", "64"}


def test_pictures_with_nothing_to_show() -> None:
    assert epsilon_against_sigma(DIGITS, (512,)) == ()
    assert draw_epsilon_against_sigma((), DIGITS).to_dict()["title"]["text"] == "Privacy ε against noise σ"
    assert sigma_needed(DIGITS, 1.0, (512,))[0] == ()
    assert draw_sigma_needed((), DIGITS, 1.0).to_dict()["title"]["text"] == "Noise σ needed for ε = 1"


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("orders", {"orders": ()}),
        ("orders", {"orders": (0, 4)}),
        ("orders", {"orders": (1, 2, 4, 8, 16, 32)}),
        ("accountants", {"accountants": ("guess",)}),
        ("points", {"points": 1}),
    ],
)
def test_wrong_arguments_name_the_field(field: str, change: dict[str, object]) -> None:
    with pytest.raises(ParameterError) as caught:
        epsilon_against_sigma(DIGITS, **change)  # type: ignore[arg-type]
    assert caught.value.field == field


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 300.0])
def test_a_run_lies_on_the_exact_line_of_its_order(against_sigma: tuple[Point, ...], epsilon: float) -> None:
    run = noise_of_runs(DIGITS, 8, epsilon)
    sigma = run.at(epsilon)
    assert sigma == pytest.approx(sigma_for(DIGITS, 8, epsilon))
    line = [point for point in with_run(against_sigma, run) if point[:2] == ("exact", 8)]
    assert ("exact", 8, pytest.approx(sigma), epsilon) in line
    assert [point.sigma for point in line] == sorted((point.sigma for point in line), reverse=True)
    between = run.at(3.0)
    assert between is not None
    assert between == pytest.approx(sigma_for(DIGITS, 8, 3.0), rel=0.08)
    assert run.at(1000.0) is None


def test_a_large_table_is_placed_by_what_is_known_of_it() -> None:
    sizes = Sizes.stated(n=200_000, classes=2, smallest_class=100_000, rows=100, delta=1e-5)
    known = (Point("exact", 8, 0.2, 0.5), Point("exact", 8, 0.01, 80.0), Point("rdp", 8, 0.1, 9.0))
    run = noise_of_runs(sizes, 8, 1.0, known)
    assert [point.epsilon for point in run.points] == [0.5, 1.0, 80.0]
    assert with_run(known, run) == [known[2], *run.points]
