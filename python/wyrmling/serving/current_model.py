"""The model that a server answers with, and its replacement while requests run.

A request takes the model once and keeps it to its end, so that a replacement is seen by the next
request and by none in part. The new model is read beside the old one, in a thread of its own: both
are in memory for that time. A file that is no model leaves the old one in place.

The file is looked at every second: a writer that renames a complete file into place, as ``save``
does, is seen by the new file's number, size or time. A file that is written in place is seen too,
and read when its size and time have stayed for one look; a checksum refuses it if that was too
early, and it is tried again when it changes.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from dataclasses import dataclass

from ..recommend import Recommender

__all__ = ["Current", "CurrentModel"]

logger = logging.getLogger("wyrmling.serving")

# Seconds for which the end of a server waits for a file that is being read; requests have as many.
PATIENCE = 5.0

Signature = tuple[int, int, int, int]


@dataclass(frozen=True)
class Current:
    """A model with what is known of its file.

    Args:
        model: the model.
        loaded: when it was read, in seconds since 1970.
        number: how many models the server had before.
    """

    model: Recommender
    loaded: float
    number: int


class CurrentModel:
    """The model of a file, read anew when it changes.

    Args:
        path: the file.
        mmap: whether to map it, as :meth:`.Recommender.load` does.

    Raises:
        OSError, ValueError, MemoryError: as :meth:`.Recommender.load`.
    """

    def __init__(self, path: str | os.PathLike[str], mmap: bool = False) -> None:
        self.path = os.fspath(path)
        self.failures = 0
        self._mmap = mmap
        self._asked = False
        self._ended = threading.Event()
        self._reading = threading.Lock()
        self._seen = self._signature()
        self._current = Current(self._read(), time.time(), 0)
        self._watcher: threading.Thread | None = None

    def get(self) -> Current:
        """The model that is to answer now."""
        return self._current

    def reload(self) -> Current:
        """Reads the file and gives requests from now on what it holds.

        Raises:
            OSError, ValueError, MemoryError: as :meth:`.Recommender.load`; requests go on with the
                model that they had.
        """
        with self._reading:
            self._seen = self._signature()
            try:
                model = self._read()
            except Exception:
                self.failures += 1
                raise
            self._current = Current(model, time.time(), self._current.number + 1)
            logger.info("read %s again: %r", self.path, model)
            return self._current

    def ask(self) -> None:
        """Asks the watching thread to read the file when it looks next; may be called by a signal's
        handler, and again while it runs: it waits for no lock.
        """
        self._asked = True

    def watch(self, seconds: float = 1.0) -> None:
        """Starts the thread that reads the file when it changes, or when :meth:`ask` is called."""
        self._watcher = threading.Thread(
            target=self._watch, args=(seconds,), name="wyrmling model file", daemon=True
        )
        self._watcher.start()

    def close(self) -> None:
        """Ends the watching thread: at once, or when it has read what it reads now."""
        self._ended.set()
        if self._watcher is not None:
            self._watcher.join(PATIENCE)

    def _watch(self, seconds: float) -> None:
        before = self._seen
        while not self._ended.wait(seconds):
            if asked := self._asked:
                self._asked = False
            now = self._signature()
            settled = now == before
            before = now
            if not asked and (now is None or now == self._seen or not settled):
                continue
            try:
                self.reload()
            except (OSError, ValueError, MemoryError) as error:
                logger.error("the model stays as it was: %s", error)
            except Exception:
                logger.exception("the model stays as it was")

    def _signature(self) -> Signature | None:
        """What changes when the file does; None while there is none."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def _read(self) -> Recommender:
        model = Recommender.load(self.path, mmap=self._mmap)
        # What is made at the first request is made here, where nobody waits for it.
        for ids in (model.user_ids, model.item_ids):
            ids.numbers(ids[:1])
        return model
