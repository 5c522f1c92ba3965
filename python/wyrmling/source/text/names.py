"""Which names of a function are its own, as Python's compiler decides it.

A name that is bound anywhere in a function is local to it, unless it is declared otherwise; one
that a nested function takes from it lives in a cell. A comprehension is a scope of its own: its
names are renamed where they could be mistaken for the function's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(slots=True)
class Scope:
    """The names of a function: its own, those in cells, and those that it takes from outside."""

    parameters: list[str] = field(default_factory=list)
    own: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    inner: set[str] = field(default_factory=set)
    yields: bool = False

    @property
    def cells(self) -> set[str]:
        """Its own names that nested functions use."""
        return self.own & self.inner

    @property
    def free(self) -> set[str]:
        """What is not its own, nor declared global: a cell of a function around it, or a global."""
        return (self.used | self.inner | self.nonlocals) - self.own - self.globals


def parameters(arguments: ast.arguments) -> list[str]:
    """The names of the parameters, in the order of the code object's."""
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    stars = [star for star in (arguments.vararg, arguments.kwarg) if star is not None]
    return [one.arg for one in (*given, *stars)]


def scope(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Scope:
    """The names of a function."""
    found = Scope(parameters(node.args))
    found.own |= set(found.parameters)
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    for part in body:
        _visit(part, found)
    found.own -= found.globals | found.nonlocals
    return found


def _outside(node: ast.AST) -> Iterator[ast.AST]:
    """What of a nested function is evaluated where it is defined."""
    assert isinstance(node, FUNCTIONS)
    yield from node.args.defaults
    yield from (default for default in node.args.kw_defaults if default is not None)
    if not isinstance(node, ast.Lambda):
        yield from node.decorator_list


def _visit(node: ast.AST, found: Scope) -> None:
    if isinstance(node, FUNCTIONS):
        if not isinstance(node, ast.Lambda):
            found.own.add(node.name)
        found.inner |= scope(node).free
        for part in _outside(node):
            _visit(part, found)
        return
    if isinstance(node, ast.ClassDef):
        found.own.add(node.name)
        for name in ast.walk(node):
            if isinstance(name, ast.Name):
                found.inner.add(name.id)
        return
    if isinstance(node, COMPREHENSIONS):
        _comprehension(node, found)
        return
    if isinstance(node, ast.Name):
        (found.used if isinstance(node.ctx, ast.Load) else found.own).add(node.id)
    elif isinstance(node, ast.Global):
        found.globals |= set(node.names)
    elif isinstance(node, ast.Nonlocal):
        found.nonlocals |= set(node.names)
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        found.own.add(node.name)
    elif isinstance(node, ast.MatchMapping) and node.rest:
        found.own.add(node.rest)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        found.own |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    elif isinstance(node, ast.Yield | ast.YieldFrom):
        found.yields = True
    for child in ast.iter_child_nodes(node):
        _visit(child, found)


def targets(node: ast.AST) -> set[str]:
    """The names that the ``for`` clauses of a comprehension bind."""
    assert isinstance(node, COMPREHENSIONS)
    return {
        name.id
        for generator in node.generators
        for name in ast.walk(generator.target)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }


def _comprehension(node: ast.AST, found: Scope) -> None:
    """A comprehension: names that it binds are its own, but those that ``:=`` binds are not."""
    inside = Scope()
    for child in ast.iter_child_nodes(node):
        _visit(child, inside)
    bound = targets(node)
    walrus = {
        part.target.id
        for part in ast.walk(node)
        if isinstance(part, ast.NamedExpr) and isinstance(part.target, ast.Name)
    }
    found.own |= walrus - bound
    found.used |= inside.used - bound
    found.inner |= inside.inner - bound
    found.yields = found.yields or inside.yields


def captured(node: ast.AST) -> set[str]:
    """The names that a comprehension binds and that functions inside of it use."""
    inside = Scope()
    for child in ast.iter_child_nodes(node):
        _visit(child, inside)
    return targets(node) & inside.inner


def stored(nodes: list[ast.stmt]) -> set[str]:
    """The names that statements bind themselves."""
    inside = Scope()
    for node in nodes:
        _visit(node, inside)
    return inside.own
