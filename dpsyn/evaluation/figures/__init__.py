"""Pictures of what was measured: from plain data to a figure."""
