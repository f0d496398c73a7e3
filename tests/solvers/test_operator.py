from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsyn.errors import ParameterError
from dpsyn.solvers import functions as functions_module
from dpsyn.solvers import operator as module
from dpsyn.solvers._tables import PairTables
from dpsyn.solvers.blocks import Block
from dpsyn.solvers.contingency import all_codes
from dpsyn.solvers.contrasts import ContrastBasis, walsh_matrix
from dpsyn.solvers.executors import ThreadExecutor, one_blas_thread
from dpsyn.solvers.functions import product_functions
from dpsyn.solvers.memory import operator_bytes
from dpsyn.solvers.operator import BlockOperator, block_bounds, largest_block
from dpsyn.solvers.points import DigitLayout

ADULT = (9, 16, 7, 15, 6, 5, 2, 2)
CASES = [
    ((2,) * 10, 1),
    ((2,) * 10, 2),
    ((2,) * 7, 3),
    ((2, 2), 3),
    ((3, 1, 4, 2), 1),
    ((3, 1, 4, 2), 2),
    ((3, 1, 4, 2), 3),
    ((1, 1), 2),
    ((300, 2, 5), 1),
    ((30, 1, 2, 5), 2),
    ((5, 4, 3, 2, 2, 2, 2), 3),
]


def random_codes(sizes: tuple[int, ...], rows: int, seed: int) -> np.ndarray:
    """Rows with repetitions: the second half is drawn from a few of the first."""
    generator = np.random.default_rng(seed)
    codes = np.stack([generator.integers(0, size, rows) for size in sizes], axis=1).astype(np.int32)
    codes[rows // 2 :] = codes[generator.integers(0, 1 + rows // 10, rows - rows // 2)]
    return codes


def check_against_matrix(operator: BlockOperator, matrix: np.ndarray, seed: int = 0) -> None:
    generator = np.random.default_rng(seed)
    x, y = generator.normal(size=matrix.shape[1]), generator.normal(size=matrix.shape[0])
    scaling = generator.random(matrix.shape[1]) * (generator.random(matrix.shape[1]) < 0.7)
    assert operator.shape == matrix.shape
    assert operator.matvec(x) == pytest.approx(matrix @ x, abs=1e-12 * np.abs(matrix).sum())
    assert operator.rmatvec(y) == pytest.approx(matrix.T @ y, abs=1e-12 * np.abs(matrix).sum(axis=0).max())
    scale = float((matrix**2).sum())
    assert operator.gram(scaling) == pytest.approx((matrix * scaling) @ matrix.T, abs=1e-13 * scale)
    assert operator.gram() == pytest.approx((matrix * operator.weights) @ matrix.T, abs=1e-13 * scale)


@pytest.mark.parametrize(("sizes", "degree"), CASES)
def test_products_and_gram_against_the_matrix(sizes: tuple[int, ...], degree: int) -> None:
    codes = random_codes(sizes, 137, 1)
    check_against_matrix(BlockOperator.from_codes(sizes, degree, codes), ContrastBasis(sizes, degree).matrix(codes))


@settings(max_examples=40)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    degree=st.integers(1, 4),
    rows=st.integers(1, 40),
    seed=st.integers(0, 999),
    weighted=st.booleans(),
)
def test_any_sizes_any_degree_any_points(sizes: list[int], degree: int, rows: int, seed: int, weighted: bool) -> None:
    codes = random_codes(tuple(sizes), rows, seed)
    weights = np.random.default_rng(seed).random(rows) + 0.1 if weighted else np.ones(rows)
    operator = BlockOperator.from_codes(sizes, degree, codes, weights / weights.sum())
    check_against_matrix(operator, ContrastBasis(sizes, degree).matrix(codes), seed)


@pytest.mark.parametrize("cells", [2, 4, 16, 256])
@pytest.mark.parametrize(("sizes", "degree"), [((2,) * 10, 2), ((2,) * 6, 3), ((6, 5, 3, 2, 2), 2), (ADULT, 1)])
def test_every_split_of_the_digits_gives_the_same(
    monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], degree: int, cells: int
) -> None:
    monkeypatch.setattr(functions_module, "_CELLS_TRIED", (cells,))
    monkeypatch.setattr(functions_module, "_NANOSECONDS_PER_ENTRY", 1e12)  # never a product of matrices
    codes = random_codes(sizes, 200, 2)
    check_against_matrix(BlockOperator.from_codes(sizes, degree, codes), ContrastBasis(sizes, degree).matrix(codes))


def test_gram_by_matrices_and_by_moments_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = random_codes((5, 4, 3, 2), 300, 2)
    matrix = ContrastBasis((5, 4, 3, 2), 2).matrix(codes)
    block = Block(product_functions((5, 4, 3, 2), 2), DigitLayout((5, 4, 3, 2)).encode(codes), 0, np.full(300, 1 / 300))
    scaling = np.linspace(0, 1, 300)
    expected = (matrix * scaling) @ matrix.T
    monkeypatch.setattr(functions_module, "_GRAM_ENTRIES", 1000)
    for price in (0.0, 1e12):
        monkeypatch.setattr(functions_module, "_NANOSECONDS_PER_ENTRY", price)
        monkeypatch.setattr(functions_module, "_MULTIPLICATIONS_PER_NANOSECOND", 1e9)
        assert block.gram(scaling) == pytest.approx(expected, abs=1e-10)
        assert block.gram(scaling, dtype=np.float32) == pytest.approx(expected, rel=1e-4, abs=0.01)


@pytest.mark.parametrize(("sizes", "degree"), [((5, 4, 1, 3, 2), 2), ((3, 2, 4, 2), 3), ((6,), 2), ((1, 1), 2), ((3, 4), 1)])
def test_gram_by_pairs_of_tables_agrees(sizes: tuple[int, ...], degree: int, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = random_codes(sizes, 300, 2)
    basis = ContrastBasis(sizes, degree)
    scaling = np.linspace(0, 1, 300)
    expected = (basis.matrix(codes) * scaling) @ basis.matrix(codes).T
    assert PairTables(basis).gram(codes, scaling) == pytest.approx(expected, abs=1e-10)
    # Many functions in few tables take this way: no matrix is formed.
    product_functions.cache_clear()
    monkeypatch.setattr(functions_module, "MOST_FOR_PRODUCTS", 0)
    monkeypatch.setattr(functions_module, "_NANOSECONDS_PER_ENTRY", 1e12)
    monkeypatch.setattr(functions_module.ProductFunctions, "_gram_by_matrices", None)
    block = Block(product_functions(sizes, degree), DigitLayout(sizes).encode(codes), 0, np.full(300, 1 / 300))
    assert block.gram(scaling) == pytest.approx(expected, abs=1e-10)


def test_walsh_functions_in_their_order() -> None:
    codes = random_codes((2,) * 9, 300, 3)
    check_against_matrix(BlockOperator.from_codes((2,) * 9, 2, codes), walsh_matrix(2 * codes - 1, 2).astype(float))


def test_whole_domain_is_orthonormal() -> None:
    operator = BlockOperator.whole((3, 2, 4), 2)
    assert operator.gram() == pytest.approx(np.eye(operator.shape[0]), abs=1e-13)
    assert (operator.codes(np.arange(24)) == all_codes((3, 2, 4))).all()


def test_whole_domain_over_several_blocks() -> None:
    sizes = (5, 2, 1, 40, 3, 150)  # 180,000 points, two blocks
    operator = BlockOperator.whole(sizes, 1)
    assert len(operator.map(_span)) == 2
    at = np.array([0, 179_999, 89_999, 90_000, 123_456])
    assert (operator.codes(at) == np.stack(np.unravel_index(at, sizes), axis=1)).all()
    assert operator.gram() == pytest.approx(np.eye(operator.shape[0]), abs=1e-11)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 10 points and shards of several blocks."""
    monkeypatch.setattr(module, "SMALLEST_BLOCK", 10)
    monkeypatch.setattr(module, "LARGEST_BLOCK", 10)
    monkeypatch.setattr(module, "MOST_SHARDS", 4)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("rows", [1, 9, 10, 11, 20, 95])
def test_block_boundaries(rows: int) -> None:
    codes = random_codes((3, 2, 2, 4), rows, rows)
    weights = np.linspace(1, 2, rows)
    weights /= weights.sum()
    operator = BlockOperator.from_codes((3, 2, 2, 4), 2, codes, weights, ThreadExecutor(3))
    assert block_bounds(rows) == (*range(0, rows, 10), rows)
    check_against_matrix(operator, ContrastBasis((3, 2, 2, 4), 2).matrix(codes))
    spans = operator.map(_span)
    assert [span[0] for span in spans] == list(range(0, rows, 10))
    assert spans[-1][1] == rows
    assert np.concatenate([span[2] for span in spans]) == pytest.approx(weights)
    at = np.array([rows - 1, 0, rows // 2, 0])
    assert (operator.codes(at) == codes[at]).all()


def _span(block: Block) -> tuple[int, int, np.ndarray]:
    return block.start, block.stop, block.weights


@pytest.mark.usefixtures("small_blocks")
def test_sums_are_the_same_to_the_last_bit_with_any_number_of_threads() -> None:
    codes = random_codes((2,) * 12, 1003, 5)
    x = np.random.default_rng(0).normal(size=1003) * 10.0 ** np.arange(1003)[::-1].clip(0, 12)
    operators = [BlockOperator.from_codes((2,) * 12, 2, codes, None, ThreadExecutor(threads)) for threads in (1, 2, 5)]
    first = operators[0].matvec(x)
    for operator in operators:
        assert (operator.matvec(x) == first).all()
        assert (operator.gram() == operators[0].gram()).all()


@pytest.mark.usefixtures("small_blocks")
def test_reduce_hands_over_arguments_and_parts_of_vectors() -> None:
    codes = random_codes((2, 3), 95, 0)
    operator = BlockOperator.from_codes((2, 3), 1, codes)
    x, z = np.arange(95.0), np.ones((95, 2))
    total, count, sums = operator.reduce(_kernel, 3.0, vectors=(x, z))
    assert (total, count) == (3 * x.sum(), 95)
    assert sums == pytest.approx(np.array([x.sum(), x.sum()]))
    assert operator.reduce(_only_the_second_block) == (10,)
    assert operator.reduce(_nothing) == ()
    with pytest.raises(ParameterError, match="vectors"):
        operator.matvec(np.ones(94))


def _kernel(block: Block, factor: float, x: np.ndarray, z: np.ndarray) -> tuple[float, int, np.ndarray]:
    assert len(x) == len(z) == block.stop - block.start
    return factor * float(x.sum()), block.stop - block.start, x @ z


def _only_the_second_block(block: Block) -> tuple[int, ...]:
    return (block.stop - block.start,) if block.start == 10 else ()


def _nothing(block: Block) -> tuple[int, ...]:
    return ()


@pytest.mark.usefixtures("small_blocks")
def test_what_a_kernel_returned_is_not_written_to() -> None:
    operator = BlockOperator.from_codes((2, 2), 1, random_codes((2, 2), 40, 0))
    kept = np.ones(3)
    assert operator.reduce(_same, kept)[0].tolist() == [4.0, 4.0, 4.0]
    assert kept.tolist() == [1.0, 1.0, 1.0]


def _same(block: Block, kept: np.ndarray) -> tuple[np.ndarray]:
    return (kept,)


@pytest.mark.usefixtures("small_blocks")
def test_an_error_in_a_kernel_arrives() -> None:
    operator = BlockOperator.from_codes((2, 2), 1, random_codes((2, 2), 95, 0), None, ThreadExecutor(2))
    with pytest.raises(ZeroDivisionError):
        operator.map(_fails)


def _fails(block: Block) -> float:
    return 1 / (block.start - 50)


def test_blocks_offer_matrix_columns_and_single_precision() -> None:
    codes = random_codes(ADULT, 400, 0)
    matrix = ContrastBasis(ADULT, 2).matrix(codes)
    x, y = np.random.default_rng(0).random(400), np.random.default_rng(1).normal(size=len(matrix))
    found = BlockOperator.from_codes(ADULT, 2, codes).map(_everything, x, y)[0]
    assert (found["matrix"] == matrix).all()
    assert (found["columns"] == matrix[:, [3, 0, 399]]).all()
    assert (found["codes"] == codes).all()
    assert found["head"] == pytest.approx(matrix[:, :7] @ x[:7], abs=1e-10)
    assert found["matrix32"].dtype == found["adjoint32"].dtype == np.float32
    assert found["adjoint32"] == pytest.approx(matrix.T @ y, abs=1e-3)
    assert found["apply32"] == pytest.approx(matrix @ x, abs=1e-2)


def _everything(block: Block, x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "matrix": block.matrix(),
        "matrix32": block.matrix(np.float32),
        "columns": block.columns(np.array([3, 0, 399])),
        "codes": block.codes(),
        "head": block.head(7).apply(x[:7]),
        "adjoint32": block.adjoint(y, np.float32),
        "apply32": block.apply(x, np.float32),
    }


def test_uniform_draws_depend_on_the_generator_alone_and_are_uniform() -> None:
    sizes = (2, 3, 2, 5, 1)
    one, two = (BlockOperator.uniform(sizes, 2, 200_000, np.random.default_rng(7), ThreadExecutor(n)) for n in (1, 2))
    other = BlockOperator.uniform(sizes, 2, 200_000, np.random.default_rng(8))
    at = np.arange(200_000)
    codes = one.codes(at)
    assert (codes == two.codes(at)).all()
    assert (codes != other.codes(at)).any()
    cells = np.bincount(np.ravel_multi_index(codes.T, sizes), minlength=60)
    # χ² with 59 degrees of freedom: P(> 120) is 5e-6.
    assert float(((cells - 200_000 / 60) ** 2).sum() / (200_000 / 60)) < 120
    # Blocks are drawn from different seeds.
    first, second = block_bounds(200_000)[:2][1], block_bounds(200_000)[2] - block_bounds(200_000)[1]
    assert (codes[:1000] != codes[first : first + 1000]).any()
    assert second > 0


@given(count=st.integers(1, 3 * module.LARGEST_BLOCK))
def test_the_largest_block_is_known_without_listing_all(count: int) -> None:
    assert largest_block(count) == max(b - a for a, b in itertools.pairwise(block_bounds(count)))


def test_memory_is_known_at_once_for_more_points_than_there_are_blocks_to_list() -> None:
    assert operator_bytes((2,) * 100, 2, 10**30, 1) > 10**30


@given(sizes=st.lists(st.integers(1, 300), min_size=1, max_size=40))
def test_every_column_is_put_into_the_first_digit_with_room(sizes: list[int]) -> None:
    bins: list[list[int]] = []
    for column in sorted((c for c, size in enumerate(sizes) if size > 1), key=lambda c: (-sizes[c], c)):
        fits = (chosen for chosen in bins if math.prod(sizes[c] for c in chosen) * sizes[column] <= 256)
        found = next(fits, None)
        if found is None:
            bins.append([column])
        else:
            found.append(column)
    expected = sorted(tuple(sorted(chosen)) for chosen in bins) or [(0,)]
    assert [group.columns for group in DigitLayout(sizes).groups] == expected


def test_points_are_packed() -> None:
    assert DigitLayout((2,) * 54).bytes_per_point == 7
    assert DigitLayout((2,) * 46).bytes_per_point == 6
    assert DigitLayout(ADULT).bytes_per_point == 3
    assert DigitLayout((300, 2)).bytes_per_point == 4


@settings(max_examples=60)
@given(sizes=st.lists(st.integers(1, 400), min_size=1, max_size=12), seed=st.integers(0, 999))
def test_packing_and_unpacking(sizes: list[int], seed: int) -> None:
    codes = random_codes(tuple(sizes), 20, seed)
    layout = DigitLayout(sizes)
    digits = layout.encode(codes)
    assert (layout.decode(digits) == codes).all()
    assert sorted(itertools.chain(*(g.columns for g in layout.groups))) == ([j for j, c in enumerate(sizes) if c > 1] or [0])
    for row, group in zip(digits, layout.groups, strict=True):
        assert group.cells <= 256 or len(group.columns) == 1
        assert row.max() < group.cells == math.prod(group.sizes)


def test_largest_digits_of_every_type_survive() -> None:
    for size in (256, 257, 65_536, 65_537):
        layout = DigitLayout((2, size))
        codes = np.array([[1, size - 1], [0, 0]], dtype=np.int32)
        assert (layout.decode(layout.encode(codes)) == codes).all()


def test_sample_takes_points_once_with_their_weights_scaled() -> None:
    codes = all_codes((2, 3, 5))
    weights = np.linspace(1, 2, 30) / np.linspace(1, 2, 30).sum()
    operator = BlockOperator.from_codes((2, 3, 5), 2, codes, weights)
    some = operator.sample(12, np.random.default_rng(0))
    chosen = np.ravel_multi_index(some.codes(np.arange(12)).T, (2, 3, 5))
    assert len(set(chosen.tolist())) == 12
    assert some.weights == pytest.approx(weights[chosen] / weights[chosen].sum())
    assert operator.sample(30, np.random.default_rng(0)).gram() == pytest.approx(operator.gram(), abs=1e-12)
    for count in (0, 31):
        with pytest.raises(ParameterError, match="count"):
            operator.sample(count, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"codes": np.array([[0, 3]])}, "codes"),
        ({"codes": np.empty((0, 2), dtype=np.int32)}, "codes"),
        ({"weights": np.array([0.0, 1.0])}, "weights"),
        ({"weights": np.array([0.5, 0.6])}, "weights"),
        ({"weights": np.array([1.0])}, "weights"),
        ({"weights": np.array([math.nan, 1.0])}, "weights"),
        ({"degree": 0}, "degree"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, object], field: str) -> None:
    good: dict[str, object] = {"sizes": (2, 3), "degree": 2, "codes": np.array([[0, 0], [1, 2]])}
    with pytest.raises(ParameterError) as caught:
        BlockOperator.from_codes(**(good | change))  # type: ignore[arg-type]
    assert caught.value.field == field


def test_no_draws_and_no_threads_are_refused() -> None:
    with pytest.raises(ParameterError, match="count"):
        BlockOperator.uniform((2, 2), 1, 0, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="threads"):
        ThreadExecutor(0)


def test_blas_gets_its_threads_back_when_the_last_sum_is_done() -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    def blas_threads() -> list[int]:
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        assert 2 in blas_threads()
        outer, inner = one_blas_thread(), one_blas_thread()
        with outer:
            assert set(blas_threads()) == {1}
            with inner:
                pass
            assert set(blas_threads()) == {1}
        assert 2 in blas_threads()


@pytest.mark.usefixtures("small_blocks")
def test_samples_are_uniform_over_blocks() -> None:
    operator = BlockOperator.from_codes((50,), 1, np.arange(50)[:, None])
    generator = np.random.default_rng(3)
    hits = np.zeros(50)
    for _ in range(400):
        hits[operator.sample(7, generator).codes(np.arange(7))[:, 0]] += 1
    # Each point is hit 56 times on average, standard deviation 6.9.
    assert hits.sum() == 2800
    assert hits.min() > 25
    assert hits.max() < 90
    pair = np.array([len(set(operator.sample(5, generator).codes(np.arange(5))[:, 0] // 10)) for _ in range(300)])
    # Five of fifty points fall into five different tens with probability 10^5/C(50, 5) = 4.7 %: not one from every block.
    assert 2 <= (pair == 5).sum() <= 32


def test_gram_of_few_or_no_points() -> None:
    codes = random_codes((3, 2, 2), 100, 0)
    matrix = ContrastBasis((3, 2, 2), 2).matrix(codes)
    operator = BlockOperator.from_codes((3, 2, 2), 2, codes)
    for used in (0, 1, 5, 89, 91, 100):
        scaling = np.where(np.arange(100) < used, 0.5, 0.0)
        assert operator.gram(scaling) == pytest.approx((matrix * scaling) @ matrix.T, abs=1e-11)


@pytest.mark.usefixtures("small_blocks")
def test_blocks_may_add_to_a_gram_matrix_in_different_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = random_codes((2,) * 6, 35, 0)
    matrix = ContrastBasis((2,) * 6, 1).matrix(codes)
    scaling = np.ones(35)
    scaling[10:20] = 0.0
    scaling[20:24] = 0.0
    operator = BlockOperator.from_codes((2,) * 6, 1, codes)
    monkeypatch.setattr(functions_module, "_NANOSECONDS_PER_PRODUCT", 0.0)
    monkeypatch.setattr(functions_module.ProductFunctions, "_cheapest", lambda self, width, points: (16, 110.0))
    kinds = [tuple(isinstance(part, np.ndarray) for part in sums) for sums in operator.map(_sums, vectors=(scaling,))]
    assert kinds == [(False, True), (False, False), (True, False), (True, False)]
    assert operator.gram(scaling) == pytest.approx((matrix * scaling) @ matrix.T, abs=1e-12)


def _sums(block: Block, scaling: np.ndarray) -> tuple[object, object]:
    return block.gram_sums(scaling)
