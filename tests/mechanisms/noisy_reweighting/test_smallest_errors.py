"""The smallest error against ε: its numbers, the published lines, the ends of the range."""

import math
import re

import pandas as pd
import pytest

from dpsyn.mechanisms.feasibility import feasibility
from dpsyn.mechanisms.noisy_reweighting.figures import draw_reweighting, reweighting_table, smallest_errors
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.datasets import ADULT, ASIA, CAR

SPEC = PrivacySpec(1.0, 1e-6)
HUGE = DatasetStatistics(p=10**4, n=10**30, max_frequency=1e-30)


def errors_of(stats: DatasetStatistics, spec: PrivacySpec = SPEC, degree: int = 2) -> pd.DataFrame:
    return smallest_errors([row for row in reweighting_table(stats, spec, degree=degree) if not row.reason])


def at(errors: pd.DataFrame, label: str, log10_epsilon: float) -> float:
    return float(10 ** errors[(errors["series"] == label) & (errors["x"] == log10_epsilon)]["y"].item())


def drawn(
    stats: DatasetStatistics, spec: PrivacySpec = SPEC, **more: object
) -> tuple[str, dict[str, float | str], set[str]]:
    """The subtitle, where "you are here" stands and what it says, and the lines."""
    chart = draw_reweighting(stats, spec, **more).to_dict()  # type: ignore[arg-type]
    data = list(chart["datasets"].values())
    here = next(rows[0] for rows in data if rows[0].get("label") == "you are here")
    lines = {row["series"] for rows in data for row in rows if "series" in row}
    return chart["usermeta"]["words"]["subtitle"], here, lines


def test_published_lines_are_the_published_numbers() -> None:
    errors = errors_of(ADULT)
    assert f"{at(errors, 'Walsh, Laplace, published', 0.0):.3g}" == "9.27"
    assert f"{at(errors, 'Walsh, Laplace, published', 1.0):.3g}" == "0.927"
    assert f"{at(errors_of(CAR), 'Walsh, Laplace, published', 1.0):.3g}" == "2.37"


def test_noise_binds_for_small_epsilon_and_sampling_for_large() -> None:
    errors = errors_of(ASIA)
    tail = math.log(37 * 8)
    assert at(errors, "Walsh, Laplace", -2.0) == pytest.approx(8 * 40 * tail / (20_000 * 0.01))
    assert at(errors, "Walsh, Laplace", 3.0) == pytest.approx(8 * math.sqrt(2 * math.log(2 * 37 * 8) / 20_000))
    assert at(errors, "Walsh, Laplace, published", 3.0) < at(errors, "Walsh, Laplace", 3.0)
    for _, line in errors.groupby("series"):
        assert all(b <= a + 1e-12 for a, b in zip(line["y"], line["y"][1:], strict=False))


@pytest.mark.parametrize(
    ("stats", "spec", "line"),
    [
        (ASIA, SPEC, "Walsh, Laplace"),  # where sampling binds, as it does for Gaussian noise: as good as any
        (CAR, SPEC, "tables, Gaussian"),
        (ADULT, SPEC, "tables, Laplace"),
        (CAR, PrivacySpec(1.0), "tables, Laplace"),
    ],
)
def test_you_are_here_is_on_the_line_that_the_words_call_the_best(
    stats: DatasetStatistics, spec: PrivacySpec, line: str
) -> None:
    subtitle, here, _ = drawn(stats, spec)
    errors = errors_of(stats, spec)
    lowest = min(at(errors, name, 0.0) for name in set(errors["series"]) if "published" not in name)
    assert at(errors, line, 0.0) == lowest
    assert (here["x"], here["y"]) == (0.0, pytest.approx(math.log10(lowest)))
    assert f"{stats.name}, {line}: smallest error {lowest:.3g}"[:-1] in str(here["text"])
    assert subtitle.startswith(f"Best at ε = 1: {line}, within ")
    assert float(subtitle.split("within ")[1].split(" of")[0]) == pytest.approx(lowest, rel=0.01)
    assert "published" not in subtitle.split(". Dashed")[0].split(", within")[0]


def test_the_verdict_says_of_which_noise_and_how_many_rows_it_finds_no_bound() -> None:
    """The best line has a bound where the verdict, of the papers' noise and fewer rows, has none."""
    subtitle, here, _ = drawn(CAR)
    assert float(here["y"]) < 0
    assert "tables, Gaussian, within 0.788 of every statistic, with k ≥ 1,728 rows" in subtitle
    found = {
        (noise, rows): feasibility(CAR, SPEC, degree=2, noise=noise, rows=rows, accuracy=0.01).noisy_reweighting.headline
        for noise, rows in (("laplace", 1000), ("gaussian", 1000), ("gaussian", 1728))
    }
    none = "Private, but with {} noise and 1,000 rows no bound below 1 on the error of a statistic of 2 columns."
    assert found["laplace", 1000].sentence == none.format("Laplace")
    assert found["gaussian", 1000].number != found["gaussian", 1728].number == "± 0.788"


@pytest.mark.parametrize("epsilon", [1.0, 30.0])
def test_the_rows_that_the_smallest_error_takes_are_said(epsilon: float) -> None:
    subtitle, _, _ = drawn(ASIA, PrivacySpec(epsilon))
    found = re.search(r"within ([\d.]+) of every statistic, with k ≥ ([\d,]+) rows", subtitle)
    assert found
    error, rows = (float(number.replace(",", "")) for number in found.groups())

    def missed(k: float) -> list[str]:
        found = feasibility(
            ASIA, PrivacySpec(epsilon), degree=2, accuracy=error / 8, rows=round(k), statistics="walsh"
        ).noisy_reweighting.missed
        return [condition.key for condition in found]

    assert missed(1.001 * rows) == []
    assert missed(0.97 * rows) == ["rows_lower"]


def test_gaussian_lines_need_a_privacy_delta() -> None:
    subtitle, _, lines = drawn(ASIA, PrivacySpec(1.0))
    assert [line for line in lines if "Gaussian" in line] == []
    assert "Gaussian noise needs" in subtitle


def test_published_lines_are_dashed_in_the_same_colour() -> None:
    spec = draw_reweighting(ASIA, SPEC).to_dict()
    encoding = next(layer["encoding"] for layer in spec["layer"] if "strokeDash" in layer["encoding"])
    colour = dict(zip(encoding["color"]["scale"]["domain"], encoding["color"]["scale"]["range"], strict=True))
    dash = dict(zip(encoding["strokeDash"]["scale"]["domain"], encoding["strokeDash"]["scale"]["range"], strict=True))
    assert {name for name, pattern in dash.items() if pattern != [1, 0]} == {
        "Walsh, Laplace, published",
        "tables, Laplace, published",
    }
    assert colour["Walsh, Laplace"] == colour["Walsh, Laplace, published"]
    assert len(set(colour.values())) == 4


@pytest.mark.parametrize("epsilon", [1e-3, 1e3])
@pytest.mark.parametrize("delta", [0.0, 1e-12])
def test_extremes_draw(epsilon: float, delta: float) -> None:
    for stats in (HUGE, DatasetStatistics(p=1, n=1, max_frequency=1.0)):
        assert all(math.isfinite(y) for y in errors_of(stats, PrivacySpec(epsilon, delta), 1)["y"])
        _, here, _ = drawn(stats, PrivacySpec(epsilon, delta), degree=1)
        assert math.isfinite(float(here["y"]))
