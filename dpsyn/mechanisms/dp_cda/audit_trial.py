"""All audits of DP-CDA on one small table: ours on its worst pairs, a fault put in on purpose, and the paper's z-score."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpsyn.attribute import Attribute
from dpsyn.domain import Domain
from dpsyn.errors import CalibrationError
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.dp_cda import DPCDA
from dpsyn.mechanisms.dp_cda.audit import audit_dp_cda, audit_published_dp_cda
from dpsyn.privacy.audit import CONFIDENCE, RUNS, Audit
from dpsyn.privacy.spec import PrivacySpec

RECORDS, FEATURES, CLASSES = 100, 16, 2
REPLACED, MOVED, POISSON = "a record replaced", "a record moved to the other class", "a record replaced, Poisson"
HALVED, PUBLISHED = "half of the noise (on purpose)", "as published, with its z-score"


def audit_mixing(
    *,
    epsilon: float,
    delta: float,
    order_of_mixture: int,
    runs: int = RUNS,
    confidence: float = CONFIDENCE,
    seed: int | None = None,
    progress: Callable[[str, float], None] = no_progress,
) -> dict[str, Audit]:
    """Audit DP-CDA on 100 records of 16 numbers in two classes, as many rows as records; the audits by name.

    Args:
        epsilon: of the claim.
        delta: of the claim.
        order_of_mixture: l, at most 50.
        runs: on each of the two datasets of an audit.
        confidence: of every bound.
        seed: None draws on the system's entropy.
        progress: told the step and the share of the work done.

    Raises:
        ParameterError: an argument is out of range.
    """
    domain = Domain.of(
        [
            *[Attribute(f"x{i}", "numeric", lower=0.0, upper=1.0, public=True) for i in range(FEATURES)],
            Attribute("class", "truth", ("no", "yes"), public=True),
        ]
    )
    spec, generator = PrivacySpec(epsilon, delta), np.random.default_rng(seed)
    fixed, poisson = (
        DPCDA(
            target="class",
            order_of_mixture=order_of_mixture,
            rows=RECORDS,
            class_sizes=RECORDS // CLASSES,
            variant=variant,
        ).calibrate(spec, domain, RECORDS)
        for variant in ("fixed_size", "poisson")
    )
    trials: dict[str, Callable[..., Audit]] = {
        REPLACED: lambda **shared: audit_dp_cda(fixed, **shared),
        MOVED: lambda **shared: audit_dp_cda(fixed, pair="label_change", **shared),
        POISSON: lambda **shared: audit_dp_cda(poisson, **shared),
        HALVED: lambda **shared: audit_dp_cda(fixed, pair="label_change", noise_factor=0.5, **shared),
    }
    try:
        published = DPCDA.as_published("class", order_of_mixture, RECORDS).calibrate(spec, domain, RECORDS)
    except CalibrationError:
        pass
    else:
        trials[PUBLISHED] = lambda **shared: audit_published_dp_cda(published, **shared)
    found: dict[str, Audit] = {}
    for at, (name, trial) in enumerate(trials.items()):

        def told(step: str, share: float, at: int = at, name: str = name) -> None:
            progress(f"{name}: {step}", (at + share) / len(trials))

        found[name] = trial(runs=runs, confidence=confidence, generator=generator, progress=told)
    progress("done", 1.0)
    return found
