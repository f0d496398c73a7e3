"""DP-Mix under audit: all records but one at one end of a line."""

from functools import partial

from dpsyn.mechanisms.audit import Trial, audit_points
from dpsyn.mechanisms.dp_mix.mechanism import DPMix, DPMixMechanism
from dpsyn.privacy.audit import Claim, profile_of
from dpsyn.privacy.mixing.exact import change_epsilon
from dpsyn.privacy.mixing.pairs import mixed_classes
from dpsyn.privacy.spec import PrivacySpec

_RECORDS = 20


def worst_case(spec: PrivacySpec) -> Trial:
    """20 records, as many rows, 4 of the records in each."""
    config = DPMix(rows=_RECORDS, size=_RECORDS)
    return partial(audit_points, config, spec, n=_RECORDS, picked=config.order_of_mixture, profile=_profile)


def _profile(mechanism: DPMixMechanism) -> list[Claim]:
    order = mechanism.config.order_of_mixture
    classes = mixed_classes(order, [mechanism.size], [mechanism.rows], "fixed_size")
    multiplier = mechanism.noise_scale / mechanism.sensitivity
    neighbouring = mechanism.spec.neighbouring
    return profile_of(lambda delta: change_epsilon(neighbouring, classes, multiplier, delta), mechanism.spec.delta)
