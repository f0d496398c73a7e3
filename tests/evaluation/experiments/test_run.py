"""Results of cells, the same by every road, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpsyn.data.read import read_table
from dpsyn.data.samples import load_sample
from dpsyn.errors import CalibrationError, DpsynError, FailureError, ParameterError
from dpsyn.evaluation.baseline import Baseline, real_baseline
from dpsyn.evaluation.experiments import CellResult, Grid, pool, references, run, run_cell, run_grid, summarise
from dpsyn.evaluation.experiments.pool import Event, kept
from dpsyn.evaluation.experiments.run import calibrated_nearby, make_again
from dpsyn.evaluation.report import evaluate, flat_measures
from dpsyn.kit import worker
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.dp_cda import DPCDA
from dpsyn.mechanisms.independent import Independent
from dpsyn.mechanisms.local_perturbation import LocalPerturbation
from dpsyn.mechanisms.mst import MST
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.mechanisms.noisy_reweighting._mechanism import NoisyReweightingMechanism
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.table import Table
from tests.evaluation.experiments import fakes
from tests.evaluation.experiments.test_archive import UNNAMEABLE

SPEC = PrivacySpec(1.0)


@pytest.fixture(scope="module")
def parts() -> tuple[Table, Table]:
    table = load_sample("asia").take(np.arange(3000))
    train, test = table.split(0.25, np.random.default_rng(0))
    assert test is not None
    return train, test


@pytest.fixture(scope="module")
def baseline(parts: tuple[Table, Table]) -> Baseline:
    return real_baseline(parts[0], parts[1], "bronc", degrees=(1, 2), queries=50)


def grid(**changes: object) -> Grid:
    settings = {"repeats": 2, "seed": 1} | changes
    return Grid({"reweighting": NoisyReweighting(degree=1, rows=500)}, SPEC, **settings)


def test_a_result_is_what_the_same_steps_by_hand_give(baseline: Baseline) -> None:
    cell = next(grid().cells())
    result = run_cell(cell, baseline)
    mechanism = cell.config.calibrate(SPEC, baseline.table.domain, n=baseline.table.n)
    release = mechanism(cell.generator(), baseline.table)
    report = evaluate(baseline.table, release.rows, baseline=baseline)
    assert result.status == "done"
    assert result.guarantee == release.guarantee.to_dict()
    assert result.line == f"{cell.label} at {cell.value:g}, run 1: done"
    assert result.measures[0]["2-way error, mean"] == report.marginals[2].mean
    assert result.guarantee["epsilon"] == mechanism.guarantee.epsilon == 1.0
    back = CellResult.from_dict(json.loads(json.dumps(result.to_dict())))
    assert back.to_dict() == json.loads(json.dumps(result.to_dict())) | {"measures": back.measures}


def test_a_run_that_fails_claims_no_more_than_one_that_ends(baseline: Baseline, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*args: object) -> None:
        raise FailureError("nothing came of it")

    cell = next(grid().cells())
    monkeypatch.setattr(NoisyReweightingMechanism, "_run", failing)
    result = run_cell(cell, baseline)
    assert (result.status, result.guarantee["status"]) == ("failed", "demonstration")


def test_every_road_gives_the_same_numbers(baseline: Baseline) -> None:
    here = run_grid(grid(), baseline.table, baseline=baseline, backend="here")
    processes = run_grid(grid(), baseline.table, baseline=baseline, backend="joblib", workers=2)
    assert [r.measures for r in here] == [r.measures for r in processes]
    assert [r.repeat for r in here] == [0, 1]
    assert here[0].measures != here[1].measures


def test_the_release_made_again_has_exactly_the_errors_that_were_noted(baseline: Baseline) -> None:
    every = {
        "fitted": NoisyReweighting(rows=500),
        "over budget": PrivateSampling(floor=0.25, ceiling=2.0, rows=50),
        "other neighbours": LocalPerturbation(),
    }
    plan = Grid(every, PrivacySpec(1.0, 1e-5, "add_remove"), "n", (1000,), repeats=2, seed=3)
    results = run_grid(plan, baseline.table, baseline=baseline, backend="joblib")
    assert {r.budget for r in results} == {"on budget", "over budget", "other neighbours"}
    for cell, result in zip(plan.cells(), results, strict=True):
        release = make_again(cell, baseline.table.drawn, no_progress)
        report = evaluate(baseline.table, release.rows, baseline=baseline)
        assert flat_measures(report) == result.measures[0]
        assert release.guarantee.to_dict() == result.guarantee
        assert release.seeded


def test_a_worker_that_dies_costs_its_cell_and_the_run_goes_on(
    baseline: Baseline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPSYN_TEST_MARK", str(tmp_path / "died"))
    plan = Grid({"deadly": fakes.DiesOnce(degree=1, rows=50)}, SPEC, repeats=3)
    results = run_grid(plan, baseline.table, baseline=baseline, backend="joblib", workers=1)
    assert [r.status for r in results] == ["crashed", "done", "done"]
    assert "its process died (exit code -9)" in results[0].message
    again = run_grid(plan, baseline.table, baseline=baseline, backend="joblib", workers=1, done=results)
    assert [r.status for r in again] == ["done"] * 3


def test_what_is_done_is_not_run_again(baseline: Baseline) -> None:
    first = run_grid(grid(repeats=1), baseline.table, baseline=baseline, backend="here")
    crashed = [CellResult(r.key, r.label, r.mechanism, r.value, r.repeat, "crashed") for r in first]
    seen: list[CellResult] = []
    both = run_grid(grid(), baseline.table, baseline=baseline, backend="here", done=first, on_result=seen.append)
    assert both[0] == first[0]
    assert [r.repeat for r in seen] == [1]
    seen.clear()
    run_grid(grid(), baseline.table, baseline=baseline, backend="here", done=crashed, on_result=seen.append)
    assert [r.repeat for r in seen] == [0, 1]


def test_what_is_done_stands_at_the_value_that_the_grid_has_it_at() -> None:
    """A tree has no degree: its run is one for all values, and stands at the last."""
    before = Grid({"A": MST(), "B": NoisyReweighting()}, SPEC, "degree", (1, 2))
    after = Grid({"tree": MST(), "B": NoisyReweighting()}, SPEC, "degree", (1, 2, 3))
    done = [CellResult.of(cell, "done") for cell in before.cells()]
    found = kept(after, [*done, CellResult.of(next(grid().cells()), "done")])
    at = {cell.key: (cell.label, cell.value) for cell in after.cells()}
    assert {key: (result.label, result.value) for key, result in found.items()} == {one.key: at[one.key] for one in done}
    assert {result.value for result in found.values() if result.label == "tree"} == {3}


def test_what_is_done_has_the_name_that_the_grid_gives_it(baseline: Baseline) -> None:
    configs = grid(repeats=1).configs
    first = run_grid(grid(repeats=1), baseline.table, baseline=baseline, backend="here")
    renamed = replace(grid(repeats=1), configs={f"new {label}": config for label, config in configs.items()})
    seen: list[CellResult] = []
    again = run_grid(renamed, baseline.table, baseline=baseline, backend="here", done=first, on_result=seen.append)
    assert [r.label for r in again] == [f"new {r.label}" for r in first]
    assert seen == []


def test_two_labels_of_the_same_runs_are_refused() -> None:
    configs = {"one": Independent(degree=1, rows=50), "two": Independent(degree=2, rows=50)}
    assert len(list(Grid(configs, SPEC).cells())) == 10
    with pytest.raises(ParameterError, match=r"configs = \['one', 'two'\].*come to the same runs"):
        Grid(configs, SPEC, "degree", [1, 2])


def test_a_mechanism_that_cannot_says_why(baseline: Baseline) -> None:
    unfair = Grid({"cda": DPCDA(target="bronc")}, SPEC, repeats=1)
    (result,) = run_grid(unfair, baseline.table, baseline=baseline, backend="here")
    assert result.status == "refused"
    assert "delta > 0" in result.message
    assert result.measures == ()


def test_a_column_of_one_value_is_the_reason_of_dp_cda_alone() -> None:
    frame = load_sample("asia").frame.loc[:299, ["smoke", "bronc"]].assign(place="here")
    table = read_table(frame).with_domain(read_table(frame).domain.confirmed())
    both = Grid({"cda": DPCDA(target="bronc"), "tables": NoisyReweighting(rows=50)}, PrivacySpec(1.0, 1e-5), repeats=1)
    refused, done = run_grid(both, table, target="bronc", backend="here")
    assert (refused.status, done.status) == ("refused", "done")
    assert "'place' is not possible: this column has one value only" in refused.message


def test_what_guarantees_nothing_is_not_compared(baseline: Baseline) -> None:
    spec = PrivacySpec(20.0, 1e-5)
    settings = DPCDA.as_published("bronc", order_of_mixture=2)
    refuted = Grid({"as published": settings}, spec, values=(20.0,), repeats=1)
    (result,) = run_grid(refuted, baseline.table, baseline=baseline, backend="here")
    assert result.status == "refused"
    assert "no ε is known to hold" in result.message
    assert Grid.from_dict(json.loads(json.dumps(refuted.to_dict()))) == refuted


def test_private_sampling_is_shown_with_the_epsilon_that_it_needs(baseline: Baseline) -> None:
    box = PrivateSampling(floor=0.25, ceiling=2.0, rows=50)
    (result,) = run_grid(Grid({"sampling": box}, SPEC, repeats=1), baseline.table, baseline=baseline, backend="here")
    assert result.status == "done"
    assert result.budget == "over budget"
    assert result.guarantee["epsilon"] == pytest.approx(50 * np.log(8))
    assert result.asked["epsilon"] == 1.0


def test_who_knows_replaced_rows_alone_is_run_so_and_marked(baseline: Baseline) -> None:
    spec = PrivacySpec(1.0, 1e-5, "add_remove")
    both = Grid({"local": LocalPerturbation(), "tables": NoisyReweighting(rows=50)}, spec, repeats=1)
    local, tables = run_grid(both, baseline.table, baseline=baseline, backend="here")
    assert (local.status, local.budget, local.guarantee["neighbouring"]) == ("done", "other neighbours", "replace_one")
    assert (tables.budget, tables.guarantee["neighbouring"]) == ("on budget", "add_remove")
    assert local.asked["neighbouring"] == "add_remove"
    (point,) = [p for p in summarise([local, tables], "2-way error, mean") if not p.fair]
    assert (point.label, point.other_neighbours, point.over_budget) == ("local", True, False)
    assert 0 < tables.processor <= tables.seconds * 1.5
    assert 0.05 < tables.gigabytes < 20 or not Path("/proc/self/clear_refs").exists()


def test_what_no_neighbours_help_says_what_was_wrong_at_first(baseline: Baseline) -> None:
    refused = Grid({"cda": DPCDA(target="nothing")}, PrivacySpec(1.0, 1e-5, "add_remove"), repeats=1)
    (result,) = run_grid(refused, baseline.table, baseline=baseline, backend="here")
    with pytest.raises(DpsynError) as fault:
        DPCDA(target="nothing").calibrate(PrivacySpec(1.0, 1e-5, "add_remove"), baseline.table.domain, baseline.table.n)
    assert (result.status, result.message) == ("refused", str(fault.value))


def test_more_rows_than_there_are(baseline: Baseline) -> None:
    (result,) = run_grid(grid(vary="n", values=(10**6,), repeats=1), baseline.table, baseline=baseline, backend="here")
    assert result.status == "refused"
    assert "rows that there are to learn from" in result.message


def test_reference_lines(baseline: Baseline) -> None:
    lines = references(baseline)
    assert baseline.noise_floor is not None
    alone = baseline.shuffled.mean(2)
    assert alone is not None
    assert alone > baseline.noise_floor.marginals[2].mean
    n, held_out = baseline.table.n, baseline.noise_floor
    fresh = baseline.fresh(n).each[2].values()
    # Tables are those of as many fresh rows as there are; what only the held-out rows tell says how many they are.
    assert lines["2-way error, mean"] == {
        f"fresh real rows, {n:,}": pytest.approx(sum(fresh) / len(fresh)),
        f"columns shuffled, {n:,}": alone,
    }
    assert lines["2-way error, largest"] == {f"fresh real rows, {n:,}": max(fresh)}
    assert lines["range queries, mean error"] == {f"fresh real rows, {held_out.rows:,}": held_out.ranges.mean}
    assert held_out.rows < n
    held = baseline.holdout
    assert held is not None
    share = float((held.frame["bronc"] == held.frame["bronc"].mode()[0]).mean())
    accuracy = lines["accuracy, logistic regression"]
    assert accuracy["majority class"] == pytest.approx(share)
    agresti = (share * held.n + 2) / (held.n + 4)
    assert accuracy["better than guessing"] == pytest.approx(share + 4 * (agresti * (1 - agresti) / held.n) ** 0.5)
    assert "better than guessing" not in lines["ROC-AUC, logistic regression"]


@pytest.mark.parametrize(
    ("backend", "scheduler"),
    [("dask", None), ("dask", "nowhere"), ("dask", 5), ("joblib", "tcp://127.0.0.1:1"), ("fast", None)],
)
def test_backends_that_cannot_be(
    baseline: Baseline, backend: str, scheduler: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpsyn.solvers.executors.SECONDS_TO_CONNECT", 0.2)
    with pytest.raises(ParameterError):
        run_grid(grid(), baseline.table, baseline=baseline, backend=backend, scheduler=scheduler)  # type: ignore[arg-type]


def test_a_run_tells_how_far_it_is_and_how_long_it_takes(baseline: Baseline) -> None:
    told: list[tuple[str, float]] = []
    results = run_grid(
        grid(), baseline.table, baseline=baseline, backend="here", progress=lambda step, share: told.append((step, share))
    )
    assert [step.partition(";")[0] for step, _ in told] == [result.line for result in results]
    assert [share for _, share in told] == pytest.approx([(i + 1) / len(results) for i in range(len(results))])
    assert told[-1][0].endswith("; about 0 s left")
    with pytest.raises(ParameterError, match="such as print"):
        run_grid(grid(), baseline.table, baseline=baseline, progress=3)  # type: ignore[arg-type]


def test_what_is_left_is_told_of_the_runs_that_are_not_done(baseline: Baseline, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = list(grid(repeats=6).cells())
    clock = iter(range(0, 100, 10))
    told: list[tuple[str, float]] = []
    monkeypatch.setattr(pool, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    monkeypatch.setattr(pool, "run_cells", lambda waiting, *_, **__: (Event(c, CellResult.of(c, "done")) for c in waiting))
    results = run_grid(
        grid(repeats=6),
        baseline.table,
        baseline=baseline,
        done=[CellResult.of(cell, "done") for cell in (cells[1], cells[4])],
        progress=lambda step, share: told.append((step.partition("; ")[2], share)),
    )
    assert told == [(f"about {left} s left", share) for left, share in ((30, 0.25), (20, 0.5), (10, 0.75), (0, 1.0))]
    assert [result.repeat for result in results] == [0, 1, 2, 3, 4, 5]


def test_a_result_has_the_seconds_that_its_steps_took(baseline: Baseline, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on in the run (by 5 s, 2 s of the processor) and in the measures (7 s and 3 s) alone."""
    wall, processor = [100.0], [50.0]
    monkeypatch.setattr(run, "time", SimpleNamespace(perf_counter=lambda: wall[0], process_time=lambda: processor[0]))
    monkeypatch.setattr(run, "peak_memory", lambda: 3 * 2**30)
    running = NoisyReweightingMechanism._run

    def slow(*given: Any) -> Any:
        wall[0] += 5
        processor[0] += 2
        return running(*given)

    def measured(report: object) -> dict[str, float]:
        wall[0] += 7
        processor[0] += 3
        return {"low": -1e200, "high": 1e200, "none": math.nan, "error": -3.0}

    def failing(*given: object) -> None:
        wall[0] += 4
        raise FailureError("nothing came of it")

    monkeypatch.setattr(NoisyReweightingMechanism, "_run", slow)
    monkeypatch.setattr(run, "evaluate", lambda *given, **_: None)
    monkeypatch.setattr(run, "flat_measures", measured)
    cell = next(grid(draws=3).cells())
    result = run_cell(cell, baseline)
    assert (result.seconds, result.processor, result.gigabytes) == (26.0, 2.0, 3.0)
    assert result.measures == ({"error": -3.0},) * 3
    monkeypatch.setattr(NoisyReweightingMechanism, "_run", failing)
    assert run_cell(cell, baseline).seconds == 4.0


def test_a_mechanism_near_what_was_asked_is_tried_in_order() -> None:
    """What it gives, then the ε that it needs, then the same for rows that are replaced; else what was wrong at first."""
    domain = load_sample("asia").domain
    asked = PrivacySpec(1.0, 1e-5, "add_remove")
    replaced = replace(asked, neighbouring="replace_one")

    def tried(able: Callable[[PrivacySpec], bool], needed: float | None = None, fault: Any = CalibrationError) -> Any:
        seen: list[PrivacySpec] = []

        def calibrate(spec: PrivacySpec, *given: object) -> str:
            assert given == (domain, 7)
            seen.append(spec)
            if able(spec):
                return "as asked"
            raise fault(f"attempt {len(seen)}")

        other = SimpleNamespace(calibrate=lambda spec, *given: ("with other settings", spec, given))
        config: Any = SimpleNamespace(
            calibrate=calibrate, epsilon_needed=lambda spec, *given: (other, needed) if needed is not None else None
        )
        try:
            return calibrated_nearby(config, asked, domain, 7)
        except DpsynError as refused:
            return str(refused), seen

    assert tried(lambda spec: True) == "as asked"
    assert tried(lambda spec: False, 3.0) == ("with other settings", replace(asked, epsilon=3.0), (domain, 7))
    assert tried(lambda spec: spec == replaced) == "as asked"
    assert tried(lambda spec: False) == ("attempt 1", [asked, replaced])
    assert tried(lambda spec: False, 3.0, FailureError) == ("attempt 1", [asked, replaced])


def test_a_job_hands_out_what_every_result_is_compared_with_and_each_result(
    baseline: Baseline, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[Any] = []
    told: list[tuple[str, float]] = []
    cells = list(Grid({"a": NoisyReweighting(), "b": Independent()}, SPEC, repeats=2).cells())
    known = replace(baseline, notes=("something was left out",))

    def events(given: object, data: Baseline, *, workers: int, paused: Callable[[], bool]) -> Iterator[Event]:
        assert (given, data, workers, paused) == (cells, known, 3, worker.paused)
        yield Event(cells[0], None, 0)
        yield Event(cells[1], None, 2)
        yield Event(cells[0], CellResult.of(cells[0], "done"), 0)
        yield Event(cells[1], CellResult.of(cells[1], "crashed"), 2)

    monkeypatch.setattr(worker, "hand_out", handed.append)
    monkeypatch.setattr(pool, "run_cells", events)
    monkeypatch.setattr(pool, "real_baseline", lambda **real: known if real == {"table": 1} else None)
    assert pool.run_experiment(cells, 3, lambda step, share: told.append((step, share)), table=1) == 2
    first, *results = handed
    assert first == {"references": references(baseline), "notes": ["something was left out"]}
    assert results == [{"result": CellResult.of(cells[i], how).to_dict()} for i, how in ((0, "done"), (1, "crashed"))]
    one, two = (f"{cell.label} at 1, run {cell.repeat + 1}" for cell in cells[:2])
    assert told[2:] == [(one, 0), (f"{one}; {two}", 0), (two, 0.25), ("waiting", 0.5)]


ASKED = {"epsilon": 1.0, "delta": 0.0, "neighbouring": "replace_one"}


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *((field, None) for field in ("key", "label", "mechanism", "value", "repeat", "status", "message", "seconds")),
        *((field, "\ud800") for field in ("key", "label", "mechanism", "message")),
        *(("key", wrong) for wrong in UNNAMEABLE),
        *(("settings", {"a": wrong}) for wrong in (np.arange(3), {1}, "\ud800", {(1, 2): 3}, 10**5000)),
        *((field, wrong) for field in ("asked", "guarantee", "settings") for wrong in (None, 1, ["a"])),
        *((field, ASKED | wrong) for field in ("asked", "guarantee") for wrong in ({"epsilon": None}, {"delta": "0"})),
        *((field, {"a": 1}) for field in ("asked", "guarantee")),
        *((field, {"epsilon": 1.0, "delta": 0.0}) for field in ("asked", "guarantee")),
        *(("measures", wrong) for wrong in (None, {"e": 1.0}, [1.0], [{"e": "low"}], [{1: 1.0}], [{"\ud800": 1.0}])),
        *(("measures", [{"e": wrong}]) for wrong in (math.nan, math.inf, 1e155)),
        *((field, -1) for field in ("repeat", "seconds", "processor", "gigabytes")),
        *(("status", wrong) for wrong in ("well", "refused", "failed", "crashed")),
        ("guarantee", {}),
        ("value", math.nan),
    ],
)
def test_a_result_of_something_else_is_refused(field: str, wrong: Any) -> None:
    cell = next(grid().cells())
    result = replace(CellResult.of(cell, "done"), asked=ASKED, guarantee=ASKED, measures=({"e": np.float64(1)}, {"e": 2}))
    assert result.budget == "on budget"
    json.dumps(replace(result, repeat=np.int64(1), seconds=np.float32(1), measures=({"e": np.float32(1)},)).to_dict())
    with pytest.raises(ParameterError) as caught:
        replace(result, **{field: wrong})
    assert caught.value.field == field


def test_there_is_no_result_of_no_cell() -> None:
    with pytest.raises(ParameterError, match="cell = None"):
        CellResult.of(None, "done")  # type: ignore[arg-type]
