"""The smallest error against ε: its numbers, the published lines, the ends of the range."""

import math

import pytest

from dpsyn.mechanisms.noisy_reweighting.figures.feasibility import ReweightingInfo, draw_reweighting, reweighting_info
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.datasets import ADULT, ASIA, CAR

SPEC = PrivacySpec(1.0, 1e-6)
HUGE = DatasetStatistics(p=10**4, n=10**30, max_frequency=1e-30)


def at(info: ReweightingInfo, label: str, log10_epsilon: float) -> float:
    line = next(one for one in info.lines if one.label == label)
    return 10 ** line.log10_error[line.log10_epsilon.index(log10_epsilon)]


def test_published_lines_are_the_published_numbers() -> None:
    info = reweighting_info(ADULT, SPEC)
    assert f"{at(info, 'Walsh, Laplace, published', 0.0):.3g}" == "9.27"
    assert f"{at(info, 'Walsh, Laplace, published', 1.0):.3g}" == "0.927"
    assert f"{at(reweighting_info(CAR, SPEC), 'Walsh, Laplace, published', 1.0):.3g}" == "2.37"


def test_noise_binds_for_small_epsilon_and_sampling_for_large() -> None:
    info = reweighting_info(ASIA, SPEC)
    tail = math.log(37 * 8)
    assert at(info, "Walsh, Laplace", -2.0) == pytest.approx(8 * 40 * tail / (20_000 * 0.01))
    assert at(info, "Walsh, Laplace", 3.0) == pytest.approx(8 * math.sqrt(2 * math.log(2 * 37 * 8) / 20_000))
    assert at(info, "Walsh, Laplace, published", 3.0) < at(info, "Walsh, Laplace", 3.0)
    for line in info.lines:
        assert all(b <= a + 1e-12 for a, b in zip(line.log10_error, line.log10_error[1:], strict=False))


def test_you_are_here_follows_statistics_and_noise() -> None:
    laplace = reweighting_info(ADULT, SPEC, statistics="walsh")
    assert laplace.here == (0.0, pytest.approx(math.log10(at(laplace, "Walsh, Laplace", 0.0))))
    gaussian = reweighting_info(ADULT, SPEC, noise="gaussian")
    assert gaussian.here[1] == pytest.approx(math.log10(at(gaussian, "tables, Gaussian", 0.0)))
    assert "tables, Gaussian" in gaussian.here_text
    assert gaussian.best[2]


def test_gaussian_lines_need_a_privacy_delta() -> None:
    info = reweighting_info(ASIA, PrivacySpec(1.0))
    assert [line.label for line in info.lines if "Gaussian" in line.label] == []
    assert "Gaussian noise needs" in info.subtitle


def test_published_lines_are_dashed_in_the_same_colour() -> None:
    spec = draw_reweighting(reweighting_info(ASIA, SPEC)).to_dict()
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
        info = reweighting_info(stats, PrivacySpec(epsilon, delta), degree=1)
        assert all(math.isfinite(y) for line in info.lines for y in line.log10_error)
        assert info.here_text in draw_reweighting(info).to_json(ensure_ascii=False)
