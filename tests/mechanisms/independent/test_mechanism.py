"""Independent columns: what is counted, which noise is smaller, and that nothing of the dependence is left."""

from __future__ import annotations

import numpy as np
import pytest

import dpsyn
from dpsyn.privacy.budget import single_release
from dpsyn.privacy.discrete_gaussian import Moved, discrete_delta
from tests.conformance.neighbours import run

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
