"""Argus: a tile-level language and a verifying compiler for GPU kernels.

    import argus as ag
    from argus import bf16, f32

What authors write in kernels is documented in :mod:`argus.lang.names`.
"""

from typing import TYPE_CHECKING

from argus.lang.kernel import (
    InlineFunction,
    Kernel,
    Launcher,
    Module,
    launch_by,
    load_kernels,
)
from argus.lang.library import (
    gelu,
    gelu_tanh,
    identity,
    relu,
    sigmoid,
    silu,
)
from argus.lang.names import annotate as _annotate
from argus.lang.names import compute as _compute
from argus.lang.names import debug as _debug
from argus.lang.names import grid as _grid
from argus.lang.names import inf, layouts
from argus.lang.names import memory as _memory
from argus.lang.names import sync as _sync
from argus.lang.names import types as _types
from argus.lang.names.annotate import *  # noqa: F403
from argus.lang.names.compute import *  # noqa: F403
from argus.lang.names.debug import *  # noqa: F403
from argus.lang.names.decorators import baseline, inline, kernel, reference
from argus.lang.names.grid import *  # noqa: F403
from argus.lang.names.memory import *  # noqa: F403
from argus.lang.names.sync import *  # noqa: F403
from argus.lang.names.types import *  # noqa: F403
from argus.lang.names.types import ElementType as dtype  # noqa: N813
from argus.lang.names.types import any_type as any
from argus.lang.names.types import eight_type as eight
from argus.lang.names.types import float_type as float
from argus.lang.names.types import half_type as half

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.nn import Module as TorchModule

    from argus.programs.compiled import CompiledProgram

__version__ = "0.1.0"


def _launcher(kernel: Kernel) -> Launcher:
    from argus import calls  # when a kernel is called: importing it takes its time

    return calls.KernelCalls(kernel)


def compile(  # beside `torch.compile`; `*` does not bring it, as Python has its own
    model: "TorchModule",
    inputs: "Sequence[object]",
    *,
    strict: bool = False,
    graph: bool = False,
) -> "CompiledProgram":
    """A module of PyTorch as a program of kernels; see `CompiledProgram`.

    Raises ArgusError AG1041 where torch cannot export the module, AG0801 for no module.
    """
    from argus.programs.compiled import compiled

    return compiled(model, inputs, strict=strict, graph=graph)


launch_by(_launcher)
del launch_by, Launcher

__all__ = [
    "InlineFunction",
    "Kernel",
    "Module",
    "any",
    "baseline",
    "dtype",
    "eight",
    "float",
    "gelu",
    "gelu_tanh",
    "half",
    "identity",
    "inf",
    "inline",
    "kernel",
    "layouts",
    "load_kernels",
    "reference",
    "relu",
    "sigmoid",
    "silu",
]
__all__ += _annotate.__all__
__all__ += _compute.__all__
__all__ += _debug.__all__
__all__ += _grid.__all__
__all__ += _memory.__all__
__all__ += _sync.__all__
__all__ += _types.__all__
