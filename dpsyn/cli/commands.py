"""The commands, each a few questions to the library."""

from __future__ import annotations

import io
import json
import os
import socket
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpsyn.cli import terminal
from dpsyn.cli.reading import (
    STDIN,
    bytes_of,
    calibrated,
    degrees_in,
    described,
    names_in,
    needs_target,
    note_doubts,
    note_formulas,
    note_unconfirmed,
    note_written_alike,
    read,
    read_over,
    schema_of,
    settings_in,
)
from dpsyn.cli.terminal import (
    DONE,
    EXIT_CODES,
    FileName,
    OutputName,
    Progress,
    answered,
    note,
    remark,
    say,
    say_json,
    wrapped,
)
from dpsyn.display import PRIVATE
from dpsyn.errors import DataError, quoted
from dpsyn.mechanisms.registry import JUDGED, MECHANISMS
from dpsyn.places import HOME, unreadable

if TYPE_CHECKING:
    import pandas as pd

SYNTHETIC = "synthetic rows"
MANY_CATEGORIES = 500
"""Of a column that is probably none of categories."""
PARQUET, TABS = (".parquet", ".pq"), (".tsv", ".tab")
FORMS = ("dpsyn", "sdv", "json-schema", "pandera")
NEIGHBOURS = ("replace_one", "add_remove")


@click.group(cls=terminal.Commands, invoke_without_command=True, epilog=EXIT_CODES)
@click.version_option(package_name="dpsyn")
@click.pass_context
def dpsyn(context: click.Context) -> None:
    """Differentially private synthetic data: what they can and cannot do, on your own data.

    Without a command, and with "app", the app opens in the browser. A table is a CSV, TSV or Parquet file, a folder of
    Parquet files, or - for standard input. Results go to standard output, everything else to standard error.
    """
    if context.invoked_subcommand is None:
        context.invoke(app)


as_json = click.option("--json", "as_json", is_flag=True, help="JSON for machines.")
quiet = click.option("--quiet", "-q", is_flag=True, callback=terminal.hush, help="No progress, and no notes on reading.")
force = click.option("--force", is_flag=True, help="Write over files that are there.")
schema_file = click.option(
    "--schema",
    type=FileName(),
    help="The domain, as `dpsyn schema` writes it. Without it the domain is read off the rows.",
)
columns_named = click.option(
    "--columns", help="The columns to keep, separated by commas; names with commas in quotes, as in CSV."
)
sets = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another setting, such as degree=3; may be given several times.",
)


in_place = click.option(
    "--in-place",
    is_flag=True,
    help="Read a CSV or Parquet file in place, in 2 GB of memory; a folder of Parquet files always is.",
)


def privacy(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what privacy is asked for."""
    command = click.option(
        "--neighbouring",
        type=click.Choice(NEIGHBOURS),
        default=NEIGHBOURS[0],
        show_default=True,
        help="What is protected: a row that is replaced, or one that is added or removed.",
    )(command)
    command = click.option(
        "--delta", type=float, default=1e-5, show_default=True, help="δ, what may be added to a probability; 0 for pure ε."
    )(command)
    return click.option("--epsilon", type=float, default=1.0, show_default=True, help="ε, the privacy budget.")(command)


@dpsyn.command()
@click.argument("file", required=False, type=FileName())
@click.option("--port", type=click.IntRange(1, 65535), default=8501, show_default=True, help="Where it listens.")
@click.option("--no-browser", is_flag=True, help="Open no browser.")
def app(file: str | None = None, port: int = 8501, no_browser: bool = False) -> None:
    """Open the app, with a table of yours if one is named.

    It listens to this machine only, and ends with Ctrl-C.
    """
    from dpsyn.kit.scheduler import Limits

    Limits.of(os.environ)
    environment = dict(os.environ, DPSYN_LOCAL="1")
    if file is not None:
        path = Path(file).absolute()
        try:
            path.open("rb").close()
        except OSError as fault:
            raise unreadable(file, fault) from fault
        environment["DPSYN_FILE"] = str(path)
    with socket.socket() as probe:
        if os.name == "posix":  # as servers do; elsewhere the option would share a port that is taken
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("localhost", port))
        except OSError as fault:
            raise DataError(f"port {port} cannot be used ({fault.strerror}): take another with --port") from fault
    options = ["--server.port", str(port)] + (["--server.headless", "true"] if no_browser else [])
    command = [sys.executable, "-m", "dpsyn.app.serve", "run", str(HOME / "app.py"), *options]
    sys.stdout.flush()
    os.execve(sys.executable, command, environment)


@dpsyn.command()
@click.argument("file", type=FileName())
@columns_named
@in_place
@click.option("--output", "-o", type=OutputName(path_type=Path), help="The file to write; without it, standard output.")
@click.option(
    "--confirmed",
    is_flag=True,
    help="Mark every column as public: you say that all of it was known without looking at these rows.",
)
@click.option(
    "--from",
    "book",
    type=FileName(),
    help="What another tool says of the table: metadata of SDV, JSON Schema of a row, or the JSON of a pandera schema.",
)
@click.option(
    "--to",
    "form",
    type=click.Choice(FORMS),
    default=FORMS[0],
    show_default=True,
    help="What to write: dpsyn's own schema, or what another tool reads.",
)
@force
@quiet
def schema(
    file: str,
    columns: str | None,
    in_place: bool,
    output: Path | None,
    confirmed: bool,
    book: str | None,
    form: str,
    force: bool,
    quiet: bool,
) -> None:
    """Write the domain of a table as a file to edit.

    One line per column. Correct what was read off the rows (categories, bounds, unit), and set "public" to true where it was
    known without looking at them: a guarantee is true of such columns only. Other commands read the file with --schema.

    A code book that you have spares the typing: --from sdv.json. In place of a table FILE may be a schema (.json) of dpsyn
    or of another tool: dpsyn schema schema.json --to sdv.
    """
    from dpsyn.data.code_books import code_book_text
    from dpsyn.data.schema_file import schema_text

    output = None if output is None or str(output) == STDIN else output
    with terminal.written(output, force=force, read=[file, book]) as write:
        domain, table = described(file, book, columns, in_place=in_place)
        if confirmed:
            domain = domain.confirmed()
            if table is not None:
                note_doubts(table.with_domain(domain))
        own = form == FORMS[0]
        text, lost = (schema_text(domain), ()) if own else code_book_text(domain, form)
        for said in lost:
            note(said)
        for attribute in domain.attributes if own else ():
            if len(attribute.categories) > MANY_CATEGORIES and not attribute.public:
                count = f"{len(attribute.categories):,} categories, so it is probably none of categories"
                remark(f"column {quoted(attribute.name)} has {count}: group its values, or leave it out with --columns")
        if output is None:
            click.echo(text, nl=False)
        else:
            write({output: text.encode()})
            todo = ": correct it, and set public to true in the columns that you know without these rows"
            note(f"wrote {output}{todo if own and not domain.is_public else ''}")


@dpsyn.command()
@click.argument("file", type=FileName())
@privacy
@schema_file
@columns_named
@click.option("--target", help="The column of classes (DP-CDA).")
@click.option("--mechanism", type=click.Choice(JUDGED), help="Only this one.")
@click.option("--rows", type=int, help="How many to make; without it as many as generate, or 1 where rows cost budget.")
@sets
@click.option("--verbose", "-v", is_flag=True, help="Every condition that fails, as its theorem has it.")
@as_json
@quiet
def feasibility(
    file: str, epsilon: float, delta: float, neighbouring: Any, schema: str | None, columns: str | None, target: str | None,
    mechanism: str | None, rows: int | None, settings: Sequence[str], verbose: bool, as_json: bool, quiet: bool,
) -> int:  # fmt: skip
    """Tell which theorems apply, and what would have to change.

    It reads private rows: what it prints is for you and not for publication.
    """
    import dpsyn as library
    from dpsyn.mechanisms.feasibility import Feasibility, verdict_json, verdict_of
    from dpsyn.mechanisms.registry import NEEDS_CLASSES, config_class, title

    spec = library.PrivacySpec(epsilon, delta, neighbouring)
    asked = settings_in(settings, rows)
    if target is None and file != STDIN and os.path.isfile(file):  # a pipe can be read once
        with Progress(file, quiet=quiet) as progress:
            counted = library.file_statistics(
                file, domain=schema_of(schema), columns=names_in(columns), wide="leave_out", progress=progress
            )
        for said in counted.notes:
            remark(said)
        stats, domain = counted.statistics, counted.domain
    else:
        table = read(file, schema, columns)
        stats, domain = table.statistics(), table.domain
        if target is not None:
            asked = {"classes": domain[target].size, "smallest_class": table.smallest_class(target)} | asked
    note_unconfirmed(domain, file, schema)
    every = library.feasibility(stats, spec, **asked)
    configs = {name: config_class(name).as_it_comes(stats.n, target) for name in every.verdicts if mechanism in (None, name)}
    unasked = [name for name, config in configs.items() if config is None]
    if mechanism in unasked:
        raise needs_target(mechanism, target)
    verdicts = {name: every[name] for name in configs if name not in unasked}
    for name, config in configs.items():
        # Where rows cost nothing, generate makes as many as there are.
        if config is not None and config.fewer_rows() is None and "rows" not in asked:
            verdicts[name] = verdict_of(name, stats, spec, **asked, rows=stats.n)
    found = Feasibility(stats, spec, verdicts)
    code = answered(any(verdict.holds for verdict in found))
    if as_json:
        for name in unasked:
            note(needs_target(name, target))
        known = {"epsilon": epsilon, "delta": delta, "neighbouring": neighbouring, **asked}
        click.echo(verdict_json([found], known, private=True))
    else:
        terminal.say_verdicts(found, verbose=verbose)
        for name in unasked:
            say(f"\n– {title(name)}: {NEEDS_CLASSES}: --target COLUMN")
        say(f"\n[{PRIVATE}]")
    return code


def _places(output: str, record: Path | None, *, as_json: bool, guard: bool) -> tuple[Path | None, Path | None]:
    """Where the rows go, None for standard output, and the record, None for nowhere."""
    if record is not None and str(record) == STDIN:
        raise click.UsageError("--record -: take a file for the record, the rows have standard output")
    if output == STDIN:
        if as_json:
            raise click.UsageError("--json and --output - both want standard output: take a file for the rows")
        return None, record
    place = Path(output)
    if output.endswith(os.sep) and not place.exists():
        raise click.UsageError(f"--output {output}: there is no such folder; take the name of a file")
    if place.suffix.lower() not in ("", ".csv", ".txt", *TABS, *PARQUET):
        raise click.UsageError(f"--output {output}: take a name that ends in .csv, .tsv or .parquet")
    if guard and place.suffix.lower() in PARQUET:
        raise click.UsageError("--guard: Parquet holds no formulas; leave it out, or write a CSV or TSV")
    if record is None and (place.is_file() or not place.exists()):
        record = place.with_name(f"{place.stem}.record.json")
    return place, record


def _parquet(rows: pd.DataFrame) -> bytes:
    """Dates as days; as texts what is of several types, or larger than 64 bits, which Parquet has not."""
    import pyarrow as pa
    from pyarrow import parquet

    columns, texts = {}, []
    for name, column in rows.items():
        try:
            found = pa.array(column, from_pandas=True)
        except (pa.ArrowException, OverflowError):
            found = pa.array(column.map(str, na_action="ignore"), pa.string(), from_pandas=True)
            texts.append(quoted(name))
        columns[str(name)] = found.cast(pa.date32()) if pa.types.is_timestamp(found.type) else found
    if texts:
        note(f"Parquet has no columns of several types: {', '.join(texts)} became text")
    written = io.BytesIO()
    parquet.write_table(pa.table(columns), written)
    return written.getvalue()


@dpsyn.command()
@click.argument("file", type=FileName())
@click.option("--mechanism", type=click.Choice(list(MECHANISMS)), default="noisy_reweighting", show_default=True)
@privacy
@schema_file
@columns_named
@in_place
@click.option("--target", help="The column to predict; DP-CDA needs it.")
@click.option("--rows", type=int, help="How many to make.")
@sets
@click.option("--seed", type=click.IntRange(0), help="Makes the run repeatable, and a demonstration without a guarantee.")
@click.option(
    "--output",
    "-o",
    required=True,
    type=OutputName(),
    help="The CSV, TSV or Parquet file to write, or - for CSV on standard output.",
)
@click.option("--record", type=OutputName(path_type=Path), help="Where the record goes; by default beside the rows.")
@click.option("--guard", is_flag=True, help="In a CSV or TSV, put an apostrophe before what a spreadsheet would run.")
@force
@as_json
@quiet
def generate(
    file: str, mechanism: str, epsilon: float, delta: float, neighbouring: Any, schema: str | None, columns: str | None,
    in_place: bool, target: str | None, rows: int | None, settings: Sequence[str], seed: int | None, output: str,
    record: Path | None, guard: bool, force: bool, as_json: bool, quiet: bool,
) -> int:  # fmt: skip
    """Make synthetic rows, and beside them the record of the run.

    The record holds settings, versions and the exact guarantee; `dpsyn verify` checks it.
    """
    import numpy as np

    from dpsyn import PrivacySpec, escape

    spec = PrivacySpec(epsilon, delta, neighbouring)
    asked = settings_in(settings, rows)
    place, record = _places(output, record, as_json=as_json, guard=guard)
    with terminal.written(place, record, force=force, read=[file, schema]) as write:
        table = read(file, schema, columns, in_place=in_place)
        note_unconfirmed(table.domain, file, schema)
        note_doubts(table)
        made_by = calibrated(mechanism, table, target, asked, spec)
        warned = [said for kind, said in made_by.expected() if kind == "warning"]
        for sentence in warned:
            note(sentence)
        with Progress(made_by.config.title, quiet=quiet) as progress:
            release = made_by(None if seed is None else np.random.default_rng(seed), table, progress)
        ending = "" if place is None else place.suffix.lower()
        csv = partial(escape.csv, guarded=guard, tabs=ending in TABS)
        made = (_parquet if ending in PARQUET else csv)(release.rows)
        files: dict[Path, bytes] = {}
        if record is not None:
            files[record] = f"{json.dumps(release.record(), indent=1, allow_nan=False, ensure_ascii=False)}\n".encode()
        if place is not None:
            files[place] = made
        write(files)  # the record first, and not after rows that go to standard output
        if place is None:
            rest = memoryview(made)
            try:
                while rest:  # unbuffered output takes what there is room for
                    rest = rest[sys.stdout.buffer.write(rest) :]
                sys.stdout.flush()
            except BrokenPipeError:
                if record is not None:
                    note(f"whoever read the rows stopped before the last one, so {record} was not kept; -o FILE keeps both")
                raise
        note_formulas(release.rows, guarded=guard)
        if ending not in PARQUET:
            note_written_alike(table.domain)
    # Notes are not in what may be published with the rows: they may name classes of a domain that nobody confirmed.
    shown = note if as_json or place is None else say
    for line in [said for said in release.notes if said not in warned] if as_json else repr(release).splitlines():
        shown(line)
    if as_json:
        written = {"rows": output, "record": None if record is None else str(record)}
        say_json({"written": written, **release.record()})
        return DONE
    if record is None:
        note("no record was written: name a file with --record")
    elif place is not None:
        say(f"Wrote {place} and {record}.")
    return DONE


@dpsyn.command()
@click.argument("real", type=FileName())
@click.argument("synthetic", type=FileName())
@schema_file
@columns_named
@click.option(
    "--holdout",
    type=FileName(),
    help="Real rows that the mechanism did not see: a yardstick, and what models are tested on.",
)
@click.option("--target", help="The column that models predict, with --holdout.")
@click.option("--degrees", default="1,2", show_default=True, help="Numbers of columns of the tables that are compared.")
@as_json
@quiet
def compare(
    real: str, synthetic: str, schema: str | None, columns: str | None, holdout: str | None, target: str | None,
    degrees: str, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Compare synthetic rows with the real ones.

    It reads private rows: what it prints is for you and not for publication.
    """
    from dpsyn.evaluation.report import compare as compared

    table = read(real, schema, columns)
    rows = read_over(synthetic, table.domain)
    held = None if holdout is None else read_over(holdout, table.domain)
    asked = {"holdout": held, "target": target, "degrees": degrees_in(degrees)}
    with Progress("compare", quiet=quiet) as progress:
        reports = compared({SYNTHETIC: rows.frame}, table, progress, **asked)
    report = reports[SYNTHETIC]
    for said in report.notes:
        remark(said)
    if not report.release.marginals:
        note(f"no tables were compared: --degrees {degrees} takes more columns than the {len(table.domain)} that there are")
    if target is not None and isinstance(report.prediction, str):
        note(f"nothing is predicted: {report.prediction} (--holdout)")
    if as_json:
        say_json(report.to_dict())
        return
    from dpsyn.evaluation.conclusions import conclusions
    from dpsyn.evaluation.tables import scores_table, summary_table, values_table

    for finding in conclusions(report):
        say(f"{finding.grade}: {finding.sentence}")
    tables = [summary_table(reports).T] + ([values_table(reports)] if report.values else [])
    tables += [] if isinstance(report.prediction, str) else [scores_table(reports)]
    for each in tables:
        say("\n" + each.to_string(index=each is tables[0], header=each is not tables[0], na_rep="—", max_colwidth=40))
    say(f"\n[{PRIVATE}]")


@dpsyn.command()
@click.argument("record", type=FileName())
@click.option("--schema", type=FileName(), help="The domain, where the record has none: nobody confirmed it as public.")
@as_json
@quiet
def verify(record: str, schema: str | None, as_json: bool, quiet: bool) -> int:
    """Check whether the ε and δ of a record are true.

    The mechanism is calibrated anew from the record alone. That the rows come from such a run, and that the domain was known
    without looking at the rows, is the word of whoever wrote the record.
    """
    from dpsyn.mechanisms.records import verify as verified
    from dpsyn.schema import read_json

    found = verified(read_json(bytes_of(record)), schema_of(schema))
    code = answered(found.holds)
    if as_json:
        claim = None if found.found is None else found.found.to_dict()
        say_json({"holds": found.holds, "said": str(found), "stated": found.stated.to_dict(), "found": claim})
    else:
        wrapped(str(found), "")
        for assumption in () if found.found is None else found.found.assumptions:
            wrapped(f"taken for granted: {assumption}")
    return code


@dpsyn.command()
@click.argument("grid", type=FileName())
@click.option("--output", "-o", type=FileName(), help="Where the results go; by default a folder beside the file.")
@click.option("--resume", is_flag=True, help="Go on with what was interrupted, or add what the file now asks for.")
@click.option("--workers", type=click.IntRange(1, 1000), default=2, show_default=True, help="Processes.")
@click.option("--csv", "table", type=OutputName(path_type=Path), help="Write one line per draw and measure.")
@click.option("--figure", type=OutputName(path_type=Path), help="Write the picture of the field, or the curves, as HTML.")
@force
@as_json
@quiet
def experiment(
    grid: str,
    output: str | None,
    resume: bool,
    workers: int,
    table: Path | None,
    figure: Path | None,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run mechanisms many times, as a TOML file says.

    \b
    data = "people.csv"           # beside this file; or: sample = "asia"
    schema = "schema.json"
    target = "sick"               # what models predict
    epsilon = 1.0
    delta = 1e-5
    vary = "epsilon"              # or "n", "rows", "degree", …
    values = [0.5, 2.0]
    repeats = 5
    [mechanisms.tables]           # without any: all, as they come
    mechanism = "noisy_reweighting"
    rows = 500

    More: columns, neighbouring, degrees, models, held_out, split_seed, draws, seed. Every result is kept in the folder as it
    arrives; page Comparison of the app opens it as a workspace.
    """
    from dpsyn.cli.experiment import alone_in, plan_of, run

    plan, files = plan_of(grid)
    folder = Path(grid).with_suffix(".results") if output is None else Path(output)
    with alone_in(folder.absolute()), terminal.written(table, figure, force=force, read=files) as write:
        results, code = run(grid, plan, folder.absolute(), resume=resume, workers=workers, quiet=quiet)
        made: dict[Path, bytes] = {}
        if table is not None:
            from dpsyn import escape
            from dpsyn.evaluation.experiments import results_frame

            made[table] = escape.csv(results_frame(results))
        if figure is not None:
            made[figure] = results.figure().to_html().encode()
        write(made)
    if as_json:
        say_json({"folder": str(folder), "results": [result.to_dict() for result in results]})
    else:
        from dpsyn.evaluation.experiments.field import costs

        say(repr(results))
        table_of_costs = costs(results)
        if not table_of_costs.empty:
            say("\n" + table_of_costs.to_string(index=False, float_format="%.2g"))
    return code
