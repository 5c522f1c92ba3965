"""Shrinks the text of a program: the smallest one found that still does what it is watched for.

Statements are dropped, a compound statement is replaced by what it contains, and an expression by a
part of it or by a number, for as long as the program keeps its fault. Nothing is known of how the
program was made, so any text of Python can be shrunk.
"""

import ast
import copy
import warnings

BODIES = ("body", "orelse", "handlers", "finalbody", "cases")


def shrunk(text, fails, most=2000):
    """The shortest program found from ``text`` for which ``fails(text)`` holds, as it does for
    ``text``; at most so many are tried.
    """
    tried = {text}
    going = True
    while going:
        going = False
        for candidate in candidates(text):
            if candidate in tried or len(candidate) >= len(text) + 4:
                continue
            if len(tried) >= most:
                return text
            tried.add(candidate)
            if fails(candidate):
                text, going = candidate, True
                break
    return text


def candidates(text):
    """Programs that are a little smaller, the much smaller ones first."""
    tree = ast.parse(text)
    for count in (len(_statements(tree)), len(_expressions(tree))):
        change = _without_statement if count == len(_statements(tree)) else _with_part
        for at in range(count):
            yield from change(tree, at)


def _written(tree):
    try:
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            compile(text, "<candidate>", "exec")
    except (SyntaxError, ValueError, AttributeError):
        return []
    return [text]


def _statements(tree):
    """Each list of statements, with the place of each statement in it; the longest first."""
    found = []
    for node in ast.walk(tree):
        for field in BODIES:
            body = getattr(node, field, None)
            if isinstance(body, list):
                found += [(body, k, field) for k in range(len(body))]
    return found


def _without_statement(tree, at):
    def changed(put):
        other = copy.deepcopy(tree)
        body, k, field = _statements(other)[at]
        return _written(other) if put(body, k, field) else []

    def dropped(body, k, field):
        del body[k]
        if not body and field == "body":
            body.append(ast.Pass())
        return True

    def opened(inner):
        def put(body, k, field):
            statement = body[k]
            if isinstance(statement, ast.FunctionDef) or not getattr(statement, inner, None):
                return False
            body[k : k + 1] = getattr(statement, inner)
            return True

        return put

    if not isinstance(_statements(tree)[at][0][_statements(tree)[at][1]], ast.Pass):
        yield from changed(dropped)
    for inner in ("body", "orelse", "finalbody"):
        yield from changed(opened(inner))


def _expressions(tree):
    """Each expression that is read, by its parent, field, and place in a list or None."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments | ast.MatchValue):
            continue
        for field, value in ast.iter_fields(node):
            many = isinstance(value, list)
            for k, part in enumerate(value if many else [value]):
                if not isinstance(part, ast.expr) or (many and field == "targets"):
                    continue
                if isinstance(getattr(part, "ctx", None), ast.Store) or field in ("func", "target"):
                    continue
                found.append((node, field, k if many else None))
    return found


def _with_part(tree, at):
    node, field, k = _expressions(tree)[at]
    expression = getattr(node, field) if k is None else getattr(node, field)[k]
    parts = [part for part in ast.iter_child_nodes(expression) if isinstance(part, ast.expr)]
    if not isinstance(expression, ast.Constant | ast.Name):
        parts += [ast.Constant(1.0), ast.Constant(2), ast.Name("x", ast.Load())]
    elif isinstance(expression, ast.Name):
        parts = [ast.Constant(1.0), ast.Constant(2)]
    else:
        parts = [ast.Constant(1.0)] if expression.value not in (1.0, 2, None) else []
    for part in parts:
        other = copy.deepcopy(tree)
        parent, name, place = _expressions(other)[at]
        if place is None:
            setattr(parent, name, copy.deepcopy(part))
        else:
            getattr(parent, name)[place] = copy.deepcopy(part)
        yield from _written(other)
