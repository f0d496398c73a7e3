"""The papers, where to read them, and which of them a claim's source names."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PRINTED = re.compile(r"(Theorem|Algorithm|Section|Proposition|Table|Figure) \d")


@dataclass(frozen=True)
class Paper:
    """A published paper.

    Attributes:
        name: authors and year, as the project cites it.
        title: as printed.
        address: of its page on arXiv, where every version can be read.
    """

    name: str
    title: str
    address: str


OTHERS = (
    Paper(
        "Pierquin, Zimmermann, Boussard 2023",
        "Practical considerations on using private sampling for synthetic data",
        "https://arxiv.org/abs/2312.07139",
    ),
    Paper(
        "Canonne, Kamath, Steinke 2020",
        "The Discrete Gaussian for Differential Privacy",
        "https://arxiv.org/abs/2004.00010",
    ),
)
"""That claims on several mechanisms rest on; each mechanism's own stands with its formulas."""


def paper_of(source: str, paper: Paper | None) -> Paper | None:
    """The paper that a source such as ``"Theorem 4.2"`` or ``"Section 3 (corrected)"`` is part of.

    Args:
        source: of a condition or a claim.
        paper: of the mechanism, which is meant where the source names a part and no authors.

    Returns:
        None where the source is a proof of ours.
    """
    named = next((other for other in OTHERS if other.name in source), None)
    if named is not None:
        return named
    return paper if paper is not None and (paper.name in source or _PRINTED.match(source)) else None


def is_corrected(source: str) -> bool:
    """Whether it differs from what is printed: docs/errata.md says how."""
    return "corrected" in source or "as published" in source
