"""The text that belongs to a function, as its ``ast``.

Python keeps a function's file and line, not its text: the file may have been edited since, a line
may hold several lambdas, a tool may have rewritten the code (pytest rewrites ``assert``). So the
text is only believed if it compiles to the function's code object: same instructions, names and
constants, also in the functions inside; only positions may differ. Text that compiles to the same
code has the same meaning.

Text is found wherever ``linecache`` finds it: in files, in archives, in the cells of notebooks, in
what a program gave to ``exec`` and registered there, and in what was typed at the prompt of Python
3.13 or newer.

What was read is kept for each code object as long as that lives, and for a bounded number of them.
"""

from __future__ import annotations
import __future__

import ast
import bisect
import copy
import functools
import inspect
import linecache
import os
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeGuard

import numpy as np

from .identity import LOCK, IdentityCache
from .refuse import Unreadable
from .scope import FUNCTION, Needs, Place

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

DISPATCHING = functools.singledispatch(lambda _: None).__code__  # type: ignore[attr-defined]
"""What all functions have whose code ``functools.singledispatch`` chooses."""
_FUTURES = functools.reduce(
    lambda flags, name: flags | getattr(__future__, name).compiler_flag,
    # Flags of these two mean something else in code objects by now, and change nothing.
    set(__future__.all_feature_names) - {"nested_scopes", "generators"},
    0,
)


@dataclass(frozen=True, eq=False)
class Reading:
    """The text of a function. The tree may be shared: nobody may write to it.

    ``node`` has no decorators, and private names of a class are written as Python mangles them. Its
    line numbers are those of ``file``; ``lines`` are the function's own, from ``first_line``.
    """

    node: FunctionNode
    file: str
    first_line: int
    name: str
    lines: tuple[str, ...]

    def line(self, number: int) -> str:
        """A line by its number in the file, or nothing if it is not the function's."""
        at = number - self.first_line
        return self.lines[at] if 0 <= at < len(self.lines) else ""


@dataclass(frozen=True)
class Callee:
    """The Python function behind something callable, and what that gives it first."""

    function: types.FunctionType
    place: Place
    args: tuple[tuple[Any, Place], ...]
    keywords: dict[str, tuple[Any, Place]]


_readings: IdentityCache[types.CodeType, Reading | str] = IdentityCache(4096)


def is_made(function: Any) -> TypeGuard[Any]:
    """Whether a transform made this, and it may be read."""
    return type(function).__module__ == "wyrmling.transforms.modes" and hasattr(function, "made")


def called(function, /, *args, **keywords):  # type: ignore[no-untyped-def]  # noqa: D103
    return function(*args, **keywords)


@functools.lru_cache(maxsize=256)
def _call(f: Any) -> types.FunctionType:
    """What calls a function, with code of its own, for which what is compiled is kept."""
    return types.FunctionType(called.__code__.replace(), called.__globals__)


def _is_of_a_module(f: Any) -> bool:
    """Whether this is a function of a module in C, as those of ``math`` are, or one of NumPy's."""
    if isinstance(f, types.BuiltinFunctionType):
        return isinstance(f.__self__, types.ModuleType)
    return type(f) in (np.ufunc, type(np.sum))


def callee(f: Callable[..., Any], place: Place = FUNCTION, needs: Needs | None = None) -> Callee:
    """What runs if ``f`` is called: functions by themselves, and those behind methods, ``partial``,
    static methods, ``wyrmling.compile`` and objects whose class has ``__call__``, and a call of
    functions of modules in C. What is called at another time has to be made in the same way of a
    function of the same code: that goes to ``needs``.

    Raises Unreadable for anything else, such as classes.
    """
    needs = Needs() if needs is None else needs
    args: list[tuple[Any, Place]] = []
    keywords: dict[str, tuple[Any, Place]] = {}
    while not isinstance(f, types.FunctionType):
        needs.instance(place, type(f))
        if isinstance(f, types.MethodType):
            args.insert(0, (f.__self__, place.attribute("__self__")))
            f, place = f.__func__, place.attribute("__func__")
        elif type(f) is functools.partial:
            if any(type(arg).__name__ == "_PlaceholderType" for arg in f.args):
                raise Unreadable("functools.partial with placeholders is not read")
            given = place.attribute("args")
            args[:0] = [(arg, given.item(at)) for at, arg in enumerate(f.args)]
            named = place.attribute("keywords")
            needs.length(given, f.args)
            needs.keys(named, f.keywords)
            inner = {name: (arg, named.item(name)) for name, arg in f.keywords.items()}
            # The arguments of an outer partial override those of an inner one.
            keywords = inner | keywords
            f, place = f.func, place.attribute("func")
        elif isinstance(f, staticmethod):
            f, place = f.__func__, place.attribute("__func__")
        elif _is_of_a_module(f):
            needs.expect(place, f)
            return Callee(_call(f), place, ((f, place), *args), keywords)
        elif is_made(f) and (made := f.made).name == "compile":
            held = place.attribute("made")
            needs.test(held.attribute("name"), ("equal", "compile"))
            f, place = made.f, held.attribute("f")
        else:
            f, place = _called(f, place, args)
    if str(f.__globals__.get("__name__")).startswith("wyrmling.transforms."):
        what = args[0][0] if args else f
        name = getattr(what, "__name__", None) or f.__qualname__
        raise Unreadable(
            f"{name} has rules or was made by a transform, so that it is run and not read; call it "
            "in a function"
        )
    needs.expect(place, f)
    return Callee(f, place, tuple(args), keywords)


def _called(f: Any, place: Place, args: list[tuple[Any, Place]]) -> tuple[Any, Place]:
    """The method by which an object is called; the object comes first among the arguments."""
    if type(f).__name__ == "_lru_cache_wrapper":
        raise Unreadable("functools.cache keeps results; differentiate its __wrapped__")
    if isinstance(f, type):
        raise Unreadable("it is a class")
    method = inspect.getattr_static(type(f), "__call__", None)
    if not isinstance(method, types.FunctionType) and not is_made(method):
        name = getattr(f, "__qualname__", None) or type(f).__qualname__
        raise Unreadable(f"{name} is not written in Python")
    args.insert(0, (f, place))
    return method, place.type().attribute("__call__")


def function(f: types.FunctionType) -> Reading:
    """The text of a Python function. Raises Unreadable if none is found that is surely its own."""
    code = f.__code__
    found = _readings.get(code)
    if found is None:
        try:
            found = _readings.put(code, _read(f, code))
        except Unreadable as error:
            # With a cause the failure may be temporary (see ``_read``), and is not kept.
            if error.__cause__ is not None:
                raise
            found = _readings.put(code, str(error))
    if isinstance(found, str):
        raise Unreadable(found)
    return found


def _read(f: types.FunctionType, code: types.CodeType) -> Reading:
    missing = failure = "its source is not there; define it in a file or a notebook"
    # What may be otherwise when it is tried again: the stack that is left, or memory.
    passing: Exception | None = None
    for lines in _texts(f, code):
        try:
            tree = _parsed("".join(lines), code.co_filename)
            # Trees are changed for a moment while they are compiled.
            with LOCK:
                return _found(tree, lines, code)
        except (SyntaxError, ValueError):
            failure = "the text of its file is no Python by now"
        except Unreadable as error:
            failure = str(error)
        except (RecursionError, MemoryError) as error:
            failure, passing = "there is too little stack or memory left to read it", error
    # From 3.13 the text of ``python -c`` has the name that exec and eval give to all code.
    raise Unreadable(missing if code.co_filename == "<string>" else failure) from passing


def _texts(f: types.FunctionType, code: types.CodeType) -> Iterator[list[str]]:
    """The texts that may be the one: as last seen, then as it is now, then as ``inspect`` says."""
    name = code.co_filename
    before = linecache.getlines(name, f.__globals__)
    if before:
        yield before
    linecache.checkcache(name)
    now = linecache.getlines(name, f.__globals__)
    if now and now != before:
        yield now
    if not before and not now:
        try:
            lines = inspect.findsource(f)[0]
        except (OSError, TypeError, IndexError, SyntaxError):
            return
        yield list(lines)


@functools.lru_cache(maxsize=8)
def _parsed(text: str, file: str) -> ast.Module:
    with LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, file)


if hasattr(os, "register_at_fork"):
    # A thread that is not there in the child may have changed a tree.
    os.register_at_fork(after_in_child=_parsed.cache_clear)


def _found(tree: ast.Module, lines: list[str], code: types.CodeType) -> Reading:
    # Of equal lambdas of a line any has the meaning, but messages should point at the right one. As
    # a rule the columns of the code tell which that is: it comes first, and no other is compiled.
    candidates = sorted(_candidates(tree, code), key=lambda each: not _encloses(each[1], code))
    imports = _outline(tree)[1]
    last = len(lines) + 1
    # A part of the module is compiled; all of it where that is not enough. How a call of ``super``
    # is compiled depends on whether the module uses that name.
    matching = chain(
        (each for each in candidates if _matches([*imports, each[0]], each[1], code, last)),
        (each for each in candidates if _matches(tree.body, each[1], code, last)),
    )
    found = next(matching, None)
    if found is None:
        raise Unreadable(
            "the text at its place is another function's: the file was edited, or its code "
            "was rewritten"
        )
    _, node, owner = found
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    own = tuple(line.rstrip("\n") for line in lines[first - 1 : node.end_lineno])
    return Reading(_prepared(node, owner), code.co_filename, first, code.co_qualname, own)


@functools.lru_cache(maxsize=8)
def _outline(tree: ast.Module) -> tuple[list[int], list[ast.stmt]]:
    """The first lines of a module's statements, and what it imports by itself."""
    firsts = [
        min([each.lineno, *(d.lineno for d in getattr(each, "decorator_list", []))])
        for each in tree.body
    ]
    return firsts, list(_imports(tree))


def _candidates(
    tree: ast.Module, code: types.CodeType
) -> Iterator[tuple[ast.stmt, FunctionNode, str]]:
    """The functions of this name at this line: each with the statement of the module that has it,
    and the class around it.
    """
    line = code.co_firstlineno
    end = bisect.bisect_right(_outline(tree)[0], line)
    # Statements that end before this line stand before those that it is in.
    begin = end
    while begin and (tree.body[begin - 1].end_lineno or line) >= line:
        begin -= 1
    for statement in tree.body[begin:end]:
        for node, owner in _functions(statement):
            starts = [*getattr(node, "decorator_list", []), node][0]
            if starts.lineno == line and _name(node) == code.co_name:
                yield statement, node, owner


def _imports(tree: ast.Module) -> Iterator[ast.stmt]:
    """What a module imports by itself, not in its functions."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield node
        elif isinstance(node, ast.ImportFrom):
            if node.module != "__future__":
                yield node
        elif isinstance(node, ast.stmt | ast.excepthandler | ast.match_case) and not isinstance(
            node, FunctionNode | ast.ClassDef
        ):
            waiting += ast.iter_child_nodes(node)


def _functions(statement: ast.stmt) -> Iterator[tuple[FunctionNode, str]]:
    """Every function in a statement, and the name of the innermost class around each."""
    waiting: list[tuple[ast.AST, str]] = [(statement, "")]
    while waiting:
        node, owner = waiting.pop()
        if isinstance(node, FunctionNode):
            yield node, owner
        inner = node.name if isinstance(node, ast.ClassDef) else owner
        waiting += [(child, inner) for child in ast.iter_child_nodes(node)]


def _name(node: FunctionNode) -> str:
    """The name in the code object, where Python does not mangle it."""
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _matches(body: list[ast.stmt], node: FunctionNode, code: types.CodeType, mark: int) -> bool:
    """Whether a function compiles to this code, among these statements of its module: Python has
    other instructions for calls of what a module imports. ``mark`` is a line after all others.
    """
    decorators = getattr(node, "decorator_list", [])
    module = ast.Module(body, [])
    by = mark - node.lineno
    with LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            # Its code object is known by a line number that no function outside of it has. Its body
            # goes with it: where lines change, CPython 3.12 writes other instructions.
            _shift(node, by)
            if decorators:
                node.decorator_list = []  # type: ignore[union-attr]
            flags = code.co_flags & _FUTURES
            compiled = compile(module, code.co_filename, "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
        finally:
            _shift(node, -by)
            if decorators:
                node.decorator_list = decorators  # type: ignore[union-attr]
    wanted = _without_positions(code)
    found = _codes_at(compiled, mark, code.co_name)
    return any(_without_positions(each) == wanted for each in found)


def _shift(node: FunctionNode, by: int) -> None:
    """Moves a function, without its parameters, by so many lines."""
    waiting: list[Any] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
    node.lineno += by
    node.end_lineno = (node.end_lineno or 0) + by
    while waiting:
        each = waiting.pop()
        if "lineno" in each._attributes:
            each.lineno += by
            if each.end_lineno is not None:
                each.end_lineno += by
        waiting += ast.iter_child_nodes(each)


def _codes_at(code: types.CodeType, line: int, name: str) -> Iterator[types.CodeType]:
    """The outermost code objects of this line and name: the function, not what makes the type
    parameters of a generic one, which has the function among its constants.
    """
    waiting = [code]
    while waiting:
        code = waiting.pop()
        if code.co_firstlineno == line and code.co_name == name:
            yield code
        else:
            waiting += [each for each in code.co_consts if isinstance(each, types.CodeType)]


def _without_positions(code: types.CodeType) -> tuple[types.CodeType, list[Any]]:
    """The code as it would be at another place, and that of each function in it: code objects
    compare constants by type, too.

    The codes in it stand beside it, since CPython compares those among constants twice, and so
    twice as often for each function that another is in. Bodies of classes are left out: from 3.13
    they hold their line as a number, and what runs one is refused in any case.
    """
    inner = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    constants = tuple(
        each.co_name if isinstance(each, types.CodeType) else each for each in code.co_consts
    )
    bare = code.replace(
        co_consts=constants, co_linetable=b"", co_firstlineno=1, co_filename="", co_qualname=""
    )
    return bare, [
        _without_positions(each) for each in inner if each.co_flags & inspect.CO_NEWLOCALS
    ]


def _encloses(node: FunctionNode, code: types.CodeType) -> bool:
    """Whether the code's columns are those of this function's body."""
    body = node.body if isinstance(node, ast.Lambda) else node.body[-1]
    start = (body.lineno, body.col_offset)
    end = (body.end_lineno, body.end_col_offset)
    spans = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if line is not None and column is not None and end_column
    ]
    return bool(spans) and all(start <= a and b <= end for a, b in spans[-1:])


def _prepared(node: FunctionNode, owner: str) -> FunctionNode:
    """The function without decorators, with private names as the class around it writes them."""
    prefix = owner.lstrip("_")
    if prefix and any(map(_is_private, _identifiers(node))):
        node = _Mangler(prefix).visit(copy.deepcopy(node))
    if isinstance(node, ast.Lambda) or not node.decorator_list:
        return node
    bare = copy.copy(node)
    bare.decorator_list = []
    return bare


# The fields of nodes that hold identifiers, of one or several. Python mangles them, but for the
# names of arguments in a call.
_NAMES = ("id", "attr", "arg", "name", "names", "asname", "rest")


def _identifiers(tree: ast.AST) -> Iterator[Any]:
    for node in ast.walk(tree):
        for field in _NAMES:
            value = getattr(node, field, None)
            yield from value if isinstance(value, list) else [value]


def _is_private(name: Any) -> bool:
    return isinstance(name, str) and name.startswith("__") and not name.endswith("__")


class _Mangler(ast.NodeTransformer):
    """Writes ``__x`` as ``_Class__x``, as Python does within a class."""

    def __init__(self, owner: str) -> None:
        self.owner = owner

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Every node, with its names."""
        if isinstance(node, ast.keyword):
            return super().generic_visit(node)
        for field in _NAMES:
            value = getattr(node, field, None)
            if isinstance(value, list):
                setattr(node, field, [self._mangled(each) for each in value])
            elif value is not None:
                setattr(node, field, self._mangled(value))
        return super().generic_visit(node)

    def _mangled(self, name: Any) -> Any:
        return f"_{self.owner}{name}" if _is_private(name) and "." not in name else name


def is_dispatching(f: Any) -> bool:
    """Whether this is what ``functools.singledispatch`` made."""
    return isinstance(f, types.FunctionType) and f.__code__ is DISPATCHING
