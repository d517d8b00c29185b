"""A candidate as a kernel file that needs nothing else: its parameters as defaults."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.runs.records import Candidate, Value


def as_file(candidate: Candidate, title: str) -> str:
    """The candidate's source with its static parameters as the kernel's defaults.

    What is no literal in the language (the name of an inline function) stays as it is
    and is named in the comment at the top, as are parameters that the kernel lacks.
    """
    literals = {k: v for k, v in candidate.statics.items() if not isinstance(v, str)}
    text, set_ = _with_defaults(candidate.source, candidate.kernel, literals)
    rest = [f"{k}={v}" for k, v in candidate.statics.items() if k not in set_]
    head = [f"# {title}"]
    if rest:
        head.append(f"# To be passed as well: {', '.join(rest)}.")
    return "\n".join(head) + "\n" + text


def _with_defaults(
    source: str, kernel: str, statics: Mapping[str, Value]
) -> tuple[str, set[str]]:
    """The source with other defaults, and which parameters they are of."""
    tree = ast.parse(source)
    function = next(
        (
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.name == kernel
        ),
        None,
    )
    if function is None:
        return source, set()
    parameters = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    done: set[str] = set()
    # From the end, so that places before are not moved.
    for parameter, default in reversed(list(parameters)):
        value = statics.get(parameter.arg)
        if value is None or default is None or default.lineno != default.end_lineno:
            continue
        line = lines[default.lineno - 1]
        before, after = line[: default.col_offset], line[default.end_col_offset :]
        lines[default.lineno - 1] = before + repr(value).encode() + after
        done.add(parameter.arg)
    return b"".join(lines).decode(), done
