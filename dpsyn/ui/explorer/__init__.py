"""The sections of the feasibility page, one file each."""
