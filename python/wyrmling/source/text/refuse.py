"""Which constructs of Python are read, and what to write instead of the others.

``TABLE`` has every class of node in ``ast``, of CPython 3.11 to 3.14. The abstract interpreter has
a handler for each that is supported, ``docs/source.md`` lists them, and tests compare the three.
"""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass
from typing import Any, Protocol

# The folder of the package that reads functions.
_HERE = os.path.dirname(os.path.dirname(__file__))


class Unreadable(Exception):
    """Something cannot be read; the message says why. Users see it as a SourceError."""


class SourceError(NotImplementedError):
    """A function that was to be read has something in it that is not supported.

    ``filename``, ``lineno`` and ``offset`` (from 1, as SyntaxError has them) say where, ``text`` is
    the line, ``construct`` names what is not supported, ``advice`` says what to write instead.
    """

    filename: str | None = None
    lineno: int | None = None
    offset: int | None = None
    text: str | None = None
    construct: str = ""
    advice: str = ""


class Unsettled(SourceError):
    """It can be read for arrays of the lengths at hand alone, which is slower than tracing."""


class Text(Protocol):
    """What an error has to know of a function that was read."""

    @property
    def file(self) -> str:
        """The file, as Python names it."""

    @property
    def name(self) -> str:
        """The function's qualified name."""

    def line(self, number: int) -> str:
        """A line by its number in the file."""


def at(text: Text, node: ast.AST, construct: str, advice: str = "") -> SourceError:
    """The error that a construct of a function is not supported, with a caret under it."""
    line = getattr(node, "lineno", 0)
    message = f"{text.file}:{line}: in {text.name}: {construct} is not supported"
    column, written = None, text.line(line)
    if written:
        start = getattr(node, "col_offset", 0)
        one_line = getattr(node, "end_lineno", line) == line
        end = getattr(node, "end_col_offset", None) if one_line else None
        # Columns count the bytes of UTF-8.
        encoded = written.encode()
        before = encoded[:start].decode(errors="replace")
        marked = encoded[start:end].decode(errors="replace").rstrip()
        column = len(before) + 1
        indent = len(before) - len(before.lstrip())
        shown = written.strip()
        caret = " " * (len(before) - indent) + "^" * max(1, len(marked))
        message += f"\n    {shown}\n    {caret}"
    if advice:
        message += f"\n  {advice}"
    error = SourceError(message)
    error.filename, error.lineno, error.offset = text.file, line, column
    error.text, error.construct, error.advice = written or None, construct, advice
    return error


def unreadable(name: str, reason: str, file: str | None = None, line: int = 0) -> SourceError:
    """The error that a function cannot be read at all."""
    where = f"{file}:{line}: " if file else ""
    error = SourceError(
        f"{where}{name} cannot be read: {reason}\n  use mode='trace', which runs the function"
    )
    error.filename, error.lineno = file, line or None
    error.construct, error.advice = name, "use mode='trace', which runs the function"
    return error


def fault(f: Any, error: Exception) -> Exception:
    """The error for one that was met while a function was read: a refusal if it is a fault of the
    reader, such as a program that is not well formed; otherwise that error, as of what was called.
    """
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    own = at is not None and at.tb_frame.f_code.co_filename.startswith(_HERE + os.sep)
    if not own or isinstance(error, MemoryError):
        return error
    name = getattr(f, "__qualname__", type(f).__qualname__)
    found = unreadable(
        name, f"reading it fails ({type(error).__name__}: {error}), which is a fault"
    )
    found.__cause__ = error
    return found


def unsupported(construct: str) -> SourceError:
    """The error that something has no place in the text of the function."""
    error = SourceError(f"{construct} is not supported\n  use mode='trace'")
    error.construct, error.advice = construct, "use mode='trace'"
    return error


def without_modes(error: SourceError, otherwise: str) -> SourceError:
    """The error for what has no ``mode="trace"``, where that is what the error advises."""
    if "mode='trace'" not in error.advice:
        return error
    advice = error.advice.replace(", or mode='trace'", "").replace("use mode='trace', or ", "")
    if "mode='trace'" in advice:
        advice = otherwise
    found = SourceError(str(error).removesuffix(error.advice) + advice)
    found.__dict__.update(error.__dict__, advice=advice)
    return found


@dataclass(frozen=True)
class Entry:
    """A class of ``ast``: what it is called, and, if it is refused, what to write instead."""

    construct: str
    advice: str | None = None
    limits: str = ""

    @property
    def is_supported(self) -> bool:
        """Whether functions with it are read."""
        return self.advice is None


def refusal(text: Text, node: ast.AST) -> SourceError | None:
    """The error for a construct that the table refuses, or that Python has gained since."""
    entry = TABLE.get(type(node).__name__)
    if entry is None:
        name = type(node).__name__
        return at(text, node, f"{name}, which is new in Python,", "use mode='trace'")
    return None if entry.advice is None else at(text, node, entry.construct, entry.advice)


def _group(kind: str, entries: dict[str, Entry | str]) -> dict[str, Entry]:
    GROUPS[kind] = list(entries)
    return {
        name: Entry(entry) if isinstance(entry, str) else entry for name, entry in entries.items()
    }


def _refused(construct: str, advice: str) -> Entry:
    return Entry(construct, advice)


GROUPS: dict[str, list[str]] = {}
"""The classes by kind, in the order in which the documentation lists them."""

_ASYNC = "read what is awaited before, and give it to a plain function"
_TRACE = "use mode='trace', or write it outside of the function"

TABLE: dict[str, Entry] = {}
"""What is known of every class of ``ast``, by its name."""

TABLE |= _group(
    "Functions",
    {
        "FunctionDef": Entry(
            "def",
            limits="default, keyword and starred arguments; decorators of nested functions "
            "are called",
        ),
        "Lambda": "lambda",
        "arguments": "the parameters of a function",
        "arg": "a parameter",
        "Return": "return, several and early ones",
        "Nonlocal": "nonlocal",
        "Global": Entry("global", limits="to read; assignment is refused"),
        "AsyncFunctionDef": _refused("async def", _ASYNC),
        "Await": _refused("await", _ASYNC),
        "Yield": Entry(
            "yield", limits="of generators that are gone through once; not within try or with"
        ),
        "YieldFrom": "yield from",
        "ClassDef": _refused("class within a function", "define it outside of the function"),
    },
)
TABLE |= _group(
    "Statements",
    {
        "Assign": Entry("assignment", limits="chained, and to tuples and starred names"),
        "AugAssign": "augmented assignment, such as +=",
        "AnnAssign": "annotated assignment",
        "NamedExpr": "the walrus, :=",
        "Starred": "a starred name or argument",
        "Delete": "del",
        "If": "if, elif, else",
        "While": "while, with else",
        "For": Entry("for, with else", limits="what is iterated has a length known when it begins"),
        "Break": "break",
        "Continue": "continue",
        "Pass": "pass",
        "Expr": "an expression by itself",
        "Assert": "assert",
        "Raise": Entry(
            "raise",
            limits="to a handler of the text, also of a caller; else it leaves: the function "
            "itself is run, and raises",
        ),
        "Try": Entry(
            "try",
            limits="handlers see what the text, also of calls, and math raise; "
            "for what else, the function is run",
        ),
        "ExceptHandler": "except",
        "TryStar": _refused("try with except*", "test for the condition with if, before"),
        "With": Entry("with", limits="of classes written in Python, and of np.errstate"),
        "withitem": "with",
        "AsyncFor": _refused("async for", _ASYNC),
        "AsyncWith": _refused("async with", _ASYNC),
        "Import": Entry("import", limits="of modules that are loaded already"),
        "ImportFrom": Entry("from … import", limits="of modules that are loaded already"),
        "alias": "as, of an import",
        "TypeAlias": _refused("type", "define the type outside of the function"),
    },
)
TABLE |= _group(
    "Expressions",
    {
        "Constant": "numbers, strings, True, False, None and ...",
        "Name": "a name",
        "BinOp": "arithmetic",
        "UnaryOp": "-x, +x, ~x, not x",
        "BoolOp": "and, or",
        "Compare": "comparisons, also chained",
        "IfExp": "a if condition else b",
        "Call": Entry("a call", limits="of what is read, differentiable, or pure"),
        "keyword": "an argument by keyword",
        "Attribute": "an attribute",
        "Subscript": "an item or slice",
        "Slice": "a slice",
        "Tuple": "a tuple",
        "List": "a list",
        "Dict": "a dict",
        "ListComp": "a list comprehension",
        "DictComp": "a dict comprehension",
        "GeneratorExp": Entry("a generator expression", limits="that is gone through once"),
        "comprehension": "for and if of a comprehension",
        "JoinedStr": Entry("an f-string", limits="it can be printed, joined and returned"),
        "FormattedValue": "a field of an f-string",
        "Set": Entry("a set", limits="of what is known; it is looked into, not gone through"),
        "SetComp": Entry("a set comprehension", limits="as a set"),
        "TemplateStr": _refused("a template string", "use an f-string outside of the function"),
        "Interpolation": _refused("a template string", "use an f-string outside of the function"),
    },
)
TABLE |= _group(
    "Patterns",
    {
        "Match": "match",
        "match_case": "case",
        "MatchValue": "a value as a pattern",
        "MatchSingleton": "True, False or None as a pattern",
        "MatchSequence": "a sequence as a pattern",
        "MatchStar": "a starred name in a pattern",
        "MatchAs": "a name in a pattern",
        "MatchOr": "alternatives, |",
        "MatchClass": Entry("a class as a pattern", limits="of classes of data"),
        "MatchMapping": "a dict as a pattern",
    },
)
TABLE |= _group(
    "Operators",
    {
        "Add": "+",
        "Sub": "-",
        "Mult": "*",
        "Div": "/",
        "FloorDiv": "//",
        "Mod": "%",
        "Pow": "**",
        "MatMult": "@",
        "LShift": "<<",
        "RShift": ">>",
        "BitOr": "|",
        "BitXor": "^",
        "BitAnd": "&",
        "Invert": "~",
        "Not": "not",
        "UAdd": "+x",
        "USub": "-x",
        "And": "and",
        "Or": "or",
        "Eq": "==",
        "NotEq": "!=",
        "Lt": "<",
        "LtE": "<=",
        "Gt": ">",
        "GtE": ">=",
        "Is": "is",
        "IsNot": "is not",
        "In": "in",
        "NotIn": "not in",
        "Load": "reading",
        "Store": "assigning",
        "Del": "deleting",
    },
)
TABLE |= _group(
    "What no function contains, or has no effect",
    {
        "Module": _refused("a module", _TRACE),
        "Interactive": _refused("a statement of the prompt", _TRACE),
        "Expression": _refused("what is evaluated", _TRACE),
        "FunctionType": _refused("a type comment", _TRACE),
        "TypeIgnore": _refused("a type comment", _TRACE),
        "TypeVar": _refused("a type parameter that is used", "write the type itself"),
        "TypeVarTuple": _refused("a type parameter that is used", "write the type itself"),
        "ParamSpec": _refused("a type parameter that is used", "write the type itself"),
    },
)

# Classes that others are derived from: no node is of one of them alone.
ABSTRACT = frozenset(
    {"AST", "mod", "stmt", "expr", "expr_context", "boolop", "operator", "unaryop", "cmpop"}
    | {"excepthandler", "pattern", "type_ignore", "type_param", "slice"}
)

# Classes that stay for the sake of old programs: no parser makes a node of them.
NEVER_MADE = frozenset(
    {"Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice", "Suite"}
    | {"AugLoad", "AugStore", "Param"}
)
