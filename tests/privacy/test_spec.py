"""The specification refuses what is not a guarantee, and the claim reads as a sentence."""

import math

import pytest

from dpsyn.errors import ParameterError
from dpsyn.privacy.spec import Guarantee, PrivacySpec


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("epsilon", {"epsilon": 0}),
        ("epsilon", {"epsilon": -1.0}),
        ("epsilon", {"epsilon": math.nan}),
        ("epsilon", {"epsilon": math.inf}),
        ("epsilon", {"epsilon": "1"}),
        ("delta", {"epsilon": 1.0, "delta": 1.0}),
        ("delta", {"epsilon": 1.0, "delta": -1e-9}),
        ("neighbouring", {"epsilon": 1.0, "neighbouring": "swap"}),
        ("unit", {"epsilon": 1.0, "unit": "user"}),
    ],
)
def test_wrong_values_are_named(field, values):
    with pytest.raises(ParameterError) as caught:
        PrivacySpec(**values)
    assert caught.value.field == field


def test_a_claim_reads_as_a_sentence():
    pure = Guarantee(1.0, 0.0, "replace_one", "Theorem")
    assert str(pure) == "1-differentially private under replacing one row"
    approximate = Guarantee(0.5, 1e-5, "add_remove", "Theorem")
    assert str(approximate) == "(0.5, 1e-05)-differentially private under adding or removing one row"
    assert pure.to_dict()["status"] == "proven"
