"""The question as a whole."""

import json
import math
import re
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpsyn
from dpsyn.cli.terminal import say_verdicts
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.feasibility import Feasibility, feasibility, side_by_side
from dpsyn.mechanisms.noisy_reweighting.setting import family_of
from dpsyn.mechanisms.registry import MECHANISMS
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import Condition, Group, Verdict
from dpsyn.theory.datasets import ADULT, ASIA, BUILT_IN, CAR, ideal_cube
from dpsyn.theory.logarithms import LN10

SPEC = PrivacySpec(1.0, 1e-6)


def test_it_is_the_public_name() -> None:
    assert dpsyn.feasibility is feasibility


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_paper_is_right_that_its_datasets_are_out_of_reach(name: str) -> None:
    answer = feasibility(BUILT_IN[name], SPEC, rows=1000)
    assert not answer.private_sampling.holds
    assert not answer.private_sampling["n"].holds
    judged = [v.mechanism for v in answer]
    assert judged == [name for name in MECHANISMS if name in judged]
    assert judged[:3] == ["private_sampling", "noisy_reweighting", "dp_cda"]


def test_asia_can_be_reweighted() -> None:
    answer = feasibility(ASIA, SPEC, rows=20000, floor=0.2)
    assert answer.noisy_reweighting.holds
    assert answer.noisy_reweighting.facts["statistic_error"] == pytest.approx(0.8)
    assert not feasibility(ASIA, SPEC, rows=20000, floor=0.01).noisy_reweighting.holds


def test_the_smallest_m_is_taken_unless_one_is_given() -> None:
    free = feasibility(ASIA, SPEC)
    assert free.private_sampling["m_lower"].slack_orders == 0
    given_m = feasibility(ASIA, SPEC, reduced_space_size=256)
    assert given_m.private_sampling["m_lower"].actual == pytest.approx(256)
    assert not given_m.private_sampling["m_lower"].holds
    assert given_m.private_sampling["theorem_4_1"].required > free.private_sampling["theorem_4_1"].required


def test_side_by_side_all_conditions_that_fail_are_counted() -> None:
    groups: tuple[Group, ...] = get_args(Group)
    failing = [Condition("c", "Label", "a", "T", "<=", 0.0, 1.0, group=group) for group in groups]
    verdicts = [Verdict("m", "All", tuple(failing), ""), Verdict("m", "None", (), "")]
    verdicts += [Verdict("m", one.group, (one,), "") for one in failing]
    (line,) = side_by_side([Feasibility(ASIA, SPEC, {verdict.title: verdict for verdict in verdicts})]).to_dict("records")
    told = {"All": "✗ 3 fail", "None": "✓ all hold"} | dict.fromkeys(groups, "✗ 1 fail")
    assert {title: line[title].split(",")[0] for title in told} == told


def test_side_by_side_it_is_said_by_how_much_the_worst_condition_fails() -> None:
    def told(*orders: float) -> str:
        # All are strict: what is required exactly is not enough.
        conditions = [Condition("c", "", "a", "T", "<=", 0.0, -by * LN10, strict=True) for by in orders]
        (line,) = side_by_side([Feasibility(ASIA, SPEC, {"m": Verdict("m", "M", tuple(conditions), "")})]).to_dict("records")
        return str(line["M"])

    assert told(-0.5, 4.0, -2.3, -1.0) == "✗ 3 fail, worst by -2.3 orders"
    assert told(3.0, -0.06) == "✗ 1 fail, worst by -0.1 orders"
    assert told(3.0, -0.04, -0.01) == "✗ 2 fail, narrowly"
    assert told(3.0, 0.0) == "✗ 1 fail, narrowly"
    assert told(3.0, 0.1) == "✓ all hold"


def test_no_words_deny_a_parameter_that_was_not_tried(capsys: pytest.CaptureFixture[str]) -> None:
    """Another degree, of which no condition has a remedy."""

    def found(mechanism: str, stats: DatasetStatistics, **asked: Any) -> Feasibility:
        judged = feasibility(stats, PrivacySpec(1.0), accuracy=0.12, **asked)
        return Feasibility(stats, judged.spec, {mechanism: judged[mechanism]})

    wide, narrow = DatasetStatistics(60, 10**4, 0.3, sizes=(6,) * 10), DatasetStatistics(10, 10**9, 0.3)
    rounds = {"rounds": 35, "failure_probability": 0.05}
    for mechanism, stats, asked, degree, other in (
        ("noisy_reweighting", wide, {"rows": 1000}, 3, 1),
        ("mwem", narrow, rounds, 1, 4),
    ):
        refused = found(mechanism, stats, degree=degree, **asked)
        assert found(mechanism, stats, degree=other, **asked)[mechanism].holds
        assert refused[mechanism].change is None
        say_verdicts(refused, verbose=False)
        said = [refused[mechanism].summary, capsys.readouterr().out, *(c.fix for c in refused[mechanism].missed)]
        denied = re.findall(r"no (?:single|value)[^.:]*", " ".join(" ".join(said).split()), re.IGNORECASE)
        assert denied
        assert all("that was tried" in each for each in denied)


@pytest.mark.parametrize("sizes", [None, (2,) * 10, (5, 5)])
@pytest.mark.parametrize("max_frequency", [0.001, 1 / 512, 0.3])
@pytest.mark.parametrize("epsilon", [1.0, 2.65])
def test_every_p_that_is_named_is_one_that_rows_can_have(
    epsilon: float, max_frequency: float, sizes: tuple[int, ...] | None
) -> None:
    """By brute force over p: below the smallest, 2^p kinds of rows are too few for the largest share."""
    spec = PrivacySpec(epsilon)
    least = next(p for p in range(1, 11) if 2**p * max_frequency >= 1)
    asked: dict[str, Any] = {"statistics": "walsh", "accuracy": 0.12, "rows": 1000, "reduced_space_size": 10**6}
    found = feasibility(DatasetStatistics(10, 1000, max_frequency, sizes=sizes), spec, **asked)
    of_bits = {
        p: feasibility(DatasetStatistics(p, 1000, max_frequency), spec, **asked) for p in range(max(least, 2), 41)
    }  # fmt: skip
    for verdict in (found.noisy_reweighting, found.private_sampling):
        for condition in verdict.conditions:
            remedy = condition.remedy("p")
            if remedy is None:
                continue
            holding = [p for p, judged in of_bits.items() if judged[verdict.mechanism][condition.key].holds]
            if remedy.value is None or remedy.value > 40:
                assert holding == ([] if (remedy.value is None) == (remedy.side == "at_most") else list(of_bits))
            else:
                assert remedy.value == (holding[-1] if remedy.side == "at_most" else holding[0])
        change = verdict.change
        assert change is None or change.parameter != "p" or of_bits[round(change.value or 0)][verdict.mechanism].holds


def test_statistics_follow_the_data() -> None:
    assert family_of(ASIA, 2).name == "walsh"
    assert family_of(CAR, 2).name == "contingency"
    assert family_of(CAR, 2, "walsh").size == 326
    assert family_of(DatasetStatistics(p=5, n=10, max_frequency=0.5), 2, "contingency").size == 4 * 10 + 1


def test_the_condition_number_is_bounded_by_the_largest_share() -> None:
    assert feasibility(ASIA, SPEC).noisy_reweighting.facts["condition_number"] == pytest.approx(256 * 0.2904)
    assert feasibility(ADULT, SPEC).noisy_reweighting.facts["condition_number"] == pytest.approx(
        1814400 * 2 * 577 / 32561, rel=1
    )
    assert feasibility(ideal_cube(20), SPEC).noisy_reweighting.facts["condition_number"] == pytest.approx(1)
    assert feasibility(ASIA, SPEC, condition_number=42.4).noisy_reweighting.facts["condition_number"] == pytest.approx(42.4)


def test_add_remove_changes_what_applies() -> None:
    answer = feasibility(ASIA, PrivacySpec(3.0, 1e-6, "add_remove"), rows=1)
    assert answer.private_sampling["rows_upper"].holds
    assert not answer.private_sampling["theorem_4_1"].holds
    assert not answer.noisy_reweighting["public_n"].holds
    for verdict in (answer.noisy_reweighting, answer["mwem"]):
        assert verdict.headline is not None
        assert verdict.headline.level == "open"
        assert verdict.headline.sentence == "Private, but the theorem on the error needs replace-one neighbours."


def test_an_empty_promise_is_not_accuracy() -> None:
    edge = feasibility(ASIA, SPEC, rows=20000)
    assert [c.key for c in edge.noisy_reweighting.missed] == ["promise"]
    assert edge.noisy_reweighting["promise"].fix == "accuracy < 0.125"
    assert edge.private_sampling["promise"].fix == "floor < 0.25"
    assert edge.private_sampling["promise"].group == "accuracy"
    inside = feasibility(ASIA, SPEC, rows=20000, floor=0.2499)
    assert inside.private_sampling["promise"].holds
    assert inside.noisy_reweighting["promise"].holds
    hopeless = feasibility(ideal_cube(200), SPEC, floor=0.1, rows=10**6, failure_probability=0.25)
    assert [c.key for c in hopeless.private_sampling.missed] == ["success"]
    assert hopeless.private_sampling["success"].fix == "failure_probability < 0.25"


NEIGHBOURS = st.sampled_from(["replace_one", "add_remove"])
STATISTICS = st.tuples(st.integers(1, 10**4), st.integers(1, 10**30), st.floats(0, 1))
SPECS = st.builds(lambda e, d, who: PrivacySpec(10**e, d, who), st.floats(-3, 3), st.sampled_from([0.0, 1e-9]), NEIGHBOURS)
BOXES = st.tuples(st.floats(0.01, 0.99), st.floats(1, 100))
SIZES = st.tuples(st.integers(1, 10**9), st.one_of(st.none(), st.integers(1, 10**40)))


@settings(max_examples=40)
@given(STATISTICS, SPECS, st.integers(1, 3), BOXES, SIZES)
def test_any_setting_gives_an_answer_that_json_can_hold(
    statistics: tuple[int, int, float],
    spec: PrivacySpec,
    degree: int,
    box: tuple[float, float],
    asked: tuple[int, int | None],
) -> None:
    p, n, share = statistics
    floor, ceiling = box
    rows, m = asked
    stats = DatasetStatistics(p=p, n=n, max_frequency=max(share, 1 / n, 2.0**-p))
    answer = feasibility(stats, spec, degree=min(degree, p), floor=floor, ceiling=ceiling, rows=rows, reduced_space_size=m)
    back = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert list(back["verdicts"]) == [verdict.mechanism for verdict in answer]
    for verdict, plain in zip(answer, back["verdicts"].values(), strict=True):
        assert verdict.summary
        assert plain["holds"] == all(c["holds"] for c in plain["conditions"])
        assert len({c.key for c in (*verdict.conditions, *verdict.alternatives)}) == len(
            (*verdict.conditions, *verdict.alternatives)
        )


def missed(answer: Feasibility) -> list[set[str]]:
    return [{c.key for c in verdict.missed} for verdict in answer]


@settings(max_examples=30)
@given(st.floats(-3, 3), st.floats(1.01, 100), st.integers(1, 10**6), st.integers(1000, 10**12))
def test_more_epsilon_never_breaks_anything(order: float, factor: float, rows: int, n: int) -> None:
    stats = DatasetStatistics(p=30, n=n, max_frequency=1e-3)
    low, high = (
        feasibility(stats, PrivacySpec(e, 1e-6), rows=rows, exact_accounting=False) for e in (10**order, 10**order * factor)
    )
    for before, after in zip(missed(low), missed(high), strict=True):
        assert after <= before


@settings(max_examples=30)
@given(st.floats(-3, 3), st.integers(2, 1000), st.integers(1, 10**6), st.integers(1000, 10**12))
def test_more_data_never_break_anything_and_rows_break_only_privacy(order: float, factor: int, rows: int, n: int) -> None:
    spec = PrivacySpec(10**order)
    few, many = (DatasetStatistics(p=30, n=size, max_frequency=1e-3) for size in (n, n * factor))
    box = {"floor": 0.2, "reduced_space_size": 1000, "exact_accounting": False}
    before, after = feasibility(few, spec, rows=rows, **box), feasibility(many, spec, rows=rows, **box)
    longer = feasibility(few, spec, rows=rows * factor, **box)
    for name in ("private_sampling", "noisy_reweighting"):
        now = {c.key for c in getattr(before, name).missed}
        assert {c.key for c in getattr(after, name).missed} <= now
        assert {c.key for c in getattr(longer, name).missed} - now <= {"rows_upper"}
    if "rows_upper" in {c.key for c in before.private_sampling.missed}:
        assert "rows_upper" in {c.key for c in longer.private_sampling.missed}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("degree", 0),
        ("degree", 9),
        ("floor", 0.0),
        ("ceiling", 0.1),
        ("failure_probability", 0.0),
        ("rows", 0),
        ("reduced_space_size", 0),
        ("accuracy", 0.0),
        ("statistics", "moments"),
        ("noise", "uniform"),
        ("condition_number", 0.5),
        ("order_of_mixture", 0),
        ("classes", 0),
        ("smallest_class", 20000),
        ("noise_scale", -1.0),
        ("clip_norm", 0.0),
        ("colour", 1),
    ],
)
def test_bad_parameters_name_their_field(field: str, value: object) -> None:
    with pytest.raises(ParameterError) as caught:
        feasibility(ASIA, SPEC, **{field: value})  # type: ignore[arg-type]
    assert caught.value.field == field


def test_gaussian_noise_without_delta_names_delta() -> None:
    with pytest.raises(ParameterError) as caught:
        feasibility(ASIA, PrivacySpec(1.0), noise="gaussian")
    assert caught.value.field == "delta"
    assert feasibility(ASIA, SPEC, noise="gaussian", rows=20000, floor=0.2).noisy_reweighting.holds


def test_verdict_on_the_ideal_cube_can_be_good() -> None:
    answer = feasibility(ideal_cube(200), SPEC, floor=0.1, rows=10**6)
    assert answer.private_sampling.holds
    assert math.isclose(answer.private_sampling.facts["marginal_error"], 0.4)
