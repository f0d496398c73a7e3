"""Operators over products of categories, linear and quadratic programs, maximum entropy, rounding."""
