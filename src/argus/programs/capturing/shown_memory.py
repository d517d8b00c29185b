"""Results that lie in the memory of an input or buffer which the module changes.

A graph without mutation has two values, what the input becomes and what is returned,
and nothing that says that they are one place. That is seen while torch traces the
module, where tensors share memory as they do in torch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from argus.programs.tensors.tensor_program import ShownMemory

if TYPE_CHECKING:
    from torch.nn import Module

__all__ = ["ChangedMemory", "memory_in"]


class ChangedMemory:
    """Which results of a traced call lie in the memory of what was given."""

    def __init__(self) -> None:
        self._results: list[list[ShownMemory]] = []

    def note(self, model: Module, inputs: Any, results: Any) -> None:
        """Look at what a call was given, and at what it returned."""
        from torch.utils import _pytree

        given: list[tuple[str | int, Any]] = [*enumerate(_pytree.tree_leaves(inputs))]
        given += model.named_buffers(remove_duplicate=False)
        given += model.named_parameters(remove_duplicate=False)
        owners: dict[int, list[tuple[str | int, Any]]] = {}
        for source, tensor in given:
            for memory in memory_in(tensor):
                owners.setdefault(memory, []).append((source, tensor))
        self._results = [
            [
                _shown(found, source, tensor)
                for memory in memory_in(found)
                for source, tensor in owners.get(memory, ())
                if tensor.dtype == found.dtype
            ]
            for found in _pytree.tree_leaves(results)
        ]

    def of(self, updates: Iterable[str | int]) -> tuple[ShownMemory | None, ...]:
        """Where each result lies in what the program changes; None for others."""
        changed = set(updates)
        return tuple(
            next((s for s in each if s.source in changed), None)
            for each in self._results
        )


def _shown(found: Any, source: str | int, tensor: Any) -> ShownMemory:
    return ShownMemory(
        source,
        (*tensor.stride(),),
        (*found.shape,),
        (*found.stride(),),
        found.storage_offset() - tensor.storage_offset(),
    )


def memory_in(value: Any) -> tuple[int, ...]:
    """The memory that a dense tensor lies in, as a number; none for anything else."""
    import torch

    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return ()
    storage: Any = value.untyped_storage()
    return (storage._cdata,)
