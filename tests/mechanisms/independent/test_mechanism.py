"""Independent columns: what is counted, which noise is smaller, and that nothing of the dependence is left."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.independent.mechanism import MOST_CELLS, IndependentMechanism, IndependentModel
from dpsyn.privacy.budget import single_release
from dpsyn.privacy.discrete_gaussian import Moved, discrete_delta
from dpsyn.solvers.coded import table_counts
from tests.conformance.neighbours import Deaf, Exact, run

CAR = dpsyn.load_sample("car")


def test_every_column_is_counted_once_in_one_release() -> None:
    mechanism = dpsyn.Independent().calibrate(dpsyn.PrivacySpec(1.0), CAR.domain, CAR.n)
    ((call,), _) = run(mechanism, CAR)
    expected = np.concatenate([np.bincount(CAR.codes[:, j], minlength=size) for j, size in enumerate(CAR.domain.shape)])
    assert call.values.tolist() == expected.tolist()
    assert call.kind == "laplace"
    assert call.scale == pytest.approx(14)


@pytest.mark.parametrize(("moved", "delta", "kind"), [(1, 1e-5, "laplace"), (200, 1e-5, "gaussian"), (200, 0.0, "laplace")])
def test_the_smaller_noise_is_taken_and_each_is_private(moved: int, delta: float, kind: str) -> None:
    found = single_release(dpsyn.PrivacySpec(1.3, delta), moved)
    assert found.noise == kind
    if kind == "laplace":
        assert moved / found.scale <= 1.3
        assert moved / found.scale == pytest.approx(1.3)
    else:
        assert discrete_delta((Moved(moved),), found.scale, 1.3) <= delta
        assert discrete_delta((Moved(moved),), 0.95 * found.scale, 1.3) > delta


def test_pure_noise_claims_no_delta() -> None:
    few, many = (
        dpsyn.Independent().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), domain, 100).guarantee
        for domain in (CAR.domain.project(["class"]), dpsyn.load_sample("digits").domain)
    )
    assert (few.delta, many.delta) == (0.0, 1e-5)


def test_columns_come_back_without_their_dependence() -> None:
    release = dpsyn.Independent().calibrate(dpsyn.PrivacySpec(10.0), CAR.domain, CAR.n)(np.random.default_rng(0), CAR)
    made = CAR.domain.encode(release.rows)
    for j, size in enumerate(CAR.domain.shape):
        off = np.bincount(CAR.codes[:, j], minlength=size) - np.bincount(made[:, j], minlength=size)
        assert np.abs(off).sum() / 2 < 0.02 * CAR.n
    safety, label = CAR.domain.index("safety"), CAR.domain.index("class")
    unsafe = made[:, safety] == 0
    assert abs((made[unsafe, label] == 0).mean() - (made[:, label] == 0).mean()) < 0.08  # 0.3 in the data


PAIRS = list(combinations(range(len(CAR.domain)), 2))


def pairs_of(codes: np.ndarray) -> np.ndarray:
    return np.concatenate([table_counts(codes, pair, CAR.domain.shape) for pair in PAIRS])


@pytest.mark.parametrize(("neighbouring", "scale"), [("replace_one", 42), ("add_remove", 21)])
def test_all_tables_of_two_columns_are_counted_once_in_one_release(neighbouring: str, scale: int) -> None:
    spec = dpsyn.PrivacySpec(1.0, neighbouring=neighbouring)
    mechanism = dpsyn.Independent(degree=2).calibrate(spec, CAR.domain, CAR.n)
    ((call,), _) = run(mechanism, CAR)
    assert call.values.tolist() == pairs_of(CAR.codes).tolist()
    assert call.scale == pytest.approx(scale)
    assert mechanism.cells == len(call.values)


def test_without_noise_the_rows_have_all_tables_of_two_columns() -> None:
    mechanism = dpsyn.Independent(degree=2).calibrate(dpsyn.PrivacySpec(1.0), CAR.domain, CAR.n)
    rows, diagnostics = mechanism._run(Exact(), CAR, no_progress)
    off = np.abs(pairs_of(CAR.domain.encode(rows)) - pairs_of(CAR.codes)).sum() / (2 * CAR.n * len(PAIRS))
    assert off < 0.01
    assert np.concatenate(list(diagnostics["noisy_tables"].counts.values())).tolist() == pairs_of(CAR.codes).tolist()
    for j in range(len(CAR.domain)):
        alone = np.bincount(CAR.codes[:, j], minlength=CAR.domain.shape[j]) / CAR.n
        np.testing.assert_allclose(diagnostics["model"].laws[j], alone, atol=1e-9)


def test_so_many_cells_that_noise_would_take_too_long_are_refused() -> None:
    wide = dpsyn.Domain.of(dpsyn.Attribute(f"c{j}", "categorical", tuple(range(10)), public=True) for j in range(150))
    found = dpsyn.Independent(degree=2)
    with pytest.raises(ParameterError, match="degree"):
        found.calibrate(dpsyn.PrivacySpec(1.0), wide, 100)
    few = dpsyn.Domain.of(wide.attributes[:140])
    assert found.calibrate(dpsyn.PrivacySpec(1.0), few, 100).cells == 100 * 140 * 139 / 2
    one = dpsyn.Domain.of(wide.attributes[:1])
    assert dpsyn.Independent(degree=3).calibrate(dpsyn.PrivacySpec(1.0), one, 100).tables == [(0,)]


def test_as_many_cells_as_are_allowed_are_accepted() -> None:
    for size, allowed in ((1024, True), (1025, False)):
        two = dpsyn.Domain.of(
            dpsyn.Attribute(name, "categorical", tuple(range(size if name == "a" else 1024)), public=True) for name in "ab"
        )
        if allowed:
            assert dpsyn.Independent(degree=2).calibrate(dpsyn.PrivacySpec(1.0), two, 100).cells == MOST_CELLS
        else:
            with pytest.raises(ParameterError, match="at most 1,048,576 cells"):
                dpsyn.Independent(degree=2).calibrate(dpsyn.PrivacySpec(1.0), two, 100)


def test_independent_columns_are_not_changed_towards_tables() -> None:
    for degree, count in ((1, 0), (2, len(PAIRS))):
        mechanism = dpsyn.Independent(degree=degree).calibrate(dpsyn.PrivacySpec(1.0), CAR.domain, CAR.n)
        _, diagnostics = mechanism._run(Exact(), CAR, no_progress)
        assert len(diagnostics["model"].tables) == count
        assert len(diagnostics["noisy_tables"].counts) == (count or len(CAR.domain))


@pytest.mark.parametrize("degree", [1, 2])
def test_rows_follow_from_the_noisy_counts_alone(degree: int) -> None:
    alike = CAR.take(np.zeros(CAR.n, dtype=np.int64))
    found = []
    for table in (CAR, alike):
        mechanism = dpsyn.Independent(degree=degree, rows=50).calibrate(dpsyn.PrivacySpec(1.0), CAR.domain, CAR.n)
        found.append(mechanism._run(Deaf(3), table, no_progress)[0])
    pd.testing.assert_frame_equal(*found)


def test_one_column_is_enough() -> None:
    alone = CAR.project(["class"])
    for degree in (1, 2):
        mechanism = dpsyn.Independent(degree=degree).calibrate(dpsyn.PrivacySpec(1.0), alone.domain, alone.n)
        rows, diagnostics = mechanism._run(Exact(), alone, no_progress)
        assert rows["class"].value_counts().to_dict() == alone.frame["class"].value_counts().to_dict()
        assert not diagnostics["model"].tables


@pytest.mark.parametrize(("said", "made"), [(0.2, 1), (1.4, 1), (2.6, 3)])
def test_a_model_that_says_that_there_are_hardly_any_rows_makes_one(
    said: float, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = CAR.domain.project(["class", "safety"])

    def model(self: IndependentMechanism, noise: object, real: object, progress: object) -> tuple[IndependentModel, dict]:
        return IndependentModel([np.full(size, 1 / size) for size in domain.shape], {}, said), {}

    monkeypatch.setattr(IndependentMechanism, "_model", model)
    spec = dpsyn.PrivacySpec(1.0, neighbouring="add_remove")
    mechanism = dpsyn.Independent().calibrate(spec, domain, CAR.n)
    rows, _ = mechanism._run(Exact(), CAR.project(["class", "safety"]), no_progress)
    assert len(rows) == made
