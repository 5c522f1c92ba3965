"""Statements, loops and calls: the order in which the abstract interpreter goes through a text."""
