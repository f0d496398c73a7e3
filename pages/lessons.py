"""Lessons: a gallery, and each of them step by step."""

from dpsyn.app.lessons import player
from dpsyn.kit import widgets

widgets.data_notices()
player.show_lessons()
