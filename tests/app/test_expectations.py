"""What the Generator says of the noise before a run."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.app import road
from dpsyn.app.releases import expectations
from dpsyn.app.road import Offer, a_tenth_more, noise_in_words
from dpsyn.domain import Attribute, Domain
from dpsyn.mechanisms.categories import drowned, drowned_tables
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.mechanisms.noisy_reweighting.expectations import noise_on_tables, table_noise
from dpsyn.mechanisms.private_sampling import _reduced_space
from dpsyn.mechanisms.registry import MECHANISMS, config_class
from dpsyn.notation import number, percent
from dpsyn.privacy.zcdp import zcdp_rho
from dpsyn.solvers.noisy_tables import NoisyTables
from dpsyn.table import Table
from tests.conftest import categories


def calibrated(n, *, epsilon=1.0, domain=None, **options):
    spec = dpsyn.PrivacySpec(epsilon, 0.0 if options.get("noise") == "laplace" else 1e-5)
    return NoisyReweighting(**options).calibrate(spec, domain or dpsyn.load_sample("asia").domain, n=n)


def warnings(mechanism):
    said = [sentence for kind, sentence in expectations(mechanism) if kind == "warning"]
    assert all(f"  {sentence}" in mechanism._shown()[1] for sentence in said)
    assert ("will be left" in " ".join(repr(mechanism).split())) is ("will be left" in mechanism._repr_html_()) is bool(said)
    return said


@pytest.mark.parametrize("statistics", ["walsh", "contingency", "conjunctions"])
@pytest.mark.parametrize("n", [675, 20_000])
def test_no_warning_where_the_fit_follows_the_data(n, statistics):
    assert warnings(calibrated(n, statistics=statistics)) == []


def test_noise_whose_largest_draw_is_big_but_which_the_fit_averages_away_is_no_reason_to_warn():
    # 675 rows of the cars: the largest of 267 draws is near 0.12, and the release is closer than the columns' margins.
    mechanism = calibrated(675, domain=dpsyn.load_sample("car").domain)
    spread = mechanism.spreads.max() / 675
    assert spread * np.sqrt(2 * np.log(mechanism.statistic_count)) > 0.1
    assert warnings(mechanism) == []


@pytest.mark.parametrize("statistics", ["walsh", "contingency", "conjunctions"])
def test_a_tiny_table_is_warned_of(statistics):
    (said,) = warnings(calibrated(12, statistics=statistics))
    assert "table of 2 columns" in said
    assert "times all the rows" in said


def test_a_warning_of_one_column_names_no_remedy_that_it_has_not():
    (said,) = warnings(calibrated(12, domain=categories(5), epsilon=0.01))
    assert "On the cells of a table of 1 column it adds up" in said
    assert said.endswith("left: drop bins, or raise ε.")
    (said,) = warnings(calibrated(2, domain=categories(2), statistics="walsh", epsilon=0.01))
    assert " goes on 1 average. " in said


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize(
    ("statistics", "sizes"),
    [("walsh", (2, 2, 2)), ("contingency", (2, 3, 4)), ("conjunctions", (2, 3, 4)), ("conjunctions", (2, 2, 2))],
)
def test_noise_on_tables_is_that_of_tables_made_of_noisy_statistics(statistics, sizes, noise):
    """Every table's cells, solved from drawn noise, against the formula."""
    domain = Domain(
        tuple(Attribute(f"c{i}", "categorical", tuple(map(str, range(k))), public=True) for i, k in enumerate(sizes))
    )
    mechanism = calibrated(100, domain=domain, degree=2, statistics=statistics, noise=noise)
    family, rng = mechanism.statistics, np.random.default_rng(4)
    spreads = mechanism.spreads * family.unit / 100
    found = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        cells = [(i, j) for i in range(sizes[a]) for j in range(sizes[b])]
        points = np.zeros((len(cells), 3), dtype=np.int16)
        points[:, a], points[:, b] = np.array(cells).T
        used = np.concatenate([np.arange(g.start, g.stop) for g in family.groups if set(g.columns) <= {a, b}])
        if statistics == "contingency":
            used = np.concatenate([np.arange(g.start, g.stop) for g in family.groups if g.columns == (a, b)])
        matrix = family.matrix(points)
        shape = (4000, len(used))
        matrix = (matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix))[used]
        drawn = rng.laplace(scale=np.sqrt(0.5), size=shape) if noise == "laplace" else rng.normal(size=shape)
        draws = drawn * spreads[used]
        draws[:, np.ptp(matrix, axis=1) == 0] = 0
        if statistics != "contingency":  # that all cells sum to n is known
            matrix, draws = np.vstack([matrix, np.ones(len(cells))]), np.column_stack([draws, np.zeros(len(draws))])
        found.append(np.abs(np.linalg.lstsq(matrix, draws.T, rcond=None)[0]).sum(axis=0).mean())
    degree, total = noise_on_tables(mechanism)
    assert degree == 2
    assert total == pytest.approx(np.mean(found), rel=0.02)


def test_laplace_noise_on_a_cell_is_its_scale():
    """By hand: ε = 1 on three tables of two columns, of which a replaced row moves two counts each: E|noise| = 6."""
    mechanism = calibrated(1200, domain=categories(20, 20, 20), degree=2, statistics="contingency", noise="laplace")
    assert noise_on_tables(mechanism) == (2, pytest.approx(400 * 6 / 1200, rel=0.01))


def test_what_is_called_noise_before_the_fit_is_that_and_the_fit_takes_part_of_it_away(monkeypatch):
    """Tables of two columns as a run's noise leaves them, and as its fit does, against those of the rows."""
    domain = categories(4, 4, 4, 4)
    rng = np.random.default_rng(0)
    table = Table(domain.decode(rng.integers(0, 4, (400, 4), np.int32), rng), domain)
    mechanism = calibrated(400, domain=domain, degree=2, statistics="contingency")
    groups = [np.arange(g.start, g.stop) for g in mechanism.statistics.groups if len(g.columns) == 2]
    real = mechanism.statistics.matrix(table.codes).mean(axis=1)
    made = [mechanism(np.random.default_rng(seed), table).diagnostics for seed in range(8)]
    off = {
        name: np.mean([np.abs(d[f"{name}_statistics"] - real)[group].sum() / 2 for d in made for group in groups])
        for name in ("noisy", "fitted")
    }
    noise, of = table_noise(mechanism)
    assert (noise, of) == (pytest.approx(off["noisy"], rel=0.05), "before the fit")
    assert off["fitted"] < 0.9 * noise
    said = []
    for name in ("markdown", "caption"):
        monkeypatch.setattr(f"streamlit.{name}", said.append)
    offer = Offer("noisy_reweighting", noise=(noise, of))
    road.offers_tables([offer], mechanism.spec, "")
    assert noise_in_words(offer) == f"noise on two-way tables {percent(noise)} before the fit"
    assert "| noise on tables of two columns |" in said[0]
    assert f"| {percent(noise)} before the fit |" in said[0]
    assert said[1] == "The fit takes part of the noise away; bins, and relations that noise hides, add errors."
    assert not any("expect" in sentence for sentence in said)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 3, 4)])
def test_the_noise_that_is_named_is_the_largest_that_goes_on_an_average(sizes, noise):
    mechanism = calibrated(100, domain=categories(*sizes), degree=2, noise=noise, allocation="by_size")
    scales = mechanism.scales[: mechanism.statistic_count]
    largest = scales.max() * (1 if noise == "gaussian" else np.sqrt(2)) * mechanism.statistics.unit / 100
    less = "or less " if scales.min() < scales.max() else ""
    said = " ".join(sentence for _, sentence in expectations(mechanism))
    assert f"Noise of standard deviation {number(largest)} {less}goes on each" in said


def sampling(sizes, **options):
    return dpsyn.PrivateSampling(**options).calibrate(dpsyn.PrivacySpec(3.16), categories(*sizes), n=1000)


def test_a_long_run_of_private_sampling_says_how_long_and_what_makes_it_shorter(monkeypatch):
    monkeypatch.setattr(_reduced_space, "available_memory", lambda: 8 << 30)  # whatever else runs here
    adult = (10, 9, 10, 16, 10, 7, 15, 6, 5, 2, 10, 10, 10, 42, 2)
    (said,) = [sentence for _, sentence in expectations(sampling(adult)) if "minutes" in sentence]
    assert "C = 9,885" in said
    minutes = int(said.split("about ")[1].split(" ")[0])
    assert 1.5 <= minutes <= 10  # 3 minutes were measured
    assert "lower d" in said
    for short in (sampling(adult[:4]), sampling(adult, degree=1), sampling((2,) * 8)):
        assert not any("minute" in sentence for _, sentence in expectations(short))


def test_the_progress_of_a_draw_of_the_reduced_space_names_its_parts():
    told = []
    mechanism = sampling((4,) * 9, degree=1)
    rows = np.random.default_rng(0).integers(0, 4, (1000, 9))
    table = Table(pd.DataFrame(rows, columns=mechanism.domain.names), mechanism.domain, "rows")
    mechanism(np.random.default_rng(0), table, lambda step, share: told.append(step))
    assert any("testing whether 28 functions are independent on 2,000 points" in step for step in told)


def test_a_tenth_more_is_the_noise_of_a_mechanism_with_a_tenth_more():
    asia = dpsyn.load_sample("asia")
    now, then = (calibrated(asia.n, epsilon=epsilon) for epsilon in (1.0, 1.1))
    before, after = (f"{100 * table_noise(mechanism)[0]:.3g}\N{NO-BREAK SPACE}%" for mechanism in (now, then))
    assert after < before
    said = f"is {before} before the fit; a tenth more of ε would make it {after}."
    assert a_tenth_more(now, asia) == f"Noise on tables of two columns {said}"
    alone = asia.project(["bronc"])
    assert a_tenth_more(calibrated(alone.n, domain=alone.domain), alone).startswith("Noise on tables of one column is ")


def test_nothing_is_said_of_a_tenth_more_where_the_noise_hangs_on_other_things():
    asia = dpsyn.load_sample("asia")
    few = Table(asia.frame.head(12), asia.domain)
    assert a_tenth_more(dpsyn.PrivateSampling(rows=1).calibrate(dpsyn.PrivacySpec(3.0), asia.domain, asia.n), asia) == ""
    # Thirty rows cost 30·ln 8 = 62.4 of it; their error is that of so few rows, whatever is left.
    thirty = dpsyn.PrivateSampling(rows=30).calibrate(dpsyn.PrivacySpec(70.0), asia.domain, asia.n)
    assert a_tenth_more(thirty, asia) == ""
    assert a_tenth_more(dpsyn.AIM().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), asia.domain, asia.n), asia) == ""
    assert a_tenth_more(calibrated(few.n), few) == ""


@pytest.mark.parametrize(("noise", "error"), [("gaussian", np.sqrt(2 / np.pi)), ("laplace", 1)])
def test_noise_on_a_table_that_may_be_chosen_is_that_of_all_pairs(noise, error):
    sizes = [2 + j % 7 for j in range(30)]
    mechanism = calibrated(20_000, domain=categories(*sizes), noise=noise)
    cells = np.mean([sizes[i] * sizes[j] for i, j in combinations(range(30), 2)])
    of_cell = error * mechanism.scale_with(1 / 200)
    assert noise_on_tables(mechanism) == (2, pytest.approx(cells * of_cell / 20_000))


def numbers(columns):
    """A thousand whole numbers and one: trees of four levels."""
    names = [f"c{j}" for j in range(columns)]
    return Domain.of(Attribute(c, "numeric", lower=0, upper=1000, unit=1.0, integer=True, public=True) for c in names)


def zeros(domain, n):
    """Rows of which nine in ten are 0."""
    random = np.random.default_rng(0)
    drawn = np.where(random.random((n, len(domain))) < 0.9, 0, random.integers(1, 1000, (n, len(domain))))
    return Table(pd.DataFrame(drawn, columns=list(domain.names)), domain)


@pytest.mark.parametrize(("n", "told"), [(3394, 1), (3395, 0)])
def test_noise_that_hides_what_fine_histograms_are_for_is_said_before_and_after_a_run(n, told):
    """By hand: a tenth of ε = 1, five trees of four levels, two counts each: scale 400, six deviations are 3394.1 rows."""
    domain = numbers(5)
    mechanism = dpsyn.Independent().calibrate(dpsyn.PrivacySpec(1.0), domain, n)
    begins = f"Noise of standard deviation 566 goes on fine histograms of {n:,} rows"
    said = [sentence for kind, sentence in mechanism.expected() if kind == "warning"]
    assert [sentence.startswith(begins) for sentence in said] == [True] * told
    release = mechanism(None, zeros(domain, n))
    assert list(release.notes) == said
    assert replace(release, guarantee=replace(release.guarantee, status="stated")).notes == ()
    spaced = " ".join(repr(release).split())
    assert spaced.count("a column of mostly zeros may have few") == told


def test_gaussian_noise_on_fine_histograms_is_said_by_its_scale():
    """σ² = 40/(2·ρ/10), as 40 counts move by 1."""
    deviation = np.sqrt(40 / (0.2 * zcdp_rho(1.0, 1e-5)))
    for n, told in ((int(6 * deviation), 1), (int(6 * deviation) + 1, 0)):
        found = dpsyn.Independent().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), numbers(5), n).expected()
        assert [f"deviation {number(deviation)} goes on" in sentence for _, sentence in found] == [True] * told


def test_that_zeros_are_lost_is_true_where_it_is_said_and_not_where_it_is_not():
    for n, epsilon, delta, told in ((1000, 1.0, 0.0, True), (1000, 1.0, 1e-5, False)):
        data = zeros(numbers(5), n)
        release = dpsyn.Independent().calibrate(dpsyn.PrivacySpec(epsilon, delta), data.domain, n)(None, data)
        assert bool(release.notes) is told
        kept = float((release.rows == 0).to_numpy().mean())
        assert kept < 0.4 if told else kept > 0.7  # 0.01 and 0.88 were measured


def test_a_secret_number_of_rows_is_told_to_whoever_runs_it_and_not_with_the_release():
    domain = numbers(5)
    mechanism = dpsyn.Independent().calibrate(dpsyn.PrivacySpec(0.1, 0.0, "add_remove"), domain, 300)
    assert [kind for kind, _ in mechanism.expected()] == ["warning"]
    assert mechanism(None, zeros(domain, 300)).notes == ()


@pytest.mark.parametrize(
    "name", ["noisy_reweighting", "mwem", "mst", "aim", "privbayes", "contingency", "privsyn", "dp_gan"]
)
def test_every_mechanism_with_fine_histograms_says_so(name):
    domain = numbers(4)
    # Laplace noise of scale 320 in each with an accounting of its own; the others' by zCDP, a sixth of that.
    for n, told in ((150, 1), (20_000, 0)):
        found = config_class(name)().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), domain, n).expected()
        assert sum("fine histograms" in sentence for _, sentence in found) == told
    own = name in ("contingency", "dp_gan")
    found = config_class(name)().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), domain, 2000).expected()
    assert any("standard deviation 453 goes on fine histograms of 2,000 rows" in sentence for _, sentence in found) is own


@pytest.mark.parametrize(("n", "told"), [(39, True), (41, False)])
def test_noise_that_drowns_the_table_of_a_column_is_said_before_and_after_a_run(n, told):
    """By hand: ε = 1 on two tables, a replaced row moves two counts of each: scale 4, so 80 on 20 cells, 12 on three."""
    domain = categories(20, 3)
    mechanism = dpsyn.Independent().calibrate(dpsyn.PrivacySpec(1.0), domain, n)
    random = np.random.default_rng(0)
    table = Table(pd.DataFrame({a.name: random.choice(a.categories, n) for a in domain.attributes}), domain)
    releases = [mechanism(random, table) for _ in range(60)]
    said = [sentence for _, sentence in mechanism.expected()]
    assert list(releases[0].notes) == said
    assert len(said) == told
    off = [
        np.abs(made.diagnostics["noisy_tables"].counts[0,] - np.bincount(table.codes[:, 0], minlength=20))
        for made in releases
    ]
    assert np.sum(off, axis=1).mean() / n == pytest.approx(80 / n, rel=0.1)
    name = domain.names[0]
    for sentence in said:
        assert sentence.startswith(
            f"Noise on the cells of the table of {name!r} adds up to about 2.1 times all the rows, so"
        )
        assert sentence.endswith("drop columns, bins or categories, or raise ε.")


def test_noise_as_large_as_the_limit_drowns_no_table_and_without_rows_or_tables_nothing_is_said():
    ledger, domain = [{"name": "one-way tables", "scale": 4.0}], categories(20, 3)
    assert len(drowned({"ledger": ledger}, domain, 39)) == 1
    assert drowned({"ledger": ledger}, domain, 40) == drowned({"ledger": ledger}, domain, None) == []
    pairs = dpsyn.Independent(degree=2).calibrate(dpsyn.PrivacySpec(0.01), domain, 39)
    assert pairs.expected() == []
    codes = Domain.of(
        [
            Attribute("age", "numeric", lower=0, upper=99, bins=20, unit=1, public=True),
            Attribute("day", "date", lower=0, upper=99, bins=18, missing=True, public=True),  # 19 cells: 76 of noise
        ]
    )
    assert len(drowned({"ledger": ledger}, codes, 37)) == len(drowned({"ledger": ledger}, codes, 39)) == 1
    assert "'age', 'day'" in drowned({"ledger": ledger}, codes, 37)[0]
    assert "'day'" not in drowned({"ledger": ledger}, codes, 39)[0]
    assert drowned({"ledger": ledger}, codes, 40) == []


def test_the_tables_that_noise_drowns_are_named_and_the_best_of_them_says_how_much():
    domain = categories(20, 3, 40)
    for config, of_each in ((dpsyn.Independent(), 6), (dpsyn.MST(), 18)):  # 2·3/ε, of a third of ε
        (_, said), *others = config.calibrate(dpsyn.PrivacySpec(1.0), domain, 50).expected()
        first, second = domain.names[0], domain.names[2]
        named = [first, second] if of_each * 3 <= 2 * 50 else list(domain.names)
        assert others == []
        assert f"each of the tables of {', '.join(map(repr, named))} adds up to about" in said
        assert f"about {number(20 * of_each / 50, 2)} times all the rows or more, so" in said
    (_, said), *_ = dpsyn.MST().calibrate(dpsyn.PrivacySpec(0.01, 1e-5), categories(5), 50).expected()
    assert said.endswith("drop bins or categories, or raise ε.")


@pytest.mark.parametrize("name", ["aim", "privbayes", "privsyn"])
def test_what_noise_drowned_is_said_of_a_release_by_the_tables_that_it_was_made_from(name):
    """Under both relations: the tables and their precision follow from noisy numbers, so n is no secret in them."""
    random, domain = np.random.default_rng(0), categories(20, 3, 40)
    for n, told in ((30, True), (20_000, False)):
        table = Table(pd.DataFrame({a.name: random.choice(a.categories, n) for a in domain.attributes}), domain)
        for relation in ("replace_one", "add_remove"):
            mechanism = config_class(name)().calibrate(dpsyn.PrivacySpec(0.5, 0.0, relation), domain, n)
            release = mechanism(random, table)
            assert bool(release.notes) is told
            if told:
                assert repr(domain.names[2]) in release.notes[0]
                assert replace(release, diagnostics={}).notes == ()


def test_the_noise_on_a_column_is_that_of_the_sums_of_all_tables_that_hold_it():
    """By hand: 20 counts of deviation 30 and 60 of 10 of a table with three more codes: 1/900 and 1/300 are 1/225."""
    domain = categories(20, 3)
    random = np.random.default_rng(0)
    table = Table(pd.DataFrame({a.name: random.choice(a.categories, 100) for a in domain.attributes}), domain)
    release = dpsyn.AIM().calibrate(dpsyn.PrivacySpec(1.0), domain, 100)(random, table)
    noisy = NoisyTables({(0,): np.zeros(20), (0, 1): np.zeros(60)}, {(0,): 900.0, (0, 1): 100.0})
    rows = release.diagnostics["model"].rows
    (said,) = drowned_tables(replace(release, diagnostics={**release.diagnostics, "noisy_tables": noisy}))
    assert rows == 100
    assert f"the table of {domain.names[0]!r} adds up to about {number(20 * 15 * np.sqrt(2 / np.pi) / 100, 2)} times" in said
    assert "2.4 times" in said


@pytest.mark.parametrize(("n", "told"), [(100, True), (399, True), (401, False)])
def test_noise_that_drowns_the_whole_table_is_said_before_and_after_a_run(n, told):
    """By hand: ε = 0.5, a replaced row moves two counts: E|noise| = 4 on each of 200 cells, or of 2 × 15 × 7 weekdays."""
    day = Attribute("day", "date", lower=0, upper=99, bins=2, keep=("weekday",), public=True)
    for domain, cells in ((categories(20, 10), 200), (Domain.of([*categories(15).attributes, day]), 210)):
        rows, random = n + 2 * (cells - 200), np.random.default_rng(0)
        frame = pd.DataFrame({a.name: random.choice(a.categories, rows) for a in domain.attributes if not a.is_binned})
        if "day" in domain:
            frame["day"] = pd.to_datetime(random.integers(0, 100, rows), unit="D")
        mechanism = dpsyn.Contingency(histogram_share=0).calibrate(dpsyn.PrivacySpec(0.5), domain, rows)
        said = [sentence for kind, sentence in mechanism.expected() if kind == "warning"]
        assert len(said) == told
        assert list(mechanism(random, Table(frame, domain)).notes) == said
        times = number(4 * cells / rows, 2)  # 8 and 7 where cells are more than rows
        for sentence in said:
            assert sentence.startswith(f"Noise on the {cells} possible rows adds up to about {times} times all the rows, so")


@pytest.mark.parametrize("name", ["independent", "mst", "aim", "privbayes", "privsyn", "mwem"])
def test_a_thousand_rows_of_a_few_columns_are_enough_at_one(name):
    mechanism = config_class(name)().calibrate(dpsyn.PrivacySpec(1.0, 1e-5), numbers(6), 1000)
    assert mechanism.expected() == []


NUMBERED = {"private_sampling", "dp_cda", "dp_mix", "local_perturbation", "random_projection"}
"""Mechanisms that have to be told how many rows to make where n is a secret."""


@pytest.mark.parametrize("rows", [None, 2])
@pytest.mark.parametrize("name", MECHANISMS)
def test_how_many_rows_a_run_will_make_is_said_where_it_is_no_secret(name, rows):
    """Under add/remove n is one: then a number stands there only where somebody chose it."""
    domain, n = dpsyn.load_sample("asia").domain, 20_000
    config = replace(config_class(name).as_it_comes(n, "bronc"), rows=rows, **({"size": 1000} if name == "dp_mix" else {}))
    for neighbouring in ("replace_one", "add_remove"):
        if rows is None and name in NUMBERED and (neighbouring == "add_remove" or name == "private_sampling"):
            continue
        spec = dpsyn.PrivacySpec(8.0, 0.0 if name == "private_sampling" else 1e-5, neighbouring)
        (kind, sentence), *_ = expectations(config.calibrate(spec, domain, n=n))
        assert kind == "caption"
        if rows or neighbouring == "replace_one":
            assert sentence == f"The run will make {rows or n:,} rows."
        else:
            assert sentence == "The run will make as many rows as there are by a private estimate."
