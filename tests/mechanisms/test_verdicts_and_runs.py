"""What Feasibility says of a mechanism is what a run with the same settings does, whatever the settings are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DpsynError
from dpsyn.mechanisms.private_sampling import RATIO_SOURCE, THEOREM_SOURCE
from dpsyn.privacy.spec import Neighbouring

KINDS = ("bits", "categories", "bits and a column of one value")


def case(seed: int) -> tuple[dpsyn.DatasetStatistics, Domain, dpsyn.PrivacySpec, dict[str, Any]]:
    """Statistics of rows of some categories, a budget, and settings as the theorems take them. A run asks for no rows
    before it begins, so that there can be as many as Theorem 4.1 needs."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % 3]
    sizes = [int(rng.integers(2, 5)) if kind == "categories" else 2 for _ in range(rng.integers(9, 12))]
    if kind == KINDS[2]:
        sizes[-1] = 1
    domain = Domain.of(
        Attribute(f"c{j}", "categorical", categories=tuple("abcd"[:size]), public=True) for j, size in enumerate(sizes)
    )
    n = int(10 ** rng.uniform(8 if kind == "bits" else 1, 14))
    cells = pd.DataFrame({a.name: rng.choice(a.categories, 10) for a in domain.attributes})
    stats = replace(
        dpsyn.Table(cells, domain, "made").statistics(two_valued_as_bit=True), n=n, max_frequency=0.2, distinct_rows=None
    )
    delta = float(rng.choice([0.0, 1e-6, 1e-3]))
    relation: Neighbouring = "add_remove" if rng.random() < 0.3 else "replace_one"
    spec = dpsyn.PrivacySpec(float(f"{10 ** rng.uniform(-1, 1.3):.3g}"), delta, relation)
    degree = int(rng.integers(1, 3))
    # A narrow box costs little by its ratio; in a wide one, and of many rows, Theorem 4.1 is the smaller.
    floor, ceiling = ((0.25, 2.0), (0.45, 1.6), (0.5, 2.0), (0.2, 4.0))[int(rng.integers(4))]
    size = None if rng.random() < 0.3 else int(rng.integers(400, 500))
    settings = {"degree": degree, "rows": int(10 ** rng.uniform(0, 1.3)), "floor": floor, "ceiling": ceiling}
    return stats, domain, spec, {**settings, "reduced_space_size": size}


def calibrated(make: Callable[[], Any], spec: dpsyn.PrivacySpec, domain: Domain, n: int) -> Any:
    """The mechanism that a run would be made by, or None where it is refused."""
    try:
        return make().calibrate(spec, domain, n)
    except DpsynError:
        return None


@pytest.mark.parametrize("seed", range(90))
def test_private_sampling_is_called_private_where_a_run_is_possible_and_costs_what_is_said(seed: int) -> None:
    stats, domain, spec, settings = case(seed)
    said = dpsyn.feasibility(stats, spec, **settings).private_sampling
    run = calibrated(lambda: dpsyn.PrivateSampling(**settings), spec, domain, stats.n)
    private = said.headline is not None and said.headline.level != "bad"
    if settings["reduced_space_size"] is None:  # the verdict takes the m of Theorem 4.2, a run the whole of a small domain
        assert not private or run is not None, (said.headline, settings)
    else:
        assert private == (run is not None), (said.headline, settings)
    if run is not None:
        claimed = run.guarantee.epsilon
        assert claimed <= spec.epsilon
        assert said.facts["epsilon_certified"] >= claimed * (1 - 1e-9)
        if settings["reduced_space_size"] is not None:
            assert said.facts["epsilon_certified"] == pytest.approx(claimed, rel=1e-8)
            assert ("in exact arithmetic" in said.headline.sentence) is (run.guarantee.status == "real_arithmetic")


def test_these_settings_reach_both_answers_and_both_certificates() -> None:
    sources = []
    for seed in range(90):
        _, domain, spec, settings = found = case(seed)
        run = calibrated(partial(dpsyn.PrivateSampling, **settings), spec, domain, found[0].n)
        sources.append("" if run is None else run.guarantee.source)
    assert min(sources.count(source) for source in ("", RATIO_SOURCE, THEOREM_SOURCE)) >= 4


@pytest.mark.parametrize("seed", [seed for seed in range(90) if seed % 3 != 2])  # it mixes no column of one value
def test_dp_cda_is_called_private_where_a_run_is_possible_with_the_noise_that_is_said(seed: int) -> None:
    stats, domain, spec, settings = case(seed)
    classes = len(domain.attributes[0].categories)
    smallest = max(stats.n // (classes + 1), 1)
    order, rows = (1, 4, 16, 64)[seed % 4], max(settings["rows"], classes)
    said = dpsyn.feasibility(stats, spec, rows=rows, order_of_mixture=order, classes=classes, smallest_class=smallest).dp_cda
    run = calibrated(lambda: dpsyn.DPCDA("c0", order, rows, "equal", smallest), spec, domain, stats.n)
    assert said.headline is not None
    assert (said.headline.level != "bad") == (run is not None), (said.headline, order, rows)
    if run is not None and said.facts["sigma_exact"] is not None:
        assert run.calibrated()["noise_scale"] == pytest.approx(said.facts["sigma_exact"], rel=0.03, abs=1e-4)


@pytest.mark.parametrize("seed", range(30))
def test_noise_that_hides_averages_is_private_at_any_budget_and_both_say_so(seed: int) -> None:
    stats, domain, spec, settings = case(seed)
    found = dpsyn.feasibility(stats, spec, **settings)
    for verdict in (found.noisy_reweighting, found.mwem):
        assert verdict.headline is not None
        assert verdict.headline.sentence.startswith("Private")
    own = {name: settings[name] for name in ("degree", "rows", "reduced_space_size")}
    assert calibrated(lambda: dpsyn.NoisyReweighting(**own), spec, domain, stats.n).guarantee.epsilon <= spec.epsilon
    assert calibrated(lambda: dpsyn.MWEM(degree=settings["degree"]), spec, domain, stats.n).guarantee.epsilon <= spec.epsilon
