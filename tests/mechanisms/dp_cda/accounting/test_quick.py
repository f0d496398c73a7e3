"""The three accountants behind the pictures of DP-CDA, and the search for σ."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.dp_cda import counterexamples as dp_cda
from dpsyn.mechanisms.dp_cda.accounting.functions import ACCOUNTANTS, dp_cda_epsilon, dp_cda_noise_scale
from dpsyn.mechanisms.dp_cda.accounting.quick import FINE, Sizes, attained_epsilon, epsilon_at, first_guess, sigma_for
from dpsyn.privacy.mixing.pld import smallest_multiplier
from tests.mechanisms.dp_cda import changes

MNIST = Sizes.stated(n=60_000, classes=10, smallest_class=6000, rows=60_000, delta=1e-5)
DIGITS = Sizes.stated(n=1797, classes=10, smallest_class=179, rows=1797, delta=1e-5)


def test_accountants_are_the_functions_that_they_name() -> None:
    shared = {"order_of_mixture": 16, "sigma": 0.1, "delta": 1e-5}
    published = dp_cda.published_epsilon(n=60_000, rows=60_000, **shared)
    rdp = dp_cda_epsilon(0.1, 1e-5, 16, 1.0, [6000] * 10, [6000] * 10, "rdp")
    exact = changes.replace_one_epsilon(clip_norm=1.0, class_sizes=[6000, 6000], rows=6000, tolerance=1e-3, **shared)
    assert epsilon_at(MNIST, 16, 0.1, "published") == published
    assert epsilon_at(MNIST, 16, 0.1, "rdp") == rdp
    coarse = epsilon_at(MNIST, 16, 0.1, "exact")
    assert 0.998 * exact <= coarse <= 1.06 * exact
    assert exact < rdp


# σ for ε = 10 at δ = 1e-5 and c = 1 from an independent computation: published, and exact replace-one.
REFERENCE = [
    (MNIST, 4, 0.20912, 0.19465),
    (MNIST, 64, 0.021687, 0.026341),
    (DIGITS, 4, 0.27200, 0.28004),
    (DIGITS, 64, 0.071526, 0.106226),
]


@pytest.mark.parametrize(("facts", "order", "published", "exact"), REFERENCE)
def test_noise_levels(facts: Sizes, order: int, published: float, exact: float) -> None:
    assert sigma_for(facts, order, 10.0, "published") == pytest.approx(published, rel=1e-3)
    found = sigma_for(facts, order, 10.0, "exact")
    assert found is not None
    assert 0.998 * exact <= found <= 1.03 * exact


@pytest.mark.parametrize(
    ("n", "classes", "rows", "order", "epsilon"),
    [(1797, 10, 1, 64, 0.1), (2000, 2, 70, 1, 50.0), (500, 1, 5000, 3, 0.1), (1797, 10, 5000, 16, 2.0), (500, 1, 1, 1, 7.0)],
)
def test_the_sigma_found_meets_the_target_and_a_tenth_less_does_not(
    n: int, classes: int, rows: int, order: int, epsilon: float
) -> None:
    facts = Sizes.stated(n, classes, n // classes, rows, 1e-5)
    for accountant in ("rdp", "exact"):
        sigma = sigma_for(facts, order, epsilon, accountant)
        assert sigma is not None
        assert epsilon_at(facts, order, sigma, accountant) <= epsilon
        fine = epsilon_at(facts, order, 0.9 * sigma, accountant, 1e-3)
        assert fine > epsilon


def test_a_fine_sigma_is_that_of_a_release() -> None:
    for epsilon in (1.0, 10.0):
        found = sigma_for(DIGITS, 4, epsilon, tolerance=1e-3)
        assert found == dp_cda_noise_scale(epsilon, 1e-5, 4, 1.0, [179] * 10, [179] * 10)
        coarse = sigma_for(DIGITS, 4, epsilon)
        assert found is not None
        assert coarse is not None
        assert found * (1 - 1e-3) <= coarse <= 1.03 * found


def test_no_sigma() -> None:
    assert sigma_for(DIGITS, 180, 1.0, "exact") is None
    assert sigma_for(DIGITS, 179, 1.0, "exact") is not None
    assert sigma_for(DIGITS, 4, 3.8, "published") is None
    assert sigma_for(DIGITS, 4, 3.9, "published") is not None
    assert sigma_for(DIGITS, 4, 0.019, "rdp") is None
    assert sigma_for(DIGITS, 4, 0.05, "rdp") is not None


def test_where_delta_alone_covers_the_chance_of_being_drawn_a_search_ends() -> None:
    """l = 1, N_k = 5·10⁸ and 500 rows a class: a record is drawn with probability 10⁻⁶ < δ, so ε = 0 at every σ."""
    facts = Sizes.stated(10**9, 2, 5 * 10**8, 1000, 1e-5)
    sigma = sigma_for(facts, 1, 1.0, "exact")
    assert sigma is not None
    assert sigma < 1e-2
    assert epsilon_at(facts, 1, sigma, "exact") == 0.0


def test_the_first_guess_is_close() -> None:
    for epsilon in (0.1, 1.0, 10.0):
        for order in (4, 64):
            sigma = sigma_for(DIGITS, order, epsilon, "exact")
            assert sigma is not None
            assert first_guess(DIGITS, order, epsilon) == pytest.approx(sigma, rel=0.35)


@given(st.floats(-8, 8), st.floats(0.2, 8.0), st.floats(-4, 4))
def test_search_on_power_laws(log_scale: float, exponent: float, log_guess: float) -> None:
    """ε(σ) = scale·σ^-exponent, from any guess."""
    calls = []

    def epsilon_of(sigma: float) -> float:
        calls.append(sigma)
        return math.exp(log_scale - exponent * math.log(sigma))

    found = smallest_multiplier(epsilon_of, 2.0, math.exp(log_guess), 0.02)
    exact = math.exp((log_scale - math.log(2.0)) / exponent)
    if found > 1.01e-4 * math.exp(log_guess):
        assert exact * (1 - 1e-12) <= found <= exact * math.exp(0.021 * max(1, 1 / exponent))
    assert found in [pytest.approx(call) for call in calls]


def test_search_survives_a_step_and_gives_up_on_the_impossible() -> None:
    found = smallest_multiplier(lambda sigma: 0.0 if sigma >= 3.0 else math.inf, 1.0, 0.01, 0.02)
    assert 3.0 <= found <= 3.0 * 1.021
    with pytest.raises(CalibrationError):
        smallest_multiplier(lambda sigma: 5.0, 1.0, 1.0, 0.02)


@pytest.mark.parametrize(
    ("field", "value"),
    [("n", 0), ("classes", 0), ("rows", 0), ("smallest_class", 180), ("delta", 1.0), ("clip_norm", -1.0)],
)
def test_meaningless_facts_name_their_field(field: str, value: float) -> None:
    arguments = {"n": 1797, "classes": 10, "smallest_class": 179, "rows": 1797, "delta": 1e-5, "clip_norm": 1.0}
    with pytest.raises(ParameterError) as caught:
        Sizes.stated(**(arguments | {field: value}))  # type: ignore[arg-type]
    assert caught.value.field == field


def test_meaningless_questions_name_their_field() -> None:
    assert set(ACCOUNTANTS) == {"published", "rdp", "exact"}
    with pytest.raises(ParameterError, match="accountant"):
        epsilon_at(DIGITS, 4, 0.3, "none")  # type: ignore[arg-type]
    for order in (0, 180):
        with pytest.raises(ParameterError, match="order_of_mixture"):
            epsilon_at(DIGITS, order, 0.3, "exact")
    with pytest.raises(ParameterError, match="epsilon"):
        sigma_for(DIGITS, 4, 0.0, "exact")


@pytest.mark.parametrize(("facts", "order", "sigma"), [(DIGITS, 4, 0.28), (DIGITS, 64, 0.106)])
def test_an_epsilon_that_refutes_lies_below_what_the_discretisation_can_add(facts: Sizes, order: int, sigma: float) -> None:
    """The accountant's ε is at most a share FINE too large; what two datasets really have is below it by more."""
    exact = dp_cda_epsilon(sigma, 1e-5, order, 1.0, [179] * 2, 179, neighbouring="label_change", tolerance=1e-4)
    attained = attained_epsilon(facts, order, sigma)
    assert exact * 0.98 < attained <= exact / (1 + FINE)
