"""A call apart from its addresses and scalars: checked, and resolved.

    plan = LaunchPlan(spec, driver, function, tensors, binding)
    ready = plan.prepare(addresses, scalars)     # looks at these, and at nothing else
    ready()                                      # launches

Shapes, strides, element types and the device are those that the plan was made for; what
depends on them alone was checked and computed then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Protocol, runtime_checkable

from argus.ir.expr import symbols
from argus.ir.launch import LaunchSpec
from argus.ir.program import SM_COUNT
from argus.runtime.addresses import AddressChecks
from argus.runtime.arguments import TensorArg
from argus.runtime.binding import (
    CallBinding,
    Number,
    check_requirements,
    grid_size,
    scalar_value,
)
from argus.runtime.driver import Driver, Launch, LaunchShape, LoadedFunction
from argus.runtime.packing import Parameters, ParameterTemplate
from argus.runtime.tensor_map import MapRequest

_MAPS = 256
"""Tensor maps that a plan remembers, for each tensor that has one."""
_GRIDS = 64
"""Numbers of blocks that a plan has launches of; more than one only by scalars."""


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
    is the number of blocks; 0 launches nothing (an empty output). Keeps ``owners``
    alive.
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
        launch, parameters = self._launch, self.parameters
        if launch is None or parameters is None:
            return
        if stream is None:
            launch(self._stream_of(self._device), parameters.address)
        else:
            handle = stream if isinstance(stream, int) else stream_handle(stream)
            launch(handle, parameters.address)

    @property
    def resolved(self) -> tuple[tuple[Launch, Parameters], ...]:
        """The launch and its parameters; nothing where nothing is to be launched."""
        if self._launch is None or self.parameters is None:
            return ()
        return ((self._launch, self.parameters),)

    def current_stream(self) -> int:
        """The stream that a call without one launches on."""
        return self._stream_of(self._device)

    def keeping(self, owners: tuple[object, ...]) -> PreparedLaunch:
        """The same call, which keeps ``owners`` alive."""
        copy = PreparedLaunch.__new__(PreparedLaunch)
        for name in ("_device", "_launch", "_stream_of", "grid", "parameters"):
            setattr(copy, name, getattr(self, name))
        copy._owners = owners
        return copy


def stream_handle(stream: Stream) -> int:
    """What the driver calls a stream."""
    if isinstance(stream, int):
        return stream
    if isinstance(stream, _TorchStream):
        return stream.cuda_stream
    _, handle = stream.__cuda_stream__()
    return handle


class LaunchPlan:
    """Calls with tensors like these. Safe to use from several threads.

    ``function`` gives the loaded kernel; it is asked when something is to be launched.
    """

    def __init__(
        self,
        spec: LaunchSpec,
        driver: Driver,
        function: Callable[[int], LoadedFunction],
        tensors: Sequence[TensorArg],
        binding: CallBinding,
    ) -> None:
        self._spec = spec
        self._driver = driver
        self._function = function
        self._binding = binding
        self._overlaps = False
        self._idle = PreparedLaunch(driver, binding.device, 0, None, None)
        self._launches: dict[int, Launch] = {}
        self._grids: dict[tuple[Number, ...], int] = {}
        if binding.empty:
            return
        self._addresses = AddressChecks(spec, tensors, binding)
        self._template = ParameterTemplate(spec, binding.values)
        conditions = [spec.grid, *(r.cond for r in spec.requirements)]
        used = {s.name for cond in conditions for s in symbols(cond)}
        scalars = enumerate(spec.scalars)
        self._deciding = tuple(i for i, p in scalars if p.sym.name in used)
        position = {t.name: i for i, t in enumerate(spec.tensors)}
        self._maps = [
            MapsOfTensor(
                driver,
                position[wanted.tensor.name],
                MapRequest(
                    wanted.tensor.name,
                    0,
                    wanted.tensor.dtype.name,
                    tensors[position[wanted.tensor.name]].shape,
                    binding.strides[position[wanted.tensor.name]],
                    wanted.box,
                    wanted.swizzle,
                    wanted.all_steps,
                ),
            )
            for wanted in spec.tensor_maps
        ]

    def prepare(
        self, pointers: Sequence[int], scalars: Sequence[object]
    ) -> PreparedLaunch:
        """The call with these addresses and scalars, in the order of the spec.

        Raises ArgusError AG0806 and AG0808 for what they are, AG0805 and AG0810 for
        what TMA cannot address, and what loading the kernel raises.
        """
        spec, binding = self._spec, self._binding
        numbers = [
            scalar_value(param, value)
            for param, value in zip(spec.scalars, scalars, strict=True)
        ]
        if binding.empty:
            return self._idle
        deciding = tuple([numbers[i] for i in self._deciding])
        grid = self._grids.get(deciding)
        if grid is None:
            grid = self._grid_of(deciding)
        self._addresses.check(pointers)
        if grid == 0:
            return self._idle
        maps = [m.at(pointers[m.index]) for m in self._maps]
        parameters = self._template.fill(pointers, numbers, maps)
        launch = self._launches.get(grid) or self._launch(grid)
        return PreparedLaunch(self._driver, binding.device, grid, launch, parameters)

    def _grid_of(self, deciding: tuple[Number, ...]) -> int:
        """The number of blocks, of scalars for which all requirements hold.

        They are looked at once: addresses are nothing that they are about.
        """
        spec, values = self._spec, self._binding.values
        if deciding:
            names = (spec.scalars[i].sym.name for i in self._deciding)
            values = {**values, **dict(zip(names, deciding, strict=True))}
            check_requirements(spec, values)
        function = self._function(self._binding.device)
        grid = grid_size(spec, values, function.multiprocessors)
        if len(self._grids) >= _GRIDS:
            self._grids.clear()
        self._grids[deciding] = grid
        return grid

    @property
    def pointer_slots(self) -> Sequence[tuple[int, int]]:
        """Where addresses lie among parameters, in bytes, and the numbers of tensors.

        This, ``map_slots`` and ``alignments`` are of plans that launch something.
        """
        return self._template.pointer_slots

    @property
    def map_slots(self) -> Sequence[tuple[int, MapsOfTensor]]:
        """Where tensor maps lie among parameters, in bytes, and what makes each."""
        return [(at, self._maps[n]) for at, n in self._template.map_slots]

    @property
    def alignments(self) -> Sequence[tuple[int, int]]:
        """Numbers of tensors, and bytes that their addresses are multiples of."""
        return self._addresses.alignments

    def following(self) -> LaunchPlan:
        """The same calls behind another launch, which they may begin before the end of.

        Only a kernel that waits for it by itself does, and whose grid is not that of
        the device: blocks that walk tiles side by side share what L2 holds, and begin
        side by side only where all multiprocessors are free (products behind copies
        took 2 to 11 % longer on an H200). Of others this is the plan.
        """
        persistent = SM_COUNT in symbols(self._spec.grid)
        if persistent or not self._spec.waits:
            return self
        found = copy(self)
        found._launches, found._overlaps = {}, True
        return found

    def _launch(self, grid: int) -> Launch:
        spec = self._spec
        sizes = (grid, spec.threads, spec.cluster, spec.shared_bytes)
        shape = LaunchShape(*sizes, self._overlaps)
        made = self._driver.launcher(self._function(self._binding.device), shape)
        if len(self._launches) >= _GRIDS:
            self._launches.clear()
        self._launches[grid] = made
        return made


class MapsOfTensor:
    """The tensor maps of one tensor at each address where it was lately."""

    def __init__(self, driver: Driver, index: int, request: MapRequest) -> None:
        self.index = index
        self._driver = driver
        self._request = request
        self._made: dict[int, bytes] = {}

    def at(self, pointer: int) -> bytes:
        found = self._made.get(pointer)
        if found is None:
            found = self._driver.tensor_map(self._request.at(pointer))
            if len(self._made) >= _MAPS:
                self._made.clear()
            self._made[pointer] = found
        return found


__all__ = ["LaunchPlan", "Number", "PreparedLaunch", "Stream", "stream_handle"]
