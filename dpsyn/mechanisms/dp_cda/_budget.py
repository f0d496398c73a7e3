"""How ε and δ are shared out, and the ledger that says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpsyn.mechanisms.dp_cda._class_sizes import count_margin
from dpsyn.mechanisms.dp_cda._standard import StandardRelease, standard_release
from dpsyn.privacy.spec import PrivacySpec

if TYPE_CHECKING:
    from dpsyn.mechanisms.dp_cda._config import DPCDA

OVERSTATED_SHARE = 0.1
"""Share of δ for the event that privately estimated class sizes, less their margin, overstate a true one."""


@dataclass(frozen=True)
class Budget:
    """ε and δ of every part.

    Attributes:
        epsilon_for_counts: ε₁, zero if the class sizes are public.
        overstated_probability: β, zero if the class sizes are public or need not be right.
        epsilon, delta: what is left for means, deviations and averages together.
        count_noise_scale: s of the discrete Laplace noise on every class count; 0 if there is none.
        count_margin: t, taken off every noisy count.
        standard: the release of means and deviations, if there is one.
    """

    epsilon_for_counts: float
    overstated_probability: float
    epsilon: float
    delta: float
    count_noise_scale: float
    count_margin: int
    standard: StandardRelease | None

    @property
    def counted(self) -> bool:
        """Whether class sizes are estimated."""
        return self.epsilon_for_counts > 0

    @classmethod
    def split(cls, config: DPCDA, spec: PrivacySpec, numbers: int, classes: int, *, counted: bool) -> Budget:
        """The shares that the configuration asks for."""
        first = config.count_share * spec.epsilon if counted else 0.0
        beta = OVERSTATED_SHARE * spec.delta if counted and config.variant == "fixed_size" else 0.0
        scale = (2 if spec.neighbouring == "replace_one" else 1) / first if counted else 0.0
        epsilon, delta = spec.epsilon - first, spec.delta - beta
        standard = None
        if config.scaling == "private" and numbers > 0:
            standard = standard_release(config.scaling_share * epsilon, delta, numbers, spec.neighbouring)
        margin = count_margin(scale, classes, beta) if beta else 0
        return cls(first, beta, epsilon, delta, scale, margin, standard)

    def ledger(self, spec: PrivacySpec, averages: dict[str, Any]) -> list[dict[str, Any]]:
        """One entry a part; shares add up to 1. ε and δ of a part are those that it has by itself.

        Counts and the rest compose by adding up; means, deviations and averages as privacy-loss distributions, so that
        together they have ``epsilon`` and ``delta`` of the rest although their own ε add up to more.
        """
        entries: list[dict[str, Any]] = []
        if self.counted:
            entries.append(
                {
                    "name": "class counts",
                    "share": self.epsilon_for_counts / spec.epsilon,
                    "epsilon": self.epsilon_for_counts,
                    "delta": self.overstated_probability,
                    "noise": "discrete Laplace",
                    "scale": self.count_noise_scale,
                }
            )
        rest = self.epsilon / spec.epsilon
        share = 0.0
        if self.standard is not None:
            from dpsyn.mechanisms.dp_cda.accounting._pld import gaussian_epsilon

            alone = gaussian_epsilon(1 / self.standard.multiplier, self.delta)
            share = rest * alone / self.epsilon
            entries.append(
                {
                    "name": "means and deviations",
                    "share": share,
                    "epsilon": alone,
                    "delta": self.delta,
                    "noise": "discrete Gaussian",
                    "scale": self.standard.noise_scale,
                }
            )
        entries.append({"name": "averages", "share": rest - share, "delta": self.delta, "noise": "Gaussian"} | averages)
        return entries
