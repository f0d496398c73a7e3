"""The exported verdict says what the verdict says."""

from __future__ import annotations

import json
import math

import pytest

import dpsyn
from dpsyn.mechanisms.feasibility import NOT_FOR_PUBLICATION, Feasibility, verdict_json, verdict_markdown
from dpsyn.theory.conditions import Condition, Verdict
from dpsyn.theory.datasets import ASIA, MUSHROOM

SETTINGS = {"epsilon": 1.0, "degree": 2}


def both():
    return [dpsyn.feasibility(stats, dpsyn.PrivacySpec(1.0, 1e-5), rows=100) for stats in (ASIA, MUSHROOM)]


def test_json_round_trip_has_every_condition():
    found = both()
    document = json.loads(verdict_json(found, SETTINGS, private=True))
    assert document["settings"] == SETTINGS
    assert document["statistics_are_private_data"] is True
    for verdicts, exported in zip(found, document["datasets"], strict=True):
        for verdict in verdicts:
            conditions = exported["verdicts"][verdict.mechanism]["conditions"]
            assert [c["key"] for c in conditions] == [c.key for c in verdict.conditions]
            assert [c["holds"] for c in conditions] == [c.holds for c in verdict.conditions]


def test_markdown_has_a_section_for_every_dataset_and_a_line_for_every_condition():
    found = both()
    text = verdict_markdown(found, SETTINGS, private=True)
    assert NOT_FOR_PUBLICATION in text
    assert "epsilon = 1.0, degree = 2" in text
    for verdicts in found:
        assert f"## {verdicts.stats.name}" in text
        for verdict in verdicts:
            assert verdict.summary in text
            for condition in verdict.conditions:
                assert f"| {condition.label} |" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(line.replace("\\|", "").count("|") == 8 for line in rows)


@pytest.mark.parametrize(
    ("actual", "relation", "strict", "holds", "required"),
    [
        (1, "<=", False, "yes", "≤ 2"),
        (3, ">=", False, "yes", "≥ 2"),
        (2, "<=", True, "no", r"\< 2"),
        (2, ">=", True, "no", r"\> 2"),
    ],
)
def test_a_line_says_whether_a_condition_holds_and_what_it_asks_for(actual, relation, strict, holds, required):
    condition = Condition("c", "Rows", "a", "T", relation, math.log(2), math.log(actual), strict=strict)
    found = Feasibility(ASIA, dpsyn.PrivacySpec(1.0), {"m": Verdict("m", "M", (condition,), "")})
    assert f"| {holds} | Rows | {actual} | {required} |" in verdict_markdown([found], SETTINGS, private=False)


def test_published_statistics_carry_no_warning():
    assert NOT_FOR_PUBLICATION not in verdict_markdown(both(), SETTINGS, private=False)
