"""What the server does around the pages: headers of its answers, and what a visitor sees of an error that nobody foresaw."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from dpsyn import escape
from dpsyn.errors import DpsynError
from dpsyn.kit import faults, live

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


def _inline_scripts() -> list[str]:
    """The hashes of the scripts in Streamlit's own page, and of the one that moves pictures with their sliders."""
    page = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    scripts = [*re.findall(r"<script>(.*?)</script>", page, re.DOTALL), live.SCRIPT]
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]


def headers() -> dict[str, str]:
    """Headers of every answer. Nothing is asked of another server, whatever stands in the data, and no other page frames the
    app. Vega compiles its expressions, and Streamlit and the charts set styles: so much has to be allowed."""
    policy = {
        "default-src": "'self'",
        "script-src": " ".join(["'self'", *_inline_scripts()]),
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "worker-src": "'self' blob:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {sources}" for name, sources in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
    }


class SecurityHeaders:
    """ASGI middleware that adds :func:`headers`, in place of what the application says of the same names."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers().items()]
        self._names = {name for name, _ in self._headers}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the application does, with these headers."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                others = [pair for pair in message.get("headers", []) if pair[0].lower() not in self._names]
                message = {**message, "headers": [*others, *self._headers]}
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)


def explain(error: Exception) -> bool:
    """Say what a visitor can do about an error that no page caught, in place of Streamlit's traceback."""
    said = escape.markdown(error) if isinstance(error, DpsynError) else faults.sentence(error)
    st.error(said, icon=":material/error:")
    return True
