"""Every function of ``conformance/`` in every mode, against plain Python and independent oracles.

What ``mode="source"`` refuses stands in ``refused.py``, by name, and a name that is no longer
refused fails here: the list is true, and can only shrink. Tracing runs a function on variables,
which are no floats; where that gives other numbers, the function stands in the second list.
"""

import importlib
import pkgutil

import conformance
import numpy as np
import pytest
from conformance.case import CASES
from held import SPREADS, Held, Refused
from refused import NO_ORACLE, REFUSED, TRACED_OTHERWISE, TRACING_REFUSES

for _module in pkgutil.iter_modules(conformance.__path__):
    importlib.import_module(f"conformance.{_module.name}")

NAMES = sorted(CASES)


def held(name):
    case = CASES[name]
    return [Held(case.function, args, kwargs) for args, kwargs in case.points]


def test_there_are_enough_and_the_lists_name_them():
    assert len(NAMES) >= 300
    assert not (REFUSED | TRACED_OTHERWISE | TRACING_REFUSES | NO_ORACLE) - set(NAMES)


# At a point of these, the function jumps or has a kink, or is so large that steps are lost.
NO_DIFFERENCES = {
    "arithmetic.extremes",
    "comparisons.and_gives_a_value",
    "comparisons.equality",
    "comparisons.or_gives_a_value",
    "comparisons.truth_of_float",
    "effects.overflow_after_a_local_change",
    "integers.comparison_near_two_to_53",
    "integers.integer_of_float",
    "integers.rounding_to_integers",
    "integers.sum_with_integer_near_two_to_53",
    "mathematics.floor_beyond_64_bits",
    "mathematics.predicates",
    "rounding_to_digits.hundreds",
    "rounding_to_digits.many_decimals",
    "rounding_to_digits.more_digits_than_there_are",
    "rounding_to_digits.no_decimals_and_a_float",
    "rounding_to_digits.special_values",
    "sums_and_remainders.sum_that_cancels",
}


@pytest.mark.parametrize("name", NAMES)
def test_oracles_agree(name):
    for point in held(name):
        if not (point.has_gradient and point.smooth) or name in NO_DIFFERENCES:
            continue
        series = point.series(point.direction)
        difference = point.difference(1)
        if series is not None and difference is not None:
            slope, off = difference
            found = np.dot(point.seeds, series[0][:, 1])
            near = pytest.approx(slope, rel=1e-6, abs=1e-6 + SPREADS * off)
            assert not np.isfinite(found) or found == near


@pytest.mark.parametrize("name", NAMES)
def test_every_gradient_has_an_oracle(name):
    known = [point.is_known() for point in held(name) if point.has_gradient]
    assert all(known) == (name not in NO_ORACLE)


@pytest.mark.parametrize("name", NAMES)
def test_tracing(name):
    found, refusals = [], []
    for at, point in enumerate(held(name)):
        try:
            found += point.faults("trace", orders=3 if at == 0 else 1)
        except Refused as error:
            # Where plain Python raises, tracing has to, by whatever exception.
            refusals += [] if point.raises else [str(error)]
    if name in TRACED_OTHERWISE:
        assert found, "this works: take it out of refused.py"
    else:
        assert not found, "\n".join(found)
    if name in TRACING_REFUSES:
        assert refusals, "tracing does this: take it out of refused.py"
    else:
        assert not refusals, refusals


@pytest.mark.parametrize("name", NAMES)
def test_source(name):
    found, refusal = [], None
    try:
        for at, point in enumerate(held(name)):
            found += point.faults("source", orders=3 if at == 0 else 1)
    except Refused as error:
        refusal = str(error)
    assert not found, "\n".join(found)
    if name in REFUSED:
        assert refusal is not None, "this works: take it out of refused.py"
    assert name in REFUSED or refusal is None, f"refused: {refusal}"
