"""What a graph returns, in memory of its own and in the order that torch says.

Two results of which torch says that one is a view of the other share their memory; what
a kernel stores is copied where torch says that it lies otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from argus.programs.capturing.nodes import memory_of
from argus.programs.capturing.strides import is_laid_so
from argus.programs.tensors.complex_tensor import ComplexTensor, stored_shape
from argus.programs.tensors.recorder import ProgramRecorder
from argus.programs.tensors.tensor_array import TensorArray
from argus.programs.tensors.tensor_program import (
    GivenPrimitive,
    ProgramValue,
    ViewedValue,
)
from argus.programs.tensors.torch_calls import is_node
from argus.programs.tensors.views import permuted

__all__ = ["GraphResults"]


@dataclass
class GraphResults:
    """Results of a walk through a graph.

    ``values`` are what its nodes are, ``foreign`` those that no kernel may read;
    ``said`` gives what torch says that a node is. ``overwritten`` are placeholders, by
    name, that change when all is computed: results are what they held before.
    """

    recorder: ProgramRecorder
    values: Mapping[Any, Any]
    foreign: AbstractSet[ProgramValue]
    said: Callable[[Any], Any]
    overwritten: AbstractSet[str] = frozenset()
    owners: dict[ProgramValue, Any] = field(default_factory=dict[ProgramValue, Any])
    """Whose memory a value is, among the nodes of results."""

    def told(self, node: Any) -> tuple[int, ...] | None:
        """Strides that torch says a result has; None for what is no tensor."""
        said: Any = self.said(node) if is_node(node) else None
        return stored_shape(said)[1] if hasattr(said, "stride") else None

    def result(self, node: Any) -> Any:
        """A result: in memory of its own, unless torch returns a view of another."""
        if not is_node(node):
            return node
        found = self.values[node]
        if isinstance(found, ComplexTensor):
            found = found.paired().pairs
        if not isinstance(found, TensorArray):
            return found
        operand, root = found.operand, memory_of(node)
        owner = self.owners.setdefault(operand.value, root)
        given = isinstance(operand.value.made, GivenPrimitive)
        held = root.op == "get_attr" or (
            root.op == "placeholder" and root.name not in self.overwritten
        )
        if given and held:
            return operand
        told = self.told(node)
        assert told is not None
        if operand.value in self.foreign or 0 in operand.shape:
            return operand
        if owner is root and not given and is_laid_so(operand, told):
            return operand
        return self._copied(operand, told, root)

    def _copied(
        self, operand: ViewedValue, told: tuple[int, ...], root: Any
    ) -> ViewedValue:
        """The operand as a value of its own, dense in the order of these strides."""
        shape = operand.shape
        dims = sorted(range(len(shape)), key=lambda d: (-told[d], d))
        if dims == list(range(len(shape))):
            copy = self.recorder.fresh_copy(operand)
            self.owners[copy.value] = root
            return copy
        copy = self.recorder.fresh_copy(operand.through(permuted(shape, dims)))
        self.owners[copy.value] = root
        back = [dims.index(d) for d in range(len(shape))]
        return copy.through(permuted(copy.shape, back))
