"""Train on synthetic rows, test on held-out real ones: is what a model can learn still there?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.domain import Attribute
from dpsyn.errors import ParameterError
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

LOGISTIC = "logistic regression"
FOREST = "random forest"
BOOSTED = "boosted trees"
NEURAL = "small neural net"
CLASSIFIERS = (LOGISTIC, FOREST, BOOSTED, NEURAL)
DEFAULT_CLASSIFIERS = (LOGISTIC, FOREST)
MAX_TRAINING_ROWS = 50_000
MAX_TEST_ROWS = 50_000
_TREES = 60
_ITERATIONS = 300
_NEURONS = 32
_EPOCHS = 40
_CALIBRATION_BINS = 10
_BOOSTED_CATEGORIES = 255
"""More categories than that are taken for numbers: scikit-learn's boosted trees know no more."""


@dataclass(frozen=True)
class Score:
    """What one classifier reached on the held-out rows.

    Attributes:
        classifier: its name, one of :data:`CLASSIFIERS`.
        accuracy: share of the held-out rows whose class it predicts, or None where it is not defined.
        auc: area under the ROC curve, for more than two classes the plain average of one class against the rest over the
            classes that occur among the held-out rows; None where it is not defined.
        training_rows: number of rows that it learnt from.
        note: why a number is missing, or what was unusual; empty otherwise.
        brier: mean over the rows of Σ_c (probability of class c - 1 if the row is of class c)², in [0, 2]; None likewise.
        calibration_error: mean |confidence - accuracy| over ten groups of rows of about the same confidence (the
            probability of the predicted class), weighted by their size, in [0, 1]; None likewise.
    """

    classifier: str
    accuracy: float | None
    auc: float | None
    training_rows: int
    note: str = ""
    brier: float | None = None
    calibration_error: float | None = None


@dataclass(frozen=True)
class RealScores:
    """What the synthetic rows are measured against; the same for every release.

    Attributes:
        target: the column to predict.
        classes: its values as text, in code order, without the missing one.
        scores: classifiers trained on the real rows, tested on the held-out ones.
        majority_class: the most frequent class of the real rows.
        majority_accuracy: its share of the held-out rows.
        test_rows: number of held-out rows that were used.
    """

    target: str
    classes: tuple[str, ...]
    scores: tuple[Score, ...]
    majority_class: str
    majority_accuracy: float
    test_rows: int

    @property
    def majority(self) -> Score:
        """What always naming the most frequent class reaches; how well it is calibrated says nothing."""
        share = self.majority_accuracy
        return Score(f"always {self.majority_class}", share, 0.5, 0, brier=2 * (1 - share))


@dataclass(frozen=True)
class Classification:
    """Scores of classifiers trained on the synthetic rows, beside those of :class:`RealScores`."""

    synthetic: tuple[Score, ...]
    real: RealScores

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return asdict(self)


def check_target(table: Table, target: str) -> Attribute:
    """The attribute to predict.

    Raises:
        DomainError: there is no such column.
        ParameterError: it is numeric or a date, or has fewer than two classes.
    """
    attribute = table.domain[target]
    if attribute.is_binned or len(attribute.categories) < 2:
        raise ParameterError("target", target, "a column of truth values or categories, with two classes at least")
    return attribute


def _rows(table: Table, target: str, most: int, seed: int) -> tuple[pd.DataFrame, Labels, int]:
    """Features and class codes of the rows whose class is known, or of a random sample of ``most`` of them; their number."""
    labels = table.codes[:, table.domain.index(target)].astype(np.int64)
    known = np.flatnonzero(labels < len(table.domain[target].categories))
    count = len(known)
    if count > most:
        known = np.sort(np.random.default_rng(seed).choice(known, size=most, replace=False))
    return _features(table.take(known), target), labels[known], count


def _features(table: Table, target: str) -> pd.DataFrame:
    """Numbers of binned columns (a missing one becomes the middle of the bounds, and is marked) and codes of the others."""
    columns: dict[tuple[str, int], npt.NDArray[Any]] = {}
    for j, attribute in enumerate(table.domain.attributes):
        if attribute.name == target:
            continue
        if not attribute.is_binned:
            columns["code", j] = table.codes[:, j]
            continue
        numbers = attribute.numbers(table.frame[attribute.name])
        missing = np.isnan(numbers)
        columns["number", j] = np.where(missing, (attribute.edges[0] + attribute.edges[-1]) / 2, numbers)
        if attribute.missing:
            columns["number", -1 - j] = missing.astype(np.float64)
    return pd.DataFrame({f"{kind} {j}": values for (kind, j), values in columns.items()})


def _models(table: Table, target: str, seed: int) -> Mapping[str, Callable[[], Any]]:
    """How to make each classifier. Categories come from the public domain, so no row can hold an unknown one."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    names = list(_features(table.take(np.arange(0)), target).columns)
    coded = [name for name in names if name.startswith("code")]
    numbers = [name for name in names if name.startswith("number")]
    categories = [np.arange(table.domain.shape[int(name.split()[1])]) for name in coded]

    def scaled() -> Any:
        return make_column_transformer(
            (OneHotEncoder(categories=categories, dtype=np.float64), coded), (StandardScaler(), numbers)
        )

    def logistic() -> Any:
        return make_pipeline(scaled(), LogisticRegression(max_iter=_ITERATIONS))

    def forest() -> Any:
        prepare = make_column_transformer(
            (OneHotEncoder(categories=categories, dtype=np.float32), coded), ("passthrough", numbers), sparse_threshold=0.05
        )
        model = RandomForestClassifier(n_estimators=_TREES, min_samples_leaf=3, random_state=seed % 2**32, n_jobs=2)
        return make_pipeline(prepare, model)

    def boosted() -> Any:
        few = [name for name, codes in zip(coded, categories, strict=True) if len(codes) <= _BOOSTED_CATEGORIES]
        prepare = make_column_transformer(("passthrough", few), ("passthrough", [n for n in names if n not in few]))
        model = HistGradientBoostingClassifier(
            max_iter=100, categorical_features=list(range(len(few))), early_stopping=False, random_state=seed % 2**32
        )
        return make_pipeline(prepare, model)

    def neural() -> Any:
        model = MLPClassifier((_NEURONS,), max_iter=_EPOCHS, batch_size="auto", random_state=seed % 2**32)
        return make_pipeline(scaled(), model)

    return {LOGISTIC: logistic, FOREST: forest, BOOSTED: boosted, NEURAL: neural}


def _scores(rows: Table, holdout: Table, target: str, seed: int, classifiers: Sequence[str]) -> tuple[Score, ...]:
    from threadpoolctl import threadpool_limits

    train, labels, count = _rows(rows, target, MAX_TRAINING_ROWS, seed)
    test, truth, _ = _rows(holdout, target, MAX_TEST_ROWS, seed)
    seen = np.unique(labels)
    if len(labels) == 0:
        return tuple(Score(name, None, None, 0, "in every training row the class is missing") for name in classifiers)
    if len(seen) == 1:
        text = str(rows.domain[target].categories[int(seen[0])])
        note = f"the training rows hold one class only, {text}: nothing but that can be predicted"
        accuracy = float(np.mean(truth == seen[0]))
        return tuple(Score(name, accuracy, None, len(labels), note) for name in classifiers)
    found = []
    makers = _models(rows, target, seed)
    for name in classifiers:
        # Boosting in several threads waits for the slowest of them at every step: on busy cores twenty times slower.
        with warnings.catch_warnings(record=True) as caught, threadpool_limits(1, user_api="openmp"):
            warnings.simplefilter("always")
            model = makers[name]().fit(train, labels)
            if name == FOREST:
                # Two threads would add the trees' votes in either order, and ties in the scores would depend on it.
                model[-1].set_params(n_jobs=1)
            probabilities = np.asarray(model.predict_proba(test), dtype=np.float64)
        # The neural net is stopped after a fixed number of epochs on purpose.
        notes = _notes(rows.domain[target], seen, truth, [] if name == NEURAL else caught)
        if count > len(labels):
            notes.append(f"trained on {len(labels):,} of {count:,} rows, drawn at random")
        accuracy = float(np.mean(seen[probabilities.argmax(axis=1)] == truth))
        auc = area_under_curve(truth, probabilities, seen)
        brier, calibration = brier_score(truth, probabilities, seen), calibration_error(truth, probabilities, seen)
        found.append(Score(name, accuracy, auc, len(labels), "; ".join(notes), brier, calibration))
    return tuple(found)


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


def _notes(attribute: Attribute, seen: Labels, truth: Labels, caught: list[warnings.WarningMessage]) -> list[str]:
    from sklearn.exceptions import ConvergenceWarning

    notes = []
    absent = [str(attribute.categories[int(c)]) for c in np.setdiff1d(np.unique(truth), seen)]
    if absent:
        notes.append(f"no training row of {len(absent)} of the classes ({', '.join(absent[:5])}{', …' * (len(absent) > 5)})")
    if len(np.unique(truth)) < 2:
        notes.append("the held-out rows hold one class only, so there is no ROC curve")
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
    table: Table, holdout: Table, target: str, seed: int, classifiers: Sequence[str] = DEFAULT_CLASSIFIERS
) -> RealScores | str:
    """Train on the real rows and test on the held-out ones, or say why that cannot be done."""
    attribute = check_target(table, target)
    unknown = [name for name in classifiers if name not in CLASSIFIERS]
    if unknown or not classifiers:
        raise ParameterError("classifiers", tuple(classifiers), f"one or more of {', '.join(map(repr, CLASSIFIERS))}")
    if len(table.domain) < 2:
        return "there is no column to predict from"
    labels = table.codes[:, table.domain.index(target)]
    labels = labels[labels < len(attribute.categories)]
    _, truth, _ = _rows(holdout, target, MAX_TEST_ROWS, seed)
    if len(labels) == 0 or len(truth) == 0:
        return f"the class is missing in every {'real' if len(labels) == 0 else 'held-out'} row"
    majority = int(np.bincount(labels).argmax())
    return RealScores(
        target=target,
        classes=tuple(str(c) for c in attribute.categories),
        scores=_scores(table, holdout, target, seed, classifiers),
        majority_class=str(attribute.categories[majority]),
        majority_accuracy=float(np.mean(truth == majority)),
        test_rows=len(truth),
    )


def classification(rows: Table, holdout: Table, real: RealScores, seed: int) -> Classification:
    """Train on synthetic rows, test on the held-out ones of ``real``; all tables over the same domain."""
    names = [score.classifier for score in real.scores]
    return Classification(_scores(rows, holdout, real.target, seed, names), real)
