"""DP-CDA on the data at hand, in pictures: noise, budgets, mixed records, order of mixture, what breaks it."""
