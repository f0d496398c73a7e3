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
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from tests.mutants.mutate import Mutant, mutants, statements, targets

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
KEPT = ROOT / ".mutants"
_PATIENCE = 5.0
"""Seconds of the processor that every test gets at least, besides five times what it took: a loop without end is noticed."""
_MEMORY = 6 << 30
"""Bytes that a fault may ask for besides what there is."""


def table(name: str) -> dict[str, Any]:
    return tomllib.loads((HERE / name).read_text())


def source_of(path: str) -> str:
    return (ROOT / "dpsyn" / path).read_text()


def written_faults() -> list[Mutant]:
    """The faults of ``faults.toml``; each names a piece of a file that is there once, and what to put in its place."""
    found = []
    for fault in table("faults.toml")["fault"]:
        source = source_of(fault["file"])
        if source.count(fault["old"]) != 1:
            raise LookupError(f"{fault['what']}: there are {source.count(fault['old'])} places like this in {fault['file']}")
        line = source[: source.index(fault["old"])].count("\n") + 1
        found.append(Mutant(fault["file"], "fault", fault["what"], line, source.replace(fault["old"], fault["new"])))
    return found


def all_mutants() -> list[Mutant]:
    """All faults, written ones first; two that read alike are numbered."""
    made = [one for path, names in table("lines.toml")["lines"].items() for one in mutants(path, source_of(path), names)]
    seen: Counter[str] = Counter()
    found = []
    for one in [*written_faults(), *made]:
        seen[one.name] += 1
        again = f" (#{seen[one.name]})" if seen[one.name] > 1 else ""
        found.append(Mutant(one.path, one.where, one.what + again, one.line, one.source))
    return found


def digest(mutant: Mutant) -> str:
    """Of the function with the fault in it: what was found of it holds for as long as that stays."""
    found = targets(mutant.source, [mutant.where]) if mutant.where != "fault" else {}
    text = ast.unparse(found[mutant.where]) if found else mutant.source
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def reasons() -> dict[str, str]:
    """Why faults change nothing, by their names."""
    return {
        f"{entry['file']}::{where}": entry["reason"]
        for entry in table("equivalent.toml")["equivalent"]
        for where in entry["faults"]
    }


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    """The functions and methods of a module's code."""
    for one in code.co_consts:
        if isinstance(one, CodeType) and "<" not in one.co_qualname:  # neither <locals> nor <lambda>
            yield one.co_qualname, one
            yield from _codes(one)


def _function(module: Any, qualname: str) -> FunctionType:
    owner: Any = module
    *outer, last = qualname.split(".")
    for name in outer:
        owner = getattr(owner, name)
    found = vars(owner)[last]
    while not isinstance(found, FunctionType):
        found = next(getattr(found, at) for at in ("fget", "func", "__func__", "__wrapped__") if hasattr(found, at))
    return found


def put(path: str, source: str) -> None:
    """Exchange the functions and constants of a module that is loaded for those of another source that differ."""
    original = source_of(path)
    module = importlib.import_module("dpsyn." + path.removesuffix(".py").replace("/", ".").removesuffix(".__init__"))
    old = dict(_codes(compile(original, path, "exec")))
    for name, code in _codes(compile(source, path, "exec")):
        is_class = code.co_name == name.rsplit(".")[-1] and not code.co_flags & 2
        if code != old.get(name) and not is_class:
            _function(module, name).__code__ = code
    before = {ast.unparse(node) for node in ast.parse(original).body}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and ast.unparse(node) not in before:
            name, value = node.targets[0].id, eval(ast.unparse(node.value), vars(module))
            was = vars(module)[name]
            for other in [m for n, m in sys.modules.items() if n.startswith("dpsyn") and vars(m).get(name) is was]:
                setattr(other, name, value)
    for other in [m for n, m in sys.modules.items() if n.startswith("dpsyn")]:
        for one in list(vars(other).values()):
            if isinstance(one, functools._lru_cache_wrapper):
                one.cache_clear()


def marked(path: str, source: str, names: list[str]) -> str:
    """The source with a call before every statement that says that it is reached."""
    lines = source.splitlines()
    wanted = {line for found in statements(source, names).values() for line in found}
    tree = ast.parse("\n".join(lines))

    def mark(body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for one in body:
            if one.lineno in wanted and isinstance(one, ast.stmt):
                made.append(ast.parse(f"statement_reached(({path!r}, {one.lineno}))").body[0])
            made.append(one)
        return made

    for target in [node for node in targets(source, names).values() if isinstance(node, ast.FunctionDef)]:
        inside = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.lineno == target.lineno)
        for node in list(ast.walk(inside)):
            for field in ("body", "orelse", "finalbody"):
                if isinstance(getattr(node, field, None), list) and not isinstance(node, ast.ClassDef):
                    setattr(node, field, mark(getattr(node, field)))
    return ast.unparse(ast.fix_missing_locations(tree))


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
        before, begun = set(self.reached), time.perf_counter()
        self.reached.clear()
        try:
            return (yield)
        finally:
            seconds = time.perf_counter() - begun
            self.shared[fixturedef] = seconds, set(self.reached)
            self.seconds -= seconds
            self.reached |= before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds += report.duration
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        KEPT.mkdir(exist_ok=True)
        self.reach = self._recorded(items)
        self.lines = {
            path: sorted(line for found in statements(source_of(path), names).values() for line in found)
            for path, names in self.asked["lines"].items()
        }
        self.reached_by: dict[tuple[str, int], set[str]] = {}
        for name, seen in self.reach.items():
            for path, line in [] if seen["failed"] else seen["lines"]:
                self.reached_by.setdefault((path, line), set()).add(name)
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
        """Which statements each test reaches and how long it takes, kept by the files that this hangs on."""
        lines = self.asked["lines"]
        sources = "".join(source_of(path) for path in sorted(lines)) + json.dumps(lines, sort_keys=True)
        code = hashlib.sha256(sources.encode()).hexdigest()
        kept = KEPT / "reach.json"
        known = json.loads(kept.read_text()) if kept.exists() else {}
        found: dict[str, Any] = {}
        by_file: dict[Path, list[pytest.Item]] = {}
        for item in items.values():
            by_file.setdefault(item.path, []).append(item)
        keys = {file: hashlib.sha256(code.encode() + file.read_bytes()).hexdigest() for file in by_file}
        waiting = [file for file in by_file if keys[file] not in known]
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
            known[keys[file]] = told
            failed = [name for name, seen in known[keys[file]].items() if seen["failed"]]
            seconds = sum(one["seconds"] for one in known[keys[file]].values())
            print(f"{file.relative_to(ROOT)}: {seconds:.1f} s", *failed, flush=True)
            kept.write_text(json.dumps(known))
        for key in keys.values():
            found |= known[key]
        return found

    def _reached(self, here: list[pytest.Item]) -> dict[str, Any]:
        builtins.statement_reached = self.reached.add  # type: ignore[attr-defined]
        for path, names in self.asked["lines"].items():
            put(path, marked(path, source_of(path), names))
        found, loaded = {}, set(sys.modules)
        for item, following in zip(here, [*here[1:], None], strict=True):
            self.reached.clear()
            self.seconds, self.failed = 0.0, None
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            wanted = [one for name in item.fixturenames for one in item._fixtureinfo.name2fixturedefs.get(name, ())]
            for seconds, lines in (self.shared[one] for one in wanted if one in self.shared):
                self.seconds += seconds
                self.reached |= lines
            found[item.nodeid] = {"seconds": self.seconds, "failed": bool(self.failed), "lines": sorted(self.reached)}
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
        lines = self.lines[mutant.path]
        line = max((one for one in lines if one <= mutant.line), default=0)
        places = lines if mutant.where.isupper() else [line]
        found = {name for at in places for name in self.reached_by.get((mutant.path, at), ())}
        here, near = (self.killers.get(at, []) for at in (mutant.path + mutant.where, mutant.path))
        rank = {name: at for at, name in reversed(list(enumerate([before, *here, *near])))}
        ordered = sorted(found & items.keys(), key=lambda name: (rank.get(name, len(rank)), self.reach[name]["seconds"]))
        spent = itertools.accumulate(self.reach[name]["seconds"] for name in ordered)
        return [name for name, total in zip(ordered, spent, strict=True) if total <= self.options.seconds]

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
        everything = [one for one in all_mutants() if self.options.only in one.name]
        digests = {one.name: digest(one) for one in everything}
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
    parser.add_argument("--only", default="", help="faults whose name holds this text")
    parser.add_argument("--shuffled", action="store_true", help="in any order, where there is no time for all")
    parser.add_argument("--seconds", type=float, default=15.0, help="of tests that every fault gets, quick ones first")
    parser.add_argument("--tests", nargs="*", help="other tests than those of lines.toml")
    parser.add_argument("--afresh", action="store_true", help="try those again that were killed before")
    parser.add_argument("--equivalent", action="store_true", help="try those too that are proven to change nothing")
    options = parser.parse_args()
    asked = table("lines.toml")["tests"]
    left_out = [f"--ignore={path}" for path in asked["left_out"]]
    hunt = Hunt(options)
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    pytest.main(["-q", "-s", "-p", "no:cacheprovider", *left_out, *(options.tests or asked["paths"])], plugins=[hunt])
    return bool(hunt.survivors)


if __name__ == "__main__":
    sys.exit(main())
