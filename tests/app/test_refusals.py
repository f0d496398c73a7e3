"""What an experiment says of runs that gave no rows."""

from __future__ import annotations

from dpsyn.evaluation.experiments import CellResult, summarise
from dpsyn.evaluation.experiments.summary import points_table, refusals


def cell(value: float, repeat: int, status: str = "done", message: str = "") -> CellResult:
    done = ({"error": 1.0},) if status == "done" else ()
    return CellResult(
        f"{value}{repeat}",
        "DP-CDA",
        "dp_cda",
        value,
        repeat,
        status,
        message,
        guarantee={"epsilon": 1.0, "delta": 0.0, "neighbouring": "replace_one"},
        measures=done,
    )


def test_how_many_runs_failed_is_said_at_each_value():
    results = [cell(0.3, i, "failed", f"l = {i} would do") for i in range(4)] + [cell(0.3, 4)]
    results += [cell(0.1, i, "refused", "never") for i in range(5)] + [cell(0.2, i, "refused", "never") for i in range(5)]
    assert refusals(results) == [
        ("DP-CDA", "0.1 (5 of 5 runs refused), 0.2 (5 of 5 runs refused)", "refused: never"),
        ("DP-CDA", "0.3 (4 of 5 runs failed)", "failed: l = 0 would do"),
    ]
    table = points_table(summarise(results, "error"), "epsilon")
    assert table[["Runs", "Failed"]].to_numpy().tolist() == [[1, 4]]
    # All 14 that gave no rows are counted: five at 0.1 and five at 0.2, where no run has a mean, stand in lines of theirs.
    table = points_table(summarise(results, "error"), "epsilon", results)
    assert table[["ε", "Runs", "Failed"]].to_numpy().tolist() == [[0.1, 0, 5], [0.2, 0, 5], [0.3, 1, 4]]
    assert table["Mean"].isna().tolist() == [True, True, False]
    assert table["Failed"].sum() == sum(result.status != "done" for result in results)
