"""The app without a browser."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from dpsyn.app import road
from dpsyn.evaluation.prediction import DEFAULT_MODELS
from dpsyn.kit.local import SWITCH
from dpsyn.mechanisms.dp_cda.accounting import functions
from dpsyn.privacy.mixing import exact
from tests.pages.forked import fork_jobs

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session", autouse=True)
def packages_are_searched_once() -> Iterator[None]:
    """For every new visitor AppTest searches all installed packages for components: half of the time of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(scope="session", autouse=True)
def scripts_are_waited_for() -> Iterator[None]:
    """AppTest asks every millisecond whether a page has ended, and each time it takes the interpreter from it."""
    stopped = LocalScriptRunner.script_stopped

    def wait(runner: LocalScriptRunner) -> bool:
        assert runner._script_thread is not None
        runner._script_thread.join(1.0)
        return stopped(runner)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalScriptRunner, "script_stopped", wait)
        yield


@pytest.fixture(scope="session", autouse=True)
def noise_is_calibrated_once() -> Iterator[None]:
    """Every new visitor calibrates DP-CDA anew, and with the same settings as the one before."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((exact, "calibrated_multiplier"), (functions, "rdp_epsilon")):
            patch.setattr(module, name, cache(getattr(module, name)))
        yield


@pytest.fixture(autouse=True, scope="module")
def jobs_are_copies(request: pytest.FixtureRequest) -> Iterator[None]:
    """See :mod:`tests.pages.forked`; a module that says ``NO_COPIES`` has processes as the app starts them."""
    with pytest.MonkeyPatch.context() as patch:
        if not hasattr(request.module, "NO_COPIES"):
            fork_jobs(patch)
        yield


@pytest.fixture(autouse=True, scope="module")
def at_this_machine() -> Iterator[None]:
    """The app as somebody started it for this machine, and a visit from a browser here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SWITCH, "1")
        here = {"Host": "localhost:8501", "Origin": "http://localhost:8501", "User-Agent": "a browser"}
        patch.setattr(type(st.context), "headers", here)
        patch.setattr(type(st.context), "ip_address", None)
        config.set_option("client.showErrorDetails", "full")  # a test that fails says why
        yield


@pytest.fixture(autouse=True, scope="module")
def no_score_cards() -> Iterator[None]:
    """Rows are not measured after every run, which takes longer than most runs; :func:`score_cards` brings it back."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(road, "measure", lambda *_: None)
        yield


_MEASURE = road.measure


@pytest.fixture
def score_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are measured after every run, as in the app, but by one model of the two."""
    monkeypatch.setattr(road, "measure", _MEASURE)
    monkeypatch.setattr(road, "DEFAULT_MODELS", DEFAULT_MODELS[:1])


@pytest.fixture(scope="session")
def open_page() -> Callable[..., AppTest]:
    """Open the app at a page, each time for a new visitor: ``open_page("generator")``; with what a link says besides."""

    def at(name: str, **query: str | list[str]) -> AppTest:
        app = AppTest.from_file(str(ROOT / "pages" / "_router.py"), default_timeout=60)
        app.query_params.update(query)
        return quiet((app if name == "start" else app.switch_page(f"{name}.py")).run())

    return at


def quiet(app: AppTest) -> AppTest:
    """The app, which shows no traceback."""
    assert not app.exception, app.exception
    return app


def charts(app: AppTest) -> int:
    """How many charts by Altair there are."""
    return len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart"))


def pictures(app: AppTest) -> int:
    """How many charts there are, by Altair and Plotly."""
    return charts(app) + len(app.get("plotly_chart"))


def messages(app: AppTest) -> str:
    """What happened, in words."""
    return " ".join(m.value for m in (*app.success, *app.warning, *app.error)).replace("\\", "")


def words(app: AppTest) -> str:
    """What the page says besides."""
    return " ".join(e.value for e in (*app.info, *app.warning, *app.caption, *app.markdown))


def file_of_runs(app: AppTest) -> bytes:
    """The file in which the releases of a visit are kept."""

    def write_file() -> None:
        import streamlit as st

        from dpsyn.app import state
        from dpsyn.evaluation.experiments import archive_text

        st.session_state["the_file"] = archive_text(state.made(), []).encode()

    writer = AppTest.from_function(write_file, default_timeout=60)
    writer.session_state["releases"] = app.session_state["releases"]
    found: bytes = quiet(writer.run()).session_state["the_file"]
    return found


def finish_job(app: AppTest, seconds: float = 90) -> AppTest:
    """Run the app again until the background job has been taken in; not before it has ended."""
    end = time.monotonic() + seconds
    while "job" in app.session_state and app.session_state["job"] is not None:
        process = app.session_state["job"].process
        assert time.monotonic() < end
        if process is None:  # it has not had its turn
            time.sleep(0.05)
            continue
        process.wait(seconds)
        quiet(app.run())
    return app


def last_measured(session: Any) -> dict[str, Any]:
    """What a visit measured, of the rows that it measured last for the first time."""
    return [*session["comparisons"].values()][-1]


def press(app: AppTest, label: str) -> AppTest:
    """Press the first button whose label begins so."""
    return quiet(next(button for button in app.button if button.label.startswith(label)).click().run())


def confirm(app: AppTest, source: str = "code book") -> AppTest:
    """Say on the page Domain where all columns that are read off the rows are known from; the Generator opens."""
    app = app.switch_page("domain.py").run()
    next(control for control in app.segmented_control if control.key.startswith("source_")).set_value(source)
    app = press(app, "Next")
    return (
        press(app, "Next")
        if any("Stated bounds" in said.value or "list of values" in said.value for said in app.warning)
        else app
    )


def other_rows(app: AppTest) -> AppTest:
    """From the release that was just made back to the settings, if that is what the Generator shows."""
    return press(app, "Make other rows") if any(button.key == "again" for button in app.button) else app
