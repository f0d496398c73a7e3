"""What is learned of the records goes through the noise, and nothing else: one test for every mechanism that adds noise.

A source of noise that answers without a look at what it is handed must lead to the same rows whatever the records are.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms import points
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.dp_cda import _mechanism as dp_cda_mechanism
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily
from dpsyn.mechanisms.registry import config_class
from dpsyn.privacy.noise import NoiseSource
from dpsyn.solvers.coded import CodedRows
from dpsyn.table import Table


class Deaf(NoiseSource):
    """Answers as if it had been handed the same numbers always; keeps what it was handed, and with which scale."""

    def __init__(self, seed: int, least: int = 300) -> None:
        super().__init__(np.random.default_rng(seed))
        self.least = least
        self.answers = np.random.default_rng(seed + 1)
        self.handed: list[tuple[str, np.ndarray, float]] = []

    def _whole(self, name: str, values: np.ndarray, scale: float) -> np.ndarray:
        self.handed.append((name, np.array(values), scale))
        return self.answers.integers(self.least, self.least + 100, values.shape)

    def discrete_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self._whole("laplace", values, scale)

    def discrete_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self._whole("gaussian", values, scale)

    def gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        self.handed.append(("real", np.array(values), scale))
        return self.answers.uniform(-1, 1, values.shape)


DOMAIN = Domain.of(
    [
        Attribute("a", "categorical", ("x", "y", "z"), public=True),
        Attribute("b", "truth", (0, 1), public=True),
        Attribute("c", "truth", (0, 1), public=True),
    ]
)


def codes_to_table(domain: Domain, codes: np.ndarray) -> Table:
    return Table(domain.decode(codes.astype(np.int32), np.random.default_rng(0)), domain)


def two_tables(domain: Domain, n: int, other: int) -> tuple[Table, Table]:
    """All records at one corner, and records everywhere."""
    spread = np.random.default_rng(5).integers(0, domain.shape, (other, len(domain)))
    return codes_to_table(domain, np.zeros((n, len(domain)))), codes_to_table(domain, spread)


FUNCTIONS = FunctionFamily([lambda c: c[:, 0] / 2 - 0.3, lambda c: (c[:, 0] > 0) & (c[:, 1] > 0)], (3, 2, 2))
OWN_MARGINALS = {"reduced_space": "marginals", "reduced_space_size": 6, "marginal_share": 0.3, "refinements": 0}
REWEIGHTINGS: dict[str, dict[str, Any]] = {
    "tables": {},
    "conjunctions": {"statistics": "conjunctions"},
    "marginals of their own": OWN_MARGINALS,
    "a tree": {"reduced_space": "tree", "reduced_space_size": 6, "refinements": 0},
    "least squares": {"objective": "least_squares"},
    "the linear program": {"objective": "max", "rounding": "independent"},
    "functions": {"family": FUNCTIONS},
    "functions and marginals": {"family": FUNCTIONS, **OWN_MARGINALS},
}


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("case", REWEIGHTINGS)
def test_noisy_reweighting_learns_from_noisy_numbers_alone(case: str, neighbouring: Any, delta: float) -> None:
    config = dpsyn.NoisyReweighting(**REWEIGHTINGS[case])
    spec = dpsyn.PrivacySpec(1.0, delta, neighbouring)
    found = []
    # Under add_remove the number of rows is a secret of the data as well.
    for table in two_tables(DOMAIN, 40, 40 if neighbouring == "replace_one" else 90):
        mechanism = config.calibrate(spec, DOMAIN, table.n)
        noise = Deaf(3)
        found.append(mechanism._run(noise, table, no_progress)[0])
        assert {kind for kind, _, _ in noise.handed} == {"gaussian" if delta else "laplace"}
        # Every number is handed over once, with the scale of its part.
        handed = np.concatenate([np.stack([v.ravel(), np.full(v.size, scale)]) for _, v, scale in noise.handed], axis=1)
        expected = np.stack([mechanism.exact(CodedRows(table.codes, DOMAIN.shape)), mechanism.scales])
        np.testing.assert_array_equal(handed[:, np.lexsort(handed)], expected[:, np.lexsort(expected)])
    pd.testing.assert_frame_equal(*found)


@pytest.mark.parametrize("least", [0, 300])
@pytest.mark.parametrize("case", REWEIGHTINGS)
def test_noisy_reweighting_makes_as_many_rows_as_the_noise_says_however_many_there_are(case: str, least: int) -> None:
    found = []
    for n in (1, 40, 100_000):
        table = two_tables(DOMAIN, n, 40)[n == 40]
        mechanism = dpsyn.NoisyReweighting(**REWEIGHTINGS[case]).calibrate(
            dpsyn.PrivacySpec(1.0, 1e-5, "add_remove"), DOMAIN, n
        )
        noise = Deaf(3, least)
        rows = mechanism._run(noise, table, no_progress)[0]
        found.append((rows, [(kind, values.shape, scale) for kind, values, scale in noise.handed]))
    for rows, handed in found[1:]:
        pd.testing.assert_frame_equal(rows, found[0][0])
        assert handed == found[0][1]


NUMBERS = Domain.of(
    [
        *[Attribute(f"x{j}", "numeric", lower=-1.0, upper=1.0, bins=4, public=True) for j in range(3)],
        Attribute("y", "truth", (0, 1), public=True),
    ]
)


def numbers(n: int, extreme: bool) -> Table:
    random = np.random.default_rng(2)
    frame = pd.DataFrame({f"x{j}": np.ones(n) if extreme else random.uniform(-1, 1, n) for j in range(3)})
    frame["y"] = np.arange(n) % (2 if extreme else 3) % 2
    return Table(frame, NUMBERS)


CDA: dict[str, dict[str, Any]] = {
    "private sizes": {},
    "private sizes, Poisson": {"variant": "poisson"},
    "public sizes": {"class_sizes": 20},
    "private scaling": {"scaling": "private"},
    "private scaling, Poisson": {"scaling": "private", "variant": "poisson", "class_sizes": 20},
}


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("case", CDA)
def test_dp_cda_learns_from_noisy_numbers_alone(case: str, neighbouring: Any) -> None:
    config = dpsyn.DPCDA(target="y", order_of_mixture=2, rows=12, noise_sampler="exact", clip_norm=0.5, **CDA[case])
    found = []
    for n, extreme in ((60, True), (60 if neighbouring == "replace_one" else 75, False)):
        mechanism = config.calibrate(dpsyn.PrivacySpec(20.0, 1e-5, neighbouring), NUMBERS, n)
        noise = Deaf(4)
        found.append(mechanism._run(noise, numbers(n, extreme), no_progress)[0])
        # Counts, sums for the scaling, and then each average, are handed over with the scales that the ledger has.
        kinds = [kind for kind, _, _ in noise.handed]
        scales = [scale for _, _, scale in noise.handed]
        before = ["real"] * ("scaling" in config.settings() and config.scaling == "private")
        before += ["laplace"] * (config.class_sizes is None)
        assert kinds == before + ["real"] * 2
        if config.scaling == "private":
            assert scales[0] == mechanism.budget.standard.noise_scale
        if config.class_sizes is None:
            assert scales[len(before) - 1] == mechanism.budget.count_noise_scale
            assert noise.handed[len(before) - 1][1].tolist() == np.bincount(numbers(n, extreme).codes[:, 3]).tolist()
        assert sum(values.shape[0] for kind, values, _ in noise.handed[len(before) :]) == 12
        for _, values, scale in noise.handed[len(before) :]:
            assert values.shape[1] == 3
            assert scale == scales[-1] > 0
    pd.testing.assert_frame_equal(*found)


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
@pytest.mark.parametrize("sizes", [None, 20])
def test_a_class_with_fewer_members_than_are_mixed_gets_the_same_noise_and_divisor(
    sizes: int | None, variant: Any, neighbouring: Any
) -> None:
    """Averages of the few are sums of some of them, divided by the order of mixture all the same; of nobody they are 0."""
    if sizes and variant == "fixed_size":
        return  # which refuses a class that is smaller than it was said to be
    config = dpsyn.DPCDA(
        target="y", order_of_mixture=3, rows=12, noise_sampler="exact", clip_norm=0.5, variant=variant, class_sizes=sizes
    )
    found = []
    for few in (30, 3, 2, 1, 0):
        frame = numbers(60, False).frame.assign(y=[1] * few + [0] * (60 - few))
        mechanism = config.calibrate(dpsyn.PrivacySpec(20.0, 1e-5, neighbouring), NUMBERS, 60)
        noise = Deaf(4)
        rows = mechanism._run(noise, Table(frame, NUMBERS), no_progress)[0]
        found.append((rows, [(kind, values.shape, scale) for kind, values, scale in noise.handed]))
        members = mechanism.features.encode(Table(frame, NUMBERS), None)[:few]
        members /= np.maximum(np.linalg.norm(members, axis=1, keepdims=True) / mechanism.radius, 1.0)
        if few <= 3:
            chosen = [np.array(one) for one in product((0, 1), repeat=few)] if variant == "poisson" else [np.ones(few)]
            possible = np.array([one @ members / 3 for one in chosen])
            averages = noise.handed[-1][1]
            assert len(averages) > 3
            assert np.abs(averages[:, None] - possible[None]).max(axis=2).min(axis=1).max() < 1e-12
    for rows, handed in found[1:]:
        assert handed == found[0][1]
        pd.testing.assert_frame_equal(rows, found[0][0])


def deaf_noise(scale: float, *_: Any, **__: Any) -> Any:
    """In the place of noise in real numbers: answers by a seed alone."""
    answers = np.random.default_rng(6)
    return lambda values: answers.uniform(-1, 1, values.shape)


@pytest.mark.parametrize("sampler", ["system", "exact"])
@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
def test_of_every_class_all_rows_are_made_of_noisy_numbers_however_many_they_are(
    variant: Any, sampler: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dp_cda_mechanism, "gaussian_noise", deaf_noise)
    for first, second in ((1, 1), (1, 2), (3, 1), (0, 1), (60, 1), (1, 900)):
        config = dpsyn.DPCDA(
            target="y",
            order_of_mixture=2,
            rows={0: first, 1: second},
            class_sizes=20,
            variant=variant,
            noise_sampler=sampler,
        )
        mechanism = config.calibrate(dpsyn.PrivacySpec(5.0, 1e-5), NUMBERS, 60)
        found = [mechanism._run(Deaf(4), numbers(60, extreme), no_progress)[0] for extreme in (True, False)]
        assert found[0]["y"].value_counts().to_dict() == {k: rows for k, rows in enumerate((first, second)) if rows}
        pd.testing.assert_frame_equal(*found)


@pytest.mark.parametrize("rows", [1, 2, 59, 60])
@pytest.mark.parametrize("name", ["dp_mix", "local_perturbation", "random_projection"])
def test_so_are_all_rows_of_mechanisms_on_points(name: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "gaussian_noise", deaf_noise)
    config = config_class(name)(rows=rows, **({"order_of_mixture": 2} if name == "dp_mix" else {}))
    mechanism = config.calibrate(dpsyn.PrivacySpec(5.0, 1e-5), NUMBERS, 60)
    found = [mechanism._run(Deaf(4), numbers(60, extreme), no_progress)[0] for extreme in (True, False)]
    assert len(found[0]) == rows
    pd.testing.assert_frame_equal(*found)


@pytest.mark.parametrize("sampler", ["system", "exact"])
@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
@pytest.mark.parametrize(("scaling", "clip_norm"), [("public", 0.3), ("public", 5.0), ("private", 2.0), ("private", 0.3)])
def test_only_clipped_records_of_the_class_are_mixed_at_the_rate_that_is_paid_for(
    scaling: Any, clip_norm: float, variant: Any, sampler: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []
    mix = dp_cda_mechanism.averages_in_blocks

    def watched(members: np.ndarray, order: int, rows: int, *arguments: Any, **settings: Any) -> Any:
        seen.append({"members": members.copy(), "order": order, "rows": rows, **settings})
        return mix(members, order, rows, *arguments, **settings)

    monkeypatch.setattr(dp_cda_mechanism, "averages_in_blocks", watched)
    sizes, rows = {0: 30, 1: 20}, {0: 7, 1: 5}
    config = dpsyn.DPCDA(
        target="y", order_of_mixture=3, rows=rows, class_sizes=sizes, clip_norm=clip_norm, scaling=scaling, variant=variant,
        noise_sampler=sampler,
    )  # fmt: skip
    table = numbers(60, False)
    mechanism = config.calibrate(dpsyn.PrivacySpec(2.0, 1e-5), NUMBERS, 60)
    mechanism(np.random.default_rng(1), table)
    counts = np.bincount(table.codes[:, 3])
    assert [one["members"].shape for one in seen] == [(count, 3) for count in counts]
    assert [one["rows"] for one in seen] == [7, 5]
    assert [one["order"] for one in seen] == [3, 3]
    assert [one["rate"] for one in seen] == [3 / 30, 3 / 20]
    lengths = np.linalg.norm(np.concatenate([one["members"] for one in seen]), axis=1)
    assert lengths.max() <= mechanism.radius * (1 + 1e-12)
    assert mechanism.radius == (clip_norm if scaling == "private" else min(clip_norm, 1.0))
    if mechanism.radius == 0.3:
        assert (lengths > 0.3 * (1 - 1e-9)).mean() > 0.3  # many are shortened, to the very surface of the ball
    assert mechanism.sensitivity == pytest.approx((1 if variant == "poisson" else 2) * mechanism.radius / 3, rel=1e-15)


CONFIGURATIONS = (dpsyn.PrivateSampling(rows=1), dpsyn.NoisyReweighting(), dpsyn.DPCDA(target="b", rows=2, class_sizes=9))


@pytest.mark.parametrize("config", CONFIGURATIONS)
def test_the_number_of_rows_is_in_a_record_only_where_it_is_public(config: Any) -> None:
    for neighbouring, found in (("replace_one", {"n": 50}), ("add_remove", {})):
        mechanism = config.calibrate(dpsyn.PrivacySpec(3.0, 1e-5, neighbouring), DOMAIN, 50)
        facts = mechanism.facts()
        assert {name: facts[name] for name in facts if name == "n"} == found
        assert facts["requested"] == {"epsilon": 3.0, "delta": 1e-5, "neighbouring": neighbouring, "unit": "row"}


def test_a_claim_may_exceed_what_was_asked_for_by_rounding_alone() -> None:
    mechanism = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), DOMAIN, 50)
    for field, asked in (("epsilon", 1.0), ("delta", 1e-5)):
        replace(mechanism, guarantee=replace(mechanism.guarantee, **{field: asked * (1 + 0.9e-9)}))
        with pytest.raises(ParameterError, match="guarantee"):
            replace(mechanism, guarantee=replace(mechanism.guarantee, **{field: asked * (1 + 1.1e-9)}))


@pytest.mark.parametrize(
    ("before", "after"),
    [("proven", "unconfirmed_domain"), ("real_arithmetic", "real_arithmetic"), ("experimental", "experimental")],
)
def test_over_a_domain_that_nobody_confirmed_nothing_is_proven(before: Any, after: str) -> None:
    mechanism = dpsyn.NoisyReweighting().calibrate(dpsyn.PrivacySpec(1.0), DOMAIN, 50)
    claim = replace(mechanism.guarantee, status=before)
    assert replace(mechanism, guarantee=claim).guarantee == claim
    doubtful = Domain.of([replace(DOMAIN["a"], public=False), *DOMAIN.attributes[1:]])
    found = replace(mechanism, domain=doubtful, guarantee=claim).guarantee
    assert found.status == after
    assert found.assumptions[0].startswith("NOT YET TRUE") is (before != "experimental")
    assert found.assumptions[-1] == claim.assumptions[-1]
