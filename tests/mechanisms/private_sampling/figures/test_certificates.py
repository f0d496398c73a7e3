"""The picture of three certificates: its numbers, its words, and that the experimental one looks different."""

import math
from dataclasses import replace

import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling.answers import NAMES, PROVEN
from dpsyn.mechanisms.private_sampling.bounds import sampling_setting
from dpsyn.mechanisms.private_sampling.figures.feasibility import (
    AXES,
    Lines,
    certificates_info,
    draw_lines,
    floor_tradeoff_info,
)
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.datasets import ADULT, ASIA

HUGE = DatasetStatistics(p=10**4, n=10**30, max_frequency=1e-30)
SPEC = PrivacySpec(1.0)


def at(info: Lines, certificate: str, log10_x: float) -> float:
    line = next(one for one in info.lines if one.label == NAMES[certificate])
    j = max(i for i in range(len(line.x)) if line.x[i] <= log10_x + 1e-12)
    if line.x[j] == pytest.approx(log10_x):
        return line.y[j]
    share = (log10_x - line.x[j]) / (line.x[j + 1] - line.x[j])
    return line.y[j] + share * (line.y[j + 1] - line.y[j])


def test_asia_on_the_cube_against_n() -> None:
    info = certificates_info(sampling_setting(ASIA, SPEC, reduced_space_size=256))
    assert at(info, "theorem_4_1", 6) == pytest.approx(math.log10(54.9), abs=1e-3)
    assert at(info, "bounded_ratio", 6) == pytest.approx(math.log10(math.log(8)))
    assert at(info, "stability", 8) == pytest.approx(math.log10(0.257), abs=2e-3)
    assert info.here[:2] == (pytest.approx(math.log10(20000)), pytest.approx(math.log10(math.log(8))))
    assert "ε = 388." in info.here.text
    assert "n = 6.976 × 10⁸" in info.subtitle
    assert [text.split(", ")[1].split(" above")[0] for _, _, text in info.crossings] == [
        NAMES["stability"],
        NAMES["theorem_4_1"],
    ]


@pytest.mark.parametrize(
    ("n", "said"), [(10**6, "2.08 by bounded ratio."), (10**10, "0.55 by Theorem 4.1, in exact arithmetic.")]
)
def test_the_words_say_where_the_smaller_one_holds_in_exact_arithmetic_only(n: int, said: str) -> None:
    setting = sampling_setting(replace(ASIA, n=n), SPEC, reduced_space_size=256)
    assert f"here ε = {said}" in certificates_info(setting).subtitle
    assert f"{said.partition(' ')[2].rstrip('.')}; promised error 1" in floor_tradeoff_info(setting).here.text


@pytest.mark.parametrize("vary", AXES)
@pytest.mark.parametrize("stats", [ASIA, ADULT, HUGE], ids=["asia", "adult", "huge"])
@pytest.mark.parametrize("epsilon", [1e-3, 1e3])
def test_every_axis_shows_where_you_are(stats: DatasetStatistics, vary: str, epsilon: float) -> None:
    info = certificates_info(sampling_setting(stats, PrivacySpec(epsilon), rows=50), vary=vary)  # type: ignore[arg-type]
    low, high = info.x_domain
    assert low <= info.here[0] <= high
    assert info.here[1] is not None
    best = min(at(info, one, info.here[0]) for one in PROVEN if NAMES[one] in {line.label for line in info.lines})
    assert info.here[1] == pytest.approx(best, abs=5e-2)
    assert all(math.isfinite(y) for line in info.lines for y in line.y)
    assert (NAMES["stability"] in {line.label for line in info.lines}) == (stats.p <= 16)
    text = draw_lines(info).to_json()
    assert info.title in text


def test_the_experimental_line_is_drawn_differently() -> None:
    spec = draw_lines(certificates_info(sampling_setting(ASIA, SPEC))).to_dict()
    lines = next(layer for layer in spec["layer"] if "strokeDash" in layer["encoding"])
    scale = lines["encoding"]["strokeDash"]["scale"]
    assert dict(zip(scale["domain"], map(tuple, scale["range"]), strict=True)) == {
        "Theorem 4.1": (1, 0),
        "bounded ratio": (1, 0),
        "stability (experimental)": (3, 4),
    }
    band = spec["datasets"][spec["layer"][0]["data"]["name"]]
    info = certificates_info(sampling_setting(ASIA, SPEC))
    proven = [line for line in info.lines if line.label in {NAMES[one] for one in PROVEN}]
    assert [row["y"] for row in band] == [min(ys) for ys in zip(*(p.y for p in proven), strict=True)]


def test_the_degenerate_end_and_an_unusable_box_are_said_in_words() -> None:
    flat = certificates_info(sampling_setting(ASIA, SPEC, floor=0.5))
    assert flat.here[1] is None
    assert "ignores the data" in flat.subtitle
    broken = certificates_info(sampling_setting(ASIA, SPEC, floor=0.6), vary="ceiling")
    assert "No certificate" in broken.subtitle
    for info in (flat, broken):
        assert info.title in draw_lines(info).to_json()


def test_an_unknown_axis_names_its_field() -> None:
    with pytest.raises(ParameterError, match="vary"):
        certificates_info(sampling_setting(ASIA, SPEC), vary="p")  # type: ignore[arg-type]
