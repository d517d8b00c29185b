"""The syntax of a function, from its file or from the text of it that is given."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types


def definition_of(
    function: types.FunctionType, source: str | None
) -> ast.FunctionDef | None:
    """The syntax of a function, by its name and line."""
    line = function.__code__.co_firstlineno
    if source is None:
        try:
            text = textwrap.dedent(inspect.getsource(function))
        except (OSError, TypeError):
            return None
        line = None
    else:
        text = source
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if line is None or line == first:
                return node
    return None
