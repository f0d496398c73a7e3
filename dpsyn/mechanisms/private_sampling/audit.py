"""Private sampling under audit: rows from the two densities that a run finds for one record and for its opposite."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn import checks
from dpsyn.mechanisms.audit import Trial, bits
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.private_sampling.certificates import largest_rows, loss_of_a_row
from dpsyn.privacy.audit import Audit, Runs, Scores, audit
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.table import Table

_COLUMNS = 4


def worst_case(spec: PrivacySpec) -> Trial:
    """One row of four truth values, 0 everywhere, against 1 everywhere: the ends of the box are nearly reached."""
    return partial(audit_private_sampling, spec)


def audit_private_sampling(
    spec: PrivacySpec,
    *,
    noise_factor: float = 1.0,
    **how: Unpack[Runs],
) -> Audit:
    """Audit as many rows as ε allows of the default box. The law of a row is h*, which the table alone decides.

    ``noise_factor``: the draw is all the noise there is, so half of it means twice the rows.

    Raises:
        ParameterError: an argument is out of range.
    """
    checks.instance("spec", spec, PrivacySpec, "a dpsyn.PrivacySpec")
    noise_factor = checks.number("noise_factor", noise_factor, 1e-3, 1e3)
    domain, ones = bits(_COLUMNS), np.ones((1, _COLUMNS), dtype=np.int64)
    changed = [ones] if spec.neighbouring == "replace_one" else [0 * ones, ones]
    tables = [Table(pd.DataFrame(codes, columns=domain.names), domain) for codes in (0 * ones, np.concatenate(changed))]
    config = PrivateSampling(degree=1)
    per_row = loss_of_a_row(config.floor, config.ceiling)
    config = replace(config, rows=largest_rows(epsilon=spec.epsilon, epsilon_per_row=per_row) or 1)
    mechanism = config.calibrate(spec, domain, 1)
    rows = max(1, round(mechanism.rows / noise_factor))

    def places(codes: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        return np.asarray(np.ravel_multi_index(tuple(codes.T), domain.shape))

    def law(table: Table) -> npt.NDArray[np.float64]:
        found = mechanism._run(NoiseSource(np.random.default_rng(0)), table, no_progress)[1]
        return np.asarray(np.log(found["density"][np.argsort(places(found["points"]))]))

    apart = law(tables[0]) - law(tables[1])

    def scored(table: Table) -> Scores:
        def run(count: int, random: np.random.Generator) -> npt.NDArray[np.float64]:
            drawn, _ = replace(mechanism, rows=rows * count)._run(NoiseSource(random), table, no_progress)
            return np.asarray(apart[places(drawn.to_numpy())].reshape(count, rows).sum(axis=1).round(9))

        return run

    return audit(
        scored(tables[0]),
        scored(tables[1]),
        claim=mechanism.guarantee.epsilon,
        **how,
    )
