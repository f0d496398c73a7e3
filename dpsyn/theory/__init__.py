"""What the theorems of every mechanism are written with: conditions, formulas, numbers too large for a float."""
