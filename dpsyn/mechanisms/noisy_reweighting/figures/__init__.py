"""Pictures of noisy reweighting from the inside: plain data to an info object, and an info object to a chart."""
