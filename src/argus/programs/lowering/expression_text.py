"""Functions of expressions as the language writes them."""

from __future__ import annotations

import math

from argus.ir.dtypes import DType, boolean
from argus.programs.tensors.numbers import neutral

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>",
}  # fmt: skip

COMBINE = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}


def type_name(dtype: DType) -> str:
    """What an author calls an element type."""
    return "boolean" if dtype == boolean else dtype.name


def number_text(value: float | int | bool) -> str:
    """A literal, or what is none: not a number."""
    if isinstance(value, float):
        if math.isnan(value):
            return "(ag.inf - ag.inf)"
        if math.isinf(value):
            return "ag.inf" if value > 0 else "-ag.inf"
    return repr(value)


def neutral_text(function: str, dtype: DType) -> str:
    """What changes no reduction of elements of a type."""
    return number_text(neutral(function, dtype))


def call_text(function: str, parts: list[str], module: str = "ag") -> str:
    """A function of texts that are atoms or in brackets."""
    if function in _INFIX:
        return f"({parts[0]} {_INFIX[function]} {parts[1]})"
    if function == "neg":
        return f"(-{parts[0]})"
    if function == "not":
        return f"(~{parts[0]})"
    if function == "fma" and module != "ag":  # numpy has none
        return f"({parts[0]} * {parts[1]} + {parts[2]})"
    return f"{module}.{function}({', '.join(bare(p) for p in parts)})"


def bare(text: str) -> str:
    """Without brackets around the whole."""
    if not text.startswith("(") or not text.endswith(")"):
        return text
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0 and i < len(text) - 1:
            return text
    return text[1:-1]
