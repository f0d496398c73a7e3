"""Settings of private sampling, and the certificate that they give."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dpsyn import checks
from dpsyn.calendar import with_calendar
from dpsyn.domain import Domain
from dpsyn.errors import CalibrationError
from dpsyn.mechanisms.base import (
    DEGREE,
    N_IS_PUBLIC,
    ROWS,
    SPACE_SIZE,
    Axis,
    Config,
    check_request,
)
from dpsyn.mechanisms.encoding import checked_share, staged_before
from dpsyn.mechanisms.private_sampling._reduced_space import SPACES, SpaceSize, space_size
from dpsyn.mechanisms.private_sampling.certificates import (
    IGNORES_DATA,
    SMALLEST_RATIO,
    bounded_ratio_epsilon,
    box_for,
    check_box,
    claims_theorem_4_1,
    is_degenerate,
    largest_rows,
    theorem_4_1_log_epsilon,
)
from dpsyn.notation import counted
from dpsyn.privacy.spec import PUBLIC_DOMAIN_ASSUMPTION, Guarantee, PrivacySpec, Status, rounded_up
from dpsyn.theory.formulas import Paper

if TYPE_CHECKING:
    from dpsyn.mechanisms.private_sampling._mechanism import PrivateSamplingMechanism

MOST_ROWS = 100_000
"""Rows drawn at most when ``rows`` is None and n is not public."""

_LARGEST_LOG = 650.0
"""ln of the ε of a row up to which that of any number of rows has a double; beyond it the theorem says nothing."""
RATIO_SOURCE = "bounded ratio: each draw has probability in [floor, ceiling]/m whatever the data (k ln(ceiling/floor))"
THEOREM_SOURCE = "Theorem 4.1 of Boedihardjo, Strohmer, Vershynin 2021a"
DEGENERATE_SOURCE = "degenerate box: the density is uniform whatever the data"
BOX_ASSUMPTION = "Floor and ceiling were chosen without looking at the data."
EXACT_ASSUMPTION = (
    "Theorem 4.1 is about exact optima. Here both programs are solved in floating point, to a residual of 1e-8; λ is raised "
    "by up to 1e-5 where the quadratic program needs it, a feasible density that is not proven optimal is taken, and the "
    "uniform density stands in for a solver that fails: it is taken for granted that none of this matters."
)


@dataclass(frozen=True)
class PrivateSampling(Config):
    """Settings of private sampling.

    Args:
        degree: d, the order of the marginals that are matched.
        floor, ceiling: δ and Δ of the paper, bounds on m·h, the density relative to uniform on the reduced space;
            0 < floor, 2·floor <= 1 <= ceiling - floor. Both must be chosen without looking at the data.
        rows: k, how many rows to draw; None draws as many as the guarantee allows, at most n (100,000 where n is not
            public).
        reduced_space_size: m independent uniform draws from the domain, or the whole of it if it has no more than m rows.
            None takes the whole domain when it has at most 65,536 rows, otherwise about 4·C draws and at least 2,000.
        space: what S is drawn from. ``"cube"`` is the paper's {-1, 1}^p and needs a domain of two-valued columns;
            ``"product"`` is the product of the columns' categories, with orthonormal contrasts in place of Walsh
            functions. None or ``"auto"`` takes the cube where the domain is one, otherwise the product.
        histogram_share: share of ε for fine histograms of numbers and dates (:mod:`dpsyn.privacy.histograms`), which choose
            their bins and what is drawn inside. 0, the default, takes bins of equal width: so few rows rarely pay for more.
        scheduler: address of a Dask scheduler that the sums over the points of S are handed to; None uses threads. It
            changes where the work is done and nothing about the result, so it is no part of a release's record.

    Raises:
        ParameterError: a value is outside its range.
    """

    degree: int = 2
    floor: float = 0.25
    ceiling: float = 2.0
    rows: int | None = None
    reduced_space_size: int | None = None
    space: str | None = None
    histogram_share: float = 0.0
    scheduler: str | None = None

    name: ClassVar[str] = "private_sampling"
    title: ClassVar[str] = "Private sampling"
    paper: ClassVar[Paper] = Paper(
        "Boedihardjo, Strohmer, Vershynin 2021a",
        "Private sampling: a noiseless approach for generating differentially private synthetic data",
        "https://arxiv.org/abs/2109.14839",
    )
    added_later: ClassVar[Mapping[str, Any]] = {"histogram_share": 0.0}
    axes: ClassVar[Mapping[str, Axis]] = {"degree": DEGREE, "reduced_space_size": SPACE_SIZE, "rows": ROWS}

    def __post_init__(self) -> None:
        for name in ("floor", "ceiling"):
            self._set(name, checks.scale(name, getattr(self, name)))
        check_box(self.floor, self.ceiling)
        self._set("degree", checks.whole("degree", self.degree))
        for name in ("rows", "reduced_space_size"):
            self._set(name, checks.whole_or_none(name, getattr(self, name)))
        if self.space is not None:
            self._set("space", checks.choice("space", self.space, ("auto", *SPACES)))
        self._set("histogram_share", checked_share(self.histogram_share))
        if self.scheduler is not None:
            why = "an address such as 'tcp://127.0.0.1:8786', or None for threads"
            self._set("scheduler", checks.text("scheduler", self.scheduler, why))

    @classmethod
    def as_it_comes(cls, rows: int, target: str | None) -> PrivateSampling:
        """As many rows as the others release."""
        super().as_it_comes(rows, target)
        return cls(rows=rows)

    def fewer_rows(self, rows: int | None = None) -> PrivateSampling:
        """Every row that is drawn costs budget."""
        return replace(self, rows=rows)

    def settings(self) -> dict[str, Any]:
        """The configuration as plain data, without the scheduler, which is not part of what is computed."""
        return {name: value for name, value in super().settings().items() if name != "scheduler"}

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> PrivateSamplingMechanism:
        """k draws with one of two certificates, k·ln(ceiling/floor) and, on the Boolean cube, Theorem 4.1: the first where
        it is enough for the rows asked for, else the smaller one.

        The first holds for all pairs of datasets, hence for either neighbouring relation; the second for replacing one of n.

        Raises:
            CalibrationError: ``rows`` draws, or even one, cost more than ε; the message says what would fit.
            ParameterError: a wrong argument, the space does not suit the domain, or the problem does not fit in memory.
        """
        from dpsyn.mechanisms.private_sampling._mechanism import PrivateSamplingMechanism

        n, domain = check_request(spec, domain, n, self.rows), with_calendar(domain)
        degenerate = is_degenerate(self.floor, self.ceiling)
        stage, spec = staged_before(self._share(), asked := spec, domain, n)
        elsewhere = self.scheduler is not None
        size = space_size(domain, self.degree, self.reduced_space_size, self.space, elsewhere=elsewhere)
        ratio = bounded_ratio_epsilon(rows=1, floor=self.floor, ceiling=self.ceiling)
        theorem = self._theorem_per_row(spec, n, size)
        per_row = ratio
        if theorem is not None and claims_theorem_4_1(theorem=theorem, ratio=ratio, rows=self.rows, epsilon=spec.epsilon):
            per_row = theorem
        fitting = largest_rows(epsilon=spec.epsilon, epsilon_per_row=per_row)
        if fitting is not None and fitting < (self.rows or 1):
            raise CalibrationError(self._too_much(asked.epsilon, spec.epsilon, per_row, fitting))
        most = n if spec.neighbouring == "replace_one" else MOST_ROWS
        rows = self.rows or (most if fitting is None else min(fitting, most))
        assumptions = [PUBLIC_DOMAIN_ASSUMPTION, BOX_ASSUMPTION]
        assumptions += [N_IS_PUBLIC] if spec.neighbouring == "replace_one" else []
        source = RATIO_SOURCE
        status: Status = "proven"
        if degenerate:
            source = DEGENERATE_SOURCE
            assumptions.append(IGNORES_DATA)
        elif per_row < ratio:
            source, status = THEOREM_SOURCE, "real_arithmetic"
            assumptions.append(EXACT_ASSUMPTION)
        return PrivateSamplingMechanism(
            config=self,
            spec=asked,
            domain=domain,
            n=n,
            guarantee=Guarantee(
                rows * per_row + stage.epsilon, 0.0, spec.neighbouring, stage.source(source), tuple(assumptions), status
            ),
            rows=int(rows),
            size=size,
            theorem_4_1_per_row=theorem,
            stage=stage,
        )

    def epsilon_needed(self, spec: PrivacySpec, domain: Domain, n: int) -> tuple[PrivateSampling, float] | None:
        """``rows`` draws, or n of them, and what they cost by the bounded ratio: k·ln(ceiling/floor)."""
        n = check_request(spec, domain, n, None)
        rows = self.rows or n
        epsilon = bounded_ratio_epsilon(rows=rows, floor=self.floor, ceiling=self.ceiling)
        _, left = staged_before(self._share(), replace(spec, epsilon=1.0), with_calendar(domain), n)
        return replace(self, rows=rows), epsilon / left.epsilon * (1 + 1e-12)

    def _share(self) -> float:
        """What ignores the data has no use for bins that do not."""
        return 0.0 if is_degenerate(self.floor, self.ceiling) else self.histogram_share

    def _theorem_per_row(self, spec: PrivacySpec, n: int, size: SpaceSize) -> float | None:
        if size.space != "cube" or spec.neighbouring != "replace_one":
            return None
        log_epsilon = theorem_4_1_log_epsilon(
            log_rows=0.0,
            floor=self.floor,
            ceiling=self.ceiling,
            degree=self.degree,
            log_dimension=math.log(size.dimension),
            log_m=math.log(size.m),
            log_n=math.log(n),
        )
        return math.exp(log_epsilon) if log_epsilon < _LARGEST_LOG else None

    def _too_much(self, epsilon: float, left: float, per_row: float, fitting: int) -> str:
        """``left``: of ε, after histograms."""
        asked, part = self.rows or 1, left / epsilon
        total, one = rounded_up(asked * per_row / part, 4), rounded_up(per_row / part, 4)
        box = box_for(epsilon=left, rows=asked, floor=self.floor, ceiling=self.ceiling)
        if box is None:
            least = math.log(SMALLEST_RATIO)
            remedy = f"No floor and ceiling allow {asked} at ε = {epsilon:g}: a row costs more than ln 3 = {least:.4g}"
        else:
            remedy = f"floor = {box[0]:.4g} and ceiling = {box[1]:.4g} would allow {asked} at ε = {epsilon:g}"
        return (
            f"{counted(asked, 'row')} at floor = {self.floor:g} and ceiling = {self.ceiling:g} "
            f"{'costs' if asked == 1 else 'cost'} ε = {total}, more than the ε = {epsilon:g} asked for. At most {fitting} "
            f"would fit; one row needs ε ≥ {one}. {remedy}"
        )
