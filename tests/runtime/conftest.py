"""What the runtime's tests share: a spec by hand, and a driver without a GPU."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from argus.diagnostics import Span
from argus.ir.dtypes import bf16, f32
from argus.ir.expr import Sym, binary, cdiv
from argus.ir.launch import (
    LaunchSpec,
    PointerArg,
    ScalarArg,
    SymArg,
    TensorMapArg,
)
from argus.ir.placement import TensorMap
from argus.ir.program import (
    LaunchRequirement,
    PointerAlignment,
    ScalarParam,
    stride_symbol,
)
from argus.runtime.driver import Launch, LaunchShape, LoadedFunction
from argus.runtime.recall import Recall
from argus.runtime.tensor_map import MapRequest
from pieces import tensor

T = TypeVar("T")


def remembered(recall: Recall[T]) -> list[T]:
    """The calls that are remembered."""
    return [ready for way in recall._ways.values() for ready in way.calls.values()]


def dim(name: str) -> Sym:
    return Sym(name, "dim")


def make_spec(**changes: object) -> LaunchSpec:
    """C[m, n] = alpha * sum over k of A[m, k] * B[n, k], by 16 x 16 tiles."""
    a, b, c = tensor("A", f32, "M K"), tensor("B", f32, "N K"), tensor("C", f32, "M N")
    alpha = ScalarParam("alpha", "f32", Sym("alpha", "param", "float"))
    fields: dict[str, object] = {
        "entry": "gemm",
        "target": "sm_90a",
        "tensors": (a, b, c),
        "scalars": (alpha,),
        "args": (
            TensorMapArg(0),
            PointerArg("C"),
            SymArg(dim("M")),
            SymArg(dim("K")),
            SymArg(stride_symbol("C", 0)),
            ScalarArg("alpha"),
        ),
        "grid": binary("*", cdiv(dim("M"), 16), cdiv(dim("N"), 16)),
        "threads": 128,
        "cluster": 1,
        "min_blocks": 1,
        "shared_bytes": 1024,
        "tensor_maps": (TensorMap(a, (16, 16), 64),),
        "requirements": (
            LaunchRequirement(
                binary("==", binary("%", dim("K"), 4), 0),
                "rows are read 16 bytes at a time",
                Span("gemm.py", 3, 1, 3, 5),
            ),
            LaunchRequirement(
                binary("==", binary("%", stride_symbol("A", 0), 4), 0),
                "TMA needs strides of 16 bytes",
                Span("gemm.py", 3, 1, 3, 5),
            ),
        ),
        "alignments": (PointerAlignment("A", 16),),
        "outputs": ("C",),
    }
    fields.update(changes)
    return LaunchSpec(**fields)  # type: ignore[arg-type]


@dataclass
class FakeDriver:
    """Takes tensors of the CPU, and writes down what it is asked."""

    kind: str = "cpu"
    stream: int = 7
    loads: list[tuple[str, int, LaunchShape]] = field(default_factory=list)
    maps: list[MapRequest] = field(default_factory=list)
    launches: list[tuple[int, LaunchShape]] = field(default_factory=list)

    def load(
        self, image: bytes, entry: str, target: str, device: int, shape: LaunchShape
    ) -> LoadedFunction:
        self.loads.append((entry, device, shape))
        return LoadedFunction(entry, device, 132, 1, 1)

    def tensor_map(self, request: MapRequest) -> bytes:
        self.maps.append(request)
        return bytes(range(128))

    def device_of(self, pointer: int) -> int:
        return 3

    def current_stream(self, device: int) -> int:
        return self.stream

    def launcher(self, function: LoadedFunction, shape: LaunchShape) -> Launch:
        return lambda stream, params: self.launches.append((stream, shape))


@pytest.fixture
def driver() -> FakeDriver:
    return FakeDriver()


@pytest.fixture
def spec_of() -> Callable[..., LaunchSpec]:
    return make_spec


@pytest.fixture
def bf16_spec() -> LaunchSpec:
    a, b, c = (
        tensor(name, bf16, dims)
        for name, dims in (("A", "M K"), ("B", "N K"), ("C", "M N"))
    )
    return make_spec(
        tensors=(a, b, c),
        tensor_maps=(TensorMap(a, (16, 16), 32),),
    )
