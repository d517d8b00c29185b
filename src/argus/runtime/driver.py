"""Devices, modules and launches, on the CUDA driver.

Works in the primary context of each device, which is the one that torch and the CUDA
runtime use; it is retained once and never released. Allocates no device memory, creates
no stream and never synchronises, so that everything a launch does may be captured into
a CUDA graph.
"""

import ctypes
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from ctypes import byref, c_int, c_size_t, c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Protocol, cast

from argus.diagnostics import fail
from argus.runtime import cuda
from argus.runtime.tensor_map import MapRequest, encode_tensor_map
from argus.targets import TARGETS, Target, target_for_capability

Launch = Callable[[int, c_void_p], None]
"""Starts a kernel on a stream (its handle; 0 is the default stream) with parameters:
the address of an array of pointers to each. The caller keeps them until it returns."""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device: ``capability`` (9, 0) and ``memory`` in bytes."""

    index: int
    name: str
    capability: tuple[int, int]
    multiprocessors: int
    memory: int


@dataclass(frozen=True, slots=True)
class LoadedFunction:
    """A kernel loaded on one device; ``handle`` and ``context`` are the driver's."""

    name: str
    device: int
    multiprocessors: int
    handle: int
    context: int


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """Blocks (x), threads per block, blocks per cluster, dynamic shared bytes.

    ``overlaps``: it may begin before the launch before it on the stream has ended.
    """

    grid: int
    threads: int
    cluster: int
    shared_bytes: int
    overlaps: bool = False


class Driver(Protocol):
    """What launching needs of a driver; the tests have one without a GPU."""

    @property
    def kind(self) -> str:
        """Kind of the device that tensors must be on, as torch names it: "cuda"."""
        ...

    def load(
        self, image: bytes, entry: str, target: str, device: int, shape: LaunchShape
    ) -> LoadedFunction:
        """Load a cubin on a device (``shape.grid`` is not looked at)."""
        ...

    def tensor_map(self, request: MapRequest) -> bytes:
        """Encode 128 bytes."""
        ...

    def device_of(self, pointer: int) -> int:
        """Index of the device whose memory ``pointer`` is in."""
        ...

    def current_stream(self, device: int) -> int:
        """The stream that a launch without one goes to."""
        ...

    def launcher(self, function: LoadedFunction, shape: LaunchShape) -> Launch:
        """A launch with everything resolved but its parameters."""
        ...


class CudaDriver:
    """The driver of this machine; one per process, see :func:`cuda_driver`.

    Raises ArgusError AG0911 or AG0903 where there is no driver or no device.
    """

    kind = "cuda"

    def __init__(self) -> None:
        self._library = cuda.library()
        count = c_int()
        cuda.check(self._library.cuDeviceGetCount(byref(count)), "counting devices")
        self.device_count = count.value
        if self.device_count == 0:
            raise fail("AG0903", None, "the CUDA driver sees no device")
        self._contexts: dict[int, int] = {}
        self._infos: dict[int, DeviceInfo] = {}
        self._torch_stream: Callable[[int], int] | None = None
        self._lock = threading.Lock()

    # ----------------------------------------------------------------- devices

    def version(self) -> tuple[int, int]:
        """The newest CUDA version that this driver supports."""
        number = c_int()
        cuda.check(self._library.cuDriverGetVersion(byref(number)), "asking a version")
        return number.value // 1000, number.value % 1000 // 10

    def info(self, index: int) -> DeviceInfo:
        """Facts of device ``index``; ArgusError AG0903 if there is no such device."""
        if index in self._infos:
            return self._infos[index]
        if not 0 <= index < self.device_count:
            raise fail(
                "AG0903",
                None,
                f"there is no CUDA device {index}",
                notes=[f"the driver sees {self.device_count}"],
            )
        device, memory = c_int(), c_size_t()
        name = ctypes.create_string_buffer(256)
        cuda.check(self._library.cuDeviceGet(byref(device), index), "finding a device")
        cuda.check(
            self._library.cuDeviceGetName(name, len(name), device), "asking a name"
        )
        cuda.check(
            self._library.cuDeviceTotalMem_v2(byref(memory), device),
            "asking the memory",
        )
        self._infos[index] = DeviceInfo(
            index,
            name.value.decode(errors="replace"),
            (
                self._attribute(device, cuda.CAPABILITY_MAJOR),
                self._attribute(device, cuda.CAPABILITY_MINOR),
            ),
            self._attribute(device, cuda.MULTIPROCESSOR_COUNT),
            memory.value,
        )
        return self._infos[index]

    def _attribute(self, device: c_int, attribute: int) -> int:
        value = c_int()
        cuda.check(
            self._library.cuDeviceGetAttribute(byref(value), attribute, device),
            "asking a device attribute",
        )
        return value.value

    def device_of(self, pointer: int) -> int:
        """The device that an address belongs to.

        Raises ArgusError AG0810 for an address that CUDA does not know.
        """
        ordinal = c_int()
        with self._inside(self._context(0)):
            cuda.check(
                self._library.cuPointerGetAttribute(
                    byref(ordinal), cuda.POINTER_DEVICE, pointer
                ),
                "asking the device of an address",
            )
        return ordinal.value

    # ---------------------------------------------------------------- contexts

    def _context(self, index: int) -> int:
        """Handle of the primary context of a device."""
        with self._lock:
            if index not in self._contexts:
                device, context = c_int(), c_void_p()
                cuda.check(
                    self._library.cuDeviceGet(byref(device), index), "finding a device"
                )
                cuda.check(
                    self._library.cuDevicePrimaryCtxRetain(byref(context), device),
                    "retaining the primary context",
                )
                self._contexts[index] = context.value or 0
            return self._contexts[index]

    def _current(self) -> int:
        context = c_void_p()
        cuda.check(self._library.cuCtxGetCurrent(byref(context)), "asking the context")
        return context.value or 0

    @contextmanager
    def _inside(self, context: int) -> Generator[None, None, None]:
        """Run with ``context`` current, and leave the thread's own as it was.

        A thread that has none keeps this one: it is what the CUDA runtime would do.
        """
        current = self._current()
        if current == context:
            yield
            return
        if current == 0:
            cuda.check(self._library.cuCtxSetCurrent(context), "setting a context")
            yield
            return
        cuda.check(self._library.cuCtxPushCurrent_v2(context), "entering a context")
        try:
            yield
        finally:
            popped = c_void_p()
            self._library.cuCtxPopCurrent_v2(byref(popped))

    # ----------------------------------------------------------------- kernels

    def load(
        self, image: bytes, entry: str, target: str, device: int, shape: LaunchShape
    ) -> LoadedFunction:
        """Load a cubin on ``device`` and allow it its shared memory and cluster.

        Raises ArgusError AG0905 (built for another architecture), AG0710 (no such
        entry), AG0810 or AG0904 (the driver refuses).
        """
        info = self.info(device)
        _check_target(target, info)
        context = self._context(device)
        lib = self._library
        module, function = c_void_p(), c_void_p()
        with self._inside(context), self._relaxed_capture():
            cuda.check(lib.cuModuleLoadData(byref(module), image), f"loading {entry}")
            found = lib.cuModuleGetFunction(byref(function), module, entry.encode())
            if found != 0:
                name = cuda.error_name(found)
                raise fail("AG0710", None, f"the cubin has no kernel {entry}: {name}")
            if shape.shared_bytes > 0:
                attribute = cuda.MAX_DYNAMIC_SHARED
                cuda.check(
                    lib.cuFuncSetAttribute(function, attribute, shape.shared_bytes),
                    f"giving {entry} {shape.shared_bytes} bytes of shared memory",
                )
            if shape.cluster > 8:  # above 8 is not portable (CUDA C++ Guide, clusters)
                attribute = cuda.NON_PORTABLE_CLUSTER
                cuda.check(
                    lib.cuFuncSetAttribute(function, attribute, 1),
                    f"giving {entry} a cluster of {shape.cluster}",
                )
        handle = function.value or 0
        return LoadedFunction(entry, device, info.multiprocessors, handle, context)

    @contextmanager
    def _relaxed_capture(self) -> Generator[None, None, None]:
        """Let this thread load a module while some stream is being captured."""
        mode = c_int(cuda.CAPTURE_MODE_RELAXED)
        exchange = self._library.cuThreadExchangeStreamCaptureMode
        cuda.check(exchange(byref(mode)), "changing the capture mode")
        try:
            yield
        finally:
            exchange(byref(mode))

    def tensor_map(self, request: MapRequest) -> bytes:
        """The ``CUtensorMap`` of ``request``.

        Raises ArgusError AG0805, AG0806 or AG0810 for what TMA cannot address.
        """
        return encode_tensor_map(self._library, request)

    def current_stream(self, device: int) -> int:
        """The current stream of torch if torch is in use, else the default stream."""
        if self._torch_stream is None:
            self._torch_stream = _torch_stream_reader()
        return 0 if self._torch_stream is None else self._torch_stream(device)

    def launcher(self, function: LoadedFunction, shape: LaunchShape) -> Launch:
        """A launch that costs one dictionary lookup and one driver call."""
        given: list[cuda.LaunchAttribute] = []
        if shape.cluster > 1:
            cluster = (shape.cluster, 1, 1)
            given.append(cuda.LaunchAttribute(cuda.CLUSTER_DIMENSION, 0, *cluster))
        if shape.overlaps:
            given.append(cuda.LaunchAttribute(cuda.OVERLAPPING, 0, 1))
        attributes = (cuda.LaunchAttribute * len(given))(*given)
        configs: dict[int, c_void_p] = {}
        kept: list[cuda.LaunchConfig] = []

        def configure(stream: int) -> c_void_p:
            # One configuration per stream, and none is ever changed: two threads may
            # launch the same kernel at once.
            config = cuda.LaunchConfig(
                shape.grid,
                1,
                1,
                shape.threads,
                1,
                1,
                shape.shared_bytes,
                stream,
                ctypes.cast(attributes, ctypes.POINTER(cuda.LaunchAttribute)),
                len(given),
            )
            kept.append(config)
            configs[stream] = c_void_p(ctypes.addressof(config))
            return configs[stream]

        call = self._library.cuLaunchKernelEx
        handle = c_void_p(function.handle)
        several_devices = self.device_count > 1

        def launch(stream: int, params: c_void_p, _keep: object = attributes) -> None:
            config = configs.get(stream) or configure(stream)
            if several_devices and self._current() != function.context:
                status = again(config, params)
            else:
                status = call(config, handle, params, None)
                if status != 0 and self._current() != function.context:
                    # A thread that has no context yet.
                    status = again(config, params)
            if status != 0:
                raise cuda.refusal(
                    status,
                    f"launching {function.name}",
                    [f"on device {function.device}: {shape}"],
                )

        def again(config: c_void_p, params: c_void_p) -> int:
            with self._inside(function.context):
                return call(config, handle, params, None)

        return launch


@cache
def cuda_driver() -> CudaDriver:
    """The driver of this process.

    Raises ArgusError AG0911, AG0903 or AG0904 where none can be used.
    """
    return CudaDriver()


def _torch_stream_reader() -> Callable[[int], int] | None:
    """What reads torch's current stream of a device; None while torch uses no GPU."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    # The call that torch's own compiler prints into its launchers: it makes no object,
    # and takes a tenth of the time of `torch.cuda.current_stream`.
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    if raw is not None:
        return cast("Callable[[int], int]", raw)
    return lambda device: cast("int", torch.cuda.current_stream(device).cuda_stream)


def target_of(info: DeviceInfo) -> Target:
    """The target whose binaries run on a device.

    Raises ArgusError AG0905 for a device of another architecture.
    """
    target = target_for_capability(info.capability)
    if target is None:
        major, minor = info.capability
        raise fail(
            "AG0905",
            None,
            f"no target of this version runs on sm_{major}{minor}",
            notes=[f"device {info.index}: {info.name}"],
        )
    return target


def _check_target(name: str, info: DeviceInfo) -> None:
    target, has = TARGETS.get(name), info.capability
    if target is not None and target.runs_on(has):
        return
    raise fail(
        "AG0905",
        None,
        f"the kernel is built for {name}, the device is sm_{has[0]}{has[1]}",
        notes=[f"device {info.index}: {info.name}"],
    )
