"""Where the files are that are no modules: the app's pages, the bundled data, the documents."""

from __future__ import annotations

from pathlib import Path

_BUNDLE = Path(__file__).parent / "bundle"
HOME = _BUNDLE if _BUNDLE.is_dir() else Path(__file__).parents[1]
"""The folder of ``app.py``: the checkout, or in an installed package the copy that ``setup.py`` puts beside the modules."""
