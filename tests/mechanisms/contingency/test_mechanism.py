"""The whole table: its threshold by the exact law of the noise, and by all that two neighbours can show."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.contingency.expectations import of_release, of_run
from dpsyn.mechanisms.contingency.mechanism import above, smallest_threshold
from dpsyn.notation import number
from dpsyn.solvers.coded import CodedRows
from dpsyn.table import Table
from tests.conformance.neighbours import Deaf, Exact, run

DOMAIN = dpsyn.Domain.of(dpsyn.Attribute(name, "categorical", tuple("pqrs"), public=True) for name in "ab")


def table_of(rows):
    return Table(pd.DataFrame(rows, columns=["a", "b"]), DOMAIN)


def law(scale, reach=400):
    """Of discrete Laplace noise, by position."""
    q = math.exp(-1 / scale)
    return {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-reach, reach + 1)}


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5])
def test_the_threshold_is_the_smallest_that_a_single_row_passes_with_at_most_delta(scale):
    noise = law(scale)
    for threshold in (2, 3, 9):
        exact = sum(p for z, p in noise.items() if 1 + z >= threshold)
        assert above(scale, threshold) == pytest.approx(exact, rel=1e-9)
    for delta in (0.2, 1e-3, 1e-6):
        found = smallest_threshold(scale, delta)
        assert above(scale, found) <= delta
        assert found == 2 or above(scale, found - 1) > delta * (1 - 1e-9)
    assert [smallest_threshold(scale, delta) for delta in (0.99, 0.9999)] == [2, 2]
    for threshold in (2, 5, 20):  # what equals δ but for rounding may be more
        found = smallest_threshold(scale, above(scale, threshold))
        assert isinstance(found, int)
        assert found == threshold + 1


def seen(count, scale, threshold):
    """The law of what is released of a cell: nothing (None), or a noisy count."""
    found = {None: 0.0}
    if count == 0:
        return {None: 1.0}
    for z, p in law(scale).items():
        key = count + z if count + z >= threshold else None
        found[key] = found.get(key, 0.0) + p
    return found


def delta_of(first, second, epsilon):
    """Σ (P - e^ε·Q)₊ over all outputs of pairs of cells that are released independently."""
    total = 0.0
    for a, b in product(first[0], first[1]):
        p = first[0][a] * first[1][b]
        q = second[0].get(a, 0.0) * second[1].get(b, 0.0)
        total += max(p - math.exp(epsilon) * q, 0.0)
    return total


@pytest.mark.parametrize("asked", [(1.2, 0.01), (0.3, 0.4), (0.45, 0.6)])
@pytest.mark.parametrize(("neighbouring", "cells"), [("add_remove", 1), ("replace_one", 2)])
def test_no_neighbour_shows_more_than_epsilon_and_delta(neighbouring, cells, asked):
    """All pairs of small counts, by the exact law of what is released of the cells that a neighbour moves."""
    epsilon, delta = asked
    config = dpsyn.Contingency(cells="present")
    mechanism = config.calibrate(dpsyn.PrivacySpec(epsilon, delta, neighbouring), DOMAIN, 5)
    scale, threshold = mechanism.release.scale, mechanism.threshold
    assert threshold is not None
    assert cells / scale <= epsilon
    worst = 0.0
    for one, other in product(range(3), range(1, 4)):
        # One cell gains the row; where rows are replaced another one loses it.
        mine = (seen(one, scale, threshold), seen(other if cells == 2 else 0, scale, threshold))
        theirs = (seen(one + 1, scale, threshold), seen(other - 1 if cells == 2 else 0, scale, threshold))
        for a, b in ((mine, theirs), (theirs, mine)):
            worst = max(worst, delta_of(a, b, epsilon))
    assert worst <= delta * (1 + 1e-9)
    # A lone cell that is not released tells no more than a count does, up to rounding. One less would be too little.
    assert math.log1p(-above(scale, threshold)) >= -epsilon / cells * (1 + 1e-9)
    lower = above(scale, threshold - 1)
    assert lower > delta or math.log1p(-lower) < -epsilon / cells
    halved = [(seen(count, scale / 2, threshold), {None: 1.0}) for count in (30, 31)]
    assert delta_of(halved[1], halved[0], epsilon / cells) > 0.05  # at full noise: 0


@pytest.mark.parametrize(("neighbouring", "moved"), [("add_remove", 1), ("replace_one", 2)])
def test_counts_cost_what_histograms_leave(neighbouring, moved):
    number = dpsyn.Attribute("x", "numeric", lower=0, upper=9, bins=3, public=True)
    spec = dpsyn.PrivacySpec(1.2, 0.01, neighbouring)
    config = dpsyn.Contingency(cells="present", histogram_share=0.5)
    mechanism = config.calibrate(spec, dpsyn.Domain.of((*DOMAIN.attributes, number)), 5)
    assert mechanism.stage.epsilon == pytest.approx(0.6)
    assert moved / mechanism.release.scale + mechanism.stage.epsilon <= 1.2 * (1 + 1e-12)


def test_cells_are_in_lexicographic_order_however_often_they_are_there():
    codes = np.array([[2, 0], [0, 1], [2, 1], [2, 1], [2, 1], [0, 1], [1, 3]], dtype=np.int32)
    present, counts = CodedRows(codes, (4, 4)).different()
    assert present.tolist() == [[0, 1], [1, 3], [2, 0], [2, 1]]
    assert counts.tolist() == [2, 1, 1, 3]


def test_only_cells_that_pass_the_threshold_are_released():
    rows = [("p", "p")] * 6 + [("q", "s")] * 2 + [("r", "r")]

    class Chosen(Deaf):
        def discrete_laplace(self, values, scale):
            self._noted("laplace", values, scale)
            return np.array([50, 3, 50])

    mechanism = dpsyn.Contingency(cells="present", rows=40).calibrate(dpsyn.PrivacySpec(1.0, 1e-4), DOMAIN, 9)
    assert 3 < mechanism.threshold < 50
    noise = Chosen()
    made, diagnostics = mechanism._run(noise, table_of(rows), lambda step, share: None)
    assert made.value_counts().to_dict() == {("p", "p"): 20, ("r", "r"): 20}
    assert diagnostics["rows_lost"] == 2
    ((_, values, scale),) = [(call.kind, call.values, call.scale) for call in noise.calls]
    assert values.tolist() == [6, 2, 1]
    assert scale == mechanism.release.scale


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_what_equals_the_threshold_passes_and_the_cells_that_do_say_how_many_rows_there_are(neighbouring):
    class Chosen(Deaf):
        def discrete_laplace(self, values, scale):
            return np.array([50, mechanism.threshold, mechanism.threshold - 1])

    mechanism = dpsyn.Contingency(cells="present").calibrate(dpsyn.PrivacySpec(1.0, 1e-4, neighbouring), DOMAIN, 9)
    table = table_of([("p", "p")] * 6 + [("q", "s")] * 2 + [("r", "r")])
    model, diagnostics = mechanism._model(Chosen(), CodedRows(table.codes, DOMAIN.shape), lambda step, share: None)
    assert diagnostics["cells_released"] == 2
    assert model.weights.tolist() == [50, mechanism.threshold]
    assert model.rows == (9 if neighbouring == "replace_one" else 50 + mechanism.threshold)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-3, 1e-5), (1.0, 1e-300), (1.0, 1e-5), (50.0, 1e-5)])
@pytest.mark.parametrize("cells", [1, 2, 16])
def test_the_threshold_holds_however_high_it_is_and_however_few_cells_there_are(cells, epsilon, delta):
    mechanism = dpsyn.Contingency(cells="present").calibrate(dpsyn.PrivacySpec(epsilon, delta, "add_remove"), DOMAIN, cells)
    assert above(mechanism.release.scale, mechanism.threshold) <= delta
    rows = CodedRows(table_of(list(product("pqrs", "pqrs"))[:cells]).codes, DOMAIN.shape)
    for answer, released in ((mechanism.threshold - 1, 0), (mechanism.threshold, cells)):
        found = mechanism._model(Deaf(0, answer, 1), rows, lambda step, share: None)[1]
        assert found["cells_released"] == released


@pytest.mark.parametrize("cells", [2, 16, 199, 200, 2_000, 20_000])
def test_which_cells_are_released_follows_from_the_noise_however_many_are_there_and_how_many_rows_they_have(cells):
    wide = dpsyn.Domain.of(dpsyn.Attribute(f"c{j}", "categorical", tuple(range(40)), public=True) for j in range(3))
    mechanism = dpsyn.Contingency(cells="present").calibrate(dpsyn.PrivacySpec(1.0, 1e-4, "add_remove"), wide, cells)
    present = np.stack(np.unravel_index(3 * np.arange(cells), wide.shape), axis=1).astype(np.int32)
    found = []
    few, many = 1 + np.arange(cells) % 4, np.full(cells, 100)
    for counts in (np.ones(cells), few, few[::-1], many, np.append(np.ones(cells - 1), 5000)):
        noise = Deaf(3, mechanism.threshold - 6)
        rows = CodedRows(np.repeat(present, counts.astype(int), axis=0), wide.shape)
        found.append(mechanism._model(noise, rows, lambda step, share: None)[0])
        (call,) = noise.calls
        np.testing.assert_array_equal(call.values, counts)
        kept = Deaf(3, mechanism.threshold - 6)._counts((cells,)) >= mechanism.threshold
        np.testing.assert_array_equal(found[-1].cells, present[kept])
        np.testing.assert_array_equal(found[-1].weights, found[0].weights)
        assert found[-1].rows == found[0].rows
    assert cells < 16 or 0 < len(found[0].cells) < cells


@pytest.mark.parametrize("cells", ["all", "present"])
def test_there_is_a_row_at_least_whatever_the_noise_says(cells):
    class Negative(Deaf):
        def discrete_laplace(self, values, scale):
            return np.full(values.shape, -7)

        discrete_gaussian = discrete_laplace

    mechanism = dpsyn.Contingency(cells=cells).calibrate(dpsyn.PrivacySpec(1.0, 1e-4, "add_remove"), DOMAIN, 9)
    table = table_of([("p", "p")] * 9)
    assert mechanism._model(Negative(), CodedRows(table.codes, DOMAIN.shape), lambda step, share: None)[0].rows == 1
    assert len(mechanism._run(Negative(), table, lambda step, share: None)[0]) == 1


def test_where_no_cell_passes_any_row_may_come():
    class Silent(Deaf):
        def discrete_laplace(self, values, scale):
            return np.zeros(values.shape, dtype=np.int64)

    mechanism = dpsyn.Contingency(cells="present", rows=400).calibrate(dpsyn.PrivacySpec(1.0, 1e-4), DOMAIN, 3)
    made, _ = mechanism._run(Silent(), table_of([("p", "p")] * 3), lambda step, share: None)
    assert len(made.drop_duplicates()) == 16


def test_noise_on_more_cells_than_rows_is_held_against_the_rows():
    """Laplace noise of scale 20 on a count is off by 1/sinh(1/20) on average, 16 times for 3 rows: 106.6 rows for each."""
    mechanism = dpsyn.Contingency(cells="all").calibrate(dpsyn.PrivacySpec(0.1), DOMAIN, 3)
    ((kind, said),) = of_run(mechanism)
    assert kind == "warning"
    assert f"on the 16 possible rows adds up to about {number(16 / 3 / math.sinh(1 / 20), 2)} times all the rows" in said


def test_that_no_cell_passed_is_said_of_the_release():
    table = table_of([("p", "p")] * 3)
    for config, told in ((dpsyn.Contingency(cells="present"), 1), (dpsyn.Contingency(cells="all"), 0)):
        release = config.calibrate(dpsyn.PrivacySpec(0.1, 1e-9), DOMAIN, 3)(None, table)
        said = of_release(release, DOMAIN)
        assert len(said) == 1
        assert ("each column is drawn by itself" if told else "on the 16 possible rows adds up to") in said[0]
        assert of_release(replace(release, diagnostics={}), DOMAIN) == []  # of one that was kept nothing is known
        assert list(release.notes) == said
        for shown in (" ".join(repr(release).split()), release._repr_html_()):
            assert shown.count("No row of the data is told from noise") == told
        assert replace(release, guarantee=replace(release.guarantee, status="stated")).notes == ()


def test_all_cells_are_one_table_with_exact_counts():
    rows = [("p", "p")] * 6 + [("q", "s")] * 2 + [("r", "r")]
    mechanism = dpsyn.Contingency(rows=3).calibrate(dpsyn.PrivacySpec(1.0), DOMAIN, 9)
    ((call,), _) = run(mechanism, table_of(rows))
    assert call.values.reshape(4, 4).tolist() == [[6, 0, 0, 0], [0, 0, 0, 2], [0, 0, 1, 0], [0, 0, 0, 0]]


def test_without_noise_the_weights_are_shares_of_the_rows_and_the_table_is_handed_over():
    table = table_of([("p", "p")] * 6 + [("q", "s")] * 2 + [("r", "r")])
    mechanism = dpsyn.Contingency().calibrate(dpsyn.PrivacySpec(1.0), DOMAIN, 9)
    model, found = mechanism._model(Exact(), CodedRows(table.codes, DOMAIN.shape), lambda step, share: None)
    assert model.weights == pytest.approx([6 / 9, 2 / 9, 1 / 9])
    assert found["noisy_tables"].counts[0, 1].tolist() == [6, 0, 0, 0, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0, 0, 0]


def test_which_cells_get_noise_follows_from_public_facts_and_the_impossible_is_refused():
    wide = dpsyn.Domain.of(dpsyn.Attribute(f"c{j}", "categorical", tuple("pqrs"), public=True) for j in range(40))

    def calibrated(domain, delta, **settings):
        return dpsyn.Contingency(**settings).calibrate(dpsyn.PrivacySpec(1.0, delta), domain, 100)

    few, many = (dpsyn.Domain.of(wide.attributes[:columns]) for columns in (7, 10))  # 2^14 and 2^20 cells
    assert calibrated(few, 1e-5).threshold is calibrated(many, 0.0).threshold is None
    assert calibrated(DOMAIN, 1e-5).threshold is None
    for epsilon, delta, kind in ((1.0, 1e-5, "laplace"), (0.02, 0.3, "gaussian")):
        found = dpsyn.Contingency().calibrate(dpsyn.PrivacySpec(epsilon, delta), DOMAIN, 100)
        assert (found.release.noise, found.guarantee.delta) == (kind, delta if kind == "gaussian" else 0.0)
    assert calibrated(wide, 1e-5).threshold is not None
    assert calibrated(DOMAIN, 1e-5, cells="present").threshold is not None
    with pytest.raises(ParameterError, match="possible rows"):
        calibrated(wide, 0.0)
    with pytest.raises(ParameterError, match="possible rows"):
        calibrated(wide, 1e-5, cells="all")
    with pytest.raises(CalibrationError, match="delta > 0"):
        calibrated(DOMAIN, 0.0, cells="present")


def test_a_wide_domain_runs_without_listing_it():
    wide = dpsyn.Domain.of(dpsyn.Attribute(f"c{j}", "truth", (0, 1), public=True) for j in range(80))
    frame = pd.DataFrame(np.repeat([[0] * 80, [1] * 80], 300, axis=0), columns=list(wide.names))
    made = dpsyn.Contingency().calibrate(dpsyn.PrivacySpec(1.0, 1e-6), wide, 600)(None, Table(frame, wide)).rows
    assert sorted(made.drop_duplicates().sum(axis=1)) == [0, 80]


@pytest.mark.parametrize("rows", [[("p", "p")] * 600 + [("q", "s")] * 399 + [("r", "r")], list(product("pqr", "p")) * 334])
@pytest.mark.parametrize(
    ("kept", "said"), [([260, 0, 213], ["About 53 % of the rows"]), ([500, 0, 0], ["About 50 %"]), ([260, 0, 241], [])]
)
def test_that_most_rows_were_in_cells_that_did_not_pass_is_said_by_the_noisy_counts_alone(rows, kept, said):
    """1 - 473/1000, 1 - 500/1000, 1 - 501/1000: by hand, whatever the real rows are."""

    class Chosen(Deaf):
        def discrete_laplace(self, values, scale):
            return np.array(kept)

    table = table_of(rows[:1000])
    mechanism = dpsyn.Contingency(cells="present").calibrate(dpsyn.PrivacySpec(1.0, 1e-4), DOMAIN, 1000)
    made, diagnostics = mechanism._run(Chosen(), table, lambda step, share: None)
    release = replace(mechanism(None, table), rows=made, diagnostics=diagnostics)
    found = [note.replace("\N{NO-BREAK SPACE}", " ") for note in release.notes]
    assert len(found) == len(said)
    assert all(note.startswith(first) for note, first in zip(found, said, strict=True))
    secret = {name: value for name, value in release.settings.items() if name != "n"}  # as where rows are added
    assert replace(release, settings=secret).notes == ()


def test_how_many_rows_a_cell_needs_is_said_before_the_run():
    mechanism = dpsyn.Contingency(cells="present").calibrate(dpsyn.PrivacySpec(1.0, 1e-5), DOMAIN, 1000)
    # Laplace noise of scale 2: 1 + 2·log(10⁵/(1 + e^(-1/2))) = 23.08.
    assert mechanism.threshold == 24
    (said,) = mechanism.expected()
    assert said == ("caption", "Combinations of values that fewer than about 24 rows share will be missing.")
    assert dpsyn.Contingency(cells="all").calibrate(dpsyn.PrivacySpec(1.0, 1e-5), DOMAIN, 1000).expected() == []
