"""What a call comes to: a value, or an exception with its type, text and line."""

import copy
import math
import struct
import traceback

import numpy as np


class Raised:
    """An exception, and the last line of the function's own file that it came through."""

    def __init__(self, error, file):
        self.error = error
        self.kind, self.text = type(error), str(error)
        frames = traceback.extract_tb(error.__traceback__)
        self.line = next((f.lineno for f in reversed(frames) if f.filename == file), None)

    def __repr__(self):
        return f"{self.kind.__name__}({self.text!r}) at line {self.line}"

    def same_as(self, other):
        return isinstance(other, Raised) and (self.kind, self.text, self.line) == (
            other.kind,
            other.text,
            other.line,
        )


def outcome(f, *args, file=None, **kwargs):
    """What ``f`` returns for copies of these arguments, or ``Raised``."""
    args, kwargs = copy.deepcopy((args, kwargs))
    try:
        with np.errstate(all="ignore"):
            return f(*args, **kwargs)
    except Exception as error:
        return Raised(error, file)


def file_of(f):
    """The file that a function's code names, if it has code."""
    inner = getattr(f, "__func__", f)
    inner = getattr(inner, "func", inner)
    code = getattr(inner, "__code__", None) or getattr(type(f).__call__, "__code__", None)
    return getattr(code, "co_filename", None)


def bits(x):
    """A float as the integer of its bits; one for all NaN."""
    return "nan" if math.isnan(x) else struct.pack("<d", x)


def same(a, b, exactly=True):
    """Whether two results are equal to the bit; ``exactly``, also their types."""
    if isinstance(a, float | np.floating) and isinstance(b, float | np.floating):
        if exactly and type(a) is not type(b):
            return False
        return bits(float(a)) == bits(float(b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if exactly and type(a) is not type(b):
        return False
    if isinstance(a, tuple | list):
        return (
            isinstance(b, tuple | list)
            and len(a) == len(b)
            and all(same(x, y, exactly) for x, y in zip(a, b, strict=True))
        )
    if isinstance(a, dict):
        return (
            isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k], exactly) for k in a)
        )
    return bool(a == b)


def is_record(x):
    """Whether this is an instance of a dataclass."""
    return hasattr(x, "__dataclass_fields__") and not isinstance(x, type)


def parts_of(record):
    """What an instance of a dataclass holds, by name."""
    names = getattr(record, "__slots__", None) or vars(record)
    return {name: getattr(record, name) for name in names}


def record_like(record, parts):
    """Another instance of the same dataclass."""
    made = object.__new__(type(record))
    for name, part in parts.items():
        object.__setattr__(made, name, part)
    return made


def leaves(tree):
    """The numbers and arrays in nested tuples, lists, dicts and dataclasses, in order."""
    if isinstance(tree, tuple | list):
        return [leaf for part in tree for leaf in leaves(part)]
    if isinstance(tree, dict):
        return [leaf for part in tree.values() for leaf in leaves(part)]
    if is_record(tree):
        return [leaf for part in parts_of(tree).values() for leaf in leaves(part)]
    return [] if tree is None else [tree]
