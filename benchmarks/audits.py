"""Audits of noisy reweighting, DP-CDA and DP-GAN with 20,000 runs a side: sound ones stay below their claims, others do not.

    python benchmarks/audits.py [--runs 20000] [--exact-runs 2000] [--repeats 3] [--output DIRECTORY]

Every line is one audit (dpsyn.evaluation.audits): a lower bound on ε at the claim's δ, with 99 % confidence, and the claim
that the calibration makes at the δ where a fault would show best. "sound" mechanisms must not be refuted in more than a
hundredth of the audits; noise halved on purpose and DP-CDA as published must be refuted in every one. The largest bound that
20,000 runs a side can give is 7.54.
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
from dpsyn.domain import Attribute, Domain
from dpsyn.mechanisms.dp_cda import PublishedDPCDA
from dpsyn.mechanisms.dp_cda.audit import audit_dp_cda, audit_published_dp_cda
from dpsyn.mechanisms.dp_gan.audit import audit_dp_gan
from dpsyn.mechanisms.noisy_reweighting.audit import audit_noisy_reweighting
from dpsyn.privacy.audit import Audit

Case = tuple[str, str, Callable[..., Audit]]


def cube(p: int) -> Domain:
    """p two-valued columns."""
    return Domain.of(Attribute(f"b{j}", "truth", (0, 1), public=True) for j in range(p))


def reweighting_cases() -> Iterator[Case]:
    """Discrete Laplace, discrete Gaussian and the paper's continuous Laplace noise, sound and halved."""
    asia, car = load_sample("asia"), load_sample("car")
    domains = [("2 bits", cube(2), 1000), ("ASIA", asia.domain, asia.n), ("CAR", car.domain, car.n)]
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


def numbers(columns: int) -> Domain:
    """So many numbers and a class."""
    features = [Attribute(f"x{j}", "numeric", lower=0.0, upper=1.0, public=True) for j in range(columns)]
    return Domain.of([*features, Attribute("class", "truth", ("no", "yes"), public=True)])


def mixing_cases() -> Iterator[Case]:
    """DP-CDA's variants and pairs, sound and halved; then the paper's algorithm."""
    n, rows, spec = 200, 100, dpsyn.PrivacySpec(5.0, 1e-5)
    domain = numbers(16)
    for variant in ("fixed_size", "poisson"):
        config = dpsyn.DPCDA(target="class", order_of_mixture=4, rows=rows, class_sizes=n // 2, variant=variant)
        mechanism = config.calibrate(spec, domain, n=n)
        for pair in ("same_class", "label_change"):
            work = partial(audit_dp_cda, mechanism, pair=pair)
            yield f"DP-CDA, {variant}, {pair}", "sound", work
            yield f"DP-CDA, {variant}, {pair}, noise halved", "faulty", partial(work, noise_factor=0.5)
    # Near the smallest ε that the published formula can claim at this δ, ln(1/δ)/3.
    claimed = dpsyn.PrivacySpec(4.0, 1e-5)
    published = PublishedDPCDA(target="class", order_of_mixture=4, rows=rows).calibrate(claimed, domain, n=n)
    yield "DP-CDA as published (z-score)", "faulty", partial(audit_published_dp_cda, published)


def gan_cases() -> Iterator[Case]:
    """A few steps of DP-GAN with large samples, where a row shows best."""
    for neighbouring in ("replace_one", "add_remove"):
        spec = dpsyn.PrivacySpec(2.0, 1e-5, neighbouring)
        work = partial(audit_dp_gan, dpsyn.DPGAN(steps=5, sampling_rate=0.5).calibrate(spec, cube(4), n=1000))
        yield f"DP-GAN, {neighbouring}", "sound", work
        yield f"DP-GAN, {neighbouring}, noise halved", "faulty", partial(work, noise_factor=0.5)


def exact_cases() -> Iterator[Case]:
    """The exact samplers on the system's entropy, which are slow."""
    for kind, delta in (("laplace", 0.0), ("gaussian", 1e-5)):
        mechanism = dpsyn.NoisyReweighting(noise=kind).calibrate(dpsyn.PrivacySpec(1.0, delta), cube(2), n=1000)
        yield f"reweighting, 2 bits, {kind}, exact sampler", "sound", partial(audit_noisy_reweighting, mechanism)


def main(runs: int, exact_runs: int, repeats: int, output: Path | None) -> int:
    """Print the table; 0 if everything came out as it should."""
    print(f"{'audit':62} {'claim':>6} {'ε at least':>11} {'at δ':>8} {'claimed':>8} {'at least':>9} {'refuted':>8} {'s':>7}")
    lines: list[dict[str, Any]] = []
    bad = audited = refuted_sound = 0
    cases = [(runs, True, case) for case in (*reweighting_cases(), *mixing_cases(), *gan_cases())]
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
                    "runs": count,
                    "seed": seed if seeded else "system",
                    "claim": found.claim,
                    "delta": found.delta,
                    "epsilon_at_least": found.epsilon,
                    "sharpest_delta": sharpest.delta,
                    "sharpest_claim": sharpest.claim,
                    "sharpest_epsilon_at_least": sharpest.epsilon,
                    "refuted": found.refuted,
                    "seconds": seconds,
                }
            )
            if expected == "sound":
                audited, refuted_sound = audited + 1, refuted_sound + found.refuted
            else:
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
    given = parser.parse_args()
    sys.exit(main(given.runs, given.exact_runs, given.repeats, given.output))
