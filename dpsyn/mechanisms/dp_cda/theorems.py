"""DP-CDA (Saha, Tonoy, Imtiaz 2024): what must hold for its exact guarantee, as conditions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from dpsyn.dates import day_texts
from dpsyn.errors import InputError, ParameterError
from dpsyn.mechanisms.dp_cda.accounting.quick import TOLERANCE, Sizes, epsilon_at, sigma_for
from dpsyn.mechanisms.feature_map import changed_by_noise
from dpsyn.notation import counted, short
from dpsyn.privacy.spec import Neighbouring, PrivacySpec, delta_up, rounded_down, rounded_up
from dpsyn.privacy.zcdp import zcdp_rho
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import Condition, Headline, Remedy, Verdict
from dpsyn.theory.logarithms import exp_of, float_of, format_log, log_of, nearest_float
from dpsyn.theory.thresholds import single_change, summarise, threshold, whole_threshold

_NOTICEABLE = 0.005
"""Share of values that the noise changes from which on the headline says so."""


@dataclass(frozen=True)
class MixingSetting:
    """What DP-CDA's guarantee depends on: the arguments of :func:`verdict`, and the sizes as the accountants know them.

    ``columns``: how many are mixed, where some of them have two values; else 0. No guarantee depends on it.
    """

    n: int
    spec: PrivacySpec
    classes: int = 2
    smallest_class: int | None = None
    order_of_mixture: int = 4
    rows: int = 1
    noise_scale: float | None = None
    clip_norm: float = 1.0
    exact: bool | None = None
    columns: int = 0
    sizes: Sizes = field(init=False)

    def __post_init__(self) -> None:
        if self.order_of_mixture < 1:
            raise ParameterError("order_of_mixture", self.order_of_mixture, "at least 1")
        if self.noise_scale is not None and not (math.isfinite(self.noise_scale) and self.noise_scale > 0):
            raise ParameterError("noise_scale", self.noise_scale, "a finite number > 0")
        stated = self.n, self.classes, self.smallest_class, self.rows, self.spec.delta, self.clip_norm
        object.__setattr__(self, "sizes", Sizes.stated(*stated, neighbouring=self.spec.neighbouring))

    @property
    def takes_balance_for_granted(self) -> bool:
        """Whether the smallest class is nobody's knowledge."""
        return self.smallest_class is None and self.classes > 1

    @property
    def sensitivity(self) -> float:
        """2c/l, how far one record moves an average."""
        return 2 * self.clip_norm / self.order_of_mixture

    @property
    def is_exact(self) -> bool:
        """Whether σ is found by the exact accountant."""
        return self.sizes.is_quick if self.exact is None else self.exact

    @property
    def can_be_accounted(self) -> bool:
        """Whether the accountants' arguments are in range."""
        return self.spec.delta > 0 and self.order_of_mixture <= self.sizes.smallest


def plain_gaussian_sigma(setting: MixingSetting) -> float:
    """σ that is enough without counting on the sampling: one record in every row of (two) classes, ρ-zCDP composed.

    Each row is a Gaussian mechanism of sensitivity Δ = 2c/l, so its ρ is Δ²/(2σ²); a record is in one class, or leaves one
    class and enters another, so at most 2·T_k rows can change.
    """
    touched = setting.sizes.most_rows * (2 if setting.spec.neighbouring == "replace_one" and setting.classes > 1 else 1)
    return setting.sensitivity * math.sqrt(touched / (2 * zcdp_rho(setting.spec.epsilon, setting.spec.delta)))


def exact_epsilon(setting: MixingSetting, noise_scale: float) -> float:
    """ε at this σ by the exact accountant (an upper bound, within 2 %)."""
    return epsilon_at(setting.sizes, setting.order_of_mixture, noise_scale, tolerance=TOLERANCE)


def exact_sigma(setting: MixingSetting) -> float:
    """About the smallest σ that is private by the exact accountant: its ε is at most the target, and close to it."""
    found = sigma_for(setting.sizes, setting.order_of_mixture, setting.spec.epsilon, tolerance=TOLERANCE)
    if found is None:
        raise ParameterError("order_of_mixture", setting.order_of_mixture, f"at most {setting.sizes.smallest}")
    return found


def conditions(setting: MixingSetting) -> tuple[Condition, ...]:
    """l ≤ N_k, δ > 0, public scaling and classes, enough noise."""
    log_l, log_size = math.log(setting.order_of_mixture), log_of(setting.sizes.smallest)
    mixable = [whole_threshold("order_of_mixture", "at_most", log_size, log_l)] if setting.sizes.smallest else []
    if setting.smallest_class is None:
        mixable.append(whole_threshold("n", "at_least", log_l + math.log(setting.classes), math.log(setting.n)))
    else:
        mixable.append(whole_threshold("smallest_class", "at_least", log_l, log_size))
    guessed = setting.takes_balance_for_granted
    label = "Every class that rows are made of has enough records to mix"
    positive = () if setting.spec.delta > 0 else (Remedy("delta", "at_least", math.log(1e-5), -math.inf),)
    return (
        Condition(
            "order_of_mixture", f"{label}, {_balanced(setting)}" if guessed else label, r"l \le \min_k N_k",
            "Section 3 (corrected)", "<=", log_size, log_l, "validity", tuple(mixable),
            # More than n / K is too many for certain; less may be too many for a class that is smaller.
            assumed=guessed and log_l <= log_size,
            note="The smallest class is taken as n / K, as if the classes were balanced: state it to be sure."
            if guessed else "",
        ),
        Condition(
            "delta", "Delta is positive", r"\delta > 0", "Gaussian noise", ">=", -math.inf, log_of(setting.spec.delta),
            "privacy", positive, strict=True,
            note="Gaussian noise gives no pure ε-differential privacy. Any δ > 0 does; well below 1/n is usual.",
        ),
        Condition(
            "public_scaling", "Scaling by public bounds", r"\text{bounds known without the data}",
            "Section 3.2 (corrected)", "<=", 0.0, 0.0, "privacy", assumed=True,
            note="Assumed: with the published z-score, one record shifts every other record and no noise of this "
            "size hides that.",
        ),
        Condition(
            "public_classes", "Class list and smallest class size are public",
            r"K,\ \min_k N_k\ \text{known without the data}",
            "Section 3.2 (corrected)", "<=", 0.0, 0.0, "privacy", assumed=True,
            note="Assumed here; the mechanism can instead estimate the class counts privately, for part of ε.",
        ),
        *_noise_condition(setting),
    )  # fmt: skip


def _balanced(setting: MixingSetting) -> str:
    return f"if the smallest class holds n/K = {counted(setting.sizes.smallest, 'record')}"


def _noise_condition(setting: MixingSetting) -> tuple[Condition, ...]:
    """Nothing where no noise scale is private: other conditions say why."""
    if not setting.can_be_accounted:
        return ()
    label, source, formula = "Enough noise", "Exact accountant", r"\sigma \ge \sigma(\varepsilon, \delta)"
    log_epsilon = math.log(setting.spec.epsilon)
    if setting.noise_scale is not None:
        epsilon = exact_epsilon(setting, setting.noise_scale)
        remedies = [threshold("epsilon", "at_least", log_of(epsilon), log_epsilon)] if 0 < epsilon < math.inf else []
        if setting.is_exact:
            needed, now = math.log(exact_sigma(setting)), math.log(setting.noise_scale)
            remedies.append(threshold("noise_scale", "at_least", needed, now))
        formula = r"\varepsilon(\sigma) \le \varepsilon"
        guessed = setting.takes_balance_for_granted
        return (
            Condition(
                "noise", f"{label}, {_balanced(setting)}" if guessed else label, formula, source, "<=", log_epsilon,
                log_of(epsilon), "privacy", tuple(remedies), assumed=guessed and epsilon <= setting.spec.epsilon,
            ),
        )  # fmt: skip
    needed = math.log(exact_sigma(setting) if setting.is_exact else plain_gaussian_sigma(setting))
    note = "σ is chosen so; " + (
        "the smallest by the exact accountant." if setting.is_exact
        else "an upper bound that ignores the sampling of records. Exact accounting gives the smaller value that the "
        "mechanism uses."
    )  # fmt: skip
    return (Condition("noise", label, formula, source, ">=", needed, needed, "privacy", assumed=True, note=note),)


def dp_cda_verdict(setting: MixingSetting) -> Verdict:
    """Conditions and noise scales of DP-CDA."""
    found = conditions(setting)
    noise = found[-1] if setting.can_be_accounted else None
    facts: dict[str, Any] = {
        "class_size": float_of(setting.sizes.smallest),
        "rows_per_class": float_of(setting.sizes.most_rows),
        "sensitivity": setting.sensitivity,
        "sampling_rate": setting.order_of_mixture / setting.sizes.smallest if setting.sizes.smallest else None,
        "sigma_without_sampling": plain_gaussian_sigma(setting) if setting.spec.delta > 0 else None,
        "sigma_exact": exact_sigma(setting) if setting.is_exact and setting.can_be_accounted else None,
        "noise_scale": setting.noise_scale,
        "epsilon_at_noise_scale": None if noise is None or setting.noise_scale is None else exp_of(noise.log_actual),
    }
    scale = setting.noise_scale if noise is None or setting.noise_scale is not None else exp_of(noise.log_required)
    privacy = f"({short(setting.spec.epsilon)}, {short(setting.spec.delta)})-differentially private"
    bound = setting.noise_scale is None and not setting.is_exact
    noisy = "Gaussian noise" if bound else f"noise of scale {format_log(log_of(scale or 0.0), side='at_least')}"
    promise = (
        f"{noisy} on averages of {setting.order_of_mixture} records makes a sample with at most "
        f"{setting.sizes.most_rows:,} of each class {privacy}"
    )
    change = single_change(found, lambda parameter, log_value: conditions(_changed(setting, parameter, log_value)))
    return Verdict(
        mechanism="dp_cda",
        title="DP-CDA",
        conditions=found,
        summary=summarise(found, promise, change, provided=_balanced(setting) if setting.takes_balance_for_granted else ""),
        headline=_headline(setting, found, None if bound else scale),
        change=change,
        facts=facts,
        notes=(
            "The paper proves nothing about accuracy, so no condition on accuracy is shown.",
            "As many rows of each class, as in the paper, are assumed. By default the mechanism makes them in "
            "proportion to the class sizes: smaller classes have fewer rows, and the noise is found for these.",
            "The published accountant is not used: it samples from the whole table instead of one class, and has a misprint "
            "that can understate ε.",
        ),
        symbols={
            "l": str(setting.order_of_mixture),
            r"\min_k N_k": log_of(setting.sizes.smallest),
            r"\delta": log_of(setting.spec.delta),
            r"\varepsilon": math.log(setting.spec.epsilon),
            **({} if setting.noise_scale is None else {r"\sigma": math.log(setting.noise_scale)}),
        },
    )


def _headline(setting: MixingSetting, found: tuple[Condition, ...], scale: float | None) -> Headline:
    """No theorem is about the error, so nothing is promised of it."""
    missed = [c for c in found if not c.holds]
    if missed:
        return Headline("—", f'Not private: "{missed[0].label}" does not hold.', "bad")
    sigma = f"σ = {format_log(log_of(scale), 3, 'at_least')}" if scale else "σ not computed"
    public = " if class sizes are public" if setting.classes > 1 else ""
    given = f" {_balanced(setting)}" if setting.takes_balance_for_granted else public
    share = changed_by_noise(scale, setting.columns) if scale and setting.columns else 0.0
    if share >= _NOTICEABLE:
        words = f"The noise changes at least {rounded_down(100 * share, 2)} % of yes/no values; no theorem bounds the error."
        return Headline(sigma, f"Private{given}. {words}", "open")
    given = (f" with noise {sigma}" if scale else " with enough noise") + given
    order = setting.order_of_mixture
    blurred = f": each row averages {order} records, which blurs relations between columns" if order > 1 else ""
    return Headline(sigma, f"Private{given}, but no theorem bounds the error{blurred}.", "open")


def _changed(setting: MixingSetting, parameter: str, log_value: float) -> MixingSetting:
    value = nearest_float(log_value)
    if parameter in ("epsilon", "delta"):
        epsilon = value if parameter == "epsilon" else setting.spec.epsilon
        delta = value if parameter == "delta" else setting.spec.delta
        neighbouring: Neighbouring = setting.spec.neighbouring
        return replace(setting, spec=PrivacySpec(epsilon, delta, neighbouring, setting.spec.unit))
    change: dict[str, Any] = {parameter: value if parameter == "noise_scale" else round(value)}
    if parameter == "smallest_class":
        change["n"] = max(setting.n, setting.classes * round(value))
    return replace(setting, **change)


def verdict(
    stats: DatasetStatistics,
    spec: PrivacySpec,
    *,
    rows: int = 1,
    order_of_mixture: int = 4,
    classes: int = 2,
    smallest_class: int | None = None,
    noise_scale: float | None = None,
    clip_norm: float = 1.0,
    exact_accounting: bool | None = None,
) -> Verdict:
    """The verdict on DP-CDA for one dataset.

    Args:
        stats: n of the data.
        spec: ε, δ and the neighbours; δ > 0 is a condition.
        rows: k, synthetic rows, T_k = max(1, k // K) of each class.
        order_of_mixture: l.
        classes: K, public.
        smallest_class: public lower bound on its N_k; None takes n // K, the largest that it can be.
        noise_scale: its σ; None takes one that is private.
        clip_norm: its c.
        exact_accounting: find the smallest σ by the exact accountant (True), or only a σ that is enough without counting on
            sampling, which can be a hundred times larger (False), or the former where it is quick (None). With a
            ``noise_scale`` its ε is always by the exact accountant.
    """
    mixed = sum(size > 1 for size in stats.sizes or ()) - (classes > 1)
    columns = max(mixed, 0) if 2 in (stats.sizes or ()) else 0
    setting = MixingSetting(
        stats.n, spec, classes, smallest_class, order_of_mixture, rows, noise_scale, clip_norm, exact_accounting, columns
    )
    return dp_cda_verdict(setting)


def of_release(
    settings: Mapping[str, Any], released: pd.DataFrame, stats: DatasetStatistics, real: pd.DataFrame
) -> tuple[PrivacySpec, dict[str, Any], str]:
    """ε and δ of a release's averages (what the class counts leave of the budget), its settings as :func:`verdict` takes
    them (l, T as if every class had the most rows of one, clip radius, classes), and these in words.

    The smallest class is the declared one, or else the real one among those that the release has rows of.

    Raises:
        InputError: the conditions are not about such a release.
    """
    if settings["variant"] != "fixed_size":
        raise InputError("the conditions are about mixing exactly l records, and this release mixed Poisson samples")
    if settings["scaling"] != "public":
        raise InputError("the conditions are about scaling by public bounds, and this release scaled by noisy means")
    order, classes, sizes = settings["order_of_mixture"], len(settings["classes"]), settings["class_sizes"]
    smallest = min(sizes.values()) if isinstance(sizes, Mapping) else sizes
    target = settings["target"]
    if smallest is None and target in real:
        counts, mixed = _rows_by_class(real[target]), _rows_by_class(released[target])
        smallest, classes = min(counts[value] for value in mixed), len(mixed)
    spec = PrivacySpec(**settings["requested"])
    part = next(entry for entry in settings["ledger"] if entry["name"] == "averages")
    averages = PrivacySpec(part["epsilon"], part["delta"], spec.neighbouring)
    per_class = int(released[target].value_counts(dropna=False).max())
    asked = {
        "order_of_mixture": order,
        "classes": classes,
        "smallest_class": None if smallest is None else min(int(smallest), stats.n // classes),
        "rows": classes * per_class,
        "clip_norm": settings["sensitivity"] * order / 2,
    }
    words = f"l = {order}, at most {per_class:,} rows of each class"
    if averages != spec:
        words += f"; class counts have their part, the averages ε = {rounded_up(averages.epsilon, 4)}"
        words += f", δ = {delta_up(averages.delta)}"
    return averages, asked, words


def _rows_by_class(column: pd.Series[Any]) -> Counter[Any]:
    """How many rows each value has, of whatever type the column is; where a cell may be empty, that is a class."""
    cells = day_texts(column).astype(object)
    return Counter(cells.where(cells.notna(), None).tolist())
