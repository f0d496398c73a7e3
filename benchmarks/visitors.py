"""Visitors who move sliders at the same time, on the pages Feasibility and Inside of one server.

    python benchmarks/visitors.py [--visitors 10] [--interactions 200] [--pause 1.0]

Each visitor is a session of its own that speaks Streamlit's websocket protocol: open a page, move a slider, wait until the
script has run and everything has arrived, pause, go on; half of the visitors on either page. No browser takes part: the time
is the server's, over the wire. Printed: median and 95th percentile of the answers, errors, and the server's memory at the
start and on the way. It exits with 1 on an error, a median of one second or more, or memory that grows by more than a tenth
over the second half.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

ROOT = Path(__file__).parents[1]
EARLY = ForwardMsg.ScriptFinishedStatus.Value("FINISHED_EARLY_FOR_RERUN")
PAGES = ("feasibility", "inside")


@dataclass
class Tally:
    """What all visitors have seen."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {page: [] for page in PAGES})
    errors: list[str] = field(default_factory=list)
    moves: dict[str, dict[str, list[float]]] = field(default_factory=lambda: {page: {} for page in PAGES})


class Visitor:
    """One session on one page."""

    def __init__(self, number: int, page: str, tally: Tally, query: str = "") -> None:
        self.page, self.tally, self.query = page, tally, query
        self.random = random.Random(number)
        self.sliders: dict[str, tuple[Any, str]] = {}
        self.states: dict[str, WidgetState] = {}
        self.polls: dict[str, float] = {}
        self.page_hash = ""
        self.count = 0

    async def live(self, url: str, interactions: int, pause: float) -> None:
        """Open the page and move sliders."""
        async with connected(url) as socket_:
            await self._run(socket_, "")
            if not self.sliders:
                self.tally.errors.append(f"{self.page}: there is no slider")
                return
            await asyncio.sleep(self.random.random() * pause)
            for _ in range(interactions):
                name, fragment = self._move()
                start = time.perf_counter()
                await self._run(socket_, fragment)
                taken = time.perf_counter() - start
                self.tally.seconds[self.page].append(taken)
                self.tally.moves[self.page].setdefault(name, []).append(taken)
                self.count += 1
                await asyncio.sleep(pause * (0.5 + self.random.random()))

    def _move(self) -> tuple[str, str]:
        slider, fragment = self.sliders[self.random.choice(sorted(self.sliders))]
        state = WidgetState(id=slider.id)
        if slider.options:
            state.string_array_value.data.append(self.random.choice(list(slider.options)))
        else:
            steps = max(1, round((slider.max - slider.min) / (slider.step or 1)))
            state.double_array_value.data.append(slider.min + self.random.randint(0, steps) * (slider.step or 1))
        self.states[slider.id] = state
        return slider.label, fragment

    async def _run(self, socket_: Any, fragment: str) -> None:
        message = BackMsg()
        message.rerun_script.page_name = self.page if not self.page_hash else ""
        message.rerun_script.page_script_hash = self.page_hash
        message.rerun_script.query_string = self.query
        message.rerun_script.fragment_id = fragment
        message.rerun_script.widget_states.widgets.extend(self.states.values())
        await socket_.send(message.SerializeToString())
        if not fragment:
            self.sliders.clear()
            self.polls.clear()
        while True:
            found = ForwardMsg()
            found.ParseFromString(await asyncio.wait_for(socket_.recv(), 60))
            kind = found.WhichOneof("type")
            if kind == "auto_rerun":
                self.polls[found.auto_rerun.fragment_id] = found.auto_rerun.interval
            elif kind == "navigation":
                self.page_hash = found.navigation.page_script_hash
            elif kind == "delta":
                self._element(found.delta)
            elif kind == "session_event" and found.session_event.WhichOneof("type") == "script_compilation_exception":
                self.tally.errors.append(found.session_event.script_compilation_exception.message)
            elif kind == "script_finished" and found.script_finished != EARLY:
                return

    def _element(self, delta: Any) -> None:
        element = delta.new_element
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.tally.errors.append(f"{self.page}: {element.exception.type}: {element.exception.message}"[:300])
        elif kind == "slider" and not element.slider.disabled and len(element.slider.default) == 1:
            self.sliders[element.slider.id] = (element.slider, delta.fragment_id)


def connected(url: str) -> Any:
    """The connection of one tab."""
    return websockets.connect(
        f"{url}/_stcore/stream", subprotocols=[websockets.Subprotocol("streamlit")], max_size=None, max_queue=None
    )


@contextlib.contextmanager
def served() -> Iterator[tuple[str, psutil.Process]]:
    """The app as README's command starts it, on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port), "--server.headless", "true"]
    command += ["--server.address", "127.0.0.1", "--server.fileWatcherType", "none"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(400):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1).close()
                    break
                time.sleep(0.1)
            yield f"ws://127.0.0.1:{port}", psutil.Process(server.pid)
        finally:
            server.terminate()


async def watch(server: psutil.Process, visitors: list[Visitor], marks: dict[int, float]) -> None:
    """Memory whenever the slowest visitor has come to one of the marks."""
    for mark in list(marks):
        while min(v.count for v in visitors) < mark:
            await asyncio.sleep(0.1)
        marks[mark] = server.memory_info().rss / 2**20
        print(f"after {mark:4d} interactions each: {marks[mark]:7.0f} MiB", flush=True)


async def visit(url: str, server: psutil.Process, options: argparse.Namespace, tally: Tally) -> dict[int, float]:
    """All visitors at once."""
    visitors = [Visitor(i, options.pages[i % len(options.pages)], tally) for i in range(options.visitors)]
    steps = sorted({0, options.interactions // 4, options.interactions // 2, options.interactions})
    marks = dict.fromkeys(steps, 0.0)
    watcher = asyncio.create_task(watch(server, visitors, marks))
    done = await asyncio.gather(
        *(v.live(url, options.interactions, options.pause) for v in visitors), return_exceptions=True
    )
    tally.errors += [f"{type(fault).__name__}: {fault}" for fault in done if isinstance(fault, BaseException)]
    if tally.errors:
        watcher.cancel()
    else:
        await watcher
    return marks


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visitors", type=int, default=10)
    parser.add_argument("--interactions", type=int, default=200)
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between an answer and the next move, on average")
    parser.add_argument("--pages", nargs="+", default=list(PAGES), choices=PAGES)
    options = parser.parse_args()
    tally = Tally()
    with served() as (url, server):
        marks = asyncio.run(visit(url, server, options, tally))
    every = [s for found in tally.seconds.values() for s in found]
    for page in options.pages:
        print(f"{page}:")
        for name, taken in sorted(tally.moves[page].items(), key=lambda pair: -statistics.median(pair[1])):
            print(f"    {name[:50]:50} median {1000 * statistics.median(taken):6.0f} ms   max {1000 * max(taken):6.0f}")
    for name, taken in [*tally.seconds.items(), ("all", every)]:
        if taken:
            ordered = sorted(taken)
            print(
                f"{name:12} median {1000 * statistics.median(ordered):6.0f} ms   "
                f"95 % {1000 * ordered[int(0.95 * (len(ordered) - 1))]:6.0f} ms   answers {len(ordered):,}"
            )
    print(f"errors: {len(tally.errors)}", *dict.fromkeys(tally.errors), sep="\n  ")
    stable = marks[options.interactions] <= 1.1 * max(marks[options.interactions // 2], 1)
    return int(bool(tally.errors) or not every or statistics.median(every) >= 1 or not stable)


if __name__ == "__main__":
    sys.exit(main())
