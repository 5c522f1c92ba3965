"""What a differentiated function prints is what plain Python prints, once in each call."""

import contextlib
import io

import numpy as np

import wyrmling as wy

MODES = ("trace", "auto", "source")


def printed(call):
    """What a call prints, and what it gives or raises."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        try:
            found = call()
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
    return text.getvalue(), found


def of_every_kind(x, a):
    numbers = (x, x * x, np.sin(x), a.sum(), a[0], a @ a, a * 2, x > 1, a > 1, a[0] > 0)
    for value in (*numbers, [x, a[0], a], (a.sum(),), {"key": x}):
        print(value, [value], f"{value}", f"{value!r}", str(value), repr(value), f"{value!s:>20}")
    print(f"{x:.3f} {a[0]:>10.2e} {x:{10}.{2}f}", sep="|", end="!\n")
    return x * a.sum()


def test_variables_are_shown_as_what_they_stand_for_while_a_function_is_traced():
    args = (1.5, np.array([1.0, 2.0]))
    plain = printed(lambda: of_every_kind(*args))[0]
    for transform in (wy.grad, wy.value_and_grad, wy.jacfwd, wy.jacrev, wy.hessian):
        for mode in ("trace", "auto"):
            derived = transform(of_every_kind, mode=mode)
            assert [printed(lambda f=derived: f(*args))[0] for _ in range(3)] == [plain] * 3
    assert printed(lambda: wy.hvp(of_every_kind)(*args, 1.0))[0] == plain
    assert printed(lambda: wy.vjp(of_every_kind, *args)[1](1.0))[0] == plain
    single = printed(lambda: wy.grad(lambda x: (print(x * 2, [x]), x)[1])(np.float32(1.5)))[0]
    assert single == "3.0 [np.float32(1.5)]\n".replace("np.float32(1.5)", repr(np.float32(1.5)))


def test_elsewhere_variables_are_shown_with_their_class():
    assert repr(wy.Variable(1.5) * 2) == str(wy.Variable(1.5) * 2) == "Variable(3.0)"
    given = wy.Input(2.0)
    seen = []
    wy.grad(lambda x: (seen.append(str(given)), x)[1], mode="trace")(1.0)
    assert seen == ["Input(2.0)"]
