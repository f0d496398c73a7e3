"""Tables that are counted in place, over another domain: what was counted stays where it counts alike."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

import dpsyn
from dpsyn import Attribute, Domain
from dpsyn.data import counted as counted_module
from dpsyn.data.counted import CountedTable
from dpsyn.errors import DomainError, ParameterError
from tests.data.test_in_place import SMALL, assert_same_counts, in_memory, in_place, rows


def asked(table: CountedTable, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the engine is asked from now on."""
    questions: list[str] = []
    ask = table.engine.ask

    def noted(sql: str) -> pa.Table:
        questions.append(sql)
        return ask(sql)

    monkeypatch.setattr(table.engine, "ask", noted)
    return questions


def test_over_a_domain_that_says_more_of_the_same_columns_nothing_is_counted_again(monkeypatch) -> None:
    table = in_place(rows(), SMALL)
    unconfirmed = Domain.of(replace(attribute, public=False) for attribute in SMALL.attributes)
    before, drawn = table.prepared().statistics(), table.drawn
    questions = asked(table, monkeypatch)
    other = table.with_domain(unconfirmed)
    assert (other.domain, other.n, table.domain) == (unconfirmed, 300, SMALL)
    assert [cells.attribute for cells in other._cells] == list(unconfirmed.attributes)
    assert other.statistics() == before
    assert other.drawn.domain == unconfirmed
    assert other.drawn.frame.equals(drawn.frame)
    assert questions == []
    assert_same_counts(other, in_memory(rows(), unconfirmed))


@pytest.mark.parametrize("where", ["in place", "in memory", "text", "frame"])
def test_nothing_inferred_is_public_and_nothing_projected_becomes_so(where: str) -> None:
    table = rows().select(["narrow", "age", "small", "price", "day", "time", "word", "flag", "grade", "many"])
    more = {
        "empty": pa.nulls(300, pa.string()),
        "pair": pa.array(["no", "yes"] * 150),
        "close": pa.array([1.0, 1.0 + 2**-52] * 150),
        "dates": pa.array([f"2021-0{1 + i % 9}-01" for i in range(300)]),
        "listed": pa.array(["b", "a", "c"] * 100).dictionary_encode(),
        "wage": pa.array([i * 37 % 101 for i in range(300)]),
    }
    for name, column in more.items():
        table = table.append_column(name, column)
    if where == "in place":
        found = in_place(table)
    elif where == "in memory":
        found = in_memory(table)
    else:
        frame = table.to_pandas()
        found = dpsyn.read_table(frame if where == "frame" else frame.to_csv(index=False).encode())
    assert {attribute.kind for attribute in found.domain.attributes} == {"truth", "categorical", "numeric", "date"}
    for attribute in found.domain.attributes:
        assert not attribute.public
        assert not found.project([attribute.name]).domain.is_public
        assert not found.domain.project([attribute.name]).is_public


def test_a_projection_has_the_attributes_as_they_are() -> None:
    attributes = [Attribute(name, "truth", (0, 1), public=name == "b") for name in "abc"]
    assert Domain.of(attributes).project(["c", "b"]).attributes == (attributes[2], attributes[1])


def test_what_was_not_counted_yet_is_counted_when_it_is_asked_for() -> None:
    unconfirmed = Domain.of(replace(attribute, public=False) for attribute in SMALL.attributes)
    other = in_place(rows(), SMALL).with_domain(unconfirmed)
    assert "drawn" not in vars(other)
    assert other.statistics().n == 300


@pytest.mark.parametrize(("as_bit", "bits"), [(True, 1), (False, 2)])
def test_two_values_are_one_bit_where_that_is_asked_for(as_bit: bool, bits: int) -> None:
    table = in_place(rows(), Domain.of([Attribute("flag", "categorical", (False, True), public=True)]))
    assert table.statistics(two_valued_as_bit=as_bit).p == bits


def test_over_other_columns_bins_and_categories_cells_count_as_in_memory() -> None:
    table, few = rows(), in_place(rows(), SMALL).project(["word", "age"])
    assert few.domain.names == ("word", "age")
    assert_same_counts(few.with_domain(SMALL), in_memory(table, SMALL))
    age, word = SMALL["age"], SMALL["word"]
    swapped = Domain.of([word, replace(age, bins=3)])
    assert not few.counts_as(swapped)
    assert_same_counts(few.with_domain(swapped), in_memory(table, swapped))
    backwards = Domain.of([replace(word, categories=word.categories[::-1]), age])
    assert not few.counts_as(backwards)
    assert_same_counts(few.with_domain(backwards), in_memory(table, backwards))
    both = Domain.of([replace(word, categories=word.categories[::-1]), replace(age, bins=3)])
    assert_same_counts(few.with_domain(both), in_memory(table, both))
    turned = Domain.of([age, word])
    assert not few.counts_as(turned)
    assert_same_counts(few.with_domain(turned), in_memory(table, turned))


def test_a_domain_without_some_of_the_values_is_refused() -> None:
    table = in_place(rows(), SMALL)
    for attribute in (
        replace(SMALL["word"], categories=("a", "b")),
        replace(SMALL["word"], missing=False),
        replace(SMALL["age"], missing=False),
        Attribute("nobody", "numeric", lower=0, upper=1, public=True),
    ):
        with pytest.raises(DomainError):
            table.with_domain(Domain.of([attribute]))
    with pytest.raises(ParameterError) as caught:
        table.with_domain("word")  # type: ignore[arg-type]
    assert caught.value.field == "domain"


@pytest.mark.parametrize(("most", "refused"), [(3, False), (2, True)])
def test_as_many_different_cells_as_there_may_be_are_listed(most: int, refused: bool, monkeypatch) -> None:
    monkeypatch.setattr(counted_module, "MOST_LISTED", most)
    grade = Domain.of([SMALL["flag"], Attribute("grade", "categorical", (3, 2, 1), public=True)])
    if refused:
        with pytest.raises(DomainError):
            in_place(rows(), grade)
    else:
        assert in_place(rows(), grade).n == 300


@pytest.mark.parametrize(("lower", "upper"), [(-1e19, 100.0), (0.0, 1e19), (-1e19, 1e19)])
def test_bounds_that_no_64_bits_hold_count_as_in_memory(lower: float, upper: float) -> None:
    age = Attribute("age", "numeric", lower=lower, upper=upper, bins=6, missing=True, public=True)
    domain = Domain.of([age, SMALL["flag"]])
    assert_same_counts(in_place(rows(), domain), in_memory(rows(), domain))
