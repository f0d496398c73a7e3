"""A report as one HTML file that opens without a network: sections, each with what it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpsyn import escape
from dpsyn.display import PRIVATE, PUBLIC, RELEASED
from dpsyn.errors import ParameterError
from dpsyn.notation import short

_POLICY = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:\">"
)
"""Whatever stands in the data: the file asks nobody for anything."""
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2b2b; --soft: #5b6b6b; --line: #d5dede; --back: #ffffff; --mark: #0b6e6e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4eceb; --soft: #9fb0af; --line: #35403f; --back: #131a1a; --mark: #5fc9c3; }
}
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--back); max-width: 66rem;
  margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.9rem; margin-bottom: .2rem; } h2 { margin: 2.6rem 0 .3rem; font-size: 1.35rem; }
.badge { display: inline-block; font-size: .82rem; padding: .1rem .6rem; border: 1px solid var(--line); border-radius: 1rem;
  color: var(--soft); }
.badge.private { border-style: dashed; } .badge.released { color: var(--mark); border-color: var(--mark); }
table { border-collapse: collapse; font-size: .88rem; margin: .8rem 0; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .7rem; text-align: left; vertical-align: top; }
td { font-variant-numeric: tabular-nums; } pre { overflow-x: auto; border: 1px solid var(--line); padding: .8rem; }
.note { color: var(--soft); }
td:first-child { min-width: 5.5rem; }
.js-plotly-plot .main-svg text:not(.heatmap-label text, .hoverlayer text) { fill: var(--ink) !important; }
"""


@dataclass(frozen=True)
class Code:
    """Text that is shown as it is."""

    text: str


@dataclass(frozen=True)
class Section:
    """A heading, what the section reads, and its parts in order.

    Attributes:
        title: a few words.
        reads: one of the badges in :mod:`dpsyn.display`.
        parts: paragraphs (text, not mark-up), tables, :class:`Code` and Plotly figures.
    """

    title: str
    reads: str
    parts: Sequence[Any]


def html_report(title: str, sections: Sequence[Section], note: str = "") -> str:
    """The file's text.

    Names and values from the data are escaped; the drawing library is part of the file (about 5 MB) if there is a figure.

    Raises:
        ParameterError: a part of a kind that cannot be shown, or an unknown badge.
    """
    drawn = 0
    body = []
    for section in sections:
        kinds = {PRIVATE: "private", RELEASED: "released", PUBLIC: "public"}
        if section.reads not in kinds:
            raise ParameterError("reads", section.reads, f"one of {', '.join(map(repr, kinds))}")
        body.append(f"<section><h2>{escape.html(section.title)}</h2>")
        body.append(f'<span class="badge {kinds[section.reads]}">{escape.html(section.reads)}</span>')
        for part in section.parts:
            if hasattr(part, "to_plotly_json"):
                body.append(_figure(part, first=drawn == 0))
                drawn += 1
            else:
                body.append(_part(part))
        body.append("</section>")
    words = f'<p class="note">{escape.html(note)}</p>' if note else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{_POLICY}<title>{escape.html(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>'
        f"<body><h1>{escape.html(title)}</h1>{words}{''.join(body)}</body></html>"
    )


def _part(part: Any) -> str:
    if isinstance(part, str):
        return f"<p>{escape.html(part)}</p>"
    if isinstance(part, Code):
        return f"<pre><code>{escape.html(part.text)}</code></pre>"
    if isinstance(part, pd.DataFrame):
        whole: Any = dict.fromkeys(part.select_dtypes("integer").columns, "{:,}".format)
        numbers = {"formatters": whole, "float_format": lambda value: short(value, 4)}
        return str(part.to_html(index=False, escape=True, border=0, na_rep="—", **numbers))
    raise ParameterError("parts", type(part).__name__, "texts, tables, code or Plotly figures")


def _figure(figure: Any, *, first: bool) -> str:
    return str(
        figure.to_html(
            full_html=False, include_plotlyjs=first, config={"displaylogo": False, "responsive": True}, default_width="100%"
        )
    )
