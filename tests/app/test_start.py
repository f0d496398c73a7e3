"""What the first page shows is what the library draws today, and its words say the same numbers."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dpsyn.app import start
from dpsyn.data.samples import load_sample


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    path = start.FILE.with_name("make_start.py")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("at", [0, 10, 20])
def test_the_file_holds_what_the_library_draws(maker: ModuleType, at: int) -> None:
    kept, made = start.document()["made"][at], maker.made(start.epsilons()[at])
    assert kept["error"] == pytest.approx(made["error"], abs=2e-5)
    np.testing.assert_allclose(kept["pairs"], made["pairs"], atol=2e-3)


def test_real_squares_are_the_sample(maker: ModuleType) -> None:
    table = load_sample("asia")
    assert start.document()["real"] == maker.correlations(table.codes)
    assert start.document()["columns"] == list(table.domain.names)
    assert sorted(start._ORDER) == sorted(table.domain.names)


def test_slider_runs_from_a_tenth_to_ten_and_says_the_error() -> None:
    assert (start.epsilons()[0], start.epsilons()[-1]) == (0.1, 10)
    assert start.USUAL in start.epsilons()
    for made, sentence in zip(start.document()["made"], start.sentences(), strict=True):
        told = re.fullmatch(r"At ε = ([\d.]+) \(the privacy budget\), .*", sentence)
        assert told is not None
        assert float(told[1]) == made["epsilon"]  # what its rows have spent
        assert len(told[1]) <= 4
        said = float(sentence.split("off by ")[1].split("\N{NO-BREAK SPACE}%")[0])
        assert said == pytest.approx(100 * made["error"], rel=0.06)
    assert start.sentences()[10] in start.control()
    assert all(f"&quot;ε = {epsilon:g}&quot;" in start.control() for epsilon in start.epsilons())


def test_picture_is_small_and_holds_every_value() -> None:
    chart, document = start.draw(), start.document()
    assert len(chart.to_json(indent=None)) < 100_000
    square = json.loads(chart.to_dict()["layer"][2]["data"]["values"])[0]
    shown = [square["synthetic_other"].get(str(1 + at), square["synthetic_now"]) for at in range(len(start.epsilons()))]
    assert square["real"] == document["real"][0]
    assert shown == [made["pairs"][0] for made in document["made"]]
