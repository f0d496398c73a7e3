"""``make mutants``: puts faults into the lines of ``lines.toml``, one at a time, and tells which of them no test notices.

The faults are those of ``mutate.py`` and those written down in ``faults.toml``. Tests are collected once; every fault gets a
fork of that process, in which the code of the function is exchanged and the tests that reach the line are run until one
fails: first the one that noticed this fault before, then those that noticed others in the same function and file, then quick
ones. Properties are tried on their explicit examples only: a random one that happens to find a fault is no guard. What
survives has to be in ``equivalent.toml``, with its reason. What was noticed is not tried again while its function stays.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import contextlib
import functools
import gc
import hashlib
import importlib
import itertools
import json
import os
import random
import resource
import signal
import sys
import time
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.mutants.exchange import ROOT, marked, put, source_of
from tests.mutants.mutate import Mutant, mutants, statements, targets

HERE = Path(__file__).parent
KEPT = ROOT / ".mutants"
_PATIENCE = 5.0
"""Seconds of the processor that every test gets at least, besides five times what it took: a loop without end is noticed."""
_MEMORY = 6 << 30
"""Bytes that a fault may ask for besides what there is."""


def table(name: str) -> dict[str, Any]:
    return tomllib.loads((HERE / name).read_text())


def written_faults() -> list[Mutant]:
    """The faults of ``faults.toml``; each names a piece of a file that is there once, and what to put in its place, and some
    the test that notices them."""
    found = []
    for fault in table("faults.toml")["fault"]:
        source = source_of(fault["file"])
        if source.count(fault["old"]) != 1:
            raise LookupError(f"{fault['what']}: there are {source.count(fault['old'])} places like this in {fault['file']}")
        line = source[: source.index(fault["old"])].count("\n") + 1
        text, guard = source.replace(fault["old"], fault["new"]), fault.get("guard", "")
        found.append(Mutant(fault["file"], "fault", fault["what"], line, text, guard))
    return found


def all_mutants() -> list[Mutant]:
    """All faults, written ones first; two that read alike are numbered."""
    made = [one for path, names in table("lines.toml")["lines"].items() for one in mutants(path, source_of(path), names)]
    seen: Counter[str] = Counter()
    found = []
    for one in [*written_faults(), *made]:
        seen[one.name] += 1
        again = f" (#{seen[one.name]})" if seen[one.name] > 1 else ""
        found.append(replace(one, what=one.what + again))
    return found


@functools.cache
def digest_of(path: str, where: str) -> str:
    """Of a function or constant; of the whole file for a fault written by hand."""
    source = source_of(path)
    found = targets(source, [where] if where != "fault" else [])
    return hashlib.sha256((ast.unparse(found[where]) if found else source).encode()).hexdigest()[:16]


def reasons() -> dict[str, str]:
    """Why faults change nothing, by their names."""
    return {
        f"{entry['file']}::{where}": entry["reason"]
        for entry in table("equivalent.toml")["equivalent"]
        for where in entry["faults"]
    }


class Hunt:
    """The plugin that takes the place of the test run."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.asked = table("lines.toml")
        self.killers: dict[str, list[str]] = {}
        self.failed: str | None = None
        self.seconds = 0.0
        self.survivors: list[str] = []
        self.reached: set[tuple[str, int]] = set()
        self.shared: dict[Any, tuple[float, set[tuple[str, int]]]] = {}

    def pytest_configure(self) -> None:
        from hypothesis import Phase, settings

        settings.register_profile("explicit", deadline=None, phases=[Phase.explicit], database=None)
        settings.load_profile("explicit")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        """What fixtures take and reach that several tests share: each of these tests would have to make it, alone."""
        if fixturedef.scope == "function":
            return (yield)
        before, begun = set(self.reached), time.process_time()
        self.reached.clear()
        try:
            return (yield)
        finally:
            seconds = time.process_time() - begun
            self.shared[fixturedef] = seconds, set(self.reached)
            self.seconds -= seconds
            self.reached |= before

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Of the files that are left out only what guards a fault is tried."""
        guards = {one.guard for one in written_faults()}
        left_out = tuple(self.asked["tests"]["left_out"])
        items[:] = [
            item for item in items if not item.nodeid.startswith(left_out) or item.nodeid.partition("[")[0] in guards
        ]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        KEPT.mkdir(exist_ok=True)
        self.reach = self._recorded(items)
        self.reached_by: dict[tuple[str, str, int], set[str]] = {}
        for name, seen in self.reach.items():
            for path, where, at in [] if seen["failed"] else seen["places"]:
                self.reached_by.setdefault((path, where, at), set()).add(name)
        for name in sorted({name for seen in self.reach.values() for name in seen.get("modules", ())} - set(sys.modules)):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        # Forks share memory for as long as nobody writes to it, and collecting garbage does.
        gc.collect()
        gc.freeze()
        gc.disable()
        slow = [name for name, seen in self.reach.items() if seen["seconds"] > self.asked["tests"]["slowest"]]
        print(f"\n{len(items):,} tests, {len(slow)} of them too slow to be used", flush=True)
        self.hunt({name: item for name, item in items.items() if name not in slow})
        return True

    def _recorded(self, items: dict[str, pytest.Item]) -> dict[str, Any]:
        """Which statements each test reaches, and the seconds of the processor that it takes.

        What was recorded of a file of tests holds until that file changes, or another function is asked for: of one that has
        changed since every statement counts as reached where one was.
        """
        lines = self.asked["lines"]
        self.places = {
            path: sorted(
                (line, where, at)
                for where, found in statements(source_of(path), names).items()
                for at, line in enumerate(found)
            )
            for path, names in lines.items()
        }
        functions = {
            f"{path}::{where}": digest_of(path, where) for path, found in self.places.items() for _, where, _ in found
        }
        kept = KEPT / "reach.json"
        known = json.loads(kept.read_text()) if kept.exists() else {}
        by_file: dict[Path, list[pytest.Item]] = {}
        for item in items.values():
            by_file.setdefault(item.path, []).append(item)
        keys = {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in by_file}

        def wanting(file: Path) -> bool:
            recorded = known.get(keys[file], {"functions": {}, "tests": {}})
            return not (
                functions.keys() <= recorded["functions"].keys()
                and {item.nodeid for item in by_file[file]} <= recorded["tests"].keys()
            )

        waiting = [file for file in by_file if wanting(file)]
        running: dict[int, tuple[Path, Path]] = {}
        while waiting or running:
            while waiting and len(running) < self.options.workers:
                file = waiting.pop(0)
                child, answer = self._start(lambda here=by_file[file]: self._reached(here))
                running[child] = file, answer
            file, answer = running.pop(os.wait()[0])
            told = self._answer(answer)
            if not isinstance(told, dict):
                raise RuntimeError(f"what {file.relative_to(ROOT)} reaches could not be recorded: {told or 'it was killed'}")
            known[keys[file]] = {"functions": functions, "tests": told}
            failed = [name for name, seen in told.items() if seen["failed"]]
            seconds = sum(one["seconds"] for one in told.values())
            print(f"{file.relative_to(ROOT)}: {seconds:.1f} s", *failed, flush=True)
            kept.write_text(json.dumps(known))
        found: dict[str, Any] = {}
        for recorded in (known[key] for key in keys.values()):
            changed = {one for one, of in functions.items() if recorded["functions"][one] != of}
            for name, seen in recorded["tests"].items():
                everywhere = {(path, where) for path, where, _ in seen["places"] if f"{path}::{where}" in changed}
                more = [(path, where, at) for path, where in everywhere for _, one, at in self.places[path] if one == where]
                found[name] = seen | {"places": [*map(tuple, seen["places"]), *more]}
        return found

    def _reached(self, here: list[pytest.Item]) -> dict[str, Any]:
        builtins.statement_reached = self.reached.add  # type: ignore[attr-defined]
        for path, names in self.asked["lines"].items():
            put(path, marked(path, source_of(path), names))
        found, loaded = {}, set(sys.modules)
        place_of = {(path, line): (path, where, at) for path, all_ in self.places.items() for line, where, at in all_}
        for item, following in zip(here, [*here[1:], None], strict=True):
            self.reached.clear()
            self.seconds, self.failed, begun = 0.0, None, time.process_time()
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            self.seconds += time.process_time() - begun
            wanted = [one for name in item.fixturenames for one in item._fixtureinfo.name2fixturedefs.get(name, ())]
            for seconds, lines in (self.shared[one] for one in wanted if one in self.shared):
                self.seconds += seconds
                self.reached |= lines
            places = sorted(place_of[one] for one in self.reached)
            found[item.nodeid] = {"seconds": self.seconds, "failed": bool(self.failed), "places": places}
        modules = sorted(name for name in set(sys.modules) - loaded if not name.startswith(("tests", "__")))
        for item in here[:1]:
            found[item.nodeid]["modules"] = modules
        return found

    def _start(self, work: Any) -> tuple[int, Path]:
        sys.stdout.flush()
        child = os.fork()
        if child:
            return child, KEPT / f"answer-{child}"
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.alarm(3600)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            (KEPT / f"answer-{os.getpid()}").write_text(json.dumps(work()))
        except BaseException as fault:  # noqa: BLE001 (a fault may show as anything)
            (KEPT / f"answer-{os.getpid()}").write_text(json.dumps(f"{type(fault).__name__}: {fault}"))
        finally:
            os._exit(0)

    def _answer(self, file: Path) -> Any:
        if not file.exists():
            return None
        answer = json.loads(file.read_text())
        file.unlink()
        return answer

    def _tests_of(self, mutant: Mutant, items: dict[str, pytest.Item], before: str) -> list[str]:
        places = self.places[mutant.path]
        here = places if mutant.where.isupper() else [one for one in places if one[0] <= mutant.line][-1:]
        found = {name for _, where, at in here for name in self.reached_by.get((mutant.path, where, at), ())}
        same, near = (self.killers.get(at, []) for at in (mutant.path + mutant.where, mutant.path))
        rank = {name: at for at, name in reversed(list(enumerate([before, *same, *near])))}
        guards = [name for name in items if mutant.guard and name.partition("[")[0] == mutant.guard]
        first = self._in_time(sorted(found & items.keys() & rank.keys() - set(guards), key=rank.__getitem__))
        left = found & items.keys() - {*guards, *first}
        return [*guards, *first, *self._in_time(sorted(left, key=lambda name: self.reach[name]["seconds"]))]

    def _in_time(self, names: list[str]) -> list[str]:
        spent = itertools.accumulate(self.reach[name]["seconds"] for name in names)
        return [name for name, total in zip(names, spent, strict=True) if total <= self.options.seconds]

    def _tried(self, mutant: Mutant, names: list[str], items: dict[str, pytest.Item]) -> list[str]:
        """The test that fails and how, or nothing."""
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + _MEMORY, -1))
        put(mutant.path, mutant.source)
        chosen = [items[name] for name in names]
        for item, following in zip(chosen, [*chosen[1:], None][: len(chosen)], strict=True):
            # This is what is left to read where the test runs for too long.
            (KEPT / f"answer-{os.getpid()}").write_text(json.dumps([item.nodeid, "out of time"]))
            seconds = _PATIENCE + 5 * self.reach[item.nodeid]["seconds"]
            signal.setitimer(signal.ITIMER_PROF, seconds)
            signal.alarm(60 + 10 * int(seconds))
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return [self.failed, "failed"]
        return []

    def hunt(self, items: dict[str, pytest.Item]) -> None:
        """Try all faults, several at a time, and tell what is left."""
        kept = KEPT / "killed.json"
        killed: dict[str, dict[str, str]] = json.loads(kept.read_text()) if kept.exists() else {}
        known, begun = reasons(), time.monotonic()
        everything = [one for one in all_mutants() if any(text in one.name for text in self.options.only)]
        digests = {one.name: digest_of(one.path, one.where) for one in everything}
        done = {name for name in digests if killed.get(name, {}).get("digest") == digests[name]} - set(
            digests if self.options.afresh else ()
        )
        waiting = [one for one in everything if one.name not in done and (self.options.equivalent or one.name not in known)]
        if self.options.shuffled:
            random.shuffle(waiting)
        survivors: list[str] = []
        running: dict[int, tuple[Path, Mutant, list[str]]] = {}
        while waiting or running:
            while waiting and len(running) < self.options.workers:
                mutant = waiting.pop(0)
                names = self._tests_of(mutant, items, killed.get(mutant.name, {}).get("by", ""))
                child, file = self._start(lambda m=mutant, n=names: self._tried(m, n, items))
                running[child] = file, mutant, names
            child, _ = os.wait()
            if child not in running:
                continue
            file, mutant, names = running.pop(child)
            answer = self._answer(file)
            if answer == []:
                survivors.append(mutant.name)
                killed.pop(mutant.name, None)
                spent = sum(self.reach[name]["seconds"] for name in names)
                print(f"SURVIVES {mutant.name}   [{len(names)} tests, {spent:.1f} s]", flush=True)
                continue
            if not isinstance(answer, list):
                print(f"CANNOT BE PUT IN {mutant.name}: {answer}", flush=True)
            test, how = answer if isinstance(answer, list) else ("", str(answer))
            killed[mutant.name] = {"by": test, "how": how, "digest": digests[mutant.name]}
            done.add(mutant.name)
            for at in (mutant.path + mutant.where, mutant.path) if how == "failed" else ():
                self.killers[at] = [test, *(name for name in self.killers.get(at, []) if name != test)]
            beside = kept.with_suffix(".part")
            beside.write_text(json.dumps(killed, indent=0))
            beside.replace(kept)  # whole, whenever the run is stopped
        excused = sum(one.name in known for one in everything)
        self.survivors = [name for name in survivors if name not in known]
        print(
            f"{len(everything):,} faults: {len(done):,} killed, {excused:,} proven to change nothing, "
            f"{len(self.survivors):,} survive; {time.monotonic() - begun:.0f} s"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[""], help="faults whose name holds one of these texts")
    parser.add_argument("--shuffled", action="store_true", help="in any order, where there is no time for all")
    parser.add_argument(
        "--seconds", type=float, default=15.0, help="of tests that noticed others, and as many of quick ones"
    )
    parser.add_argument("--tests", nargs="*", help="other tests than those of lines.toml")
    parser.add_argument("--afresh", action="store_true", help="try those again that were killed before")
    parser.add_argument("--equivalent", action="store_true", help="try those too that are proven to change nothing")
    options = parser.parse_args()
    asked = table("lines.toml")["tests"]
    hunt = Hunt(options)
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    pytest.main(
        [
            "-q",
            "-s",
            "--tb=native",
            "--assert=plain",
            "-p",
            "no:cacheprovider",
            *(options.tests or asked["paths"]),
            *sorted({one.guard for one in written_faults()} - {""}),
        ],
        plugins=[hunt],
    )
    return bool(hunt.survivors)


if __name__ == "__main__":
    sys.exit(main())
