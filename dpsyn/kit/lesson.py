"""What a lesson is made of: steps, each with one picture that follows at most two sliders, and perhaps a question.

A mechanism offers its own as ``lessons:LESSONS``; lessons about all of them are in ``dpsyn.app.lessons``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dpsyn.data.samples import load_sample
from dpsyn.errors import ParameterError
from dpsyn.notation import short
from dpsyn.table import Table

MOST_SLIDERS, MOST_WORDS = 2, 60


def plain(value: Any) -> str:
    """A value of a slider: 0.1, 1,000, or a word as it is."""
    return f"{value:,}" if isinstance(value, int) else short(value, 3) if isinstance(value, float) else str(value)


@cache
def rows(sample: str) -> Table:
    """The rows of a bundled dataset that the lab shows: those to learn from."""
    from dpsyn.kit.visit import HELD_OUT, SPLIT_SEED

    return load_sample(sample).split(HELD_OUT, np.random.default_rng(SPLIT_SEED))[0]


ASIA = {
    "smoke": "smokes", "lung": "lung cancer", "bronc": "bronchitis", "dysp": "short of breath", "xray": "X-ray",
    "tub": "tuberculosis", "either": "tuberculosis or cancer",
}  # fmt: skip
"""What lessons call ASIA's columns; ``asia``, a visit to Asia, keeps its name."""


@dataclass(frozen=True)
class Slider:
    """One setting of a step.

    Attributes:
        name: the picture's argument, and in the address.
        label: what stands at the slider.
        values: that it can have, in order.
        value: at first.
        lab: the setting of the lab that it stands for, as its address has it; empty for none.
    """

    name: str
    label: str
    values: Sequence[Any]
    value: Any
    lab: str = ""

    def __post_init__(self) -> None:
        if self.value not in self.values:
            raise ParameterError("value", self.value, f"one of the values of {self.name}")


@dataclass(frozen=True)
class Question:
    """What the class guesses before the picture shows it.

    Attributes:
        ask: one sentence.
        answers: two to four.
        right: the position of the right one.
        because: one or two sentences that come with the answer; where they hold numbers that move with the sliders, a
            function of the picture's arguments.
        before: arguments of the picture as long as nobody has guessed.
    """

    ask: str
    answers: tuple[str, ...]
    right: int
    because: str | Callable[..., str]
    before: Mapping[str, Any]

    def reveal(self, chosen: Mapping[str, Any]) -> str:
        """What comes with the answer while the sliders have these values by name."""
        return self.because if isinstance(self.because, str) else self.because(**chosen)


@dataclass(frozen=True)
class Step:
    """One screen of a lesson.

    Attributes:
        title: a few words.
        text: at most 60 words.
        picture: from the sliders' values by name to an Altair or a Plotly figure, and one sentence on what it shows.
        sliders: at most two.
        question: None for none.
        lab: settings with which the lab opens, beside those of the sliders; None where there is no lab for it.
        follows: the picture takes ``live``, sliders by the keys of their widgets, and follows them while they are dragged.
    """

    title: str
    text: str
    picture: Callable[..., tuple[Any, str]]
    sliders: tuple[Slider, ...] = ()
    question: Question | None = None
    lab: Mapping[str, str | list[str]] | None = None
    follows: bool = False

    def __post_init__(self) -> None:
        if len(self.sliders) > MOST_SLIDERS:
            raise ParameterError("sliders", len(self.sliders), f"at most {MOST_SLIDERS}")
        if len(self.text.split()) > MOST_WORDS:
            raise ParameterError("text", f"{len(self.text.split())} words", f"at most {MOST_WORDS}")

    def settings(self, chosen: Mapping[str, Any], *, guessed: bool) -> dict[str, Any]:
        """The arguments of the picture."""
        return {**chosen, **(self.question.before if self.question is not None and not guessed else {})}

    def in_lab(self, chosen: Mapping[str, Any]) -> dict[str, str | list[str]]:
        """The address of the lab with the sliders where they are."""
        values = {s.lab: chosen[s.name] for s in self.sliders if s.lab}
        moved = {key: plain(value) if isinstance(value, int) else f"{value:g}" for key, value in values.items()}
        return {**(self.lab or {}), **moved}


@dataclass(frozen=True)
class Lesson:
    """A short name for its settings and its picture; a title, as the address has it; what one learns, in a line; its steps.

    ``reads`` names the rows that its pictures read. The gallery shows the picture of the first step.
    """

    key: str
    title: str
    promise: str
    steps: tuple[Step, ...]
    reads: str
