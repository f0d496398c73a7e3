from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.dp_cda.accounting.functions import Variant, dp_cda_epsilon
from dpsyn.mechanisms.dp_cda.accounting.quick import Sizes
from dpsyn.mechanisms.dp_cda.figures.noise import (
    INSIDE,
    MOST_CLASSES,
    MOVED,
    ClassBudget,
    class_budgets,
    clipping_of,
    draw_budget,
    draw_noise,
    draw_norms,
    noise_info,
)
from dpsyn.mechanisms.dp_cda.inside import Inside, Records
from tests.mechanisms.dp_cda import changes

PAPER = Sizes((6_000,) * 10, 6_000, 1e-5)


def budget(counts: tuple[int, ...], variant: Variant = "fixed_size") -> tuple[ClassBudget, ...]:
    return class_budgets([f"c{i}" for i in range(len(counts))], Sizes(counts, 100, 1e-5, variant=variant), 4, 0.3)


def draw(parts: tuple[ClassBudget, ...]) -> list[dict[str, object]]:
    return max(draw_budget(parts, 0.3, 10.0).to_dict()["datasets"].values(), key=len)


def test_three_accountants_at_a_row_of_the_reference_table() -> None:
    info = noise_info(PAPER, 10.0, 64)
    # l = 64, ε = 10 for 60,000 records in 10 classes: published 0.021687, exact replace-one 0.026341, true ε 15.94.
    assert info.sigma("published") == pytest.approx(0.021687, rel=5e-3)
    assert info.sigma("exact") == pytest.approx(0.026341, rel=0.02)
    assert info.sigma("exact") >= 0.026341 * (1 - 1e-3)  # type: ignore[operator]
    spent = {line.accountant: line.spent for line in info.lines}
    assert spent["published"] == pytest.approx(15.94, rel=0.04)
    assert spent["exact"] <= 10.0  # type: ignore[operator]
    assert 0.97 * 15.9376 < info.attained < 15.9376  # type: ignore[operator]
    assert "The claim is false" in info.verdict


def test_a_published_sigma_that_is_large_enough_is_said_to_be() -> None:
    info = noise_info(PAPER, 10.0, 4)
    assert {line.accountant: line.spent for line in info.lines}["published"] == pytest.approx(7.563, rel=0.04)
    assert "more noise than is needed" in info.verdict


def test_one_class_has_an_upper_bound_only() -> None:
    info = noise_info(Sizes((6_000,), 6_000, 1e-5), 10.0, 64)
    assert info.attained is None
    assert "The claim is false" not in info.verdict


def test_poisson_sums_are_not_the_papers() -> None:
    info = noise_info(replace(PAPER, variant="poisson"), 10.0, 64)
    assert info.sigma("published") is None
    assert "says nothing of this variant" in info.verdict
    # Column v of the reference table: the larger of replacing a record and of changing its label.
    assert info.sigma("exact") == pytest.approx(0.014248, rel=0.02)
    draw_noise(info).to_dict()


def test_an_epsilon_that_the_published_formula_cannot_reach() -> None:
    info = noise_info(PAPER, 1.0, 4)
    assert info.sigma("published") is None
    assert "3.837" in info.verdict
    assert "cannot reach" in json.dumps(draw_noise(info).to_dict(), ensure_ascii=False)


def test_the_smallest_class_or_a_change_of_label_binds() -> None:
    parts = budget((50, 200, 1000))
    assert [part.size for part in parts if part.kind == INSIDE] == [50, 200, 1000]
    assert parts[0].epsilon == max(part.epsilon for part in parts)
    (moved,) = [part for part in parts if part.kind == MOVED]
    assert moved.name == "c0 ↔ c1"
    every = [
        changes.label_change_epsilon(
            order_of_mixture=4, sigma=0.3, clip_norm=1.0, class_size_from=a, class_size_to=b, rows_from=100, rows_to=100,
            delta=1e-5,
        )
        for a in (50, 200, 1000) for b in (50, 200, 1000) if a != b
    ]  # fmt: skip
    assert max(every) * (1 - 1e-3) <= moved.epsilon <= max(every) * 1.02
    inside = changes.replace_same_class_epsilon(
        order_of_mixture=4, sigma=0.3, clip_norm=1.0, class_size=50, rows=100, delta=1e-5
    )
    assert inside * (1 - 1e-3) <= next(p.epsilon for p in parts if p.size == 50 and p.kind == INSIDE) <= inside * 1.06


def test_rows_in_proportion_are_those_of_each_class() -> None:
    sizes = Sizes((50, 200, 1000), (4, 16, 80), 1e-5)
    parts = class_budgets(["a", "b", "c"], sizes, 4, 0.3)
    assert {part.name: part.rows for part in parts} == {"a": 4, "b": 16, "c": 80, "a ↔ b": 20}
    for part in parts:
        if part.kind == INSIDE:
            alone = changes.replace_same_class_epsilon(
                order_of_mixture=4, sigma=0.3, clip_norm=1.0, class_size=part.size, rows=part.rows, delta=1e-5
            )
            assert alone * (1 - 1e-3) <= part.epsilon <= alone * 1.06
    every = dp_cda_epsilon(0.3, 1e-5, 4, 1.0, sizes.counts, sizes.rows, neighbouring="label_change")
    assert parts[0].kind == MOVED
    assert every * (1 - 2e-3) <= parts[0].epsilon <= every * 1.06
    assert sizes.most_rows == 80


def test_a_calibrated_sigma_shows_no_more_than_what_was_asked_for(digits: Records) -> None:
    inside = Inside(digits, 10.0, 1e-5, 4, 1790)
    names = [digits.classes[k] for k in inside.kept]
    parts = class_budgets(names, inside.sizes, 4, inside.sigma, 10.0)
    rough = class_budgets(names, inside.sizes, 4, inside.sigma)
    assert 9.95 < parts[0].epsilon <= 10.0 < 1.02 * rough[0].epsilon
    assert [part.name for part in parts] == [part.name for part in rough]


def test_a_class_of_a_poisson_sum_has_its_own_epsilon() -> None:
    parts = budget((50, 200), "poisson")
    swapped = dp_cda_epsilon(0.3, 1e-5, 4, 1.0, [50], [100], "exact", "replace_same_class", variant="poisson")
    assert next(p.epsilon for p in parts if p.size == 50 and p.kind == INSIDE) == pytest.approx(swapped, rel=0.04)


def test_classes_that_are_too_small_are_left_out() -> None:
    assert [part.kind for part in budget((100,))] == [INSIDE]
    with pytest.raises(ParameterError, match="at most"):
        budget(())
    with pytest.raises(ParameterError, match="order_of_mixture = 2 would do"):
        budget((3, 2))


def test_many_classes_are_drawn_as_the_worst_ones() -> None:
    parts = budget(tuple(range(50, 100)))
    assert len(parts) == MOST_CLASSES + 1
    assert {part.size for part in parts} == {*range(50, 49 + MOST_CLASSES), 99}
    rows = draw(parts)
    assert rows[0]["kind"] == "binds"
    assert rows[-1]["size"] == "99"


def test_names_that_agree_at_their_beginning_stay_apart() -> None:
    names = ["the same beginning of a name, one", "the same beginning of a name, two"]
    parts = class_budgets(names, Sizes((90, 100), 10, 1e-5), 2, 0.4)
    assert len({row["name"] for row in draw(parts)}) == 3


def test_norms_are_counted_and_cut(digits: Records) -> None:
    whole, half, tenth = (clipping_of(Inside(digits, 10.0, 1e-5, 4, 1790, clip)) for clip in (1.0, 0.85, 0.1))
    assert len(whole.norms) == 1797
    assert (whole.share_cut, whole.shortened) == (0.0, 0.0)
    assert 0.2 < half.share_cut < 0.8
    assert 0 < half.shortened < 0.05
    assert tenth.share_cut == 1.0
    assert not any(each.says_nothing for each in (whole, half, tenth))
    rows = max(draw_norms(half).to_dict()["datasets"].values(), key=len)
    assert sum(row["count"] for row in rows) == 1797


def test_a_table_of_categories_has_norm_one(car: Records) -> None:
    found = clipping_of(Inside(car, 10.0, 1e-5, 4, 1000))
    assert found.norms == pytest.approx(1.0)
    assert found.share_cut == 0.0
    # Of it there is nothing to see, unless c cuts all of them.
    assert found.says_nothing
    assert not clipping_of(Inside(car, 10.0, 1e-5, 4, 1000, 0.5)).says_nothing
    (row,) = max(draw_norms(found).to_dict()["datasets"].values(), key=lambda rows: "count" in rows[0])
    assert (row["to"], row["count"]) == (1.0, 1728)


def test_an_accountant_that_stays_above_epsilon_has_no_sigma() -> None:
    info = noise_info(Sizes((122, 130, 135), 100, 1e-12, 0.1), 0.08, 64)
    assert info.sigma("rdp") is None
    assert info.sigma("published") is None
    assert info.sigma("exact") is not None
    draw_noise(info).to_dict()


@pytest.mark.parametrize(
    ("sizes", "order_of_mixture"),
    [(Sizes((122, 130, 135), 100, 1e-12, 0.1), 1), (Sizes((6000,) * 10, 6000, 1e-12), 64)],
)
def test_a_tiny_delta_has_a_noise_scale_that_sampling_makes_smaller(sizes: Sizes, order_of_mixture: int) -> None:
    info = noise_info(sizes, 0.1, order_of_mixture)
    exact, rdp = info.line("exact"), info.line("rdp")
    assert exact.sigma is not None
    assert exact.spent is not None
    assert exact.spent <= 0.1
    assert rdp.sigma is not None
    assert exact.sigma < rdp.sigma
