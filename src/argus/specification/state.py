"""What the body of a loop can change, and whether it did.

A loop over a symbolic size runs its body once, for all rounds. That is right only if a
round leaves nothing behind for the next one but what the trace knows of. So all that
the body can reach by its names is looked at before and after: arrays may be assigned
to, lists may be appended to, and anything else that changes, or could change without
being seen, is Unknown.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

import numpy as np

from argus.specification.array import SymbolicArray
from argus.specification.sequences import Repeated
from argus.specification.storage import Read, Storage
from argus.terms import IndexSet, Unknown
from argus.terms.keyed import Keyed

_OF_NUMPY: Any = (np.max, getattr(np, "_NoValue", None))
_NUMPYS: list[type] = [type(x) for x in _OF_NUMPY]
_FIXED: tuple[type, ...] = (
    int, float, complex, str, bytes, type(None), type(Ellipsis), slice, range, type,
    types.ModuleType, types.BuiltinFunctionType, np.generic, np.dtype, np.ufunc,
    Fraction, Keyed, IndexSet, *_NUMPYS,
)  # fmt: skip
"""What cannot change, or what the trace itself has put there."""


@dataclass
class ReachableState:
    """All that some functions can reach, as it is now."""

    storages: dict[int, tuple[Storage, Read, int]] = field(
        default_factory=dict[int, tuple[Storage, Read, int]]
    )
    lists: dict[int, tuple[list[Any], list[Any]]] = field(
        default_factory=dict[int, tuple[list[Any], list[Any]]]
    )
    others: list[tuple[Callable[[], object], object]] = field(
        default_factory=list[tuple[Callable[[], object], object]]
    )
    _seen: set[int] = field(default_factory=set[int])
    _kept: list[Any] = field(default_factory=list[Any])

    @staticmethod
    def of(values: Iterable[Any]) -> ReachableState:
        """The state that values give access to.

        Raises Unknown for what may change unseen.
        """
        state = ReachableState()
        for value in values:
            state.add(value)
        return state

    def add(self, value: Any) -> None:
        """What a value gives access to."""
        if id(value) in self._seen or isinstance(value, _FIXED):
            return
        self._seen.add(id(value))
        self._kept.append(value)
        match value:
            case SymbolicArray():
                storage = value.storage
                self.storages[id(storage)] = (storage, storage.read, storage.version)
            case Repeated():
                self.add(value.element)
            case list():
                items = cast(list[Any], value)
                self.lists[id(items)] = (items, list(items))
                self._all(items)
            case tuple() | frozenset():
                self._all(cast(Iterable[Any], value))
            case dict():
                mapping = cast(dict[Any, Any], value)
                items = list(mapping.items())
                self.others.append(
                    (lambda: _identity(mapping.items()), _identity(items))
                )
                self._all(mapping.values())
            case set():
                kept = cast(set[Any], value)
                self.others.append((lambda: frozenset(kept), frozenset(kept)))
            case np.ndarray():
                array = cast(Any, value)
                self.others.append((array.tobytes, array.tobytes()))
            case types.FunctionType():
                self._function(value)
            case _ if dataclasses.is_dataclass(value) and hasattr(value, "__dict__"):
                fields = vars(value)
                self.others.append(
                    (lambda: _identity(fields.items()), _identity(fields.items()))
                )
                self._all(fields.values())
            case _:
                inner = getattr(value, "reaches", None)
                if inner is None:
                    name = type(value).__name__
                    raise Unknown(
                        f"a loop over a symbolic size can reach a {name}, which may "
                        f"change unseen"
                    )
                self._all(inner())

    def _all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.add(value)

    def _function(self, function: types.FunctionType) -> None:
        self._all(function.__defaults__ or ())
        self._all((function.__kwdefaults__ or {}).values())
        for cell in function.__closure__ or ():
            self.others.append((lambda cell=cell: _content(cell), _content(cell)))
            if _content(cell) is not None:
                self.add(cell.cell_contents)
        names = function.__globals__
        for name in names_of(function.__code__):
            if name in names:
                self.others.append(
                    (lambda name=name: id(names.get(name)), id(names[name]))
                )
                self.add(names[name])

    def changed(self) -> Changes:
        """What is not as it was. Raises Unknown for what may not change."""
        for now, before in self.others:
            if now() != before:
                raise Unknown("a loop over a symbolic size changes what is outside it")
        arrays = [s for s, _, version in self.storages.values() if s.version != version]
        appended: list[tuple[list[Any], list[Any]]] = []
        for items, before in self.lists.values():
            if len(items) < len(before) or any(
                a is not b for a, b in zip(items, before, strict=False)
            ):
                raise Unknown("a loop over a symbolic size changes a list")
            if len(items) > len(before):
                appended.append((items, items[len(before) :]))
        return Changes(tuple(arrays), tuple(appended))

    def restore(self) -> None:
        """Set everything back."""
        for storage, read, version in self.storages.values():
            storage.read, storage.version = read, version
        for items, before in self.lists.values():
            items[:] = before


@dataclass(frozen=True)
class Changes:
    """Arrays that were assigned to, and what was appended to lists."""

    arrays: tuple[Storage, ...]
    appended: tuple[tuple[list[Any], list[Any]], ...]


def _content(cell: types.CellType) -> int | None:
    try:
        return id(cell.cell_contents)
    except ValueError:
        return None


def _identity(items: Iterable[tuple[Any, Any]]) -> list[tuple[Any, int]]:
    return [(key, id(value)) for key, value in items]


def names_of(code: types.CodeType) -> set[str]:
    """Global names that a function and those in it use."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= names_of(constant)
    return found
