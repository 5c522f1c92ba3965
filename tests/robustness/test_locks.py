"""Nobody waits for a table with the interpreter's lock held, and no thread waits for itself.

Scripts run in processes of their own, so that a hang is a failure and not the end of the tests.
"""

import json

import pytest
from lock_scripts import ENTRIES, HOLD, HOLDERS, run


@pytest.mark.parametrize("holder", HOLDERS)
def test_code_within_a_run_is_told_and_does_not_wait_for_itself(holder: str) -> None:
    out = run(
        ENTRIES
        + HOLD
        + f"""
for name, entry in ALL.items():
    inside = lambda: found.setdefault(name, outcome(entry))
    {HOLDERS[holder]}
print(json.dumps([found, list(READS), list(FREE), list(WRITES)]))
"""
    )
    found, reads, free, writes = json.loads(out)
    assert set(found) == {*reads, *free, *writes, "fit 2"}
    for name in [*reads, *free]:
        assert found[name] == "ok", (name, found[name])
    for name in [*writes, "fit 2"]:
        if holder.startswith("fit"):
            expected = "RuntimeError: parameter 'W' is "
        elif name == "fit 2":
            # Two workers move rows beside whoever reads.
            expected = "ok"
        else:
            expected = "RuntimeError: parameter 'W' is in use by this thread or the very call"
        assert found[name].startswith(expected), (name, found[name])


@pytest.mark.parametrize("holder", ["fit 1", "fit 2", "sampler 1", "sampler 2"])
def test_code_within_training_may_wait_for_a_thread_that_uses_the_parameter(holder: str) -> None:
    call, threads = holder.split()
    out = run(
        ENTRIES
        + HOLD
        + f"""
for name, entry in ALL.items():
    def inside():
        thread = threading.Thread(target=lambda: found.setdefault(name, outcome(entry)))
        thread.start()
        thread.join()
    hold_by_{call}(threads={threads})
print(json.dumps([found, [*READS, *FREE]]))
"""
    )
    found, reads = json.loads(out)
    assert len(found) > len(reads)
    for name, said in found.items():
        expected = "ok" if name in reads else "RuntimeError: parameter 'W' is "
        assert said.startswith(expected), (name, said)


def test_who_steps_and_who_runs_programs_take_turns() -> None:
    """Readers in programs that read more within them, and writers, of two tables in either
    order, in more threads than there are cores."""
    out = run(
        """
        import random
        @wy.primitive
        def look(x):
            # Reads what its program holds, and what it does not hold.
            return x + 0.0 * (W.value.sum() + V.value.sum())

        look.defvjp(lambda g, ans, x: g)
        with_w = wy.freeze(look(W[i]).sum())
        with_both = wy.freeze(look(V[[0]] * W[i]).sum())
        failed = []

        def guarded(work):
            def loop():
                for _ in range(150):
                    try:
                        work()
                    except RuntimeError as e:
                        # A run that asks for more than it has may be told that it cannot wait.
                        if "neither could go on" not in str(e):
                            failed.append(repr(e))
                    except Exception as e:
                        failed.append(repr(e))
            return loop

        def step(parameters):
            for parameter in parameters:
                parameter.zero_grad()
            (W * 1.0).sum().backward()
            (V * 1.0).sum().backward()
            sgd.step(parameters)

        threads = [threading.Thread(target=guarded(work)) for work in [
            lambda: step([W, V]),
            lambda: step([V, W]),
            lambda: with_w.run({i: [0]}),
            lambda: with_both.run({i: [1]}),
            lambda: with_both.value_and_grad({i: [1]}),
            lambda: W.value,
            lambda: setattr(V, "value", np.ones(3)),
            lambda: (V * 2.0).sum().item(),
        ]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed, failed[:3]
        print("done")
        """
    )
    assert out == "done"


def test_a_step_is_not_starved_by_programs_that_come_and_go() -> None:
    out = run(
        """
        program = wy.freeze((W * W).sum())
        done = threading.Event()

        def read():
            while not done.is_set():
                program.run()

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            W.value = W.value * 0.5
            (W * W).sum().backward()
            sgd.step([W])
            W.zero_grad()
        done.set()
        for thread in threads:
            thread.join()
        print("done")
        """
    )
    assert out == "done"


def test_who_steps_in_another_thread_makes_nobody_wait_for_ever() -> None:
    """A thread that steps is a holder, too: every request is answered beside it."""
    out = run(
        ENTRIES
        + """
        done = threading.Event()
        refused = []

        def stepping():
            adam = wy.Adam(lr=1e-3)
            while not done.is_set():
                (W * 1.0).sum().backward()
                try:
                    adam.step([W])
                except RuntimeError as e:
                    refused.append(str(e))
                W.zero_grad()

        thread = threading.Thread(target=stepping)
        thread.start()
        bad = {}
        for _ in range(20):
            for name, entry in ALL.items():
                text = outcome(entry)
                if text != "ok":
                    bad[name] = text
        done.set()
        thread.join()
        assert not bad, bad
        assert all("trained" in text for text in refused), refused[:3]
        print("done")
        """.replace("\n        ", "\n")
    )
    assert out == "done"


def test_everything_at_once_ends() -> None:
    """Training by two workers, another program, printing, assignment, pickles, copies, collections
    and hooks that let their graphs go, each a fixed number of times in a thread of its own."""
    out = run(
        ENTRIES
        + HOLD
        + """
        import gc
        failed = []

        def told(e):
            text = str(e)
            return "neither could go on" in text or "being" in text

        def guarded(work, times):
            def loop():
                for _ in range(times):
                    try:
                        work()
                    except RuntimeError as e:
                        if not told(e):
                            failed.append(repr(e))
                    except BaseException as e:
                        failed.append(repr(e))
            return loop

        def hooked():
            held = [(W * 2.0).sum()]
            held[0].register_hook(lambda g: held.clear())
            y = held[0] + 1.0
            y.backward()
            del y

        def assign():
            W.value = np.ones((4, 2))

        data = {i: np.array([0, 1, 2, 3])}
        works = {
            lambda: wy.fit(other, data, optimizer=wy.SGD(lr=1e-3), batch_size=1, threads=2): 30,
            lambda: wy.fit(program, data, optimizer=wy.Adam(), batch_size=1, epochs=2): 30,
            lambda: program.run({i: [0, 3]}): 200,
            lambda: other.value_and_grad({i: [1]}): 200,
            lambda: print(W, V, file=io.StringIO()): 200,
            assign: 200,
            lambda: pickle.loads(pickle.dumps(W)): 200,
            lambda: copy.deepcopy([W, V]): 200,
            hooked: 200,
            step: 100,
            gc.collect: 30,
        }
        threads = [threading.Thread(target=guarded(w, n)) for w, n in works.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed, failed[:3]
        assert outcome(ALL["value"]) == outcome(ALL["assign"]) == outcome(ALL["fit 2"]) == "ok"
        print("done")
        """.replace("\n        ", "\n")
    )
    assert out == "done"


# What waits for a parameter that another thread holds: one worker who calls nobody has it alone.
WAITS = {
    "hold_alone()": [
        "print",
        "value",
        "lookup",
        "graph",
        "backward",
        "run",
        "value_and_grad",
        "freeze",
    ],
    "program.run({i: [0]})": ["assign", "step", "fit 1"],
}


@pytest.mark.parametrize(
    ("holder", "entry"), [(holder, entry) for holder in WAITS for entry in WAITS[holder]]
)
def test_a_wait_for_another_thread_ends_with_ctrl_c(holder: str, entry: str) -> None:
    out = run(
        ENTRIES
        + HOLD
        + f"""
began = threading.Event()

def inside():
    began.set()
    time.sleep(60.0)

slow = wy.freeze(sum(wy.tanh(W[i] * k) for k in range(50)).sum())

def hold_alone():
    threading.Thread(target=read, daemon=True).start()
    wy.fit(slow, {{i: np.zeros(10**6, int)}}, optimizer=wy.SGD(lr=1e-3), threads=1, batch_size=1)

def read():
    done = [time.monotonic()]

    def watch():
        while time.monotonic() - done[0] < 0.5:
            time.sleep(0.01)
        began.set()

    threading.Thread(target=watch, daemon=True).start()
    while True:
        W.value
        done[0] = time.monotonic()

threading.Thread(target=lambda: {holder}, daemon=True).start()
assert began.wait(30.0)
W.zero_grad()
start = []

def ring():
    time.sleep(0.3)
    start.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=ring).start()
try:
    ALL[{entry!r}]()
except KeyboardInterrupt:
    assert time.monotonic() - start[0] < 5.0
    print("interrupted", flush=True)
    os._exit(0)
print("not interrupted", flush=True)
os._exit(1)
"""
    )
    assert out.endswith("interrupted"), out


@pytest.mark.parametrize("where", ["main", "thread", "fit 1", "fit 2", "eager"])
def test_a_primitive_that_runs_itself_ends_in_a_recursion_error(where: str) -> None:
    out = run(
        """
        @wy.primitive
        def again(x):
            return run() + x if run else x

        again.defvjp(lambda g, ans, x: g)
        x = wy.Variable(1.0)
        run = None
        program = wy.freeze((again(V) * W[i][:, :1]).sum())

        def by_program():
            global run
            run = lambda: float(program.run({i: [0]}))
            program.run({i: [0]})

        def by_fit(threads):
            global run
            free = wy.freeze(again(x * 1.0))
            program = wy.freeze((again(W[i] * 1.0)).sum())
            run = lambda: float(free.run())
            wy.fit(program, {i: np.array([0, 1])}, optimizer=sgd, threads=threads, batch_size=1)

        def eager():
            global run
            run = lambda: again(x * 1.0).item()
            again(x)

        outcome = []

        def guarded(f, *args):
            try:
                f(*args)
            except RecursionError as e:
                outcome.append(str(e))

        def in_thread():
            thread = threading.Thread(target=guarded, args=(by_program,))
            thread.start()
            thread.join()

        {
            "main": lambda: guarded(by_program),
            "thread": in_thread,
            "fit 1": lambda: guarded(by_fit, 1),
            "fit 2": lambda: guarded(by_fit, 2),
            "eager": lambda: guarded(eager),
        }["WHERE"]()
        assert len(outcome) == 1, outcome
        print(outcome[0])
        """.replace("WHERE", where)
    )
    assert "program or the function that it is part of" in out or "recursion" in out
