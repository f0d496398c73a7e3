"""How many rows of each class DP-CDA makes: in proportion to public or noisy sizes, and paid for in every case."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import dlaplace

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.evaluation.experiments import config_from_dict, config_to_dict
from dpsyn.evaluation.experiments.plan import Grid
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.dp_cda import _mechanism
from dpsyn.mechanisms.dp_cda._checks import in_proportion
from dpsyn.mechanisms.dp_cda.accounting.functions import dp_cda_epsilon
from dpsyn.mechanisms.dp_cda.expectations import of_release, of_run
from dpsyn.privacy.noise import NoiseSource
from dpsyn.table import Table

DOMAIN = Domain.of(
    [
        *[Attribute(f"x{j}", "numeric", lower=0.0, upper=1.0, public=True) for j in range(3)],
        Attribute("income", "categorical", ("low", "high"), public=True),
    ]
)


def incomes(low: int, high: int) -> dpsyn.Table:
    random = np.random.default_rng(low)
    frame = pd.DataFrame({f"x{j}": random.random(low + high) for j in range(3)})
    frame["income"] = ["low"] * low + ["high"] * high
    return dpsyn.Table(frame, DOMAIN)


TABLE = incomes(1520, 480)


class Answering(NoiseSource):
    """Takes the noise off and answers with the counts that it is told."""

    def __init__(self, counts: tuple[int, ...]) -> None:
        super().__init__(np.random.default_rng(0))
        self.counts = counts

    def discrete_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        return np.array(self.counts)


@pytest.mark.parametrize(
    ("total", "sizes", "expected"),
    [
        (100, (76, 24), (76, 24)),
        (10, (76, 24), (8, 2)),
        (5, (1, 1, 1), (2, 2, 1)),
        (3, (1000, 1, 1), (1, 1, 1)),
        (7, (1000, 1, 0, 1), (5, 1, 0, 1)),
        (4, (500, 400, 1, 1), (1, 1, 1, 1)),
        (8, (0, 3), (0, 8)),
        (10**9, (2**62, 2**62 + 1), (500_000_000, 500_000_000)),
    ],
)
def test_rows_in_proportion_by_hand(total: int, sizes: tuple[int, ...], expected: tuple[int, ...]) -> None:
    assert in_proportion(total, sizes) == expected


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=8).filter(any), st.integers(0, 10**5))
def test_rows_in_proportion_add_up_and_are_close(sizes: list[int], more: int) -> None:
    kept = sum(size > 0 for size in sizes)
    total = kept + more
    rows = in_proportion(total, sizes)
    assert sum(rows) == total
    for size, made in zip(sizes, rows, strict=True):
        quota = total * size / sum(sizes)
        assert (made == 0) == (size == 0)
        assert quota - kept - 1e-6 < made < max(quota, 0) + 1 + 1e-6


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
@pytest.mark.parametrize("sizes", [None, {"low": 1500, "high": 460}], ids=["private", "public"])
def test_classes_of_76_and_24_per_cent_come_out_so(sizes: Any, variant: Any, neighbouring: Any) -> None:
    """Noise on a count has the scale 4 or 2, so that 40 has a probability of e⁻¹⁰: two per cent of the records."""
    config = dpsyn.DPCDA("income", rows=1000, class_sizes=sizes, variant=variant)
    mechanism = config.calibrate(dpsyn.PrivacySpec(5.0, 1e-5, neighbouring), DOMAIN, TABLE.n)
    made = mechanism(np.random.default_rng(1), TABLE).rows["income"].value_counts()
    assert made.sum() == 1000
    assert made["low"] == (765 if sizes else pytest.approx(760, abs=20))


def test_only_classes_of_which_rows_were_asked_for_are_missed() -> None:
    few = Table(TABLE.frame.assign(income=["high"] + ["low"] * (TABLE.n - 1)), DOMAIN)
    for rows, said in (({"low": 9, "high": 0}, []), ({"low": 9, "high": 5}, ["No row of the class high: by the"])):
        mechanism = dpsyn.DPCDA("income", rows=rows).calibrate(dpsyn.PrivacySpec(5.0, 1e-5), DOMAIN, TABLE.n)
        release = mechanism(np.random.default_rng(1), few)
        found = [note for note in release.notes if note.startswith("No row")]
        assert "No row" not in repr(replace(release, rows=release.rows.drop(columns="income")))
        assert [sentence[:32] for sentence in found] == said


@pytest.mark.parametrize("classes", [(0, 1), (0.5, 1.5), (False, True), ("0", "1")])
def test_classes_that_are_no_texts_are_missed_only_where_they_are_absent(classes: tuple[Any, Any]) -> None:
    domain = DOMAIN.replace("income", categories=classes)
    release: Any = SimpleNamespace(mechanism="dp_cda", settings={"target": "income"})
    for there, said in ((classes, []), (classes[1:], [f"No row of the class {classes[0]}: by"])):
        release.rows = pd.DataFrame({"income": list(there) * 3})
        assert [sentence.partition(" the private")[0] for sentence in of_release(release, domain)] == said


def test_nobody_has_to_ask_for_it() -> None:
    config = dpsyn.DPCDA.as_it_comes(TABLE.n, "income")
    assert config is not None
    made = config.calibrate(dpsyn.PrivacySpec(5.0, 1e-5), DOMAIN, TABLE.n)(np.random.default_rng(1), TABLE).rows
    assert len(made) == TABLE.n
    assert (made["income"] == "low").mean() == pytest.approx(0.76, abs=0.02)


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
@pytest.mark.parametrize("counts", [(1520, 480), (480, 1520), (300, 60), (2000, 0), (9000, 100)])
def test_the_noise_is_that_of_the_rows_that_are_made(
    counts: tuple[int, int], variant: Any, neighbouring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the rows and the noise that a run really has; other records with the same noisy counts have the same of both."""
    seen: list[tuple[int, float]] = []
    mix, noisy = _mechanism.averages_in_blocks, _mechanism.gaussian_noise
    monkeypatch.setattr(
        _mechanism, "averages_in_blocks", lambda m, o, rows, *a, **k: seen.append(rows) or mix(m, o, rows, *a, **k)
    )
    scales: list[float] = []
    monkeypatch.setattr(_mechanism, "gaussian_noise", lambda sigma, *a, **k: scales.append(sigma) or noisy(sigma, *a, **k))
    config = dpsyn.DPCDA("income", order_of_mixture=4, rows=200, variant=variant)
    for table in (TABLE, incomes(1000, 1000)):
        mechanism = config.calibrate(dpsyn.PrivacySpec(2.0, 1e-5, neighbouring), DOMAIN, 2000)
        rows, found = mechanism._run(Answering(counts), table, no_progress)
        sizes = [size for size in found["sizes_used"].values() if size is not None]
        made = [seen.pop(0) for _ in sizes]
        assert sum(made) == 200
        assert rows["income"].value_counts()[["low", "high"][: len(made)]].tolist() == made
        kept = [count for count, size in zip(counts, found["sizes_used"].values(), strict=True) if size is not None]
        assert made == pytest.approx([200 * count / sum(kept) for count in kept], abs=1)
        assert sizes == [count - mechanism.budget.count_margin for count in kept]
        epsilon = dp_cda_epsilon(
            scales[-1], mechanism.budget.delta, 4, 1.0, sizes, made, neighbouring=neighbouring, variant=variant
        )
        assert 0.95 * mechanism.budget.epsilon < epsilon <= mechanism.budget.epsilon
    assert scales[0] == scales[1]


@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
def test_counts_rows_and_noise_together_keep_the_claim_by_enumeration(variant: Any) -> None:
    """δ(ε) of the whole, summed over all noisy counts: Σ_c P(c) δ_c(ε - ln P(c)/P'(c)), one record of a class more or fewer.

    What follows from c (which classes are kept, how many rows they get, σ) comes from the mechanism, the privacy of these
    rows from dp_accounting; counts that exceed a class by more than the margin are taken to give it away.
    """
    delta, order, true = 1e-4, 2, (14, 9)
    config = dpsyn.DPCDA("income", order_of_mixture=order, rows=6, count_share=0.5, variant=variant)
    mechanism = config.calibrate(dpsyn.PrivacySpec(6.0, delta, "add_remove"), DOMAIN, 23)
    scale, around = mechanism.budget.count_noise_scale, range(-4, 7 if variant == "fixed_size" else 5)
    for changed in (0, 1):
        found = {"fewer": 0.0, "more": 0.0}
        for a in around:
            for b in around:
                noise = (a, b)
                counts = tuple(t + z for t, z in zip(true, noise, strict=True))
                chance = float(np.prod(dlaplace.pmf(noise, 1 / scale)))
                other = chance * float(dlaplace.pmf(noise[changed] + 1, 1 / scale) / dlaplace.pmf(noise[changed], 1 / scale))
                for way, here, there in (("fewer", chance, other), ("more", other, chance)):
                    found[way] += here * _rows_delta(mechanism, counts, changed, true, way, 6.0 - np.log(here / there))
        assert 0 < found["fewer"] <= delta
        assert 0 < found["more"] <= delta


def test_a_class_is_kept_if_it_is_known_to_hold_more_records_than_are_averaged() -> None:
    config = dpsyn.DPCDA("income", order_of_mixture=4, rows=200)
    mechanism = config.calibrate(dpsyn.PrivacySpec(2.0, 1e-5), DOMAIN, 2000)
    least = mechanism.budget.count_margin + 4
    assert mechanism._sizes(Answering((least, least + 1)), np.array([1000, 1000])) == [None, 5]
    with pytest.raises(dpsyn.errors.FailureError, match="order_of_mixture = 3 would do"):
        mechanism._sizes(Answering((least, least)), np.array([1000, 1000]))


def _rows_delta(
    mechanism: Any, counts: tuple[int, ...], changed: int, true: tuple[int, ...], way: str, epsilon: float
) -> float:
    """δ of the rows for these noisy counts, between ``true`` and one record fewer in a class."""
    order, poisson = mechanism.config.order_of_mixture, mechanism.config.variant == "poisson"
    try:
        sizes = mechanism._sizes(Answering(counts), np.array(true))
    except dpsyn.errors.FailureError:
        return 0.0 if epsilon >= 0 else float(-np.expm1(epsilon))
    size = sizes[changed]
    if size is None:
        return 0.0 if epsilon >= 0 else float(-np.expm1(epsilon))
    if not poisson and size > true[changed] - (way == "more"):
        return 1.0
    key = (
        mechanism.noise_scale_for(sizes),
        order / (size if poisson else true[changed]),
        mechanism.rows_for(sizes)[changed],
    )
    return float(_composed(*key, mechanism.sensitivity).get_delta_for_epsilon(epsilon))


_KEPT: dict[Any, Any] = {}


def _composed(sigma: float, rate: float, rows: int, sensitivity: float) -> Any:
    key = (sigma, rate, rows)
    if key not in _KEPT:
        one = pld.from_gaussian_mechanism(
            sigma / sensitivity, sampling_prob=rate, value_discretization_interval=5e-3, use_connect_dots=True
        )
        _KEPT[key] = one.self_compose(rows)
    return _KEPT[key]


def test_what_is_known_before_the_counts_is_said() -> None:
    spec = dpsyn.PrivacySpec(5.0, 1e-5)
    by_counts, by_sizes, equal, own = (
        dpsyn.DPCDA("income", **settings).calibrate(spec, DOMAIN, TABLE.n)
        for settings in (
            {"rows": 101},
            {"rows": 101, "class_sizes": {"low": 1500, "high": 400}},
            {"rows": 101, "rows_by": "equal"},
            {"rows": {"low": 1, "high": 0}},
        )
    )
    facts = by_counts.calibrated()
    assert facts["rows"] == 101
    assert "rows_per_class" not in facts
    assert facts["known_after_the_counts"].startswith("rows of each class, noise scale")
    assert by_sizes.calibrated()["rows_per_class"] == {"low": 80, "high": 21}
    assert equal.calibrated()["rows_per_class"] == {"low": 50, "high": 50}
    assert equal.calibrated()["rows"] == 100
    assert own.calibrated()["rows_per_class"] == {"low": 1, "high": 0}
    for mechanism, known in ((by_counts, False), (by_sizes, True), (equal, True), (own, True)):
        said = " ".join(mechanism.guarantee.assumptions)
        assert ("number of rows made from each were fixed" in said) is known
        assert ("follows from the noisy counts" in said) is not known
        assert any("known once the counts are released" in sentence for _, sentence in of_run(mechanism)) is not known
    assert mechanism(None, TABLE).rows["income"].unique().tolist() == ["low"]


def test_an_equal_number_of_rows_can_be_asked_for() -> None:
    config = dpsyn.DPCDA("income", rows=1001, rows_by="equal")
    rows = config.calibrate(dpsyn.PrivacySpec(5.0, 1e-5), DOMAIN, TABLE.n)(np.random.default_rng(0), TABLE).rows
    assert rows["income"].value_counts().to_dict() == {"low": 500, "high": 500}
    with pytest.raises(ParameterError) as caught:
        dpsyn.DPCDA("income", rows_by="fair")  # type: ignore[arg-type]
    assert caught.value.field == "rows_by"


def test_a_file_of_an_earlier_version_means_equal_classes() -> None:
    config = dpsyn.DPCDA("income", rows=100, rows_by="equal")
    data = config_to_dict(config)
    earlier = {name: value for name, value in data.items() if name != "rows_by"}
    assert config_from_dict(data) == config_from_dict(earlier) == config
    spec = dpsyn.PrivacySpec(1.0, 1e-5)
    (now,), (new,) = (tuple(Grid({"a": one}, spec, repeats=1).cells()) for one in (config, dpsyn.DPCDA("income", rows=100)))
    assert now.key != new.key
