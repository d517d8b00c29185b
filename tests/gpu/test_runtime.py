"""Loading and launching on a device, with CUDA sources and launch specs by hand."""

import threading

import pytest

from argus.diagnostics import ArgusError, Span
from argus.ir.dtypes import f32
from argus.ir.expr import Const, Sym, binary, cdiv
from argus.ir.launch import (
    LaunchSpec,
    PointerArg,
    ScalarArg,
    SymArg,
    TensorMapArg,
)
from argus.ir.memory import GlobalTensor
from argus.ir.placement import TensorMap
from argus.ir.program import (
    LaunchRequirement,
    PointerAlignment,
    ScalarParam,
    stride_symbol,
)
from argus.runtime.build import build
from argus.runtime.driver import cuda_driver
from argus.runtime.launch import LoadedKernel
from pieces import tensor

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu

M, N = Sym("M", "dim"), Sym("N", "dim")
ALPHA = ScalarParam("alpha", "f32", Sym("alpha", "param", "float"))

SCALE = """\
extern "C" __global__ void __launch_bounds__(128)
scale(const float* __restrict__ x, float* y, int m, int n, long long ys, float alpha) {
  for (int i = blockIdx.x * 128 + threadIdx.x; i < m * n; i += gridDim.x * 128)
    y[(long long)(i / n) * ys + i % n] = x[i] * alpha;
}
"""

SPIN = """\
extern "C" __global__ void __launch_bounds__(32)
spin(const int* go, int* out, int n) {
  while (atomicAdd(const_cast<int*>(go), 0) == 0) {}
  out[0] = n;
}
"""

TMA = """\
struct alignas(64) TensorMap { char bytes[128]; };
extern "C" __global__ void __launch_bounds__(128)
tile(const __grid_constant__ TensorMap map, float* y, int n) {
  extern __shared__ __align__(1024) unsigned char smem[];
  float* in = reinterpret_cast<float*>(smem);
  __shared__ alignas(8) unsigned long long full;
  unsigned bar = (unsigned)__cvta_generic_to_shared(&full);
  unsigned dst = (unsigned)__cvta_generic_to_shared(in);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;"
                 :: "r"(bar) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global"
        ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
        :: "r"(dst), "l"(&map), "r"(bar), "r"(0), "r"((int)blockIdx.x * 16)
        : "memory");
  }
  __syncthreads();
  unsigned done = 0;
  while (!done)
    asm volatile("{ .reg .pred p;\\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\\n"
                 "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(bar) : "memory");
  for (int i = threadIdx.x; i < 256; i += 128) {
    int row = blockIdx.x * 16 + i / 16;
    if (row < n) y[row * 16 + i % 16] = in[i];
  }
}
"""

CLUSTER = """\
extern "C" __global__ void __launch_bounds__(32)
ranks(int* y, int n) {
  unsigned rank, size;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  if (threadIdx.x == 0 && blockIdx.x < n) y[blockIdx.x] = rank * 100 + size;
}
"""


def spec(**changes: object) -> LaunchSpec:
    fields: dict[str, object] = {
        "entry": "scale",
        "target": "sm_90a",
        "tensors": (tensor("X", f32, "M N"), tensor("Y", f32, "M N")),
        "scalars": (ALPHA,),
        "args": (
            PointerArg("X"),
            PointerArg("Y"),
            SymArg(M),
            SymArg(N),
            SymArg(stride_symbol("Y", 0)),
            ScalarArg("alpha"),
        ),
        "grid": binary(
            "min", cdiv(binary("*", M, N), 128), binary("*", Sym("sm_count", "sms"), 8)
        ),
        "threads": 128,
        "cluster": 1,
        "min_blocks": 1,
        "shared_bytes": 0,
        "tensor_maps": (),
        "requirements": (
            LaunchRequirement(
                binary("==", stride_symbol("X", 0), N),
                "X is read as one row",
                Span("scale.py", 1, 1, 1, 2),
            ),
        ),
        "alignments": (PointerAlignment("X", 4),),
        "outputs": ("Y",),
    }
    fields.update(changes)
    return LaunchSpec(**fields)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def scale() -> LoadedKernel:
    return LoadedKernel(spec(), build(SCALE, "sm_90a").image)


def randn(*shape: int, device: str = "cuda") -> "torch.Tensor":
    return torch.randn(*shape, device=device)


def test_a_launch_computes(scale: LoadedKernel) -> None:
    x, y = randn(300, 70), torch.full((300, 70), float("nan"), device="cuda")
    scale(x, y, 3.0)
    assert torch.equal(y, x * 3)
    scale(x, y, alpha=-0.5)
    assert torch.equal(y, x * -0.5)


def test_strided_outputs(scale: LoadedKernel) -> None:
    x, wide = randn(9, 5), torch.zeros(9, 12, device="cuda")
    scale(x, wide[:, 3:8], 2.0)
    expected = torch.zeros_like(wide)
    expected[:, 3:8] = x * 2
    assert torch.equal(wide, expected)


def test_empty_tensors(scale: LoadedKernel) -> None:
    empty = torch.empty(0, 4, device="cuda")
    scale(empty, torch.empty_like(empty), 1.0)


def test_wrong_arguments_do_not_launch(scale: LoadedKernel) -> None:
    x, y = randn(8, 8), torch.zeros(8, 8, device="cuda")
    wrong = {
        "AG0801": (x, y),
        "AG0802": (x.half(), y, 1.0),
        "AG0803": (x[0], y, 1.0),
        "AG0804": (x, y[:4], 1.0),
        "AG0805": (x[:, :4], y[:, :4], 1.0),
        "AG0807": (x.cpu(), y, 1.0),
        "AG0808": (x, y, "1"),
        "AG0812": (x.to_sparse(), y, 1.0),
    }
    for code, arguments in wrong.items():
        with pytest.raises(ArgusError) as caught:
            scale(*arguments)
        assert caught.value.code == code
    torch.cuda.synchronize()
    assert not y.any()


def test_the_current_stream_is_used(scale: LoadedKernel) -> None:
    """A kernel that waits for a flag keeps one stream busy; the other goes on."""
    flags = GlobalTensor("go", _i32(), ("N",), (N,), (Const(1),))
    out = GlobalTensor("out", _i32(), ("N",), (N,), (Const(1),))
    spin = LoadedKernel(
        spec(
            entry="spin",
            tensors=(flags, out),
            scalars=(),
            args=(PointerArg("go"), PointerArg("out"), SymArg(N)),
            grid=Const(1),
            threads=32,
            requirements=(),
            alignments=(),
            outputs=("out",),
        ),
        build(SPIN, "sm_90a").image,
    )
    x, y = randn(64, 64), torch.zeros(64, 64, device="cuda")
    go = torch.zeros(5, device="cuda", dtype=torch.int32)
    done = torch.zeros_like(go)
    # Loading a kernel may wait for all that runs, so everything is loaded before.
    scale.prepare(x, y, 1.0)
    spin.prepare(go, done)
    go.fill_(0)
    torch.cuda.synchronize()
    busy, free = torch.cuda.Stream(), torch.cuda.Stream()
    spin(go, done, stream=busy)
    with torch.cuda.stream(free):
        scale(x, y, 4.0)
    free.synchronize()
    assert not busy.query()
    with torch.cuda.stream(free):
        go.fill_(1)
    busy.synchronize()
    assert done[0].item() == 5
    assert torch.equal(y, x * 4)


def _i32():
    from argus.ir.dtypes import i32

    return i32


def test_a_graph_is_captured_and_replayed(scale: LoadedKernel) -> None:
    x, y = randn(128, 33), torch.zeros(128, 33, device="cuda")
    ready = scale.prepare(x, y, 2.0)
    z = torch.zeros_like(y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ready()
        scale(y, z, 3.0)
    assert not y.any()
    for _ in range(2):
        x.normal_()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(y, x * 2)
        assert torch.equal(z, y * 3)


def test_loading_while_capturing() -> None:
    fresh = LoadedKernel(spec(), build(SCALE, "sm_90a").image)
    x, y = randn(16, 16), torch.zeros(16, 16, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        fresh(x, y, 2.0)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(y, x * 2)


def test_a_new_thread_has_no_context(scale: LoadedKernel) -> None:
    x, y = randn(40, 40), torch.zeros(40, 40, device="cuda")
    ready = scale.prepare(x, y, 5.0)
    torch.cuda.synchronize()
    thread = threading.Thread(target=ready, args=(0,))
    thread.start()
    thread.join()
    torch.cuda.synchronize()
    assert torch.equal(y, x * 5)


def test_torch_compile_takes_the_operator(scale: LoadedKernel) -> None:
    from argus.runtime.torch_op import (
        OpParameter,
        as_functional_op,
        as_torch_op,
        tensor,
    )

    alpha = OpParameter("alpha", "float")
    into = as_torch_op(
        scale, "argus_test::scale_into", (tensor("X"), tensor("Y"), alpha), ["Y"]
    )
    made = as_functional_op(
        lambda x, a, y: scale(x, y, a),
        "argus_test::scale_made",
        (tensor("X"), alpha),
        lambda x, a: torch.empty_like(x),
    )

    def model(x: "torch.Tensor") -> "torch.Tensor":
        y = torch.empty_like(x)
        into(x, y, 3.0)
        return made(y + 1, 2.0) - 1

    x = randn(64, 32)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    assert torch.allclose(compiled(x), (x * 3 + 1) * 2 - 1)


def test_tensor_maps_bring_tiles_in() -> None:
    """One box of 16 x 16 floats per block; rows beyond the tensor read as zero."""
    x = tensor("X", f32, "N 16")
    loaded = LoadedKernel(
        spec(
            entry="tile",
            tensors=(x, tensor("Y", f32, "N 16")),
            scalars=(),
            args=(TensorMapArg(0), PointerArg("Y"), SymArg(N)),
            grid=cdiv(N, 16),
            shared_bytes=1024,
            tensor_maps=(TensorMap(x, (16, 16), 0),),
            requirements=(),
            alignments=(PointerAlignment("X", 16),),
        ),
        build(TMA, "sm_90a").image,
    )
    source = randn(50, 32)[:, :16]
    target = torch.full((50, 16), float("nan"), device="cuda")
    loaded(source, target)
    assert torch.equal(target, source)
    with pytest.raises(ArgusError, match="AG0806"):
        loaded(randn(50, 33)[:, 1:17], target)


@pytest.mark.parametrize("size", [2, 8, 16])
def test_clusters(size: int) -> None:
    y = GlobalTensor("Y", _i32(), ("N",), (N,), (Const(1),))
    loaded = LoadedKernel(
        spec(
            entry="ranks",
            tensors=(y,),
            scalars=(),
            args=(PointerArg("Y"), SymArg(N)),
            grid=N,
            threads=32,
            cluster=size,
            requirements=(),
            alignments=(),
        ),
        build(CLUSTER, "sm_90a").image,
    )
    out = torch.zeros(4 * size, device="cuda", dtype=torch.int32)
    loaded(out)
    assert out.tolist() == [rank * 100 + size for rank in range(size)] * 4
    with pytest.raises(ArgusError, match="AG0508"):
        loaded(out[:-1])


def test_every_device(scale: LoadedKernel) -> None:
    count = cuda_driver().device_count
    if count < 2:
        pytest.skip("one device")
    for index in range(count):
        x = randn(32, 32, device=f"cuda:{index}")
        y = torch.zeros_like(x)
        scale(x, y, 2.0)  # whatever device is current
        torch.cuda.synchronize(index)
        assert torch.equal(y, x * 2)
    with pytest.raises(ArgusError, match="AG0807"):
        scale(randn(4, 4, device="cuda:0"), randn(4, 4, device="cuda:1"), 1.0)


def test_dlpack_alone_is_enough(scale: LoadedKernel) -> None:
    class Producer:
        def __init__(self, tensor: "torch.Tensor") -> None:
            self.tensor = tensor

        def __dlpack__(self, *, stream: int | None = None) -> object:
            return self.tensor.__dlpack__(stream=stream)

        def __dlpack_device__(self) -> tuple[int, int]:
            kind, index = self.tensor.__dlpack_device__()
            return int(kind), index

    x, y = randn(12, 12), torch.zeros(12, 12, device="cuda")
    scale(Producer(x), Producer(y), 2.0)
    torch.cuda.synchronize()
    assert torch.equal(y, x * 2)


def test_the_array_interface_is_enough(scale: LoadedKernel) -> None:
    class Producer:
        def __init__(self, tensor: "torch.Tensor") -> None:
            self.__cuda_array_interface__ = tensor.__cuda_array_interface__

    x, y = randn(12, 12), torch.zeros(12, 12, device="cuda")
    scale(Producer(x), Producer(y), 2.0)
    torch.cuda.synchronize()
    assert torch.equal(y, x * 2)


def test_the_host_cost_of_a_launch_is_small(scale: LoadedKernel) -> None:
    """A few microseconds; the limit leaves room for a busy machine."""
    import time

    x, y = randn(8, 8), torch.zeros(8, 8, device="cuda")
    ready = scale.prepare(x, y, 1.0)

    def micros(calls: int = 500) -> float:
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            ready()
        return (time.perf_counter() - start) / calls * 1e6

    best = min(micros() for _ in range(10))
    print(f"prepared launch: {best:.2f} us")
    assert best < 20


def test_a_device_that_faults_is_told() -> None:
    """In a process of its own, since the context is lost."""
    import subprocess
    import sys

    script = """
import torch
from argus.diagnostics import ArgusError
from argus.ir.launch import LaunchSpec, PointerArg
from argus.ir.expr import Const, Sym
from argus.ir.dtypes import f32
from argus.ir.memory import GlobalTensor
from argus.runtime.build import build
from argus.runtime.launch import LoadedKernel
source = 'extern "C" __global__ void bad(float* y) { *(int*)8 = 1; }'
n = Sym("N", "dim")
y = GlobalTensor("Y", f32, ("N",), (n,), (Const(1),))
spec = LaunchSpec("bad", "sm_90a", (y,), (), (PointerArg("Y"),), Const(1), 32, 1, 1, 0,
                  (), (), (), ("Y",))
loaded = LoadedKernel(spec, build(source, "sm_90a").image)
ready = loaded.prepare(torch.zeros(4, device="cuda"))
ready()
try:
    torch.cuda.synchronize()
except RuntimeError:
    pass
try:
    ready()
except ArgusError as error:
    print(error.code)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "AG0811", done.stderr
