"""``python -m dpsyn.app.serve``: Streamlit as a command of ours, whose end by Ctrl-C is no error."""

from __future__ import annotations

import sys

import click
from streamlit.web.cli import main

INTERRUPTED = 130

if __name__ == "__main__":
    try:
        main(sys.argv[1:], standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except click.ClickException as fault:
        fault.show()
        sys.exit(fault.exit_code)
