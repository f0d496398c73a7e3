"""A δ so large that it covers the chance that a row uses the record at all: hardly any noise is needed, and soon found."""

from __future__ import annotations

import math
from itertools import product

import pytest

import dpsyn
from dpsyn.privacy.mixing import pld
from dpsyn.privacy.mixing.exact import calibrate_sigma, change_epsilon, mixed_classes
from dpsyn.privacy.mixing.pld import Part, composed_epsilon, noiseless_epsilon

ASIA = dpsyn.load_sample("asia")


def laws(pair: str, rate: float) -> list[tuple[float, float]]:
    """Both laws of what one row shows without noise: nothing, the record, or the other record in its place."""
    with_it, without = (1 - rate, rate, 0.0), (1.0, 0.0, 0.0)
    first, second = {"remove": (with_it, without), "add": (without, with_it)}.get(pair, (with_it, (1 - rate, 0.0, rate)))
    return list(zip(first, second, strict=True))


def delta_by_hand(parts: list[Part], epsilon: float) -> float:
    rows = [law for part in parts for law in [laws(part.pair, part.rate)] * part.rows]
    return math.fsum(
        max(math.prod(a for a, _ in shown) - math.exp(epsilon) * math.prod(b for _, b in shown), 0.0)
        for shown in product(*rows)
    )


@pytest.mark.parametrize(
    "parts",
    [
        [Part("remove", 0.3, 4)],
        [Part("add", 0.3, 4)],
        [Part("replace", 0.2, 5)],
        [Part("swap", 0.2, 5)],
        [Part("remove", 0.3, 2), Part("add", 0.4, 4)],
        [Part("add", 0.1, 3), Part("remove", 0.5, 2), Part("swap", 0.2, 1)],
    ],
)
def test_without_noise_it_is_what_the_laws_of_all_rows_say(parts: list[Part]) -> None:
    reached = delta_by_hand(parts, 0.0)
    limit = delta_by_hand(parts, 40.0)  # what no ε of that size covers: that a row shows the record
    for delta in (0.999 * limit, 1.001 * limit, 0.6 * limit + 0.4 * reached + 1e-9, 1.001 * reached, 0.9999):
        found = noiseless_epsilon(parts, delta)
        if found < math.inf:
            assert delta_by_hand(parts, found) <= delta * (1 + 1e-9)
        assert (found == math.inf) is (delta < limit)
        if 0 < found < math.inf:
            assert delta_by_hand(parts, found - 1e-6) > delta


def test_a_release_that_every_row_shows_is_not_covered() -> None:
    assert noiseless_epsilon([Part("remove", 0.1, 2), Part("remove", 1.0, 1, 3.0)], 0.9999) == math.inf


def test_noise_that_vanishes_leaves_what_rows_show_without_any() -> None:
    parts = [Part("remove", 0.3, 2), Part("add", 0.4, 4)]
    bound = noiseless_epsilon(parts, 0.55)
    near = [composed_epsilon(parts, multiplier, 0.55, 0.02) for multiplier in (0.5, 0.3, 0.2)]
    assert 0 < bound < math.inf
    assert near == sorted(near)
    assert 0.97 * bound < near[-1] <= bound


@pytest.mark.parametrize(("delta", "most"), [(0.99, 20), (0.999, 20), (1 - 1e-12, 20), (0.97, 120)])
def test_little_has_to_be_composed(delta: float, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, on_grid = [], pld._on_grid
    monkeypatch.setattr(pld, "_on_grid", lambda *a: calls.append(a) or on_grid(*a))
    mechanism = dpsyn.DPCDA("asia", class_sizes=100, rows=200).calibrate(dpsyn.PrivacySpec(1.0, delta), ASIA.domain, 10_000)
    assert mechanism.guarantee.delta == delta
    assert len(calls) <= most
    classes = mixed_classes(4, [100, 100], [100, 100], "fixed_size")
    sigma = calibrate_sigma(
        epsilon=1.0, delta=delta, order_of_mixture=4, clip_norm=1.0, class_sizes=[100] * 2, rows=[100] * 2
    )
    assert change_epsilon("replace_one", classes, sigma * 4 / 2, delta) <= 1.0
