"""Lessons about all mechanisms, the gallery of every lesson, and the player."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from dpsyn.kit.lesson import Lesson
from dpsyn.mechanisms.registry import MECHANISMS, offered

_FIRST, _LAST = ("histogram",), ("composition", "practice")


@cache
def lessons() -> dict[str, Lesson]:
    """Every lesson by its title: what noise is, then what each mechanism offers, then what holds for all of them."""
    found: list[Lesson] = []
    for room in (*_FIRST, *MECHANISMS, *_LAST):
        of_mechanism = room in MECHANISMS
        given = offered(room, "lessons:LESSONS") if of_mechanism else import_module(f"{__name__}.{room}").LESSONS
        found += given or ()
    return {lesson.title: lesson for lesson in found}
