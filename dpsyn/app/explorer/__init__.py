"""The page Feasibility."""
