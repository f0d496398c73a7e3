"""Private sampling, calibrated: draws S, solves the two programs and draws the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpsyn.mechanisms.base import Mechanism, Progress, Release
from dpsyn.mechanisms.private_sampling._config import IGNORES_DATA, PrivateSampling
from dpsyn.mechanisms.private_sampling._densities import Densities
from dpsyn.mechanisms.private_sampling._diagnostics import POINTS_KEPT, binding_cells, geometry_of, of_density, of_space
from dpsyn.mechanisms.private_sampling._draws import draw_rows
from dpsyn.mechanisms.private_sampling._reduced_space import draw_space
from dpsyn.mechanisms.private_sampling._solve import Clock
from dpsyn.mechanisms.private_sampling._space_size import SpaceSize
from dpsyn.mechanisms.private_sampling.certificates import (
    ReducedSpaceGeometry,
    bounded_ratio_epsilon,
    stability_epsilon,
    whole_cube_geometry,
)
from dpsyn.privacy.noise import NoiseSource
from dpsyn.solvers.executors import Executor, executor_for
from dpsyn.table import Table


@dataclass(frozen=True)
class PrivateSamplingMechanism(Mechanism):
    """Calibrated private sampling.

    Attributes:
        settings: the configuration.
        rows: k.
        size: of the reduced space.
        theorem_4_1_per_row: ε of one row by Theorem 4.1, or None off the Boolean cube and for add_remove.
    """

    settings: PrivateSampling
    rows: int
    size: SpaceSize
    theorem_4_1_per_row: float | None

    def calibrated(self) -> dict[str, Any]:
        """Number of rows, size of the problem, and every certificate that public facts give."""
        config = self.settings
        experimental = None
        if self.size.whole and self.size.space == "cube" and self.spec.neighbouring == "replace_one":
            experimental = self._stability(whole_cube_geometry(len(self.domain), min(config.degree, len(self.domain))))
        theorem = self.theorem_4_1_per_row
        return {
            "rows": self.rows,
            "space": self.size.space,
            "reduced_space_size": self.size.m,
            "whole_domain": self.size.whole,
            "functions": self.size.dimension,
            "bounded_ratio_epsilon": bounded_ratio_epsilon(rows=self.rows, floor=config.floor, ceiling=config.ceiling),
            "theorem_4_1_epsilon": None if theorem is None else theorem * self.rows,
            "experimental_stability_epsilon": experimental,
        }

    def _stability(self, geometry: ReducedSpaceGeometry) -> float | None:
        value = stability_epsilon(
            rows=self.rows, floor=self.settings.floor, ceiling=self.settings.ceiling, n=self.n, geometry=geometry
        )
        return value if math.isfinite(value) else None

    def _run(self, noise: NoiseSource, table: Table, progress: Progress) -> tuple[pd.DataFrame, dict[str, Any]]:
        with executor_for(self.settings.scheduler) as executor:
            return self._run_on(executor, noise, table, progress)

    def _run_on(
        self, executor: Executor, noise: NoiseSource, table: Table, progress: Progress
    ) -> tuple[pd.DataFrame, dict[str, Any]]:
        clock = Clock(progress)
        config = self.settings
        clock("drawing the reduced space", 0.0)
        space = draw_space(self.size, noise.generator, executor, clock.tell)
        densities = Densities.on(space, config.floor, config.ceiling)
        clock("measuring the marginals of the data", 0.1)
        problem = densities.problem_of(table.codes)
        matched = densities.match(problem, clock)
        clock("drawing rows", 0.95)
        keep = space.points <= POINTS_KEPT
        drawn = draw_rows(space, matched.density, config.floor, config.ceiling, self.rows, noise.generator, keep=keep)
        rows = self.domain.decode(drawn.codes, noise.generator)
        diagnostics = {
            **self.calibrated(),
            **matched.found(),
            **of_space(space),
            **of_density(drawn),
            "residual": float(np.abs(drawn.statistics - problem.wanted(matched.shrinkage)).max()),
            "binding": binding_cells(self.domain, densities.basis, problem, matched),
            "seconds": clock.seconds(),
        }
        if matched.pinned:
            diagnostics["note"] = IGNORES_DATA
        if self.size.space == "cube" and not self.size.whole and self.spec.neighbouring == "replace_one":
            geometry = geometry_of(space)
            diagnostics["experimental_stability_epsilon"] = None if geometry is None else self._stability(geometry)
        return rows, diagnostics

    def redraw(self, generator: np.random.Generator, release: Release) -> pd.DataFrame | None:
        """As many rows again, drawn independently from h*; None where S was too large to be kept."""
        density, points = release.diagnostics.get("density"), release.diagnostics.get("points")
        if density is None or points is None:
            return None
        chosen = generator.choice(len(points), len(release.rows), p=density / density.sum())
        return self.domain.decode(points[chosen], generator)
