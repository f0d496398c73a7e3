"""All mechanisms by name. Adding one is one folder and one line here; it is imported when it is first used."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpsyn.data.counted import AnyTable
    from dpsyn.mechanisms.base import Config

MECHANISMS: dict[str, str] = {
    "private_sampling": "dpsyn.mechanisms.private_sampling:PrivateSampling",
    "noisy_reweighting": "dpsyn.mechanisms.noisy_reweighting:NoisyReweighting",
    "dp_cda": "dpsyn.mechanisms.dp_cda:DPCDA",
    "mwem": "dpsyn.mechanisms.mwem:MWEM",
    "independent": "dpsyn.mechanisms.independent:Independent",
    "mst": "dpsyn.mechanisms.mst:MST",
    "aim": "dpsyn.mechanisms.aim:AIM",
    "privbayes": "dpsyn.mechanisms.privbayes:PrivBayes",
    "contingency": "dpsyn.mechanisms.contingency:Contingency",
    "privsyn": "dpsyn.mechanisms.privsyn:PrivSyn",
    "dual_query": "dpsyn.mechanisms.dual_query:DualQuery",
    "dp_mix": "dpsyn.mechanisms.dp_mix:DPMix",
    "dp_merf": "dpsyn.mechanisms.dp_merf:DPMERF",
    "dp_gan": "dpsyn.mechanisms.dp_gan:DPGAN",
    "local_perturbation": "dpsyn.mechanisms.local_perturbation:LocalPerturbation",
    "random_projection": "dpsyn.mechanisms.random_projection:RandomProjection",
}
"""Registered name -> module and configuration class."""
THE_THREE = ("private_sampling", "noisy_reweighting", "dp_cda")
THE_FIELD = tuple(name for name in MECHANISMS if name not in THE_THREE)
"""What the project is about, and other systems to compare them with."""
JUDGED = tuple(name for name in MECHANISMS if (Path(__file__).parent / name / "theorems.py").is_file())
"""Those with theorems on when to use them, which offer ``theorems:verdict``; known without importing them."""
NEEDS_CLASSES = "needs a column of classes"
"""Why a mechanism cannot run without a column to predict."""
DEMONSTRATIONS: dict[str, str] = {"dp_cda_as_published": "dpsyn.mechanisms.dp_cda:PublishedDPCDA"}
"""The same for algorithms whose published claim is refuted. Their releases are kept and shown, with that mark."""


def judged_with(target: str | None) -> list[str]:
    """Those of :data:`JUDGED` that can run with this column to predict: without one none that needs classes."""
    return [name for name in JUDGED if config_class(name).as_it_comes(1, target) is not None]


def as_it_comes(name: str, table: AnyTable, target: str | None) -> Config | None:
    """The settings that a mechanism has for a table when nobody chooses any, releasing as many rows as there are; of a table
    that is counted in place as many as an engine draws.

    Args:
        name: registered.
        table: the rows.
        target: the column to predict; None comes back from a mechanism that needs one, without it.

    Raises:
        ParameterError: no mechanism has this name, there is no table, or the target is no name.
    """
    from dpsyn import checks
    from dpsyn.data.counted import AnyTable

    checks.instance("table", table, AnyTable, "a dpsyn Table, which dpsyn.read_table(...) makes")
    rows = table.drawn.n
    config = config_class(name).as_it_comes(rows, target)
    unsaid = rows < table.n and getattr(config, "rows", rows) is None
    return replace(config, rows=rows) if config is not None and unsaid else config  # type: ignore[call-arg]


def config_class(name: str) -> type[Config]:
    """The configuration class that a name stands for.

    Raises:
        ParameterError: no mechanism has this name.
    """
    from dpsyn import checks

    known = MECHANISMS | DEMONSTRATIONS
    module, attribute = known[checks.choice("mechanism", name, known)].split(":")
    found: type[Config] = getattr(import_module(module), attribute)
    return found


@cache
def title(name: str) -> str:
    """What to call a mechanism on a page."""
    return config_class(name).title


@cache
def offered(name: str, place: str) -> Any:
    """What a mechanism offers at ``"module:attribute"`` of its folder, e.g. ``"panels:show"``; None if it offers none there.

    docs/house.md lists what pages ask for. A name that is no mechanism's offers nothing.
    """
    home = (MECHANISMS | DEMONSTRATIONS).get(name)
    if home is None:
        return None
    module, attribute = place.split(":")
    where = f"{home.split(':')[0]}.{module}"
    try:
        there = find_spec(where) is not None
    except ModuleNotFoundError:  # a mechanism that is one file has no folder
        there = False
    return getattr(import_module(where), attribute, None) if there else None
