"""DP-CDA as published: a demonstration that cannot be taken for a private release."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import CalibrationError, InputError, NotCalibratedError, ParameterError
from dpsyn.mechanisms.dp_cda import PublishedDPCDA, published_rows
from dpsyn.mechanisms.dp_cda._published import z_scored
from dpsyn.mechanisms.dp_cda.counterexamples import published_epsilon, published_sigma
from dpsyn.mechanisms.records import verify
from dpsyn.mechanisms.registry import MECHANISMS
from dpsyn.privacy.spec import Guarantee
from tests.conftest import mixed_table

SPEC = dpsyn.PrivacySpec(epsilon=10.0, delta=1e-5)
TABLE = mixed_table()
CONFIG = dpsyn.DPCDA.as_published("smokes", order_of_mixture=4, rows=200)


def mechanism():
    return CONFIG.calibrate(SPEC, TABLE.domain, n=TABLE.n)


def test_its_release_says_that_no_guarantee_holds():
    release = mechanism()(np.random.default_rng(0), TABLE)
    guarantee = release.guarantee
    assert guarantee.status == "published_but_wrong"
    assert guarantee.epsilon == math.inf
    assert "no guarantee" in str(guarantee)
    assert "differentially private" not in str(guarantee)
    assert "NO GUARANTEE HOLDS" in guarantee.assumptions[0]
    assert release.seeded
    record = json.loads(json.dumps(release.record(), allow_nan=False))
    assert record["demonstration"] is True
    assert record["guarantee"]["epsilon"] is None
    assert record["guarantee"]["status"] == "published_but_wrong"
    assert record["settings"]["claimed_epsilon"] == 10.0
    assert record["mechanism"] == "dp_cda_as_published"
    for less in ({"domain": None}, {"domain": None, "config": None}):  # refuted, whatever it leaves out
        assert not verify(record | less, TABLE.domain).holds


def test_it_is_no_registered_mechanism_and_runs_with_a_given_generator_only():
    assert PublishedDPCDA.name not in MECHANISMS
    with pytest.raises(ParameterError, match="demonstration"):
        mechanism()(None, TABLE)
    with pytest.raises(NotCalibratedError):
        CONFIG(np.random.default_rng(0), TABLE)


def test_a_finite_epsilon_cannot_be_put_on_what_is_published_but_wrong():
    with pytest.raises(ParameterError, match="guarantees nothing"):
        Guarantee(10.0, 1e-5, "replace_one", "Theorem 1", status="published_but_wrong")
    for status in ("proven", "experimental", "unconfirmed_domain"):
        assert Guarantee(10.0, 1e-5, "replace_one", "", status=status).to_dict()["epsilon"] == 10.0


def test_a_domain_that_nobody_confirmed_does_not_make_it_better():
    inferred = Domain.of([Attribute("smokes", "truth", ("no", "yes")), *TABLE.domain.attributes[1:]])
    guarantee = CONFIG.calibrate(SPEC, inferred, n=TABLE.n).guarantee
    assert guarantee.status == "published_but_wrong"


def test_rows_have_the_columns_bounds_and_number_that_were_asked_for():
    rows = mechanism()(np.random.default_rng(0), TABLE).rows
    assert list(rows.columns) == list(TABLE.domain.names)
    assert len(rows) == 200
    TABLE.domain.encode(rows)
    pd.testing.assert_frame_equal(rows, mechanism()(np.random.default_rng(0), TABLE).rows)


def test_its_noise_is_that_of_the_published_formula():
    sigma = mechanism().calibrated()["noise_scale"]
    assert sigma == published_sigma(epsilon=10, order_of_mixture=4, n=TABLE.n, delta=1e-5, rows=200)
    odd = replace(CONFIG, rows=201).calibrate(SPEC, TABLE.domain, n=TABLE.n)  # T as asked for, of which two classes make 200
    assert odd.noise_scale == published_sigma(epsilon=10, order_of_mixture=4, n=TABLE.n, delta=1e-5, rows=201)
    found = published_epsilon(order_of_mixture=4, sigma=sigma, n=TABLE.n, delta=1e-5, rows=200)
    assert found == pytest.approx(10, rel=1e-6)
    values, labels = np.zeros((400, 5)), np.arange(400) % 2
    averages, _ = published_rows(values, labels, 2, 4, 5000, 0.7, np.random.default_rng(0))
    assert averages.std() == pytest.approx(0.7, rel=0.02)


def test_labels_are_noisy_one_hot_vectors():
    values, labels = np.zeros((400, 1)), np.arange(400) % 4
    wanted = np.repeat(np.arange(4), 4000)
    _, silent = published_rows(values, labels, 4, 4, 4000, 1e-3, np.random.default_rng(0))
    assert (silent == wanted).all()
    # Of two labels, 1 + N(0, σ²) is above N(0, σ²) with the probability Φ(1/(σ√2)).
    _, between = published_rows(values, labels % 2, 2, 4, 20_000, 1.0, np.random.default_rng(0))
    assert (between == np.repeat([0, 1], 20_000)).mean() == pytest.approx(0.760, abs=0.01)
    _, loud = published_rows(values, labels, 4, 4, 4000, 1e3, np.random.default_rng(0))
    assert (loud == wanted).mean() == pytest.approx(0.25, abs=0.02)


def test_the_z_score_is_that_of_the_paper():
    values = np.random.default_rng(0).normal(3, 2, (500, 4))
    values[:, 2] = 1.0
    scaled = z_scored(values, 100.0)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), [1, 1, 0, 1], atol=1e-12)
    assert np.linalg.norm(z_scored(values, 0.5), axis=1).max() <= 0.5 * (1 + 1e-12)


def test_one_record_moves_every_row():
    """All records v but one, v ± a: the sum of the rows has another sign, many deviations away."""
    records, order, rows = 500, 4, 500
    sigma = published_sigma(epsilon=10, order_of_mixture=order, n=records, delta=1e-5)
    sums = []
    for odd in (1.0, -1.0):
        values = np.zeros((records, 16))
        values[0] = odd
        averages, _ = published_rows(values, np.arange(records) % 2, 2, order, rows // 2, sigma, np.random.default_rng(1))
        sums.append(averages.sum() / (sigma * math.sqrt(averages.size)))
    # Claimed ε = 10. Telling N(8, 1) from N(-8, 1) alone takes an ε above 100.
    assert sums[0] < -8
    assert sums[1] > 8


def test_an_epsilon_that_the_formula_cannot_reach_names_the_limit_and_what_to_do():
    with pytest.raises(CalibrationError, match=r"Take epsilon above 3\.838, or delta above 0\.000124; or a variant"):
        CONFIG.calibrate(dpsyn.PrivacySpec(epsilon=3.0, delta=1e-5), TABLE.domain, n=TABLE.n)
    for epsilon, delta in ((3.84, 1e-5), (3.0, 0.000124)):
        CONFIG.calibrate(dpsyn.PrivacySpec(epsilon=epsilon, delta=delta), TABLE.domain, n=TABLE.n)
    # A delta of exp(-3) is more than 1/n: no advice.
    with pytest.raises(CalibrationError, match=r"Take epsilon above 3\.838; or a variant"):
        CONFIG.calibrate(dpsyn.PrivacySpec(epsilon=1.0, delta=1e-5), TABLE.domain, n=TABLE.n)
    with pytest.raises(CalibrationError, match="delta > 0"):
        CONFIG.calibrate(dpsyn.PrivacySpec(epsilon=10.0), TABLE.domain, n=TABLE.n)


@pytest.mark.parametrize(
    ("field", "change", "spec"),
    [
        ("target", {"target": "age"}, {}),
        ("rows", {"rows": 1}, {}),
        ("order_of_mixture", {"order_of_mixture": 5000}, {}),
        ("neighbouring", {}, {"neighbouring": "add_remove"}),
    ],
)
def test_what_does_not_fit_is_refused(field, change, spec):
    config = dpsyn.DPCDA.as_published(**({"target": "smokes"} | change))
    with pytest.raises(ParameterError) as caught:
        config.calibrate(dpsyn.PrivacySpec(**({"epsilon": 10.0, "delta": 1e-5} | spec)), TABLE.domain, n=TABLE.n)
    assert caught.value.field == field


def test_a_class_smaller_than_the_order_is_an_input_error():
    with pytest.raises(InputError, match="fewer than order_of_mixture"):
        published_rows(np.zeros((5, 1)), np.array([0, 0, 0, 0, 1]), 2, 2, 3, 1.0, np.random.default_rng(0))
