"""A forked child waits for no thread of its parent, and code that a run calls may fork."""

import os

import pytest
from lock_scripts import ENTRIES, HOLD, HOLDERS, run


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("holder", HOLDERS)
def test_a_forked_child_waits_for_no_thread_of_its_parent(holder: str) -> None:
    out = run(
        ENTRIES
        + HOLD
        + f"""
began, go_on = threading.Event(), threading.Event()

def inside():
    began.set()
    go_on.wait(60.0)

holder = threading.Thread(target=lambda: {HOLDERS[holder]})
holder.start()
assert began.wait(30.0)
child = os.fork()
if child == 0:
    signal.alarm(30)
    inside = lambda: None
    lock = threading.Lock()
    found = {{name: outcome(entry) for name, entry in ALL.items()}}
    bad = {{name: text for name, text in found.items() if text != "ok"}}
    print(bad, file=sys.stderr, flush=True)
    os._exit(1 if bad else 0)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
go_on.set()
holder.join()
# The parent goes on as if nothing had been.
assert code == 0, code
assert outcome(ALL["value"]) == outcome(ALL["assign"]) == "ok"
print("done")
"""
    )
    assert out == "done"


# Code that forks, and what its child sees when it returns to the call that it is in: the call goes
# on, is told, or, in a thread that is not there to return from, the child says so and ends.
FORKS = {
    "hook": ("hooked()", "ok"),
    "eager": ("probe(W * 1.0)", "ok"),
    "run": ("program.run({i: [0]})", "ok"),
    "value_and_grad": ("program.value_and_grad({i: [0]})", "ok"),
    "callback": ("watched(threads=1)", "told"),
    "callback of two": ("watched(threads=2)", "told"),
    "callback with an operator": ("watched(own=True)", "told"),
    "fit 1": ("hold_by_fit(threads=1)", "ended"),
    "fit 2": ("hold_by_fit(threads=2)", "ended"),
    "fit 2 deterministic": ("hold_by_fit(threads=2, deterministic=True)", "ended"),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("caller", FORKS)
def test_a_child_that_returns_into_the_call_that_forked_it_does_not_hang(caller: str) -> None:
    call, expected = FORKS[caller]
    out = run(
        ENTRIES
        + HOLD
        + f"""
main, child = os.getpid(), None

def inside():
    global child
    if child is None:
        child = os.fork()
        if child == 0:
            signal.alarm(20)

def hooked():
    y = (W * 2.0).sum()
    y.register_hook(lambda g: inside())
    y.backward()

def watched(threads=1, own=False):
    loss = program if own else other
    data = {{i: np.array([0, 1, 2, 3])}}
    first = inside
    def callback(*_):
        first()
    if own:
        globals()["inside"] = lambda: None
    wy.fit(loss, data, optimizer=wy.SGD(lr=1e-3), batch_size=1, threads=threads, epochs=3,
           callback=callback)

text = outcome(lambda: {call})
if os.getpid() != main:
    inside = lambda: None
    # The child's own calls work.
    bad = {{name: answer for name, entry in ALL.items() if (answer := outcome(entry)) != "ok"}}
    good = "ok" if text == "ok" else "told" if "forked within this call" in text else text
    print(text, bad, file=sys.stderr, flush=True)
    os._exit({{"ok": 10, "told": 11}}.get(good, 12) if not bad else 13)
assert text == "ok", text
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print({{10: "ok", 11: "told", 1: "ended"}}.get(code, code))
"""
    )
    assert out == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_forks_at_any_moment_leave_a_child_that_works() -> None:
    out = run(
        ENTRIES
        + """
done = threading.Event()
program = wy.freeze((W * W).sum())

def busy(work):
    while not done.is_set():
        work()

def stepping():
    (W * 1.0).sum().backward()
    sgd.step([W])
    W.zero_grad()

works = [program.run, stepping, lambda: train(1), lambda: W.value]
def guarded(work):
    def attempt():
        try:
            work()
        except RuntimeError:
            pass  # Somebody else trains it.
    return attempt
threads = [threading.Thread(target=busy, args=(guarded(work),)) for work in works]
for thread in threads:
    thread.start()
for count in range(40):
    child = os.fork()
    if child == 0:
        faulthandler.register(signal.SIGALRM, chain=True)
        signal.alarm(30)
        for name, entry in ALL.items():
            os.write(2, f"child {count}: {name}\\n".encode())
            if (text := outcome(entry)) != "ok":
                os.write(2, text.encode())
                os._exit(1)
        os._exit(0)
    if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        # The last line of the child names what it did. The threads would go on for ever.
        os.write(2, f"child {count} ended with {code}".encode())
        os._exit(1)
done.set()
for thread in threads:
    thread.join()
print("done")
"""
    )
    assert out == "done"


def test_processes_of_multiprocessing_train_beside_their_parent() -> None:
    out = run(
        ENTRIES
        + HOLD
        + """
import multiprocessing
began, go_on = threading.Event(), threading.Event()

def inside():
    began.set()
    go_on.wait(60.0)

def child(queue):
    signal.alarm(30)
    train(2)
    queue.put(W.value.tolist())

holder = threading.Thread(target=lambda: hold_by_fit(threads=1))
holder.start()
assert began.wait(30.0)
context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=child, args=(queue,))
process.start()
assert len(queue.get(timeout=40)) == 4
process.join()
assert process.exitcode == 0
go_on.set()
holder.join()
print("done")
"""
    )
    assert out == "done"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("holder", ["run", "value_and_grad"])
def test_code_within_a_run_may_fork(holder: str) -> None:
    """Child and parent both go on inside the run, which holds the table in either, and end it.
    (What ``fit`` calls is in a thread that Python cannot fork.)"""
    out = run(
        ENTRIES
        + HOLD
        + f"""
children = []

def inside():
    children.append(os.fork())
    if children[0] == 0:
        signal.alarm(30)
    found.update({{name: outcome(entry) for name, entry in WRITES.items()}})

{HOLDERS[holder]}
assert len(found) == len(WRITES), found
assert all(text.startswith("RuntimeError: parameter 'W' is ") for text in found.values()), found
left = {{name: text for name, entry in ALL.items() if (text := outcome(entry)) != "ok"}}
assert not left, left
if children[0] == 0:
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
print("done")
"""
    )
    assert out == "done"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_reads_functions_that_a_thread_of_its_parent_was_reading() -> None:
    out = run(
        """
import linecache
from wyrmling.source.text import read

text = "def f(x):\\n    return x * x\\n"
linecache.cache["<f>"] = (len(text), None, text.splitlines(True), "<f>")
exec(compile(text, "<f>", "exec"))
shift, moved, go_on = read._shift, threading.Event(), threading.Event()

def slowly(node, by):
    shift(node, by)
    moved.set()
    go_on.wait(60.0)

read._shift = slowly
slope = wy.grad(f, mode="source")
reader = threading.Thread(target=lambda: wy.grad(f, mode="source")(3.0))
reader.start()
assert moved.wait(30.0)
read._shift = shift
child = os.fork()
if child == 0:
    signal.alarm(30)
    os._exit(slope(3.0) != 6.0)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
go_on.set()
reader.join()
assert code == 0, code
assert slope(3.0) == 6.0
print("done")
"""
    )
    assert out == "done"
