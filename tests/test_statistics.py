from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.statistics import DatasetStatistics, EqualRows, bits_of, row_keys, statistics_of

Codes = npt.NDArray[np.int32]


@given(arrays(np.int32, st.tuples(st.integers(1, 40), st.integers(1, 5)), elements=st.integers(0, 2)))
def test_statistics_against_counting_rows(codes: Codes) -> None:
    domain = Domain.of(Attribute(f"c{j}", "categorical", ("a", "b", "c")) for j in range(codes.shape[1]))
    counts = Counter(map(tuple, codes.tolist()))
    statistics = statistics_of(EqualRows.of(codes, domain.shape), domain)
    assert statistics.p == 3 * codes.shape[1]
    assert statistics.max_frequency == max(counts.values()) / len(codes)
    assert statistics.distinct_rows == len(counts)


def test_keys_do_not_collide_where_the_product_of_sizes_overflows() -> None:
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 1000, (500, 30)).astype(np.int32)
    codes[250:] = codes[:250]
    codes[250:, -1] = (codes[250:, -1] + 1) % 1000
    keys = row_keys(codes, [1000] * 30)
    assert len(np.unique(keys)) == len(np.unique(codes, axis=0)) == 500
    assert len(np.unique(row_keys(codes[:, :-1], [1000] * 29))) == 250


def test_truth_values_are_one_bit_and_others_one_hot() -> None:
    domain = Domain.of(
        [
            Attribute("t", "truth", ("no", "yes")),
            Attribute("s", "categorical", ("F", "M")),
            Attribute("c", "categorical", ("a", "b", "c")),
        ]
    )
    codes = np.array([[0, 1, 2], [1, 0, 0]], dtype=np.int32)
    assert [bits_of(a) for a in domain.attributes] == [1, 2, 3]
    assert statistics_of(EqualRows.of(codes, domain.shape), domain, two_valued_as_bit=True).p == 5


@pytest.mark.parametrize(
    ("arguments", "field"),
    [((0, 1, 1.0), "p"), ((1, 0, 1.0), "n"), ((1, 1, 0.0), "max_frequency"), ((1, 1, 1.5), "max_frequency")],
)
def test_impossible_statistics_are_refused(arguments: tuple[int, int, float], field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        DatasetStatistics(*arguments)
    assert caught.value.field == field
