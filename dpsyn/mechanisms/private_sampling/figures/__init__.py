"""Pictures of what private sampling does inside: for each one a function that makes its data, and one that draws them."""

from __future__ import annotations

SOLID, DASHED, DOTTED = [1, 0], [6, 3], [3, 4]
