"""The words of :mod:`claims`, in the order in which they are shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from dpsyn.notation import short

Verdict = Literal["holds", "half right", "fails"]
Number = float | None

TOO_LARGE = "Not defined for your data: l is larger than the smallest class."


@dataclass(frozen=True)
class Said:
    """The words of one claim, as :class:`Claim` has them; ``by_how_much`` from the numbers."""

    by_how_much: Callable[[Mapping[str, Number]], str]
    source: str
    statement: str
    verdict: Verdict
    why: str
    fix: str
    needs_a_mixture: bool = False


def _n(value: Number) -> str:
    """Three digits, or what there is instead of a number."""
    if value is None:
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return short(value, 3)


def _z_score(v: Mapping[str, Number]) -> str:
    bound = v["epsilon_at_least"]
    if bound is None:
        return "Not computed at this size."
    return (
        f"For your N, d, c and σ, and as many rows as records: ε is at least {_n(bound)} on some data, where Theorem 1 "
        f"says {_n(v['published'])}."
    )


def _published_bound(v: Mapping[str, Number]) -> str:
    mine = ""
    if v["exact"] is not None:
        side = "below it" if v["published"] is not None and v["published"] < v["exact"] else "above it"
        mine = (
            f"At your σ the formula says ε = {_n(v['published'])}; the guarantee by the exact accountant, with public "
            f"scaling, is {_n(v['exact'])}, so here the formula is {side}. "
        )
    return (
        f"{mine}It is refuted by a pair that is attained (N = T = 1,797, l = 1, σ = 0.809, δ = 10⁻⁵, one class, no label "
        f"noise): it says {_n(v['example_published'])}, the pair has {_n(v['example_attained'])}."
    )


def _misprint(v: Mapping[str, Number]) -> str:
    return (
        f"For your σ and l the printed B(3) is {_n(v['printed_moment'])}. Nothing else changed, ε is "
        f"{_n(v['published'])} with the printed factor and {_n(v['with_the_right_factor'])} with the right one, or "
        f"{_n(v['and_order_2'])} if order 2 is tried too, as the lemma allows."
    )


def _rate(v: Mapping[str, Number]) -> str:
    return (
        f"Yours: p = {_n(v['published_rate'])} published, {_n(v['true_rate'])} in the smallest class. The bound "
        f"that the paper meant, without label noise, gives ε = {_n(v['epsilon_published_rate'])} with the former over T "
        f"rows and {_n(v['epsilon_true_rate'])} with the latter over Tₖ rows."
    )


def _published_sigma(v: Mapping[str, Number]) -> str:
    mine = (
        "" if v["sigma"] is None
        else f"Your N, T and l: for ε = 10 the formula takes σ = {_n(v['sigma'])}, and the exact accountant's guarantee "
        f"there is {_n(v['true_epsilon'])}. "
    )  # fmt: skip
    return (
        f"{mine}MNIST with l = 64: σ = {_n(v['mnist_sigma'])} is meant to give 10 and gives "
        f"{_n(v['mnist_add_remove'])} for adding or removing a record and up to {_n(v['mnist_replace_one'])} for "
        f"replacing one."
    )


def _counts(v: Mapping[str, Number]) -> str:
    if v["smallest_class"] == v["balanced_class"]:
        return (
            f"At your σ ε is {_n(v['epsilon_smallest'])} for classes of {_n(v['smallest_class'])} records; it is "
            f"larger for smaller ones, so this size must be public."
        )
    return (
        f"At your σ ε is {_n(v['epsilon_balanced'])} for balanced classes of {_n(v['balanced_class'])} records and "
        f"{_n(v['epsilon_smallest'])} for your smallest, {_n(v['smallest_class'])}."
    )


def _order(v: Mapping[str, Number]) -> str:
    order, largest = v["order_of_mixture"] or 0, v["largest_order"] or 0
    fits = "fits" if order <= largest else "does not fit"
    return (
        f"Your l = {_n(order)} {fits}: the smallest class has {_n(largest)} records. The paper's largest, "
        f"{_n(v['largest_of_the_paper'])}, {'fits' if (v['largest_of_the_paper'] or 0) <= largest else 'does not'}."
    )


def _labels(v: Mapping[str, Number]) -> str:
    return (
        f"At your σ the bound that the paper meant is {_n(v['epsilon_with_label_noise'])} with label noise of the same "
        f"size and {_n(v['epsilon_without'])} without."
    )


def _picked(v: Mapping[str, Number]) -> str:
    return (
        f"One run with your σ costs ε = {_n(v['epsilon_each'])}; {_n(v['tried'])} like it add up to "
        f"{_n(v['epsilon_together'])} (and {_n(v['tried'])}δ) by basic composition."
    )


def _tight(v: Mapping[str, Number]) -> str:
    more = "" if v["sigma_rdp"] is None else f" To certify the latter it would need σ = {_n(v['sigma_rdp'])}."
    return (
        f"At your σ = {_n(v['sigma'])} the corrected Rényi bound is {_n(v['rdp'])}, and the exact "
        f"accountant's guarantee, for any replacement alike, is {_n(v['exact'])}.{more}"
    )


def _remark(v: Mapping[str, Number]) -> str:
    found = ", ".join(_n(value) for value in v.values())
    return f"σ = 0.05, N = 60,000, ten classes, one record more or fewer: ε = {found} for l = 8, 16, 32, 64, 512."


def _sensitivity(v: Mapping[str, Number]) -> str:
    return f"Yours: 2c/l = {_n(v['sensitivity'])}."


SAID = {
    "z_score": Said(
        by_how_much=_z_score,
        source="Algorithm 1, lines 2 to 5",
        statement="Features may be standardised by the data's own mean and standard deviation before mixing; the "
        "guarantee of Theorem 1 covers the whole algorithm.",
        verdict="fails",
        why="One record moves the mean and the standard deviation, and with them the scaled value of every other "
        "record: if all records but one are equal, moving that one to the other side turns the sign of all of them. The "
        "proof bounds the effect of one record on one average by 2c/l and forgets the others.",
        fix="Scale by bounds that are known without the data, as dpsyn does; or estimate mean and deviation privately "
        "and add that cost.",
    ),
    "published_bound": Said(
        by_how_much=_published_bound,
        source="Theorem 1",
        statement="The formula's ε is an upper bound on the privacy loss of T rows.",
        verdict="fails",
        why="A misprinted factor and a sampling rate over the whole table instead of one class make the formula too "
        "small; its two usable orders make it too large for small ε, where it cannot fall below ln(1/δ)/3. It can err "
        "either way.",
        fix="Account class by class with privacy loss distributions, as dpsyn does. The formula is shown and never used.",
    ),
    "misprinted_factor": Said(
        by_how_much=_misprint,
        source="Theorem 1",
        statement="The bound may be minimised over all Rényi orders from 3 up, with B(⌈j/2⌉) under the root.",
        verdict="fails",
        why="The lemma that is quoted (Wang, Balle, Kasiviswanathan 2019) has B(2⌈j/2⌉). B of an odd number is not the "
        "moment of an even power: at j = 5 the printed B(3) is negative and the root imaginary, so that only the orders 3 "
        "and 4 exist, and these take B(2) in place of B(4).",
        fix="Put B(2⌈j/2⌉) back and start at order 2.",
    ),
    "sampling_rate": Said(
        by_how_much=_rate,
        needs_a_mixture=True,
        source="Theorem 1",
        statement="Each row samples l of all N records, so sampling amplifies privacy by p = l/N over T rows.",
        verdict="fails",
        why="The l records come from one class of Nₖ records. A record is used with probability l/Nₖ, K times as "
        "often in balanced data, though only by the Tₖ rows of its class.",
        fix="p = l/Nₖ over Tₖ rows, for the smallest class; and count a record that changes its class in both.",
    ),
    "published_sigma": Said(
        by_how_much=_published_sigma,
        source="Section 4",
        statement="The noise chosen by Theorem 1 reaches the ε aimed at.",
        verdict="fails",
        why="That the bound is loose hides its errors for small l, not for large l.",
        fix="Calibrate σ by the exact accountant.",
    ),
    "class_counts": Said(
        by_how_much=_counts,
        needs_a_mixture=True,
        source="Algorithm 1",
        statement="The classes and their sizes may be used as they are.",
        verdict="fails",
        why="The true sampling rate l/Nₖ depends on Nₖ, and which classes exist at all is visible in the output. "
        "Both are properties of the private records, and the smallest class decides.",
        fix="A public list of classes with public lower bounds on their sizes; or private counts with a safety margin, "
        "paid from ε.",
    ),
    "any_order": Said(
        by_how_much=_order,
        source="Section 4",
        statement="l is a free parameter, tried up to 512.",
        verdict="half right",
        why="l different records of a class must exist. A class with a single record is averaged with nothing and shows "
        "that record with plain noise.",
        fix="Refuse l above the smallest class, by public or private counts.",
    ),
    "label_noise": Said(
        by_how_much=_labels,
        needs_a_mixture=True,
        source="Algorithm 1, lines 12 and 13",
        statement="The average of the one-hot labels needs Gaussian noise of its own.",
        verdict="fails",
        why="All l records have the label k for which the row is made, and Tₖ is public: the label says nothing about "
        "any record. Noise on it costs ε in the accounting and puts wrong labels on rows.",
        fix="Release the class as the label, without noise. A record that changes its class is accounted for in the rows "
        "of both.",
    ),
    "picked_order": Said(
        by_how_much=_picked,
        needs_a_mixture=True,
        source="Section 4",
        statement="There is a best l, found by comparing the accuracy of models for l = 1, 2, 4, …, 512.",
        verdict="half right",
        why="There is one, but each trial is a release of the same records, and picking by accuracy reads them again. "
        "The stated ε is that of a single run with l, c and σ fixed beforehand. A published seed would undo the noise "
        "altogether.",
        fix="Fix l and c without the data, or compose the trials; draw noise from the system's entropy.",
    ),
    "tight_analysis": Said(
        by_how_much=_tight,
        needs_a_mixture=True,
        source="Remark 1",
        statement="The Rényi analysis is tighter than that of the method that it follows.",
        verdict="half right",
        why="It does lose the factor of the dimension, because it uses the Euclidean norm. But the general "
        "subsampling bound and the conversion from Rényi divergences still overstate ε, even when corrected.",
        fix="Privacy loss distributions of the subsampled Gaussian mechanism.",
    ),
    "remark_2": Said(
        by_how_much=_remark,
        source="Remark 2",
        statement="At fixed noise the privacy risk grows with l; hence larger l needs less noise.",
        verdict="half right",
        why="An average of l records moves by at most 2c/l, and this outweighs that each record is used more often. The "
        "premise is the wrong way round; the conclusion is right, and follows from the opposite.",
        fix="Read it as: at fixed noise the risk falls with l.",
    ),
    "sensitivity": Said(
        by_how_much=_sensitivity,
        source="Proof of Theorem 1",
        statement="One record of norm at most c moves an average of l by at most 2c/l.",
        verdict="holds",
        why="Two vectors of norm at most c are at most 2c apart, and the average divides by l. It needs scaling that "
        "does not depend on the data.",
        fix="Nothing to fix.",
    ),
}
