"""Graphs stay in their thread; parameters and programs do not. No depth needs stack."""

import gc
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import wyrmling as wy


def in_thread(work, stack_size=0):
    """Runs ``work`` in a new thread and gives what it returned, or raises what it raised."""
    outcome = {}

    def run():
        try:
            outcome["result"] = work()
        except BaseException as e:
            outcome["error"] = e

    before = threading.stack_size(stack_size)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["result"]


def test_a_graph_is_used_in_its_thread_only():
    x = wy.Variable([1.0, 2.0])
    y = (x * x).sum()
    i = wy.IndexInput([0])
    for use in [
        lambda: x.value,
        lambda: setattr(x, "value", [0.0, 0.0]),
        lambda: x + 1.0,
        lambda: 1.0 + x,
        lambda: np.sin(x),
        lambda: y.backward(),
        lambda: y.item(),
        lambda: y.shape,
        lambda: x.grad,
        lambda: x[0],
        lambda: x.zero_grad(),
        lambda: y.parameters(),
        lambda: wy.freeze(y),
        lambda: i.value,
        lambda: wy.Parameter([1.0])[i],
        lambda: x < 0.0,
        lambda: bool(y),
        lambda: np.asarray(i),
    ]:
        with pytest.raises(RuntimeError, match=r"another thread.*freeze"):
            in_thread(use)
    assert in_thread(lambda: repr(x)) == "<Variable of another thread>"
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_the_next_thread_is_another_one():
    """Threads that follow one another may share an address and a number, not a graph."""
    kept = in_thread(lambda: wy.Variable(1.0) * 2.0)
    for _ in range(5):
        with pytest.raises(RuntimeError, match="another thread"):
            in_thread(kept.item)


def test_dropping_elsewhere_frees_the_graph():
    """A whole graph dies in another thread: nothing raises, and its leaves are free."""
    w = wy.Parameter(np.zeros(3))

    def build():
        y = w
        for _ in range(10_000):
            y = y + 1.0
        return [y]

    for _ in range(3):
        held = build()
        in_thread(held.clear)
        held = in_thread(build)
        held.clear()
        gc.collect()


def test_a_parameter_works_in_every_thread():
    w = wy.Parameter([1.0, 2.0], name="w")

    def work():
        assert w.value.tolist() == [1.0, 2.0]
        assert (w.shape, w.ndim, w.size, w.name) == ((2,), 1, 2, "w")
        loss = (w * w + w[[0, 1]]).sum()
        loss.backward()
        assert loss.parameters() == [w]
        wy.SGD(lr=1.0).step([w])
        w.zero_grad()
        w.value = w.value * 2.0

    in_thread(work)
    assert w.value.tolist() == [-4.0, -6.0]
    assert w.grad is None


def test_assigning_to_a_parameter_elsewhere_is_as_in_its_thread():
    w = wy.Parameter([1.0, 2.0])

    def work():
        other = w
        other += 1.0
        assert other.value.tolist() == [2.0, 3.0]
        with pytest.raises(TypeError, match="of a Parameter, which is a leaf"):
            w[0] = 5.0
        assert w.value.tolist() == [1.0, 2.0]

    work()
    in_thread(work)


def test_a_graph_sees_what_another_thread_assigned():
    w = wy.Parameter(1.0)
    y = w * 3.0
    assert y.item() == 3.0
    in_thread(lambda: setattr(w, "value", 2.0))
    assert y.item() == 6.0


def test_what_another_thread_assigns_while_values_are_computed_is_seen_afterwards():
    w = wy.Parameter(1.0)
    assigned, calls = [5.0], []

    @wy.primitive
    def slow(x):
        calls.append(float(x))
        if assigned:
            value = assigned.pop()
            in_thread(lambda: setattr(w, "value", value))
        return x

    slow.defvjp(lambda g, answer, x: g)
    # While the graph is built, and while values are computed anew.
    y = slow(2.0 * w).square() + 0.0
    assert (w.item(), y.item(), calls) == (5.0, 100.0, [2.0, 10.0])
    slow(3.0 * w)
    assert calls == [2.0, 10.0, 15.0]
    assigned.append(3.0)
    w.value = 2.0
    y.forward()
    assert (w.item(), y.item()) == (3.0, 36.0)
    y.backward()
    assert w.grad == 24.0


def test_programs_cross_threads():
    x, w = wy.Input([0.0], name="x"), wy.Parameter([2.0])
    program = wy.freeze((x * w).sum())
    assert in_thread(lambda: program.run({x: [5.0]})) == 10.0
    _, grads = in_thread(lambda: program.value_and_grad({x: [5.0]}))
    assert grads[w].tolist() == [5.0]
    i = wy.IndexInput([0])
    table = wy.Parameter(np.zeros(4))
    loss = wy.freeze(table[i].sum())
    in_thread(lambda: wy.fit(loss, {i: [0, 1, 2, 3]}, optimizer=wy.SGD(lr=1.0)))
    assert table.value.tolist() == [-1.0] * 4


def test_others_go_on_while_a_graph_waits_for_a_worker_that_shares_nothing():
    """One worker has a parameter for itself until its epoch ends; who reads the parameter
    meanwhile waits, and lets the other threads go on."""
    # Of another thread, so that no graph of this one has a copy of an earlier epoch.
    table = in_thread(lambda: wy.Parameter(np.zeros((1000, 8)), name="table"))
    single = in_thread(lambda: wy.Parameter(0.0, name="s"))
    i = wy.IndexInput([0])
    program = wy.freeze((table[i].sum() + single * 1.0).square())
    slow = wy.freeze(sum(wy.tanh(table[i] * k + single) for k in range(50)).sum())
    reads = {
        "a lookup": lambda: table[[1, 2]],
        "the whole": lambda: table * 1.0,
        "a number": lambda: single * 2.0,
        "a value": lambda: table.value,
        "a program": lambda: program.run({i: [0]}),
    }
    rows = np.arange(40_000) % 1000

    def train():
        wy.fit(slow, {i: rows}, optimizer=wy.SGD(lr=1e-9), batch_size=1)

    for name, read in reads.items():
        training = threading.Thread(target=train)
        asked = [time.monotonic()]

        def ask(training=training, asked=asked):
            while training.is_alive():
                assert single.value is not None
                asked.append(time.monotonic())

        asking = threading.Thread(target=ask)
        before = table.value
        training.start()
        asking.start()
        # Whoever asks for the parameter waits, once the worker has it.
        while time.monotonic() - asked[-1] < 0.1:
            time.sleep(0.001)
        assert training.is_alive(), name
        passed = []

        def other(passed=passed, asking=asking):
            while asking.is_alive():
                passed.append(0)
                time.sleep(0.0001)

        beside = threading.Thread(target=other)
        beside.start()
        read()
        count, after = len(passed), table.value
        for thread in (training, asking, beside):
            thread.join()
        assert count > 100, name
        assert not np.array_equal(before, after), name
        assert np.array_equal(after, table.value), name


def test_depth_needs_no_stack():
    """200,000 operations on 256 KiB: built, evaluated, differentiated, frozen, dropped."""
    depth = 200_000

    def work():
        x = wy.Variable(0.5)
        y = x
        for k in range(depth):
            y = y * 1.000001 if k % 2 == 0 else y + 1e-9
        x.value = 0.25
        value = y.item()
        y.backward()
        np.testing.assert_allclose(x.grad, 1.000001 ** (depth / 2), rtol=1e-9)
        program = wy.freeze(y)
        y.zero_grad()
        del y
        frozen, grads = program.value_and_grad()
        np.testing.assert_allclose(frozen, value, rtol=1e-12)
        np.testing.assert_allclose(grads[x], 1.000001 ** (depth / 2), rtol=1e-9)
        assert len(str(program)) > depth
        return True

    assert in_thread(work, stack_size=256 * 1024)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_has_no_threads_to_wait_for():
    """Large operators are split over threads, which a fork does not copy."""
    script = """
import os
import numpy as np
import wyrmling as wy

numbers = np.linspace(-1.0, 1.0, 1_000_000)
matrix = numbers[:160_000].reshape(400, 400)


def right():
    x, a = wy.Variable(numbers), wy.Variable(matrix)
    same = np.allclose(np.exp(x).value, np.exp(numbers), rtol=1e-14)
    return same and np.allclose((a @ a).value, np.einsum("ij,jk->ik", matrix, matrix))


assert right()
child = os.fork()
if child == 0:
    os._exit(0 if right() else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
