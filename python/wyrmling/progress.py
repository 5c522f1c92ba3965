"""How ``fit(..., progress=True)`` shows itself: a tqdm bar, or a line for each epoch."""

import sys

from ._core import History

__all__ = ["Progress"]


class Progress:
    """Shows the end of every epoch; a callback for ``fit``.

    tqdm draws the bar if it is installed; otherwise lines go to the standard error.
    """

    def __init__(self, epochs: int) -> None:
        self._epochs = epochs
        try:
            from tqdm.auto import tqdm
        except ImportError:
            self._bar = None
        else:
            self._bar = tqdm(total=epochs, unit="epoch")

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
