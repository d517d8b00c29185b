"""References that go on after any exception: what is not traced is one.

    try:
        order = np.unique(X)
    except Exception:
        return X * 0

numpy would go on here, and a trace in the handler. So a function that could hide from
the trace what is not traced says nothing.
"""

from __future__ import annotations

import ast
import builtins
import types
from typing import Any

from argus.specification.texts import definition_of
from argus.terms import Unknown


def refuse_hiding(function: types.FunctionType, source: str | None) -> None:
    """Raises Unknown for a function that goes on after exceptions of any kind.

    ``source``: the text of its file.
    """
    if function.__name__ == "<lambda>" or not _handles(function.__code__):
        return
    node = definition_of(function, source)
    if node is None:
        raise Unknown("the reference handles exceptions, and its text is not known")
    for inner in ast.walk(node):
        if isinstance(inner, ast.Try | ast.TryStar) and _goes_on(inner):
            raise Unknown(
                "the reference goes on after exceptions of any kind: what is not "
                "traced is one"
            )
        if isinstance(inner, ast.With | ast.AsyncWith) and not all(
            _is_errstate(item.context_expr) for item in inner.items
        ):
            raise Unknown("the reference uses `with` of what is not np.errstate")


def _handles(code: types.CodeType) -> bool:
    """Whether a code, or a code in it, has exceptions handled."""
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return bool(code.co_exceptiontable) or any(_handles(c) for c in inner)


def _goes_on(node: ast.Try | ast.TryStar) -> bool:
    """Whether a statement may end what is raised in it, whatever that is."""
    last = [n for s in node.finalbody for n in ast.walk(s)]
    return any(_is_broad(h.type) for h in node.handlers) or any(
        isinstance(n, ast.Return | ast.Break | ast.Continue) for n in last
    )


def _is_broad(kind: ast.expr | None) -> bool:
    """Whether a handler takes more than errors that it names."""
    match kind:
        case ast.Tuple():
            return any(_is_broad(e) for e in kind.elts)
        case ast.Name():
            named: Any = getattr(builtins, kind.id, Exception)
            return issubclass(Unknown, named)
        case ast.Attribute():  # of numpy: np.exceptions.AxisError
            return False
        case _:
            return True


def _is_errstate(value: ast.expr) -> bool:
    """`np.errstate(...)`, or the `errstate(...)` of numpy's own text."""
    if not isinstance(value, ast.Call):
        return False
    name = value.func
    return getattr(name, "attr", getattr(name, "id", "")) == "errstate"
