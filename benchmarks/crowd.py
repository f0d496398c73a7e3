"""Visitors who start the heaviest job each and close their tabs, beside others who move sliders.

    python -m benchmarks.crowd [--crowd 10] [--others 3] [--memory 4] [--stay 20]

Each of the crowd opens Generator on 569 rows of 31 columns, asks private sampling for ten million points, presses Run,
watches its progress for a while, and closes its tab; all at the same time. Nobody has a browser: sessions speak Streamlit's
websocket protocol. Printed: the largest memory of the server and all that it has started, beside the limit; how many workers
there were at once; what those who waited were told; answers of the others before and meanwhile; seconds from the end of the
last tab to that of the last worker. It exits with 1 if memory passes the limit, the median answer meanwhile takes a second,
or a worker is left after 30 s.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import statistics
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import psutil
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.visitors import Tally, Visitor, connected, served
from dpsyn.kit.scheduler import MEMORY, Limits

JOB = "data=breast_cancer&mechanism=private_sampling&epsilon=3.16&degree=1&ps_whole=false&ps_m=10000000"
TICK = 0.2


@dataclass
class Seen:
    """What was measured of the server's processes."""

    memory: int = 0
    workers: int = 0
    last_worker: float = 0.0
    before: float = 0.0
    told: set[str] = field(default_factory=set)


class Starter(Visitor):
    """One of the crowd."""

    def __init__(self, number: int, tally: Tally, seen: Seen) -> None:
        super().__init__(number, "generator", tally, JOB)
        self.run: tuple[str, str] | None = None
        self.seen = seen

    def _element(self, delta: Any) -> None:
        super()._element(delta)
        element = delta.new_element
        kind = element.WhichOneof("type")
        if kind == "button" and element.button.label == "Run" and not element.button.disabled:
            self.run = (element.button.id, delta.fragment_id)
        elif kind == "progress" and "turn" in element.progress.text:
            self.seen.told.add(element.progress.text.partition(": ")[2].partition(" …")[0])

    async def start(self, url: str, all_have_started: asyncio.Barrier, stay: float) -> None:
        """Open the page, press Run, stay, go."""
        async with connected(url) as socket_:
            await self._run(socket_, "")
            if self.run is None:
                self.tally.errors.append("generator: Run cannot be pressed")
            else:
                identifier, fragment = self.run
                self.states[identifier] = WidgetState(id=identifier, trigger_value=True)
                await self._run(socket_, fragment)
                del self.states[identifier]
                await self._run(socket_, "")
            await all_have_started.wait()
            end = time.perf_counter() + stay
            while time.perf_counter() < end:
                # As a browser does: the fragments that have said so run again after a while.
                await asyncio.sleep(min(self.polls.values(), default=1.0))
                for fragment in list(self.polls):
                    await self._run(socket_, fragment)


async def measure(server: psutil.Process, seen: Seen) -> None:
    """Memory and workers, again and again."""
    while True:
        memory = workers = 0
        for process in [server, *server.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                found = process.memory_info()
                memory += found.rss - found.shared
                workers += any("dpsyn.kit.worker" in part for part in process.cmdline())
        seen.memory, seen.workers = max(seen.memory, memory), max(seen.workers, workers)
        if workers:
            seen.last_worker = time.perf_counter()
        await asyncio.sleep(TICK)


async def crowd(url: str, server: psutil.Process, options: argparse.Namespace, tally: Tally, seen: Seen) -> float:
    """All of them; the moment at which the last tab of the crowd was closed."""
    others = [Visitor(i, "feasibility", tally) for i in range(options.others)]
    background = [asyncio.create_task(other.live(url, 10_000, 1.0)) for other in others]
    watcher = asyncio.create_task(measure(server, seen))
    while any(other.count < 2 for other in others):
        await asyncio.sleep(TICK)
    tally.seconds["feasibility"].clear()
    await asyncio.sleep(options.stay)
    seen.before = statistics.median(tally.seconds["feasibility"])
    tally.seconds["feasibility"].clear()
    barrier = asyncio.Barrier(options.crowd)
    await asyncio.gather(*(Starter(100 + i, tally, seen).start(url, barrier, options.stay) for i in range(options.crowd)))
    gone = time.perf_counter()
    meanwhile = list(tally.seconds["feasibility"])
    await asyncio.sleep(40)
    tally.seconds["feasibility"] = meanwhile
    for task in (*background, watcher):
        task.cancel()
    for done in await asyncio.gather(*background, return_exceptions=True):
        if not isinstance(done, asyncio.CancelledError):
            tally.errors.append(repr(done))
    return gone


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crowd", type=int, default=10)
    parser.add_argument("--others", type=int, default=3)
    parser.add_argument("--memory", type=float, help="gigabytes for the server and its workers; by default as it comes")
    parser.add_argument("--stay", type=float, default=20.0, help="seconds that the crowd watches")
    options = parser.parse_args()
    if options.memory is not None:
        os.environ[MEMORY] = str(options.memory)
    limits = Limits.of(os.environ)
    tally, seen = Tally(), Seen()
    with served() as (url, server):
        gone = asyncio.run(crowd(url, server, options, tally, seen))
        left = sum("dpsyn.kit.worker" in " ".join(child.cmdline()) for child in server.children(recursive=True))
    answers = sorted(tally.seconds["feasibility"])
    median = statistics.median(answers) if answers else float("inf")
    after = max(seen.last_worker - gone, 0.0)
    print(f"memory of the process tree: {seen.memory / 1e9:.2f} GB at most; the limit is {limits.memory / 1e9:.2f} GB")
    print(f"workers at once: {seen.workers}; the limit is {limits.workers}")
    print("told to those who waited:", *sorted(seen.told), sep="\n  ")
    print(f"others before: median answer {seen.before:.2f} s")
    print(f"others meanwhile: median {median:.2f} s, 95 % {answers[int(0.95 * (len(answers) - 1))] if answers else 0:.2f} s")
    print(f"last worker ended {after:.0f} s after the last tab; workers left: {left}")
    print(f"errors: {len(tally.errors)}", *dict.fromkeys(tally.errors), sep="\n  ")
    held = seen.memory <= limits.memory and seen.workers <= limits.workers
    return int(not (held and median < 1 and after <= 30 and left == 0 and not tally.errors))


if __name__ == "__main__":
    sys.exit(main())
