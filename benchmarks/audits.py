"""Audits of every mechanism, on the worst pair of tables that is known: sound ones stay below their claims, others do not.

    python benchmarks/audits.py [--runs 20000] [--exact-runs 2000] [--repeats 3] [--only worst] [--output DIRECTORY]

Every line is one audit (dpsyn.mechanisms.audit): a lower bound on ε at the claim's δ, with 99 % confidence, and the claim
that the calibration makes at the δ where a fault would show best. "sound" mechanisms must not be refuted in more than a
hundredth of the audits; noise halved on purpose and DP-CDA as published must be refuted in every one. The largest bound that
20,000 runs per side can give is 7.54.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dpsyn
from dpsyn.data.samples import load_sample
from dpsyn.mechanisms.audit import HALVED, Trial, bits, trials
from dpsyn.mechanisms.dp_cda.audit import PUBLISHED
from dpsyn.mechanisms.noisy_reweighting.audit import audit_noisy_reweighting
from dpsyn.mechanisms.registry import MECHANISMS, title
from dpsyn.privacy.audit import Audit

Case = tuple[str, str, Callable[..., Audit]]


SLOWER, SLOWER_BY = ("aim", "dual_query"), 5
"""Mechanisms that fit or search between their questions to the noise have a fifth of the runs."""
FAR_ABOVE = {("private_sampling", "add_remove"), ("dual_query", "add_remove")}
"""Claims so far above what the worst known pair loses that half of the noise need not show."""


def reweighting_cases() -> Iterator[Case]:
    """Discrete Laplace, discrete Gaussian and the paper's continuous Laplace noise, sound and halved."""
    asia, car = load_sample("asia"), load_sample("car")
    domains = [("2 bits", bits(2), 1000), ("ASIA", asia.domain, asia.n), ("CAR", car.domain, car.n)]
    for name, domain, n in domains:
        for kind, config, delta in (
            ("discrete Laplace", dpsyn.NoisyReweighting(noise="laplace"), 0.0),
            ("discrete Gaussian", dpsyn.NoisyReweighting(noise="gaussian"), 1e-5),
            ("continuous Laplace, as published", dpsyn.NoisyReweighting.as_published(), 0.0),
        ):
            mechanism = config.calibrate(dpsyn.PrivacySpec(1.0, delta), domain, n=n)
            yield f"reweighting, {name}, {kind}", "sound", partial(audit_noisy_reweighting, mechanism)
            if "published" not in kind:
                yield (
                    f"reweighting, {name}, {kind}, noise halved",
                    "faulty",
                    partial(audit_noisy_reweighting, mechanism, noise_factor=0.5),
                )
    added = dpsyn.NoisyReweighting(noise="laplace").calibrate(
        dpsyn.PrivacySpec(1.0, neighbouring="add_remove"), car.domain, n=car.n
    )
    yield "reweighting, CAR, discrete Laplace, add/remove", "sound", partial(audit_noisy_reweighting, added)


def worst_cases() -> Iterator[Case]:
    """Every mechanism on the worst tables that are known for it, under both relations, sound and halved."""
    for neighbouring in ("replace_one", "add_remove"):
        for name in MECHANISMS:
            for what, trial in trials(name, dpsyn.PrivacySpec(4.0, 1e-5, neighbouring)).items():
                expected = "faulty" if what in (HALVED, PUBLISHED) else "sound"
                if what == HALVED and (name, neighbouring) in FAR_ABOVE:
                    expected = "out of reach"
                if name in SLOWER:
                    trial = partial(_with_fewer_runs, trial)  # noqa: PLW2901
                yield f"{title(name)}, {neighbouring}, {what}", expected, trial


def _with_fewer_runs(trial: Trial, *, runs: int, **further: Any) -> Audit:
    return trial(runs=max(10, runs // SLOWER_BY), **further)


def exact_cases() -> Iterator[Case]:
    """The exact samplers on the system's entropy, which are slow."""
    for kind, delta in (("laplace", 0.0), ("gaussian", 1e-5)):
        mechanism = dpsyn.NoisyReweighting(noise=kind).calibrate(dpsyn.PrivacySpec(1.0, delta), bits(2), n=1000)
        yield f"reweighting, 2 bits, {kind}, exact sampler", "sound", partial(audit_noisy_reweighting, mechanism)


CASES: dict[str, Callable[[], Iterator[Case]]] = {"worst": worst_cases, "reweighting": reweighting_cases}


def main(runs: int, exact_runs: int, repeats: int, only: str | None, output: Path | None) -> int:
    """Print the table; 0 if everything came out as it should."""
    print(f"{'audit':62} {'claim':>6} {'ε at least':>11} {'at δ':>8} {'claimed':>8} {'at least':>9} {'refuted':>8} {'s':>7}")
    lines: list[dict[str, Any]] = []
    bad = audited = refuted_sound = 0
    cases = [(runs, True, case) for kind in ("worst", "reweighting") if only in (kind, None) for case in CASES[kind]()]
    if only in ("exact", None):
        cases += [(exact_runs, False, case) for case in exact_cases()]
    for count, seeded, (name, expected, work) in cases:
        for seed in range(repeats):
            start = time.perf_counter()
            found = work(runs=count, generator=np.random.default_rng(seed) if seeded else None)
            seconds = time.perf_counter() - start
            sharpest = found.sharpest or found
            lines.append(
                {
                    "audit": name,
                    "expected": expected,
                    "runs": found.runs,
                    "seed": seed if seeded else "system",
                    "claim": found.claim,
                    "delta": found.delta,
                    "epsilon_at_least": found.epsilon,
                    "sharpest_delta": sharpest.delta,
                    "sharpest_claim": sharpest.claim,
                    "sharpest_epsilon_at_least": sharpest.epsilon,
                    "refuted": found.refuted,
                    **dict(zip(("attained_advantage", "claimed_advantage"), found.advantages, strict=True)),
                    "seconds": seconds,
                }
            )
            if expected == "sound":
                audited, refuted_sound = audited + 1, refuted_sound + found.refuted
            elif expected == "faulty":
                bad += not found.refuted
            print(
                f"{name:62} {found.claim:6.3g} {found.epsilon:11.3f} {sharpest.delta:8.2g} {sharpest.claim:8.3g} "
                f"{sharpest.epsilon:9.3f} {'yes' if found.refuted else 'no':>8} {seconds:7.1f}",
                flush=True,
            )
    print(f"sound: {refuted_sound} of {audited} refuted; faulty: {bad} not refuted")
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        with (output / "audits.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, lines[0].keys())
            writer.writeheader()
            writer.writerows(lines)
    return int(bad > 0 or refuted_sound > max(1, audited / 100))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000, help="on each of the two datasets")
    parser.add_argument("--exact-runs", type=int, default=2_000, help="the same for the exact samplers")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, help="folder for the table as CSV")
    parser.add_argument("--only", choices=[*CASES, "exact"])
    given = parser.parse_args()
    sys.exit(main(given.runs, given.exact_runs, given.repeats, given.only, given.output))
