"""The map of the (p, n) plane: regions tile it, datasets lie where their numbers are."""

import math
from itertools import pairwise, permutations

import pytest

from dpsyn.mechanisms.private_sampling.bounds import sampling_setting
from dpsyn.mechanisms.private_sampling.figures.plane import REGIONS, PlaneInfo, draw_plane, plane_info, region
from dpsyn.mechanisms.private_sampling.theorems import private_sampling_verdict
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.datasets import ADULT, ASIA, BUILT_IN, ideal_cube
from dpsyn.theory.logarithms import format_log

SPEC = PrivacySpec(10.0)
MINE = DatasetStatistics(p=150, n=10**12, max_frequency=1e-12, name="mine")


def good_map() -> PlaneInfo:
    return plane_info(sampling_setting(MINE, SPEC, floor=0.1, rows=10**5), [ASIA], spread="ideal", largest_p=400)


def test_columns_are_tiled_without_gaps() -> None:
    info = good_map()
    for one in info.columns:
        parts = info.cut(one)
        assert parts[0][1] == info.y_domain[0]
        assert parts[-1][2] == info.y_domain[1]
        assert all(a[2] == b[1] and a[0] != b[0] for a, b in pairwise(parts))


def test_places_carry_their_exact_numbers() -> None:
    info = plane_info(sampling_setting(MINE, SPEC, floor=0.2, rows=1000), [ASIA])
    assert info.here.name == "mine"
    assert (info.here.p, info.here.log10_n) == (150, pytest.approx(12))
    assert [q.name for q in info.places] == ["ASIA", "MUSHROOM", "CAR", "ADULT"]
    asia = info.places[0]
    assert "n = 20,000" in asia.text
    assert "0.29" in asia.text
    assert asia.region == "neither"
    assert "‖f‖∞" in asia.text


@pytest.mark.parametrize("rows", [1, 10**6])
@pytest.mark.parametrize("floor", [0.24, 0.45, 0.6])
def test_every_dataset_has_what_its_own_verdict_says(floor: float, rows: int) -> None:
    """Bits beside other columns, whichever of them is in focus; of one bit there are no two."""
    bits = DatasetStatistics(p=20, n=10**13, max_frequency=0.001, name="bits")
    codes = DatasetStatistics(p=8, n=10**13, max_frequency=0.06, sizes=(3, 3, 2), name="codes")
    one = DatasetStatistics(p=1, n=10**13, max_frequency=0.5, sizes=(2,), name="one bit")
    settings = {"floor": floor, "ceiling": 1.5, "reduced_space_size": 10, "rows": rows}
    for first, *others in permutations((bits, codes, one)):
        degree = min(2, first.p)
        info = plane_info(sampling_setting(first, PrivacySpec(1.0), degree=degree, **settings), others)
        for place, stats in zip((info.here, *info.places), (first, *others, *BUILT_IN.values()), strict=True):
            own = sampling_setting(stats, PrivacySpec(1.0), degree=min(degree, stats.p), **settings)
            verdict = private_sampling_verdict(own)
            theorem, ratio = (verdict[name].holds and own.is_valid for name in ("theorem_4_1", "bounded_ratio"))
            accurate = all(condition.holds for condition in verdict.conditions if condition.group != "privacy")
            assert place.region == region(accurate=accurate, theorem=theorem, ratio=ratio), (place.name, first.name)


def test_a_dataset_on_the_ideal_cube_is_in_the_best_region() -> None:
    cube = ideal_cube(180)
    info = plane_info(sampling_setting(cube, SPEC, floor=0.1, rows=10**5), spread="ideal")
    assert info.here.region == REGIONS[0]
    column = next(c for c in info.columns if c.p == 180)
    assert column.region(math.log(cube.n)) == info.here.region
    assert info.y_domain[1] > info.here.log10_n
    assert "accuracy can be had from p = " in info.subtitle


def test_words_say_what_fails_everywhere() -> None:
    assert "4·floor < 1" in plane_info(sampling_setting(ADULT, SPEC)).subtitle
    assert "nowhere" in plane_info(sampling_setting(ADULT, SPEC)).subtitle


@pytest.mark.parametrize("spread", ["data", "ideal"])
@pytest.mark.parametrize("epsilon", [1e-3, 1e3])
def test_extremes_draw(spread: str, epsilon: float) -> None:
    huge = DatasetStatistics(p=10**4, n=10**30, max_frequency=1e-30, name="huge")
    info = plane_info(sampling_setting(huge, PrivacySpec(epsilon), rows=10**6), [ADULT], spread=spread)  # type: ignore[arg-type]
    spec = draw_plane(info).to_dict()
    areas = spec["datasets"][spec["layer"][0]["data"]["name"]]
    assert all(math.isfinite(row[key]) for row in areas for key in ("p", "low", "high"))
    assert {row["region"] for row in areas} == set(info.regions())
    strips = spec["datasets"][spec["layer"][1]["data"]["name"]]
    assert len(strips) == len(info.columns)
    assert strips[0]["left"] == math.log10(info.x_domain[0])
    assert strips[-1]["right"] == math.log10(info.x_domain[1])
    for name in ("private", "accurate"):
        ends = [getattr(one, f"log_{name}_n") for one in info.columns]
        assert [strip[name] for strip in strips] == [
            "no n" if math.isinf(end) else format_log(max(0.0, end), 4, "at_least") for end in ends
        ]
    assert info.here.text in draw_plane(info).to_json(ensure_ascii=False)


def test_colours_are_fixed_for_each_region() -> None:
    def colours(info: PlaneInfo) -> dict[str, str]:
        scale = draw_plane(info).to_dict()["layer"][0]["encoding"]["color"]["scale"]
        return dict(zip(scale["domain"], scale["range"], strict=True))

    first, second = colours(good_map()), colours(plane_info(sampling_setting(ADULT, PrivacySpec(1.0))))
    assert len(set(first.values())) == len(first) > 1
    assert all(first[r] == second[r] for r in first.keys() & second.keys())


def test_small_datasets_stay_apart_from_each_other_when_the_data_have_many_bits() -> None:
    many = DatasetStatistics(p=14_000, n=24_000, max_frequency=1e-4, name="many")
    info = plane_info(sampling_setting(many, SPEC), [ASIA])
    assert len(info.columns) > 60
    spec = draw_plane(info).to_dict()
    low, high = spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
    (spots,) = (rows for rows in spec["datasets"].values() if "name" in rows[0])
    at = sorted((row["p"] - low) / (high - low) for row in spots)
    assert len(at) == 4
    assert min(b - a for a, b in pairwise([*at, 1.0])) > 0.05
    assert info.across(100) == 2
    assert plane_info(sampling_setting(ADULT, SPEC)).across(100) == 100
