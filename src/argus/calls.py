"""Calling a kernel: find or make its specialisation for these arguments, and launch.

    launch(kernel, (a, b, c), {"BM": 128})

A specialisation is chosen by element types, divisors of sizes and strides, static
parameters and the device. It is kept in memory; the compiler keeps it on disk, too.

A call that was made before is neither described nor checked again: `Recall` has it by
what it depends on.

A call whose tensors are all in the memory of the host is interpreted (`host_calls`,
which no other call imports).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from argus.call_arguments import (
    ArgumentForm,
    form_of,
    scalar_defaults,
    static_tag,
    static_value,
)
from argus.compiler import launchable
from argus.diagnostics import fail
from argus.files.settings import watched
from argus.ir.dtypes import DTYPES
from argus.ir.launch import LaunchSpec
from argus.lang.frontend.module import bindings
from argus.lang.kernel import InlineFunction, Kernel
from argus.requests import Request, request_of, tile_program
from argus.runtime.arguments import HOST, TensorArg, describe
from argus.runtime.plan import PreparedLaunch
from argus.runtime.recall import CallPlan, PlannedLaunch, Recall
from argus.specialisations import (
    Described,
    Specialisation,
    divisor,
    specialisation,
    stride_divisors,
)
from argus.targets import DEFAULT_TARGET

if TYPE_CHECKING:
    from argus.host_calls import HostCall, HostKernel
    from argus.runtime.launch import LoadedKernel

R = TypeVar("R")

_FORMS = 256
"""Ways to pass arguments, and choices of a specialisation, that a kernel remembers."""

switch = watched("ARGUS_CHECK")
"""Part of what calls are remembered by: with another value they are looked at anew."""

_building = threading.Lock()
"""The compiler works for one thread at a time."""

Statics = tuple[tuple[str, object, object], ...]
"""Static parameters of a call: name, what tells equal values apart, value."""


class _Builds:
    """Built specialisations of a kernel in memory, by what a call was like."""

    def __init__(self) -> None:
        self._loaded: dict[tuple[object, ...], LoadedKernel] = {}
        self._interpreted: dict[tuple[object, ...], HostKernel] = {}

    def find(self, key: tuple[object, ...]) -> LoadedKernel | None:
        return self._loaded.get(key)

    def make(
        self, key: tuple[object, ...], request: Request, checking: bool
    ) -> LoadedKernel:
        with _building:
            if key not in self._loaded:
                self._loaded[key] = loaded_kernel(request, checking)
            return self._loaded[key]

    def on_host(
        self, key: tuple[object, ...], request: Request, checking: bool
    ) -> HostKernel:
        from argus.host_calls import interpreted

        with _building:
            if key not in self._interpreted:
                self._interpreted[key] = interpreted(request, checking)
            return self._interpreted[key]


class _OuterNames:
    """What names outside of a function stood for when it was read."""

    def __init__(self, function: Kernel | InlineFunction) -> None:
        self._function = function
        self._bindings = tuple(bindings(function))

    def require_same(self) -> None:
        """Raises ArgusError AG0817 where one stands for something else."""
        for bound, name, was in self._bindings:
            now = bound(name)
            if now is was or (type(now) is type(was) and now == was):
                continue
            function = self._function
            read = function if isinstance(function, Kernel) else function.origin
            raise fail(
                "AG0817",
                None,
                f"`{name}` was {was!r} when `{read.name}` was read, and is {now!r}",
                help="pass what changes from call to call: as a scalar, or a static "
                "parameter",
            )


@lru_cache(_FORMS)
def _names_of(function: InlineFunction) -> _OuterNames:
    return _OuterNames(function)


def loaded_kernel(request: Request, checking: bool = True) -> LoadedKernel:
    """The kernel of a request, proved and built, ready to be launched.

    Raises what `launchable` raises.
    """
    from argus.runtime.launch import LoadedKernel

    built = launchable(request, checking)
    return LoadedKernel(built.spec, built.cubin.image)


class KernelCalls:
    """The calls of one kernel. Safe to use from several threads.

    Raises ArgusError where the kernel's parameters are not those of a kernel, or what
    its names stood for when it was read is no longer so (AG0817).
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._params = tuple(p.name for p in kernel.signature.params)
        self._builds = _Builds()
        self._recall = Recall["PreparedLaunch | HostCall"](self._plan)
        self._forms: dict[tuple[object, ...], ArgumentForm] = {}
        self._choices: dict[tuple[object, ...], Specialisation] = {}
        self._names = _OuterNames(kernel)

    def __call__(
        self, args: Sequence[object], named: Mapping[str, object], *, checking: bool
    ) -> None:
        """See :func:`launch`."""
        self._names.require_same()
        statics: Statics = ()
        if named or len(args) != len(self._params):
            args, statics = self.split(args, named)
        self._recall((checking, switch(), statics), args)()

    def split(
        self, args: Sequence[object], named: Mapping[str, object]
    ) -> tuple[tuple[object, ...], Statics]:
        """Values of all runtime parameters in order, and of the static ones given.

        A parameter that is not given has its default, or None. Raises ArgusError
        AG0801 for arguments that the kernel does not have.
        """
        key = (len(args), *named)
        form = self._forms.get(key)
        if form is None:
            form = form_of(self.kernel, len(args), named)
            if len(self._forms) >= _FORMS:
                self._forms.clear()
            self._forms[key] = form
        rest = [d if n is None else named[n] for n, d in form.rest]
        statics = [(n, static_tag(named[n]), named[n]) for n in form.statics]
        for _, _, value in statics:
            if isinstance(value, InlineFunction):
                _names_of(value).require_same()
        return (*args, *rest), tuple(statics)

    def _plan(
        self, options: Hashable, values: Sequence[object], stream: int
    ) -> PlannedLaunch[PreparedLaunch] | PlannedLaunch[HostCall]:
        checking, _, statics = cast("tuple[bool, object, Statics]", options)
        return self.planned(values, statics, checking)

    def _on_host(
        self,
        tensors: Mapping[str, TensorArg],
        values: Sequence[object],
        statics: Statics,
        checking: bool,
    ) -> PlannedLaunch[HostCall]:
        """Plan a call whose tensors are in the memory of the host."""
        from argus.host_calls import HostPlan

        key, chosen = self._key(tensors, statics, checking, DEFAULT_TARGET)
        request = self._request(chosen, statics, DEFAULT_TARGET)
        kernel = self._builds.on_host(key, request, checking)
        return self._positions(
            kernel.spec,
            tensors,
            values,
            lambda ordered, scalars: HostPlan(kernel, ordered, scalars),
        )

    def planned(
        self, values: Sequence[object], statics: Statics, checking: bool
    ) -> PlannedLaunch[PreparedLaunch] | PlannedLaunch[HostCall]:
        """Plan a call with these values of all runtime parameters, in order.

        A tensor may be a `TensorArg`, of which the address does not matter.
        """
        tensors = self.described(values)
        if _in_host_memory(tensors.values()):
            return self._on_host(tensors, values, statics, checking)
        return self._on_device(tensors, values, statics, checking)

    def _on_device(
        self,
        tensors: Mapping[str, TensorArg],
        values: Sequence[object],
        statics: Statics,
        checking: bool,
    ) -> PlannedLaunch[PreparedLaunch]:
        """Plan a launch."""
        loaded = self.built(tensors, statics, checking)
        return self._positions(loaded.spec, tensors, values, loaded.plan)

    def _positions(
        self,
        spec: LaunchSpec,
        found: Mapping[str, TensorArg],
        values: Sequence[object],
        plan: Callable[[Sequence[TensorArg], Sequence[object]], CallPlan[R]],
    ) -> PlannedLaunch[R]:
        position = self._params.index
        tensors = [found[t.name] for t in spec.tensors]
        scalars = tuple(position(p.name) for p in spec.scalars)
        return PlannedLaunch(
            plan(tensors, [values[i] for i in scalars]),
            tuple(position(t.name) for t in spec.tensors),
            scalars,
            tuple(t.pointer for t in tensors),
        )

    def built(
        self, tensors: Mapping[str, TensorArg], statics: Statics, checking: bool
    ) -> LoadedKernel:
        """The kernel built for tensors of a GPU, as `described` has them."""
        target = _target_of_device(tensors)
        key, chosen = self._key(tensors, statics, checking, target)
        loaded = self._builds.find(key)
        if loaded is None:
            request = self._request(chosen, statics, target)
            loaded = self._builds.make(key, request, checking)
        return loaded

    def described(self, values: Sequence[object]) -> dict[str, TensorArg]:
        """The tensors that were given."""
        given = dict(zip(self._params, values, strict=True))
        return {
            t.name: described(t.name, given[t.name])
            for t in self.kernel.signature.tensors
            if given[t.name] is not None
        }

    def _key(
        self,
        tensors: Mapping[str, TensorArg],
        statics: Statics,
        checking: bool,
        target: str,
    ) -> tuple[tuple[object, ...], Specialisation]:
        """What the specialisation for tensors is remembered by, and which it is."""
        chosen = self._chosen({name: _likeness(t) for name, t in tensors.items()})
        ordered = tuple(sorted(statics, key=lambda static: static[0]))
        form = tuple(chosen.form.items())
        return (checking, switch(), target, form, chosen.rows, ordered), chosen

    def _request(
        self, chosen: Specialisation, statics: Statics, target: str
    ) -> Request:
        values = {name: static_value(value) for name, _, value in statics}
        return request_of(self.kernel, values, target, chosen)

    def _chosen(self, likeness: Mapping[str, Described]) -> Specialisation:
        """The specialisation, found once for tensors that are divisible alike."""
        key = tuple(likeness.items())
        found = self._choices.get(key)
        if found is None:
            found = specialisation(self.kernel.signature, likeness)
            if len(self._choices) >= _FORMS:
                self._choices.clear()
            self._choices[key] = found
        return found


def calls_of(kernel: Kernel) -> KernelCalls:
    """The calls of a kernel, which are remembered as long as it lives."""
    launcher = kernel.launcher
    assert isinstance(launcher, KernelCalls), launcher
    return launcher


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
    calls_of(kernel)(args, named, checking=checking)


def prepare_call(
    kernel: Kernel,
    args: Sequence[object],
    named: Mapping[str, object],
    *,
    checking: bool = True,
) -> tuple[LoadedKernel, tuple[object, ...]]:
    """The built kernel for a call, and its runtime arguments in order."""
    calls = calls_of(kernel)
    values, statics = calls.split(args, named)
    loaded = calls.built(calls.described(values), statics, checking)
    given = dict(zip((p.name for p in kernel.signature.params), values, strict=True))
    return loaded, tuple(given[name] for name in loaded.names)


def described(name: str, value: object) -> TensorArg:
    """A tensor of a call, on the device where it is. Raises AG0802 and AG0812."""
    given = value if isinstance(value, TensorArg) else describe(name, value)
    if given.dtype not in DTYPES:
        raise fail(
            "AG0802",
            None,
            f"argument `{name}` has element type {given.dtype}, which Argus lacks",
            help=f"its element types are {', '.join(DTYPES)}",
        )
    if given.device[1] < 0:
        from argus.runtime.driver import cuda_driver
        from argus.runtime.launch import located

        return located(given, cuda_driver())
    return given


def _likeness(given: TensorArg) -> Described:
    return (
        DTYPES[given.dtype],
        tuple(divisor(n) for n in given.shape),
        stride_divisors(given.shape, given.strides),
    )


def _in_host_memory(tensors: Iterable[TensorArg]) -> bool:
    """Whether there are tensors, and all are in the memory of the host."""
    return {t.device[0] for t in tensors} == {HOST}


def _target_of_device(tensors: Mapping[str, TensorArg]) -> str:
    """The target for the device of the tensors (the first device without one).

    Raises ArgusError AG0807 for a tensor that no kernel can be run on.
    """
    from argus.runtime.driver import cuda_driver, target_of

    for name, tensor in tensors.items():
        if tensor.device[0] not in _DEVICES:
            raise fail(
                "AG0807",
                None,
                f"`{name}` is on {tensor.device[0]}: kernels run on a CUDA device, and "
                "on the CPU in the interpreter",
            )
    first = next(iter(tensors.values()), None)
    index = 0 if first is None else first.device[1]
    return target_of(cuda_driver().info(index)).name


_DEVICES = (HOST, "cuda", "cuda_host")


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

    def run(*args: object) -> None:
        launch(kernel, args, statics)

    return as_torch_op(run, name, parameters, outputs)
