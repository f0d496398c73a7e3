"""Averages of records with noise on them: drawing them, and what they cost exactly. DP-CDA and DP-Mix rest on it."""
