"""The reference of a kernel: the function of its file that says what it computes.

`NAME_reference` goes with the kernel NAME; in a file of one kernel, `reference` or the
only one does, too. A file is a list of declarations, so that executing it runs nothing
but what the reference is asked for.
"""

from __future__ import annotations

import inspect
import resource
import warnings
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import CodeType
from typing import Any, cast

import numpy as np

from argus.diagnostics import ArgusError, Span, fail
from argus.diagnostics.ending import REFERENCE, SECONDS, DidNotEnd, within
from argus.diagnostics.user_code import raised
from argus.equivalence.in_torch import array_of, as_tensors, is_in_torch
from argus.ir.dtypes import DType
from argus.lang.frontend.declarations import FunctionDecl
from argus.lang.frontend.signature import read_signature
from argus.lang.kernel import Kernel
from argus.specification.arguments import named_arguments

__all__ = [
    "Failed",
    "Reference",
    "Unusable",
    "as_given",
    "by_output",
    "executed",
    "load",
    "reference_of",
]


class Unusable(Exception):  # noqa: N818 - a result, not a fault
    """The reference says nothing of these arguments; says why."""


class Failed(Unusable):
    """The reference ends in an error."""


@dataclass(frozen=True)
class Reference:
    """A function that says what a kernel computes, and where it stands.

    ``parameters``: what it takes, by name: tensors, sizes and scalars of the kernel.
    """

    name: str
    span: Span
    function: Callable[..., Any]
    parameters: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    """Tensors that a call may leave out: None then, if the reference has no default."""
    text: str = ""
    """Of its whole file."""

    @cached_property
    def in_torch(self) -> bool:
        """Whether it is given tensors: read once, where it is called many times."""
        return is_in_torch(self.function)

    @cached_property
    def _required(self) -> tuple[str, ...]:
        """What it takes that has no default."""
        several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return tuple(
            name
            for name, found in inspect.signature(self.function).parameters.items()
            if found.default is inspect.Parameter.empty and found.kind not in several
        )

    @property
    def numbers(self) -> tuple[float, ...]:
        """Numbers in the text of the function, each once."""
        code = getattr(self.function, "__code__", None)
        return tuple(dict.fromkeys(_numbers(code)))

    def called(
        self,
        given: Mapping[str, Any],
        outputs: Sequence[str],
        sizes: Collection[str] = (),
    ) -> dict[str, Any]:
        """The outputs, as arrays. Raises :class:`Unusable` where it has none.

        ``given``: tensors, sizes and scalars by name; parameters that it lacks have
        their defaults. ``sizes``: which of these are sizes.
        """
        named = named_arguments(self.function, given, sizes, self.optional)
        named |= {n: given[n] for n in self.parameters if n in given}
        if absent := [n for n in self._required if n not in named]:
            raise Failed(
                f"{self.name} takes `{absent[0]}`, which is no tensor, size, scalar "
                f"or static parameter of the kernel"
            )
        bytes_ = sum(x.nbytes for x in named.values() if isinstance(x, np.ndarray))
        bounded = _bounded(max(_LEAST_BYTES, _TIMES * bytes_))
        code = getattr(self.function, "__code__", None)

        def run() -> Any:
            arrays = as_tensors(named) if self.in_torch else named
            with np.errstate(all="ignore", invalid="warn"), _casting(), bounded:
                return self.function(**arrays)

        try:
            result = within(SECONDS, run, (self.text, code))
        except DidNotEnd as why:
            raise Failed(f"{self.name} {why}") from why
        except (Exception, SystemExit) as error:  # it is the user's program
            raise Failed(f"{self.name} failed: {raised(error)}") from error
        found = by_output(result, outputs)
        if missing := [n for n in outputs if n not in found]:
            raise Unusable(f"{self.name} has no output {missing[0]}")
        return {n: np.asarray(array_of(found[n])) for n in outputs}


def _numbers(constant: object) -> Iterator[float]:
    """Numbers among the constants of code, and of functions and tuples in it."""
    match constant:
        case CodeType():
            for one in constant.co_consts:
                yield from _numbers(one)
        case tuple():
            for one in cast(tuple[object, ...], constant):
                yield from _numbers(one)
        case int() | float() if not isinstance(constant, bool):
            yield float(constant)
        case _:
            return


_LEAST_BYTES, _TIMES = 1 << 32, 64
"""What a reference may allocate beside what is there, and how many times its inputs."""


@contextmanager
def _bounded(most: int) -> Generator[None]:
    """A limit on bytes of memory: an entry of a table may be the size of an array.

    ``np.bincount`` of an entry near 2**31 would take 16 GiB, and is a MemoryError so.
    """
    try:
        text = Path("/proc/self/statm").read_text()
    except OSError:  # of another system: there is no limit
        yield
        return
    used = int(text.split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most += used
    if soft != resource.RLIM_INFINITY:
        most = min(most, soft)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextmanager
def _casting() -> Generator[None]:
    """Raises Unusable for a float that is cut to an integer that cannot hold it.

    What numpy makes of it depends on the machine.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if "encountered in cast" in str(warning.message):
            raise Unusable(f"a number does not fit: {warning.message}")


def reference_of(kernel: Kernel) -> FunctionDecl | None:
    """The declaration of a kernel's reference; None where its file has none for it."""
    functions = kernel.declaration.env.functions.values()
    references = {d.name: d for d in functions if d.kind == "reference"}
    own = references.get(f"{kernel.name}_reference")
    if own is not None or sum(d.kind == "kernel" for d in functions) > 1:
        return own
    if len(references) == 1:
        return next(iter(references.values()))
    return references.get("reference")


def load(declared: FunctionDecl, numpy: object = np) -> Reference:
    """A reference that can be called. ``numpy``: what it finds as ``np``.

    Raises ArgusError AG1018 where its file cannot be executed.
    """
    source = declared.env.source
    text = "\n".join(source.lines)
    function = executed(text, declared.name, source.name, numpy)
    return Reference(
        declared.name,
        source.span(declared.node),
        function,
        tuple(inspect.signature(function).parameters),
        _optional(declared),
        text,
    )


def _optional(declared: FunctionDecl) -> frozenset[str]:
    """Tensors that calls of a kernel of the same file may leave out."""
    found: set[str] = set()
    for other in declared.env.functions.values():
        if other.kind == "kernel":
            with suppress(ArgusError):  # another kernel's mistake
                found |= {t.name for t in read_signature(other).tensors if t.optional}
    return frozenset(found)


def executed(text: str, name: str, file: str, numpy: object = np) -> Callable[..., Any]:
    """The user's function: their file is executed here.

    A kernel file imports nothing but the language, so ``np`` is ``numpy`` to it.
    """
    namespace: dict[str, Any] = {"__name__": REFERENCE, "np": numpy}
    try:
        exec(compile(text, file, "exec"), namespace)
    except ArgusError:
        raise
    except Exception as error:
        raise fail(
            "AG1018",
            None,
            f"the reference's file cannot be executed: {error}",
            notes=[type(error).__name__],
        ) from error
    return namespace[name]


def by_output(result: Any, outputs: Sequence[str]) -> dict[str, Any]:
    """What a reference returned, by output: a mapping, several in order, or one.

    Raises :class:`Unusable` where it returns more or fewer results than outputs.
    """
    if isinstance(result, Mapping):
        return {str(k): v for k, v in result.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    several: list[Any] = [result]
    if isinstance(result, tuple | list):
        several = list(cast(Any, result))
    if len(several) != len(outputs):
        raise Unusable(
            f"the reference returns {len(several)} results, and the kernel writes "
            f"{len(outputs)} tensors"
        )
    return dict(zip(outputs, several, strict=True))


def as_given(array: Any, dtype: DType) -> Any:
    """An array as a reference gets it: floats of 64 bits, integers of 64 bits."""
    if dtype.kind == "bool":
        return array.astype(np.bool_)
    return array.astype(np.float64 if dtype.is_float else np.int64)
