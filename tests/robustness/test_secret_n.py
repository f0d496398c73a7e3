"""Where a neighbour adds or removes a row, their number is a secret: no refusal, fact or claim depends on it."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpsyn
from dpsyn.errors import DpsynError
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.registry import MECHANISMS, config_class
from dpsyn.privacy.noise import NoiseSource
from tests.robustness.test_archives import numeric

CONFIGS: list[Any] = [
    dpsyn.DPCDA("k"),
    dpsyn.DPCDA("k", rows=30),
    dpsyn.DPCDA("k", rows=9, rows_by="equal", class_sizes=13, noise_sampler="exact"),
    dpsyn.DPCDA("k", rows=9, order_of_mixture=45),
    dpsyn.DPCDA("k", rows=9, class_sizes=10**9),
    dpsyn.DPCDA("k", rows=9, order_of_mixture=30, variant="poisson", scaling="private"),
    dpsyn.NoisyReweighting(),
    dpsyn.NoisyReweighting(rows=4, degree=1, objective="least_squares"),
    dpsyn.NoisyReweighting(noise="as_published"),
    dpsyn.NoisyReweighting(reduced_space="tree", histogram_share=0),
    dpsyn.MWEM(),
    dpsyn.PrivateSampling(rows=3),
    dpsyn.DPMix(rows=5, size=8),
    dpsyn.DPMix(rows=5, size=10**9),
    *(config_class(name)(rows=5) for name in MECHANISMS if name not in ("dp_cda", "dp_mix", "dp_gan")),
    dpsyn.DPGAN(rows=5, steps=100),
]


def _said(config: Any, spec: dpsyn.PrivacySpec, n: int) -> str:
    try:
        mechanism = config.calibrate(spec, numeric().domain, n)
    except DpsynError as refusal:
        return str(refusal)
    return json.dumps([mechanism.facts(), mechanism.guarantee.to_dict()], default=str)


@pytest.mark.parametrize("config", CONFIGS, ids=repr)
def test_nothing_that_is_said_before_the_run_depends_on_n(config: Any) -> None:
    for epsilon, delta in ((1.0, 0.0), (1.0, 1e-5), (1e-14, 1e-5), (100.0, 1e-5)):
        spec = dpsyn.PrivacySpec(epsilon, delta, "add_remove")
        assert len({_said(config, spec, n) for n in (1, 40, 41, 10**6)}) == 1


def _made(mechanism: Any, table: dpsyn.Table) -> str:
    try:
        rows, _ = mechanism._run(NoiseSource(np.random.default_rng(1)), table, no_progress)
    except DpsynError as failure:
        return str(failure)
    return str(rows.to_csv())


# DualQuery stops programs that take too long, by the clock.
@pytest.mark.parametrize("config", [one for one in CONFIGS if one.name != "dual_query"], ids=repr)
def test_a_run_that_has_lost_it_makes_the_same_rows(config: Any) -> None:
    table, spec = numeric(), dpsyn.PrivacySpec(30.0, 1e-5, "add_remove")
    with suppress(DpsynError):  # which do not depend on it either
        mechanism = config.calibrate(spec, table.domain, table.n)
        assert _made(mechanism, table) == _made(replace(mechanism, n=None), table)
