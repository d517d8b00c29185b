"""Calling a kernel: find or make its specialisation for these arguments, and launch.

    launch(kernel, (a, b, c), {"BM": 128})

A specialisation is chosen by element types, divisors of sizes and strides, static
parameters and the device. It is kept in memory; the compiler keeps it on disk, too.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from argus.compiler import Request, launchable, request_of, tile_program
from argus.diagnostics import fail
from argus.ir.dtypes import DTYPES, DType
from argus.lang.kernel import Kernel
from argus.lang.names.types import ElementType, as_dtype
from argus.specialisations import (
    Space,
    Specialisation,
    divisor,
    stride_divisors,
)

if TYPE_CHECKING:
    from argus.runtime.launch import LoadedKernel


class _Calls:
    """Built kernels in memory, by kernel and by what a call was like."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: dict[tuple[object, ...], LoadedKernel] = {}

    def find(self, key: tuple[object, ...]) -> LoadedKernel | None:
        return self._loaded.get(key)

    def make(
        self, key: tuple[object, ...], request: Request, checking: bool
    ) -> LoadedKernel:
        from argus.runtime.launch import LoadedKernel

        with self._lock:
            if key not in self._loaded:
                built = launchable(request, checking)
                self._loaded[key] = LoadedKernel(built.spec, built.cubin.image)
            return self._loaded[key]


_calls = _Calls()


def launch(
    kernel: Kernel,
    args: Sequence[object],
    named: Mapping[str, object],
    *,
    checking: bool = True,
) -> None:
    """Compile for these arguments where that is still to be done, and launch.

    Runs on the current stream of the tensors' device. A new specialisation is proved
    before it is built (`require_right`), unless not ``checking`` or ``ARGUS_CHECK=0``.
    Raises ArgusError before anything is launched for arguments that do not fit.
    """
    loaded, values = prepare_call(kernel, args, named, checking=checking)
    loaded(*values)


def prepare_call(
    kernel: Kernel,
    args: Sequence[object],
    named: Mapping[str, object],
    *,
    checking: bool = True,
) -> tuple[LoadedKernel, tuple[object, ...]]:
    """The built kernel for a call, and its runtime arguments in order."""
    values, statics = _split(kernel, args, named)
    tensors = {
        t.name: values[t.name]
        for t in kernel.signature.tensors
        if values.get(t.name) is not None
    }
    described = {name: _describe(name, value) for name, value in tensors.items()}
    key = (
        kernel,
        checking,
        tuple((n, *d) for n, d in described.items()),
        tuple(sorted(statics.items(), key=lambda item: item[0])),
    )
    loaded = _calls.find(key)
    if loaded is None:
        target = _target_of_device(next(iter(tensors.values()), None))
        chosen = specialisation(kernel, described)
        request = request_of(kernel, statics, target, chosen)
        loaded = _calls.make(key, request, checking)
    spec = loaded.spec
    missing = [p.name for p in spec.scalars if p.name not in values]
    defaults = scalar_defaults(kernel) if missing else {}
    ordered = [values[t.name] for t in spec.tensors]
    ordered += [values.get(p.name, defaults.get(p.name)) for p in spec.scalars]
    return loaded, tuple(ordered)


Described = tuple[DType, tuple[int, ...], tuple[int, ...]]
"""Element type, divisors of the extents, divisors of the strides of a tensor."""


def _describe(name: str, value: object) -> Described:
    from argus.runtime.arguments import describe

    given = describe(name, value)
    if given.dtype not in DTYPES:
        raise fail(
            "AG0802",
            None,
            f"argument `{name}` has element type {given.dtype}, which Argus lacks",
            help=f"its element types are {', '.join(DTYPES)}",
        )
    return (
        DTYPES[given.dtype],
        tuple(divisor(n) for n in given.shape),
        stride_divisors(given.shape, given.strides),
    )


def specialisation(
    kernel: Kernel, described: Mapping[str, Described]
) -> Specialisation:
    """The member of the kernel's space that these tensors choose.

    Raises ArgusError: AG0801 (a tensor is missing), AG0802 (element type), AG0803
    (rank).
    """
    signature = kernel.signature
    for tensor in signature.tensors:
        given = described.get(tensor.name)
        if given is None:
            if tensor.optional:
                continue
            raise fail("AG0801", None, f"the tensor `{tensor.name}` is not given")
        dtype, extents, _ = given
        if dtype not in tensor.dtypes:
            options = " or ".join(str(d) for d in tensor.dtypes)
            raise fail(
                "AG0802",
                None,
                f"`{tensor.name}` has elements of {dtype}, expected {options}",
            )
        if len(extents) != len(tensor.dims):
            dims = " ".join(map(str, tensor.dims))
            raise fail(
                "AG0803",
                None,
                f"`{tensor.name}` has rank {len(extents)}, expected "
                f"{len(tensor.dims)}: {dims}",
            )
    space = Space.of(signature)
    chosen = space.member(
        {
            t.name: described[t.name][0]
            for t in signature.tensors
            if t.name in described
        },
        {name: given[1] for name, given in described.items()},
        {name: given[2] for name, given in described.items()},
    )
    assert chosen in space, chosen
    return chosen


def _target_of_device(tensor: object) -> str:
    """The target for the device of a tensor (the first device without one)."""
    from argus.runtime.arguments import describe
    from argus.runtime.driver import cuda_driver, target_of

    index = 0 if tensor is None else describe("tensor", tensor).device[1]
    return target_of(cuda_driver().info(index)).name


def _split(
    kernel: Kernel, args: Sequence[object], named: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, object]]:
    """Runtime values by name, and static overrides. Raises ArgusError AG0801."""
    signature = kernel.signature
    params = signature.params
    if len(args) > len(params):
        raise fail(
            "AG0801",
            None,
            f"kernel `{kernel.name}` takes {len(params)} runtime arguments; "
            f"{len(args)} were given",
        )
    values: dict[str, object] = dict(zip((p.name for p in params), args, strict=False))
    statics: dict[str, object] = {}
    static_names = {s.name for s in signature.statics}
    runtime_names = {p.name for p in params}
    for name, value in named.items():
        if name in static_names:
            statics[name] = _static(value)
        elif name in runtime_names and name not in values:
            values[name] = value
        else:
            known = ", ".join([*runtime_names, *static_names])
            raise fail(
                "AG0801",
                None,
                f"kernel `{kernel.name}` has no argument `{name}` left to be given",
                help=f"its parameters are {known}",
            )
    return values, statics


def _static(value: object) -> object:
    return as_dtype(value) if isinstance(value, ElementType) else value


# ------------------------------------------------------------------------ torch


def torch_op(kernel: Kernel, name: str, **statics: object) -> Any:
    """Register ``kernel`` with these static parameters as a torch operator.

    ``name`` is "namespace::name". The operator takes the kernel's runtime parameters by
    position and writes its outputs in place; ``torch.compile(fullgraph=True)`` accepts
    it. Raises ArgusError AG0906 without torch, and what specialising the kernel raises.
    """
    from argus.lang.frontend.signature import TensorParam
    from argus.runtime.torch_op import REQUIRED, OpParameter, as_torch_op

    signature = kernel.signature
    dtypes = {t.name: t.dtypes[0] for t in signature.tensors}
    outputs = tile_program(Request(kernel, dtypes, statics)).outputs
    defaults = scalar_defaults(kernel)
    parameters: list[OpParameter] = []
    for p in signature.params:
        if isinstance(p, TensorParam):
            kind = "optional_tensor" if p.optional else "tensor"
            parameters.append(
                OpParameter(p.name, kind, None if p.optional else REQUIRED)
            )
        else:
            kind = "float" if p.dtype.is_float else "int"
            default = defaults.get(p.name, REQUIRED)
            parameters.append(OpParameter(p.name, kind, default))
    names = [p.name for p in signature.params]

    def run(*args: object) -> None:
        launch(kernel, (), {**dict(zip(names, args, strict=True)), **statics})

    return as_torch_op(run, name, parameters, outputs)


def scalar_defaults(kernel: Kernel) -> dict[str, int | float]:
    """Defaults of the runtime scalars that have one (literals)."""
    found: dict[str, int | float] = {}
    for scalar in kernel.signature.scalars:
        if scalar.default is not None:
            found[scalar.name] = ast.literal_eval(scalar.default)
    return found
