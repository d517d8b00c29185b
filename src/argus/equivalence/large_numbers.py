"""Whether a reference writes large finite numbers, which stand for infinity as a rule.

What a kernel adds and takes away again itself (`x + 1e30 - 1e30`) is no number that
is meant; what its reference writes, too, is.
"""

from __future__ import annotations

import ast
from math import inf

from argus.lang.frontend.declarations import FunctionDecl
from argus.terms.literals import STAND_IN

__all__ = ["writes_large_numbers"]


def writes_large_numbers(declared: FunctionDecl) -> bool:
    """Whether one stands in a function, or in a constant of its file that it names."""
    constants = declared.env.constants
    for node in ast.walk(declared.node):
        if isinstance(node, ast.Name) and node.id in constants:
            if any(map(_is_large, ast.walk(constants[node.id]))):
                return True
        elif _is_large(node):
            return True
    return False


def _is_large(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "finfo"
    if not isinstance(node, ast.Constant) or not isinstance(node.value, int | float):
        return False
    return STAND_IN <= abs(node.value) < inf
