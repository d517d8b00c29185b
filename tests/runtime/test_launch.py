"""Preparing and launching, on a driver that only takes notes."""

import struct
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from argus.diagnostics import ArgusError, Span
from argus.ir.expr import Sym, binary
from argus.ir.launch import LaunchSpec
from argus.ir.program import LaunchRequirement
from argus.runtime import plan
from argus.runtime.driver import LaunchShape
from argus.runtime.launch import LoadedKernel
from argus.runtime.recall import CALLS
from runtime.conftest import remembered

if TYPE_CHECKING:
    FakeDriver = Any

Spec = Callable[..., LaunchSpec]


def tensors(m: int = 32, n: int = 48, k: int = 64) -> list[torch.Tensor]:
    return [torch.zeros(m, k), torch.zeros(n, k), torch.zeros(m, n)]


@pytest.fixture
def loaded(spec_of: Spec, driver: "FakeDriver") -> LoadedKernel:
    return LoadedKernel(spec_of(), b"image", driver)


def test_a_call_loads_once_and_launches(
    loaded: LoadedKernel, driver: "FakeDriver"
) -> None:
    a, b, c = tensors()
    loaded(a, b, c, 1.0)
    loaded(a, b, c, 1.0, stream=3)
    shape = LaunchShape(6, 128, 1, 1024)
    assert driver.launches == [(7, shape), (3, shape)]
    assert len(driver.loads) == 1
    assert len(driver.maps) == 1  # the second call was remembered


def test_parameters_are_packed_in_order(loaded: LoadedKernel) -> None:
    a, b, c = tensors()
    ready = loaded.prepare(a, b, c, 2.5)
    packed = ready.parameters
    assert packed is not None
    assert packed.raw(0, 128) == bytes(range(128))
    assert packed.pointers[0] % 64 == 0
    assert packed.raw(1, 8) == struct.pack("<Q", c.data_ptr())
    assert packed.raw(2, 4) == struct.pack("<i", 32)
    assert packed.raw(3, 4) == struct.pack("<i", 64)
    assert packed.raw(4, 8) == struct.pack("<q", 48)
    assert packed.raw(5, 4) == struct.pack("<f", 2.5)


def test_the_map_describes_the_tensor(
    loaded: LoadedKernel, driver: "FakeDriver"
) -> None:
    _, b, c = tensors()
    wide = torch.zeros(32, 128)[:, :64]
    loaded(wide, b, c, 1.0)
    (request,) = driver.maps
    assert request.pointer == wide.data_ptr()
    assert (request.shape, request.strides) == ((32, 64), (128, 1))
    assert (request.box, request.swizzle, request.dtype) == ((16, 16), 64, "f32")


def test_prepared_calls_may_be_repeated(
    loaded: LoadedKernel, driver: "FakeDriver"
) -> None:
    ready = loaded.prepare(*tensors(), alpha=1.0)
    for _ in range(3):
        ready()
    ready(stream=11)
    assert [stream for stream, _ in driver.launches] == [7, 7, 7, 11]
    assert ready.grid == 6


def test_names_and_order(loaded: LoadedKernel, driver: "FakeDriver") -> None:
    a, b, c = tensors()
    loaded(C=c, B=b, A=a, alpha=1.0)
    loaded(a, b, alpha=1.0, C=c)
    assert len(driver.launches) == 2
    assert len(driver.maps) == 1


@pytest.mark.parametrize(
    ("count", "named", "words"),
    [
        (3, {}, "lacks `alpha`"),
        (2, {}, "lacks `C`, `alpha`"),
        (4, {"A": 1}, "`A`, twice"),
        (3, {"beta": 1.0}, "`beta`, and has none"),
        (5, {}, "takes 4 arguments, given 5"),
    ],
)
def test_wrong_calls(
    loaded: LoadedKernel, count: int, named: dict[str, object], words: str
) -> None:
    with pytest.raises(ArgusError) as caught:
        loaded(*[*tensors(), 1.0, 2.0][:count], **named)
    assert caught.value.code == "AG0801"
    assert words in caught.value.diagnostics[0].message
    assert "gemm(A, B, C, alpha)" in caught.value.diagnostics[0].notes[0]


def test_empty_outputs_launch_nothing(
    loaded: LoadedKernel, driver: "FakeDriver"
) -> None:
    loaded(*tensors(m=0), 1.0)
    assert driver.launches == []
    assert driver.loads == []
    assert loaded.prepare(*tensors(m=0), 1.0).grid == 0


def test_a_grid_of_zero_launches_nothing(spec_of: Spec, driver: "FakeDriver") -> None:
    from argus.ir.expr import Const

    LoadedKernel(spec_of(grid=Const(0)), b"", driver)(*tensors(), 1.0)
    assert driver.launches == []


def test_other_addresses_are_not_confused(
    loaded: LoadedKernel, driver: "FakeDriver"
) -> None:
    first, second = tensors(), tensors()
    loaded(*first, 1.0)
    loaded(*second, 1.0)
    assert [r.pointer for r in driver.maps] == [
        first[0].data_ptr(), second[0].data_ptr()
    ]  # fmt: skip
    # The second has the shapes of the first, so only its addresses are looked at.
    base = torch.zeros(32 * 64 + 1)
    with pytest.raises(ArgusError, match="AG0806"):
        loaded(base[1:].view(32, 64), second[1], second[2], 1.0)


def test_other_scalars_and_shapes_are_not_confused(
    loaded: LoadedKernel, driver: "FakeDriver"
) -> None:
    a, b, c = tensors()
    for alpha in (0.0, -0.0, 1.0, float("nan")):
        key = loaded.prepare(a, b, c, alpha).parameters
        assert key is not None
        loaded(a, b, c, alpha)
        assert key.raw(5, 4) == struct.pack("<f", alpha)
    assert len(remembered(loaded._recall)) == 4
    assert len(loaded._recall._plans) == 1
    loaded(a[:16], b, c[:16], 1.0)
    assert driver.launches[-1][1].grid == 3
    with pytest.raises(ArgusError, match="AG0804"):
        loaded(a[:16], b, c, 1.0)


def test_wrong_arguments_stay_wrong(loaded: LoadedKernel, driver: "FakeDriver") -> None:
    a, b, c = tensors()
    for _ in range(2):
        with pytest.raises(ArgusError, match="AG0802"):
            loaded(a.half(), b, c, 1.0)
        with pytest.raises(ArgusError, match="AG0808"):
            loaded(a, b, c, True)
        with pytest.raises(ArgusError, match="AG0812"):
            loaded(a.to_sparse(), b, c, 1.0)
    with pytest.raises(ArgusError, match="AG0807"):
        loaded(torch.zeros(32, 64, device="meta"), b, c, 1.0)
    assert driver.launches == []


def test_numpy_arrays_are_tensors_too(
    loaded: LoadedKernel, driver: "FakeDriver"
) -> None:
    a, b, c = (np.zeros(t.shape, np.float32) for t in tensors())
    aligned = np.zeros(32 * 64 + 16, np.float32)
    start = -aligned.ctypes.data % 16 // 4
    a = aligned[start : start + 32 * 64].reshape(32, 64)
    loaded(a, b, c, 1.0)
    assert driver.launches[0][1].grid == 6


def test_bf16(bf16_spec: LaunchSpec, driver: "FakeDriver") -> None:
    loaded = LoadedKernel(bf16_spec, b"", driver)
    a, b, c = (t.bfloat16() for t in tensors())
    loaded(torch.nn.Parameter(a), b, c, 1.0)
    assert driver.maps[0].dtype == "bf16"


def test_streams_of_several_kinds(loaded: LoadedKernel, driver: "FakeDriver") -> None:
    class TorchLike:
        cuda_stream = 21

    class CudaLike:
        def __cuda_stream__(self) -> tuple[int, int]:
            return (0, 22)

    ready = loaded.prepare(*tensors(), 1.0)
    ready(TorchLike())
    ready(CudaLike())
    loaded(*tensors(), 1.0, stream=TorchLike())
    assert [stream for stream, _ in driver.launches] == [21, 22, 21]


def test_remembered_calls_are_bounded(loaded: LoadedKernel) -> None:
    a, b, c = tensors()
    for index in range(1, CALLS + 100):
        loaded(a, b, c, float(index))
    assert len(remembered(loaded._recall)) == CALLS
    assert len(loaded._recall._plans) == 1


def test_remembered_calls_keep_no_tensor_alive(loaded: LoadedKernel) -> None:
    import weakref

    given = tensors()
    seen = weakref.ref(given[0])
    loaded(*given, 1.0)
    del given
    assert seen() is None
    kept = tensors()
    ready = loaded.prepare(*kept, 1.0)
    seen = weakref.ref(kept[0])
    del kept
    assert seen() is not None
    del ready
    assert seen() is None


def test_threads_load_once(spec_of: Spec, driver: "FakeDriver") -> None:
    loaded = LoadedKernel(spec_of(), b"", driver)
    given = [tensors() for _ in range(8)]
    threads = [threading.Thread(target=loaded, args=(*group, 1.0)) for group in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(driver.launches) == 8
    assert len(driver.loads) == 1


def test_without_a_driver_the_error_says_so(
    spec_of: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    from argus.runtime import cuda

    def none(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(cuda.ctypes, "CDLL", none)
    cuda.library.cache_clear()
    with pytest.raises(ArgusError) as caught:
        cuda.library()
    assert caught.value.code == "AG0911"


def test_specs_survive_the_disk(spec_of: Spec) -> None:
    spec = spec_of()
    assert LaunchSpec.from_json(spec.to_json()) == spec


def test_requirements_on_scalars_are_looked_at_once(
    spec_of: Spec, driver: "FakeDriver", monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call at other addresses asks again for a scalar alone that it had not."""
    alpha = Sym("alpha", "param", "float")
    span = Span("gemm.py", 3, 1, 3, 5)
    positive = LaunchRequirement(binary(">", alpha, 0), "alpha is positive", span)
    loaded = LoadedKernel(spec_of(requirements=(positive,)), b"cubin", driver)
    asked: list[object] = []
    check = plan.check_requirements
    monkeypatch.setattr(
        plan, "check_requirements", lambda *given: asked.append(check(*given))
    )
    for factor in (1.5, 1.5, 2.5, 1.5):
        loaded.prepare(*tensors(), factor)
    assert len(asked) == 2
    with pytest.raises(ArgusError, match="AG0808"):
        loaded.prepare(*tensors(), -1.5)
