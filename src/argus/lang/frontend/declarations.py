"""What a kernel file declares: functions, and what its names stand for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from argus.diagnostics import SourceText
from argus.lang.frontend.bounded import bounded
from argus.lang.kernel import InlineFunction

__all__ = [
    "FunctionDecl",
    "FunctionKind",
    "HostValue",
    "ImportedName",
    "LanguageModule",
    "LanguageName",
    "ModuleEnv",
]

FunctionKind = Literal["kernel", "inline", "reference", "baseline"]


@dataclass(frozen=True, slots=True)
class LanguageModule:
    """`import argus as ag`."""


@dataclass(frozen=True, slots=True)
class LanguageName:
    """`from argus import bf16`."""

    name: str


@dataclass(frozen=True, slots=True)
class ImportedName:
    """`from argus.kernels.common import scale`: a name of another source file."""

    file: Path
    name: str


@dataclass(frozen=True, slots=True)
class HostValue:
    """What Python has bound the name to, for decorated kernels only."""

    value: object


@dataclass(eq=False)
class FunctionDecl:
    """A function of a file, as syntax."""

    name: str
    node: ast.FunctionDef
    kind: FunctionKind
    env: ModuleEnv

    @staticmethod
    def of(node: ast.FunctionDef, kind: FunctionKind, env: ModuleEnv) -> FunctionDecl:
        """A function as it stands in a file; a reference is Python, and stays so."""
        if kind != "reference":
            node = bounded(node)
        return FunctionDecl(node.name, node, kind, env)


@dataclass(eq=False)
class ModuleEnv:
    """What the names of a file stand for."""

    source: SourceText
    functions: dict[str, FunctionDecl] = field(default_factory=dict[str, FunctionDecl])
    constants: dict[str, ast.expr] = field(default_factory=dict[str, ast.expr])
    imports: dict[str, LanguageModule | LanguageName | ImportedName] = field(
        default_factory=dict[str, LanguageModule | LanguageName | ImportedName]
    )
    host: Mapping[str, object] = field(default_factory=dict[str, object])
    """What names were bound to when the file was read, of a decorated function."""
    bound: Callable[[str], object] | None = None
    """What a name of these is bound to when it is called."""

    def lookup(
        self, name: str
    ) -> (
        FunctionDecl | ast.expr | LanguageModule | LanguageName | ImportedName
        | HostValue | None
    ):  # fmt: skip
        """What a name stands for at module level; None where there is no such name."""
        if isinstance(self.host.get(name), InlineFunction):
            return HostValue(self.host[name])  # which has names of its own
        if name in self.functions:
            return self.functions[name]
        if name in self.imports:
            return self.imports[name]
        if name in self.host:
            return HostValue(self.host[name])
        return self.constants.get(name)

    def names(self) -> set[str]:
        """Every name of the file, for suggestions."""
        return {*self.functions, *self.imports, *self.constants}
