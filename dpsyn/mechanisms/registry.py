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


def config_class(name: str) -> type[Config]:
    """The configuration class that a name stands for.

    Raises:
        ParameterError: no mechanism has this name.
    """
    if name not in MECHANISMS:
        raise ParameterError("mechanism", name, f"one of {', '.join(map(repr, MECHANISMS))}")
    module, attribute = MECHANISMS[name].split(":")
    found: type[Config] = getattr(import_module(module), attribute)
    return found


def title(name: str) -> str:
    """What to call a mechanism on a page."""
    return config_class(name).title
