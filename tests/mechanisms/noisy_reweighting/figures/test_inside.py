"""Pictures inside noisy reweighting: their numbers, and that they draw."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpsyn
from dpsyn.data.samples import load_sample
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting.figures.budget import budget_info, draw_budget
from dpsyn.mechanisms.noisy_reweighting.figures.draws import draw_draws, draws_info
from dpsyn.mechanisms.noisy_reweighting.figures.noise import PUBLISHED, draw_noise, noise_info
from dpsyn.mechanisms.noisy_reweighting.figures.statistics import (
    draw_statistics,
    draw_worst_tables,
    statistics_info,
    worst_tables_info,
)
from dpsyn.mechanisms.noisy_reweighting.figures.support import draw_support, support_info
from dpsyn.mechanisms.noisy_reweighting.figures.trial import OBJECTIVES, Trial, columns_that_fit, trial
from dpsyn.privacy.spec import PrivacySpec

SPEC = PrivacySpec(1.0)


@pytest.fixture(scope="module")
def asia() -> Trial:
    return trial(load_sample("asia"), SPEC)


@pytest.fixture(scope="module")
def categories() -> Trial:
    table = load_sample("car").project(["buying", "safety", "persons", "class"])
    return trial(table, PrivacySpec(1.0, 1e-5), noise="gaussian")


def test_noise_on_asia_is_what_the_theory_says() -> None:
    info = noise_info((2,) * 8, 8, SPEC, degree=2, kind="laplace", n=20_000)
    lines = {line.family: line for line in info.lines}
    assert (lines["Walsh functions"].l1, lines[PUBLISHED].l1, lines["tables"].l1, lines["conjunctions"].l1) == (
        40,
        74,
        56,
        36,
    )
    assert lines["Walsh functions"].at(20_000) == pytest.approx(math.sqrt(2) * 40 / 20_000)
    crossing = lines["tables"].drowned_below
    assert lines["tables"].at(crossing) == pytest.approx(crossing**-0.5)
    gaussian = noise_info((2,) * 8, 8, PrivacySpec(1.0, 1e-5), degree=2, kind="gaussian", n=20_000)
    assert {line.family: line.l2 for line in gaussian.lines}["Walsh functions"] == pytest.approx(2 * math.sqrt(20))
    assert [line.deviation for line in info.lines] == sorted(line.deviation for line in info.lines)


@pytest.mark.parametrize("n", [1, 10, 20_000, 10**9])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_noise_draws_at_every_size(n: int, degree: int) -> None:
    for sizes, bits in (((2,), 1), ((9, 16, 7, 15), 47), ((1, 1), 2)):
        info = noise_info(sizes, bits, SPEC, degree=degree, kind="laplace", n=n)
        assert draw_noise(info).to_dict()["layer"]


def test_a_run_keeps_what_it_is_made_of(asia: Trial) -> None:
    assert asia.family.name == "walsh"
    assert asia.whole
    assert asia.deviation == pytest.approx(math.sqrt(2) * 40 / asia.n)
    for objective in OBJECTIVES:
        density = asia.density(objective)
        assert density.min() >= 0
        assert density.sum() == pytest.approx(1)
    # Both solve the same program, so neither is nearer in the largest deviation.
    vertex, centre = (np.abs(asia.fitted(o) - asia.noisy).max() for o in ("vertex", "centre"))
    assert vertex == pytest.approx(centre, abs=2e-6)
    assert np.abs(asia.fitted("entropy") - asia.noisy).max() >= vertex - 1e-6


def test_the_same_seed_gives_the_same_run_and_another_one_does_not(asia: Trial) -> None:
    table = load_sample("asia")
    np.testing.assert_array_equal(trial(table, SPEC).noisy, asia.noisy)
    assert (trial(table, SPEC, seed=1).noisy != asia.noisy).any()


def test_statistics_and_their_labels(asia: Trial, categories: Trial) -> None:
    info = statistics_info(asia, "entropy")
    assert info.count == 36 == len(info.true)
    assert "asia · tub" in info.labels
    errors = np.array(info.noisy) - np.array(info.true)
    assert info.noise_error == pytest.approx(math.sqrt((errors**2).mean()))
    cells = statistics_info(categories, "entropy")
    assert "buying = vhigh, safety = low" in cells.labels
    assert cells.fit_error < cells.noise_error
    for one in (info, cells):
        assert "two standard deviations" in draw_statistics(one).to_json(ensure_ascii=False)


def test_the_worst_table_comes_first(asia: Trial, categories: Trial) -> None:
    info = worst_tables_info(categories, "entropy")
    assert list(info.fitted) == sorted(info.fitted, reverse=True)
    assert info.fitted[0] == info.largest
    assert info.noisy is not None
    errors = categories.table_errors(categories.shares("entropy"))
    assert info.mean == pytest.approx(errors.mean())
    # By hand, for one table.
    group = categories.tables.groups[0]
    shares = categories.shares("entropy")[group.start : group.stop]
    assert errors[0] == pytest.approx(np.abs(shares - categories.true_cells[group.start : group.stop]).sum() / 2)
    assert worst_tables_info(asia, "vertex").noisy is None
    for one in (info, worst_tables_info(asia, "vertex")):
        assert draw_worst_tables(one).to_dict()["layer"]


def test_a_vertex_has_few_points_and_entropy_many(asia: Trial, categories: Trial) -> None:
    for run in (asia, categories):
        info = support_info(run)
        vertex, centre, entropy = info.lines
        assert vertex.carrying <= run.family.count + 1
        assert entropy.carrying > vertex.carrying
        for line in (vertex, centre, entropy):
            assert 1 <= line.effective <= line.carrying + 1
            assert line.masses[0] == pytest.approx(run.density(line.objective).max() * info.points)
        assert draw_support(info).to_dict()["layer"]


def test_low_variance_draws_add_less_than_independent_ones(categories: Trial) -> None:
    info = draws_info(categories, "entropy", k=1_000)
    assert info.k in info.rows
    assert info.here[1] < info.here[0]
    at = info.rows.index(100_000)
    assert info.systematic[at] < 0.3 * info.independent[at]
    # Independent draws of k rows miss by about √(2 p (1-p)/(π k)) in each cell, half of which is total variation.
    cells = categories.shares("entropy")
    expected = np.sqrt(2 * cells * (1 - cells) / (math.pi * 100_000)).sum() / 2 / len(categories.tables.groups)
    assert info.independent[at] == pytest.approx(expected, rel=0.25)
    assert draw_draws(info).to_dict()["layer"]


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_the_budget_is_the_ledger(delta: float) -> None:
    table = load_sample("car")
    mechanism = dpsyn.NoisyReweighting(degree=2).calibrate(PrivacySpec(1.0, delta), table.domain, n=table.n)
    facts = mechanism.calibrated()
    info = budget_info(facts["ledger"], epsilon=1.0, delta=delta, accounting=facts["accounting"])
    assert ("exact law" in info.subtitle) == (delta > 0)
    assert sum(part.share for part in info.parts) == pytest.approx(1)
    assert info.unit == ("ρ" if delta else "ε")
    if not delta:
        assert sum(part.spent for part in info.parts) == pytest.approx(1)
    drawn = draw_budget(info).to_json(ensure_ascii=False)
    assert all(part.name in drawn for part in info.parts)


def test_columns_are_as_many_as_fit_and_more_are_refused() -> None:
    digits = load_sample("digits")
    columns = columns_that_fit(digits.domain, 2)
    assert len(columns) == 8
    with pytest.raises(ParameterError, match="fewer columns"):
        trial(digits.project(digits.domain.names[:20]), SPEC)
