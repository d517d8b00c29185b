"""Calling a reference on symbolic arrays.

The function itself runs, with numpy's own dispatch; no text of it is read where it has
no loop. What is exchanged are the names it finds: a copy of the function is made
(`types.FunctionType`) whose globals have the traced numpy (`module.py`) and the traced
built-in functions (`builtin.py`), and so have the functions of the same file that it
calls. A function with loops or comprehensions is compiled anew from its source, with
the loops as calls (`loops.py`): what a loop over a symbolic size does can be seen only
there. Where the source is not to be had, such a loop is Unknown.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any, cast

from argus.diagnostics.ending import SECONDS, DidNotEnd, within
from argus.diagnostics.user_code import raised
from argus.specification.builtin import builtins_of
from argus.specification.handlers import refuse_hiding
from argus.specification.kept import kept
from argus.specification.loops import has_loops, loops_as_calls
from argus.specification.module import MATH, SPECIAL, is_numpy, traced
from argus.specification.repeating import Loops
from argus.specification.sequences import unwrapped
from argus.specification.tracing import Tracing
from argus.terms import Changing, Failing, Unknown


class Calling:
    """The traced copies of a reference and the functions that it calls."""

    def __init__(self, tracing: Tracing, source: str | None = None) -> None:
        self.tracing, self.source = tracing, source
        self.builtins = builtins_of(tracing)
        self.loops = Loops(tracing)
        self._globals: dict[int, dict[str, Any]] = {}
        self._copies: dict[int, Callable[..., Any]] = {}
        self._kept: list[Any] = []
        self.running: list[types.FunctionType] = []
        """Functions of numpy whose own text is being traced."""

    def copy(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that sees the traced names.

        Raises Unknown for what is no function of Python.
        """
        if not isinstance(function, types.FunctionType):
            raise Unknown(f"the reference is a {type(function).__name__}, no function")
        known = self._copies.get(id(function))
        if known is not None:
            return known
        refuse_hiding(function, self.source)
        names = self._names(function)
        code = function.__code__
        cells = {
            name: self._seen(cell.cell_contents)
            for name, cell in zip(
                code.co_freevars, function.__closure__ or (), strict=True
            )
        }
        made: types.FunctionType | None = None
        if has_loops(function):
            made = loops_as_calls(function, names, cells, self.source)
        if made is None:
            closure = tuple(types.CellType(value) for value in cells.values())
            made = types.FunctionType(code, names, function.__name__, None, closure)
        self._kept.append(function)
        self._copies[id(function)] = made
        made.__defaults__ = _each(self._seen, function.__defaults__)
        made.__kwdefaults__ = {
            n: self._seen(v) for n, v in (function.__kwdefaults__ or {}).items()
        }
        return made

    def kept(self, copy: Callable[..., Any]) -> dict[str, object]:
        """What a copy keeps from one call to the next (`kept.py`)."""
        assert isinstance(copy, types.FunctionType)
        return kept(
            copy, lambda x: self.copy(x.function) if isinstance(x, _Later) else None
        )

    def _names(self, function: types.FunctionType) -> dict[str, Any]:
        """The globals of a function, with the traced names in them."""
        real = function.__globals__
        if id(real) not in self._globals:
            made: dict[str, Any] = {}
            self._globals[id(real)] = made
            self._kept.append(real)
            for name, value in real.items():
                same_file = (
                    isinstance(value, types.FunctionType) and value.__globals__ is real
                )
                made[name] = _Later(self, value) if same_file else self._seen(value)
            made["__builtins__"] = self.builtins
            made[Loops.NAME] = self.loops
        return self._globals[id(real)]

    def _seen(self, value: Any) -> Any:
        """A thing as a traced function sees it."""
        if isinstance(value, types.ModuleType):
            if value.__name__ == "math":
                return MATH
            if value.__name__ == "scipy.special":
                return SPECIAL
        if is_numpy(value):
            return traced(self.tracing, value)
        if isinstance(value, types.FunctionType):
            return _Later(self, value)
        if isinstance(value, types.BuiltinFunctionType):
            module, name = value.__module__, value.__name__
            if module == "math":
                return getattr(MATH, name)
            return self.builtins.get(name) if module == "builtins" else _refused(value)
        return value


class _Later:
    """A function that is copied when it is first called."""

    def __init__(self, calling: Calling, function: types.FunctionType) -> None:
        self.calling, self.function = calling, function

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.calling.copy(self.function)(*args, **named)

    def reaches(self) -> tuple[Any, ...]:
        """What a loop that can call it can reach."""
        return (self.calling.copy(self.function),)


def _refused(function: Any) -> Callable[..., Any]:
    def called(*_: Any, **__: Any) -> Any:
        raise Unknown(f"the reference calls {function!r}, which is not traced")

    return called


def _each(
    change: Callable[[Any], Any], values: tuple[Any, ...] | None
) -> tuple[Any, ...] | None:
    return None if values is None else tuple(change(v) for v in values)


def called(
    tracing: Tracing,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    named: Mapping[str, Any],
    source: str | None = None,
) -> Any:
    """What a reference returns on symbolic arguments.

    ``source`` is the text of its file, for functions whose file Python cannot find.
    Raises Unknown for what is not traced, and for a reference that fails: Failing where
    it does so itself, by `assert` or ValueError; Changing where it leaves something
    behind for its next call.
    """
    calling = Calling(tracing, source)
    copy = calling.copy(function)
    before = calling.kept(copy)
    key = ("terms", source, getattr(function, "__code__", None))
    try:
        made = within(SECONDS, lambda: copy(*args, **named), key)
    except Unknown:
        raise
    except DidNotEnd as why:
        raise Unknown(f"the reference, on symbolic arrays, {why}") from why
    except RecursionError as error:
        raise Unknown("the reference recurses too deeply") from error
    except (AssertionError, ValueError) as error:
        said = f"the reference fails on symbolic arrays: {raised(error)}"
        raise Failing(said) from error
    except (Exception, SystemExit) as error:
        said = f"the reference fails on symbolic arrays: {raised(error)}"
        raise Unknown(said) from error
    after = calling.kept(copy)
    for name in (*before, *after):
        if before.get(name) != after.get(name):
            raise Changing(
                f"the reference changes `{name}`, which it keeps from call to call: it "
                f"has to be a function of its arguments"
            )
    return made


def results_of(result: Any, outputs: tuple[str, ...]) -> dict[str, Any]:
    """What a reference returned, by output: a mapping, several in order, or one.

    Raises Unknown where it returns more or fewer results than there are outputs: a
    kernel that forgets one would else be right.
    """
    if isinstance(result, Mapping):
        return {str(k): v for k, v in cast(Mapping[Any, Any], result).items()}
    result = unwrapped(result)
    several: list[Any] = [result]
    if isinstance(result, tuple | list):
        several = list(cast(Any, result))
    if len(several) != len(outputs):
        raise Unknown(
            f"the reference returns {len(several)} results, and the kernel writes "
            f"{len(outputs)} tensors ({', '.join(outputs)})"
        )
    return dict(zip(outputs, several, strict=True))
