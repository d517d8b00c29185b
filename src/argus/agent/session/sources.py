"""From a text that an agent hands in to a candidate. Nothing is executed.

It is parsed. Which kernel of it is meant, which static parameters the file itself
cannot carry, and whether the kernel is a point of the task's design space (then its
time teaches the planner) is found out here. Whether it is a program of the language at
all, the judge says.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.space import FORM, Design
from argus.diagnostics import fail
from argus.kernels.space import DesignSpace, source_text
from argus.runs.records import Candidate, FileProblem, Task, Value


def candidate_of(
    source: str,
    task: Task,
    space: DesignSpace,
    parent: Candidate,
    kernel: str | None = None,
    statics: Mapping[str, Value] | None = None,
    wanted: str = "",
) -> Candidate:
    """The candidate that a source is. ``statics`` override the file's defaults.

    Of a file with several kernels it is the one that is named, else that of the name
    ``wanted`` (of the form that was proposed), else that of the parent's name.

    Raises ArgusError AG0011 where it is not clear which kernel of the file is meant. A
    text that is no Python is a candidate, too: the judge has the words for it.
    """
    tree = _parsed(source)
    if tree is None:
        given = dict(statics or {})
        return Candidate(
            source=source, kernel=kernel or parent.kernel, statics=given, design={}
        )
    name = kernel or _kernel(tree, (wanted, parent.kernel))
    function = _function(tree, name)
    own = _defaults(function) if function is not None else {}
    # What a file cannot carry goes on from the kernel that was changed: an inline
    # function, which is named and not written as a literal.
    kept = {
        k: v
        for k, v in {**task.start.statics, **parent.statics}.items()
        if isinstance(v, str) and k in own
    }
    given = {**kept, **(statics or {})}
    made = Candidate(source=source, kernel=name, statics=given)
    design = _design(made, tree, own, task, space)
    return made.model_copy(update={"design": design or {}})


# ---------------------------------------------------------------- the kernel of a file


def _parsed(source: str) -> ast.Module | None:
    """The syntax tree; None for what is no Python, or too deep to be read."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _kernel(tree: ast.Module, usual: tuple[str, str]) -> str:
    """The kernel that is meant: the only one, or the first of the usual names."""
    names = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any("kernel" in _last_name(d) for d in node.decorator_list)
    ]
    if len(names) == 1:
        return names[0]
    if not names:
        return usual[-1]
    for name in usual:
        if name in names:
            return name
    raise fail(
        "AG0011",
        None,
        "the file has several kernels, and none is named",
        help=f"name one of {', '.join(names)}",
    )


def _last_name(decorator: ast.expr) -> str:
    """``kernel`` of ``@ag.kernel`` and of ``@ag.kernel(...)``."""
    match decorator:
        case ast.Call(func=func):
            return _last_name(func)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _function(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    found = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name)
    return next(found, None)


def _defaults(function: ast.FunctionDef) -> dict[str, Value | None]:
    """Static parameters with their defaults; None for what is no literal."""
    arguments = function.args
    found: dict[str, Value | None] = {}
    for parameter, default in zip(
        arguments.kwonlyargs, arguments.kw_defaults, strict=True
    ):
        value: object = None
        if default is not None:
            try:
                value = ast.literal_eval(default)
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                value = None
        kept = value if isinstance(value, bool | int | float | str) else None
        found[parameter.arg] = kept
    return found


# ------------------------------------------------------------------------- its design


def _design(
    made: Candidate,
    tree: ast.Module,
    own: Mapping[str, Value | None],
    task: Task,
    space: DesignSpace,
) -> Design | None:
    """The point of the design space that a candidate is; None if it is none.

    It is one if, but for comments and defaults, its text is that of a form.
    """
    shape = _shape(tree, made.kernel)
    if shape is None:
        return None
    values = {**own, **made.statics}
    for form, knobs in _forms(task, space, made.kernel):
        if _shape(_parsed(form.source), made.kernel) != shape:
            continue
        design: Design = {FORM: form.design[FORM]}
        for knob in knobs:
            value = values.get(knob)
            if type(value) is not type(form.design[knob]):
                return None
            assert value is not None
            design[knob] = value
        others = {k: v for k, v in form.statics.items() if k not in knobs}
        if any(values.get(k) != v for k, v in others.items()):
            return None
        return design if space.invalid(design, task.problem) is None else None
    return None


def _forms(
    task: Task, space: DesignSpace, kernel: str
) -> list[tuple[Candidate, tuple[str, ...]]]:
    """Candidates of the forms with a kernel of that name, with their knobs."""
    problem = task.problem
    if isinstance(problem, FileProblem):
        start = space.candidate(space.start(problem), problem)
        knobs = tuple(k for k in start.design if k != FORM)
        return [(start, knobs)] if start.kernel == kernel else []
    found: list[tuple[Candidate, tuple[str, ...]]] = []
    for form in space.forms.values():
        if form.kernel == kernel:
            entered = space.entered(form.name, problem)
            knobs = tuple(form.defaults)
            made = space.candidate(
                {FORM: form.name, **form.defaults, **entered}, problem
            )
            source = source_text(form.package, form.file)
            found.append((made.model_copy(update={"source": source}), knobs))
    return found


def _shape(tree: ast.Module | None, kernel: str) -> str | None:
    """The tree as text, without the defaults of the kernel's static parameters."""
    function = None if tree is None else _function(tree, kernel)
    if tree is None or function is None:
        return None
    before = function.args.kw_defaults
    function.args.kw_defaults = [None for _ in before]
    try:
        return ast.dump(tree)
    except (RecursionError, MemoryError):
        return None
    finally:
        function.args.kw_defaults = before
