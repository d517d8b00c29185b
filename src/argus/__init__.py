"""Argus: a tile-level language and a verifying compiler for GPU kernels.

    import argus as ag
    from argus import bf16, f32

What authors write in kernels is documented in :mod:`argus.lang.names`.
"""

from argus.lang.kernel import InlineFunction, Kernel, Module, load_kernels
from argus.lang.library import (
    gelu,
    gelu_tanh,
    identity,
    relu,
    sigmoid,
    silu,
)
from argus.lang.names import inf, layouts
from argus.lang.names.compute import *  # noqa: F403
from argus.lang.names.decorators import inline, kernel, reference
from argus.lang.names.grid import *  # noqa: F403
from argus.lang.names.memory import *  # noqa: F403
from argus.lang.names.sync import *  # noqa: F403
from argus.lang.names.types import (
    ElementType,
    Inline,
    bf16,
    boolean,
    f16,
    f32,
    i8,
    i32,
    i64,
    u8,
)
from argus.lang.names.types import ElementType as dtype
from argus.lang.names.types import any_type as any
from argus.lang.names.types import float_type as float
