"""Recommenders of this package and of others, on the same data: quality and speed."""
