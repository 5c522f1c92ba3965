"""The call stack of the abstract interpreter: a frame for each call being read, and its jumps.

``return``, ``break``, ``continue`` and ``raise`` go to the end of a function, a loop or a handler.
The object that stands for it here collects the paths that arrive there; ``around`` are the frames
that run there, outermost first.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from ..text.names import Scope
from .join import Incoming
from .values import Reference

LoopEnds = tuple[list[Incoming], list[Incoming]]
"""The paths on which a loop ended, and those that left it, by ``break`` say."""


@dataclass(frozen=True, slots=True)
class LoopCode:
    """A loop as it is to be written: each part writes its instructions when it is called.

    ``step`` follows the body in each turn, also after ``continue``; None for nothing.
    """

    condition: Callable[[], Any]
    body: Callable[[], Any]
    step: Callable[[], Any] | None
    node: ast.AST


@dataclass(slots=True, eq=False)
class Frame:
    """A function that is being called: its text and its names.

    ``around`` are the frames when it began, itself the last. Of a generator, ``deliver`` runs what
    is done with what it yields. ``place`` tells which call it is; ``recursion`` is set where it is
    read for all calls of itself.
    """

    node: Any
    reading: Any
    names: Any
    scope: Scope
    cells: dict[str, Reference] = field(default_factory=dict)
    renamed: list[dict[str, str]] = field(default_factory=list)
    returns: list[Incoming] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    handlers: list[Handler] = field(default_factory=list)
    parted: bool = False
    around: list[Frame] = field(default_factory=list)
    deliver: Callable[[Any], None] | None = None
    place: Hashable = None
    recursion: Any = None


@dataclass(slots=True)
class Loop:
    """Where ``break`` and ``continue`` go, and what ends a loop from within; ``around`` are the
    frames when it began.
    """

    around: list[Frame]
    breaks: list[Incoming] = field(default_factory=list)
    continues: list[Incoming] = field(default_factory=list)
    ends: list[Incoming] = field(default_factory=list)


@dataclass(slots=True)
class Handler:
    """Where ``raise`` goes: the classes that are handled here, and the paths that arrive. It is for
    paths of one builder. One that ``passes`` is a ``finally``, behind which exceptions go on; what
    raises within one that is ``barred`` leaves.
    """

    classes: tuple[type[BaseException], ...]
    around: list[Frame]
    builder: Any
    barred: bool = False
    passes: bool = False
    raised: list[tuple[Incoming, Any]] = field(default_factory=list)
