"""The command ``dpsyn``: the app and the library from a terminal. It computes nothing itself."""

from __future__ import annotations

import os
import sys
import warnings

from dpsyn.cli.commands import dpsyn as dpsyn
from dpsyn.cli.terminal import INPUT, note


def main() -> None:
    """Run the command line of this process."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # what libraries say to programmers
    if sys.stderr is None:  # closed, as where daemons start programs
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # till the process ends
    if sys.stdout is None:
        note("standard output is closed, and nothing can be said there: /dev/null takes what nobody reads")
        sys.exit(INPUT)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Files and pipes hold UTF-8, as JSON has to be; a terminal that knows no ε is told \u03b5.
            stream.reconfigure(encoding=stream.encoding if stream.isatty() else "utf-8", errors="backslashreplace")
    try:
        dpsyn()
    except SystemExit as end:
        code = end.code
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                code = code or INPUT
        # Libraries' threads may abort the process while it is taken down, after all was done and said.
        os._exit(code)  # type: ignore[arg-type]  # Commands.main leaves with a number
