"""What a claim takes for granted is in it, all of it, and nothing that is not asked."""

from __future__ import annotations

import numpy as np
import pytest

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily
from dpsyn.privacy.spec import Neighbouring
from dpsyn.table import Table

DOMAIN = Domain.of(Attribute(name, "truth", ("n", "y"), public=True) for name in "abc")
WIDE = Domain.of(Attribute(f"x{j}", "truth", ("n", "y"), public=True) for j in range(23))
ROWS = Table(DOMAIN.decode(np.zeros((40, 3), dtype=np.int32), np.random.default_rng(0)), DOMAIN)
TRIED = FunctionFamily([lambda codes: codes[:, 0]], WIDE.shape, low=0, high=1)
KNOWN = FunctionFamily([lambda codes: codes[:, 0]], DOMAIN.shape, low=0, high=1)
"""On rows so few they are evaluated, on all of them."""
MIXING = dpsyn.DPCDA("a", rows=4, order_of_mixture=2, noise_sampler="exact")
SIZED = dpsyn.DPCDA("a", rows=4, order_of_mixture=2, class_sizes=5, noise_sampler="exact")
RATED = dpsyn.DPCDA("a", rows=4, order_of_mixture=2, class_sizes=5, noise_sampler="exact", variant="poisson")
N = "The number of r"
"""How "The number of rows" and "The number of records" begin; either is public under replace-one."""
ASKED: list[tuple[Config, Neighbouring, list[str]]] = [
    (dpsyn.PrivateSampling(rows=1), "replace_one", ["Floor and ceiling"]),
    (dpsyn.PrivateSampling(rows=1), "add_remove", ["Floor and ceiling"]),
    (dpsyn.NoisyReweighting(), "replace_one", [N]),
    (dpsyn.NoisyReweighting(), "add_remove", []),
    (dpsyn.NoisyReweighting(public=ROWS, reduced_space="public"), "replace_one", [N, "rows of the reduced space were"]),
    (dpsyn.NoisyReweighting(family=KNOWN), "replace_one", [N]),
    (dpsyn.NoisyReweighting(family=TRIED), "replace_one", [N, "one row at a time"]),
    (dpsyn.NoisyReweighting(family=TRIED), "add_remove", ["one row at a time"]),
    (dpsyn.NoisyReweighting(noise="as_published"), "replace_one", [N, "Real arithmetic"]),
    (dpsyn.MWEM(), "replace_one", [N]),
    (MIXING, "replace_one", ["fixed without looking", "l, c and the scaling", N]),
    (MIXING, "add_remove", ["fixed without looking", "l, c and the scaling"]),
    (SIZED, "replace_one", ["fixed without looking", "l, c and the scaling", N, "as many records as was declared"]),
    (RATED, "add_remove", ["fixed without looking", "l, c and the scaling", "rates"]),
]


@pytest.mark.parametrize(("config", "neighbouring", "said"), ASKED)
def test_every_assumption_is_told(config: Config, neighbouring: Neighbouring, said: list[str]) -> None:
    domain = WIDE if getattr(config, "family", None) is TRIED else DOMAIN
    told = config.calibrate(dpsyn.PrivacySpec(5.0, 1e-5, neighbouring), domain, 40).guarantee.assumptions
    assert "was known without looking at the data" in told[0]
    assert len(told) == 1 + len(said)
    for words in said:
        assert sum(words in sentence for sentence in told) == 1, words
