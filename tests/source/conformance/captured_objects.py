"""Objects of the library's own classes, found outside: their truth, and patterns."""

import collections
import decimal
import enum
import types

from .case import at

NOTHING = collections.deque()
PAIR = collections.deque([1.0, 2.0])
ORDERED = collections.OrderedDict(rate=2.0)
PROXY = types.MappingProxyType({"rate": 2.0})
ZERO = decimal.Decimal(0)


class Level(enum.IntEnum):
    OFF = 0
    ON = 1


class Colour(enum.Enum):
    BLACK = 0


@at(1.5)
def truth_of_an_empty_queue(x):
    return x if NOTHING else x * x


@at(1.5)
def truth_of_a_decimal(x):
    return x if ZERO else x * x


@at(1.5)
def truth_of_members_of_enumerations(x):
    found = x if Level.OFF else x * x
    return found + (x if Level.ON else 0.0) + (Level.OFF or x) + (x * x if Colour.BLACK else x)


@at(1.5, Level.OFF)
@at(1.5, Level.ON)
def truth_of_an_argument(x, level):
    return x if level else x * x


@at(1.5)
def pattern_of_a_dict_for_another_mapping(x):
    match ORDERED:
        case {"rate": rate}:
            return x * rate
    return x


@at(1.5)
def pattern_of_a_dict_for_a_view_of_one(x):
    match PROXY:
        case {"rate": rate}:
            return x * rate
    return x


@at(1.5)
def pattern_of_a_sequence_for_a_queue(x):
    match PAIR:
        case [a, b]:
            return x * a * b * 3
    return x


@at(1.5)
def pattern_of_a_sequence_for_a_list_of_computed_length(x):
    found = []
    y = x
    while y < 10:
        found.append(y)
        y = y * 1.75
    match found:
        case [first, *others]:
            return first * len(others) * 3
    return x


@at(1.5)
def patterns_for_all_kinds(x):
    total = 0.0
    for one in (3, "ab", b"ab", None, len, x, (x, x), [x, x], {"a": x}, range(2)):
        match one:
            case [a, b]:
                total += x * 2 + a * b
            case {"a": value}:
                total += value * 7
            case _:
                total += 1
    return total
