"""How ``progress=True`` shows itself: a bar of tqdm's if it is installed, otherwise lines.

Epochs of training, and bytes of a download. Lines go to the standard error.
"""

import sys
from typing import Any

from ._core import History

__all__ = ["Bytes", "Progress"]


class Progress:
    """Shows the end of every epoch; a callback for ``fit``.

    tqdm draws the bar if it is installed; otherwise lines go to the standard error.
    """

    def __init__(self, epochs: int, first: int = 0) -> None:
        self._epochs = epochs
        try:
            from tqdm.auto import tqdm
        except ImportError:
            self._bar = None
        else:
            self._bar = tqdm(total=epochs, initial=first, unit="epoch")

    def __call__(self, epoch: int, history: History) -> None:
        """Shows that an epoch has ended."""
        loss = f"{history.loss[-1]:.6g}"
        speed = f"{history.samples / history.seconds[-1]:.3g}"
        if self._bar is not None:
            self._bar.set_postfix({"loss": loss, "samples/s": speed}, refresh=False)
            self._bar.update(1)
        else:
            print(
                f"epoch {epoch + 1}/{self._epochs}: loss {loss}, {speed} samples/s",
                file=sys.stderr,
                flush=True,
            )

    def close(self) -> None:
        """Finishes the bar."""
        if self._bar is not None:
            self._bar.close()


class Bytes:
    """Shows how many bytes of a download have come, of how many.

    Without tqdm there is a line for each tenth, or for each 16 MiB where nobody knows how many.
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
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        self._bar = tqdm(desc=self._name, total=total, unit="B", unit_scale=True, unit_divisor=1024)

    def add(self, count: int) -> None:
        """Shows that more bytes have come."""
        self._count += count
        if self._bar is not None:
            self._bar.update(count)
        elif self._count >= self._next:
            self._next = self._count - self._count % self._step() + self._step()
            of = f" of {self._total:,}" if self._total else ""
            print(f"{self._name}: {self._count:,}{of} bytes", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Finishes the bar."""
        if self._bar is not None:
            self._bar.close()

    def _step(self) -> int:
        return max(1, self._total // 10) if self._total else 1 << 24
