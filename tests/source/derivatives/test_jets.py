"""The oracle of derivatives against mpmath, which differentiates by differences of many digits."""

import math

import jets
import mpmath
import pytest
from mpmath import mp

OF = {
    "asin": mp.asin, "acos": mp.acos, "atan": mp.atan, "asinh": mp.asinh, "acosh": mp.acosh,
    "atanh": mp.atanh, "log1p": mp.log1p, "expm1": mp.expm1, "exp2": lambda x: 2**x,
    "log2": lambda x: mp.log(x, 2), "log10": mp.log10, "cbrt": mp.cbrt, "lgamma": mp.loggamma,
    "fabs": mp.fabs, "degrees": mp.degrees, "radians": mp.radians,
}  # fmt: skip
TWO = {"atan2": mp.atan2, "hypot": mp.hypot, "pow": mp.power}


def agrees(found, function, at):
    with mp.workdps(60):
        wanted = mpmath.taylor(function, at, 3)
    assert jets.series(found, 3) == pytest.approx([float(c) for c in wanted], rel=1e-12, abs=1e-14)


# Linear, or by others that are tested.
LINEAR = {"fmod", "remainder", "copysign", "ldexp", "modf", "fsum", "prod", "dist"}


@pytest.mark.parametrize("name", sorted(set(jets.FUNCTIONS) - set(TWO) - LINEAR))
def test_functions_of_one_number(name):
    at = 1.7 if name in ("acosh", "lgamma", "gamma") else 0.37
    agrees(jets.FUNCTIONS[name](jets.Jet(at)), OF.get(name) or getattr(mp, name), at)


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize(("u", "v"), [(1, 0), (0, 1), (0.5, -2)])
def test_functions_of_two_numbers(name, u, v):
    x, y = 1.3, 0.6
    found = jets.FUNCTIONS[name](jets.Jet(x, (u, 0, 0)), jets.Jet(y, (v, 0, 0)))
    agrees(found, lambda t: TWO[name](x + u * t, y + v * t), 0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * x / (1 + x) - 3 * x,
        lambda x: (2 - x) ** 3 + 2**x + x**x,
        lambda x: 7 % x + x % 0.3 + divmod(x, 0.4)[1] + abs(-x),
        lambda x: 1 / (x - 5) ** -2,
    ],
)
def test_arithmetic(f):
    at = 1.1

    if "divmod" in f.__code__.co_names:  # mpmath has none
        assert jets.series(f(jets.Jet(at)), 1)[1] == pytest.approx(-6 + 1 + 1 + 1)
        assert f(jets.Jet(at)) == f(at)
    else:
        agrees(f(jets.Jet(at)), f, at)


def test_what_a_function_calls_is_patched_and_put_back():
    def f(x):
        assert isinstance(x, float)
        return math.sin(float(x)) if x > 0 else 0.0

    found = jets.derivatives(f, (0.5,), (2.0,))
    assert found == math.sin(0.5)
    assert found.rest == pytest.approx(
        (2 * math.cos(0.5), -2 * math.sin(0.5), -8 / 6 * math.cos(0.5))
    )
    assert math.sin is jets.MATH["sin"]
    assert float is jets.Plain


def test_disturbed_results_lie_apart():
    def f(x):
        return math.exp(x) - math.exp(x * 0.999)

    found = []
    for seed in range(9):
        with jets.disturbed(seed):
            found.append(jets.derivatives(f, (3.0,), (1.0,)))
    assert len(set(found)) > 1
    assert len({y.rest[0] for y in found}) > 1
    assert max(found) == pytest.approx(min(found), rel=1e-11)


def test_powers_keep_their_coefficients_while_functions_run():
    found = jets.derivatives(lambda x: (abs(x) + 0.5) ** 2.0 + x**-1, (1.5,), (1.0,))
    assert jets.series(found, 3) == pytest.approx([4 + 2 / 3, 4 - 4 / 9, 1 + 8 / 27, -16 / 81])
