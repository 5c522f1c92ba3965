"""What is printed of a function: for arguments that it takes, and by those that have a gradient."""

import numpy as np
import pytest

import wyrmling as wy

PRINTERS = [wy.explain, wy.code_ir, wy.code_adjoint]


def power(x, n):
    made = 1.0
    for _ in range(n):
        made = made * x
    return made


@pytest.mark.parametrize("printer", PRINTERS)
@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((1.0,), {}, "power: missing a required argument: 'n'"),
        ((1.0, 2, 3), {}, "power: too many positional arguments"),
        ((1.0, 2), {"m": 3}, "power: got an unexpected keyword argument 'm'"),
    ],
)
def test_arguments_that_a_function_does_not_take(printer, args, kwargs, text):
    with pytest.raises(TypeError, match=text):
        printer(power, *args, **kwargs)


@pytest.mark.parametrize("made", [wy.grad(power, mode="trace"), wy.checkpoint(power)])
def test_what_traces_is_not_looked_into(made):
    text = f"{made.__name__} cannot be read: it is wyrmling's own"
    found = wy.explain(made, 2.0, 3)
    assert not found.is_read
    assert text in found.reason
    for printer in (wy.code_ir, wy.code_adjoint):
        with pytest.raises(wy.SourceError, match=text):
            printer(made, 2.0, 3)


def test_integers_have_no_gradient_unless_it_is_asked_for():
    assert "%1: int" in wy.code_adjoint(power, 2.0, 3)
    assert wy.code_adjoint(power, 2.0, 3) == wy.code_adjoint(power, 2.0, 3, argnums=0)
    assert "%0: f64[]" in wy.code_adjoint(lambda x: x * 2.0, 3, argnums=-1)
    for argnums, text in [(2, "argument 2 is to be"), ((0, 0), "distinct"), ((), "at least")]:
        with pytest.raises(ValueError, match=text):
            wy.code_adjoint(power, 2.0, 3, argnums=argnums)
    with pytest.raises(TypeError, match="expected an integer"):
        wy.code_adjoint(power, 2.0, 3, argnums="x")


def by_kind(x):
    return x * x if isinstance(x, float) else 3.0 * x


def test_what_is_read_only_if_that_is_asked_for_is_traced():
    x = np.ones(3)
    for transform in (wy.hessian, wy.jacfwd, wy.jacobian):
        found = wy.explain(transform(np.square), x)
        assert not found.is_read
        assert "Jacobians of arrays" in found.reason
        assert wy.explain(transform(lambda y: y * y), 2.0).is_read
    found = wy.explain(wy.grad(by_kind), 2.0)
    assert not found.is_read
    assert "a question for the kind" in found.reason
    assert "mode=" not in found.reason
    assert "f64" in wy.code_ir(wy.grad(by_kind), 2.0)
    assert wy.explain(by_kind, 2.0).is_read


def test_products_with_second_derivatives_are_read():
    x = np.ones(3)
    for f, args in [(wy.hvp(lambda y: y**3), (2.0, 1.0)), (wy.hvp(lambda y: (y**3).sum()), (x, x))]:
        assert wy.explain(f, *args).is_read
        assert "fn tangents of gradient" in wy.code_ir(f, *args)
    found = wy.explain(wy.grad(wy.hvp(lambda y: y**4)), 2.0, 1.0)
    assert not found.is_read
    assert "what a transform that traces made" in found.reason
