"""Rows drawn once more from what a release has fitted: the law of the release's own rows, without new noise."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import dpsyn
from dpsyn.data.samples import load_sample
from dpsyn.mechanisms.base import Mechanism, Release
from dpsyn.table import Table

ROWS = 4000


@pytest.fixture(scope="module")
def table() -> Table:
    return load_sample("asia").take(np.arange(2000))


def released(config: Any, table: Table, epsilon: float = 1.0) -> tuple[Mechanism, Release]:
    mechanism = config.calibrate(dpsyn.PrivacySpec(epsilon), table.domain, n=table.n)
    return mechanism, mechanism(np.random.default_rng(1), table)


def counts(mechanism: Mechanism, frame: Any) -> np.ndarray:
    shape = mechanism.domain.shape
    codes = Table(frame, mechanism.domain).codes
    return np.bincount(np.ravel_multi_index(tuple(codes.T), shape), minlength=int(np.prod(shape)))


def density(mechanism: Mechanism, release: Release) -> np.ndarray:
    points, shape = release.diagnostics["points"], mechanism.domain.shape
    law = np.bincount(
        np.ravel_multi_index(tuple(points.T), shape), release.diagnostics["density"], minlength=int(np.prod(shape))
    )
    return np.asarray(law / law.sum())


@pytest.mark.parametrize(
    ("config", "epsilon"),
    [
        (dpsyn.PrivateSampling(rows=ROWS), 1e5),
        (dpsyn.NoisyReweighting(rows=ROWS, rounding="independent"), 1.0),
    ],
)
def test_independent_draws_have_the_fitted_law(config: Any, epsilon: float, table: Table) -> None:
    mechanism, release = released(config, table, epsilon)
    generator = np.random.default_rng(2)
    law = density(mechanism, release)
    found = np.zeros_like(law)
    for _ in range(10):
        again = mechanism.redraw(generator, release)
        assert again is not None
        assert len(again) == ROWS
        found += counts(mechanism, again)
    assert found[law == 0].sum() == 0
    expected = law * found.sum()
    few = expected < 5
    observed = np.append(found[~few], found[few].sum())
    wanted = np.append(expected[~few], expected[few].sum())
    kept = wanted > 0
    assert chisquare(observed[kept], wanted[kept]).pvalue > 1e-4
    # Not the law of the data: the noise, or the box, has moved it by more than ten draws could.
    real = counts(mechanism, table.frame) / table.n
    assert float(((found - real * found.sum()) ** 2 / np.maximum(real * found.sum(), 1)).sum()) > 1000


def test_rows_of_low_variance_are_drawn_again_as_the_release_was(table: Table) -> None:
    mechanism, release = released(dpsyn.NoisyReweighting(rows=ROWS), table)
    law = density(mechanism, release)

    def distance(frame: Any) -> float:
        return 0.5 * float(np.abs(counts(mechanism, frame) / ROWS - law).sum())

    generator = np.random.default_rng(3)
    again = [mechanism.redraw(generator, release) for _ in range(5)]
    distances = [distance(frame) for frame in again]
    independent = [0.5 * float(np.abs(generator.multinomial(ROWS, law) / ROWS - law).sum()) for _ in range(5)]
    assert max(distances) < 0.75 * min(independent)
    assert 0.5 * min(distances) <= distance(release.rows) <= 2 * max(distances)
    assert len({tuple(counts(mechanism, frame)) for frame in again}) > 1


def test_a_release_that_was_sent_elsewhere_can_still_be_drawn_from(table: Table) -> None:
    for config, epsilon in ((dpsyn.NoisyReweighting(rows=50), 1.0), (dpsyn.PrivateSampling(rows=50), 1e5)):
        mechanism, release = released(config, table, epsilon)
        there: Release = pickle.loads(pickle.dumps(release))
        one, other = (mechanism.redraw(np.random.default_rng(5), r) for r in (release, there))
        assert one is not None
        assert one.equals(other)
        # A release from a workspace has no diagnostics: they were private.
        assert mechanism.redraw(np.random.default_rng(5), replace(release, diagnostics={})) is None


def test_where_noise_and_draw_are_one_there_is_none(table: Table) -> None:
    config = dpsyn.DPCDA(target="bronc", order_of_mixture=4)
    mechanism = config.calibrate(dpsyn.PrivacySpec(5.0, 1e-5), table.domain, n=table.n)
    assert mechanism.redraw(np.random.default_rng(0), mechanism(np.random.default_rng(1), table)) is None
