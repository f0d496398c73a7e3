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


PAPERS: dict[str, Paper] = {
    "private_sampling": Paper(
        "Boedihardjo, Strohmer, Vershynin 2021a",
        "Private sampling: a noiseless approach for generating differentially private synthetic data",
        "https://arxiv.org/abs/2109.14839",
    ),
    "noisy_reweighting": Paper(
        "Boedihardjo, Strohmer, Vershynin 2021b",
        "Privacy of synthetic data: a statistical framework",
        "https://arxiv.org/abs/2109.01748",
    ),
    "dp_cda": Paper(
        "Saha, Tonoy, Imtiaz 2024",
        "DP-CDA: An Algorithm for Enhanced Privacy Preservation in Dataset Synthesis Through Randomized Mixing",
        "https://arxiv.org/abs/2411.16121",
    ),
    "tractability": Paper(
        "Pierquin, Zimmermann, Boussard 2023",
        "Practical considerations on using private sampling for synthetic data",
        "https://arxiv.org/abs/2312.07139",
    ),
    "discrete_gaussian": Paper(
        "Canonne, Kamath, Steinke 2020",
        "The Discrete Gaussian for Differential Privacy",
        "https://arxiv.org/abs/2004.00010",
    ),
}
"""By mechanism; and the two others that claims rest on."""


def paper_of(source: str, mechanism: str) -> Paper | None:
    """The paper that a source such as ``"Theorem 4.2"`` or ``"Section 3 (corrected)"`` is part of.

    Args:
        source: of a condition or a claim.
        mechanism: registered name, whose paper is meant where the source names a part and no authors.

    Returns:
        None where the source is a proof of ours.
    """
    named = next((paper for paper in PAPERS.values() if paper.name in source), None)
    if named is not None:
        return named
    return PAPERS.get(mechanism) if _PRINTED.match(source) else None


def is_corrected(source: str) -> bool:
    """Whether it differs from what is printed: docs/errata.md says how."""
    return "corrected" in source or "as published" in source
