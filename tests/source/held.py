"""Holds the transforms of a function against plain Python and against oracles.

``Held(f, args, kwargs)`` knows what is right at one point: the value that plain Python gives, or
its exception; derivatives to third order in each float and in one direction, by ``jets`` where all
that is differentiated is floats, and by differences where there are arrays. ``faults(mode)`` says
what the transforms of a mode give else. A refusal is no fault; ``refused`` tells the two apart.

How far a value may be off is not guessed: functions of ``math`` may be wrong by one unit in the
last place each, so they are disturbed by that much, and what comes out tells. Arithmetic alone has
to agree to the bit. From 3.12 ``sum`` corrects what it loses of floats, and tracing, which adds
variables, does not: there its sums may be off by n times eps of the sum of magnitudes.
"""

import contextlib
import copy
import itertools
import math

import jets
import numpy as np
import sums as other_sums
from outcomes import Raised, file_of, is_record, leaves, outcome, parts_of, record_like, same

import wyrmling as wy

DISTURBANCES = 4
STEP = 1e-4
SPREADS = 8
MANY_TERMS = 1000.0
# Products of such numbers are rounded by as much as they are.
SUBNORMAL = 8 * 5e-324


def is_number(x):
    return type(x) in (float, np.float64, np.float32)


def is_real_array(x):
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def is_tree(x):
    """Whether an argument is made of what one differentiates by, and not empty."""
    found = leaves(x) if isinstance(x, tuple | list | dict) or is_record(x) else [x]
    return bool(found) and all(is_number(leaf) or is_real_array(leaf) for leaf in found)


def refused(said):
    """Whether an outcome is a refusal by the reader."""
    return isinstance(said, Raised) and said.kind is wy.SourceError


class Refused(Exception):
    """A transform refused the function; its text is the refusal."""


class Held:
    """One function at one point, and what is right there."""

    steps_may_vanish = False
    """Whether the function may round its arguments away, by adding them to huge numbers."""

    def __init__(self, function, args, kwargs):
        self.function, self.args, self.kwargs = function, args, kwargs
        self._series = {}
        self.file = file_of(function)
        self.value = outcome(function, *args, file=self.file, **kwargs)
        self.raises = isinstance(self.value, Raised)
        self.argnums = tuple(k for k, x in enumerate(args) if is_tree(x))
        self.numbers = leaves([args[k] for k in self.argnums])
        self.smooth = all(type(x) is float for x in self.numbers)
        results = [] if self.raises else leaves(self.value)
        self.is_number = not self.raises and isinstance(self.value, float | np.floating)
        self.has_gradient = bool(results and self.argnums) and all(map(is_tree, results))
        self.scalar = self.is_number or (
            self.has_gradient and isinstance(self.value, np.ndarray) and self.value.size == 1
        )
        rng = np.random.default_rng(5)
        self.direction = [rng.uniform(-1, 1, np.shape(x)) for x in self.numbers]
        self.seeds = [rng.uniform(-1, 1, np.shape(y)) for y in results]
        if self.is_number:
            self.seeds = [np.array(1.0)]

    def double(self):
        """Whether all that is differentiated is in double precision."""
        return all(getattr(x, "dtype", np.float64) == np.float64 for x in self.numbers)

    def is_known(self):
        """Whether an oracle says what the derivative along the direction is."""
        if self.smooth and (series := self.series(self.direction)) is not None:
            return bool(np.isfinite(series[0][:, 1]).all())
        return self.difference(1) is not None

    def in_double(self):
        """The same at arguments in double precision."""
        wide = iter([np.float64(x) if np.ndim(x) == 0 else x.astype(float) for x in self.numbers])
        args = list(copy.deepcopy(self.args))
        for k in self.argnums:
            args[k] = _widened(args[k], wide)
        return Held(self.function, args, self.kwargs)

    # What is right.

    def moved(self, by):
        """The arguments, moved along the direction."""
        steps = zip(self.numbers, self.direction, strict=True)
        ends = (x + step * by for x, step in steps)
        args = list(copy.deepcopy(self.args))
        for k in self.argnums:
            args[k] = _rebuilt(args[k], ends)
        return args

    def weighted(self, result, magnitudes=False):
        """One number of the leaves of a result, or of their magnitudes."""
        parts = zip(leaves(result), self.seeds, strict=True)
        terms = [np.asarray(y, float) * seed for y, seed in parts]
        return sum(float(np.sum(np.abs(term) if magnitudes else term)) for term in terms)

    def difference(self, order):
        """The derivative of that order of the weighted result along the direction, by central
        differences and Richardson's extrapolation, and how far rounding alone may put that off: an
        eps of the largest result, divided by what the results are divided by. None where the
        differences do not agree on anything, or an argument is not finite, which no step changes.
        """
        if not all(np.isfinite(x).all() for x in self.numbers):
            return None
        if not self.double():
            return self.in_double().difference(order)
        wide = {1: STEP, 2: 10 * STEP}[order]
        sizes = []

        def at(by):
            y = outcome(self.function, *self.moved(by), **self.kwargs)
            if isinstance(y, Raised | complex):
                return math.nan
            sizes.append(self.weighted(y, magnitudes=True))
            return self.weighted(y)

        with np.errstate(all="ignore"):
            middle = at(0.0)
            if order == 1:
                found = [(at(h) - at(-h)) / (2 * h) for h in (wide, wide / 2, wide / 4)]
                before, after = ((at(h) - middle) / h for h in (-wide / 8, wide / 8))
                if not abs(after - before) <= 1e-3 * max(0.1, abs(after)):
                    return None  # it has a corner here
                if self.steps_may_vanish and before == after == 0.0:
                    return None
            else:
                found = [(at(h) - 2 * middle + at(-h)) / h**2 for h in (wide, wide / 2, wide / 4)]
        finer = [(4 * b - a) / 3 for a, b in itertools.pairwise(found)]
        close = 1e-6 if order == 1 else 1e-3
        if not abs(finer[1] - finer[0]) <= close * max(1.0, abs(finer[1])):
            return None
        return finer[1], np.finfo(float).eps * max(sizes) / wide**order

    def lifted(self, direction, seed=None, sums=False):
        """The leaves of the result as series along a direction, one for each number."""
        args = list(copy.deepcopy(self.args))
        kwargs = copy.deepcopy(self.kwargs)
        moving = [args[k] for k in self.argnums]

        def run():
            def inner(*given):
                for k, x in zip(self.argnums, given, strict=True):
                    args[k] = x
                return self.function(*args, **kwargs)

            inner = _with_globals_of(inner, self.function)
            return [jets.series(y, jets.ORDER) for y in leaves(inner(moving, direction))]

        if seed is None:
            return run()
        with jets.disturbed(seed), other_sums.disturbed(seed) if sums else contextlib.nullcontext():
            return run()

    def series(self, direction, sums=False):
        """What is right for each leaf of the result along a direction, with how far off it may be,
        also if what ``sum`` gives may be off; None if that cannot be said.
        """
        key = sums, *map(float, direction)
        if key not in self._series:
            self._series[key] = self._found(direction, sums)
        return self._series[key]

    def _found(self, direction, sums):
        try:
            right = np.array(self.lifted(direction))
            with jets.disturbed(0) as calls:
                others = [np.array(self.lifted(direction))]
            seeds = range(0 if sums else 1, DISTURBANCES)
            others += [np.array(self.lifted(direction, seed, sums)) for seed in seeds]
        except Exception:
            return None
        if any(other.shape != right.shape for other in others) or right.ndim != 2:
            return None
        with np.errstate(all="ignore"):
            spread = np.max([np.abs(other - right) for other in others], axis=0)
            for order in (1, 2, 3):
                # Terms are added in some order; a higher derivative multiplies so many numbers.
                size = np.float64(calls.largest) ** (1 if order == 1 else order + 1)
                if not np.isfinite(size * MANY_TERMS):
                    spread[:, order] = np.inf
            if calls.functions:
                # What is added to a larger number may not show.
                spread[:, 0] += 2e-16 * np.abs(right[:, 0])
        return right, spread

    # What the transforms give.

    def call(self, mode, transform):
        """What ``transform(options)`` gives, where options are those of the mode."""
        said = outcome(lambda: transform({"mode": mode}), file=self.file)
        # Tracing may refuse anything, by any exception, and it need not have Python's text.
        if refused(said) or (mode == "trace" and isinstance(said, Raised)):
            raise Refused(said.text)
        return said

    def faults(self, mode, orders=3):
        """What a mode says that is wrong, as lines of text. Raises Refused."""
        found = []
        if mode == "source":
            self._compiled(mode, found)
        if not self.argnums:
            return found
        if self.raises:
            said = self.call(
                mode,
                lambda o: wy.value_and_grad(self.function, self.argnums, **o)(
                    *copy.deepcopy(self.args), **self.kwargs
                ),
            )
            if not self._raised(said):
                found.append(f"plain Python: {self.value}; {mode}: {said!r}")
            return found
        if not self.has_gradient:
            return found
        self._first(mode, found)
        if orders > 1 and not found:
            self._higher(mode, orders, found)
        return found

    def _near(self, name, given, right, spread, found, rtol=1e-11):
        """Notes numbers that are further from the right ones than their spread says."""
        if isinstance(given, Raised):
            found.append(f"{name}: {given!r}")
            return
        given, right = np.asarray(given, float), np.asarray(right, float)
        with np.errstate(all="ignore"):
            allowed = SPREADS * np.asarray(spread) + rtol * np.abs(right) + SUBNORMAL
            known = np.isfinite(right) & np.isfinite(allowed)
            wrong = known & ~(np.abs(given - right) <= allowed)
        if wrong.any():
            found.append(f"{name}: {given[wrong]!r}, expected {right[wrong]!r}")

    def _value(self, mode, given, found):
        if isinstance(given, Raised):
            found.append(f"value in {mode}: {given!r}, plain Python has {self.value!r}")
            return False
        if same(given, self.value, exactly=False):
            return True
        right = self.series(self.direction) if self.smooth else None
        spread = 0.0 if right is None else right[1][:, 0]
        if right is not None and mode == "trace" and other_sums.IS_CORRECTED:
            spread = spread + self.series(self.direction, sums=True)[1][:, 0] / SPREADS
        numbers = float | int | np.number | np.ndarray
        if not all(isinstance(y, numbers) for y in leaves(self.value) + leaves(given)):
            found.append(f"value in {mode}: {given!r}, plain Python has {self.value!r}")
            return False
        plain = [np.ravel(y).astype(float) for y in leaves(self.value)]
        mine = [np.ravel(y).astype(float) for y in leaves(given)]
        if [len(y) for y in plain] != [len(y) for y in mine]:
            found.append(f"value in {mode}: {given!r}, plain Python has {self.value!r}")
            return False
        coarse = any(getattr(x, "dtype", None) == np.float32 for x in self.numbers)
        rtol = (1e-5 if coarse else 1e-12) if right is None else 0.0
        before = len(found)
        name = f"value in {mode}"
        plain, mine = np.concatenate(plain), np.concatenate(mine)
        if not np.array_equal(np.isfinite(plain), np.isfinite(mine)):
            found.append(f"{name}: {given!r}, plain Python has {self.value!r}")
        self._near(name, mine, plain, spread, found, rtol)
        return len(found) == before

    def _raised(self, said):
        """Whether an exception is the one that plain Python raises."""
        if not self.value.same_as(said):
            # Once it is specialized, CPython 3.11 may name another line of the same exception.
            self.value = outcome(self.function, *self.args, file=self.file, **self.kwargs)
        return isinstance(self.value, Raised) and self.value.same_as(said)

    def _compiled(self, mode, found):
        """The value alone, of whatever kinds: these have to be Python's too."""
        fresh = copy.deepcopy(self.args)
        said = self.call(
            mode, lambda o: wy.compile(self.function, **o)(*fresh, **copy.deepcopy(self.kwargs))
        )
        if self.raises:
            if not self._raised(said):
                found.append(f"plain Python: {self.value}; compiled: {said!r}")
        elif not same(said, self.value):
            kinds = [[type(leaf) for leaf in leaves(tree)] for tree in (said, self.value)]
            if isinstance(said, Raised) or kinds[0] != kinds[1]:
                found.append(f"compiled: {said!r}, plain Python has {self.value!r}")
            else:
                self._value("compiled", said, found)

    def _first(self, mode, found):
        f = self.function
        fresh = copy.deepcopy(self.args)
        if self.is_number:
            said = self.call(
                mode, lambda o: wy.value_and_grad(f, self.argnums, **o)(*fresh, **self.kwargs)
            )
            if isinstance(said, Raised):
                self._value(mode, said, found)
                return
            if not self._value(mode, said[0], found):
                return
            gradients = said[1]
        else:
            given = self.call(mode, lambda o: self._pulled(o, fresh))
            if isinstance(given, Raised):
                found.append(f"vjp in {mode}: {given!r}")
                return
            value, gradients = given
            if not self._value(mode, value, found):
                return
        flat = leaves(gradients)
        if [np.shape(g) for g in flat] != [np.shape(x) for x in self.numbers]:
            found.append(f"gradient in {mode} has other shapes: {gradients!r}")
            return
        along = sum(float(np.sum(g * d)) for g, d in zip(flat, self.direction, strict=True))
        if self.smooth:
            for k, g in enumerate(flat):
                unit = [float(j == k) for j in range(len(flat))]
                right = self.series(unit)
                if right is not None:
                    self._near(
                        f"gradient [{k}] in {mode}",
                        g,
                        np.dot(self.seeds, right[0][:, 1]),
                        np.dot(np.abs(self.seeds), right[1][:, 1]),
                        found,
                    )
        known = self.smooth and self.series(self.direction) is not None
        if not known and (difference := self.difference(1)) is not None:
            right, off = difference
            rtol = 1e-6 if self.double() else 1e-4
            name = f"gradient along a direction in {mode}"
            self._near(name, along, right, 1e-7 + off, found, rtol)
        self._forward(mode, along, found)

    def _pulled(self, options, fresh):
        f, kwargs = self.function, self.kwargs
        others = {k: x for k, x in enumerate(fresh) if k not in self.argnums}

        if others:

            def chosen(*given):
                given = iter(given)
                return f(
                    *[others[k] if k in others else next(given) for k in range(len(fresh))],
                    **kwargs,
                )

            given = [fresh[k] for k in self.argnums]
            value, pullback = wy.vjp(chosen, *given, **options)
        else:
            value, pullback = wy.vjp(f, *fresh, **kwargs, **options)
        return value, pullback(_rebuilt(value, iter(self.seeds)))

    def _forward(self, mode, along, found):
        if len(self.argnums) < len(self.args):
            return
        tangents = _rebuilt(self.args, iter(self.direction))
        fresh = copy.deepcopy(self.args)
        said = self.call(mode, lambda o: wy.jvp(self.function, fresh, tangents, **self.kwargs, **o))
        if isinstance(said, Raised):
            found.append(f"jvp in {mode}: {said!r}")
            return
        pairs = zip(leaves(said[1]), self.seeds, strict=True)
        forward = sum(float(np.sum(t * seed)) for t, seed in pairs)
        coarse = any(getattr(x, "dtype", None) == np.float32 for x in self.numbers)
        size = sum(float(np.sum(np.abs(d))) for d in self.direction)
        self._near(
            f"jvp beside vjp in {mode}",
            forward,
            along,
            1e-12 * size,
            found,
            1e-4 if coarse else 1e-9,
        )

    def _higher(self, mode, orders, found):
        if not self.is_number:
            return
        for k in self.argnums:
            if type(self.args[k]) is not float or not self.smooth:
                continue
            unit = [1.0 if j == k else 0.0 for j in self.argnums for _ in leaves(self.args[j])]
            right = self.series(unit)
            derived = self.function
            for order in range(1, orders + 1):
                derived = _derived(derived, k, mode)
                if order == 1:
                    continue
                fresh, g = copy.deepcopy(self.args), derived
                said = self.call(mode, lambda o, g=g, fresh=fresh: g(*fresh, **self.kwargs))
                scale = math.factorial(order)
                if right is not None and not isinstance(said, Raised):
                    self._near(
                        f"derivative {order} by argument {k} in {mode}",
                        said,
                        right[0][0, order] * scale,
                        right[1][0, order] * scale,
                        found,
                        1e-9,
                    )
                elif isinstance(said, Raised):
                    found.append(f"derivative {order} by argument {k} in {mode}: {said!r}")
                    return
        if len(self.argnums) == 1 and not is_number(self.args[self.argnums[0]]):
            self._hessian(mode, found)

    def _hessian(self, mode, found):
        (k,) = self.argnums
        if not self.double():
            return
        direction = _rebuilt(self.args[k], iter(self.direction))
        fresh = copy.deepcopy(self.args)
        said = self.call(
            mode, lambda o: wy.hvp(self.function, k, **o)(*fresh, direction, **self.kwargs)
        )
        if isinstance(said, Raised):
            found.append(f"hvp in {mode}: {said!r}")
            return
        pairs = zip(leaves(said), self.direction, strict=True)
        curvature = sum(float(np.sum(h * d)) for h, d in pairs)
        series = self.series(self.direction) if self.smooth else None
        if series is not None:
            right, spread = 2 * series[0][0, 2], 2 * series[1][0, 2]
            self._near(f"hvp in {mode}", curvature, right, spread, found, 1e-9)
        elif (difference := self.difference(2)) is not None:
            right, off = difference
            self._near(f"hvp in {mode}", curvature, right, 1e-4 + off, found, 1e-3)


def _derived(f, k, mode):
    return wy.grad(f, k, mode=mode)


def _rebuilt(tree, values):
    """The same tree with other leaves, of the same types."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(_rebuilt(part, values) for part in tree))
    if isinstance(tree, tuple | list):
        return type(tree)(_rebuilt(part, values) for part in tree)
    if isinstance(tree, dict):
        return {key: _rebuilt(part, values) for key, part in tree.items()}
    if is_record(tree):
        parts = parts_of(tree).items()
        return record_like(tree, {name: _rebuilt(part, values) for name, part in parts})
    if isinstance(tree, np.ndarray):
        return np.asarray(next(values), tree.dtype)
    return type(tree)(next(values))


def _widened(tree, values):
    """The same tree with other numbers, of whatever types these have."""
    if isinstance(tree, tuple | list):
        return type(tree)(_widened(part, values) for part in tree)
    if isinstance(tree, dict):
        return {key: _widened(part, values) for key, part in tree.items()}
    if is_record(tree):
        parts = parts_of(tree).items()
        return record_like(tree, {name: _widened(part, values) for name, part in parts})
    return next(values)


def _with_globals_of(inner, f):
    """Runs ``inner`` on jets, with the functions of math replaced that ``f`` sees."""

    def run(moving, direction):
        original = getattr(f, "__func__", getattr(f, "func", f))
        with jets.patched(original):
            return inner(*jets.lifted(moving, direction))

    return run
