"""What is asked for (:class:`PrivacySpec`) and what is claimed (:class:`Guarantee`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any, Literal, get_args

from dpsyn import checks
from dpsyn.display import PUBLIC, Shown
from dpsyn.domain import NOT_YET_TRUE
from dpsyn.errors import DataError, ParameterError
from dpsyn.notation import readable, worded
from dpsyn.schema import checked

Neighbouring = Literal["replace_one", "add_remove"]
Status = Literal[
    "proven", "real_arithmetic", "unconfirmed_domain", "experimental", "demonstration", "published_but_wrong", "stated"
]

PUBLIC_DOMAIN_ASSUMPTION = (
    "The domain (columns, categories, bounds, units, bins) was known without looking at the data, and so was how a file "
    "writes its cells (separator, decimal sign, order of day and month)."
)
DEMO_ASSUMPTION = (
    "A demonstration: everything was drawn from a given random generator, in floating point, without the exact samplers and "
    "the rounding of a release. Whoever knows or guesses the seed can take the noise off, so no guarantee is claimed."
)
SYSTEM_NOISE = "The noise comes from NumPy's generator, keyed by the system's entropy"
"""How an assumption about that noise begins: it is not true of a demonstration."""
FROM_A_FILE = "It was read from a file: that its rows come from such a run is what the file says."
"""An assumption that a claim gets where a release is imported."""
_OF_EARLIER_VERSIONS = "This run used a given random generator: it is a demonstration, and its seed must stay secret."

BETWEEN = {"replace_one": "replacing one row", "add_remove": "adding or removing one row"}
_STATUS_IN_WORDS = {
    "unconfirmed_domain": "not yet true: nobody confirmed the domain as public",
    "real_arithmetic": "proven in exact arithmetic only",
    "experimental": "experimental: not proven",
    "published_but_wrong": "no guarantee",
    "stated": "stated by the file, not checked by us",
}


_LOST = 1e-12
"""Of a δ, to rounding of its logarithm, of 745 at most in size."""
_WEAK = (20.0, 0.01)
"""An ε that allows odds of e²⁰, 500 million, to 1; a δ that allows to publish one row in a hundred as it is."""


def rounded_up(value: float, digits: int) -> str:
    """A number >= 0 with so many significant digits, never less than it is: an ε rounded down would be a false claim.

    A relative excess of 1e-12 counts as rounding in the number itself: 0.1 + 0.2 is 0.3.
    """
    shown = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(float(value) * (1 - 1e-12)))
    return _plain(float(shown), digits)


def _plain(value: float, digits: int) -> str:
    """1000 and not 1e+03, of numbers below a million; what :func:`float` reads."""
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text and value < 1e6 else text


def delta_up(delta: float) -> str:
    """A δ of three digits, never less than it is: a power of ten below 0.01, so that ten times 1e-05 is 1e-04."""
    rounded = rounded_up(delta, 3)
    if not 0 < float(rounded) < _WEAK[1]:
        return rounded
    digits, power = f"{float(rounded):.2e}".split("e")
    return f"{float(digits):g}e{power}"


def worded_fact(name: str, value: object) -> str:
    """A setting or a fact of a record as people say it; an ε, a δ, a probability of failing never less than it is."""
    if isinstance(value, Mapping):
        return ", ".join(f"{part}: {worded_fact(str(part), of)}" for part, of in value.items())
    costs = isinstance(value, float) and value >= 0 and any(word in name for word in ("epsilon", "delta", "probability"))
    return readable(rounded_up(value, 4)) if costs and math.isfinite(value) else worded(value)  # type: ignore[arg-type]


def rounded_down(value: float, digits: int) -> str:
    """A number >= 0 with so many significant digits, never more than it is: what something stays above.

    A relative excess of 1e-12 counts as rounding, as in :func:`rounded_up`.
    """
    shown = Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(repr(float(value) * (1 + 1e-12)))
    return _plain(float(shown), digits)


@dataclass(frozen=True)
class PrivacySpec:
    """The privacy asked for: ε, δ and between which datasets.

    Args:
        epsilon: ε, from 1e-100 to 1e100.
        delta: 0 <= δ < 1; 0 asks for pure ε-differential privacy.
        neighbouring: ``"replace_one"`` (one record changes, n is public) or ``"add_remove"``.
        unit: what one record is; ``"row"`` is the only unit so far.

    Raises:
        ParameterError: a field has a value that it cannot have.
    """

    epsilon: float
    delta: float = 0.0
    neighbouring: Neighbouring = "replace_one"
    unit: str = "row"

    def __post_init__(self) -> None:
        epsilon = checks.scale("epsilon", self.epsilon)
        delta = checks.number("delta", self.delta, 0.0, below=1.0)
        # Python's own numbers stay as they are: cells of experiments that were kept are found by how they are written.
        for field, value in (("epsilon", epsilon), ("delta", delta)):
            if type(getattr(self, field)) not in (int, float):
                object.__setattr__(self, field, value)
        for field, among in (("neighbouring", get_args(Neighbouring)), ("unit", ["row"])):
            object.__setattr__(self, field, checks.choice(field, getattr(self, field), among))


def together(claims: Sequence[Guarantee]) -> tuple[float, float, Neighbouring]:
    """ε, δ and the neighbours of everything that these claims are about, by basic composition.

    To replace a row is to remove one and to add one: (ε, δ) for adding or removing a row is (2ε, (1 + e^ε)·δ) for replacing
    one, and the other way round nothing follows. So claims of both kinds add up for replacing a row alone.
    """
    kinds = {claim.neighbouring for claim in claims}
    if len(kinds) == 1:
        return sum(claim.epsilon for claim in claims), sum(claim.delta for claim in claims), kinds.pop()
    epsilon, delta = 0.0, 0.0
    for claim in claims:
        twice = claim.neighbouring == "add_remove"
        epsilon += claim.epsilon * (2 if twice else 1)
        if claim.delta:
            delta += _delta_of_two(claim) if twice else claim.delta
    return epsilon, delta, "replace_one"


def _delta_of_two(claim: Guarantee) -> float:
    """(1 + e^ε)·δ, at most 1; in logarithms, as e^ε may be no number."""
    if claim.epsilon < 1:
        return claim.delta * (1 + math.exp(claim.epsilon))
    return math.exp(min(math.log(claim.delta) + claim.epsilon + math.log1p(math.exp(-claim.epsilon)), 0.0)) * (1 + _LOST)


@dataclass(frozen=True, repr=False)
class Guarantee(Shown):
    """A claim of (ε, δ)-differential privacy, where it comes from and what it takes for granted.

    Attributes:
        epsilon, delta: the claim; at most what was asked for.
        neighbouring, unit: between which datasets.
        source: theorem or proof.
        assumptions: what must hold outside the mechanism, in plain sentences.
        status: only ``"proven"`` claims certify a release; ``"unconfirmed_domain"`` becomes ``"proven"`` once somebody
            confirms that the domain was known without looking at the data; ``"real_arithmetic"`` is proven of exact
            arithmetic (noise in real numbers, exact optima), which the floating-point numbers of a computer are not;
            ``"demonstration"`` is what was drawn from a given generator: ε and δ are those of the same settings without
            one; ``"published_but_wrong"`` is no guarantee, and its ε is infinite, so that nothing that adds or compares ε
            can take it for one; ``"stated"`` is what a file says, and nobody has checked it.

    Raises:
        ParameterError: a finite ε for what is published but wrong, or a field has a value that it cannot have.
    """

    epsilon: float
    delta: float
    neighbouring: Neighbouring
    source: str
    assumptions: tuple[str, ...] = ()
    status: Status = "proven"
    unit: str = "row"

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon, float) and self.epsilon == math.inf):
            checks.number("epsilon", self.epsilon, 0.0)
        checks.number("delta", self.delta, 0.0, 1.0)
        assumed = checks.items("assumptions", self.assumptions, "sentences")
        plain = {
            "neighbouring": checks.choice("neighbouring", self.neighbouring, get_args(Neighbouring)),
            "source": checks.text("source", self.source, "a text"),
            "assumptions": tuple(checks.text("assumptions", one, "sentences") for one in assumed),
            "status": checks.choice("status", self.status, get_args(Status)),
            "unit": checks.text("unit", self.unit, "a text"),
        }
        for field, value in plain.items():
            object.__setattr__(self, field, value)
        if self.status == "published_but_wrong" and math.isfinite(self.epsilon):
            raise ParameterError("epsilon", self.epsilon, "infinity: what is published but wrong guarantees nothing")

    def __str__(self) -> str:
        """The claim with its status: a claim that is quoted without it may not be true."""
        said = self.status in ("published_but_wrong", "demonstration")
        return self.claim if said else f"{self.claim} ({self.status_in_words})"

    @property
    def claim(self) -> str:
        """ε, δ and the neighbours as a sentence, for where the status stands beside it."""
        if self.status == "published_but_wrong":
            return "no guarantee: what the paper claims is refuted, and no epsilon is known to hold"
        epsilon, delta = rounded_up(self.epsilon, 4), delta_up(self.delta)
        kind = epsilon if self.delta == 0 else f"({epsilon}, {delta})"
        claim = f"{kind}-differentially private under {BETWEEN[self.neighbouring]}"
        if self.status == "demonstration":
            claim = f"a demonstration without a guarantee (without a seed, and if its assumptions hold: {claim})"
        return readable(claim)

    @property
    def weak(self) -> str:
        """That ε or δ is so large that the claim is worth little; empty where it is not."""
        found = "ε" if self.epsilon >= _WEAK[0] else "δ" if self.delta >= _WEAK[1] else ""
        return f"{found} is so large that it protects hardly anybody" if found else ""

    @property
    def unconfirmed(self) -> bool:
        """Whether nobody has confirmed the domain yet: one of the assumptions says so, whatever the status."""
        return any(assumption.startswith(NOT_YET_TRUE) for assumption in self.assumptions)

    @property
    def status_in_words(self) -> str:
        """What the status means for whoever wants to publish."""
        if self.status == "proven" and self.weak:
            return f"proven, but {self.weak}"
        if self.status == "real_arithmetic" and self.unconfirmed:
            return f"{_STATUS_IN_WORDS['unconfirmed_domain']}, and then {_STATUS_IN_WORDS['real_arithmetic']}"
        return _STATUS_IN_WORDS.get(self.status, self.status.replace("_", " "))

    def _shown(self) -> tuple[str, list[str]]:
        return PUBLIC, [
            str(self),
            f"  source: {self.source}",
            *(f"  assumed: {assumption}" for assumption in self.assumptions),
        ]

    def of_a_demonstration(self) -> Guarantee:
        """What is left of the claim where everything is drawn from a given generator."""
        if self.status in ("published_but_wrong", "stated"):
            return self
        others = (a for a in self.assumptions if a not in (DEMO_ASSUMPTION, _OF_EARLIER_VERSIONS))
        assumptions = (DEMO_ASSUMPTION, *(a for a in others if not a.startswith(SYSTEM_NOISE)))
        return replace(self, status="demonstration", assumptions=assumptions)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a record of the run; an infinite ε is None, as JSON has no such number."""
        return asdict(self) | {"epsilon": self.epsilon if math.isfinite(self.epsilon) else None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Guarantee:
        """The claim that :meth:`to_dict` wrote down.

        Raises:
            DataError: it is no claim of that form.
        """
        try:
            data = checked(dict[str, Any], data)
        except DataError as fault:
            raise DataError(f"this is no guarantee ({fault})") from fault
        lost = [field.name for field in fields(cls) if field.name not in data]
        if lost:
            raise DataError(f"the guarantee has no {lost[0]!r}")
        refuted = data["epsilon"] is None and str(data["status"]) == "published_but_wrong"
        try:
            return checked(cls, {**data, "epsilon": math.inf if refuted else data["epsilon"]})
        except DataError as fault:
            raise DataError(f"the guarantee's {fault}") from fault
