"""What a record of a run says, and whether it is true: the mechanism is calibrated anew from the settings that it holds.

What this cannot see: that the rows come from such a run, that its noise was not drawn from a seed, that the domain was known
without looking at the data. These are the word of whoever wrote the record.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NotRequired, TypedDict

from dpsyn import checks
from dpsyn.cells import in_settings
from dpsyn.display import PUBLIC, Shown
from dpsyn.domain import NOT_YET_TRUE, Domain, listed
from dpsyn.errors import DataError, DpsynError, InputError, ParameterError, quoted, shown
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.registry import DEMONSTRATIONS, MECHANISMS, config_class
from dpsyn.notation import counted
from dpsyn.privacy.spec import FROM_A_FILE, Guarantee, PrivacySpec
from dpsyn.schema import checked

_ROUNDING = 1e-9
_NEVER_BY_CATEGORY = ("requested", "ledger")


class Record(TypedDict):
    """Of :meth:`~dpsyn.mechanisms.base.Release.record` what is read; earlier versions did not write all of it."""

    mechanism: str
    settings: dict[str, Any]
    guarantee: dict[str, Any]
    demonstration: bool
    rows: NotRequired[int]
    columns: NotRequired[list[str]]
    config: NotRequired[dict[str, Any] | None]
    domain: NotRequired[dict[str, Any] | None]
    versions: NotRequired[dict[str, Any]]


@dataclass(frozen=True, repr=False)
class Recalibrated(Shown):
    """What calibrating anew says of a record.

    Attributes:
        stated: the claim of the record.
        found: what the mechanism claims at the record's settings; None where it cannot be calibrated to them.
        config: the mechanism's settings, or None where the record does not have them.
        contradiction: where the record is not what calibration gives, a clause; empty where it is.
        settings: all that calibration gives, where the record is that.
    """

    stated: Guarantee
    found: Guarantee | None = None
    config: Config | None = None
    contradiction: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether ε, δ and their status are what the mechanism proves, without an if."""
        return not self.contradiction and self.stated.status == "proven"

    def _shown(self) -> tuple[str, list[str]]:
        return PUBLIC, [str(self)]

    def __str__(self) -> str:
        if self.contradiction:
            return f"REFUTED: {self.contradiction}"
        if self.stated.status == "published_but_wrong":
            return f"NOT TRUE: {self.stated.claim}"
        answer, said = "HOLDS" if self.holds else "NOT TRUE YET", f"what the record states, {self.stated}"
        if self.found is not None and _less(self.found, self.stated):
            said = f"{self.found.claim}, which is stronger than {said}"
        return f"{answer}: calibrated anew, its settings give {said}"


def verify(record: Mapping[str, Any], domain: Domain | None = None) -> Recalibrated:
    """Whether the ε and δ of a record are true of its settings, from the record alone.

    Args:
        record: what :meth:`~dpsyn.mechanisms.base.Release.record` wrote.
        domain: of the rows; needed where the record has none because nobody confirmed it as public, else the same.

    Raises:
        ParameterError: ``domain`` is none.
        DataError: it is no such record, or lacks what calibrating takes.
        DomainError: its domain is none.
    """
    checks.instance("domain", domain, Domain, "a dpsyn.Domain, such as table.domain, or None", optional=True)
    try:
        found = checked(Record, record)
    except DataError as fault:
        raise DataError(f"this is no record of a run ({fault})") from fault
    if found.get("domain") is not None:
        given, domain = domain, Domain.from_dict(found["domain"])
        if given is not None and given.unconfirmed() != domain.unconfirmed():
            return Recalibrated(Guarantee.from_dict(found["guarantee"]), contradiction="its domain is not the one given")
    refuted = found["mechanism"] in DEMONSTRATIONS
    if domain is None and not refuted:
        raise DataError(
            "the record has no domain to calibrate to, which is kept only where it was confirmed: give its schema (--schema)"
        )
    if found.get("config") is None and not refuted:
        raise DataError(
            "the record has no settings to calibrate: they held functions or rows, or an earlier version wrote it"
        )
    rows, config = checks.whole("rows", found.get("rows", 1), 0), found.get("config")
    if domain is not None and found.get("domain") is None:
        config = None if config is None else categories_by_number(config, domain, back=True)
        found["settings"] = categories_by_number(found["settings"], domain, back=True)
    outcome = recalibrated(found, config, domain, rows)
    if domain is not None and not outcome.contradiction and tuple(found.get("columns", domain.names)) != domain.names:
        return replace(outcome, contradiction="its rows have other columns than its domain")
    claim = outcome.found
    if outcome.contradiction or claim is None or outcome.stated.status not in ("proven", "real_arithmetic"):
        return outcome
    if claim.status not in (outcome.stated.status, "proven"):
        said = f"its status is {outcome.stated.status!r}, and its settings give {claim.status!r}"
        return replace(outcome, contradiction=said)
    if outcome.stated.source != claim.source:
        return replace(
            outcome,
            contradiction=f"its source is {shown(outcome.stated.source)}, and its settings give {shown(claim.source)}",
        )
    unknown = [name for name in record if name not in Record.__annotations__]
    unknown += [name for name in record["guarantee"] if name not in Guarantee.__dataclass_fields__]
    if unknown:
        return replace(outcome, contradiction=f"it states {shown(unknown[0])}, which no record has")
    return replace(outcome, contradiction=_of_assumptions(outcome.stated, claim))


def _of_assumptions(stated: Guarantee, claim: Guarantee) -> str:
    """Where a record does not take for granted what the claim of its settings does, a clause."""
    unsaid = [one for one in claim.assumptions if one not in stated.assumptions]
    if unsaid:
        return f"its claim takes for granted what it does not say: {unsaid[0]}"
    others = [one for one in stated.assumptions if one not in (*claim.assumptions, FROM_A_FILE)]
    # Since it was written, the domain may have been confirmed, or a proof found that does without exact arithmetic.
    waits = stated.status == "real_arithmetic"
    ungiven = [one for one in others if not (waits and one.startswith(NOT_YET_TRUE))]
    is_of_claim = bool(ungiven) and claim.status == stated.status
    return f"among its assumptions its settings do not give {shown(ungiven[0])}" if is_of_claim else ""


def recalibrated(record: Record, config: Mapping[str, Any] | None, domain: Domain | None, rows: int) -> Recalibrated:
    """The claim of a record beside that of the mechanism, calibrated again: to the same settings, and to no more than the ε
    and δ that the record states.

    Args:
        record: of a release.
        config: what :func:`config_to_dict` wrote.
        domain: of its rows; not needed of what is published but wrong.
        rows: how many there are.

    Raises:
        InputError: it is no claim, there is no such mechanism, or the mechanism's claim is refuted and the record hides it.
    """
    stated, name, settings = Guarantee.from_dict(record["guarantee"]), record["mechanism"], record["settings"]
    if name not in MECHANISMS | DEMONSTRATIONS:
        raise DataError(f"{name!r} is no mechanism; there are {', '.join(MECHANISMS | DEMONSTRATIONS)}")
    refuted = stated.status == "published_but_wrong"
    if refuted != (name in DEMONSTRATIONS):
        has, must = ("a", "cannot") if refuted else ("no", "must")
        raise DataError(f"{name!r} has {has} guarantee: its status {must} be 'published_but_wrong'")
    made_with = config_from_dict(config) if config else None
    try:
        spec = spec_from_dict(settings.get("requested"))
    except DataError:  # without it nobody can make the release again
        return Recalibrated(stated, contradiction="it does not say which ε and δ were asked for")
    if refuted and (made_with is None or domain is None):
        return Recalibrated(stated, config=made_with)
    if made_with is None or made_with.name != name or domain is None:
        return Recalibrated(stated, config=made_with, contradiction=f"its settings are none of {name!r}")
    try:
        # Under add_remove n is no part of the record, nor of anything that calibration makes of it.
        mechanism = made_with.calibrate(spec, domain, settings.get("n", rows))
        claim = mechanism.claim(seeded=record["demonstration"])
        facts = json.loads(json.dumps(mechanism.facts(), default=str))
        told = {*mechanism.calibrated(), *(("n",) if claim.neighbouring == "replace_one" else ())}
        most = facts.get("rows")
        other_rows = isinstance(most, int) and (rows > most or (rows < most and not mechanism.may_drop_rows))
        said = _contradiction(stated, claim, settings, facts, told, made_with.removed)
        if other_rows and not said:
            said = f"it has {counted(rows, 'row')}, and its settings give {most:,}"
    except (DpsynError, ArithmeticError, TypeError) as fault:
        return Recalibrated(stated, config=made_with, contradiction=f"its settings cannot be calibrated ({fault})")
    return Recalibrated(stated, claim, made_with, said, {} if said else facts)


def _contradiction(
    stated: Guarantee,
    claim: Guarantee,
    settings: Mapping[str, Any],
    facts: dict[str, Any],
    told: set[str],
    removed: Mapping[str, Any],
) -> str:
    if claim.unit != stated.unit:
        return f"its settings protect one {claim.unit}, and it states that they protect one {shown(stated.unit)}"
    if claim.neighbouring != stated.neighbouring or _less(stated, claim):
        return f"its settings give {claim.claim}, and it states {stated.claim}"
    if not told <= settings.keys():
        return f"it does not state {listed(sorted(told - settings.keys()))}"
    other = [name for name in facts if name in settings and not _alike(settings[name], facts[name])]
    if other:
        both = [f"{name.replace('_', ' ')} is {shown(facts[name])} and not {shown(settings[name])}" for name in other]
        return f"calibrated anew, {listed(both)}"
    unknown = [name for name, value in settings.items() if name not in facts and (name, value) not in removed.items()]
    return f"its settings state {shown(unknown[0])}, which calibration does not give" if unknown else ""


def _less(one: Guarantee, other: Guarantee) -> bool:
    """Whether the ε or the δ of one claim is below that of the other, by more than rounding."""
    return one.epsilon < other.epsilon * (1 - _ROUNDING) or one.delta < other.delta * (1 - _ROUNDING)


def config_to_dict(config: Config) -> dict[str, Any]:
    """The configuration as plain data: the mechanism's registered name and every field.

    Raises:
        ParameterError: it is no configuration.
    """
    checks.instance("config", config, Config, "settings of a mechanism, such as dpsyn.MWEM()")
    return {"mechanism": config.name, **{f.name: getattr(config, f.name) for f in fields(config)}}


def config_from_dict(data: Mapping[str, Any]) -> Config:
    """The configuration that :func:`config_to_dict` wrote down.

    Raises:
        ParameterError: there is no such mechanism, or it has no such setting.
        DataError: a setting is of another type, or has a value that it cannot have.
    """
    settings = checks.mapping("config", data, "what config_to_dict wrote")
    kind = config_class(checks.choice("mechanism", settings.pop("mechanism", ""), MECHANISMS | DEMONSTRATIONS))
    settings = {**kind.added_later, **settings}
    known = {f.name for f in fields(kind)}
    settings = {name: value for name, value in settings.items() if (name, value) not in kind.removed.items()}
    for name, value in settings.items():
        if name not in known:
            raise ParameterError(name, value, f"{kind.title} has no such setting. There are: {', '.join(sorted(known))}")
        if isinstance(value, list):
            settings[name] = tuple(tuple(v) if isinstance(v, list) else v for v in value)
    try:
        checked(kind, settings)
    except DataError as fault:
        name, _, why = str(fault).partition(": ")
        if name not in settings:
            raise
        raise DataError(f"{name} = {shown(settings[name])} is not possible: {why}") from fault
    # Not what was checked: whole numbers in places of other ones stay whole there, and the keys of cells tell them apart.
    return kind(**settings)


def spec_from_dict(data: Any) -> PrivacySpec:
    """The privacy asked for, from the fields of a :class:`~dpsyn.privacy.spec.PrivacySpec` by name.

    Raises:
        DataError: it is not of that form, or asks for what cannot be.
    """
    checked(PrivacySpec, checked(dict[str, Any], data))
    unknown = sorted(data.keys() - {f.name for f in fields(PrivacySpec)})
    if unknown:
        raise DataError(f"{unknown[0]!r} is nothing that can be asked for")
    return PrivacySpec(**data)


def plain_config(config: Config | None) -> dict[str, Any] | None:
    """The configuration as data that JSON keeps, or None where it holds functions or rows of its own."""
    if config is None:
        return None
    data = config_to_dict(config)
    try:
        return data if config_from_dict(json.loads(json.dumps(data))) == config else None
    except (TypeError, InputError):
        return None


def recorded_config(config: Config | None) -> dict[str, Any] | None:
    """The same without what :meth:`~dpsyn.mechanisms.base.Config.settings` leaves out: it is no part of the result."""
    plain = plain_config(config)
    if config is None or plain is None:
        return None
    kept = {"mechanism", *config.settings()}
    return {name: value for name, value in plain.items() if name in kept}


def categories_by_number(settings: Mapping[str, Any], domain: Domain, *, back: bool = False) -> dict[str, Any]:
    """Settings or a configuration, with a number for every category that a mapping goes by or a list holds; or back."""
    listing = {name: value for name, value in settings.items() if name not in _NEVER_BY_CATEGORY}
    listing = {name: value for name, value in listing.items() if isinstance(value, Mapping | list | tuple)}
    words: dict[str, str] = {}
    # What several columns have is counted in the one that mechanisms go by, if there is one.
    for attribute in sorted(domain.attributes, key=lambda a: a.name != settings.get("target")) if listing else ():
        for number, category in enumerate(attribute.categories, 1):
            words.setdefault(in_settings(category), f"category {number} of {quoted(attribute.name)}")
    if back:
        words = {number: category for category, number in words.items()}

    def other(name: Any) -> Any:
        return words.get(name, name) if isinstance(name, str) else name

    found = {
        name: {other(k): v for k, v in value.items()} if isinstance(value, Mapping) else list(map(other, value))
        for name, value in listing.items()
    }
    twice = [name for name, value in found.items() if len(value) < len(listing[name])]
    if twice:
        raise DataError(f"{twice[0]} names a category twice, by itself and by its number")
    return {**settings, **found}


def _alike(stated: Any, found: Any) -> bool:
    """Whether what a record states is what was found, in full; numbers but for rounding."""
    if isinstance(stated, dict) and isinstance(found, dict):
        return stated.keys() == found.keys() and all(_alike(stated[name], found[name]) for name in stated)
    if isinstance(stated, list) and isinstance(found, list):
        return len(stated) == len(found) and all(map(_alike, stated, found))
    if isinstance(stated, float) or isinstance(found, float):
        try:
            return math.isclose(stated, found, rel_tol=_ROUNDING)
        except (TypeError, OverflowError):  # no number, or none that a float holds
            return False
    return bool(stated == found)
