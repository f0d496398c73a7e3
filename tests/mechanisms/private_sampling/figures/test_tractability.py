"""The picture of solving times: lines at the data's C, the paper's mark, and the state before any timing."""

import math

import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling.calibration import Calibration, Timing, fit
from dpsyn.mechanisms.private_sampling.figures.tractability import LP, PAPER, QP, draw_tractability, tractability_info
from dpsyn.theory.datasets import ADULT, ASIA, CAR, MUSHROOM

TIMINGS = [
    Timing(program, m, size, share * 2e-8 * m * size**1.75, "interior point")  # type: ignore[arg-type]
    for program, share in (("lp", 1.0), ("qp", 0.2))
    for m, size in ((24_000, 22), (8000, 56), (4000, 172), (24_000, 56), (12_000, 172))
]
CALIBRATION = Calibration(fit("lp", TIMINGS), fit("qp", TIMINGS))


def test_lines_follow_the_law_at_the_datas_number_of_functions() -> None:
    info = tractability_info(CAR, CALIBRATION, reduced_space_size=6912)
    assert [line.label for line in info.lines] == [LP, QP, PAPER]
    for line in info.lines[:2]:
        share = 1.0 if line.label == LP else 0.2
        for x, y in zip(line.x, line.log10_seconds, strict=True):
            assert y == pytest.approx(math.log10(share * 2e-8 * 157**1.75) + x, abs=1e-3)
    assert info.here == (pytest.approx(math.log10(6912)), pytest.approx(math.log10(2e-8 * 6912 * 157**1.75), abs=1e-3))
    assert "C = 157" in info.subtitle
    assert len(info.timed) == 10
    for run in info.timed:
        share = 1.0 if run.label == LP else 0.2
        assert run.log10_seconds == pytest.approx(math.log10(share * 2e-8 * 157**1.75) + run.log10_m, abs=1e-3)
    legend = draw_tractability(info).to_dict()["layer"]
    assert [layer["encoding"]["color"]["legend"]["orient"] for layer in legend if "color" in layer.get("encoding", {})] == [
        "bottom"
    ]


def test_the_papers_rule_and_its_mark() -> None:
    info = tractability_info(ASIA)
    assert [line.label for line in info.lines] == [PAPER]
    assert info.prediction is None
    assert "not timed yet" in info.subtitle
    assert info.here[1] == pytest.approx(2 * info.here[0] - 7)
    text = draw_tractability(info).to_json(ensure_ascii=False)
    assert "45.6 years (printed: 38 years)" in text


@pytest.mark.parametrize("calibration", [None, CALIBRATION], ids=["before", "after"])
@pytest.mark.parametrize("size", [1, 256, 10**30, None])
def test_it_draws_at_any_size(calibration: Calibration | None, size: int | None) -> None:
    for stats in (ADULT, MUSHROOM):
        info = tractability_info(stats, calibration, reduced_space_size=size)
        assert info.x_domain[0] < info.here[0] < info.x_domain[1]
        spec = draw_tractability(info).to_dict()
        drawn = [row for rows in spec["datasets"].values() for row in rows if "time" in row]
        assert len(drawn) == sum(len(line.x) for line in info.lines)
        assert all(math.isfinite(row["y"]) for row in drawn)


def test_degree_is_checked() -> None:
    with pytest.raises(ParameterError, match="degree"):
        tractability_info(ASIA, degree=9)
