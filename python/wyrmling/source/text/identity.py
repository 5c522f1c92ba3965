"""A map by identity that keeps neither its keys alive nor more entries than it may.

``weakref.WeakKeyDictionary`` compares keys by value. Two code objects are equal if their text is,
whatever file they come from, and their hash is computed anew each time from all their constants.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import OrderedDict
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

# For what reading keeps of functions. It may be taken again by the thread that has it: callbacks of
# weak references run inside of other functions, wherever memory is collected.
LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):
    # A thread that is not there in the child may have it.
    os.register_at_fork(after_in_child=LOCK._at_fork_reinit)  # type: ignore[attr-defined]


class IdentityCache(Generic[K, V]):
    """At most ``bound`` values by objects that can be referred to weakly.

    What was asked for longest ago is dropped first. A value must not refer to its key, or both are
    kept until then.

    It may be used from several threads: two may compute one value, of which the last is kept.
    """

    def __init__(self, bound: int) -> None:
        self.bound = bound
        # Callbacks run while Python ends, too, when modules have lost their names.
        self._lock = LOCK
        self._entries: OrderedDict[int, tuple[weakref.ref[Any], V]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value that was kept for this object, or None."""
        found = self._entries.get(id(key))
        if found is None or found[0]() is not key:
            return None
        with contextlib.suppress(KeyError):
            self._entries.move_to_end(id(key))
        return found[1]

    def put(self, key: K, value: V) -> V:
        """Keeps a value for this object, and returns it."""
        at = id(key)

        def forget(gone: weakref.ref[Any]) -> None:
            with self._lock:
                found = self._entries.get(at)
                if found is not None and found[0] is gone:
                    del self._entries[at]

        with self._lock:
            self._entries[at] = (weakref.ref(key, forget), value)
            self._entries.move_to_end(at)
            while len(self._entries) > self.bound:
                self._entries.popitem(last=False)
        return value

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        """Forgets all."""
        with self._lock:
            self._entries.clear()
