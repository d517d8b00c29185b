"""Loops as calls: a function with loops is compiled anew, so that they can be seen.

    [f(h) for h in range(H)]        __loops__.listed(lambda h: f(h), range(H))

    for h in range(H):              it = range(H)
        out[h] = f(h)               if __loops__.is_symbolic(it):
                                        def body(h, t): t = out[h] = ...; return (t,)
                                        (t,) = __loops__.repeated(it, body, ("t",), ...)
                                    else:
                                        for h in it: ...

A loop whose number of rounds is known stays the loop that it was. `if c: continue` is
`if c: pass` with the rest of the round as its `else`. Left as they are, and Unknown
over a symbolic size, are loops with `break`, any other `continue`, `return`, `else`,
comprehensions with conditions or several `for`, and sets and dictionaries.
"""

from __future__ import annotations

import ast
import copy
import dis
import itertools
import types
from collections.abc import Iterator
from typing import Any

from argus.specification.texts import definition_of

NAME = "__loops__"
_JUMPS = {*dis.hasjrel, *dis.hasjabs}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def has_loops(function: types.FunctionType) -> bool:
    """Whether a function may have loops: its code, or a code in it, iterates."""

    def iterates(code: types.CodeType) -> bool:
        if any(i.opname == "FOR_ITER" for i in dis.get_instructions(code)):
            return True
        inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
        return any(iterates(c) for c in inner)

    return iterates(function.__code__)


def loops_as_calls(
    function: types.FunctionType,
    names: dict[str, Any],
    cells: dict[str, Any],
    source: str | None,
) -> types.FunctionType | None:
    """The function compiled with its loops as calls, in these globals.

    ``cells``: what it uses of an enclosing function. ``source``: the text of its file.
    None where the text is not to be had, or is not that of the function.
    """
    node = definition_of(function, source)
    if node is None:
        return None
    node.decorator_list = []
    node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
    node.args.kw_defaults = [
        None if d is None else ast.Constant(None) for d in node.args.kw_defaults
    ]
    _without_annotations(node)
    plain = _compiled(node, function, cells, {})
    if not _same_code(plain.__code__, function.__code__):
        return None  # the text has changed, or is another function's
    return _compiled(_Rewriter().visit(node), function, cells, names)


def _compiled(
    node: ast.FunctionDef,
    function: types.FunctionType,
    cells: dict[str, Any],
    names: dict[str, Any],
) -> types.FunctionType:
    """The function that a definition makes, within one that has the cells."""
    text = f"def __around({', '.join(cells)}):\n    return {node.name}"
    around = ast.parse(text).body[0]
    assert isinstance(around, ast.FunctionDef)
    around.body.insert(0, copy.deepcopy(node))
    module = ast.fix_missing_locations(ast.Module([around], []))
    code = compile(module, function.__code__.co_filename, "exec")
    made: dict[str, Any] = {}
    exec(code, names, made)
    found = made["__around"](*cells.values())
    assert isinstance(found, types.FunctionType)
    return found


def _same_code(left: types.CodeType, right: types.CodeType) -> bool:
    """Whether two codes do the same, wherever they stand."""
    mine, other = list(_steps(left)), list(_steps(right))
    if len(mine) != len(other):
        return False
    for (op, a), (name, b) in zip(mine, other, strict=True):
        if isinstance(a, types.CodeType) and isinstance(b, types.CodeType):
            same = _same_code(a, b)
        else:
            same = type(a) is type(b) and repr(a) == repr(b)
        if op != name or not same:
            return False
    return left.co_varnames == right.co_varnames


def _steps(code: types.CodeType) -> Iterator[tuple[str, object]]:
    """Instructions, without what depends on where the code stands.

    A call of an imported module's function has other instructions than one of a method,
    and which names are imported stands in the rest of the file.
    """
    found = list(dis.get_instructions(code))
    for at, step in enumerate(found):
        if step.opname in ("CACHE", "EXTENDED_ARG", "NOP", "PUSH_NULL", "RESUME"):
            continue
        name = "LOAD_ATTR" if step.opname == "LOAD_METHOD" else step.opname
        value: object = step.argval
        if step.opcode in _JUMPS or name in ("CALL", "PRECALL"):
            value = step.arg if name == "CALL" else None
        follows = found[at + 1].opname if at + 1 < len(found) else ""
        if name == "LOAD_CONST" and follows == "MAKE_FUNCTION" and type(value) is str:
            value = None  # the qualified name of a function says where it stands
        yield name, value


def _without_annotations(node: ast.FunctionDef) -> None:
    """Annotations may name what only the file's types know."""
    node.returns = None
    arguments = node.args
    for argument in (
        *arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs,
        arguments.vararg, arguments.kwarg,
    ):  # fmt: skip
        if argument is not None:
            argument.annotation = None


class _Rewriter(ast.NodeTransformer):
    """Loops to calls, innermost first."""

    def __init__(self) -> None:
        self.count = itertools.count()

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        self.generic_visit(node)
        return _as_call(node) or node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """A generator that is all that a call is given is a list there."""
        self.generic_visit(node)
        if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            made = _as_call(node.args[0])
            if made is not None:
                node.args = [made]
        return node

    def visit_For(self, node: ast.For) -> ast.stmt | list[ast.stmt]:
        node.body = _without_continue(node.body)
        self.generic_visit(node)
        if node.orelse or _leaves(node.body) or not _is_simple(node.target):
            return node
        return self._split(node)

    def _split(self, node: ast.For) -> list[ast.stmt]:
        number = next(self.count)
        it, body = f"__it{number}", f"__body{number}"
        targets = sorted(_stored([node.target]))
        carried = sorted(_stored(node.body) - set(targets))
        keep = ast.parse(f"{it} = None").body[0]
        assert isinstance(keep, ast.Assign)
        keep.value = node.iter
        text = "\n".join(
            [
                f"if {NAME}.is_symbolic({it}):",
                f"    def {body}(__item, {', '.join(carried)}):",
                "        __target = __item",
                "        __statements",
                f"        return ({''.join(f'{c}, ' for c in carried)})",
                f"    ({''.join(f'{c}, ' for c in [*carried, *targets])}) = "
                f"{NAME}.repeated({it}, {body}, {carried!r}, {len(targets)}, "
                + f"[{''.join(f'lambda: {c}, ' for c in carried)}])",
                "else:",
                "    pass",
            ]
        )
        made = ast.parse(text).body[0]
        assert isinstance(made, ast.If)
        define = made.body[0]
        assert isinstance(define, ast.FunctionDef)
        take = define.body[0]
        assert isinstance(take, ast.Assign)
        take.targets = [copy.deepcopy(node.target)]
        define.body[1:2] = [copy.deepcopy(s) for s in node.body]
        plain = ast.For(node.target, ast.Name(it, ast.Load()), node.body, [])
        made.orelse = [plain]
        return [keep, made]


def _without_continue(body: list[ast.stmt]) -> list[ast.stmt]:
    """A body in which what follows on `if c: ...; continue` is its `else`."""
    for at, node in enumerate(body):
        if isinstance(node, ast.Continue):
            return body[:at] or [ast.Pass()]
        if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Continue):
            rest = _without_continue([*node.orelse, *body[at + 1 :]])
            then = node.body[:-1] or [ast.Pass()]
            return [*body[:at], ast.If(node.test, then, rest)]
    return body


def _as_call(node: ast.ListComp | ast.GeneratorExp) -> ast.expr | None:
    """`listed(lambda item: element, iterable)`, or None."""
    if len(node.generators) != 1:
        return None
    (generator,) = node.generators
    if generator.ifs or generator.is_async or not _is_simple(generator.target):
        return None
    if any(isinstance(n, ast.NamedExpr | ast.Await) for n in ast.walk(node.elt)):
        return None
    names = [n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)]
    nested = isinstance(generator.target, ast.Tuple)
    made = ast.parse(
        f"{NAME}.listed(lambda {', '.join(names)}: 0, 0, {nested})", mode="eval"
    ).body
    assert isinstance(made, ast.Call)
    function = made.args[0]
    assert isinstance(function, ast.Lambda)
    function.body = node.elt
    made.args[1] = generator.iter
    return made


def _is_simple(target: ast.expr) -> bool:
    """A name, or names in one pair of parentheses, each once."""
    if isinstance(target, ast.Name):
        return True
    if not isinstance(target, ast.Tuple):
        return False
    names = [e.id for e in target.elts if isinstance(e, ast.Name)]
    return len(names) == len(target.elts) == len(set(names))


def _inside(nodes: list[ast.stmt] | list[ast.expr]) -> Iterator[ast.AST]:
    """All nodes of the same scope."""
    todo: list[ast.AST] = list(nodes)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, _SCOPES):
            todo += ast.iter_child_nodes(node)


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether a body leaves its loop, waits, or declares names of other scopes."""
    kinds = (
        ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await,
        ast.Global, ast.Nonlocal, ast.Delete, ast.Try, ast.With, ast.While,
        ast.NamedExpr, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef,
    )  # fmt: skip
    return any(
        isinstance(n, kinds) and getattr(n, "name", "")[:6] != "__body"
        for n in _inside(body)
    )


def _stored(nodes: list[ast.stmt] | list[ast.expr]) -> set[str]:
    """Names that are assigned to, but those of comprehensions and rewritten loops."""
    inside = list(_inside(nodes))
    inner = {
        id(n)
        for c in inside
        if isinstance(c, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp)
        for g in c.generators
        for n in ast.walk(g.target)
    }
    return {
        n.id
        for n in inside
        if isinstance(n, ast.Name)
        and isinstance(n.ctx, ast.Store)
        and id(n) not in inner
        and not n.id.startswith("__it")
    }
