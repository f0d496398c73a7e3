"""Theorems 4.1 and 4.2 as conditions: reference values, inverses, monotonicity, range."""

import math
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpsyn
from dpsyn import PrivacySpec
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.private_sampling.bounds import ACCURACY, PrivateSamplingSetting
from dpsyn.mechanisms.private_sampling.certificates import bounded_ratio_epsilon, theorem_4_1_log_epsilon
from dpsyn.mechanisms.private_sampling.theorems import (
    bounded_ratio,
    conditions,
    of_release,
    privacy_condition,
    private_sampling_verdict,
    stability,
    theorem_4_1,
    verdict,
)
from dpsyn.solvers.contingency import walsh_dimension
from dpsyn.theory.conditions import Condition, Remedy
from tests.conftest import binary_table

LN2 = math.log(2)
ASIA = PrivateSamplingSetting(p=8, log_n=math.log(20000), log_max_frequency=math.log(0.2904), epsilon=1.0)
ON_THE_CUBE = replace(ASIA, log_m=math.log(256))


def setting_strategy(log_m: st.SearchStrategy[float | None]) -> st.SearchStrategy[PrivateSamplingSetting]:
    return st.builds(
        lambda p, log_n, share, log_epsilon, degree, floor, over, gamma, log_rows, m: PrivateSamplingSetting(
            p=p,
            log_n=log_n,
            log_max_frequency=-share * min(log_n, p * math.log(2)),
            epsilon=math.exp(log_epsilon),
            degree=min(degree, p),
            floor=floor,
            ceiling=1 + floor + over,
            failure_probability=gamma,
            log_rows=math.log(log_rows),
            log_m=m,
        ),
        st.integers(1, 10**4),
        st.floats(1, math.log(1e30)),
        st.floats(0, 1),
        st.floats(math.log(1e-3), math.log(1e3)),
        st.integers(1, 3),
        st.floats(0.001, 0.499),
        st.floats(0.001, 50),
        st.floats(1e-6, 0.9),
        st.integers(1, 10**7),
        log_m,
    )


SETTINGS = st.one_of(setting_strategy(st.none()), setting_strategy(st.floats(0, 80)))


def all_conditions(setting: PrivateSamplingSetting) -> dict[str, Condition]:
    found = [*conditions(setting), theorem_4_1(setting), bounded_ratio(setting)]
    experimental = stability(setting)
    return {c.key: c for c in (*found, *([] if experimental is None else [experimental]))}


ALONE = {
    "theorem_4_1": theorem_4_1,
    "bounded_ratio": bounded_ratio,
    "stability": stability,
    "rows_upper": privacy_condition,
    **{bound.key: bound.condition for bound in ACCURACY},
}


def condition(setting: PrivateSamplingSetting, key: str) -> Condition | None:
    """One of them, without the inverses of all others."""
    return ALONE[key](setting) if key in ALONE else all_conditions(setting)[key]


@pytest.mark.parametrize(
    ("n", "published", "experimental"), [(20_000, 388, 3.07), (10**6, 54.9, 1.37), (10**8, 5.49, 0.257)]
)
def test_smallest_epsilon_on_the_cube(n: int, published: float, experimental: float) -> None:
    facts = private_sampling_verdict(replace(ON_THE_CUBE, log_n=math.log(n))).facts
    assert facts["epsilon_theorem_4_1"] == pytest.approx(published, rel=2e-3)
    assert facts["epsilon_stability"] == pytest.approx(experimental, rel=2e-3)
    assert facts["epsilon_bounded_ratio"] == pytest.approx(math.log(8))
    assert facts["epsilon_certified"] == min(facts["epsilon_theorem_4_1"], facts["epsilon_bounded_ratio"])


def test_ratio_beats_theorem_4_1_below_7e8_rows_of_asia() -> None:
    at_ratio = replace(ON_THE_CUBE, epsilon=math.log(8))
    crossing = theorem_4_1(at_ratio).remedy("n")
    assert crossing is not None
    assert crossing.value == pytest.approx(6.98e8, rel=1e-3)


@given(SETTINGS)
def test_bounds_are_the_inverse_of_the_certificates(setting: PrivateSamplingSetting) -> None:
    log_epsilon = theorem_4_1_log_epsilon(
        log_rows=setting.logs.largest_rows_theorem_4_1,
        floor=setting.floor,
        ceiling=setting.ceiling,
        degree=setting.degree,
        log_dimension=math.log(walsh_dimension(setting.p, setting.degree)),
        log_m=setting.logs.m,
        log_n=setting.log_n,
    )
    assert log_epsilon == pytest.approx(math.log(setting.epsilon), abs=1e-9)
    one = bounded_ratio_epsilon(rows=1, floor=setting.floor, ceiling=setting.ceiling)
    assert setting.log_largest_rows_ratio == pytest.approx(math.log(setting.epsilon / one), abs=1e-9)


def test_theorem_4_2_by_hand() -> None:
    found = all_conditions(ASIA)
    assert found["n"].required == pytest.approx(16 * 16 * 8 * math.exp(4) * 37)
    assert found["m_lower"].required == pytest.approx(16 * 16 * 8 * 4 * math.exp(4) * 37)
    assert found["m_upper"].required == pytest.approx(4)
    assert found["rows_lower"].required == pytest.approx(4 * 16 * (math.log(16) + math.log(37)))
    assert found["max_frequency"].required == pytest.approx(2 / 256)
    assert found["m_lower"].holds
    assert [k for k in ("n", "m_upper", "rows_lower", "max_frequency") if found[k].holds] == []


def test_a_case_in_which_everything_holds() -> None:
    cube = PrivateSamplingSetting(
        p=200,
        log_n=200 * math.log(2),
        log_max_frequency=-200 * math.log(2),
        epsilon=1.0,
        floor=0.1,
        log_rows=math.log(10**6),
    )
    verdict = private_sampling_verdict(cube)
    assert verdict.holds
    assert verdict.summary.startswith("Every condition holds")
    assert verdict.headline is not None
    assert verdict.headline.level == "good"
    assert verdict.headline.number.startswith("± ")
    assert verdict.headline.sentence.startswith("Private in exact arithmetic, and with probability")
    assert "-differentially private in exact arithmetic, and with probability" in verdict.summary
    assert verdict.facts["marginal_error"] == pytest.approx(0.4)
    assert "m is the smallest that Theorem 4.2 allows." in verdict.notes
    assert "smallest that" not in " ".join(private_sampling_verdict(replace(cube, log_m=10.0)).notes)
    little = private_sampling_verdict(replace(cube, floor=0.125))
    assert little.holds
    assert little.headline is not None
    assert (little.headline.level, little.headline.number) == ("open", "± 0.5")
    assert little.headline.sentence.startswith("Private in exact arithmetic. A theorem promises little: with probability ")


def test_what_is_promised_is_rounded_to_its_safe_side() -> None:
    """4·0.10005 = 0.4002, 1 - 4·0.10005 = 0.5998, 3·ln 15.0004 = 8.1242; and 1,139,000 rows of 2²⁰⁰ cost 2.0013 × 10⁻¹²."""
    cube = PrivateSamplingSetting(
        200, 200 * LN2, -200 * LN2, 1.0, floor=0.10005, failure_probability=0.10005, log_rows=math.log(1_139_000)
    )
    m = 16 / 0.10005**2 / 0.10005 * 2**2 * math.e**4 * (1 + 200 + 200 * 199 / 2)
    cost = 1_139_000 * 4 * math.sqrt(2) * (2 / 0.10005) ** 1.5 * math.e * 20101**0.25 * m**0.75 / 2**100
    assert cost == pytest.approx(2.0013e-12, rel=1e-4)
    found = private_sampling_verdict(cube)
    assert found.headline is not None
    assert (found.holds, found.headline.number) == (True, "± 0.401")
    assert "with probability 0.599 tables of 2 bits are within 0.401 of" in found.headline.sentence
    assert "rows are 2.01 × 10⁻¹²-differentially private" in found.summary
    assert "with probability at least 0.599 their marginals of up to 2 bits are within 0.401 of" in found.summary
    few = replace(ASIA, log_n=math.log(100), floor=0.13333, log_rows=math.log(3))
    for epsilon, said in ((8.0, "Not private at ε = 8: 3 rows cost ε = 8.13."), (9.0, "no more than that")):
        headline = private_sampling_verdict(replace(few, epsilon=epsilon)).headline
        assert headline is not None
        assert headline.number == "ε = 8.13"
        assert said in headline.sentence


@pytest.mark.parametrize(
    ("n", "ceiling", "rows", "source"),
    [
        (10**8, 2.0, 9 / math.log(8), "Bounded ratio"),
        (10**10, 2.0, 9 / 0.549, "Theorem 4.1"),
        (10**10, 1.25, math.inf, "Bounded ratio"),
    ],
)
def test_of_two_bounds_that_hold_the_larger_one_is_named(n: int, ceiling: float, rows: float, source: str) -> None:
    """By Theorem 4.1 a row costs 5.49 on 10⁸ records, 0.549 on 10¹⁰; the ratio's ln 8, or nothing where all is uniform."""
    setting = replace(ON_THE_CUBE, log_n=math.log(n), ceiling=ceiling, epsilon=9.0)
    found = privacy_condition(setting)
    assert theorem_4_1(setting).holds
    assert bounded_ratio(setting).holds
    assert found.required == pytest.approx(rows, rel=2e-3)
    assert found.source == source
    assert found.note.startswith(f"The larger of the two bounds is from: {source}.")
    assert found.note.endswith("It holds in exact arithmetic only.") is (source == "Theorem 4.1")


def worse(remedy: Remedy) -> float | None:
    """The logarithm of 1 % less than the threshold, or of the next whole number on the wrong side."""
    assert remedy.log_value is not None
    sign = -1 if remedy.side == "at_least" else 1
    if remedy.integer and remedy.log_value < math.log(1e6):
        value = round(math.exp(remedy.log_value)) + sign
        return math.log(value) if value >= 1 else None
    return remedy.log_value + sign * 0.01


@settings(max_examples=60)
@given(SETTINGS)
def test_every_inverse_makes_it_true_and_one_percent_less_does_not(setting: PrivateSamplingSetting) -> None:
    for key, found in all_conditions(setting).items():
        for remedy in found.remedies:
            if remedy.log_value is None:
                assert remedy.reason
                continue
            beyond_search = remedy.parameter == "p" and remedy.value == 10**7
            real = ("epsilon", "floor", "ceiling", "failure_probability")
            beyond_float = remedy.parameter in real and abs(remedy.log_value) > 700
            if beyond_search or beyond_float:
                continue
            at = condition(setting.changed(remedy.parameter, remedy.log_value), key)
            if at is None:
                continue
            assert at.holds, (key, str(remedy))
            beyond = worse(remedy)
            # Below so many bits there are too few kinds of rows for so large a share.
            fewest = max(setting.degree, math.ceil(-setting.log_max_frequency / math.log(2) - 1e-9)) - 0.5
            if beyond is None or (remedy.parameter == "p" and math.exp(beyond) < fewest):
                continue
            if remedy.parameter == "floor" and math.exp(beyond) >= 1:
                continue
            moved = condition(setting.changed(remedy.parameter, beyond), key)
            assert moved is None or not moved.holds, (key, str(remedy))


@given(SETTINGS, st.floats(1.01, 1e6))
def test_more_data_more_epsilon_fewer_rows_never_hurt_privacy(setting: PrivateSamplingSetting, factor: float) -> None:
    before = {c.key: c for c in conditions(setting)}
    for better in (
        replace(setting, epsilon=setting.epsilon * factor),
        replace(setting, log_n=setting.log_n + math.log(factor)),
        replace(setting, log_rows=max(0.0, setting.log_rows - math.log(factor))),
    ):
        after = {c.key: c for c in conditions(better)}
        assert after["rows_upper"].slack_orders >= before["rows_upper"].slack_orders - 1e-9
        assert after["n"].slack_orders >= before["n"].slack_orders - 1e-9


def test_no_value_does_is_an_answer() -> None:
    found = all_conditions(
        PrivateSamplingSetting(p=60, log_n=math.log(1000), log_max_frequency=math.log(1e-3), epsilon=0.001)
    )
    frequency = found["max_frequency"].remedy("max_frequency")
    assert frequency is not None
    assert frequency.value is None
    assert "1/n" in str(frequency)
    rows = found["theorem_4_1"].remedy("rows")
    assert rows is not None
    assert rows.value is None


def test_degenerate_ends_are_private_and_said_to_ignore_the_data() -> None:
    for floor, ceiling in ((0.5, 3.0), (0.25, 1.25)):
        verdict = private_sampling_verdict(replace(ASIA, floor=floor, ceiling=ceiling))
        assert verdict["rows_upper"].holds
        assert verdict.facts["epsilon_certified"] == 0
        assert verdict.facts["largest_rows_bounded_ratio"] is None
        assert any("ignores the data" in note for note in verdict.notes)
        assert stability(replace(ASIA, floor=floor, ceiling=ceiling)) is None


@pytest.mark.parametrize(
    ("floor", "ceiling", "missed"), [(0.6, 2.0, "floor"), (0.4, 1.3, "ceiling"), (0.25, 1.0, "ceiling")]
)
def test_an_unusable_box_is_a_condition_that_fails(floor: float, ceiling: float, missed: str) -> None:
    bad = replace(ASIA, floor=floor, ceiling=ceiling)
    found = {c.key: c for c in conditions(bad)}
    assert not found[missed].holds
    remedy = found[missed].remedy(missed)
    assert remedy is not None
    assert remedy.log_value is not None
    assert {c.key: c for c in conditions(bad.changed(missed, remedy.log_value))}[missed].holds


def test_add_remove_leaves_only_the_ratio() -> None:
    verdict = private_sampling_verdict(replace(ASIA, epsilon=3.0, replace_one=False, log_n=math.log(1e30)))
    assert not verdict["theorem_4_1"].holds
    assert verdict["rows_upper"].holds
    assert "Bounded ratio" in verdict["rows_upper"].note
    assert verdict.facts["epsilon_theorem_4_1"] == math.inf


def test_the_experimental_bound_never_certifies() -> None:
    many = replace(ON_THE_CUBE, log_n=math.log(1e10), epsilon=0.1)
    verdict = private_sampling_verdict(many)
    assert verdict["stability"].holds
    assert verdict["stability"].experimental
    assert not verdict["rows_upper"].holds
    assert stability(replace(ASIA, p=17)) is None


def test_extremes_do_not_overflow() -> None:
    dense = PrivateSamplingSetting(p=10**4, log_n=10.0, log_max_frequency=-5.0, epsilon=1.0)
    assert "p ≤" in private_sampling_verdict(dense).summary
    for epsilon in (1e-3, 1e3):
        huge = PrivateSamplingSetting(
            p=10**4, log_n=math.log(10**30), log_max_frequency=-(10**4) * math.log(2), epsilon=epsilon
        )
        verdict = private_sampling_verdict(huge)
        assert all(math.isfinite(c.slack_orders) for c in verdict.conditions)
        assert verdict["max_frequency"].holds
        assert verdict["m_upper"].slack_orders > 700


def test_summary_names_what_binds_and_the_cheapest_change() -> None:
    cube = PrivateSamplingSetting(p=200, log_n=200 * LN2, log_max_frequency=-200 * LN2, epsilon=1.0, floor=0.1, log_rows=0.0)
    verdict = private_sampling_verdict(cube)
    needed = verdict["rows_lower"].remedy("rows")
    assert needed is not None
    assert verdict.missed[0].key == "rows_lower"
    assert f"rows ≥ {needed.value:,}" in verdict.summary
    assert "No single change that was tried is enough" in private_sampling_verdict(ASIA).summary


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("degree", 9),
        ("degree", 0),
        ("floor", 0.0),
        ("floor", 1.0),
        ("floor", math.nan),
        ("ceiling", 0.2),
        ("ceiling", math.inf),
        ("failure_probability", 0.0),
        ("failure_probability", 1.0),
        ("epsilon", 0.0),
        ("p", 0),
    ],
)
def test_meaningless_values_name_their_field(field: str, value: float) -> None:
    with pytest.raises(ParameterError) as caught:
        replace(ASIA, **{field: value})
    assert caught.value.field == field


def test_conditions_on_the_box_name_the_numbers_that_they_show():
    found = {c.key: c for c in conditions(replace(ASIA, floor=0.25, ceiling=2.0))}
    assert "2·floor" in found["floor"].label
    assert math.exp(found["floor"].log_actual) == pytest.approx(2 * 0.25)
    assert "ceiling − floor" in found["ceiling"].label
    assert math.exp(found["ceiling"].log_actual) == pytest.approx(2.0 - 0.25)


@pytest.mark.parametrize(("values", "cube"), [(("x", "y"), True), (("x", "y", "z"), False), (("x",), False)])
def test_theorem_4_1_certifies_where_every_column_is_a_bit_alone(values: tuple[str, ...], cube: bool) -> None:
    """As it does of a run: what is said to be private is what calibration certifies."""
    columns = {"u": ("a", "b"), "v": values}
    domain = dpsyn.Domain.of(dpsyn.Attribute(name, "categorical", of, public=True) for name, of in columns.items())
    stats = dpsyn.DatasetStatistics(p=4 if len(values) == 3 else 2, n=10**7, max_frequency=0.3, sizes=domain.shape)
    box: dict[str, Any] = {"degree": 1, "floor": 0.45, "ceiling": 1.5, "rows": 1, "reduced_space_size": 10}
    found = dpsyn.feasibility(stats, PrivacySpec(1.0), **box).private_sampling
    theorem = next(one for one in found.alternatives if one.key == "theorem_4_1")
    assert (theorem.holds, found["rows_upper"].holds) == (cube, cube)
    assert ("stability" in {one.key for one in found.alternatives}) is cube  # which is of the whole cube
    assert (found.facts["epsilon_certified"] < 1) is cube
    config = dpsyn.PrivateSampling(**(box | {"reduced_space_size": 4}))
    if cube:
        assert config.calibrate(PrivacySpec(1.0), domain, n=10**7).guarantee.epsilon < 1
    else:
        with pytest.raises(CalibrationError, match=r"costs? ε = 1\.20"):
            config.calibrate(PrivacySpec(1.0), domain, n=10**7)


@pytest.mark.parametrize(("m", "drawn"), [(None, False), (40, True)])
def test_a_release_that_drew_points_is_judged_by_how_many_and_another_is_not(m: int | None, drawn: bool) -> None:
    table = binary_table(6, 50)
    mechanism = dpsyn.PrivateSampling(rows=2, reduced_space_size=m).calibrate(PrivacySpec(9.0), table.domain, table.n)
    spec, asked, _ = of_release(mechanism.facts(), table.frame.head(2), table.statistics(), table.frame)
    found = {condition.key for condition in verdict(table.statistics(), spec, **asked).conditions}
    assert ("m_lower" in found, "m_upper" in found) == (drawn, drawn)
    assert asked["whole_domain"] is not drawn
    assert asked["reduced_space_size"] == (40 if drawn else 64)


def test_of_a_release_the_verdict_is_on_what_histograms_leave_of_epsilon() -> None:
    """Nine rows, 9·ln 8 = 18.7, are private at ε = 20, and not where histograms have a tenth of it: 18 are left."""
    columns = [dpsyn.Attribute("age", "numeric", lower=0, upper=99, integer=True, bins=4, public=True)]
    domain = dpsyn.Domain.of(columns)
    stats = dpsyn.DatasetStatistics(p=4, n=3000, max_frequency=0.3, sizes=(4,))
    for share, left in ((0.0, 20.0), (0.1, 18.0)):
        config = dpsyn.PrivateSampling(degree=1, rows=8, histogram_share=share)
        mechanism = config.calibrate(PrivacySpec(20.0), domain, 3000)
        spec, asked, words = of_release(mechanism.facts(), pd.DataFrame(index=range(8)), stats, pd.DataFrame())
        assert spec.epsilon == pytest.approx(left)
        assert (", ε = 2 for histograms" in words) is (share > 0)
        judged = [verdict(stats, spec, **{**asked, "rows": rows})["rows_upper"].holds for rows in (8, 9)]
        assert judged == [True, share == 0]
        if share:
            with pytest.raises(CalibrationError):
                replace(config, rows=9).calibrate(PrivacySpec(20.0), domain, 3000)


@pytest.mark.parametrize("sizes", [(2,) * 30, (3, 5, 7, 2), None])
def test_of_a_whole_domain_m_is_the_number_of_possible_rows(sizes: tuple[int, ...] | None) -> None:
    size = math.prod(sizes or (2,) * 30)
    stats = dpsyn.DatasetStatistics(
        p=30 if sizes is None else sum(sizes) - sizes.count(2), n=10**15, max_frequency=0.3, sizes=sizes
    )
    said, unsaid = (
        verdict(stats, PrivacySpec(1.0), degree=1, rows=1, whole_domain=True, reduced_space_size=m) for m in (size, None)
    )
    assert unsaid.facts["reduced_space_size"] == pytest.approx(size)
    assert unsaid.facts["epsilon_certified"] == pytest.approx(said.facts["epsilon_certified"])
    assert unsaid.notes == said.notes
    drawn = verdict(stats, PrivacySpec(1.0), degree=1, rows=1)
    assert drawn.facts["reduced_space_size"] != pytest.approx(size)


@pytest.mark.parametrize(
    ("p", "gamma", "holds"),
    [(4, 0.2, False), (5, 0.2, True), (2, 0.13, False), (2, 0.12, True), (60, 0.2499, True), (60, 0.25, False)],
)
def test_theorem_4_2_succeeds_where_4_gamma_and_the_term_of_p_leave_some(p: int, gamma: float, holds: bool):
    """0.8 + 0.25, 0.8 + 0.18; 0.52 + 0.5, 0.48 + 0.5; 0.9996 and 1, with a billionth."""
    condition = next(c for c in conditions(replace(ASIA, p=p, degree=1, failure_probability=gamma)) if c.key == "success")
    assert condition.holds is holds


@pytest.mark.parametrize(
    ("floor", "ceiling", "rows"),
    [(0.25, 2.0, 0.480898), (0.5, 2.0, math.inf), (0.25, 1.25, math.inf), (0.6, 2.0, 0.830584), (0.25, 1.0, 0.721348)],
)
def test_the_bounded_ratio_allows_endless_rows_at_its_two_ends_and_not_beyond_them(
    floor: float, ceiling: float, rows: float
):
    """1/ln 8, 1/ln(10/3) and 1/ln 4 rows for ε = 1; beyond the ends no density is in the box."""
    found = bounded_ratio(replace(ASIA, floor=floor, ceiling=ceiling)).log_required
    assert math.exp(found) == pytest.approx(rows, rel=1e-5)
