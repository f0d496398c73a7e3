"""Pages are tried as at home."""

from tests.pages.conftest import at_this_machine

__all__ = ["at_this_machine"]
