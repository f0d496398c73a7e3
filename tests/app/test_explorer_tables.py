"""Tables of the feasibility page as they are laid out: low lines, groups named once."""

from dpsyn.mechanisms.private_sampling.answers import sampling_inverses
from dpsyn.mechanisms.private_sampling.bounds import sampling_setting
from dpsyn.mechanisms.private_sampling.panels.feasibility import grouped, inverses_table
from dpsyn.mechanisms.private_sampling.tables import paper_tables
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.theory.datasets import ASIA


def test_what_is_wrong_with_a_threshold_is_a_mark() -> None:
    found = sampling_inverses(sampling_setting(ASIA, PrivacySpec(1.0), rows=1000))
    assert any("ignores the data" in entry.text for entry in found)
    table = inverses_table(found)
    by_label = table.set_index("Condition")
    assert by_label.loc["Private by bounded ratio", "floor"] == "≥ 0.5\N{NO-BREAK SPACE}†"
    assert by_label.loc["Private by bounded ratio", "p"] == "·"
    assert len(table) == len({entry.condition for entry in found})
    assert max(len(cell) for line in table.to_numpy() for cell in line) < 26


def test_groups_are_named_once_and_nothing_else_is_lost() -> None:
    for shown in paper_tables():
        table = grouped(shown.frame)
        assert len(table) == len(shown.frame)
        assert list(table.columns[1:]) == list(shown.frame.columns[1:])
    sizes = grouped(paper_tables()[1].frame)
    assert [name for name in sizes[""] if name] == ["ASIA", "MUSHROOM", "CAR", "ADULT"]
    assert [name for name in grouped(paper_tables()[2].frame)[""] if name] == ["k = 1", "k = 100", "k = 1,000", "k = 10,000"]
