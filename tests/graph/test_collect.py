"""Hooks and operators that refer to their own graph are freed with it."""

import gc
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wyrmling as wy


class Payload:
    """What a circle keeps alive; its references show whether that is so."""

    def __init__(self) -> None:
        self.numbers = np.zeros(100)


def touch(*_held: Any) -> None:
    """What a function calls to refer to something."""


def hook_on_itself(payload: Payload) -> None:
    x = wy.Variable([1.0, 2.0])
    y = (x * 2.0).sum()
    y.register_hook(lambda g: touch(payload, y))
    y.backward()


def hook_on_a_leaf_that_refers_to_the_loss(payload: Payload) -> None:
    x = wy.Parameter([1.0, 2.0])
    y = x * x
    loss = y.sum()
    x.register_hook(lambda g: touch(payload, loss, y))
    loss.backward()


def hook_that_holds_its_own_handle(payload: Payload) -> None:
    x = wy.Variable(1.0)
    held: list[Any] = [payload]
    held.append(x.register_hook(lambda g: touch(held)))


def hooks_across_two_graphs(payload: Payload) -> None:
    x, y = wy.Variable(1.0), wy.Variable(2.0)
    a, b = x * 2.0, y * 3.0
    a.register_hook(lambda g: touch(payload, b))
    b.register_hook(lambda g: touch(payload, a))


def hooks_across_several_nodes(payload: Payload) -> None:
    x = wy.Variable(1.0)
    a = x * 2.0
    b = a + x
    c = a * b
    nodes = [x, a, b, c]
    for node in nodes:
        node.register_hook(lambda g: touch(payload, nodes))
    c.backward()


def a_variable_in_an_intermediate(payload: Payload) -> None:
    """The node that has the hook has no object of its own."""
    x = wy.Variable([1.0])
    y = x * 2.0
    z = (y + 1.0).sum()
    y.register_hook(lambda g: touch(payload, z))
    del y
    z.backward()


def primitive_on_its_result(payload: Payload) -> None:
    results = []

    @wy.primitive
    def double(x: Any) -> Any:
        return 2.0 * np.asarray(x) + 0.0 * len(results) + 0.0 * payload.numbers[0]

    double.defvjp(lambda g, ans, x: 2.0 * g)
    x = wy.Variable([1.0, 2.0])
    y = double(x)
    results.append(y)
    results.append(double(y))
    y.sum().backward()


def checkpoint_on_its_result(payload: Payload) -> None:
    results = []
    f = wy.checkpoint(lambda x: x * 2.0 + 0.0 * len(results) + 0.0 * payload.numbers[0])
    results.append(f(wy.Variable(1.0)))


def a_gradient_that_is_a_graph(payload: Payload) -> None:
    x = wy.Variable(2.0)
    y = x * x * x
    x.register_hook(lambda g: touch(payload, x))
    y.backward(create_graph=True)
    slope = x.grad
    slope.register_hook(lambda g: touch(payload, slope, x))


def attribute_of_a_subclass(payload: Payload) -> None:
    class Named(wy.Variable):
        pass

    x = Named([1.0])
    x.me = x
    x.payload = payload
    x.register_hook(lambda g: touch(x))


def an_assigned_variable(payload: Payload) -> None:
    x = wy.Variable([1.0, 2.0]) * 1.0
    x.register_hook(lambda g: touch(payload, x))
    x[0] = 3.0
    x.register_hook(lambda g: touch(payload, x))


def identity() -> Any:
    """A primitive that does nothing, and gives a gradient."""

    @wy.primitive
    def same(x: Any) -> Any:
        return np.asarray(x) * 1.0

    same.defvjp(lambda g, ans, x: g)
    return same


def doubling(held: list[Any]) -> Any:
    """A primitive that refers to what is in a list."""

    @wy.primitive
    def double(x: Any) -> Any:
        touch(held)
        return 2.0 * np.asarray(x)

    double.defvjp(lambda g, ans, x: 2.0 * g)
    return double


def program_in_its_primitive(payload: Payload) -> None:
    held: list[Any] = [payload]
    double = doubling(held)
    held.append(wy.freeze(double(wy.Parameter([1.0, 2.0])).sum()))


def program_that_ran_in_its_primitive(payload: Payload) -> None:
    """Plans and executors hold the operator, too, for several shapes."""
    held: list[Any] = [payload]
    double = doubling(held)
    double.defvjp(lambda g, ans, x: 2.0 * g + 0.0 * len(held))
    s = wy.Input([1.0, 2.0])
    program = wy.freeze((double(s) * wy.Parameter([1.0])).sum())
    held.append(program)
    program.run({s: [1.0, 2.0]})
    program.value_and_grad({s: [1.0, 2.0, 3.0]})


def program_and_graph_in_their_primitive(payload: Payload) -> None:
    """A node and two programs share the operator."""
    held: list[Any] = [payload]
    double = doubling(held)
    y = double(wy.Parameter([1.0, 2.0]))
    z = y.sum()
    held += [y, z, wy.freeze(z), wy.freeze(y * y)]


def program_in_a_rule_of_its_primitive(payload: Payload) -> None:
    held: list[Any] = [payload]
    same = identity()
    same.defvjp(lambda g, ans, x: g + 0.0 * len(held))
    held.append(wy.freeze(same(wy.Parameter([1.0, 2.0])).sum()))


def program_in_a_hook_of_its_parameter(payload: Payload) -> None:
    w = wy.Parameter([1.0, 2.0])
    program = wy.freeze((w * 2.0).sum())
    w.register_hook(lambda g: touch(payload, program))


def programs_in_each_others_primitives(payload: Payload) -> None:
    held: list[Any] = [payload]

    def make() -> Any:
        same = wy.primitive(lambda x: np.asarray(x) * float(len(held) > 0))
        same.defvjp(lambda g, ans, x: g)
        return wy.freeze(same(wy.Parameter([1.0])).sum())

    held += [make(), make()]


def program_that_was_trained_in_its_primitive(payload: Payload) -> None:
    held: list[Any] = [payload]

    @wy.primitive
    def same(x: Any) -> Any:
        touch(held)
        return np.asarray(x) * 1.0

    same.defvjp(lambda g, ans, x: g)
    w, i = wy.Parameter([[1.0], [2.0]]), wy.IndexInput([0])
    program = wy.freeze(same(w[i]).sum())
    optimizer = wy.Adam()
    history = wy.fit(program, {i: [0, 1]}, optimizer=optimizer, callback=lambda *a: touch(held))
    held += [program, optimizer, history]


def optimizer_in_a_hook(payload: Payload) -> None:
    w = wy.Parameter([1.0, 2.0])
    optimizer = wy.Adam()
    loss = (w * w).sum()
    w.register_hook(lambda g: touch(payload, optimizer, loss))
    loss.backward()
    optimizer.step([w])


def iterator_in_a_hook(payload: Payload) -> None:
    y = wy.Variable([1.0, 2.0]) * 1.0
    rows = iter(y)
    next(rows)
    y.register_hook(lambda g: touch(payload, rows))


def view_in_a_hook_of_its_array(payload: Payload) -> None:
    y = wy.Variable([1.0, 2.0, 3.0]) * 1.0
    part = y[1:]
    y.register_hook(lambda g: touch(payload, part))
    part[0] = 2.0
    part.register_hook(lambda g: touch(payload, y))


def pullback_that_its_function_holds(payload: Payload) -> None:
    held: list[Any] = [payload]

    def f(x: Any) -> Any:
        return np.sum(x * x) + 0.0 * len(held)

    held.append(wy.vjp(f, np.ones(3))[1])


def transforms_that_their_function_holds(payload: Payload) -> None:
    held: list[Any] = [payload]

    def f(x: Any) -> Any:
        held.append(x)
        return np.sum(x * x)

    held += [wy.grad(f), wy.hessian(f), wy.jacfwd(f), wy.checkpoint(f)]
    held[1](np.ones(2))
    held[2](np.ones(2))
    held[4](wy.Variable([1.0]))


def hooks_within_a_transform(payload: Payload) -> None:
    def f(x: Any) -> Any:
        y = x * x
        y.register_hook(lambda g: touch(payload, y, x))
        return np.sum(y)

    wy.grad(f)(np.ones(2))
    wy.hessian(f)(np.ones(2))


CIRCLES: list[Callable[[Payload], None]] = [
    hook_on_itself,
    hook_on_a_leaf_that_refers_to_the_loss,
    hook_that_holds_its_own_handle,
    hooks_across_two_graphs,
    hooks_across_several_nodes,
    a_variable_in_an_intermediate,
    primitive_on_its_result,
    checkpoint_on_its_result,
    a_gradient_that_is_a_graph,
    attribute_of_a_subclass,
    an_assigned_variable,
    program_in_its_primitive,
    program_that_ran_in_its_primitive,
    program_and_graph_in_their_primitive,
    program_in_a_rule_of_its_primitive,
    program_in_a_hook_of_its_parameter,
    programs_in_each_others_primitives,
    program_that_was_trained_in_its_primitive,
    optimizer_in_a_hook,
    iterator_in_a_hook,
    view_in_a_hook_of_its_array,
    pullback_that_its_function_holds,
    transforms_that_their_function_holds,
    hooks_within_a_transform,
]


@pytest.mark.parametrize("circle", CIRCLES, ids=lambda circle: circle.__name__)
def test_a_circle_that_nobody_else_holds_is_freed(circle: Callable[[Payload], None]) -> None:
    gc.collect()
    alive: list[weakref.ref[Payload]] = []
    for _ in range(2000 // len(CIRCLES)):
        payload = Payload()
        alive.append(weakref.ref(payload))
        circle(payload)
        del payload
    gc.collect()
    gc.collect()
    assert sum(ref() is not None for ref in alive) == 0


def test_memory_stays_flat_over_thousands_of_circles() -> None:
    resource = pytest.importorskip("resource")

    def peak() -> int:
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    def some(count: int) -> None:
        for _ in range(count):
            payload = Payload()
            payload.numbers = np.ones(5000)
            hook_on_a_leaf_that_refers_to_the_loss(payload)
            primitive_on_its_result(payload)
            program_and_graph_in_their_primitive(payload)
        gc.collect()

    some(200)
    before = peak()
    for _ in range(9):
        some(200)
    # 1,800 more would be 72 MB.
    unit = 1 if sys.platform == "darwin" else 1024
    assert (peak() - before) * unit < 24e6


def test_a_collection_takes_nothing_from_what_is_in_use() -> None:
    """Hooks and operators go on as before when collections have run, also within them."""
    x = wy.Variable([1.0, 2.0])
    seen: list[str] = []

    @wy.primitive
    def triple(v: Any) -> Any:
        gc.collect()
        seen.append("call")
        return 3.0 * v

    def rule(g: Any, ans: Any, v: Any) -> Any:
        gc.collect()
        seen.append("rule")
        return 3.0 * g

    def hook(g: Any) -> Any:
        gc.collect()
        seen.append("hook")
        return 2.0 * g

    triple.defvjp(rule)
    a = x * 1.0
    a.register_hook(hook)
    b = triple(a)
    kept = b.sum() + a.sum()
    program = wy.freeze(triple(wy.Parameter([1.0, 1.0])).sum())
    del a, b
    for k in range(3):
        gc.collect()
        seen.clear()
        x.zero_grad()
        kept.backward()
        assert seen == ["rule", "hook"]
        assert x.grad.tolist() == [8.0, 8.0]
        x.value = [float(k), 1.0]
        assert kept.item() == 4.0 * (k + 1.0)
        assert program.run() == 6.0


def test_a_program_that_is_in_use_keeps_its_operators() -> None:
    """The collector frees nothing of a program that somebody holds, also while it runs in another
    thread, and when its object is gone but a run of it is under way."""
    held: list[Any] = []
    calls: list[int] = []

    @wy.primitive
    def double(x: Any) -> Any:
        gc.collect()
        calls.append(len(held))
        return 2.0 * np.asarray(x)

    double.defvjp(lambda g, ans, x: 2.0 * g)
    w, i = wy.Parameter([[1.0], [2.0]]), wy.IndexInput([0])
    held.append(wy.freeze(double(w[i]).sum()))
    gc.collect()

    def run() -> None:
        for _ in range(5):
            assert held[0].run({i: [1]}) == 4.0

    thread = threading.Thread(target=run)
    thread.start()
    for _ in range(20):
        gc.collect()
    thread.join()
    sgd = wy.SGD(lr=1e-9)
    # The list gives it away; the call alone holds the program.
    data = {i: [0, 1, 0]}
    wy.fit(held.pop(), data, optimizer=sgd, batch_size=1, callback=lambda *_: touch(gc.collect()))
    assert calls[-3:] == [0, 0, 0]
    with pytest.raises(IndexError):
        held.pop()


def test_what_a_finalizer_does_within_a_collection_is_no_danger() -> None:
    """The collector runs finalizers while graphs are shown to it."""
    x = wy.Variable([1.0, 2.0])
    y = (x * x).sum()
    handle = y.register_hook(lambda g: 1.0 * g)
    done: list[Any] = []

    class Last:
        def __del__(self) -> None:
            x.zero_grad()
            y.backward()
            done.append(x.grad.tolist())
            z = (y * 2.0).sum()
            z.register_hook(lambda g: touch(z))

    for _ in range(3):
        last: Any = Last()
        last.me = last
        del last
        gc.collect()
    assert done == [[2.0, 4.0]] * 3
    handle.remove()
    gc.collect()
    x.zero_grad()
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def is_collected_after_use(build: Callable[[], tuple[Any, Any]]) -> None:
    """Checks a graph by its first and last variable: the collector meets it in use and later."""
    x, y = build()
    gc.collect()
    y.backward()
    assert x.grad == 1.0
    held = weakref.ref(x)
    del x, y
    gc.collect()
    assert held() is None


def test_a_deep_graph_with_a_hook_is_shown_without_recursion() -> None:
    def build() -> tuple[Any, Any]:
        x = wy.Variable(1.0)
        kept = []
        y = x
        for _ in range(20_000):
            y = y + 1.0
            kept.append(y)
        x.register_hook(lambda g: touch(kept))
        return x, y

    is_collected_after_use(build)


@pytest.mark.parametrize("circle", [False, True])
def test_a_deep_graph_with_a_hook_at_each_node_is_hidden_again_without_recursion(
    circle: bool,
) -> None:
    def build() -> tuple[Any, Any]:
        x = y = wy.Variable(1.0)
        kept: list[Any] = []
        for _ in range(100_000):
            y = y + 1.0
            y.register_hook(lambda g: touch(kept))
        if circle:
            kept.append(y)
        return x, y

    is_collected_after_use(build)
