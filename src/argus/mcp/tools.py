"""The tools: one for each row of the table of operations (`argus.agent.operations`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import ToolAnnotations
from pydantic import Field

from argus.agent.operation import Operation, Parameter
from argus.agent.operations import OPERATIONS
from argus.mcp.calls import Caller

ASKING = ToolAnnotations(read_only_hint=True, open_world_hint=False)
MOVING = ToolAnnotations(
    read_only_hint=False,
    destructive_hint=False,
    idempotent_hint=False,
    open_world_hint=False,
)

_KERNEL = (
    Parameter("file", str, "", "Path of a kernel file. Parsed, never executed."),
    Parameter("source", str, "", "The kernel file itself, as text, instead of a path."),
)
"""How a tool is given a kernel, where a command has a file."""


def tools_of(caller: Caller) -> dict[str, tuple[Callable[..., Any], ToolAnnotations]]:
    """The tools by name, with what clients may know of their effects."""
    return {
        name: (_tool(caller, operation), MOVING if operation.moves else ASKING)
        for name, operation in OPERATIONS.items()
    }


def _tool(caller: Caller, operation: Operation) -> Callable[..., Any]:
    """A function with the signature from which a tool's schemas are made."""

    async def called(ctx: Context[Any, Any], **given: Any) -> Any:
        return await caller.call(ctx, operation, given)

    kernel = _KERNEL if operation.kernel else ()
    kinds = {p.name: _annotated(p) for p in (*kernel, *operation.parameters)}
    defaults = {p.name: p.default for p in (*kernel, *operation.parameters)}
    one = inspect.Parameter.POSITIONAL_OR_KEYWORD
    context = inspect.Parameter("ctx", one, annotation=Context[Any, Any])
    others = [
        inspect.Parameter(n, one, annotation=kind, default=defaults[n])
        for n, kind in kinds.items()
    ]
    answer = operation.answer
    called.__name__ = operation.name
    called.__doc__ = operation.says
    called.__annotations__ = {"ctx": Context[Any, Any], **kinds, "return": answer}
    signature = inspect.Signature([context, *others], return_annotation=answer)
    called.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return called


def _annotated(parameter: Parameter) -> Any:
    """The type of an argument, with its description and bounds."""
    words = " ".join(w for w in (parameter.help, parameter.more) if w)
    facts: dict[str, Any] = {}
    if words:
        facts["description"] = words
    if parameter.least is not None:
        facts |= {"ge": parameter.least, "le": parameter.most, "allow_inf_nan": False}
        if parameter.kind in (int, int | None):
            del facts["allow_inf_nan"]  # said of real numbers only
    return Annotated[parameter.kind, Field(**facts)]
