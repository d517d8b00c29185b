"""Launching a built kernel.

    loaded = LoadedKernel(spec, cubin.image)
    loaded(A, B, C, alpha)                  # checks, and launches on the current stream
    ready = loaded.prepare(A, B, C, alpha)  # the same, in two steps ...
    ready()                                 # ... of which this one costs about 1 µs

Arguments come in the order of ``spec.tensors`` and then ``spec.scalars``, or by name. A
launch allocates nothing and waits for nothing, so it may be captured into a CUDA graph.
Faults of the kernel on the device are not seen here: the next synchronisation has them.
"""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, cast, runtime_checkable

from argus.diagnostics import fail
from argus.ir.launch import LaunchSpec
from argus.runtime.arguments import (
    TensorArg,
    TorchTensor,
    describe,
    is_torch,
    torch_types,
)
from argus.runtime.binding import CallBinding, bind, check_addresses, grid_size
from argus.runtime.driver import (
    Driver,
    Launch,
    LaunchShape,
    LoadedFunction,
    cuda_driver,
)
from argus.runtime.packing import Parameters, pack
from argus.runtime.tensor_map import MapRequest

_REMEMBERED = 1024
"""Calls that a kernel remembers, by addresses, shapes and scalars."""


@runtime_checkable
class _TorchStream(Protocol):
    @property
    def cuda_stream(self) -> int: ...


@runtime_checkable
class _CudaStream(Protocol):
    def __cuda_stream__(self) -> tuple[int, int]: ...


Stream = int | _TorchStream | _CudaStream
"""A stream's handle, a torch stream, or an object with ``__cuda_stream__``."""


class PreparedLaunch:
    """A call with everything resolved: call it to launch, as often as wanted.

    It launches on the addresses that were given, whatever is in them by then. ``grid``
    is the number of blocks; 0 launches nothing (an empty output). Keeps the tensors
    alive if it came from :meth:`LoadedKernel.prepare`.
    """

    __slots__ = ("_device", "_launch", "_owners", "_stream_of", "grid", "parameters")

    def __init__(
        self,
        driver: Driver,
        device: int,
        grid: int,
        launch: Launch | None,
        parameters: Parameters | None,
        owners: tuple[object, ...] = (),
    ) -> None:
        self.grid = grid
        self.parameters = parameters
        self._device = device
        self._launch = launch
        self._stream_of = driver.current_stream
        self._owners = owners

    def __call__(self, stream: Stream | None = None) -> None:
        """Launch on ``stream``, else on the current stream of torch, else on 0.

        Raises ArgusError AG0810 or AG0811 if the driver refuses.
        """
        launch = self._launch
        if launch is None:
            return
        if stream is None:
            launch(self._stream_of(self._device))
        else:
            launch(stream if isinstance(stream, int) else _handle(stream))

    def keeping(self, owners: tuple[object, ...]) -> "PreparedLaunch":
        """The same call, which keeps ``owners`` alive."""
        copy = PreparedLaunch.__new__(PreparedLaunch)
        for name in ("_device", "_launch", "_stream_of", "grid", "parameters"):
            setattr(copy, name, getattr(self, name))
        copy._owners = owners
        return copy


class LoadedKernel:
    """A built kernel, loaded on each device when it is first launched there.

    ``image`` is the cubin. Safe to use from several threads.
    """

    def __init__(
        self, spec: LaunchSpec, image: bytes, driver: Driver | None = None
    ) -> None:
        self.spec = spec
        self.image = image
        self.names = (
            *(t.name for t in spec.tensors),
            *(s.name for s in spec.scalars),
        )
        self._driver = driver
        self._functions: dict[int, LoadedFunction] = {}
        self._bindings: dict[tuple[object, ...], CallBinding] = {}
        self._calls: dict[tuple[object, ...], PreparedLaunch] = {}
        self._lock = threading.Lock()

    def __call__(
        self, *values: object, stream: Stream | None = None, **named: object
    ) -> None:
        """Check the arguments and launch; a call seen before is not checked again.

        Raises ArgusError AG0801 to AG0814, see `binding`.
        """
        given = self._ordered(values, named) if named else values
        key = _call_key(given)
        ready = self._calls.get(key) if key is not None else None
        if ready is None:
            handle = 0 if stream is None else _handle(stream)
            ready = self._resolve(self._ordered(given, {}), handle)
            if key is not None:
                if len(self._calls) >= _REMEMBERED:
                    self._calls.pop(next(iter(self._calls)), None)
                self._calls[key] = ready
        ready(stream)

    def prepare(self, *values: object, **named: object) -> PreparedLaunch:
        """Check the arguments, and resolve everything that a launch needs.

        Raises ArgusError AG0801 to AG0814, see `binding`.
        """
        given = self._ordered(values, named)
        return self._resolve(given, 0).keeping(given)

    def function(self, device: int) -> LoadedFunction:
        """The kernel on ``device``, loading it there if it is not.

        Raises ArgusError AG0903, AG0904, AG0905, AG0911 or AG0810.
        """
        found = self._functions.get(device)
        if found is None:
            with self._lock:
                found = self._functions.get(device)
                if found is None:
                    spec = self.spec
                    found = self.driver.load(
                        self.image, spec.entry, spec.target, device, self._shape(0)
                    )
                    self._functions[device] = found
        return found

    @property
    def driver(self) -> Driver:
        """The driver; ArgusError AG0911 or AG0903 where there is none."""
        if self._driver is None:
            self._driver = cuda_driver()
        return self._driver

    def _shape(self, grid: int) -> LaunchShape:
        spec = self.spec
        return LaunchShape(grid, spec.threads, spec.cluster, spec.shared_bytes)

    def _ordered(
        self, values: Sequence[object], named: dict[str, object]
    ) -> tuple[object, ...]:
        """Arguments in the order of ``names``; AG0801 if they are not these."""
        names, entry = self.names, self.spec.entry
        expects = f"{entry}({', '.join(names)})"
        if len(values) > len(names):
            raise fail(
                "AG0801",
                None,
                f"`{entry}` takes {len(names)} arguments, given {len(values)}",
                notes=[expects],
            )
        positional = names[: len(values)]
        for name in named:
            if name not in names or name in positional:
                why = "twice" if name in positional else "and has none of that name"
                raise fail(
                    "AG0801",
                    None,
                    f"`{entry}` is given `{name}`, {why}",
                    notes=[expects],
                )
        missing = [n for n in names[len(values) :] if n not in named]
        if missing:
            wanted = ", ".join(f"`{name}`" for name in missing)
            raise fail("AG0801", None, f"`{entry}` lacks {wanted}", notes=[expects])
        return (*values, *(named[name] for name in names[len(values) :]))

    def _resolve(self, given: tuple[object, ...], stream: int) -> PreparedLaunch:
        spec, driver = self.spec, self.driver
        count = len(spec.tensors)
        tensors = [
            describe(declared.name, value, stream)
            for declared, value in zip(spec.tensors, given[:count], strict=True)
        ]
        tensors = [
            replace(t, device=(t.device[0], driver.device_of(t.pointer)))
            if t.device[1] < 0
            else t
            for t in tensors
        ]
        binding = self._binding(tensors, given[count:])
        if binding.empty:
            return PreparedLaunch(driver, binding.device, 0, None, None)
        check_addresses(spec, tensors, binding)
        function = self.function(binding.device)
        grid = grid_size(spec, binding.values, function.multiprocessors)
        if grid == 0:
            return PreparedLaunch(driver, binding.device, 0, None, None)
        parameters = pack(
            spec,
            tensors,
            binding.values,
            lambda index: driver.tensor_map(self._map_request(index, tensors, binding)),
        )
        launch = driver.launcher(function, self._shape(grid), parameters.pointers)
        return PreparedLaunch(driver, binding.device, grid, launch, parameters)

    def _binding(
        self, tensors: Sequence[TensorArg], scalars: Sequence[object]
    ) -> CallBinding:
        """Shapes and scalars seen before need no second check at other addresses."""
        if not all(type(value) in (int, float) for value in scalars):
            return bind(self.spec, tensors, scalars, self.driver.kind)
        key = (
            *((t.dtype, t.shape, t.strides, t.device, t.readonly) for t in tensors),
            *((type(value), repr(value)) for value in scalars),
        )
        found = self._bindings.get(key)
        if found is None:
            found = bind(self.spec, tensors, scalars, self.driver.kind)
            if len(self._bindings) >= _REMEMBERED:
                self._bindings.clear()
            self._bindings[key] = found
        return found

    def _map_request(
        self, index: int, tensors: Sequence[TensorArg], binding: CallBinding
    ) -> MapRequest:
        wanted = self.spec.tensor_maps[index]
        position = [t.name for t in self.spec.tensors].index(wanted.tensor.name)
        return MapRequest(
            wanted.tensor.name,
            tensors[position].pointer,
            wanted.tensor.dtype.name,
            tensors[position].shape,
            binding.strides[position],
            wanted.box,
            wanted.swizzle,
        )


def _call_key(values: Sequence[object]) -> tuple[object, ...] | None:
    """What a call depends on; None if some argument is none of torch's or a number.

    The device is not in it: an address belongs to one device (CUDA C++ Programming
    Guide, "Unified virtual address space").
    """
    parts: list[object] = []
    for value in values:
        kind = type(value)
        if torch_types.get(kind) or is_torch(value):
            tensor = cast("TorchTensor", value)
            try:
                address = tensor.data_ptr()
            except RuntimeError:  # no memory: `describe` says so properly
                return None
            parts += (address, tensor.shape, tensor.stride(), tensor.dtype)
        elif kind is float:
            parts.append(cast("float", value).hex())  # tells -0.0 from 0.0
        elif kind is int:
            parts.append(value)
        else:
            return None
    return tuple(parts)


def _handle(stream: Stream) -> int:
    if isinstance(stream, int):
        return stream
    if isinstance(stream, _TorchStream):
        return stream.cuda_stream
    _, handle = stream.__cuda_stream__()
    return handle
