"""The argument behind a claim, in words by hand, is that of the noise that a run draws and of what it is taken to cost.

The scales that a record states are those of this noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpsyn
from dpsyn.errors import CalibrationError
from dpsyn.mechanisms import points
from dpsyn.mechanisms.base import Config, Mechanism
from dpsyn.mechanisms.dp_cda import _mechanism as dp_cda
from dpsyn.mechanisms.dp_gan import mechanism as dp_gan
from dpsyn.mechanisms.dp_mix import mechanism as dp_mix
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily
from dpsyn.mechanisms.registry import MECHANISMS
from dpsyn.privacy.spec import Neighbouring
from dpsyn.privacy.zcdp import zcdp_rho
from tests.conformance.neighbours import Deaf, called
from tests.conformance.test_every_mechanism import CASES, TABLE
from tests.conftest import mixed_table

NUMBERS = mixed_table(300)
CATEGORIES = dpsyn.Table(TABLE.frame[["smokes", "colour"]], TABLE.domain.project(["smokes", "colour"]))


class Listening(Deaf):
    """Deaf to real numbers, too; ``real`` are the kinds of noise on them that it is asked for, ``scales`` those of all."""

    def __init__(self) -> None:
        super().__init__(0, 300, 100)
        self.real: set[str] = set()
        self.real_scales: set[float] = set()
        heard, scales = self.real, self.real_scales

        class Generator(np.random.Generator):
            def laplace(self, *asked: Any) -> Any:
                heard.add("continuous laplace")
                scales.add(asked[1])
                return super().laplace(*asked)

        self.generator = Generator(np.random.PCG64(0))

    def gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        self.real.add("gaussian-on-a-grid")
        self.real_scales.add(scale)
        return 300 + self.answers.uniform(-1, 1, values.shape)

    @property
    def scales(self) -> set[float]:
        return {call.scale for call in self.calls} | self.real_scales


def stated(mechanism: Mechanism) -> set[float]:
    """The scales that a record gives before a run."""
    facts = mechanism.calibrated()
    found = [*(part.get("scale") for part in facts.get("ledger", [])), facts.get("histogram_noise_scale")]
    return {scale for scale in found if scale is not None}


def accounting(mechanism: Mechanism) -> str:
    """What the costs of all parts come to: ε in sum, ρ that zCDP makes (ε, δ) of, or more, which only the law allows."""
    facts, spec = mechanism.calibrated(), mechanism.spec
    before = facts.get("epsilon_for_histograms", 0.0)
    spent = {unit: sum(one[unit] for one in facts["ledger"] if unit in one) for unit in ("epsilon", "rho")}
    if spent["epsilon"]:
        assert spent["rho"] == 0
        assert before + spent["epsilon"] == pytest.approx(spec.epsilon)
        return "ε"
    allowed = zcdp_rho(spec.epsilon - before, spec.delta)
    if spent["rho"] == pytest.approx(allowed):
        return "ρ"
    assert spent["rho"] > 1.05 * allowed
    return "law"


Said = dict[tuple[str, str], str]
PAPER = "PAPER"
COMPOSED: Said = {
    ("laplace", "ε"): f"Laplace noise and exponential mechanism, whose ε are added (our proof), for {PAPER}",
    ("gaussian", "ρ"): f"zCDP, composed and converted as in Canonne, Kamath, Steinke 2020 (Proposition 12), for {PAPER}",
}
AT_ONCE: Said = {
    ("laplace", "ε"): "Laplace mechanism (our proof)",
    ("gaussian", "law"): "Discrete Gaussian noise, by the exact law of its privacy loss (Canonne, Kamath, Steinke 2020)",
    ("gaussian", "ρ"): "Discrete Gaussian noise, by zCDP (Canonne, Kamath, Steinke 2020)",
}
REWEIGHTING: Said = {
    ("laplace", "ε, replace_one"): f"Theorem 2.2 of {PAPER} with the exact L1 sensitivity, discrete Laplace noise",
    ("laplace", "ε, add_remove"): (
        "Laplace mechanism with the exact L1 sensitivity of adding or removing one record, discrete Laplace noise"
    ),
    ("continuous laplace", "ε, replace_one"): f"Theorem 2.2 of {PAPER}",
    ("gaussian", "law"): "Discrete Gaussian mechanism, exact law of the privacy loss (Canonne, Kamath, Steinke 2020)",
    ("gaussian", "ρ"): "Discrete Gaussian mechanism, zCDP (Canonne, Kamath, Steinke 2020), exact L2 sensitivity",
}
AFTER = {
    "laplace": ", after discrete Laplace noise on fine histograms, whose ε is added (adaptive composition)",
    "gaussian": ", after discrete Gaussian noise on fine histograms, whose ρ is added (adaptive composition)",
}
BINS = ", bins chosen by noisy histograms that came before (adaptive composition)"


def halves(codes: np.ndarray) -> np.ndarray:
    return codes[:, 0] / 4 + 0.5


def wholes(codes: np.ndarray) -> np.ndarray:
    return np.ones(len(codes))


FUNCTIONS = dpsyn.NoisyReweighting(rows=20, family=FunctionFamily([halves, wholes], CATEGORIES.domain.shape))
REWEIGHTINGS = [dpsyn.NoisyReweighting(rows=20, noise=kind) for kind in ("auto", "laplace", "gaussian", "as_published")]
DISCRETE: dict[str, tuple[list[Config], Said]] = {
    **{name: ([CASES[name].config], COMPOSED) for name in ("aim", "mst", "privbayes", "privsyn", "dual_query")},
    "mwem": ([CASES["mwem"].config, replace(CASES["mwem"].config, start_share=0.2)], COMPOSED),
    "dp_merf": ([CASES["dp_merf"].config], {("gaussian", "ρ"): COMPOSED["gaussian", "ρ"]}),
    "independent": ([dpsyn.Independent(rows=20), dpsyn.Independent(degree=2, rows=20)], AT_ONCE),
    "contingency": ([dpsyn.Contingency(rows=20)], {key: said for key, said in AT_ONCE.items() if key[1] != "ρ"}),
    "noisy_reweighting": ([*REWEIGHTINGS, FUNCTIONS], REWEIGHTING),
}
ADAPTIVE = {"aim", "privbayes", "privsyn", "dual_query", "dp_merf"}
"""Scales follow from what came before, or are in units of their own."""
OTHERS = {"private_sampling", "dp_cda", "dp_mix", "dp_gan", "local_perturbation", "random_projection"}


NEIGHBOURING: tuple[Neighbouring, ...] = ("replace_one", "add_remove")


def calibrations(configs: list[Config]) -> Iterator[tuple[Mechanism, dpsyn.Table]]:
    """Each that can be met, without fine histograms and with them, and the table for it."""
    for config in configs:
        for delta in (0.0, 1e-5, 0.1):
            for neighbouring in NEIGHBOURING:
                for table in (CATEGORIES, NUMBERS):
                    spec = dpsyn.PrivacySpec(1.0, delta, neighbouring)
                    if config is FUNCTIONS and table is NUMBERS:
                        continue
                    try:
                        yield config.calibrate(spec, table.domain, table.n), table
                    except CalibrationError:
                        continue  # Gaussian noise without δ, and Theorem 2.2 for adding a row


def said_of(mechanism: Mechanism) -> str:
    return mechanism.guarantee.source.replace(str(mechanism.config.paper), PAPER)


def test_every_mechanism_is_among_these() -> None:
    assert set(MECHANISMS) == set(DISCRETE) | OTHERS


@pytest.mark.parametrize("name", DISCRETE)
def test_the_source_is_that_of_the_noise_and_the_accounting(name: str) -> None:
    configs, words = DISCRETE[name]
    met = set()
    for mechanism, table in calibrations(configs):
        noise = Listening()
        called(noise, mechanism, table)
        how = accounting(mechanism)
        # The counts of a fine histogram have a row for each part; DP-MERF, which has none, asks for all that it needs so.
        fine = [call.values.ndim == 2 and name != "dp_merf" for call in noise.calls]
        before = {call.kind for call, first in zip(noise.calls, fine, strict=True) if first}
        after = {call.kind for call, first in zip(noise.calls, fine, strict=True) if not first} - {"choice"}
        # Scores alone get noise where the number of rows is public.
        kind = "".join(after | noise.real) or {"ε": "laplace", "ρ": "gaussian"}[how]
        if words is REWEIGHTING and how == "ε":
            how = f"ε, {mechanism.spec.neighbouring}"
        said = words[kind, how] + "".join(BINS if words is REWEIGHTING else AFTER[one] for one in before)
        assert said_of(mechanism) == said
        assert name in ADAPTIVE or stated(mechanism) == noise.scales
        met.add((kind, how))
    assert met == set(words)


MIXED = dpsyn.DPCDA("smokes", order_of_mixture=4, rows=20)
STATED = replace(MIXED, class_sizes=60)
CLASSES = "Privacy loss distributions of the averages, "
FIXED, POISSON = CLASSES + "drawn without replacement from each class", CLASSES + "Poisson samples of each class"
COUNTS = ", composed with discrete Laplace noise on the class counts"
SUMS = ", and of Gaussian noise on the sums that means and deviations come from"
ONCE = "Gaussian mechanism by its exact law (Balle, Wang 2018), once for every record (our proof)"
RATIO = "bounded ratio: each draw has probability in [floor, ceiling]/m whatever the data (k ln(ceiling/floor))"
SAMPLED = CASES["private_sampling"].config
POISSON_SUMS = f"Privacy loss distributions of noisy sums over Poisson samples (our proof), for {PAPER}"
AVERAGES = f"Privacy loss distributions of averages drawn without replacement, for {PAPER} (our proof)"
REAL: list[tuple[Config, dpsyn.Table, str, str]] = [
    (MIXED, CATEGORIES, "fixed_size gaussian laplace", FIXED + COUNTS),
    (STATED, CATEGORIES, "fixed_size gaussian", FIXED),
    (replace(MIXED, noise_sampler="exact"), CATEGORIES, "fixed_size gaussian-on-a-grid laplace", FIXED + COUNTS),
    (replace(MIXED, variant="poisson"), CATEGORIES, "gaussian laplace poisson", POISSON + COUNTS),
    (replace(STATED, variant="poisson"), CATEGORIES, "gaussian poisson", POISSON),
    (
        replace(MIXED, scaling="private"),
        NUMBERS,
        "fixed_size gaussian gaussian-on-a-grid laplace",
        FIXED + SUMS + COUNTS,
    ),
    (replace(STATED, scaling="private"), NUMBERS, "fixed_size gaussian gaussian-on-a-grid", FIXED + SUMS),
    (replace(CASES["dp_mix"].config, size=8), NUMBERS, "fixed_size gaussian", AVERAGES),
    (CASES["local_perturbation"].config, NUMBERS, "gaussian", ONCE),
    (CASES["random_projection"].config, NUMBERS, "gaussian", ONCE),
    (CASES["dp_gan"].config, CATEGORIES, "gaussian gaussian-on-a-grid", POISSON_SUMS),
    (CASES["dp_gan"].config, NUMBERS, "gaussian gaussian-on-a-grid laplace", POISSON_SUMS + AFTER["laplace"]),
    (SAMPLED, NUMBERS, "", RATIO),
    (replace(SAMPLED, histogram_share=0.1), NUMBERS, "laplace", RATIO + AFTER["laplace"]),
    (
        replace(SAMPLED, floor=0.5, ceiling=1.5),
        CATEGORIES,
        "",
        "degenerate box: the density is uniform whatever the data",
    ),
    (
        dpsyn.Contingency(cells="present", rows=20),
        CATEGORIES,
        "laplace",
        "Laplace mechanism with a threshold, as in Korolova et al. 2009 (our proof)",
    ),
]


@pytest.mark.parametrize("neighbouring", NEIGHBOURING)
@pytest.mark.parametrize(("config", "table", "drawn", "words"), REAL)
def test_the_source_is_that_of_noise_on_real_numbers_and_of_draws(
    config: Config, table: dpsyn.Table, drawn: str, words: str, neighbouring: Neighbouring, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = Listening()

    def heard(said: str | None, of: Callable[..., Any]) -> Callable[..., Any]:
        def asked_for(*asked: Any, **more: Any) -> Any:
            noise.real.add(said or more["variant"])
            noise.real_scales |= {asked[0]} if said else set()
            return of(*asked, **more)

        return asked_for

    for module in (dp_cda, dp_gan, points):
        monkeypatch.setattr(module, "gaussian_noise", heard("gaussian", module.gaussian_noise))
    for mixing in (dp_cda, dp_mix):
        monkeypatch.setattr(mixing, "averages_in_blocks", heard(None, mixing.averages_in_blocks))
    epsilon = 100.0 if config.name == "private_sampling" else 5.0
    mechanism = config.calibrate(dpsyn.PrivacySpec(epsilon, 1e-5, neighbouring), table.domain, table.n)
    called(noise, mechanism, table)
    assert " ".join(sorted({call.kind for call in noise.calls} | noise.real)) == drawn
    assert said_of(mechanism) == words
    assert stated(mechanism) <= noise.scales
    # The noise on averages follows from the counts of classes.
    assert len(noise.scales - stated(mechanism)) == (COUNTS in words)
