"""DP-MERF: sum up features of every row class by class, add noise once, fit rows to what comes out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dpsyn import checks
from dpsyn.domain import Domain
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.base import (
    N_IS_PUBLIC,
    ROWS,
    Axis,
    Config,
    Mechanism,
    Progress,
    Release,
    check_request,
)
from dpsyn.mechanisms.dp_merf.embedding import UNIT, Features, Floats
from dpsyn.privacy.budget import Budget
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PUBLIC_DOMAIN_ASSUMPTION, Guarantee, PrivacySpec
from dpsyn.solvers.executors import one_blas_thread
from dpsyn.solvers.least_squares import onto_simplex
from dpsyn.solvers.memory import require_memory
from dpsyn.solvers.rounding import systematic_rows
from dpsyn.table import Table
from dpsyn.theory.formulas import Paper

_MOST_POINTS = 1000
"""Different points that a class has at most: rows are as many copies of them as are asked for."""
_LAST_BITS = 1e-9
"""By how much noise is larger than it has to be: lengths of features are 1 up to rounding."""


@dataclass(frozen=True)
class DPMERF(Config):
    """
    Args:
        target: the column whose categories are the classes; None for one class.
        features: D, random Fourier features of the numbers.
        rows: k; None makes as many as there are, by the noisy sums where a neighbour adds or removes one. Rows cost no
            privacy.

    Raises:
        ParameterError: a value is outside its range.
    """

    target: str | None = None
    features: int = 1000
    rows: int | None = None

    name: ClassVar[str] = "dp_merf"
    title: ClassVar[str] = "DP-MERF"
    paper: ClassVar[Paper] = Paper(
        "Harder, Adamczewski, Park 2021",
        "DP-MERF: Differentially private mean embeddings with random features for practical privacy-preserving data "
        "generation",
        "https://arxiv.org/abs/2002.11603",
    )
    fills_empty_numbers: ClassVar[bool] = True
    axes: ClassVar[Mapping[str, Axis]] = {"rows": ROWS, "features": Axis("D (features)", "100, 300, 1000, 3000")}

    def __post_init__(self) -> None:
        why = "the name of a column, or None"
        if self.target is not None:
            self._set("target", checks.text("target", self.target, why))
        if self.target == "":
            raise ParameterError("target", self.target, why)
        self._set("features", checks.whole("features", self.features, 2, 100_000))
        self._set("rows", checks.whole_or_none("rows", self.rows))

    @classmethod
    def as_it_comes(cls, rows: int, target: str | None) -> Config | None:
        """Classes are those of the column to predict."""
        checks.whole("rows", rows)
        return cls(target=target)

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> DPMERFMechanism:
        """Gaussian noise, once, on the sums of all features by class, which a neighbour moves by √6 or √2 at most.

        Raises:
            CalibrationError: δ = 0: a neighbour moves all features.
            ParameterError: the target is no column of categories, or the only one.
        """
        n = check_request(spec, domain, n, self.rows)
        if spec.delta == 0:
            raise CalibrationError("DP-MERF adds Gaussian noise, which needs delta > 0")
        classes, others = 1, domain
        if self.target is not None:
            if self.target not in domain.names or domain[self.target].is_binned or len(domain) < 2:
                raise ParameterError("target", self.target, "a column of categories, and one besides it")
            classes = domain[self.target].size
            others = Domain.of(attribute for attribute in domain.attributes if attribute.name != self.target)
        require_memory("features", self.features, 48 * classes * (self.features + sum(others.shape)))
        budget = Budget.of(spec)
        public = (N_IS_PUBLIC,) if spec.neighbouring == "replace_one" else ()
        source = f"{budget.source}, for {self.paper}"
        guarantee = Guarantee(spec.epsilon, spec.delta, spec.neighbouring, source, (PUBLIC_DOMAIN_ASSUMPTION, *public))
        return DPMERFMechanism(self, spec, domain, n, guarantee, others, classes, budget)


@dataclass(frozen=True)
class DPMERFMechanism(Mechanism):
    """Calibrated DP-MERF.

    Attributes:
        others: the columns without the classes.
        classes: how many there are.
        budget: of the one release.
    """

    config: DPMERF
    others: Domain
    classes: int
    budget: Budget

    def _features(self, generator: np.random.Generator) -> Features:
        return Features.of(self.others, self.config.features, generator)

    @cached_property
    def noise_scale(self) -> float:
        """Of the noise on the sums, in their steps: sensitivity/√(2ρ)."""
        # How many features there are, and of which kind, is all that counts; which ones does not.
        moved = self._features(np.random.default_rng(0)).sensitivity(self.spec.neighbouring)
        return moved / math.sqrt(2 * self.budget.total) * (1 + _LAST_BITS)

    def calibrated(self) -> dict[str, Any]:
        """Rows where their number is known, classes, and what the sums cost."""
        rows = self.config.rows or (self.n if self.spec.neighbouring == "replace_one" else None)
        entry = ("sums of features", self.budget.total, self.noise_scale / UNIT)
        return {**({} if rows is None else {"rows": rows}), "classes": self.classes, **self.budget.ledger(entry)}

    def _redraw(self, generator: np.random.Generator, release: Release) -> pd.DataFrame | None:
        """As many rows again for the same noisy sums."""
        model = release.diagnostics.get("model")
        return None if model is None else self._rows(model, len(release.rows), generator)

    def _run(self, noise: NoiseSource, table: Table, progress: Progress) -> tuple[pd.DataFrame, dict[str, Any]]:
        progress("summing up features", 0.0)
        with one_blas_thread():
            features = self._features(noise.generator)
            target = self.config.target
            at = np.zeros(table.n, dtype=np.int64) if target is None else table.codes[:, table.domain.index(target)]
            exact = features.sums(table, at.astype(np.int64), self.classes)
            noisy = self.budget.released(noise, exact, self.noise_scale) / UNIT
            progress("fitting rows", 0.3)
            model = _Model(features, *features.parts(noisy))
            known = self.n if self.spec.neighbouring == "replace_one" else max(1, round(float(model.rows.sum())))
            count = self.config.rows or known
            require_memory("rows", count, 16 * len(self.domain) * count)
            rows = self._rows(model, count, noise.generator)
        off = np.abs(noisy - exact / UNIT).mean()
        return rows, {"mean_error_of_sums": float(off), "noisy_rows_by_class": model.rows.tolist(), "model": model}

    def _rows(self, model: _Model, count: int, generator: np.random.Generator) -> pd.DataFrame:
        """Each class has its share of the rows, its own categories, and points that have its mean embedding."""
        features = model.features
        shares = model.rows if model.rows.sum() > 0 else np.ones(self.classes)
        at = systematic_rows(shares / shares.sum(), count, generator)
        points = np.zeros((count, len(features.numbers)))
        codes = np.zeros((count, len(features.categories)), dtype=np.int32)
        for label in np.unique(at):
            inside = np.flatnonzero(at == label)
            if features.numbers:
                fitted = features.fitted(model.means[label], min(len(inside), _MOST_POINTS), generator)
                points[inside] = fitted[generator.permutation(np.arange(len(inside)) % len(fitted))]
            for j in range(len(features.categories)):
                counts = model.counts[j][label]
                law = onto_simplex(counts / max(float(model.rows[label]), 1.0))
                codes[inside, j] = generator.permutation(systematic_rows(law, len(inside), generator))
        columns: dict[str, pd.Series[Any]] = {}
        for j, attribute in enumerate(features.numbers):
            columns[attribute.name] = attribute.from_numbers(features.values(points, j))
        for j, attribute in enumerate(features.categories):
            columns[attribute.name] = attribute.decode(codes[:, j], generator)
        if self.config.target is not None:
            columns[self.config.target] = self.domain[self.config.target].decode(at.astype(np.int32), generator)
        order = generator.permutation(count)
        found = pd.DataFrame({name: columns[name] for name in self.domain.names}).iloc[order]
        return found.reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class _Model:
    """What the noisy sums say.

    Attributes:
        features: φ.
        rows: of each class, not negative.
        means: of the Fourier features of each class.
        counts: rows of each category by class, for every column of categories.
    """

    features: Features
    rows: Floats
    means: Floats
    counts: list[Floats]
