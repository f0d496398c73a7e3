"""The field before a run: times that are known, and links to what it came from."""

from __future__ import annotations

import pytest

import dpsyn
from dpsyn.mechanisms.registry import THE_FIELD, config_class, offered

WIDE = dpsyn.Domain.of(dpsyn.Attribute(f"c{j}", "categorical", tuple(range(12)), public=True) for j in range(30))


@pytest.mark.parametrize("name", THE_FIELD)
def test_it_says_how_long_a_run_takes_and_longer_on_larger_tables(name: str) -> None:
    seconds, asia = offered(name, "expectations:seconds"), dpsyn.load_sample("asia")
    small = config_class(name)().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), asia.domain, asia.n)
    assert 0 < seconds(small) < 10  # all of them together run on ASIA within a minute
    if name != "mwem":  # it keeps a weight for every possible row
        large = config_class(name)().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), WIDE, 10**6)
        assert seconds(large) > seconds(small)
