"""What scripts begin with that are interrupted by Ctrl-C, in processes of their own."""

INTERRUPTED = """
import faulthandler, os, signal, sys, threading, time

faulthandler.dump_traceback_later(90, exit=True)
rang = []

def ring():
    time.sleep(0.3)
    rang.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

def interrupted(call, *args):
    threading.Thread(target=ring, daemon=True).start()
    try:
        call(*args)
    except KeyboardInterrupt:
        took = time.monotonic() - rang.pop()
        assert took < 5.0, took
        return
    raise AssertionError("it was not interrupted")
"""
