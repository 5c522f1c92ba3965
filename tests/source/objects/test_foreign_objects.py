"""Objects from outside whose class is not known: what Python does with them is not imitated, and
what follows happens once.
"""

import array
import collections
import types

import numpy as np
import pytest

import wyrmling as wy

MADE = {
    "deque": lambda: collections.deque([1.0, 2.0]),
    "array": lambda: array.array("d", [1.0, 2.0]),
    "dict_values": lambda: {"a": 1.0, "b": 2.0}.values(),
    "OrderedDict": lambda: collections.OrderedDict({0: 1.0, 1: 2.0}),
    "mappingproxy": lambda: types.MappingProxyType({0: 1.0, 1: 2.0}),
    "uint8": lambda: np.uint8(3),
}


def goes_through(x, kept, seen):
    total = x * 1.0
    for _ in kept:
        total = total + x
    seen.append(total)
    return total


def looks_for(x, kept, seen):
    total = x if 1.0 in kept else 2.0 * x
    seen.append(total)
    return total


def assigns(x, kept, seen):
    kept[0] = 5.0
    seen.append(x)
    return x * kept[0]


def deletes(x, kept, seen):
    del kept[0]
    seen.append(x)
    return x * len(kept)


def multiplies(x, kept, seen):
    total = x * kept
    seen.append(total)
    return total


def counts(x, kept, seen):
    seen.append(x)
    for i in range(kept):
        x = x * 1.5 + i
    seen.append(x)
    return x


FUNCTIONS = [goes_through, looks_for, assigns, deletes, multiplies, counts]


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_effects_happen_once(f, name):
    def outcome(call):
        """What a call gives or raises, how long the list is, and what was kept."""
        kept, seen = MADE[name](), []
        try:
            found = call(lambda x: f(x, kept, seen), 2.0)
        except wy.SourceError:
            assert not seen
            return None
        except Exception as error:
            return type(error), len(seen)
        return float(found), len(seen), repr(kept)

    wanted = outcome(lambda g, x: g(x))
    for mode in ("source", "auto"):
        for call in (
            lambda g, x: wy.compile(g, mode=mode)(x),  # noqa: B023
            lambda g, x: wy.value_and_grad(g, mode=mode)(x)[0],  # noqa: B023
        ):
            found = outcome(call)
            assert found == wanted or (mode == "source" and found is None)
