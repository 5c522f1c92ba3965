"""Functions that are typed at the prompt, whose text Python keeps from 3.13."""

import os
import select
import subprocess
import sys
import time

import pytest

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")

SECONDS = 60


class Prompt:
    """A Python that is typed to."""

    def __init__(self, home):
        self.terminal, inner = pty.openpty()
        said = {"TERM": "xterm", "HOME": str(home), "PYTHON_COLORS": "0", "PYTHONSTARTUP": ""}
        self.process = subprocess.Popen(
            [sys.executable, "-q"],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env=os.environ | said | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
        )
        os.close(inner)

    def until(self, text):
        """What is shown up to a text."""
        shown = b""
        end = time.monotonic() + SECONDS
        while text.encode() not in shown:
            ready, _, _ = select.select([self.terminal], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{text!r} is not shown: {shown.decode(errors='replace')}"
            shown += os.read(self.terminal, 4096)
        return shown.decode(errors="replace")

    def type(self, line):
        os.write(self.terminal, line.encode() + b"\r")

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="Python keeps no text of the prompt")
def test_a_function_typed_at_the_prompt_is_read(tmp_path):
    prompt = Prompt(tmp_path)
    try:
        prompt.until(">>> ")
        prompt.type("import wyrmling as wy")
        prompt.until(">>> ")
        prompt.type("f = lambda x: x * x * (x if x > 0 else 1.0)")
        prompt.until(">>> ")
        # What is typed is shown too, so the answer has a text that is not typed.
        prompt.type("print('answer', wy.grad(f, mode='source')(2.0) + 30)")
        prompt.until("answer 42.0")
        prompt.type("def g(x):")
        prompt.until("... ")
        prompt.type("return f(x) + x")
        prompt.until("... ")
        prompt.type("")
        prompt.until(">>> ")
        prompt.type("print('answer', wy.grad(g, mode='source')(2.0) + 30)")
        prompt.until("answer 43.0")
    finally:
        prompt.end()
