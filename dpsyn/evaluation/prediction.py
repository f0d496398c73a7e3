"""Train on synthetic rows, test on held-out real ones: is what a model can learn still there?

A target of categories is predicted by classifiers, a numeric one or a date by regressions of the same kinds.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.data.counted import AnyTable
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.evaluation.distances import no_chance
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

LOGISTIC = "logistic regression"
RIDGE = "ridge regression"
BOOSTED = "boosted trees"
FOREST = "random forest"
NEURAL = "small neural net"
MODELS = (LOGISTIC, BOOSTED, FOREST, NEURAL)
"""Of a numeric target ridge regression is the linear one; the two names stand for each other."""
DEFAULT_MODELS = (LOGISTIC, BOOSTED)
RISING = ("accuracy", "ROC-AUC", "R²", "coefficients")
"""Measures of which more is better."""
CLEARLY = 4.0
"""Standard errors of guessing by which real rows have to beat it before anything is judged by them: what synthetic rows
reach has its chance, too."""
MAX_TRAINING_ROWS = 50_000
MAX_TEST_ROWS = 50_000
_FEWEST_IN_A_GROUP = 50
_TREES = 60
_ROUNDS, _FEWEST_ROUNDS = 100, 10
_CLASSES_OF_ALL_ROUNDS = 20
"""Targets of more classes are boosted in fewer rounds: 300 classes took minutes."""
_ITERATIONS = 300
_NEURONS = 32
_EPOCHS = 40
_CALIBRATION_BINS = 10
_BOOSTED_CATEGORIES = 255
"""More categories than that are taken for numbers: scikit-learn's boosted trees know no more."""


@dataclass(frozen=True)
class Score:
    """What one model reached on the held-out rows.

    Attributes:
        model: its name.
        measures: what is defined, by name. Of classes: ``"accuracy"``, the share of the held-out rows whose class it
            predicts; ``"ROC-AUC"``, see :func:`area_under_curve`; ``"Brier score"``, see :func:`brier_score`;
            ``"calibration error"``, see :func:`calibration_error`. Of numbers: ``"R²"``,
            1 - Σ (y - ŷ)² / Σ (y - mean of y)² over the held-out rows, and ``"mean absolute error"``, mean of |y - ŷ| in
            the column's unit (of a date: days).
        training_rows: number of rows that it learnt from.
        groups: of classes: accuracy among the held-out rows of every category of another column, ``"column = category"``,
            that at least 50 of them have.
        note: why a number is missing, or what was unusual; empty otherwise.
        lost: classes of so many held-out rows that it is no chance that hardly a training row has them.
    """

    model: str
    measures: Mapping[str, float]
    training_rows: int
    note: str = ""
    groups: Mapping[str, float] = field(default_factory=dict)
    lost: tuple[str, ...] = ()


@dataclass(frozen=True)
class RealScores:
    """What the synthetic rows are measured against; the same for every release.

    Attributes:
        target: the column to predict.
        classes: its values as text, in code order, without the missing one; none of a number or a date.
        scores: models trained on the real rows, tested on the held-out ones.
        constant: what always naming the most frequent class, or the mean, of the held-out rows themselves reaches: no
            guess of one class or number has a higher accuracy or R². That of the rows to learn from may lie below chance:
            where classes are equal, it is the rarest of the held-out ones.
        test_rows: number of held-out rows that were used.
    """

    target: str
    classes: tuple[str, ...]
    scores: tuple[Score, ...]
    constant: Score
    test_rows: int

    @property
    def constant_name(self) -> str:
        """What the constant is."""
        return "majority class" if self.classes else "mean"

    def chance(self, measure: str) -> float:
        """Standard error of what guessing reaches: of an accuracy or R²."""
        if measure != "accuracy":
            # Of a small R² it is about half of 1/√rows; where tails are heavy it is as much and more.
            return 1 / math.sqrt(self.test_rows)
        # A share of so many rows may be 0 or 1 by chance (Agresti and Coull 1998).
        share = (self.constant.measures[measure] * self.test_rows + 2) / (self.test_rows + 4)
        return math.sqrt(share * (1 - share) / self.test_rows)

    def better(self, measure: str) -> float:
        """Up to where an accuracy or R² is not clearly better than guessing."""
        return min(1.0, self.constant.measures[measure] + CLEARLY * self.chance(measure))


@dataclass(frozen=True)
class WorstGroup:
    """The rows, of one category of one column, that lose most accuracy if a model learns from synthetic rows.

    Attributes:
        name: ``"column = category"``.
        accuracy, real: among them, of the model trained on the synthetic and on the real rows.
    """

    name: str
    accuracy: float
    real: float

    @property
    def loss(self) -> float:
        """How much accuracy falls; below 0 if it rises in every group."""
        return self.real - self.accuracy


@dataclass(frozen=True)
class Prediction:
    """Scores of models trained on the synthetic rows, beside those of :class:`RealScores`."""

    synthetic: tuple[Score, ...]
    real: RealScores

    def worst_group(self, score: Score) -> WorstGroup | None:
        """Where the model of a score falls furthest behind the same trained on real rows; None without groups."""
        real = next((r.groups for r in self.real.scores if r.model == score.model), {})
        found = [WorstGroup(name, share, real[name]) for name, share in score.groups.items() if name in real]
        return max(found, key=lambda group: group.loss, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return asdict(self)


def check_target(table: AnyTable, target: str) -> Attribute:
    """The attribute to predict.

    Raises:
        DomainError: there is no such column.
        ParameterError: it has fewer than two values.
    """
    attribute = table.domain[target]
    if not can_be_predicted(attribute):
        raise ParameterError("target", target, "a column of numbers or dates, or of two categories at least")
    return attribute


def can_be_predicted(attribute: Attribute) -> bool:
    """Whether a model can be asked for this column."""
    return attribute.is_binned or len(attribute.categories) >= 2


def _truth(table: Table, target: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """What is to be predicted in every row, and in which rows it is known."""
    attribute = table.domain[target]
    if attribute.is_binned:
        numbers = _scaled(attribute, table)
        return numbers, np.flatnonzero(~np.isnan(numbers))
    labels = table.codes[:, table.domain.index(target)].astype(np.int64)
    return labels, np.flatnonzero(labels < len(attribute.categories))


def _scaled(attribute: Attribute, table: Table) -> Floats:
    """A column of numbers laid on [-1, 1] by the public bounds: no sum of their squares can overflow."""
    middle = float(attribute.edges[0]) / 2 + float(attribute.edges[-1]) / 2
    return (attribute.numbers(table.different(attribute.name)) - middle) / _half(attribute)


def _half(attribute: Attribute) -> float:
    """Half the width of the public range."""
    return float(attribute.edges[-1] - attribute.edges[0]) / 2


def known_rows(table: Table, target: str, seed: int, most: int) -> tuple[pd.DataFrame, npt.NDArray[Any], int]:
    """Features and truth of the rows whose truth is known, or of a random sample of ``most`` of them; their number."""
    truth, known = _truth(table, target)
    count = len(known)
    if count > most:
        known = np.sort(np.random.default_rng(seed).choice(known, size=most, replace=False))
    return _features(table.take(known), target), truth[known], count


def _features(table: Table, target: str) -> pd.DataFrame:
    """Numbers of binned columns (a missing one becomes the middle of the bounds, and is marked) and codes of the others."""
    columns: dict[tuple[str, int], npt.NDArray[Any]] = {}
    for j, attribute in enumerate(table.domain.attributes):
        if attribute.name == target:
            continue
        if not attribute.is_binned:
            columns["code", j] = table.codes[:, j]
            continue
        numbers = _scaled(attribute, table)
        missing = np.isnan(numbers)
        columns["number", j] = np.where(missing, 0.0, numbers)
        if attribute.missing:
            columns["number", -1 - j] = missing.astype(np.float64)
    return pd.DataFrame({f"{kind} {j}": values for (kind, j), values in columns.items()})


def _makers(table: Table, target: str, seed: int) -> Mapping[str, Callable[[], Any]]:
    """How to make each model. Categories come from the public domain, so no row can hold an unknown one."""
    from sklearn.compose import TransformedTargetRegressor, make_column_transformer
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numeric, seed = table.domain[target].is_binned, seed % 2**32
    names = list(_features(table.take(np.arange(0)), target).columns)
    coded = [name for name in names if name.startswith("code")]
    numbers = [name for name in names if name.startswith("number")]
    categories = [np.arange(table.domain.shape[int(name.split()[1])]) for name in coded]

    def scaled() -> Any:
        return make_column_transformer(
            (OneHotEncoder(categories=categories, dtype=np.float64), coded), (StandardScaler(), numbers)
        )

    def linear() -> Any:
        return make_pipeline(scaled(), Ridge() if numeric else LogisticRegression(max_iter=_ITERATIONS))

    def forest() -> Any:
        prepare = make_column_transformer(
            (OneHotEncoder(categories=categories, dtype=np.float32), coded), ("passthrough", numbers), sparse_threshold=0.05
        )
        kind = RandomForestRegressor if numeric else RandomForestClassifier
        return make_pipeline(prepare, kind(n_estimators=_TREES, min_samples_leaf=3, random_state=seed, n_jobs=2))

    def boosted() -> Any:
        few = [name for name, codes in zip(coded, categories, strict=True) if len(codes) <= _BOOSTED_CATEGORIES]
        prepare = make_column_transformer(("passthrough", few), ("passthrough", [n for n in names if n not in few]))
        kind = HistGradientBoostingRegressor if numeric else HistGradientBoostingClassifier
        categorical = list(range(len(few)))
        # Of classes every round grows one tree each.
        rounds = max(_FEWEST_ROUNDS, min(_ROUNDS, _ROUNDS * _CLASSES_OF_ALL_ROUNDS // table.domain[target].size))
        return make_pipeline(
            prepare,
            kind(
                max_iter=_ROUNDS if numeric else rounds,
                categorical_features=categorical,
                early_stopping=False,
                random_state=seed,
            ),
        )

    def neural() -> Any:
        settings: dict[str, Any] = {
            "hidden_layer_sizes": (_NEURONS,),
            "max_iter": _EPOCHS,
            "batch_size": "auto",
            "random_state": seed,
        }
        if not numeric:
            return make_pipeline(scaled(), MLPClassifier(**settings))
        net = TransformedTargetRegressor(MLPRegressor(**settings), transformer=StandardScaler())
        return make_pipeline(scaled(), net)

    return {RIDGE if numeric else LOGISTIC: linear, BOOSTED: boosted, FOREST: forest, NEURAL: neural}


def _scores(rows: Table, holdout: Table, target: str, seed: int, models: Sequence[str]) -> tuple[Score, ...]:
    from threadpoolctl import threadpool_limits

    attribute = rows.domain[target]
    train, learnt, count = known_rows(rows, target, seed, MAX_TRAINING_ROWS)
    test, truth, _ = known_rows(holdout, target, seed, MAX_TEST_ROWS)
    seen = np.unique(learnt)
    if len(learnt) == 0:
        return tuple(Score(name, {}, 0, f"in every training row {target} is missing") for name in models)
    if len(seen) == 1 and not attribute.is_binned:
        text = str(attribute.categories[int(seen[0])])
        note = f"the training rows hold one class only, {text}: nothing but that can be predicted"
        right = truth == seen[0]
        measures, groups = {"accuracy": float(right.mean())}, _groups(rows.domain, test, right)
        return tuple(Score(name, measures, len(learnt), note, groups) for name in models)
    measure = partial(_of_numbers, attribute) if attribute.is_binned else partial(_of_classes, seen)
    found, lost = [], _lost(attribute, learnt, truth)
    makers = _makers(rows, target, seed)
    for name in models:
        # Boosting in several threads waits for the slowest of them at every step: on busy cores twenty times slower.
        with warnings.catch_warnings(record=True) as caught, threadpool_limits(1, user_api="openmp"):
            warnings.simplefilter("always")
            model = makers[name]().fit(train, learnt)
            if name == FOREST:
                # Two threads would add the trees' votes in either order, and ties in the scores would depend on it.
                model[-1].set_params(n_jobs=1)
            predicted = np.asarray(model.predict(test) if attribute.is_binned else model.predict_proba(test))
        # The neural net is stopped after a fixed number of epochs on purpose.
        notes = _notes(attribute, seen, truth, [] if name == NEURAL else caught)
        if count > len(learnt):
            notes.append(f"trained on {len(learnt):,} of {count:,} rows, drawn at random")
        right = None if attribute.is_binned else seen[predicted.argmax(axis=1)] == truth
        groups = {} if right is None else _groups(rows.domain, test, right)
        measures = measure(truth, predicted.astype(np.float64))
        found.append(Score(name, measures, len(learnt), "; ".join(notes), groups, lost))
    return tuple(found)


def _groups(domain: Domain, test: pd.DataFrame, right: npt.NDArray[np.bool_]) -> dict[str, float]:
    """Share of right answers by category, ``test`` as :func:`_features` has it; without rare categories and empty cells."""
    found = {}
    for name in test:
        kind, at = str(name).split()
        if kind != "code":
            continue
        attribute = domain.attributes[int(at)]
        rows, hits = (np.bincount(test[name], weights=w, minlength=attribute.size) for w in (None, right))
        for code, category in enumerate(attribute.categories):
            if rows[code] >= _FEWEST_IN_A_GROUP:
                found[f"{attribute.name} = {category}"] = float(hits[code] / rows[code])
    return found


def _of_numbers(attribute: Attribute, truth: Floats, predicted: Floats) -> dict[str, float]:
    """Measures of numbers on the scale of :func:`_scaled`."""
    error = float(np.abs(truth - predicted).mean()) * _half(attribute)
    deviation = truth - truth.mean()
    largest = float(np.abs(deviation).max())
    # Bounds may be so wide that squares of what lies between them underflow.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        missed, spread = (float(((each / largest) ** 2).sum()) for each in (truth - predicted, deviation))
    defined = {"R²": 1 - missed / spread} if np.ptp(truth) and math.isfinite(missed) else {}
    return defined | {"mean absolute error": error}


def _of_classes(seen: Labels, truth: Labels, probabilities: Floats) -> dict[str, float]:
    area = area_under_curve(truth, probabilities, seen)
    return {
        "accuracy": float(np.mean(seen[probabilities.argmax(axis=1)] == truth)),
        **({} if area is None else {"ROC-AUC": area}),
        "Brier score": brier_score(truth, probabilities, seen),
        "calibration error": calibration_error(truth, probabilities, seen),
    }


def brier_score(truth: Labels, probabilities: Floats, classes: Labels) -> float:
    """Mean over the rows of Σ_c (P(c) - [the row is of class c])²; a class that the classifier does not know has P = 0.

    Args:
        truth: class codes, shape (rows,).
        probabilities: shape (rows, number of classes that the classifier knows).
        classes: the class code of each column of ``probabilities``.
    """
    own = np.zeros(len(truth))
    for j, c in enumerate(classes):
        own[truth == c] = probabilities[truth == c, j]
    # Σ P² - 2 P(own) + 1, whether the own class is among the columns or not.
    return float(np.mean((probabilities**2).sum(axis=1) - 2 * own + 1))


def calibration_error(truth: Labels, probabilities: Floats, classes: Labels) -> float:
    """Σ_groups (share of the rows) · |mean confidence - accuracy|, ten groups of equal size by confidence.

    Arguments as for :func:`brier_score`. With fewer than ten rows every row is a group.
    """
    confidence = probabilities.max(axis=1)
    right = classes[probabilities.argmax(axis=1)] == truth
    groups = np.array_split(np.argsort(confidence, kind="stable"), min(_CALIBRATION_BINS, len(truth)))
    return float(sum(abs(float((confidence[g] - right[g]).sum())) for g in groups) / len(truth))


def _lost(attribute: Attribute, learnt: npt.NDArray[Any], truth: npt.NDArray[Any]) -> tuple[str, ...]:
    """Classes that hardly a training row has, and so many held-out rows that it is no chance."""
    if attribute.is_binned:
        return ()
    rows, others = (np.bincount(codes.astype(np.int64), minlength=attribute.size) for codes in (truth, learnt))
    return tuple(attribute.labels()[code] for code in np.flatnonzero(no_chance(rows, others)))


def _notes(
    attribute: Attribute, seen: npt.NDArray[Any], truth: npt.NDArray[Any], caught: list[warnings.WarningMessage]
) -> list[str]:
    from sklearn.exceptions import ConvergenceWarning

    notes = []
    if not attribute.is_binned:
        absent = [str(attribute.categories[int(c)]) for c in np.setdiff1d(np.unique(truth), seen)]
        if absent:
            named = f"{', '.join(absent[:5])}{', …' * (len(absent) > 5)}"
            notes.append(f"no training row of {len(absent)} of the classes ({named})")
    if len(np.unique(truth)) < 2:
        lost = "one value only, so there is no R²" if attribute.is_binned else "one class only, so there is no ROC curve"
        notes.append(f"the held-out rows hold {lost}")
    if any(issubclass(w.category, ConvergenceWarning) for w in caught):
        notes.append(f"the fit stopped after {_ITERATIONS} iterations, before it had settled")
    return notes


def area_under_curve(truth: Labels, probabilities: Floats, classes: Labels) -> float | None:
    """ROC-AUC: P(score of a row of the class > score of another row) + ½ P(equal), averaged over the classes of ``truth``.

    Args:
        truth: class codes, shape (rows,).
        probabilities: scores, shape (rows, number of classes that the classifier knows).
        classes: the class code of each column of ``probabilities``.

    Returns:
        The average over the classes that occur in ``truth``; one that the classifier does not know counts ½. With two
        classes both have the same area. None if ``truth`` holds fewer than two classes.
    """
    from sklearn.metrics import roc_auc_score

    present = np.unique(truth)
    if len(present) < 2:
        return None
    column = {int(c): j for j, c in enumerate(classes)}
    areas = [
        float(roc_auc_score(truth == c, probabilities[:, column[int(c)]])) if int(c) in column else 0.5 for c in present
    ]
    return float(np.mean(areas))


def real_scores(
    table: Table, holdout: Table, target: str, seed: int, models: Sequence[str] = DEFAULT_MODELS
) -> RealScores | str:
    """Train on the real rows and test on the held-out ones, or say why that cannot be done.

    Raises:
        DomainError: there is no such target.
        ParameterError: the target has fewer than two values, or a model is none of :data:`MODELS`.
    """
    attribute = check_target(table, target)
    known = (*MODELS, RIDGE)
    if not models or not set(models) <= set(known):
        raise ParameterError("models", tuple(models), f"one or more of {', '.join(map(repr, known))}")
    if len(table.domain) < 2:
        return "there is no column to predict from"
    _, at = _truth(table, target)
    _, truth, _ = known_rows(holdout, target, seed, MAX_TEST_ROWS)
    if len(at) == 0 or len(truth) == 0:
        return f"{target} is missing in every {'real' if len(at) == 0 else 'held-out'} row"
    linear = RIDGE if attribute.is_binned else LOGISTIC
    named = tuple(dict.fromkeys(linear if name in (LOGISTIC, RIDGE) else name for name in models))
    return RealScores(
        target=target,
        classes=() if attribute.is_binned else tuple(str(c) for c in attribute.categories),
        scores=_scores(table, holdout, target, seed, named),
        constant=_constant(attribute, truth),
        test_rows=len(truth),
    )


def _constant(attribute: Attribute, truth: npt.NDArray[Any]) -> Score:
    note = "of the held-out rows"
    if attribute.is_binned:
        measures = _of_numbers(attribute, truth, np.full(len(truth), truth.mean()))
        return Score("always the mean", measures, len(truth), note)
    majority = int(np.bincount(truth).argmax())
    share = float(np.mean(truth == majority))
    # How well it is calibrated says nothing.
    measures = {"accuracy": share, "ROC-AUC": 0.5, "Brier score": 2 * (1 - share)}
    return Score(f"always {attribute.categories[majority]}", measures, len(truth), note)


def predict(rows: Table, holdout: Table, real: RealScores, seed: int) -> Prediction:
    """Train on synthetic rows, test on the held-out ones of ``real``; all tables over the same domain."""
    names = [score.model for score in real.scores]
    return Prediction(_scores(rows, holdout, real.target, seed, names), real)
