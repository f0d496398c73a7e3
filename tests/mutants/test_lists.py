"""The lists that ``make mutants`` works from fit the code: a line that changed takes its faults along, or says so here."""

from __future__ import annotations

from tests.mutants.exchange import ROOT, source_of
from tests.mutants.mutate import mutants
from tests.mutants.run import all_mutants, reasons, table, written_faults


def test_every_written_fault_is_one_and_has_its_place() -> None:
    faults = written_faults()
    assert len({fault.name for fault in faults}) == len(faults) >= 60
    for fault in faults:
        compile(fault.source, fault.path, "exec")
        assert fault.source != source_of(fault.path)
        assert fault.path in table("lines.toml")["lines"]
        file, _, test = fault.guard.partition("::")
        assert not fault.guard or f"def {test}(" in (ROOT / file).read_text()


def test_every_line_has_its_place_and_every_fault_that_is_excused_exists() -> None:
    excused = reasons()
    names = {mutant.name for mutant in all_mutants()}
    assert set(excused) <= names
    assert all(len(reason) > 10 for reason in excused.values())
    by_hand = {fault.path for fault in written_faults()}
    for path, wanted in table("lines.toml")["lines"].items():
        assert path in by_hand or any(True for _ in mutants(path, source_of(path), wanted))


def test_the_mutator_changes_what_it_says() -> None:
    source = (
        "def f(x):\n    if x < 2:\n        raise ValueError(3)\n    x += 1\n    return np.clip(x, 0, 1.0) if x else -x\n"
    )
    assert {mutant.what for mutant in mutants("f.py", source, ["f"])} == {
        "if ⟦x < 2 → not (x < 2)⟧:",
        "if ⟦x < 2 → (x <= 2)⟧:",
        "if x < ⟦2 → (3)⟧:",
        "⟦x += 1 → pass⟧",
        "⟦x += 1 → x -= 1⟧",
        "x += ⟦1 → (2)⟧",
        "return ⟦np.clip(x, 0, 1.0) if x else -x → (np.clip(x, 0, 1.0))⟧",
        "return ⟦np.clip(x, 0, 1.0) if x else -x → (-x)⟧",
        "return ⟦np.clip(x, 0, 1.0) → (x)⟧ if x else -x",
        "return np.clip(x, ⟦0 → (1)⟧, 1.0) if x else -x",
        "return np.clip(x, 0, ⟦1.0 → (1.3)⟧) if x else -x",
        "return np.clip(x, 0, 1.0) if x else ⟦-x → (x)⟧",
    }
