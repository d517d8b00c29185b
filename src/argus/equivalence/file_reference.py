"""The reference in a kernel's file, as that of a library entry.

Whoever lists entries imports this, so that nothing that traces is imported with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from argus.diagnostics import fail
from argus.lang.kernel import Kernel, literal
from argus.targets import DEFAULT_TARGET

if TYPE_CHECKING:
    from argus.lang.frontend.declarations import FunctionDecl

__all__ = ["FileReference"]


class _Choice(Protocol):
    """Static and scalar arguments that an entry chooses."""

    @property
    def statics(self) -> Mapping[str, object]: ...
    @property
    def scalars(self) -> Mapping[str, int | float]: ...


@dataclass(frozen=True)
class FileReference:
    """The reference in a kernel's file, as that of a library entry.

    ``choose``: static and scalar arguments of the kernel for a case and a target.
    Called like every reference of an entry; of torch tensors it is run with numpy, on
    the host.
    """

    kernel: Kernel
    outputs: tuple[str, ...]
    choose: Callable[[Any, str], _Choice]

    @property
    def declared(self) -> FunctionDecl:
        """The function. Raises ArgusError AG1018 where the file has none."""
        from argus.equivalence.references import reference_of

        found = reference_of(self.kernel)
        if found is None:
            text = f"the file of `{self.kernel.name}` has no reference for it"
            raise fail("AG1018", None, text)
        return found

    def __call__(self, xp: Any, arrays: Mapping[str, Any], case: Any) -> dict[str, Any]:
        """Outputs by name, of arrays by name. Raises `Unusable` where it fails."""
        import numpy as np

        from argus.equivalence.references import load

        signature, choice = self.kernel.signature, self.choose(case, DEFAULT_TARGET)
        host = {n: np.asarray(_on_host(a)) for n, a in arrays.items()}
        sizes: dict[str, int] = {}
        for tensor in signature.tensors:
            if tensor.name in host:
                named = zip(tensor.dims, host[tensor.name].shape, strict=True)
                sizes |= {d: n for d, n in named if isinstance(d, str)}
        given: dict[str, Any] = {s.name: literal(s.default) for s in signature.statics}
        given |= {**sizes, **choice.statics, **choice.scalars, **host}
        found = load(self.declared).called(given, self.outputs, sizes)
        first = next(iter(arrays.values()))
        return {n: _beside(first, a) for n, a in found.items()}


def _on_host(array: Any) -> Any:
    return array.cpu() if hasattr(array, "cpu") else array


def _beside(array: Any, made: Any) -> Any:
    """An array of numpy as a tensor of the device of a tensor, if it is one."""
    if not hasattr(array, "cpu"):
        return made
    import torch

    tensor: Any = vars(torch)["from_numpy"](made)
    return tensor.to(array.device)
