"""Malicious sequences: every function of the native module meets endless iterators, a wrong
``__len__`` and huge numbers; each call raises an ordinary exception in bounded time.

The functions are found by looking, so a new one is tried without a line here.
"""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest

import wyrmling as wy
from wyrmling import _core

SCRIPT = r'''
import faulthandler, inspect, itertools, json, resource, sys
import numpy as np
import wyrmling as wy
from wyrmling import _core

faulthandler.dump_traceback_later(240, exit=True)
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
part, parts = int(sys.argv[1]), int(sys.argv[2])


class Liar:
    """A sequence that says that it is longer, or shorter, than it is."""

    def __init__(self, length, items):
        self.length, self.items = length, items

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        return self.items[i]

    def __iter__(self):
        return iter(self.items)


class LyingList(list):
    def __len__(self):
        return 1 << 40


class Raising:
    def __len__(self):
        raise ZeroDivisionError

    __iter__ = __getitem__ = __index__ = __float__ = __array__ = __len__


class Growing(list):
    """A list that grows while it is read."""

    def __iter__(self):
        yield from (self[0] for _ in range(3))
        raise ZeroDivisionError


x = wy.Variable([1.0, 2.0])
hostile = [
    lambda: range(1 << 40),
    lambda: Liar(1 << 62, [x]),
    lambda: Liar(0, [x, x, x]),
    lambda: Liar(-1, [x]),
    lambda: Liar(1 << 40, ["a", "b"]),
    lambda: LyingList([1, 2]),
    lambda: LyingList([x, x]),
    lambda: Growing([x]),
    lambda: Raising(),
    lambda: 1 << 80,
    lambda: -(1 << 63),
    lambda: (1 << 63) - 1,
    lambda: float("nan"),
    lambda: "\ud800",
    lambda: "",
    lambda: None,
    lambda: [],
    lambda: (),
    lambda: {},
    lambda: object(),
    lambda: [[[]]],
    lambda: np.zeros((0, 3)),
    lambda: np.zeros((2, 2), object),
    lambda: np.ma.masked_array([1.0], [True]),
]
plain = [
    lambda: x,
    lambda: np.ones((2, 2), np.float32),
    lambda: np.ones(2, np.float32),
    lambda: 1,
    lambda: "x",
    lambda: [x, x],
    lambda: wy.Parameter([1.0]),
    lambda: wy.IndexInput([0]),
]

# What has no end in itself, or writes where the argument says.
SKIPPED = {"write_tensors", "replace_file", "read_tensors", "read_interactions"}

def arity(f):
    try:
        given = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return 2, []
    places = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    required = [p for p in given if p.default is p.empty and p.kind in places]
    named = [p.name for p in given if p.kind is p.KEYWORD_ONLY]
    return len(required), named

def attempts(f):
    count, named = arity(f)
    for make in hostile:
        yield [make() for _ in range(count)], {}
        for at in range(count):
            for other in plain:
                yield [make() if k == at else other() for k in range(count)], {}
            if count > 1:
                # The rest as a fitting call would have it, more or less.
                yield [make() if k == at else plain[k % len(plain)]() for k in range(count)], {}
        for name in named:
            yield [plain[0]() for _ in range(count)], {name: make()}

functions = {
    name: f
    for name, f in vars(_core).items()
    if callable(f) and not name.startswith("__") and name not in SKIPPED
}
methods = {
    f"{cls.__name__}.{name}": getattr(obj, name)
    for cls, obj in [
        (wy.Variable, x), (wy.Parameter, wy.Parameter([1.0, 2.0])), (wy.SGD, wy.SGD(lr=0.1)),
        (_core.Program, wy.freeze((wy.Parameter([1.0]) * 2.0).sum())),
    ]
    for name in dir(obj)
    if not name.startswith("_") and callable(getattr(type(obj), name, None))
}
names = sorted({**functions, **methods})
calls = 0
bad = []
for name in names[part::parts]:
    f = functions.get(name) or methods[name]
    for args, kwargs in attempts(f):
        calls += 1
        try:
            f(*args, **kwargs)
        except Exception:
            pass
        except BaseException as e:
            bad.append(f"{name}: {type(e).__name__}: {e}")
print(json.dumps({"names": len(names), "calls": calls, "bad": bad[:10]}))
'''

PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_no_function_trusts_what_an_object_says_of_itself(part: int) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(part), str(PARTS)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    # A panic is a BaseException, not an Exception.
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found["bad"] == []
    assert found["names"] > 200
    assert found["calls"] > 1000


def test_variables_are_taken_from_any_iterable_but_not_without_end() -> None:
    x = wy.Variable([1.0, 2.0])
    y = x * x
    assert _core.captures(iter([y]), (x,)) is False
    for endless in (range(1 << 40), itertools.repeat(1.0)):
        with pytest.raises(TypeError, match=r"outputs: expected variables, got int|float"):
            _core.captures(endless, [x])
    with pytest.raises(ValueError, match=r"inputs: expected 1048576 at most"):
        _core.captures([y], itertools.repeat(x))
    with pytest.raises(ValueError, match=r"at most"):
        wy.concatenate(itertools.repeat(x))
    with pytest.raises(ValueError, match=r"tangents: expected 1 at most, got more"):
        _core.pushforward([y], [x], [x, x])
    with pytest.raises(ValueError, match=r"tangents: expected one for each of 1 inputs, got 0"):
        _core.pushforward([y], [x], [])


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, ZeroDivisionError])
def test_what_an_index_raises_by_itself_is_raised(raised: type[BaseException]) -> None:
    class Number:
        def __index__(self) -> int:
            raise raised("by itself")

    w, n = wy.Parameter(np.ones((3, 2))), Number()
    for use in (
        lambda: w[n],
        lambda: w.sum(axis=n),
        lambda: w.reshape(n, 6),
        lambda: w.reshape((n, 6)),
        lambda: wy.sampling.Uniform(n),
        lambda: wy.diag(w, n),
        lambda: wy.expand_dims(w, n),
    ):
        with pytest.raises(raised, match="by itself"):
            use()
