"""Exported graphs taken apart by torch, of whose operators few are looked at.

Torch overrides each composite operator that there is, some hundred, whenever a graph is
taken apart: 0.1 s of CPU time, ten times that of a small graph itself. Those that it
takes apart anyway, without being told how, need none. They are taken apart above the
gradients then, and no longer below, where operators inside of them may be written in
Python: of those that the table knows otherwise, that is set aside. Which operators of
the table are composite is asked once, too: torch asks each time, of each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any
from unittest.mock import patch

__all__ = ["decomposed", "decompositions_but"]

Table = Mapping[Any, Callable[..., Any]]
"""How operators are taken apart."""
_COMPOSITE = "CompositeImplicitAutograd"
_GRADIENTS = "Autograd"
_COLLECT = "_collect_all_valid_cia_ops"
"""Torch's function of all composite operators that may stay whole."""
_SPLIT = "_split_decomp_table_to_cia_and_python_decomp"
"""Torch's function of what a table says of composite operators, and of all others."""


@dataclass(frozen=True)
class _Told:
    """What torch is told of operators."""

    table: Table
    composite: Table
    """What becomes of composite operators, those that stay whole among them."""
    others: Table
    """The rest of the table."""
    aside: tuple[Any, ...]
    """Those that are written in Python where gradients are, and known otherwise."""


def decompositions_but(known: Callable[[str], bool]) -> dict[Any, Any]:
    """Torch's decompositions, those into core operators and all others.

    Of an operator that is no core operator, there is none if its name is ``known``.
    """
    import torch
    from torch import _decomp

    table: dict[Any, Any] = dict(torch.export.default_decompositions())
    for overload, made in vars(_decomp)["decomposition_table"].items():
        if not known(str(overload)):
            table.setdefault(overload, made)
    return table


def decomposed(exported: Any, table: Callable[[], Table]) -> Any:
    """``exported.run_decompositions(table())``, the same graph.

    ``table`` is asked once for the operators that torch has by then. Composite
    operators that are not in it stay whole.
    """
    import torch
    from torch.export import exported_program

    collect: Any = vars(exported_program).get(_COLLECT)
    split: Any = vars(exported_program).get(_SPLIT)
    if collect is None or split is None:  # another torch
        return exported.run_decompositions(dict(table()))
    native: Any = vars(torch)["_C"]
    registered = native._dispatch_get_registrations_for_dispatch_key(_COMPOSITE)
    told = _told(table, collect, split, frozenset(registered))

    def known(_: Table) -> tuple[dict[Any, Any], ...]:
        return dict(told.composite), dict(told.others)

    with patch.object(exported_program, _SPLIT, known), _aside(told.aside):
        return exported.run_decompositions(dict(told.table))


@lru_cache(maxsize=4)
def _told(
    table: Callable[[], Table],
    collect: Callable[[], set[Any]],
    split: Callable[[dict[Any, Any]], tuple[Table, Table]],
    registered: frozenset[str],
) -> _Told:
    """``registered``: the composite operators that torch has now, for the cache."""
    from torch.export import exported_program

    whole = table()
    composite = collect()
    alone = {op for op in composite if op in whole and _is_torchs(op, whole[op])}
    left = {op: how for op, how in whole.items() if op not in alone}
    key = _key(_GRADIENTS)
    aside = (
        op
        for op in _operators()
        if key in op.py_kernels and left.get(op) is not op.py_kernels[key]
        if not op.has_kernel_for_dispatch_key(_key(_COMPOSITE))
    )
    overridden = frozenset(composite - alone)
    with patch.object(exported_program, _COLLECT, lambda: overridden):
        composed, others = split(dict(left))
    own = {op: left[op] for op in composed if op in left and _has_own(op)}
    composed = {op: how for op, how in composed.items() if op not in own}
    return _Told(left, composed, {**others, **own}, tuple(aside))


def _is_torchs(op: Any, how: Any) -> bool:
    """Whether an operator is taken apart so without being told: by its C++ kernel."""
    made = getattr(getattr(how, "func", None), "__name__", "")
    return (
        isinstance(how, partial)
        and made == "_special_op_to_decompose_cia"
        and _key(_COMPOSITE) not in op.py_kernels
        and not _has_own(op)
    )


def _has_own(op: Any) -> bool:
    """Whether an operator has a kernel beside that of which it is composed.

    Torch computes it by that, so that how it is composed is asked of none of its calls:
    it is taken apart as operators are that are not composite (`silu_backward`).
    """
    return any(op.has_kernel_for_dispatch_key(_key(k)) for k in ("CPU", "Meta"))


def _operators() -> Generator[Any]:
    """All operators of ATen that torch has looked at."""
    import torch

    packets: Any = torch.ops.aten
    for name in packets:
        packet = getattr(packets, name)
        yield from (getattr(packet, overload) for overload in packet.overloads())


def _key(name: str) -> Any:
    import torch

    return getattr(torch.DispatchKey, name)


@contextmanager
def _aside(operators: tuple[Any, ...]) -> Generator[None]:
    """Within it, operators are not in Python where gradients are."""
    key = _key(_GRADIENTS)
    kept = [(op, op.py_kernels.pop(key)) for op in operators if key in op.py_kernels]
    for op, _ in kept:
        op._dispatch_cache.clear()
    try:
        yield
    finally:
        for op, kernel in kept:
            op.py_kernels[key] = kernel
            op._dispatch_cache.clear()
