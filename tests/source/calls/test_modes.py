"""Every transform in every mode, and transforms of transforms in either mode, give one result."""

import contextlib
import inspect
import itertools
import math

import numpy as np
import pytest
from outcomes import leaves

import wyrmling as wy

MODES = ["source", "auto", "trace"]
OF_FUNCTIONS = [
    "grad", "value_and_grad", "jacobian", "jacrev", "jacfwd", "hessian", "hvp", "elementwise_grad",
    "checkpoint", "check_grads", "vjp", "pullback", "jvp",
]  # fmt: skip


def rational(x):
    return x * x * x / (1.0 + x * x)


def looped(x, n=4):
    y = x
    for k in range(n):
        y = y * y + x
        if y > 1:
            y = y * 0.25 + k
    return y


def several(x, y):
    return x * y * y - x / y, [x * x * x, y]


def total(x, y):
    return x * x * y + y * y * y / x


def of_parameters(p):
    return p["a"] * p["b"][0] ** 2 + p["b"][1] * p["a"]


def close(found, wanted):
    found, wanted = leaves(found), leaves(wanted)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert type(one) is type(other)
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", OF_FUNCTIONS)
def test_each_takes_a_mode(name):
    assert "mode" in inspect.signature(getattr(wy, name)).parameters
    transform = getattr(wy, name)
    given = {"vjp": (2.0,), "pullback": (2.0,), "jvp": ((2.0,), (1.0,)), "check_grads": ((2.0,),)}

    def call():
        if name in given:
            return transform(rational, *given[name], mode="fast")
        return transform(rational, mode="fast")(2.0)

    with pytest.raises(ValueError, match="mode"):
        call()


CALLS = {
    "grad": lambda m: wy.grad(rational, mode=m)(1.5),
    "grad of a loop": lambda m: wy.grad(looped, mode=m)(0.7),
    "grad with a keyword": lambda m: wy.grad(looped, mode=m)(0.7, n=2),
    "grad by both": lambda m: wy.grad(total, (0, 1), mode=m)(1.5, 0.7),
    "grad by the last": lambda m: wy.grad(total, -1, mode=m)(1.5, 0.7),
    "grad of a dict": lambda m: wy.grad(of_parameters, mode=m)({"a": 1.5, "b": [0.5, 2.0]}),
    "value_and_grad": lambda m: wy.value_and_grad(total, (1, 0), mode=m)(1.5, 0.7),
    "has_aux": lambda m: wy.value_and_grad(lambda x: (x * x, 3.0), has_aux=True, mode=m)(1.5),
    "jacrev": lambda m: wy.jacrev(several, (0, 1), mode=m)(1.5, 0.7),
    "jacfwd": lambda m: wy.jacfwd(several, (0, 1), mode=m)(1.5, 0.7),
    "jacobian": lambda m: wy.jacobian(several, mode=m)(1.5, 0.7),
    "hessian": lambda m: wy.hessian(total, (0, 1), mode=m)(1.5, 0.7),
    "hvp": lambda m: wy.hvp(of_parameters, mode=m)(
        {"a": 1.5, "b": [0.5, 2.0]}, {"a": 1.0, "b": [-1.0, 0.5]}
    ),
    "elementwise_grad": lambda m: wy.elementwise_grad(rational, mode=m)(1.5),
    "jvp": lambda m: wy.jvp(several, (1.5, 0.7), (0.3, -2.0), mode=m),
    "vjp": lambda m: pulled(wy.vjp(several, 1.5, 0.7, mode=m)),
    "pullback": lambda m: pulled(wy.pullback(several, 1.5, 0.7, mode=m)),
    "checkpoint": lambda m: wy.grad(wy.checkpoint(looped, mode=m))(0.7),
}


ARRAYS = {
    "of float64": np.array([1.5, 0.7]),
    "of float32": np.array([1.5, 0.7, 2.0], np.float32),
    "with two axes": np.arange(1.0, 7.0).reshape(2, 3),
    "of one": np.array([[1.5]]),
    "of none": np.zeros((0, 2)),
}
OF_ARRAYS = {
    "grad": lambda m, x: wy.grad(lambda x: np.sum(rational(x)), mode=m)(x),
    "value_and_grad": lambda m, x: wy.value_and_grad(lambda x: np.sum(x * x), mode=m)(x),
    "jacrev": lambda m, x: wy.jacrev(rational, mode=m)(x),
    "jacfwd": lambda m, x: wy.jacfwd(rational, mode=m)(x),
    "hessian": lambda m, x: wy.hessian(lambda x: np.sum(rational(x)), mode=m)(x),
    "hvp": lambda m, x: wy.hvp(lambda x: np.sum(rational(x)), mode=m)(x, np.ones_like(x)),
    "elementwise_grad": lambda m, x: wy.elementwise_grad(rational, mode=m)(x),
    "elementwise_grad to others": lambda m, x: wy.elementwise_grad(lambda x: np.cumsum(x), mode=m)(
        x
    ),
    "jvp": lambda m, x: wy.jvp(rational, (x,), (x,), mode=m),
    "vjp": lambda m, x: wy.vjp(rational, x, mode=m)[1](x),
    "checkpoint": lambda m, x: wy.grad(lambda x: np.sum(wy.checkpoint(rational, mode=m)(x)))(x),
}


@pytest.mark.parametrize("x", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("name", OF_ARRAYS)
def test_transforms_of_arrays(name, x):
    """What ``auto`` would hide by tracing: a transform that reads no arrays at all."""
    wanted = OF_ARRAYS[name]("trace", x)
    for mode in ("source", "auto", "auto", "auto"):
        try:
            found = OF_ARRAYS[name](mode, x)
        except wy.SourceError:
            # Jacobians of nothing are not read.
            assert (mode, x.size) == ("source", 0)
            continue
        for one, other in zip(leaves(found), leaves(wanted), strict=True):
            assert type(one) is type(other)
            one, other = np.asarray(one), np.asarray(other)
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(one, other, rtol=2e-6 if one.dtype == np.float32 else 1e-12)


def test_elementwise_grad_of_other_lengths():
    slope = wy.elementwise_grad(lambda x: x * x * np.sum(x), mode="source")
    for count in (2, 3, 1, 4):
        x = np.arange(1.0, count + 1)
        np.testing.assert_allclose(slope(x), 2 * x * x.sum() + (x * x).sum())


def pulled(pair):
    value, pullback = pair
    return value, pullback((1.0, [0.5, -1.0])), pullback((0.0, [0.0, 2.0]))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("mode", ["source", "auto"])
def test_transforms(name, mode):
    wanted = CALLS[name]("trace")
    for _ in range(3):
        close(CALLS[name](mode), wanted)


@pytest.mark.parametrize("mode", MODES)
def test_check_grads(mode):
    wy.check_grads(looped, (0.7,), order=2, mode=mode)


def allowed(modes):
    """Reading what is traced inside may be refused."""
    inner = modes[: len(modes) - modes[::-1].index("source")] if "source" in modes else ()
    return contextlib.suppress(wy.SourceError if "trace" in inner else ())


NESTED = [rational, looped]


@pytest.mark.parametrize("f", NESTED)
@pytest.mark.parametrize("modes", list(itertools.product(MODES, repeat=3)))
def test_third_derivatives_in_any_modes(f, modes):
    a, b, c = modes
    wanted = wy.grad(wy.grad(wy.grad(f, mode="trace"), mode="trace"), mode="trace")(0.9)
    with allowed(modes):
        close(wy.grad(wy.grad(wy.grad(f, mode=a), mode=b), mode=c)(0.9), wanted)


@pytest.mark.parametrize("modes", list(itertools.product(MODES, repeat=2)))
def test_forward_over_reverse_and_back(modes):
    a, b = modes
    second = wy.grad(wy.grad(looped, mode="trace"), mode="trace")(0.9)
    with allowed(modes):
        forward = wy.jvp(wy.grad(looped, mode=a), (0.9,), (1.0,), mode=b)[1]
        close(forward, second)
        close(wy.jacfwd(wy.jacrev(looped, mode=a), mode=b)(0.9), second)
        close(wy.jacrev(wy.jacfwd(looped, mode=a), mode=b)(0.9), second)
        close(wy.jacfwd(wy.jacfwd(looped, mode=a), mode=b)(0.9), second)
        close(wy.hessian(looped, mode=a)(0.9), second)


def uses_a_gradient(x):
    return wy.grad(rational)(x) * x + wy.grad(lambda y: y * x)(2.0)


def perturbation(x):
    # Siskind and Pearlmutter, "Perturbation confusion and referential transparency", 2005.
    return x * wy.jvp(lambda y: x + y, (1.0,), (1.0,))[1]


@pytest.mark.parametrize("f", [uses_a_gradient, perturbation])
@pytest.mark.parametrize("mode", ["source", "auto"])
def test_transforms_inside_of_functions(f, mode):
    if (f, mode) == (perturbation, "source"):  # jvp within a function
        with pytest.raises(wy.SourceError):
            wy.grad(f, mode=mode)(1.5)
        return
    close(wy.grad(f, mode=mode)(1.5), wy.grad(f, mode="trace")(1.5))
    close(wy.grad(wy.grad(f, mode=mode), mode=mode)(1.5), wy.hessian(f, mode="trace")(1.5))


@pytest.mark.parametrize("mode", ["source", "auto"])
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda m: wy.grad(rational, mode=m)("text"), TypeError),
        (lambda m: wy.grad(rational, 3, mode=m)(1.5), ValueError),
        (lambda m: wy.grad(rational, mode=m)(), (TypeError, ValueError)),
        (lambda m: wy.grad(several, mode=m)(1.5, 0.7), TypeError),
        (lambda m: wy.grad(lambda x: 3, mode=m)(1.5), TypeError),
        (lambda m: wy.grad(lambda x: "text", mode=m)(1.5), TypeError),
        (lambda m: wy.grad(3, mode=m), TypeError),
        (lambda m: wy.vjp(several, 1.5, 0.7, mode=m)[1](1.0), TypeError),
        (lambda m: wy.jvp(rational, (1.5,), (1.0, 2.0), mode=m), TypeError),
        (lambda m: wy.grad(total, mode=m)(1.5), TypeError),
        (lambda m: wy.grad(total, mode=m)(1.5, 0.7, 2.0), TypeError),
        (lambda m: wy.grad(total, mode=m)(1.5, z=2.0), TypeError),
    ],
)
def test_errors_are_those_of_tracing(call, error, mode):
    with pytest.raises(error) as traced:
        call("trace")
    with pytest.raises(error) as found:
        call(mode)
    assert type(found.value) is type(traced.value)


def test_numbers_that_are_no_floats():
    for x in (2, np.float32(1.5), np.float64(1.5), np.array(1.5), np.float32(0.1)):
        for name in ("grad", "value_and_grad", "jacfwd"):
            wanted = getattr(wy, name)(rational, mode="trace")(x)
            if isinstance(x, np.ndarray) and name == "jacfwd":
                with pytest.raises(wy.SourceError, match="an array without axes"):
                    getattr(wy, name)(rational, mode="source")(x)
                continue
            found = getattr(wy, name)(rational, mode="source")(x)
            for one, other in zip(leaves(found), leaves(wanted), strict=True):
                assert type(one) is type(other)
                assert np.asarray(one).dtype == np.asarray(other).dtype
                np.testing.assert_allclose(one, other, rtol=1e-6)


def test_auto_traces_what_cannot_be_read():
    space = {"math": math}
    exec("def f(x):\n    return x * x * x\n", space)  # its text is nowhere
    assert wy.grad(space["f"])(2.0) == 12.0
    with pytest.raises(wy.SourceError):
        wy.grad(space["f"], mode="source")(2.0)
    assert wy.grad(np.square)(3.0) == 6.0
