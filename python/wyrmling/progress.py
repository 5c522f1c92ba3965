"""How ``progress=True`` shows itself: a bar of tqdm's if it is installed, otherwise lines.

Epochs of training, trials, models, users that are measured, and bytes of a download. Lines go to
the standard error.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from ._core import History

__all__ = ["Bytes", "Progress", "Steps"]


def _bar(**options: Any) -> Any:
    """A bar of tqdm's; None if it is not installed, or nobody can see it."""
    if sys.stderr is None:
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(**options)


def _say(line: str) -> None:
    """Prints a line on the standard error, which a program without a terminal need not have."""
    if sys.stderr is not None:
        print(line, file=sys.stderr, flush=True)


class Steps:
    """Shows how many of so many steps have been taken.

    Args:
        total: how many there will be.
        unit: what a step is called.
        first: how many had been taken before.
        shows: whether anything is shown at all.
        lines: whether steps are said in lines where there is no tqdm.
    """

    def __init__(
        self, total: int, unit: str, *, first: int = 0, shows: bool = True, lines: bool = True
    ) -> None:
        self._total = total
        self._unit = unit
        self._lines = lines and shows
        self._count = first
        self._bar = _bar(total=total, initial=first, unit=unit) if shows else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def advance(self, note: str = "", count: int = 1) -> None:
        """Shows that steps have been taken, with a note on the last."""
        self._count += count
        if self._bar is not None:
            self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(count)
        elif self._lines:
            said = f": {note}" if note else ""
            _say(f"{self._unit} {self._count}/{self._total}{said}")

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Takes the bar off the screen while something else is printed."""
        if self._bar is None:
            yield
            return
        self._bar.clear()
        yield
        self._bar.refresh()

    def close(self) -> None:
        """Finishes the bar."""
        if self._bar is not None:
            self._bar.close()


class Progress:
    """Shows the end of every epoch; a callback for ``fit``."""

    def __init__(self, epochs: int, first: int = 0) -> None:
        self._steps = Steps(epochs, "epoch", first=first)

    def __call__(self, epoch: int, history: History) -> None:
        """Shows that an epoch has ended."""
        assert history.last is not None
        loss, seconds = history.last
        self._steps.advance(f"loss {loss:.6g}, {history.samples / seconds:.3g} samples/s")

    def close(self) -> None:
        """Finishes the bar."""
        self._steps.close()


class Bytes:
    """Shows how many bytes of a download have come, of how many.

    Without tqdm there is a line for each tenth, or for each 16 MiB where the total is not known.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._total: int | None = None
        self._count = 0
        self._next = 0
        self._bar: Any = None

    def begin(self, total: int | None) -> None:
        """Says how many bytes there will be, None if that is not known."""
        self._total = total
        self._next = self._step()
        self._bar = _bar(desc=self._name, total=total, unit="B", unit_scale=True, unit_divisor=1024)

    def add(self, count: int) -> None:
        """Shows that more bytes have come."""
        self._count += count
        if self._bar is not None:
            self._bar.update(count)
        elif self._count >= self._next:
            self._next = self._count - self._count % self._step() + self._step()
            of = f" of {self._total:,}" if self._total else ""
            _say(f"{self._name}: {self._count:,}{of} bytes")

    def close(self) -> None:
        """Finishes the bar."""
        if self._bar is not None:
            self._bar.close()

    def _step(self) -> int:
        return max(1, self._total // 10) if self._total else 1 << 24
