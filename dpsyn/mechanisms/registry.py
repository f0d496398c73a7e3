"""All mechanisms by name. Adding one is one file and one line here; it is imported when it is first used."""

from __future__ import annotations

from importlib import import_module

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import Config

MECHANISMS: dict[str, str] = {
    "private_sampling": "dpsyn.mechanisms.private_sampling:PrivateSampling",
    "noisy_reweighting": "dpsyn.mechanisms.noisy_reweighting:NoisyReweighting",
    "dp_cda": "dpsyn.mechanisms.dp_cda:DPCDA",
}
"""Registered name -> module and configuration class."""
DEMONSTRATIONS: dict[str, str] = {"dp_cda_as_published": "dpsyn.mechanisms.dp_cda:PublishedDPCDA"}
"""The same for algorithms whose published claim is refuted. Their releases are kept and shown, with that mark."""


def config_class(name: str) -> type[Config]:
    """The configuration class that a name stands for.

    Raises:
        ParameterError: no mechanism has this name.
    """
    known = MECHANISMS | DEMONSTRATIONS
    if name not in known:
        raise ParameterError("mechanism", name, f"one of {', '.join(map(repr, known))}")
    module, attribute = known[name].split(":")
    found: type[Config] = getattr(import_module(module), attribute)
    return found


def title(name: str) -> str:
    """What to call a mechanism on a page."""
    return config_class(name).title
