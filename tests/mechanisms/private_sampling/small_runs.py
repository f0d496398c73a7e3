"""Runs of private sampling on a few rows that are given as codes."""

from __future__ import annotations

import numpy as np

import dpsyn
from dpsyn.domain import Domain
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.table import Table

LOOSE = dpsyn.PrivacySpec(epsilon=1e9)


def table_of(codes: object, domain: Domain) -> Table:
    return Table(domain.decode(np.asarray(codes, dtype=np.int32), np.random.default_rng(0)), domain)


def run_of(config: PrivateSampling, table: Table, seed: int = 0, spec: dpsyn.PrivacySpec = LOOSE) -> dpsyn.Release:
    return config.calibrate(spec, table.domain, n=table.n)(np.random.default_rng(seed), table)
