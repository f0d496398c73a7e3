"""What a claim takes for granted is in it, all of it, and nothing that is not asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily
from dpsyn.privacy.spec import Neighbouring, PrivacySpec
from dpsyn.table import Table

DOMAIN = Domain.of(Attribute(name, "truth", ("n", "y"), public=True) for name in "abc")
WIDE = Domain.of(Attribute(f"x{j}", "truth", ("n", "y"), public=True) for j in range(23))
ROWS = Table(DOMAIN.decode(np.zeros((40, 3), dtype=np.int32), np.random.default_rng(0)), DOMAIN)
TRIED = FunctionFamily([lambda codes: codes[:, 0]], WIDE.shape, low=0, high=1)
OWN = type("Own", (FunctionFamily,), {"__module__": "elsewhere"})([lambda codes: codes[:, 0]], DOMAIN.shape, low=0, high=1)
KNOWN = FunctionFamily([lambda codes: codes[:, 0]], DOMAIN.shape, low=0, high=1)
"""On rows so few they are evaluated, on all of them."""
MIXING = dpsyn.DPCDA("a", rows=4, order_of_mixture=2, count_share=0.5, noise_sampler="exact")
SIZED = dpsyn.DPCDA("a", rows=4, order_of_mixture=2, class_sizes=5, noise_sampler="exact")
RATED = dpsyn.DPCDA("a", rows=4, order_of_mixture=2, class_sizes=5, noise_sampler="exact", variant="poisson")
N = "The number of r"
"""How "The number of rows" and "The number of records" begin; either is public under replace-one."""
MADE = "The number of rows that are made was fixed without looking at the data."
"""Where n is a secret, and so many rows were asked for."""
ASKED: list[tuple[Config, Neighbouring, list[str]]] = [
    (dpsyn.PrivateSampling(rows=1), "replace_one", ["Floor and ceiling", N]),
    (dpsyn.PrivateSampling(rows=1), "add_remove", ["Floor and ceiling", MADE]),
    (dpsyn.NoisyReweighting(), "replace_one", [N]),
    (dpsyn.NoisyReweighting(), "add_remove", []),
    (dpsyn.NoisyReweighting(rows=40), "replace_one", [N]),
    (dpsyn.NoisyReweighting(rows=40), "add_remove", [MADE]),
    (dpsyn.MST(rows=40), "add_remove", [MADE]),
    (dpsyn.DPMERF(rows=40), "add_remove", [MADE]),
    (dpsyn.NoisyReweighting(public=ROWS, reduced_space="public"), "replace_one", [N, "rows of the reduced space were"]),
    (dpsyn.NoisyReweighting(tables=(DOMAIN.names[:2],)), "add_remove", ["tables that are measured were chosen without"]),
    (dpsyn.NoisyReweighting(family=KNOWN), "replace_one", [N]),
    (dpsyn.NoisyReweighting(family=OWN), "replace_one", [N, "what their class"]),
    (dpsyn.NoisyReweighting(family=TRIED), "replace_one", [N, "one row at a time"]),
    (dpsyn.NoisyReweighting(family=TRIED), "add_remove", ["one row at a time"]),
    (dpsyn.NoisyReweighting(noise="as_published"), "replace_one", [N, "Real arithmetic"]),
    (dpsyn.MWEM(), "replace_one", [N]),
    (MIXING, "replace_one", ["fixed without looking", "l, c and the scaling", N]),
    (MIXING, "add_remove", ["fixed without looking", "l, c and the scaling"]),
    (SIZED, "replace_one", ["fixed without looking", "l, c and the scaling", N, "as many records as was declared"]),
    (RATED, "add_remove", ["fixed without looking", "l, c and the scaling", "rates", "32 times"]),
]


@pytest.mark.parametrize(("config", "neighbouring", "said"), ASKED)
def test_every_assumption_is_told(config: Config, neighbouring: Neighbouring, said: list[str]) -> None:
    domain = WIDE if getattr(config, "family", None) is TRIED else DOMAIN
    told = config.calibrate(dpsyn.PrivacySpec(5.0, 1e-5, neighbouring), domain, 40).guarantee.assumptions
    assert "was known without looking at the data" in told[0]
    assert len(told) == 1 + len(said)
    for words in said:
        assert sum(words in sentence for sentence in told) == 1, words


def test_no_mechanism_claims_more_than_was_asked_for():
    mechanism = dpsyn.Independent(rows=5).calibrate(PrivacySpec(1.0, 1e-5), DOMAIN, 50)
    claim = mechanism.guarantee
    for share in (0.5, 1.0, 1 + 1e-10):
        replace(mechanism, guarantee=replace(claim, epsilon=share, delta=1e-5))
        replace(mechanism, guarantee=replace(claim, epsilon=1.0, delta=share * 1e-5))
    for share in (1 + 1e-8, 1.01, 1.9):
        for more in ({"epsilon": share}, {"delta": share * 1e-5}):
            with pytest.raises(ParameterError) as caught:
                replace(mechanism, guarantee=replace(claim, **{"epsilon": 1.0, "delta": 1e-5, **more}))
            assert caught.value.field == "guarantee"
