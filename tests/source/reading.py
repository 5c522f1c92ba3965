"""Reads a function, runs its program by the interpreter, and compares with plain Python.

Numbers have to agree to the bit and in their type; where Python raises, the program has to leave.
"""

import struct

import numpy as np

from wyrmling.source.interpreter import read_function


class Left:
    """The program left; ``text`` says why."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return f"Left({self.text!r})"


def same(a, b):
    """Whether two results are one to whoever gets them."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float | np.floating):
        return struct.pack("d", a) == struct.pack("d", b) or bool(a != a and b != b)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if hasattr(a, "__dict__") and not callable(a):
        return same(vars(a), vars(b))
    return bool(a == b)


def read(f, *args, **kwargs):
    """What the program of a function gives: its result, or ``Left``."""
    made = read_function(f, args, kwargs)
    roots = (f, *args, *kwargs.values())
    given = [place.read(roots) for place in made.inputs]
    found = made.function.interpret(given)
    if isinstance(found, int):
        return Left(made.function.exits[found][0])
    return made.build(found, roots)


def agrees(f, *args, **kwargs):
    """Asserts that the program gives what Python does, or leaves where Python raises."""
    found = read(f, *args, **kwargs)
    try:
        wanted = f(*args, **kwargs)
    except Exception as error:
        wanted = error
    if isinstance(wanted, Exception):
        assert isinstance(found, Left), f"{f.__name__}{args}: {found!r}, Python raises {wanted!r}"
    else:
        assert same(found, wanted), f"{f.__name__}{args}: {found!r}, not {wanted!r}"


def leaves(f, *args, **kwargs):
    """Asserts that the program leaves."""
    found = read(f, *args, **kwargs)
    assert isinstance(found, Left), f"{f.__name__}{args}: {found!r}"
