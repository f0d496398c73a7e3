"""Entry point: `streamlit run app.py` serves the pages; every visit begins in `pages/_router.py`."""

import asyncio
import sys
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st
from starlette.middleware import Middleware

from dpsyn.app.server import SecurityHeaders, explain
from dpsyn.errors import DpsynError
from dpsyn.kit.faults import keep_values_out_of_logs
from dpsyn.kit.scheduler import scheduler


@asynccontextmanager
async def begin(_: st.App) -> AsyncIterator[None]:
    """Show the app to whoever started it: Streamlit itself does that only for a script."""
    if not st.get_option("server.headless"):
        address = st.get_option("server.address")
        host = "localhost" if address in {None, "0.0.0.0", "::"} else address
        url = f"http://{host}:{st.get_option('server.port')}"
        asyncio.get_running_loop().call_soon(webbrowser.open, url)
    yield


keep_values_out_of_logs()
try:
    scheduler()
except DpsynError as fault:  # limits that make no sense are refused now, not when the first visitor starts something
    sys.exit(f"dpsyn: {fault}")
# Without an App, a folder `pages/` beside this file makes Streamlit answer the first visit by older rules, past the router.
app = st.App("pages/_router.py", lifespan=begin, middleware=[Middleware(SecurityHeaders)], on_script_error=explain)
