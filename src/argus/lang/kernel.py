"""Handles on kernels: where their source is, and how to get at what it declares.

A kernel comes from a decorated function of an imported module, or from a file that is
only parsed (`load_kernels`): then nothing of it is executed, whatever it contains.
Compiling and launching are not here: whoever can launch says so by `launch_by`.
"""

from __future__ import annotations

import ast
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Protocol

from argus.diagnostics import fail

if TYPE_CHECKING:
    from argus.lang.frontend.declarations import FunctionDecl
    from argus.lang.frontend.signature import Signature


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a decorated function stands. ``line`` is that of its first decorator."""

    file: str
    name: str
    line: int
    names: Callable[[], Mapping[str, object]]
    """What the function's global and captured names are bound to, when asked."""
    bound: Callable[[str], object]
    """What one of them is bound to; None: to nothing."""
    made: Callable[[], tuple[CodeType, FileState | None]] | None = None
    """What Python has made of it, and the state of its file then; None: nothing."""


FileState = tuple[int, ...]
"""What changes with the content of a file."""


def state_of(file: str) -> FileState | None:
    """The state of a file now; None where there is none."""
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def _origin(function: Callable[..., object]) -> Origin:
    code = getattr(function, "__code__", None)
    if code is None:
        raise fail(
            "AG0002",
            None,
            f"`{function!r}` is not a Python function with a source",
        )

    outer: dict[str, object] = getattr(function, "__globals__", {})
    cells = dict(
        zip(code.co_freevars, getattr(function, "__closure__", None) or (), strict=True)
    )

    def bound(name: str) -> object:
        if name not in cells:
            return outer.get(name)
        try:
            return cells[name].cell_contents
        except ValueError:  # not assigned yet
            return None

    def names() -> Mapping[str, object]:
        found = dict(outer)
        for name, cell in cells.items():
            with suppress(ValueError):  # not assigned yet
                found[name] = cell.cell_contents
        return found

    file = code.co_filename
    state = state_of(file)

    def made() -> tuple[CodeType, FileState | None]:
        return code, state

    return Origin(file, code.co_name, code.co_firstlineno, names, bound, made)


@dataclass(eq=False)
class InlineFunction:
    """A function marked `@ag.inline`, by its place in the source."""

    origin: Origin

    @staticmethod
    def of_function(function: Callable[..., object]) -> InlineFunction:
        """The handle of a decorated function.

        Raises ArgusError (AG0002) for what has no source.
        """
        return InlineFunction(_origin(function))

    @cached_property
    def declaration(self) -> FunctionDecl:
        """Its syntax tree. Raises ArgusError where the source is missing or wrong."""
        from argus.lang.frontend.module import declaration_of

        return declaration_of(self.origin)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Not possible: it has a meaning only inside kernels. Raises ArgusError."""
        raise fail(
            "AG0021",
            None,
            f"inline function `{self.origin.name}` was called outside a kernel",
            help="call it inside a function marked `@ag.kernel` or `@ag.inline`",
        )


@dataclass(eq=False)
class Kernel:
    """A kernel's source. ``file`` is a path, or the name of an in-memory source."""

    name: str
    file: str
    _declare: Callable[[], FunctionDecl] = field(repr=False)
    _declaration: FunctionDecl | None = field(default=None, repr=False)
    _signature: Signature | None = field(default=None, repr=False)
    _launcher: Launcher | None = field(default=None, repr=False)

    @staticmethod
    def of_function(function: Callable[..., object]) -> Kernel:
        """The kernel of a decorated function; its file is read when first needed.

        Raises ArgusError (AG0002) for what has no source.
        """
        origin = _origin(function)

        def declare() -> FunctionDecl:
            from argus.lang.frontend.module import declaration_of

            return declaration_of(origin)

        made = Kernel(origin.name, origin.file, declare)
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(made, name, getattr(function, name))
        return made

    def __reduce__(self) -> str:
        """By name, as functions are: another process imports it. Raises TypeError."""
        name: str | None = vars(self).get("__qualname__")
        if name is None:
            raise TypeError(f"kernel `{self.name}` of `{self.file}` is in no module")
        return name

    @property
    def declaration(self) -> FunctionDecl:
        """Its syntax tree. Raises ArgusError where the source is missing or wrong."""
        if self._declaration is None:
            self._declaration = self._declare()
        return self._declaration

    @property
    def signature(self) -> Signature:
        """Its parameters. Raises ArgusError where they are not those of a kernel."""
        if self._signature is None:
            from argus.lang.frontend.signature import read_signature

            self._signature = read_signature(self.declaration)
        return self._signature

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Prove and compile for the arguments where that is to be done, and launch.

        Raises ArgusError for arguments that do not fit, and with a counterexample for a
        kernel that is refuted; warns (ArgusWarning) of one that cannot be decided.
        """
        return (self._launcher or self.launcher)(args, kwargs, checking=True)

    def unchecked(self, *args: object, **kwargs: object) -> object:
        """The same call without a proof: a kernel that is wrong may hang or fault."""
        return self.launcher(args, kwargs, checking=False)

    @property
    def launcher(self) -> Launcher:
        """What its calls do; it belongs to this kernel, and lives as long.

        Raises ArgusError like `signature`.
        """
        if self._launcher is None:
            (make,) = _launchers
            with _making:
                self._launcher = self._launcher or make(self)
        return self._launcher


class Launcher(Protocol):
    """What calls of a kernel do; see `argus.calls.KernelCalls`."""

    def __call__(
        self, args: tuple[object, ...], named: Mapping[str, object], *, checking: bool
    ) -> object:
        """Prove, unless not ``checking``, compile and launch."""
        ...


_launchers: list[Callable[[Kernel], Launcher]] = []
_making = threading.Lock()


def launch_by(make: Callable[[Kernel], Launcher]) -> None:
    """Let kernels be launched by what this makes. The package does it when imported."""
    _launchers[:] = [make]


@dataclass(frozen=True, slots=True)
class Module:
    """What a file declares. ``references``: names of functions marked as reference."""

    file: str
    kernels: dict[str, Kernel]
    references: tuple[str, ...] = ()


def load_kernels(path: str | os.PathLike[str], text: str | None = None) -> Module:
    """Read the kernels of a file without executing anything of it.

    With `text` the source is that, and `path` only its name in diagnostics.

    Raises ArgusError: the file cannot be read (AG0002), is not Python (AG0001), has
    statements that a kernel file may not have (AG0003), or no kernel (AG0011).
    """
    from argus.lang.frontend.module import parse_module
    from argus.lang.frontend.texts import read_text

    name = os.fspath(path)
    source = read_text(Path(name)) if text is None else text
    env = parse_module(name, source, strict=True)

    def handle(decl: FunctionDecl) -> Kernel:
        return Kernel(decl.name, name, lambda: decl)

    kernels = {d.name: handle(d) for d in env.functions.values() if d.kind == "kernel"}
    if not kernels:
        raise fail(
            "AG0011",
            None,
            f"`{name}` contains no kernel",
            help="mark a function with `@ag.kernel`",
        )
    references = tuple(d.name for d in env.functions.values() if d.kind == "reference")
    return Module(name, kernels, references)


def literal(node: ast.expr | None) -> object:
    """The value of a default that is written as a literal, else None."""
    if node is None:
        return None
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None
