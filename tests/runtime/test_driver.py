"""The driver's ABI against cuda-bindings, and contexts on a library that pretends."""

import ctypes
from collections.abc import Iterator
from typing import Any

import pytest
from cuda.bindings import driver as bindings

from argus.diagnostics import ArgusError
from argus.runtime import cuda, tensor_map
from argus.runtime.driver import CudaDriver, DeviceInfo, LaunchShape, _check_target
from argus.runtime.tensor_map import MapRequest, encode_tensor_map


def test_the_launch_configuration_lies_as_the_driver_reads_it() -> None:
    theirs = bindings.CUlaunchConfig()
    theirs.gridDimX, theirs.gridDimY, theirs.gridDimZ = 5, 6, 7
    theirs.blockDimX, theirs.blockDimY, theirs.blockDimZ = 128, 2, 3
    theirs.sharedMemBytes = 4096
    theirs.hStream = bindings.CUstream(0x1234)
    attribute = bindings.CUlaunchAttribute()
    attribute.id = bindings.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    cluster = attribute.value.clusterDim
    cluster.x, cluster.y, cluster.z = 2, 1, 1
    theirs.attrs = [attribute]
    theirs.numAttrs = 1
    ours = cuda.LaunchConfig.from_address(int(theirs.getPtr()))
    assert (ours.grid_x, ours.grid_y, ours.grid_z) == (5, 6, 7)
    assert (ours.block_x, ours.block_y, ours.block_z) == (128, 2, 3)
    assert (ours.shared_bytes, ours.stream) == (4096, 0x1234)
    assert ours.attribute_count == 1
    first = ours.attributes[0]
    assert first.id == cuda.CLUSTER_DIMENSION
    assert (first.x, first.y, first.z) == (2, 1, 1)
    assert ctypes.sizeof(cuda.LaunchAttribute) == 72
    kinds = bindings.CUlaunchAttributeID
    overlapping = kinds.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    assert overlapping == cuda.OVERLAPPING
    attribute.id = overlapping
    attribute.value.programmaticStreamSerializationAllowed = 1
    ours = cuda.LaunchAttribute.from_address(int(attribute.getPtr()))
    assert (ours.id, ours.x) == (cuda.OVERLAPPING, 1)


def test_numbers_are_those_of_the_header() -> None:
    device = bindings.CUdevice_attribute
    function = bindings.CUfunction_attribute
    result = bindings.CUresult
    assert device.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == cuda.MULTIPROCESSOR_COUNT
    assert device.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR == cuda.CAPABILITY_MAJOR
    assert device.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR == cuda.CAPABILITY_MINOR
    dynamic = function.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    assert dynamic == cuda.MAX_DYNAMIC_SHARED
    portable = function.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
    assert portable == cuda.NON_PORTABLE_CLUSTER
    mode = bindings.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    assert mode == cuda.CAPTURE_MODE_RELAXED
    pointer = bindings.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    assert pointer == cuda.POINTER_DEVICE
    assert result.CUDA_ERROR_OUT_OF_MEMORY == cuda.OUT_OF_MEMORY
    assert result.CUDA_ERROR_NO_DEVICE == cuda.NO_DEVICE
    assert result.CUDA_ERROR_INVALID_IMAGE == cuda.INVALID_IMAGE
    assert result.CUDA_ERROR_NO_BINARY_FOR_GPU == cuda.NO_BINARY
    assert result.CUDA_ERROR_UNSUPPORTED_PTX_VERSION == cuda.UNSUPPORTED_PTX
    assert result.CUDA_ERROR_ILLEGAL_ADDRESS in cuda.STICKY
    assert result.CUDA_ERROR_LAUNCH_FAILED in cuda.STICKY
    assert result.CUDA_ERROR_INVALID_VALUE not in cuda.STICKY


def test_tensor_map_numbers_are_those_of_the_header() -> None:
    for name, number in tensor_map._MAP_TYPES.items():
        kind = getattr(bindings.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{name}")
        assert kind == number
    for size, number in tensor_map._MAP_SWIZZLES.items():
        name = f"CU_TENSOR_MAP_SWIZZLE_{f'{size}B' if size else 'NONE'}"
        assert getattr(bindings.CUtensorMapSwizzle, name) == number
    promotion = bindings.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B
    assert promotion == tensor_map._L2_PROMOTION_128B


class Library:
    """Stands for libcuda: two devices, contexts 101 and 102, and a stack of them."""

    def __init__(self, devices: int = 2) -> None:
        self.devices = devices
        self.stack = [0]
        self.calls: list[tuple[Any, ...]] = []
        self.statuses: list[int] = []
        self.mode = 0

    def cuDeviceGetCount(self, out: Any) -> int:  # noqa: N802
        out._obj.value = self.devices
        return 0

    def cuDeviceGet(self, out: Any, index: int) -> int:  # noqa: N802
        out._obj.value = index
        return 0

    def cuDeviceGetName(self, out: Any, size: int, device: Any) -> int:  # noqa: N802
        out.value = b"Pretended"
        return 0

    def cuDeviceTotalMem_v2(self, out: Any, device: Any) -> int:  # noqa: N802
        out._obj.value = 1 << 37
        return 0

    def cuDeviceGetAttribute(self, out: Any, which: int, device: Any) -> int:  # noqa: N802
        out._obj.value = {16: 132, 75: 9, 76: 0}[which]
        return 0

    def cuDevicePrimaryCtxRetain(self, out: Any, device: Any) -> int:  # noqa: N802
        out._obj.value = 101 + device.value
        return 0

    def cuCtxGetCurrent(self, out: Any) -> int:  # noqa: N802
        out._obj.value = self.stack[-1]
        return 0

    def cuCtxSetCurrent(self, context: int) -> int:  # noqa: N802
        self.stack[-1] = context
        return 0

    def cuCtxPushCurrent_v2(self, context: int) -> int:  # noqa: N802
        self.stack.append(context)
        return 0

    def cuCtxPopCurrent_v2(self, out: Any) -> int:  # noqa: N802
        self.stack.pop()
        return 0

    def cuThreadExchangeStreamCaptureMode(self, mode: Any) -> int:  # noqa: N802
        self.mode, mode._obj.value = mode._obj.value, self.mode
        return 0

    def cuModuleLoadData(self, out: Any, image: bytes) -> int:  # noqa: N802
        self.calls.append(("load", self.stack[-1], self.mode))
        out._obj.value = 5
        return 0

    def cuModuleGetFunction(self, out: Any, module: Any, name: bytes) -> int:  # noqa: N802
        out._obj.value = 6
        return 0 if name == b"k" else 500

    def cuFuncSetAttribute(self, function: Any, which: int, value: int) -> int:  # noqa: N802
        self.calls.append(("attribute", which, value))
        return 0

    def cuLaunchKernelEx(self, config: Any, f: Any, params: Any, extra: Any) -> int:  # noqa: N802
        made = cuda.LaunchConfig.from_address(config.value)
        self.calls.append(
            (
                "launch", self.stack[-1], made.stream or 0, made.grid_x,
                made.attribute_count,
            )
        )  # fmt: skip
        return self.statuses.pop(0) if self.statuses else 0

    def cuTensorMapEncodeTiled(self, *args: Any) -> int:  # noqa: N802
        self.calls.append(args)
        assert args[0] % 64 == 0
        ctypes.memset(args[0], 0xAB, 128)
        return 0

    def cuGetErrorName(self, status: int, out: Any) -> int:  # noqa: N802
        out._obj.value = {700: b"CUDA_ERROR_ILLEGAL_ADDRESS"}.get(status, b"CUDA_X")
        return 0

    def cuGetErrorString(self, status: int, out: Any) -> int:  # noqa: N802
        out._obj.value = b"words"
        return 0


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    made = Library()
    monkeypatch.setattr(cuda, "library", lambda: made)
    yield made


SHAPE = LaunchShape(4, 128, 1, 2048)
PARAMS = ctypes.c_void_p(64)


def launches(library: Library) -> list[tuple[Any, ...]]:
    return [call[1:] for call in library.calls if call[0] == "launch"]


def test_loading_happens_in_the_primary_context(library: Library) -> None:
    driver = CudaDriver()
    function = driver.load(b"", "k", "sm_90a", 1, SHAPE)
    assert (function.context, function.multiprocessors) == (102, 132)
    assert ("load", 102, cuda.CAPTURE_MODE_RELAXED) in library.calls
    assert ("attribute", cuda.MAX_DYNAMIC_SHARED, 2048) in library.calls
    assert library.mode == 0  # what it was
    assert library.stack == [102]  # the thread had none


def test_another_context_is_left_as_it_was(library: Library) -> None:
    library.stack = [77]
    driver = CudaDriver()
    function = driver.load(b"", "k", "sm_90a", 0, SHAPE)
    assert ("load", 101, cuda.CAPTURE_MODE_RELAXED) in library.calls
    assert library.stack == [77]
    driver.launcher(function, SHAPE)(9, PARAMS)
    assert launches(library) == [(101, 9, 4, 0)]
    assert library.stack == [77]


def test_one_device_asks_for_the_context_only_after_a_failure(
    library: Library,
) -> None:
    library.devices = 1
    driver = CudaDriver()
    function = driver.load(b"", "k", "sm_90a", 0, SHAPE)
    launch = driver.launcher(function, LaunchShape(4, 128, 2, 0))
    launch(9, PARAMS)
    library.stack = [0]  # as in a new thread
    library.statuses = [201]
    launch(9, PARAMS)
    assert launches(library) == [(101, 9, 4, 1), (0, 9, 4, 1), (101, 9, 4, 1)]


@pytest.mark.parametrize(
    ("cluster", "overlaps", "attributes"),
    [(1, False, 0), (2, False, 1), (1, True, 1), (2, True, 2)],
)
def test_attributes_are_those_of_the_shape(
    library: Library, cluster: int, overlaps: bool, attributes: int
) -> None:
    driver = CudaDriver()
    function = driver.load(b"", "k", "sm_90a", 0, SHAPE)
    driver.launcher(function, LaunchShape(4, 128, cluster, 0, overlaps))(9, PARAMS)
    assert launches(library) == [(101, 9, 4, attributes)]


def test_large_clusters_are_asked_for(library: Library) -> None:
    CudaDriver().load(b"", "k", "sm_90a", 0, LaunchShape(16, 128, 16, 0))
    assert ("attribute", cuda.NON_PORTABLE_CLUSTER, 1) in library.calls


@pytest.mark.parametrize(
    ("status", "code"), [(1, "AG0810"), (700, "AG0811"), (701, "AG0810")]
)
def test_a_failed_launch(library: Library, status: int, code: str) -> None:
    driver = CudaDriver()
    function = driver.load(b"", "k", "sm_90a", 0, SHAPE)
    library.statuses = [status]
    with pytest.raises(ArgusError) as caught:
        driver.launcher(function, SHAPE)(0, PARAMS)
    assert caught.value.code == code
    assert "launching k failed: CUDA_" in caught.value.diagnostics[0].message


def test_what_is_not_there(library: Library) -> None:
    driver = CudaDriver()
    with pytest.raises(ArgusError, match="AG0710"):
        driver.load(b"", "other", "sm_90a", 0, SHAPE)
    with pytest.raises(ArgusError, match="AG0903"):
        driver.info(2)
    library.devices = 0
    with pytest.raises(ArgusError, match="AG0903"):
        CudaDriver()


@pytest.mark.parametrize(
    ("target", "capability", "runs"),
    [
        ("sm_90a", (9, 0), True),
        ("sm_90a", (10, 0), False),
        ("sm_90a", (9, 1), False),
        ("sm_80", (8, 0), True),
        ("sm_80", (8, 9), True),
        ("sm_80", (9, 0), False),
        ("sm_89", (8, 6), False),
    ],
)
def test_targets(target: str, capability: tuple[int, int], runs: bool) -> None:
    info = DeviceInfo(0, "x", capability, 1, 1)
    if runs:
        _check_target(target, info)
        return
    with pytest.raises(ArgusError, match="AG0905"):
        _check_target(target, info)


def request(**changes: Any) -> MapRequest:
    fields = {
        "tensor": "A",
        "pointer": 4096,
        "dtype": "bf16",
        "shape": (3, 100, 64),
        "strides": (6400, 64, 1),
        "box": (1, 128, 64),
        "swizzle": 128,
        "steps": (1, 1, 1),
    }
    return MapRequest(**{**fields, **changes})


def test_tensor_maps_are_given_innermost_first(library: Library) -> None:
    driver = CudaDriver()
    assert driver.tensor_map(request()) == b"\xab" * 128
    (call,) = library.calls
    kind, rank, pointer, shape, steps, box, ones = call[1:8]
    assert (kind, rank, pointer) == (9, 3, 4096)
    assert list(shape) == [64, 100, 3]
    assert list(steps) == [128, 12800]
    assert list(box) == [64, 128, 1]
    assert list(ones) == [1, 1, 1]
    assert call[8:] == (0, 3, 2, 0)


def test_boxes_of_elements_that_lie_apart(library: Library) -> None:
    """The driver is told over how many elements a box goes."""
    encode_tensor_map(library, request(box=(2, 64, 64), steps=(1, 3, 1)))  # type: ignore[arg-type]
    (call,) = library.calls
    box, steps = call[6:8]
    assert list(box) == [64, 192, 2]
    assert list(steps) == [1, 3, 1]


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("AG0806", {"pointer": 4104}),
        ("AG0805", {"strides": (6400, 68, 1)}),
        ("AG0805", {"strides": (1 << 39, 64, 1)}),
    ],
)
def test_what_tma_cannot_address(
    library: Library, code: str, changes: dict[str, Any]
) -> None:
    with pytest.raises(ArgusError) as caught:
        encode_tensor_map(library, request(**changes))  # type: ignore[arg-type]
    assert caught.value.code == code
    assert "`A`" in caught.value.diagnostics[0].message


def test_without_torch_on_a_gpu_the_stream_is_the_default(library: Library) -> None:
    assert CudaDriver().current_stream(0) == 0
