"""``python -m dpsyn.cli``."""

from dpsyn.cli import main

main()
