"""DP-CDA's accuracy against the order of mixture: Figure 2 and Table 2 of Saha, Tonoy, Imtiaz (2024) on a table at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpsyn.errors import CalibrationError, FailureError, ParameterError
from dpsyn.evaluation.classifiers import LOGISTIC, RealScores, classification, real_scores
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.dp_cda import DPCDA
from dpsyn.mechanisms.dp_cda._feature_map import FeatureMap, class_averages, clip_to_ball
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.table import Table

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class OrderScore:
    """Accuracy of one draw.

    Attributes:
        order_of_mixture: l.
        epsilon: ε; None is mixing without noise, which protects nobody.
        draw: number of the repetition, from 0.
        accuracy: share of the held-out rows whose class is predicted; None if there were no rows to learn from.
        note: why a number is missing; empty otherwise.
    """

    order_of_mixture: int
    epsilon: float | None
    draw: int
    accuracy: float | None
    note: str = ""


@dataclass(frozen=True)
class OrderScores:
    """Accuracies of one classifier, trained on releases with several l and ε.

    Attributes:
        real: the same classifier trained on the real rows, and the most frequent class.
        scores: one for each l, ε and draw.
        public_sizes: whether the class sizes were taken as public; otherwise each release spends a part of ε on them.
    """

    real: RealScores
    scores: tuple[OrderScore, ...]
    public_sizes: bool

    def summary(self) -> pd.DataFrame:
        """Mean and standard deviation of the accuracy, one line for each ε and l; ``draws`` counts those that worked."""
        lines = []
        for epsilon in dict.fromkeys(score.epsilon for score in self.scores):
            for order in sorted({score.order_of_mixture for score in self.scores}):
                found = [
                    score.accuracy
                    for score in self.scores
                    if (score.epsilon, score.order_of_mixture) == (epsilon, order) and score.accuracy is not None
                ]
                if found:
                    spread = float(np.std(found, ddof=1)) if len(found) > 1 else 0.0
                    lines.append((epsilon, order, float(np.mean(found)), spread, len(found)))
        return pd.DataFrame(lines, columns=["epsilon", "order_of_mixture", "accuracy", "spread", "draws"])


def accuracy_by_order(
    table: Table,
    holdout: Table,
    target: str,
    *,
    epsilons: Sequence[float | None],
    delta: float,
    orders: Sequence[int],
    rows: int,
    clip_norm: float = 1.0,
    draws: int = 3,
    seed: int = 0,
    classifier: str = LOGISTIC,
    settings: dict[str, Any] | None = None,
    progress: Progress = no_progress,
) -> OrderScores:
    """Release, train, test: for every ε, l and draw. Demonstrations all, drawn by ``seed``.

    Class sizes are declared as public where the smallest class has l records or more, as the paper has them; otherwise they
    are estimated privately and small classes get no rows.

    Args:
        table: rows that the mechanism sees.
        holdout: rows that test the classifier.
        target: the class column.
        epsilons: ε of the releases; None mixes without noise.
        delta: privacy δ.
        orders: the l.
        rows: T.
        clip_norm: c.
        draws: repetitions.
        seed: of everything.
        classifier: one of :data:`~dpsyn.evaluation.classifiers.CLASSIFIERS`.
        settings: further arguments of :class:`DPCDA`.
        progress: told the step and the share of the work done.

    Raises:
        ParameterError: an argument is out of range, or there is nothing to predict.
    """
    for field, value in (("orders", orders), ("epsilons", epsilons)):
        if not value:
            raise ParameterError(field, tuple(value), "at least one")
    if draws < 1:
        raise ParameterError("draws", draws, "at least 1")
    progress("training on the real rows", 0.0)
    real = real_scores(table, holdout, target, seed, [classifier])
    if isinstance(real, str):
        raise ParameterError("target", target, f"a class that can be predicted; {real}")
    attribute = table.domain[target]
    counts = np.bincount(table.codes[:, table.domain.index(target)], minlength=attribute.size)
    values = [*attribute.categories, *([None] if attribute.missing else [])]
    public = bool(counts.min() >= min(orders))
    scores: list[OrderScore] = []
    total = len(orders) * len(epsilons) * draws
    for order in orders:
        for epsilon in epsilons:
            for draw in range(draws):
                name = "no noise" if epsilon is None else f"epsilon = {epsilon:g}"
                progress(f"l = {order}, {name}, draw {draw + 1}", (1 + len(scores)) / (total + 1))
                generator = np.random.default_rng([seed, order, draw, 0 if epsilon is None else 1])
                try:
                    if epsilon is None:
                        released = _mixed(table, target, order, rows, clip_norm, generator)
                    else:
                        declared = counts.min() >= order
                        sizes = {v: int(c) for v, c in zip(values, counts, strict=True)} if declared else None
                        config = DPCDA(
                            target=target,
                            order_of_mixture=order,
                            rows=rows,
                            class_sizes=sizes,
                            clip_norm=clip_norm,
                            **(settings or {}),
                        )
                        mechanism = config.calibrate(PrivacySpec(epsilon, delta), table.domain, table.n)
                        released = mechanism(generator, table).rows
                except (CalibrationError, FailureError, ParameterError) as fault:
                    scores.append(OrderScore(order, epsilon, draw, None, str(fault)))
                    continue
                found = classification(Table(released, table.domain), holdout, real, seed).synthetic[0]
                scores.append(OrderScore(order, epsilon, draw, found.accuracy, found.note))
    progress("done", 1.0)
    return OrderScores(real, tuple(scores), public)


def _mixed(
    table: Table, target: str, order: int, rows: int, clip_norm: float, generator: np.random.Generator
) -> pd.DataFrame:
    """Rows averaged and decoded as DP-CDA does it, without any noise; classes with fewer than l records are left out."""
    attribute = table.domain[target]
    features = FeatureMap(table.domain.project([name for name in table.domain.names if name != target]))
    points, _ = clip_to_ball(features.encode(table), min(clip_norm, 1.0))
    labels = table.codes[:, table.domain.index(target)]
    kept = [k for k in range(attribute.size) if (labels == k).sum() >= order]
    if not kept:
        raise ParameterError("order_of_mixture", order, "at most the number of records of the largest class")
    count = max(1, rows // attribute.size)
    mixed = np.concatenate([class_averages(points[labels == k], order, count, generator) for k in kept])
    columns = dict(features.decode(mixed, generator))
    columns[target] = attribute.decode(np.repeat(np.array(kept, dtype=np.int32), count), generator)
    return pd.DataFrame(columns, columns=list(table.domain.names))
