"""How a transform gets derivatives of a function: by reading it, or by running it.

``"source"`` reads the function's text and compiles it with its derivatives, loops and branches
included; SourceError says what of it cannot be read. ``"trace"`` runs it on variables that remember
what was computed. ``"auto"`` reads where that pays and is possible, and traces otherwise.
``docs/source.md`` has more.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, get_args

from .. import _core
from .tracing import described, documented, named, title

Mode = Literal["auto", "source", "trace"]
MODES: tuple[Mode, ...] = get_args(Mode)
DEFAULT: Mode = "auto"
HANDLED = (
    "a function that takes no variables was given one; its TypeError was handled, so that "
    "the result would be another than Python's (mode='trace' gives it)"
)


def is_traced(name: str, mode: Any) -> bool:
    """Whether a transform that is given this mode only traces. Raises ValueError for no mode."""
    if mode == "trace":
        return True
    if not isinstance(mode, str) or mode not in MODES:
        expected = ", ".join(map(repr, MODES))
        raise ValueError(f"{name}: mode: expected one of {expected}, got {described(mode)}")
    return False


@functools.cache
def reading(name: str) -> Any:
    """A module of ``wyrmling.source``, imported by its name when it is needed: that package imports
    this one, as functions that are read may call transforms.
    """
    return import_module(f"wyrmling.source.{name}")


class Made:
    """What a function is a transform of, and what traces it: what its dispatcher calls. Nothing of
    ``wyrmling.source`` is imported before the first call.
    """

    __slots__ = ("_chosen", "argnums", "f", "has_aux", "mode", "name", "traced")

    def __init__(
        self,
        name: str,
        f: Callable[..., Any],
        traced: Callable[..., Any],
        mode: Mode,
        argnums: Any,
        has_aux: bool,
    ) -> None:
        self.name, self.f, self.traced, self.mode = name, f, traced, mode
        self.argnums, self.has_aux = argnums, has_aux
        self._chosen: Any = None

    def table(self) -> _core.SpecializationTable:
        """Where what is compiled is kept."""
        found: _core.SpecializationTable = reading("choose").known(self).table
        return found

    @property
    def chosen(self) -> Any:
        """What says what is done with a call."""
        if self._chosen is None:
            self._chosen = reading("choose").Chosen(self)
        return self._chosen

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Traces a call. What cannot be traced is read for this call, however it came to be traced:
        a debugger watches, or what it captures has changed too often to be compiled again.
        """
        try:
            return self.traced_whole(args, kwargs)
        except Exception as error:
            if not self.chosen.may_read(error):
                raise
            failure = error
        try:
            return self.chosen.read_once(args, kwargs, failure)
        finally:
            # Its traceback has this frame.
            del failure

    def traced_whole(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Traces a call. Raises TypeError if something in it took no variable and the function has
        handled that: Python goes another way there. What the function then raises is marked.
        """
        before = _core.refusals()
        try:
            found = self.traced(*args, **kwargs)
        except Exception as error:
            if _core.refusals() != before and not getattr(error, "takes_no_variable", False):
                # Its class may let nothing be set.
                vars(error)["takes_no_variable"] = True
                vars(error).setdefault("__notes__", []).append(HANDLED)
            raise
        if _core.refusals() != before:
            refusal = TypeError(HANDLED)
            refusal.takes_no_variable = True  # type: ignore[attr-defined]
            raise refusal
        return found

    def specialize(self, *args: Any) -> Any:
        """See ``Chosen``."""
        return self.chosen.specialize(*args)

    def fallback(self, *args: Any) -> Any:
        """See ``Chosen``."""
        return self.chosen.fallback(*args)


class Differentiated(_core.Dispatcher):
    """A function that a transform made, and that is read or traced; pickled as what it was made of,
    or by its name, as functions are, if it has taken that of its function: as a decorator it has.

    Many are called once, or never: what takes time to make is made when it is asked for.
    """

    made: Made

    def __getattr__(self, name: str) -> Any:
        if name in ("__name__", "__qualname__"):
            own = getattr(self.made.f, name, None) if self.made.name == "compile" else None
            return own or title(self.made.name, self.made.f)
        if name == "__wrapped__":
            return self.made.f
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", obj=self)

    @property
    def __doc__(self) -> str:
        given: str | None = self.__dict__.get("__doc__")
        return documented(self.made.name, self.made.f) if given is None else given

    @__doc__.setter
    def __doc__(self, text: str) -> None:
        self.__dict__["__doc__"] = text

    def __repr__(self) -> str:
        of = getattr(self.made.f, "__qualname__", None) or f"{self.made.f!r:.60}"
        return f"<wyrmling.{self.made.name} of {of}>"

    def __reduce__(self) -> Any:
        made = self.made
        where, name = getattr(self, "__module__", None), getattr(made.f, "__qualname__", None)
        if where in sys.modules and name:
            found: Any = sys.modules[where]
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is self:
                return name
        options: dict[str, Any] = {"mode": made.mode}
        if made.name != "compile":
            options["argnums"] = made.argnums
        if made.has_aux:
            options["has_aux"] = True
        return functools.partial(_again, made.name, **options), (made.f,)


def _again(name: str, f: Callable[..., Any], **options: Any) -> Any:
    from .. import transforms

    return getattr(transforms, name)(f, **options)


def differentiated(
    name: str,
    f: Callable[..., Any],
    traced: Callable[..., Any],
    mode: Mode,
    argnums: Any = 0,
    has_aux: bool = False,
) -> Differentiated:
    """A transform of ``f`` that is read or traced; ``traced`` is the one that traces."""
    made = Made(name, f, traced, mode, argnums, has_aux)
    inner = f.function if isinstance(f, Differentiated) else f
    if mode == "auto":
        found = Differentiated(inner, made, traced if traced is f else made.run, watches=True)
    else:
        found = Differentiated(inner, made, traced, most_leaves=None)
    found.made = made
    found.__module__ = getattr(f, "__module__", __name__)
    return found


def chosen(
    name: str,
    f: Callable[..., Any],
    traced: Callable[..., Any],
    mode: Mode,
    argnums: Any = 0,
    has_aux: bool = False,
) -> Callable[..., Any]:
    """A transform of ``f`` in this mode; ``traced`` is the one that traces, without a name."""
    if is_traced(name, mode):
        return named(name, f)(traced)
    return differentiated(name, f, traced, mode, argnums, has_aux)
