"""What is asked for and claimed, the noise, sensitivities and accountants.

DP-CDA's accounting as plain functions is loaded on first use: ``from dpsyn.privacy import dp_cda_epsilon``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpsyn.mechanisms.dp_cda.accounting.functions import dp_cda_epsilon as dp_cda_epsilon
    from dpsyn.mechanisms.dp_cda.accounting.functions import dp_cda_noise_scale as dp_cda_noise_scale

__all__ = ["dp_cda_epsilon", "dp_cda_noise_scale"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'dpsyn.privacy' has no attribute {name!r}")
    return getattr(import_module("dpsyn.mechanisms.dp_cda.accounting.functions"), name)
