"""The command in words and exit codes, as somebody in a terminal has them."""

from __future__ import annotations

import io
import json
import math
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import dpsyn
from dpsyn import escape, memory
from dpsyn.cli import dpsyn as command
from dpsyn.cli import experiment, terminal
from dpsyn.data.samples import load_sample
from dpsyn.data.schema_file import read_schema
from dpsyn.display import PRIVATE
from dpsyn.errors import DataError
from dpsyn.evaluation.experiments import DataSource, Experiment, Grid, Workspace
from dpsyn.evaluation.experiments.marks import fingerprint, is_of
from dpsyn.evaluation.experiments.results import CellResult, Results, Status
from dpsyn.mechanisms import base
from dpsyn.mechanisms.feasibility import Feasibility
from dpsyn.mechanisms.registry import MECHANISMS, config_class, offered
from dpsyn.places import HOME, locked, write_whole
from dpsyn.theory.conditions import Condition, Remedy, Verdict

QUICK = ("--set", "reduced_space_size=500", "--set", "refinements=1", "-q")
QUICKEST = ("--mechanism", "independent", "-q")
"""For a process of its own, which has to import all that it needs."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an awkward table: German numbers, a name that a spreadsheet runs, an identifier, a control character."""
    draw = np.random.default_rng(1)
    lines = ["id;=cmd;geboren;Größe;raucht"]
    names = ('"a;b"', "x", "=1+1")
    for i in range(60):
        year, size = 1950 + int(draw.integers(40)), f"1,{int(draw.integers(50, 99))}"
        lines.append(f"{1000 + i};{draw.choice(names)};{year}-03-01;{size};{draw.choice(['ja', 'nein'])}")
    (tmp_path / "leute.csv").write_bytes("\r\n".join(lines).encode("cp1252"))
    (tmp_path / "empty.json").write_text("{}", encoding="utf-8")
    (tmp_path / "half.json").write_text('{"columns": [\n  x', encoding="utf-8")
    (tmp_path / "grid.toml").write_text('data = "leute.csv"', encoding="utf-8")
    (tmp_path / "deep.toml").write_text(f"x = {'[' * 5000}", encoding="utf-8")
    some = 'sample = "asia"\nvalues = [1.0]\n[mechanisms.t]\nmechanism = ["mst"]'
    (tmp_path / "list.toml").write_text(some, encoding="utf-8")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "leute.csv")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, code: int = 0, stdin: bytes | str | None = None) -> Result:
    """The command on these words; no end but the expected one, and no traceback."""
    found = CliRunner().invoke(command, list(words), input=stdin)
    assert found.exit_code == code, (found.output, found.exception)
    assert "Traceback" not in found.output
    assert "\x1b" not in found.output
    return found


def test_help_is_quick_and_loads_nothing_heavy() -> None:
    code = (
        "import sys; from dpsyn.cli import dpsyn\n"
        "try: dpsyn(['generate', '--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('numpy', 'pandas', 'streamlit', 'scipy', 'opendp') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "[]"
    assert "--epsilon" in found.stdout


def test_help_says_in_a_whole_sentence_what_each_command_does() -> None:
    lines = run("--help").stdout.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == sorted(command.commands)
    assert all(line.endswith(".") and not line.endswith("...") for line in lines)


def test_help_says_what_exit_codes_mean() -> None:
    said = run("--help").stdout
    for number in (terminal.DONE, terminal.NO, terminal.USAGE, terminal.INPUT, terminal.NOTHING, terminal.INTERRUPTED):
        assert f"\n    {number} " in said


def test_a_code_book_of_another_tool_becomes_a_schema_and_back(here: Path) -> None:
    domain = dpsyn.read_table("leute.csv").domain
    columns, kinds = domain.names, {"numeric": "numerical", "date": "datetime"}
    told = {a.name: {"sdtype": kinds.get(a.kind, "categorical")} for a in domain.attributes}
    book = {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": told}
    (here / "sdv.json").write_text(json.dumps(book), encoding="utf-8")
    said = run("schema", "leute.csv", "--from", "sdv.json", "-o", "schema.json").stderr
    assert "read off the rows" in said
    assert "set public to true" in said
    read = read_schema((here / "schema.json").read_bytes())
    assert read == domain
    written = run("schema", "schema.json", "--to", "json-schema")
    assert json.loads(written.stdout)["required"] == list(columns)
    (here / "rows.json").write_text(written.stdout, encoding="utf-8")
    assert read_schema(run("schema", "rows.json", "--confirmed").stdout) == domain.confirmed()
    one = read_schema(run("schema", "leute.csv", "--from", "rows.json", "--columns", columns[0]).stdout)
    assert one.names == columns[:1]
    nothing = json.dumps({"columns": {columns[0]: {"dtype": "int64"}}})  # pandera without its schema_type
    (here / "nothing.json").write_text(nothing, encoding="utf-8")
    said = run("schema", "leute.csv", "--from", "nothing.json", code=terminal.INPUT).stderr
    assert f"the description leaves no column to make; '{columns[0]}' was left out: its sdtype is None" in said
    assert "--from is for a table" in run("schema", "rows.json", "--from", "sdv.json", code=terminal.USAGE).stderr
    assert "give the rows" in run("schema", "sdv.json", code=terminal.INPUT).stderr
    told = {"raucht": {"enum": ["ja", "nein"]}, "Größe": {"type": "integer"}}
    (here / "some.json").write_text(json.dumps({"type": "object", "properties": told}), encoding="utf-8")
    assert read_schema(run("schema", "some.json", "--columns", "raucht").stdout).names == ("raucht",)
    quick = ("generate", "leute.csv", "--schema", "rows.json", "-o", "rows.csv")
    assert "dpsyn schema people.csv --from FILE" in run(*quick, code=terminal.INPUT).stderr


def test_a_schema_is_written_edited_and_read_back(here: Path) -> None:
    said = run("schema", "leute.csv", "-o", "schema.json")
    assert "'id' was left out as an identifier" in said.stderr
    text = (here / "schema.json").read_text(encoding="utf-8")
    assert read_schema(text) == dpsyn.read_table("leute.csv").domain
    assert '"lower": "19' in text
    (here / "schema.json").write_text(text.replace('"public": false', '"public": true'), encoding="utf-8")
    run("generate", "leute.csv", "--schema", "schema.json", "-o", "rows.csv", *QUICK)
    record = json.loads((here / "rows.record.json").read_text(encoding="utf-8"))
    assert record["guarantee"]["status"] == "proven"
    assert dpsyn.Domain.from_dict(record["domain"]).is_public
    assert read_schema(run("schema", "leute.csv", "--confirmed").stdout).is_public


def test_a_file_that_is_there_stays_without_force(here: Path) -> None:
    (here / "schema.json").write_text("mine", encoding="utf-8")
    assert "--force" in run("schema", "leute.csv", "-o", "schema.json", code=terminal.INPUT).stderr
    assert (here / "schema.json").read_text(encoding="utf-8") == "mine"
    run("schema", "leute.csv", "-o", "schema.json", "--force")
    assert read_schema((here / "schema.json").read_bytes())


def test_rows_and_their_record(here: Path) -> None:
    said = run("generate", "leute.csv", "--epsilon", "2", "-o", "rows.csv", *QUICK)
    assert "NOT YET TRUE" in said.stderr
    assert "dpsyn schema leute.csv" in said.stderr
    assert "nobody confirmed the domain as public" in " ".join(said.stdout.split())
    (here / "two words.csv").write_bytes((here / "leute.csv").read_bytes())
    run("schema", "two words.csv", "-o", "own.json")
    told = run("generate", "two words.csv", "-o", "others.csv", *QUICK).stderr
    assert "`dpsyn schema 'two words.csv' -o schema.json`" in told
    told = run("generate", "two words.csv", "--schema", "own.json", "-o", "more.csv", *QUICK).stderr
    assert "Set public to true in 'own.json'" in told
    rows = dpsyn.read_table("rows.csv", domain=dpsyn.read_table("leute.csv").domain)
    record = json.loads((here / "rows.record.json").read_text(encoding="utf-8"))
    assert (record["rows"], record["guarantee"]["epsilon"]) == (rows.n, 2.0)
    assert record["guarantee"]["status"] == "unconfirmed_domain"
    assert record["domain"] is None
    assert not record["demonstration"]
    run("generate", "leute.csv", "--epsilon", "3", "-o", "rows.csv", "--force", *QUICK)  # with a record of their own
    assert json.loads((here / "rows.record.json").read_text(encoding="utf-8"))["guarantee"]["epsilon"] == 3.0


def test_rows_that_are_counted_in_place_give_the_same_release(here: Path) -> None:
    run("schema", "leute.csv", "-o", "s.json", "--confirmed")
    assert read_schema(run("schema", "leute.csv", "--in-place").stdout) == dpsyn.read_table("leute.csv").domain
    dpsyn.read_table("leute.csv").frame.to_parquet(here / "leute.parquet")
    (here / "parts").mkdir()
    (here / "leute.parquet").rename(here / "parts" / "0.parquet")
    for source, name in (("leute.csv", "a"), ("leute.csv", "b"), ("parts", "c")):
        words = ("--in-place",) if name == "b" else ()
        said = run("generate", source, "--schema", "s.json", "--seed", "3", "-o", f"{name}.csv", *words, *QUICK[:-1])
        assert "the smallest or the largest value in these rows" in said.stderr.replace("\n", " ")
    assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes() == (here / "c.csv").read_bytes()
    assert "60 rows, as wide as" in run("feasibility", "parts", "--schema", "s.json", code=terminal.NO).stdout


def test_a_seed_makes_a_demonstration(here: Path) -> None:
    for name in ("a.csv", "b.csv"):
        assert "demonstration without a guarantee" in run(
            "generate", "leute.csv", "--seed", "3", "-o", name, *QUICK
        ).stdout.replace("\n", " ")
    assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes()
    run("schema", "leute.csv", "-o", "s.json")
    assert "demonstration" in run("verify", "a.record.json", "--schema", "s.json", code=terminal.NO).stdout


def test_pipes(here: Path) -> None:
    data = (here / "leute.csv").read_bytes()
    said = run("generate", "-", "-o", "-", *QUICK, stdin=data)
    assert len(pd.read_csv(io.StringIO(said.stdout))) == 60
    assert "no record was written" in said.stderr
    run("generate", "-", "-o", "-", "--record", "r.json", *QUICK, stdin=data)
    assert (here / "r.json").stat().st_size
    run("generate", "leute.csv", "-o", "-", "--json", code=terminal.USAGE)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such name")
@pytest.mark.parametrize("name", ["link", "x.csv"])
def test_a_name_that_leads_to_standard_output_is_standard_output(here: Path, name: str) -> None:
    def said(words: str) -> subprocess.CompletedProcess[bytes]:
        shell = f"{sys.executable} -m dpsyn.cli {words}"
        return subprocess.run(["sh", "-c", shell], stderr=subprocess.PIPE, check=False, timeout=60)

    (here / "link").symlink_to("/dev/stdout")
    (here / "x.csv").write_text("mine\n")
    words = f"generate leute.csv --force -o {name} {' '.join(QUICKEST)}"
    assert b"no record was written" in said(f"{words} >> x.csv").stderr
    first, *rows = (here / "x.csv").read_text().splitlines()
    assert first == "mine"
    assert len(rows) == 61
    if name != "link":
        return
    assert said(f"schema leute.csv -o {name} --force > x.csv").returncode == terminal.DONE
    assert read_schema((here / "x.csv").read_bytes()) == dpsyn.read_table("leute.csv").domain
    assert b"- is standard output" in said(f"experiment grid.toml --csv {name} > x.csv").stderr
    assert b"take a file for the record" in said(f"{words} --record {name} > x.csv").stderr
    assert said(f"{words.replace(name, '/dev/null')} --json > /dev/null").returncode == terminal.DONE
    assert not list(here.glob("*record*"))


@pytest.mark.parametrize("how", [("-o", "x.csv"), ("-o", "-"), ("-o", "x.csv", "--json")], ids=" ".join)
def test_that_nothing_is_left_of_the_rows_is_said_once(here: Path, how: tuple[str, ...]) -> None:
    words = ["generate", "leute.csv", "--mechanism", "contingency", "--set", "cells=present", "--epsilon", "0.1"]
    made = run(*words, *how)
    said = " ".join(made.output.replace("dpsyn:", "").split())
    assert said.count("No row of the data is told from noise, so each column") == 1
    assert "--json" not in how or "told from noise" not in made.stdout  # which may be published


@pytest.mark.parametrize("secret", [False, True])
def test_that_little_will_be_left_is_said_before_the_run(here: Path, secret: bool) -> None:
    words = ("generate", "leute.csv", "-o", "x.csv", "--force", "--json", *QUICK)
    neighbours = ("--neighbouring", "add_remove") if secret else ()
    for epsilon, told in (("0.01", 1), ("1000", 0)):
        made = run(*words, *neighbours, "--epsilon", epsilon)
        assert made.stderr.count("but little of the data will be left") == told
        assert "little of the data" not in made.stdout


def test_what_was_said_before_the_run_is_not_said_again_to_a_machine(here: Path) -> None:
    words = ("generate", "leute.csv", "-o", "x.csv", "--mechanism", "independent", "--epsilon", "0.01", "--delta", "0")
    made = run(*words, "--json")
    assert made.stderr.count("goes on fine histograms of") == 1
    assert "histograms of" not in made.stdout
    again = run(*words, "--force")
    assert " ".join(again.output.split()).count("goes on fine histograms of") == 2  # and with the release


def test_machines_get_json(here: Path) -> None:
    made = json.loads(run("generate", "leute.csv", "-o", "rows.csv", "--json", *QUICK).stdout)
    assert made["written"] == {"rows": "rows.csv", "record": "rows.record.json"}
    assert made["mechanism"] == "noisy_reweighting"
    report = json.loads(run("compare", "leute.csv", "rows.csv", "--json").stdout)
    assert report["release"]["marginals"][1]["degree"] == 2
    found = json.loads(run("feasibility", "leute.csv", "--delta", "0", "--json", "-q", code=terminal.NO).stdout)
    judged = {name for name in dpsyn.mechanisms.registry.MECHANISMS if offered(name, "theorems:verdict") is not None}
    assert judged == set(dpsyn.mechanisms.registry.JUDGED)
    assert {v["mechanism"] for v in found["datasets"][0]["verdicts"].values()} == judged - {"dp_cda"}
    words = ("feasibility", "leute.csv", "--mechanism", "dp_cda", "--json", "-q")
    classes = run(*words, "--target", "raucht").stdout
    assert list(json.loads(classes)["datasets"][0]["verdicts"]) == ["dp_cda"]
    fault = run(*words, code=terminal.INPUT)
    assert json.loads(fault.stdout)["exit_code"] == terminal.INPUT
    assert "--target COLUMN" in json.loads(fault.stdout)["error"]
    assert fault.stderr.endswith("--target COLUMN\n")
    assert json.loads(run(*words, "--set", "x", code=terminal.USAGE).stdout)["exit_code"] == terminal.USAGE


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["generate", "nothing.csv", "-o", "x.csv"], terminal.INPUT, "'nothing.csv' cannot be read: No such file"),
        (["generate", ".", "-o", "x.csv"], terminal.INPUT, "'loop' cannot be read: Too many levels"),
        (["compare", "leute.csv", "."], terminal.INPUT, "'.' is a folder: name a file"),
        (["experiment", "."], terminal.INPUT, "'.' is a folder: name a file"),
        (["generate", "leute.csv", "--columns", "Alter", "-o", "x.csv"], terminal.INPUT, "no column 'Alter'"),
        (["generate", "leute.csv", "--epsilon", "0", "-o", "x.csv"], terminal.INPUT, "epsilon = 0.0 is not possible"),
        (["generate", "leute.csv", "--epsilon", "one", "-o", "x.csv"], terminal.USAGE, "not a valid float"),
        (["generate", "leute.csv", "--mechanism", "magic", "-o", "x.csv"], terminal.USAGE, "'magic' is not one of"),
        (["generate", "leute.csv", "--mechanism", "dp_cda", "-o", "x.csv"], terminal.INPUT, "--target COLUMN"),
        (
            ["generate", "leute.csv", "--mechanism", "dp_cda", "--target", "raucht", "--delta", "0", "-o", "x.csv"],
            terminal.NOTHING,
            "delta",
        ),
        (["generate", "leute.csv", "--set", "magic=1", "-o", "x.csv"], terminal.INPUT, "magic = 1 is not possible"),
        (["generate", "leute.csv", "--set", "magic", "-o", "x.csv"], terminal.USAGE, "NAME=VALUE"),
        (["generate", "leute.csv", "-o", "no/x.csv"], terminal.INPUT, "cannot be written: No such file or directory"),
        (["generate", "leute.csv", "--schema", "leute.csv", "-o", "x.csv"], terminal.INPUT, "this is no schema"),
        (
            ["generate", "leute.csv", "--schema", "half.json", "-o", "x.csv"],
            terminal.INPUT,
            "the schema is no JSON from line 2",
        ),
        (["generate", "leute.csv"], terminal.USAGE, "Missing option"),
        (["generate", "leute.csv", "-o", "x.xlsx"], terminal.USAGE, "ends in .csv, .tsv or .parquet"),
        (["generate", "leute.csv", "-o", "x.PQ", "--guard"], terminal.USAGE, "--guard: Parquet holds no formulas"),
        (["generate", "leute.csv", "-o", ""], terminal.USAGE, "'-o': the name of the file is empty"),
        (["generate", "leute.csv", "-o", "-", "--record", "-"], terminal.USAGE, "take a file for the record"),
        (["generate", "leute.csv", "-o", "x.csv", "--record", "./x.csv"], terminal.USAGE, "'x.csv' is to be written twice"),
        (["experiment", "grid.toml", "--csv", "x.csv", "--figure", "no/../x.csv"], terminal.USAGE, "is to be written twice"),
        (["generate", "leute.csv", "-o", "hard.csv", "--force"], terminal.INPUT, "'hard.csv' is what is read here"),
        (["generate", "loop", "-o", "x.csv"], terminal.INPUT, "loop"),
        (["experiment", "grid.toml", "--csv", "-"], terminal.INPUT, "- is standard output"),
        (["experiment", "grid.toml", "-o", ""], terminal.USAGE, "the name of the file is empty"),
        (["experiment", "deep.toml"], terminal.INPUT, "no TOML"),
        (["experiment", "list.toml"], terminal.INPUT, "mechanism"),
        (
            ["generate", "leute.csv", "--set", "noise=loud", "-o", "x.csv"],
            terminal.INPUT,
            "one of 'auto', 'laplace', 'gauss",
        ),
        (
            ["generate", "leute.csv", "--set", "degree=1.5", "-o", "x.csv"],
            terminal.INPUT,
            "degree = 1.5 is not possible: exp",
        ),
        (["generate", "leute.csv", "--set", "rows=1", "--rows", "2", "-o", "x.csv"], terminal.USAGE, "rows is set twice"),
        (["generate", "leute.csv", "-o", "leute.csv", "--force"], terminal.INPUT, "'leute.csv' is what is read here"),
        (["generate", "leute.csv", "-o", "x.csv", "--record", "./leute.csv", "--force"], terminal.INPUT, "is what is read"),
        (["schema", "leute.csv", "-o", "leute.csv", "--force"], terminal.INPUT, "'leute.csv' is what is read here"),
        (["experiment", "grid.toml", "--csv", "leute.csv", "--force"], terminal.INPUT, "'leute.csv' is what is read here"),
        (["feasibility", "leute.csv", "--mechanism", "mst"], terminal.USAGE, "'mst' is not one of 'private_sampling'"),
        (["feasibility", "leute.csv", "--mechanism", "dp_cda"], terminal.INPUT, "--target COLUMN"),
        (["compare", "leute.csv", "grid.toml"], terminal.INPUT, "'grid.toml': the table has no column"),
        (["schema", "leute.csv", "-o", "."], terminal.INPUT, "is there already"),
        (["compare", "leute.csv", "leute.csv", "--target", "weight"], terminal.INPUT, "weight"),
        (["compare", "leute.csv", "leute.csv", "--degrees", "two"], terminal.INPUT, "degrees = 'two' is not possible"),
        (["generate", "leute.csv", "--target", "zz", "--mechanism", "independent", "-o", "x.csv"], terminal.INPUT, "'zz'"),
        (["verify", "leute.csv"], terminal.INPUT, "no JSON"),
        (["verify", "empty.json"], terminal.INPUT, "no record of a run"),
        (["feasibility", "leute.csv", "--set", "floors=2"], terminal.INPUT, "no theorem has such a setting"),
        (["experiment", "leute.csv"], terminal.INPUT, "no TOML"),
        (["app", "nothing.csv"], terminal.INPUT, "'nothing.csv' cannot be read"),
        (["nonsense"], terminal.USAGE, "No such command"),
        (["generate", "leute.csv", "--set", "mechanism=mst", "-o", "x.csv"], terminal.USAGE, "with --mechanism NAME"),
        (["schema", ""], terminal.USAGE, "the name of the file is empty"),
        (["schema", "leute.csv", "-o", ""], terminal.USAGE, "the name of the file is empty"),
        (["generate", "leute.csv", "-o", "x.csv", "--record", ""], terminal.USAGE, "the name of the file is empty"),
    ],
    ids=lambda each: " ".join(each)[:60] if isinstance(each, list) else None,
)
def test_what_is_wrong_is_one_line(here: Path, words: list[str], code: int, said: str) -> None:
    found = run(*words, code=code)
    assert said in found.stderr
    assert found.stdout == ""
    assert not (here / "x.csv").exists()
    assert not (here / "x.record.json").exists()
    assert (here / "leute.csv").read_bytes().startswith(b"id;=cmd")
    if code != terminal.USAGE:
        assert found.stderr.splitlines()[-1].startswith("dpsyn: ")


def failing(fault: BaseException) -> Any:
    def call(*args: object, **options: object) -> None:
        raise fault

    return call


def in_a_library(interrupt: KeyboardInterrupt) -> ImportError:
    """What a library makes of an interrupt that comes while it is imported."""
    fault = ImportError("cannot import name 'x'")
    fault.__context__ = interrupt
    return fault


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        (KeyboardInterrupt(), terminal.INTERRUPTED, "interrupted"),
        (in_a_library(KeyboardInterrupt()), terminal.INTERRUPTED, "interrupted"),
        (MemoryError(), terminal.NOTHING, "memory"),
        (ValueError("row 3 holds 4711"), terminal.UNFORESEEN, "did not foresee"),
        (
            OSError(28, "No space left on device"),
            terminal.INPUT,
            "'x.record.json' cannot be written: No space left",
        ),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, BaseException) else None,
)
def test_whatever_ends_a_run_leaves_no_half_file(
    here: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException, code: int, said: str
) -> None:
    monkeypatch.setattr(base.Mechanism, "__call__", failing(fault))
    found = run("generate", "leute.csv", "-o", "x.csv", code=code)
    assert said in found.stderr
    assert "4711" not in found.output
    assert not list(here.glob("x*"))


@pytest.mark.parametrize("asked", ["SIGTERM", "SIGHUP"])
def test_who_is_asked_to_end_leaves_no_half_file(here: Path, asked: str) -> None:
    # Whoever runs the tests may have them go on without a terminal, as nohup does.
    code = f"import runpy, signal; signal.signal(signal.{asked}, signal.SIG_DFL); "
    code += "runpy.run_module('dpsyn.cli', run_name='__main__', alter_sys=True)"
    words = [sys.executable, "-c", code, "generate", "-", "-o", "x.csv"]
    running = subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (here / "x.record.json").exists():
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.Signals[asked])
    assert b"interrupted" in running.communicate()[1]
    assert running.returncode == terminal.INTERRUPTED
    assert not list(here.glob("x*"))


@pytest.mark.parametrize("ends", [KeyboardInterrupt(), None])
@pytest.mark.parametrize("force", [False, True])
def test_what_others_wrote_meanwhile_stays(
    here: Path, monkeypatch: pytest.MonkeyPatch, ends: BaseException | None, *, force: bool
) -> None:
    called = base.Mechanism.__call__

    def slow(*args: Any, **options: Any) -> Any:
        (here / "others").write_text("others")
        (here / "others").replace(here / "x.csv")
        (here / "x.record.json").write_text("others")
        if ends is not None:
            raise ends
        return called(*args, **options)

    monkeypatch.setattr(base.Mechanism, "__call__", slow)
    words = ("generate", "leute.csv", "-o", "x.csv", *QUICK, *["--force"] * force)
    done = force and ends is None
    found = run(*words, code=terminal.DONE if done else terminal.INTERRUPTED if ends else terminal.INPUT)
    assert ((here / "x.csv").read_text() == "others") is not done
    assert ((here / "x.record.json").read_text() == "others") is not done
    if not force and ends is None:
        assert "'x.csv' was made by somebody else meanwhile, and nothing was written" in found.stderr
    assert not list(here.glob(".*"))


def test_a_record_goes_if_its_rows_find_no_reader(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpsyn.cli.commands.note_formulas", failing(KeyboardInterrupt()))
    run("generate", "leute.csv", "-o", "-", "--record", "x.record.json", *QUICK, code=terminal.INTERRUPTED)
    assert not list(here.glob("x*"))


@pytest.mark.skipif(sys.platform == "win32", reason="has no such pipe")
def test_rows_that_nobody_reads_to_the_end_take_their_record_and_say_so(here: Path) -> None:
    words = (
        f"{sys.executable} -m dpsyn.cli generate leute.csv --rows 50000 -o - --record x.json {' '.join(QUICKEST)} | head -2"
    )
    found = subprocess.run(["sh", "-c", words], capture_output=True, check=False)
    assert found.stdout.count(b"\n") == 2
    assert b"stopped before the last one, so x.json was not kept" in found.stderr
    assert not (here / "x.json").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="has no such pipe")
@pytest.mark.parametrize("as_json", ["", "--json"])
def test_an_answer_that_nobody_reads_is_the_same_answer(here: Path, as_json: str) -> None:
    run("schema", "leute.csv", "--confirmed", "-o", "s.json")
    run("generate", "leute.csv", "--schema", "s.json", "--seed", "5", "-o", "x.csv", "--record", "x.json", *QUICK)
    for words in ("verify x.json", "feasibility leute.csv -q"):
        # What reads ends before anything is said.
        command = f"{sys.executable} -m dpsyn.cli {words} {as_json} | true; exit ${{PIPESTATUS[0]}}"
        assert subprocess.run(["bash", "-c", command], capture_output=True, check=False).returncode == terminal.NO


def test_a_file_whose_name_is_no_unicode_is_read(here: Path) -> None:
    name = os.fsdecode(b"leute\xff.csv")
    (here / name).write_bytes((here / "leute.csv").read_bytes())
    assert read_schema(run("schema", name).stdout) == dpsyn.read_table("leute.csv").domain
    run("generate", name, "-o", "x.csv", *QUICK)
    assert run("feasibility", name, "-q", code=terminal.NO).stdout.startswith("leute\ufffd: 60 rows")


def test_without_a_record_no_rows_are_written_over(here: Path) -> None:
    (here / "x.csv").write_text("mine")
    run("generate", "leute.csv", "-o", "x.csv", "--record", "/dev/full", "--force", *QUICK, code=terminal.INPUT)
    assert (here / "x.csv").read_text() == "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="has no limit on what a process writes")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_rows_that_standard_output_has_no_room_for_are_told(here: Path, unbuffered: str) -> None:
    words = f"ulimit -f 8; exec {sys.executable} -m dpsyn.cli generate leute.csv --rows 5000 -o - {' '.join(QUICKEST)}"
    with (here / "x.csv").open("wb") as file:
        surroundings = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        found = subprocess.run(["sh", "-c", words], stdout=file, stderr=subprocess.PIPE, env=surroundings, check=False)
    assert found.returncode == terminal.INPUT
    assert b"standard output cannot be written: File too large" in found.stderr


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_on_a_full_disk_what_was_there_stays(here: Path, name: str) -> None:
    def files() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in here.iterdir() if path.name != "loop"}

    (here / "schema.json").write_bytes(b"mine")
    run("generate", "leute.csv", "-o", name, *QUICK)
    before = files()
    words = {
        8_000: ("generate", "leute.csv", "-o", name, "--rows", "10000", *QUICK),  # the record has room, the rows have not
        100: ("schema", "leute.csv", "-o", "schema.json"),
    }
    assert len(before["x.record.json"]) < 8_000
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit, each in words.items():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limits[1]))
        try:
            said = run(*each, "--force", code=terminal.INPUT).stderr
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert "cannot be written: File too large" in said
        assert files() == before


def test_what_is_written_over_keeps_its_permissions_and_links(here: Path) -> None:
    (here / "kept.json").write_text("mine")
    (here / "kept.json").chmod(0o640)
    (here / "link.json").symlink_to("kept.json")
    run("schema", "leute.csv", "-o", "link.json", "--force")
    assert (here / "link.json").is_symlink()
    assert (here / "kept.json").stat().st_mode & 0o777 == 0o640
    assert json.loads((here / "kept.json").read_text(encoding="utf-8"))["columns"]
    (here / "new").touch()
    run("schema", "leute.csv", "-o", "new.json")
    assert (here / "new.json").stat().st_mode == (here / "new").stat().st_mode


def test_nothing_is_written_into_a_folder_that_would_be_read(here: Path) -> None:
    (here / "fol" / "sub").mkdir(parents=True)
    (here / "elsewhere").mkdir()
    rows = dpsyn.read_table("leute.csv").frame
    for name in ("fol/a.parquet", "fol/sub/b.parquet", "elsewhere/c.parquet", "single.parquet"):
        rows.to_parquet(here / name)
    (here / "fol" / "linked").symlink_to(here / "elsewhere")
    (here / "fol" / "single.parquet").symlink_to(here / "single.parquet")
    (here / "to_fol").symlink_to("fol")
    before = {path: path.read_bytes() for path in here.rglob("*.parquet")}
    for source in ("fol", "to_fol"):
        for name in before:
            said = run("generate", source, "-o", str(name), "--force", *QUICK, code=terminal.INPUT).stderr
            assert "is what is read here: take another name" in said
        for name in ("fol/x.parquet", "to_fol/sub/x.pq", "fol/linked/x.parquet", "fol"):
            said = run("generate", source, "-o", name, "--force", *QUICK, code=terminal.INPUT).stderr
            assert ("is what is read here" if name == "fol" else "would be read here as part of the folder") in said
        run("schema", source, "-o", "fol/s.json", "--force")
    assert "would be read here" in run("schema", "fol", "-o", "elsewhere/new.parquet", code=terminal.INPUT).stderr
    run("generate", "fol", "-o", "fol/_new.parquet", *QUICK)
    (here / "fol" / "_new.parquet").unlink()
    (here / "fol" / "_new.record.json").unlink(missing_ok=True)
    assert {path: path.read_bytes() for path in here.rglob("*.parquet")} == before
    assert not list(here.rglob("x.*"))
    run("generate", "fol", "-o", "elsewhere.csv", *QUICK)


def test_a_file_of_two_names_is_written_once(here: Path) -> None:
    (here / "to_x").symlink_to("x")
    write_whole({here / "x": b"1", here / "to_x": b"2"})
    assert (here / "x").read_bytes() == b"2"
    assert not list(here.glob(".*"))


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("end", ["os._exit(9)", "raise KeyboardInterrupt", "raise OSError"])
def test_files_that_belong_together_are_of_one_run_whenever_it_ends(tmp_path: Path, at: int, end: str) -> None:
    """``at``: how many files of the folder it has moved and removed when it ends."""
    for name in ("record", "rows"):
        (tmp_path / name).write_bytes(b"old")
    code = f"""
import os, pathlib
from dpsyn.places import write_whole
here, left = pathlib.Path({str(tmp_path)!r}), [{at}]
def ending(step):
    def ended(path, *rest, **options):
        left[0] -= 1
        if left[0] == -1:
            {end}
        return step(path, *rest, **options)
    return ended
pathlib.Path.replace, pathlib.Path.unlink = map(ending, (pathlib.Path.replace, pathlib.Path.unlink))
write_whole({{here / "record": b"new", here / "rows": b"new"}})
"""
    ended = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    found = {path.name: path.read_bytes() for path in tmp_path.iterdir() if not path.name.startswith(".")}
    assert len(set(found.values())) == 1
    if "raise" in end:
        assert ended.stderr.splitlines()[-1] == end.removeprefix("raise ")
        assert found == dict.fromkeys(("record", "rows"), b"old" if at < 2 else b"new")
        assert at == 3 or len(list(tmp_path.iterdir())) == 2


def test_new_files_go_when_the_work_is_interrupted_as_they_take_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(files: Mapping[Path, bytes]) -> None:
        write_whole(files)
        raise KeyboardInterrupt

    def overtaken(files: Mapping[Path, bytes]) -> None:
        new.unlink()
        new.write_bytes(b"somebody else's")
        raise KeyboardInterrupt

    new, old = tmp_path / "new", tmp_path / "old"
    for writing, left in ((interrupted, {"old": b"2"}), (overtaken, {"old": b"1", "new": b"somebody else's"})):
        monkeypatch.setattr(terminal, "write_whole", writing)
        old.write_bytes(b"1")
        with pytest.raises(KeyboardInterrupt), terminal.written(new, old, force=True, read=[]) as write:
            write({new: b"1", old: b"2"})
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == left


def test_a_pipe_is_read_once_or_refused(here: Path) -> None:
    os.mkfifo(here / "pipe")
    for words, code in ((["feasibility", "-q"], terminal.NO), (["schema"], terminal.DONE)):
        writing = subprocess.Popen(["sh", "-c", "cat leute.csv > pipe"])
        try:
            assert run(*words, "pipe", code=code).stdout
        finally:
            writing.kill()
            writing.wait()
    said = run("generate", "pipe", "--in-place", "-o", "x.csv", code=terminal.INPUT).stderr
    assert "'pipe' is no file and no folder, and can be read once only" in said
    with pytest.raises(DataError, match="read it with read_table"):
        dpsyn.file_statistics("pipe")


def test_a_pipe_gets_all_that_is_written_and_in_one_piece(here: Path) -> None:
    os.mkfifo(here / "out")
    for words in (["schema", "leute.csv"], ["generate", "leute.csv", "--seed", "1", *QUICKEST]):
        with subprocess.Popen(["timeout", "60", "cat", "out"], stdout=subprocess.PIPE) as reading:
            code = f"from dpsyn.cli import dpsyn; dpsyn({[*words, '--force', '-o', 'out']!r})"
            subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
            assert reading.stdout is not None
            got = reading.stdout.read()
        run(*words, "--force", "-o", "whole")
        assert got == (here / "whole").read_bytes()


def test_a_file_called_as_standard_input_is_not_taken_for_it(here: Path) -> None:
    (here / "-").write_text("nothing of it\n")
    rows = (here / "leute.csv").read_bytes()
    assert run("feasibility", "-", "-q", code=terminal.NO, stdin=rows).stdout.startswith("data: 60 rows")


def test_where_standard_output_is_closed_nothing_is_done(here: Path) -> None:
    words = f"exec {sys.executable} -m dpsyn.cli schema leute.csv >&-"
    found = subprocess.run(["sh", "-c", words], stderr=subprocess.PIPE, check=False)
    assert found.returncode == terminal.INPUT
    assert b"standard output is closed" in found.stderr


@pytest.mark.parametrize("words", ["generate leute.csv -o x.csv", "feasibility leute.csv", "compare leute.csv leute.csv"])
def test_where_standard_error_is_closed_all_is_done(here: Path, words: str) -> None:
    found = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m dpsyn.cli {words} --json 2>&-"], stdout=subprocess.PIPE, check=False
    )
    assert found.returncode in (terminal.DONE, terminal.NO)
    assert "error" not in json.loads(found.stdout)


@pytest.mark.parametrize(
    "words", ["compare - -", "compare leute.csv - --holdout -", "generate - -o x.csv --schema -", "schema - --from -"]
)
def test_standard_input_is_one_thing(here: Path, words: str) -> None:
    rows = (here / "leute.csv").read_bytes()
    assert "standard input can be one thing only" in run(*words.split(), code=terminal.USAGE, stdin=rows).stderr
    assert not list(here.glob("x*"))


@pytest.mark.parametrize("words", ["schema - --in-place", "generate - -o x.csv --in-place"])
def test_standard_input_is_not_counted_in_place(here: Path, words: str) -> None:
    rows = (here / "leute.csv").read_bytes()
    assert "standard input can be read once only: name a file" in run(*words.split(), code=terminal.USAGE, stdin=rows).stderr
    assert not list(here.glob("x*"))


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        (' c , "a,b"', ("c", "a,b")),
        ('"a,b", c', ("a,b", "c")),
        ('5" pipe', ('5" pipe',)),
        ('"say ""x"""', ('say "x"',)),
    ],
)
def test_columns_are_named_as_in_csv(here: Path, columns: str, names: tuple[str, ...]) -> None:
    pd.DataFrame({name: ["x", "y"] for name in ("a,b", "c", '5" pipe', 'say "x"')}).to_csv("odd.csv", index=False)
    assert read_schema(run("schema", "odd.csv", "--columns", columns).stdout).names == names
    for bad in ('"a,b', '"a,b"c', "a\nb"):
        assert "write names as in CSV" in run("schema", "odd.csv", "--columns", bad, code=terminal.USAGE).stderr


@pytest.mark.parametrize(
    "words", ["schema - -o leute.csv", "generate - -o x.csv --record hard.csv", "generate - -o link.csv"]
)
def test_the_file_that_is_standard_input_is_not_written_over(here: Path, words: str) -> None:
    before = (here / "leute.csv").read_bytes()
    (here / "link.csv").symlink_to("leute.csv")
    found = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m dpsyn.cli {words} --force < leute.csv"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == terminal.INPUT
    assert "is what is read here: take another name to write" in found.stderr
    assert (here / "leute.csv").read_bytes() == before
    assert not list(here.glob("x*"))


@pytest.mark.parametrize("words", ["schema -", "generate - -o x.csv", "verify -"])
def test_where_standard_input_is_closed_nothing_is_read(here: Path, words: str) -> None:
    found = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m dpsyn.cli {words} <&-"], capture_output=True, text=True, check=False
    )
    assert found.returncode == terminal.INPUT
    assert found.stderr == "dpsyn: standard input is closed, and nothing can be read there: name a file\n"
    assert not list(here.glob("x*"))


def test_what_never_ends_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_most", 1 << 28)
    found = run("generate", "/dev/zero", "-o", "x.csv", code=terminal.INPUT)
    assert "'zero' holds more than 0.2 GB" in found.stderr


def test_a_schema_goes_to_standard_output(here: Path) -> None:
    assert json.loads(run("schema", "leute.csv", "-o", "-").stdout)["columns"]
    assert not (here / "-").exists()


@pytest.mark.parametrize("encoding", ["utf-16", "ascii"])
def test_standard_output_is_utf_8_where_the_locale_is_another(here: Path, encoding: str) -> None:
    (here / "towns.csv").write_text("Stadt Ł,x\n" + "Łódź,1\nŁódż,2\nKöln,3\n" * 8, encoding="utf-8")
    surroundings = {**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C"}

    def said(words: str, stderr: int = subprocess.DEVNULL) -> bytes:
        command = [sys.executable, "-m", "dpsyn.cli", *words.split()]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, env=surroundings, check=False).stdout

    if encoding == "ascii":
        assert read_schema(said("schema towns.csv")) == dpsyn.read_table("towns.csv").domain
        fault = json.loads(said("feasibility towns.csv --columns Łódź --json"))["error"]
        assert "column 'Łódź'; its columns are 'Stadt Ł'" in fault
    both = said("feasibility towns.csv", subprocess.STDOUT).decode()
    assert "ε = 1, δ = 10⁻⁵" in both
    assert "the domain of Stadt Ł, x" in both


@pytest.mark.skipif(sys.platform == "win32", reason="has terminals of another kind")
def test_a_terminal_of_another_encoding_is_told_what_it_has_no_signs_for(here: Path) -> None:
    ours, its = os.openpty()
    surroundings = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    words = [sys.executable, "-m", "dpsyn.cli", "feasibility", "leute.csv", "--columns", "Größe", "-q"]
    with subprocess.Popen(words, stdout=its, stderr=subprocess.DEVNULL, env=surroundings):
        os.close(its)
        said = b""
        with suppress(OSError):  # so it ends on Linux
            while block := os.read(ours, 4096):
                said += block
    os.close(ours)
    assert rb"at \u03b5 = 1, \u03b4 = 10\u207b\u2075" in said


def test_where_there_is_no_terminal_progress_is_plain_lines(here: Path) -> None:
    said = run("generate", "leute.csv", "-o", "rows.csv", *QUICK[:-1]).stderr
    assert "Noisy reweighting: adding noise to the statistics" in said
    assert "Noisy reweighting: handing over the rows (100%)" in said
    assert "Noisy reweighting:" not in run("generate", "leute.csv", "-o", "rows.csv", "--force", *QUICK).stderr


def test_a_reader_that_has_enough_ends_it_quietly(here: Path) -> None:
    code = "from dpsyn.cli import main; main()"
    schema = subprocess.Popen(
        [sys.executable, "-c", code, "schema", "leute.csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert schema.stdout is not None
    schema.stdout.close()
    assert schema.stderr is not None
    said = schema.stderr.read()
    schema.stderr.close()
    assert schema.wait() == 0
    assert b"Broken" not in said
    assert b"Traceback" not in said


@pytest.mark.parametrize(("words", "code"), [("schema leute.csv", 0), ("schema nowhere.csv", terminal.INPUT)])
def test_what_libraries_do_when_the_process_is_taken_down_changes_nothing(here: Path, words: str, code: int) -> None:
    start = "import atexit, os; atexit.register(os.abort); from dpsyn.cli import main; main()"
    found = subprocess.run([sys.executable, "-c", start, *words.split()], capture_output=True, check=False, timeout=60)
    assert (found.returncode, bool(found.stdout)) == (code, code == 0)
    assert found.stderr


def test_a_record_is_verified_and_a_smaller_epsilon_is_refuted(here: Path) -> None:
    run("schema", "leute.csv", "--confirmed", "-o", "s.json")
    run("generate", "leute.csv", "--schema", "s.json", "-o", "rows.csv", *QUICK)
    assert run("verify", "rows.record.json").stdout.startswith("HOLDS")
    text = (here / "rows.record.json").read_text(encoding="utf-8").replace('"epsilon": 1.0', '"epsilon": 0.5')
    said = run("verify", "-", code=terminal.NO, stdin=text).stdout
    assert said.startswith("REFUTED")
    found = json.loads(run("verify", "-", "--json", code=terminal.NO, stdin=text).stdout)
    assert not found["holds"]
    record = json.loads((here / "rows.record.json").read_text(encoding="utf-8"))
    record["guarantee"]["epsilon"] = 2.0  # more than its settings give
    found = json.loads(run("verify", "-", "--json", stdin=json.dumps(record)).stdout)
    assert (found["stated"]["epsilon"], found["found"]["epsilon"]) == (2.0, 1.0)


@pytest.mark.parametrize("why", ["nobody confirmed the domain", "a seed"])
def test_a_record_that_nothing_contradicts_does_not_hold_where_nothing_is_guaranteed(here: Path, why: str) -> None:
    """By its words, its exit code, its JSON and all that it takes for granted."""
    run("schema", "leute.csv", "-o", "s.json", *(["--confirmed"] if why == "a seed" else []))
    run(
        "generate",
        "leute.csv",
        "--schema",
        "s.json",
        "-o",
        "rows.csv",
        *QUICK,
        *(["--seed", "0"] if why == "a seed" else []),
    )
    claim = json.loads((here / "rows.record.json").read_text(encoding="utf-8"))["guarantee"]
    words = ("verify", "rows.record.json", "--schema", "s.json")
    said = " ".join(run(*words, code=terminal.NO).stdout.split())
    assert said.startswith("NOT TRUE YET: calibrated anew, its settings give what the record states, ")
    assert ("not yet true: nobody confirmed" if why != "a seed" else "a demonstration without a guarantee") in said
    assert claim["assumptions"]
    assert all(f"taken for granted: {assumption}" in said for assumption in claim["assumptions"])
    found = json.loads(run(*words, "--json", code=terminal.NO).stdout)
    assert (found["holds"], found["stated"]["status"]) == (False, claim["status"])
    assert found["found"]["assumptions"] == claim["assumptions"]


def test_what_reads_private_rows_says_so_in_its_last_line(here: Path) -> None:
    run("generate", "leute.csv", "-o", "rows.csv", *QUICK)
    for words in (["compare", "leute.csv", "rows.csv"], ["compare", "leute.csv", "rows.csv", "--degrees", "1"]):
        assert run(*words).stdout.splitlines()[-1] == f"[{PRIVATE}]"
    for words, code in ((["--epsilon", "0.1"], terminal.NO), (["--target", "raucht", "--epsilon", "50"], 0)):
        assert run("feasibility", "leute.csv", *words, code=code).stdout.splitlines()[-1] == f"[{PRIVATE}]"


@pytest.mark.parametrize("known", ["none", "one", "all"])
def test_a_schema_with_one_column_that_nobody_confirmed_is_to_be_corrected(here: Path, known: str) -> None:
    schema = json.loads(run("schema", "leute.csv").stdout)
    for column in schema["columns"]:
        column["public"] = known == "all" or (known == "one" and column["name"] == "raucht")
    (here / "s.json").write_text(json.dumps(schema), encoding="utf-8")
    said = " ".join(run("schema", "s.json", "-o", "again.json").stderr.split())
    assert ("set public to true in the columns that you know without these rows" in said) == (known != "all")


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_a_record_is_that_of_the_release_and_all_that_it_assumes_is_told(
    here: Path, neighbouring: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[base.Release] = []
    true = base.Mechanism.__call__
    monkeypatch.setattr(base.Mechanism, "__call__", lambda *asked: made.append(true(*asked)) or made[-1])
    run("schema", "leute.csv", "--confirmed", "-o", "s.json")
    words = ("generate", "leute.csv", "--schema", "s.json", "--mechanism", "mst", "--neighbouring", neighbouring)
    run(*words, "--epsilon", "0.2", "-o", "rows.csv", "-q")
    record = json.loads((here / "rows.record.json").read_text(encoding="utf-8"))
    assert record == json.loads(json.dumps(made[0].record()))
    assert record["guarantee"]["neighbouring"] == neighbouring
    assert record["rows"] == len(made[0].rows)
    said = " ".join(run("verify", "rows.record.json").stdout.split())
    assert len(made[0].guarantee.assumptions) > (neighbouring == "replace_one")
    assert all(f"taken for granted: {assumption}" in said for assumption in made[0].guarantee.assumptions)


@pytest.mark.parametrize("confirmed", ["none", "one", "all"])
def test_statistics_are_private_and_a_domain_waits_until_all_columns_are_confirmed(here: Path, confirmed: str) -> None:
    schema = json.loads(run("schema", "leute.csv").stdout)
    for column in schema["columns"]:
        column["public"] = confirmed == "all" or (confirmed == "one" and column["name"] == "raucht")
    (here / "s.json").write_text(json.dumps(schema), encoding="utf-8")
    found = run("feasibility", "leute.csv", "--schema", "s.json", "--json", "-q", code=terminal.NO)
    assert json.loads(found.stdout)["statistics_are_private_data"] is True
    assert ("NOT YET TRUE" in found.stderr) == (confirmed != "all")
    (here / "grid.toml").write_text(f'schema = "s.json"\n{GRID}', encoding="utf-8")
    said = run("experiment", "grid.toml", "--workers", "1", "-q").stderr
    assert ("keep it to yourself" in " ".join(said.split())) == (confirmed != "all")


def test_feasibility_answers_by_its_exit_code(here: Path) -> None:
    said = run("feasibility", "leute.csv", "--delta", "0", "-q", code=terminal.NO)
    assert "Private sampling" in said.stdout
    assert "NOT YET TRUE" in said.stderr
    one = run("feasibility", "leute.csv", "--mechanism", "mwem", "-q", code=terminal.NO)
    assert "Private sampling" not in one.stdout.split("\n", 1)[1]
    words = ("--target", "raucht", "--epsilon", "50", "--mechanism", "dp_cda")
    assert "◇ DP-CDA" in run("feasibility", "leute.csv", *words).stdout
    (verdict,) = json.loads(run("feasibility", "leute.csv", *words, "--json", "-q").stdout)["datasets"][0][
        "verdicts"
    ].values()
    (order,) = [c for c in verdict["conditions"] if c["key"] == "order_of_mixture"]
    smoke = [line.endswith(";ja") for line in Path("leute.csv").read_text(encoding="cp1252").splitlines()[1:]]
    assert order["required"] == min(smoke.count(True), smoke.count(False)) != 30  # mixed within the smallest class


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_feasibility_is_that_of_the_library_for_all_that_is_asked(here: Path, neighbouring: str) -> None:
    asked = {"epsilon": 0.7, "delta": 1e-7, "neighbouring": neighbouring}
    more = {"classes": 3, "smallest_class": 9, "rows": 5}
    words = [word for name, value in asked.items() for word in (f"--{name}", str(value))]
    words += ["--set", "classes=3", "--set", "smallest_class=9", "--rows", "5", "--target", "raucht"]
    found = json.loads(run("feasibility", "leute.csv", "--json", "-q", *words).stdout)
    stats = dpsyn.read_table("leute.csv").statistics()
    verdicts = dpsyn.feasibility(stats, dpsyn.PrivacySpec(**asked), **more).to_dict()["verdicts"]
    assert found["settings"] == {**asked, **more}
    assert found["datasets"][0]["verdicts"] == json.loads(json.dumps(verdicts))


def test_feasibility_says_plainly_what_is_in_the_way(here: Path) -> None:
    plain = run("feasibility", "leute.csv", "-q", code=terminal.NO).stdout
    assert "– DP-CDA: needs a column of classes: --target COLUMN" in plain
    assert "✗ Private sampling: Not private at ε = 1: 1 row costs ε = " in " ".join(plain.split())
    assert "missed by a factor" not in plain
    full = " ".join(run("feasibility", "leute.csv", "-q", "-v", code=terminal.NO).stdout.split())
    assert "missed by a factor" in full
    assert "(Theorem 4.2): " in full


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Remedy("delta", "at_least", math.log(2.5), 0.0), "would need --delta ≥ 2.5."),
        (None, "would need --epsilon ≥ 10 for this one."),
    ],
)
def test_feasibility_says_how_many_conditions_fail_and_which_change_helps(
    change: Remedy | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def at_least(required: float) -> Condition:
        remedies = (
            Remedy("p", "at_most", None, 0.0),
            Remedy("floor", "at_most", math.log(2), 0.0, caveat="no mechanism can"),
            Remedy("rows", "at_least", math.log(50), 0.0),
            Remedy("epsilon", "at_least", math.log(10), 0.0),
        )
        return Condition("x", f"At least {required:g}", "", "Theorem 1", ">=", math.log(required), 0.0, remedies=remedies)

    verdict = Verdict("mwem", "MWEM", tuple(map(at_least, (0.5, 20, 1000))), "Two fail.", change=change)
    stats = dpsyn.DatasetStatistics(p=3, n=60, max_frequency=0.5)
    terminal.say_verdicts(Feasibility(stats, dpsyn.PrivacySpec(1.0), {"mwem": verdict}), verbose=False)
    assert f'2 of 3 conditions fail, furthest "At least 1000": {said}' in " ".join(capsys.readouterr().out.split())


def test_feasibility_judges_as_many_rows_as_generate_makes(here: Path) -> None:
    def rows(*words: str) -> float:
        found = run("feasibility", "leute.csv", "--mechanism", "noisy_reweighting", "--json", "-q", *words, code=terminal.NO)
        (verdict,) = json.loads(found.stdout)["datasets"][0]["verdicts"].values()
        (condition,) = [c for c in verdict["conditions"] if c["key"] == "rows_lower"]
        return float(condition["actual"])

    assert (rows(), rows("--rows", "7")) == (60, 7)


def test_where_rows_cost_budget_as_many_are_made_as_fit(here: Path) -> None:
    words = ("generate", "leute.csv", "--columns", "raucht", "--mechanism", "private_sampling", "--epsilon", "20", "-q")
    run(*words, "-o", "rows.csv")
    record = json.loads((here / "rows.record.json").read_text(encoding="utf-8"))
    assert record["rows"] == 9
    assert "rows" in run(*words, "--rows", "60", "-o", "all.csv", code=terminal.NOTHING).stderr


def test_rows_beside_the_real_ones(here: Path) -> None:
    run("generate", "leute.csv", "-o", "rows.csv", *QUICK)
    said = " ".join(run("compare", "leute.csv", "rows.csv", "--holdout", "leute.csv", "--target", "raucht").stdout.split())
    assert "Tables of two columns are off by" in said
    assert re.search(r"guessing[^.]* 0\.\d", said)
    assert "Trained on" in said
    assert "Real rows" in said
    assert "geboren" in said
    assert "--holdout" in run("compare", "leute.csv", "rows.csv", "--target", "raucht", "-q").stderr
    lines = Path("leute.csv").read_bytes().splitlines(keepends=True)
    for name, kept in (("few.csv", lines[:8]), ("held.csv", lines[:12])):
        Path(name).write_bytes(b"".join(kept))
    said = run("compare", "leute.csv", "few.csv", "--holdout", "held.csv", "--degrees", "1", "--json", "-q").stdout
    found = json.loads(said)
    assert (found["n"], found["release"]["rows"], found["noise_floor"]["rows"]) == (60, 7, 11)
    none = "no tables were compared: --degrees 9,10 takes more columns than the 4 that there are"
    assert none in run("compare", "leute.csv", "rows.csv", "--degrees", "9,10", "--json", "-q").stderr


GRID = """
data = "leute.csv"
columns = ["raucht", "geboren"]
epsilon = 1.0
delta = 0.0
values = [1.0]
repeats = 1
draws = 1
degrees = [1]
[mechanisms."=tables"]
mechanism = "noisy_reweighting"
rows = 30
refinements = 1
"""


def test_an_experiment_goes_on_where_it_was_interrupted(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "grid.toml").write_text(GRID, encoding="utf-8")
    words = ("experiment", "grid.toml", "--workers", "1", "-q")
    assert "1 run: 1 done" in run(*words, "--csv", "results.csv").stdout
    assert set(pd.read_csv("results.csv")["label"]) == {"'=tables"}
    assert "--resume" in run(*words, code=terminal.INPUT).stderr
    (here / "grid.toml").write_text(GRID.replace("repeats = 1", "repeats = 2"), encoding="utf-8")
    from dpsyn.evaluation.experiments import pool as runs

    ran: list[object] = []
    one = runs.run_cell
    monkeypatch.setattr(runs, "run_cells", counted(runs.run_cells, ran))
    said = run(*words, "--resume", "--json")
    assert "1 of 2 runs are there already" in said.stderr
    assert [result["repeat"] for result in json.loads(said.stdout)["results"]] == [0, 1]
    assert len(ran) == 1
    assert one is runs.run_cell
    (experiment,) = dpsyn.evaluation.experiments.Workspace(here / "grid.results").read().experiments
    assert len(experiment.results) == 2
    run(*words, "--resume", "--figure", "field.html")
    assert "Plotly.newPlot" in (here / "field.html").read_text(encoding="utf-8")


def test_an_experiment_is_that_of_its_file(here: Path) -> None:
    asked = """
sample = "asia"
columns = ["asia", "smoke"]
held_out = 0.4
split_seed = 5
degrees = [1]
models = []
epsilon = 0.7
delta = 1e-7
neighbouring = "add_remove"
vary = "rows"
values = [20]
repeats = 2
draws = 3
seed = 7
[mechanisms.one]
mechanism = "independent"
"""
    (here / "grid.toml").write_text(asked, encoding="utf-8")
    found = json.loads(run("experiment", "grid.toml", "--workers", "1", "-q", "--json").stdout)["results"]
    spec = dpsyn.PrivacySpec(0.7, 1e-7, "add_remove")
    grid = Grid({"one": dpsyn.Independent()}, spec, vary="rows", values=[20], repeats=2, draws=3, seed=7)
    assert [result["key"] for result in found] == [cell.key for cell in grid.cells()]
    assert {(result["status"], len(result["measures"])) for result in found} == {("done", 3)}
    assert {result["guarantee"]["neighbouring"] for result in found} == {"add_remove"}
    learn, held_out = load_sample("asia").project(["asia", "smoke"]).split(0.4, np.random.default_rng(5))
    (kept,) = Workspace(here / "grid.results").read().experiments
    assert is_of(kept.fingerprint, fingerprint(learn, held_out))
    assert kept.grid == grid


@pytest.mark.parametrize(
    ("first", "ended", "code"),
    [
        ("done", "crashed", terminal.NOTHING),
        ("failed", "crashed", terminal.NOTHING),
        ("failed", "refused", terminal.NOTHING),
        ("done", "refused", 0),
        ("done", "failed", 0),
    ],
)
def test_an_experiment_with_a_run_whose_process_died_ends_as_one_that_came_to_nothing(
    here: Path, first: Status, ended: Status, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_grid(grid: Grid, *_: Any, **__: Any) -> Results:
        cells = list(grid.cells())
        return Results([CellResult.of(cells[0], first), CellResult.of(cells[1], ended)], grid)

    monkeypatch.setattr(experiment, "run_grid", run_grid)
    (here / "grid.toml").write_text(GRID.replace("repeats = 1", "repeats = 2"), encoding="utf-8")
    assert ended in run("experiment", "grid.toml", "-q", code=code).stdout


def test_results_of_other_settings_are_none_of_the_plan(here: Path) -> None:
    words = ("experiment", "grid.toml", "--workers", "1", "-q", "--resume", "--json")

    def resumed(rows: int) -> tuple[bool, bool, list[int]]:
        (here / "grid.toml").write_text(GRID.replace("rows = 30", f"rows = {rows}"), encoding="utf-8")
        said = run(*words)
        left = "1 result that 'grid.toml' no longer asks for left the experiment" in said.stderr
        results = [r["settings"]["rows"] for r in json.loads(said.stdout)["results"]]
        return "1 of 1 runs are there" in said.stderr, left, results

    assert resumed(30) == (False, False, [30])
    assert resumed(20) == (False, True, [20])
    assert resumed(20) == (True, False, [20])
    (experiment,) = dpsyn.evaluation.experiments.Workspace(here / "grid.results").read().experiments
    assert [result.settings["rows"] for result in experiment.results.values()] == [20]


def test_a_second_run_of_a_folder_is_refused_while_one_is_going_on(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "grid.toml").write_text(GRID, encoding="utf-8")
    words, folder = ("experiment", "grid.toml", "--workers", "1", "-q"), here / "grid.results"
    measured, said = experiment.real_baseline, []

    def meanwhile(*args: Any, **options: Any) -> Any:
        for more in ((), ("--resume",), ("--csv", "lines.csv")):
            with monkeypatch.context() as patch:
                patch.setattr(experiment, "_table", None)  # it is refused before a row is read
                said.append(run(*words, *more, code=terminal.INPUT).stderr)
        with locked(folder / "dpsyn.lock", wait=False) as free:  # of the app
            assert free
        return measured(*args, **options)

    monkeypatch.setattr(experiment, "real_baseline", meanwhile)
    run(*words)
    why = "wait until it has ended, or --output names another folder"
    assert said == [f"dpsyn: another run of {folder} is going on: {why}\n"] * 3
    assert len(Workspace(folder).read().experiments) == 1
    assert {path.name for path in folder.iterdir()} == {"releases", "experiments", "dpsyn.lock"}
    assert not (here / "lines.csv").exists()
    with locked(folder, wait=False) as free:
        assert free


def test_where_there_are_no_locks_no_run_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = here / "new"
    with experiment.alone_in(folder):
        monkeypatch.setattr("dpsyn.places.fcntl", None)
        with experiment.alone_in(folder):
            assert folder.is_dir()


@pytest.mark.parametrize("fault", [DataError("no"), KeyboardInterrupt(), OSError("no")])
def test_a_run_that_broke_off_before_anything_was_kept_leaves_the_disk_as_it_was(here: Path, fault: BaseException) -> None:
    def broken(folder: Path, name: str) -> list[Path]:
        def begun() -> None:
            with experiment.alone_in(folder):
                (Workspace(folder).folder / name).touch()
                raise fault

        with pytest.raises(type(fault)):
            begun()
        return [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]

    assert broken(here / "new", "dpsyn.lock") == []
    assert not (here / "new").exists()
    (here / "old").mkdir()
    assert broken(here / "old", "x") == [Path("x")]
    assert broken(here / "app", "releases/x.json") == [Path("releases/x.json")]


def test_an_experiment_of_other_data_or_measures_is_not_taken_over_without_a_word(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    domain = dpsyn.read_table("leute.csv").domain
    source = DataSource("leute.csv", domain, sample=False, held_out=0.3, split_seed=0)
    grid = Grid({"a": dpsyn.NoisyReweighting()}, dpsyn.PrivacySpec(1.0))
    one = Experiment(1, "grid", "leute", "f00", grid, "raucht", (1,), ("x", "y"), data=source)
    folder = Workspace(here)

    def told(now: Experiment) -> str | None:
        """Why nothing is taken over; None if something is."""
        before = experiment._before(folder, now)
        said = capsys.readouterr().err
        found = re.fullmatch(f"(?:dpsyn: the experiment 'grid' in {here} (.*): nothing of it is taken over\n)?", said)
        assert found is not None
        assert before is None or not said
        return None if before is not None else found[1] or ""

    assert told(one) == ""  # there is none
    folder.keep(one)
    assert told(one) is None
    assert told(replace(one, name="other", target=None)) == ""
    assert told(replace(one, data=replace(source, name="moved.csv"))) is None
    for name, value in {"target": None, "degrees": (1, 2), "models": ("y", "x")}.items():
        assert told(replace(one, **{name: value})) == f"measures other things ({name})"
    other = replace(one, fingerprint="f01", target=None, degrees=(2,))
    assert told(other) == "is of other data (rows) and measures other things (target, degrees)"
    for name, value, what in (
        ("domain", domain.confirmed(), "rows or domain"),
        ("held_out", 0.2, "held_out"),
        ("split_seed", 1, "split_seed"),
    ):
        data = replace(source, **{name: value})
        assert told(replace(one, fingerprint="f01", data=data)) == f"is of other data ({what})"
    folder.keep(replace(one, fingerprint="f02", models=(), data=None, when="2999-01-01T00:00:00+00:00", key="later"))
    assert told(one) is None
    assert told(replace(one, fingerprint="f01")) == "is of other data (rows) and measures other things (models)"


def test_an_experiment_that_is_refused_leaves_no_folder(here: Path) -> None:
    (here / "grid.toml").write_text(GRID.replace("delta = 0.0", 'delta = 1e-3\ntarget = "raucht"\nmodels = []'), "utf-8")
    before = sorted(here.iterdir())
    run("experiment", "grid.toml", "-o", "new", "--workers", "1", "-q", code=terminal.INPUT)
    assert sorted(here.iterdir()) == before


def test_what_an_experiment_leaves_out_is_as_it_usually_is() -> None:
    for name in MECHANISMS:
        kind = config_class(name)
        target = {} if kind.as_it_comes(1, None) is not None else {"target": "y"}
        assert experiment._config("x", {"mechanism": name}, target.get("target")) == kind(**target)
        assert experiment._config("x", {"mechanism": name, **kind.added_later, **target}, None) == kind(
            **kind.added_later, **target
        )


def test_a_mechanism_without_a_target_of_its_own_predicts_that_of_the_experiment(here: Path) -> None:
    text = GRID.replace("delta = 0.0", 'delta = 1e-3\ntarget = "raucht"')
    text = text.partition("[mechanisms")[0] + '[mechanisms.mixed]\nmechanism = "dp_cda"\n'
    (here / "grid.toml").write_text(text, encoding="utf-8")
    found = run("experiment", "grid.toml", "--workers", "1", "-q", "--json", "--resume", code=terminal.NOTHING)
    (result,) = json.loads(found.stdout)["results"]
    assert result["settings"]["target"] == "raucht"
    assert "target" not in result["message"]


def test_an_experiment_in_which_nothing_could_run_says_so(here: Path) -> None:
    (here / "grid.toml").write_text(GRID[: GRID.index("[mech")] + '[mechanisms.x]\nmechanism = "dp_gan"', encoding="utf-8")
    said = run("experiment", "grid.toml", "--workers", "1", "-q", code=terminal.NOTHING).stdout
    assert "refused" in said
    assert "Index" not in said


def counted(of: Any, ran: list[object]) -> Any:
    """``run_cells`` that notes the cells it is given."""

    def run_cells(cells: Any, *args: Any, **options: Any) -> Any:
        ran.extend(cells)
        return of(cells, *args, **options)

    return run_cells


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("values = [1.0]", "names its data"),
        ('data = "leute.csv"\nfoo = 1', "'foo' is nothing that an experiment has"),
        ('data = "leute.csv"\nrepeats = "two"', "repeats"),
        ('data = "leute.csv"\n[mechanisms.x]\nrows = 3', "names no mechanism"),
        ('data = "leute.csv"\nneighbouring = "x"', "neighbouring: 'x' is not one of 'replace_one', 'add_remove'"),
        ('sample = "x"', "sample = 'x' is not possible: one of 'asia'"),
        ('data = "gone.csv"', "gone.csv"),
        ('\ufeffdata = "gone.csv"', "gone.csv"),
        ('data = "leute\\u0000.csv"', "holds a zero byte"),
        ('data = "leute.csv"\nschema = "\\u0000"', "holds a zero byte"),
        ('data = "leute.csv"\nsplit_seed = -1', "split_seed = -1 is not possible"),
        (GRID.replace("[1.0]", "[]"), "values = () is not possible: at least one number"),
        (GRID.replace("[1.0]", "[1, 2.0, 1]"), "none of them twice"),
        (GRID.replace("[1.0]", '[100000]\nvary = "n"'), "values = 100000 is not possible: at most the "),
    ],
)
def test_what_is_wrong_in_an_experiment_is_named(here: Path, text: str, said: str) -> None:
    (here / "grid.toml").write_text(text, encoding="utf-8")
    assert said in run("experiment", "grid.toml", code=terminal.INPUT).stderr
    assert not (here / "grid.results").exists()


def test_the_app_is_streamlit_on_this_machine(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    monkeypatch.setattr("os.execve", lambda *arguments: called.append(arguments))
    run()
    run("app", "leute.csv", "--port", "8600", "--no-browser")
    (_, first, plain), (_, second, named) = called
    assert first[1:4] == ["-m", "dpsyn.app.serve", "run"]
    assert Path(first[4]).is_file()
    assert plain["DPSYN_LOCAL"] == "1"
    assert "DPSYN_FILE" not in plain
    assert second[5:] == ["--server.port", "8600", "--server.headless", "true"]
    assert named["DPSYN_FILE"] == str(here / "leute.csv")


def test_a_port_that_is_taken_is_named(here: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = run("app", "--port", str(port), code=terminal.INPUT).stderr
    assert said.startswith(f"dpsyn: port {port} cannot be used (")
    assert "--port" in said


@pytest.mark.parametrize(("name", "value"), [("DPSYN_MEMORY", "8GB"), ("DPSYN_WORKERS", "0")])
def test_limits_that_make_no_sense_are_one_line(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    said = run("app", code=terminal.INPUT).stderr
    begun = subprocess.run([sys.executable, str(HOME / "app.py")], capture_output=True, text=True, check=False)
    assert begun.returncode == 1
    for one in (said, begun.stderr):
        assert one.startswith(f"dpsyn: {name} = '{value}' is not possible: a ")
        assert len(one.splitlines()) == 1


def test_the_app_ends_by_ctrl_c_as_the_help_says(here: Path) -> None:
    code = "from streamlit.web import cli; cli.main = lambda *words, **options: (_ for _ in ()).throw(KeyboardInterrupt)"
    code += "; import runpy; runpy.run_module('dpsyn.app.serve', run_name='__main__')"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (terminal.INTERRUPTED, "")
    assert "Traceback" not in found.stderr


def test_rows_as_tsv_and_parquet_are_the_same_rows(here: Path) -> None:
    names = ("rows.csv", "rows.tsv", "rows.parquet")
    for name in names:
        run("generate", "leute.csv", "--seed", "3", "-o", name, "--force", *QUICK)
    domain = dpsyn.read_table("leute.csv").domain
    one, *others = (dpsyn.read_table(name, domain=domain).codes for name in names)
    assert all(np.array_equal(one, other) for other in others)
    assert (here / "rows.tsv").read_text(encoding="utf-8").startswith("=cmd\tgeboren\t")
    assert (here / "rows.record.json").exists()


def test_what_is_written_is_what_the_mechanism_gave_out(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all values of the domain, not of those alone that the real rows have."""
    (here / "narrow.csv").write_text("x,c\n" + "50,a\n60,a\n" * 20)
    columns = [
        {"name": "x", "kind": "numeric", "lower": 0, "upper": 100, "bins": 4, "public": True},
        {"name": "c", "kind": "categorical", "categories": ["a", "b"], "public": True},
    ]
    (here / "wide.json").write_text(json.dumps({"columns": columns}))
    made: list[dpsyn.Release] = []
    given_out = base.Release
    monkeypatch.setattr(base, "Release", lambda **given: made.append(given_out(**given)) or made[-1])
    run(
        "generate",
        "narrow.csv",
        "--schema",
        "wide.json",
        "--epsilon",
        "1e-3",
        "--rows",
        "99",
        "--seed",
        "1",
        "-o",
        "rows.csv",
        "-q",
    )
    assert made[0].rows["x"].between(50, 60).mean() < 0.9
    assert set(made[0].rows["c"]) == {"a", "b"}
    assert (here / "rows.csv").read_bytes() == escape.csv(made[0].rows)
    assert json.loads((here / "rows.record.json").read_bytes()) == json.loads(json.dumps(made[0].record()))


def test_parquet_has_days_and_texts_where_a_column_has_several_types(here: Path) -> None:
    (here / "odd.csv").write_text(
        "x,day\n" + f"1,2024-01-01\n2.5,2024-02-01\nother,2024-03-01\n{10**22 + 1},2024-01-01\n" * 9
    )
    columns = [
        {"name": "x", "kind": "categorical", "categories": [1, 2.5, "other", 10**22 + 1]},
        {"name": "day", "kind": "date", "lower": "2024-01-01", "upper": "2024-12-31", "bins": 4},
    ]
    (here / "odd.json").write_text(json.dumps({"columns": columns}))
    said = run("generate", "odd.csv", "--schema", "odd.json", "--seed", "1", "-o", "odd.parquet", *QUICK).stderr
    assert "Parquet has no columns of several types: 'x' became text" in said
    kinds = pq.read_schema(here / "odd.parquet").types
    assert list(map(str, kinds)) == ["string", "date32[day]"]
    again = dpsyn.read_table("odd.parquet", domain=read_schema((here / "odd.json").read_bytes()))
    assert again.frame["x"].isin([1, 2.5, "other", 10**22 + 1]).all()


def test_the_record_of_a_run_has_the_schema(here: Path) -> None:
    run("generate", "leute.csv", "-o", "open.csv", *QUICK)
    words = ("generate", "leute.csv", "-o", "more.csv", *QUICK, "--schema")
    assert "nobody confirmed its domain" in run(*words, "open.record.json", code=terminal.INPUT).stderr
    run("schema", "leute.csv", "--confirmed", "-o", "s.json")
    run("generate", "leute.csv", "--schema", "s.json", "-o", "rows.csv", *QUICK)
    run(*words, "rows.record.json")
    record, domain = (
        json.loads((here / "rows.record.json").read_text(encoding="utf-8")),
        read_schema((here / "s.json").read_bytes()),
    )
    assert read_schema(json.dumps(record)) == domain
    (born,) = [column for column in record["domain"]["columns"] if column["name"] == "geboren"]
    assert born["lower"].startswith("19")
    assert born["lower"].endswith("-03-01")
    before = record | {"domain": domain.to_dict()}  # as versions wrote it whose records have days as numbers
    assert run("verify", "-", stdin=json.dumps(before)).stdout.startswith("HOLDS")


def test_columns_of_very_many_categories_are_doubted(here: Path) -> None:
    lines = [f"w{i % 600},{i % 3}" for i in range(1800)]
    (here / "wide.csv").write_text("word,three\n" + "\n".join(lines), encoding="utf-8")
    said = run("schema", "wide.csv").stderr
    assert "column 'word' has 600 categories, so it is probably none of categories" in said
    assert "three" not in said
    assert "dpsyn" not in run("schema", "wide.csv", "-q").stderr


def test_notes_on_reading_are_made_once_and_not_at_all_if_it_is_to_be_quiet(here: Path) -> None:
    run("generate", "leute.csv", "-o", "rows.csv", "--columns", "raucht,geboren", *QUICK)
    words = ("compare", "leute.csv", "rows.csv", "--columns", "raucht,geboren", "--holdout", "leute.csv")
    said = run(*words).stderr
    assert said.count("Not in the domain, and left out") == 1
    assert said.count("the held-out rows are the real rows themselves") == 1
    assert "left out" not in run(*words, "-q").stderr
    counted = ("feasibility", "leute.csv", "--delta", "0")
    assert run(*counted, code=terminal.NO).stderr.count("Column 'id' was left out as an identifier") == 1
    assert "left out" not in run(*counted, "-q", code=terminal.NO).stderr
    assert "left out" in run("schema", "leute.csv").stderr
    assert not run("schema", "leute.csv", "-q").stderr


def test_what_a_record_states_is_told_beside_what_its_settings_give(here: Path) -> None:
    run("schema", "leute.csv", "--confirmed", "-o", "s.json")
    run("generate", "leute.csv", "--schema", "s.json", "-o", "rows.csv", *QUICK)
    record = json.loads((here / "rows.record.json").read_text(encoding="utf-8"))
    assert run("verify", "rows.record.json", "-q").stdout == run("verify", "rows.record.json").stdout

    def said(code: int, **changes: Any) -> str:
        changed = {**record, "guarantee": {**record["guarantee"], **changes.pop("guarantee", {})}, **changes}
        return " ".join(run("verify", "-", code=code, stdin=json.dumps(changed)).stdout.split())

    assert "protect one row, and it states that they protect one 'person'" in said(terminal.NO, guarantee={"unit": "person"})
    weaker = said(terminal.DONE, guarantee={"epsilon": 2.0})
    assert weaker.startswith("HOLDS: calibrated anew, its settings give (1, 10⁻⁵)-differentially private")
    assert "which is stronger than what the record states, (2, 10⁻⁵)" in weaker
    assert "settings give what the record states" in said(terminal.DONE)
    other = said(terminal.NO, settings={**record["settings"], "degree": 3})
    assert other.startswith("REFUTED: calibrated anew, degree is 2 and not 3 taken")
    assert "it states 'epsilon_proven', which no record has" in said(terminal.NO, guarantee={"epsilon_proven": 0.01})
    ledger = [part | {"epsilon_true": 0.01} for part in record["settings"]["ledger"]]
    assert "ledger is" in said(terminal.NO, settings={**record["settings"], "ledger": ledger})


def test_bounds_that_are_called_public_and_are_those_of_the_rows_are_named(here: Path) -> None:
    said = run("schema", "leute.csv", "--confirmed", "-o", "schema.json").stderr
    assert "are the smallest or the largest value in these rows" in said
    assert "set public to true" not in said
    words = ("generate", "leute.csv", "--schema", "schema.json", "-o", "r.csv", "--force", *QUICK[:-1])
    assert "smallest or the largest" in run(*words).stderr
    assert "smallest or the largest" not in run(*words, "-q").stderr
    assert "smallest or the largest" not in run("schema", "leute.csv", "-o", "open.json").stderr


def test_an_empty_text_beside_a_missing_value_is_told_of_where_the_file_does_not_hold_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    attributes = [dpsyn.Attribute(name, "categorical", ("", "nuts"), missing=name == "a", public=True) for name in "ab"]
    Path("s.json").write_text(json.dumps(dpsyn.Domain.of(attributes).to_dict()))
    pd.DataFrame({"a": ["", "nuts", None, ""] * 20, "b": ["", "nuts"] * 40}).to_parquet("t.parquet")
    quick = ["--schema", "s.json", *(word for word in QUICK if word != "-q")]
    said = run("generate", "t.parquet", "-o", "rows.csv", *quick).stderr
    assert "column 'a': an empty text and a missing value are both an empty cell here" in said
    assert "column 'b'" not in said
    assert "an empty text" not in run("generate", "t.parquet", "-o", "both.parquet", *quick).stderr


def test_categories_that_are_written_alike_are_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    attributes = [dpsyn.Attribute(name, "categorical", (1, other), public=True) for name, other in (("a", "1"), ("b", "2"))]
    Path("s.json").write_text(json.dumps(dpsyn.Domain.of(attributes).to_dict()))
    Path("t.csv").write_text("a,b\n" + "1,1\n1,2\n" * 40)
    quick = ["--schema", "s.json", *(word for word in QUICK if word != "-q")]
    said = run("generate", "t.csv", "-o", "rows.csv", *quick).stderr
    assert "column 'a': some categories are written alike" in said
    assert "column 'b'" not in said


def test_rows_are_not_written_beside_a_folder_that_is_not_there(here: Path) -> None:
    said = run("generate", "leute.csv", "-o", "new/", *QUICK, code=terminal.USAGE).stderr
    assert "there is no such folder" in said
    assert not (here / "new").exists()


def test_text_that_a_spreadsheet_would_run_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b\n" + "=1+1,x\nplain,y\n" * 40)
    quick = [word for word in QUICK if word != "-q"]
    assert "--guard" in run("generate", "t.csv", "-o", "plain.csv", *quick).stderr
    assert "--guard" not in run("generate", "t.csv", "-o", "guarded.csv", "--guard", *quick).stderr
    assert "'=1+1" in Path("guarded.csv").read_text()
    Path("t.csv").write_text("a,b\n" + "-1,x\nplain,y\n" * 40)
    assert "--guard" not in run("generate", "t.csv", "-o", "other.csv", *quick).stderr


def test_nothing_that_controls_a_terminal_reaches_it(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.Progress("a\x1b\x07\x9b\u202eb", quiet=False) as progress:
        progress("c\x9bd", 1.0)
    terminal.say_json({"\x9b": "\u202e"})
    told = capsys.readouterr()
    assert not set(told.out + told.err) & set("\x1b\x07\x9b\u202e")
    assert json.loads(told.out) == {"\x9b": "\u202e"}
