"""Texts that are read in place of functions that are written in C."""
