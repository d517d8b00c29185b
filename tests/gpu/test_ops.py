"""The torch-level operators on the device: results, CUDA graphs, torch.compile."""

import pytest

pytestmark = pytest.mark.gpu
torch = pytest.importorskip("torch")


def _error(x, reference) -> float:
    reference = reference.double()
    return ((x.double() - reference).norm() / reference.norm()).item()


def _normal(*shape: int):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def test_gemm_with_epilogue_and_strided_rows() -> None:
    from argus import ops

    a = _normal(300, 512)[:, 64:464]
    b, bias, residual = _normal(200, 400), _normal(200).float(), _normal(300, 200)
    out = ops.gemm(a, b, bias, residual, "relu")
    want = torch.relu(a.double() @ b.double().T + bias) + residual
    assert _error(out, want) < 5e-3


def test_gemm_of_rows_that_tma_cannot_address() -> None:
    from argus import ops

    a, b = _normal(65, 129)[:, 1:], _normal(77, 128)
    assert _error(ops.gemm(a, b), a.double() @ b.double().T) < 5e-3


@pytest.mark.parametrize("rows", [1, 16, 40, 64, 300])
def test_int8_gemm(rows: int) -> None:
    from argus import ops

    a, scales = _normal(rows, 4112), torch.rand(1000, device="cuda") / 64
    weight = torch.randint(-128, 128, (1000, 4112), dtype=torch.int8, device="cuda")
    bias = _normal(1000)
    want = a.double() @ weight.double().T * scales
    assert _error(ops.int8_gemm(a, weight, scales), want) < 5e-3
    assert _error(ops.int8_gemm(a, weight, scales, bias), want + bias) < 5e-3


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_gemm_in_any_order(left: bool, right: bool) -> None:
    from argus import ops

    for m, n, k in (
        (1024, 1536, 2048),
        (1000, 776, 520),
        (333, 215, 127),
        (64, 72, 9000),
    ):
        a = _normal(k, m).T if left else _normal(m, k)
        b = _normal(k, n).T if right else _normal(n, k)
        bias, residual = _normal(n), _normal(m, n)
        want = a.double() @ b.double().T
        assert _error(ops.gemm(a, b), want) < 5e-3
        got = ops.gemm(a, b, bias, residual, "silu")
        want = torch.nn.functional.silu(want + bias) + residual
        assert _error(got, want) < 5e-3
    for p, m, n, k in ((5, 512, 384, 256), (33, 72, 136, 200), (2, 8, 5, 8)):
        a = _normal(p, k, m).mT if left else _normal(p, m, k)
        n = -(-n // 8) * 8 if right else n
        b = _normal(p, k, n).mT if right else _normal(p, n, k)
        want = a.double() @ b.double().mT
        assert _error(ops.batched_gemm(a, b), want) < 5e-3


@pytest.mark.parametrize("kind", [torch.float8_e4m3fn, torch.float8_e5m2, torch.int8])
@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("k", [400, 403])
def test_scaled_gemm(kind, fast: bool, k: int) -> None:
    from argus import ops

    a, b = ((3 * _normal(n, k).float()).to(kind) for n in (300, 208))
    want = a.double() @ b.double().T
    one, two = (torch.rand(1, device="cuda") + 0.5 for _ in range(2))
    got = ops.scaled_gemm(a, b, one, two, fast=fast)
    assert got.dtype == torch.bfloat16
    assert _error(got, want * one * two) < 5e-3
    rows, columns = (torch.rand(n, device="cuda") + 0.5 for n in (300, 208))
    bias = _normal(208)
    got = ops.scaled_gemm(
        a, b, rows[:, None], columns[None], bias, dtype=torch.float32, fast=fast
    )
    scaled = want * rows[:, None] * columns + bias
    # The tensor cores keep about 13 bits of a sum: of all, or of each step of K.
    assert _error(got, scaled) < (1e-3 if fast else 3e-4)


@pytest.mark.parametrize("kind", [torch.int8, torch.uint8])
@pytest.mark.parametrize("k", [512, 515])
def test_integer_gemm_is_exact(kind, k: int) -> None:
    from argus import ops

    low, high = torch.iinfo(kind).min, torch.iinfo(kind).max + 1
    a, b = (
        torch.randint(low, high, (n, k), device="cuda", dtype=kind) for n in (300, 208)
    )
    want = (a.double() @ b.double().T).int()
    assert torch.equal(ops.integer_gemm(a, b), want)


_FORMS = [(1, 4096, 4096), (64, 64, 8192), (40, 512, 16384), (37, 400, 3001)]
"""Thin, parts of K, and rows that TMA cannot address."""


@pytest.mark.parametrize(("m", "n", "k"), _FORMS)
def test_products_of_eight_bits_in_every_form(m: int, n: int, k: int) -> None:
    from argus import ops

    a, b = (
        torch.randint(-100, 100, (r, k), device="cuda", dtype=torch.int8)
        for r in (m, n)
    )
    want = a.double() @ b.double().T
    assert torch.equal(ops.integer_gemm(a, b), want.int())
    a, b = (_normal(r, k).to(torch.float8_e4m3fn) for r in (m, n))
    want = a.double() @ b.double().T
    rows, columns = (torch.rand(r, device="cuda") + 0.5 for r in (m, n))
    for fast in (False, True):
        got = ops.scaled_gemm(a, b, rows, columns, fast=fast)
        assert _error(got, want * rows[:, None] * columns) < 5e-3


@pytest.mark.parametrize(("m", "n", "k"), _FORMS)
def test_products_of_f32_in_every_form(m: int, n: int, k: int) -> None:
    from argus import ops

    a, b = (torch.randn(r, k, device="cuda") for r in (m, n))
    bias, residual = torch.randn(n, device="cuda"), torch.randn(m, n, device="cuda")
    want = torch.relu(a.double() @ b.double().T + bias) + residual
    for precision, most in (("f32", 2e-6), ("tf32", 2e-3)):
        got = ops.gemm(a, b, bias, residual, "relu", precision=precision)
        assert _error(got, want) < most


@pytest.mark.parametrize("k", [64, 200, 333, 4096])
def test_gemm_of_f32_is_as_accurate_as_in_f32(k: int) -> None:
    from argus import ops

    a, b = (torch.randn(n, k, device="cuda") for n in (300, 200))
    want = a.double() @ b.double().T
    cublas = _error(a @ b.T, want)
    assert _error(ops.gemm(a, b), want) <= cublas
    rough = _error(ops.gemm(a, b, precision="tf32"), want)
    assert 1e-5 < rough < 2e-3
    bias, residual = torch.randn(200, device="cuda"), torch.randn(300, 200).cuda()
    got = ops.gemm(a, b, bias, residual, "relu")
    assert _error(got, torch.relu(want + bias) + residual) < 2 * cublas


@pytest.mark.parametrize(
    ("m", "n", "k"),
    [(1, 4096, 4096), (64, 256, 8192), (255, 513, 3001), (7, 2000, 1655), (900, 3, 70)],
)
@pytest.mark.parametrize("epilogue", [False, True])
def test_gemm_that_is_several_launches_or_thin(
    m: int, n: int, k: int, epilogue: bool
) -> None:
    from argus import ops

    a, b = _normal(m, k), _normal(n, k)
    want = a.double() @ b.double().T
    if not epilogue:
        assert _error(ops.gemm(a, b), want) < 5e-3
        return
    bias, residual = _normal(n).float(), _normal(m, n)
    want = torch.relu(want + bias) + residual
    assert _error(ops.gemm(a, b, bias, residual, "relu"), want) < 5e-3


def test_workspaces_of_streams_and_graphs_are_their_own() -> None:
    from argus import ops

    a, b = _normal(64, 8192), _normal(256, 8192)
    want = a.double() @ b.double().T
    out = ops.gemm(a, b)
    streams = [torch.cuda.Stream() for _ in range(4)]
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ops.gemm(a, b, out=out)
    results = []
    for i in range(40):
        with torch.cuda.stream(streams[i % 4]):
            if i % 4 == 3:
                graph.replay()
            else:
                results.append(ops.gemm(a, b))
    torch.cuda.synchronize()
    for result in (*results, out):
        assert _error(result, want) < 5e-3


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize(
    ("m", "n"),
    [
        (1000, 1),
        (3, 7),
        (5000, 64),
        (999, 333),
        (100, 24576),
        (300, 50257),
        (7, 50257),
        (1, 40001),
        (2, 131072),
    ],
)
def test_norms_over_rows_of_any_length(m: int, n: int, dtype: torch.dtype) -> None:
    from argus import ops

    x, w, b = (_normal(*shape).to(dtype) for shape in ((m, n), (n,), (n,)))
    exact, weight, bias = (t.double() for t in (x, w, b))
    norms = torch.nn.functional
    limit = 5e-3 if dtype is torch.bfloat16 else 1e-5
    assert _error(ops.softmax(x), torch.softmax(exact, -1)) < limit
    want = norms.rms_norm(exact, (n,), weight, 1e-6)
    assert _error(ops.rmsnorm(x, w), want) < limit
    want = norms.layer_norm(exact, (n,), weight, bias, 1e-5)
    assert _error(ops.layernorm(x, w, b), want) < limit


def test_norms_and_attention() -> None:
    from argus import ops

    x, w = _normal(50, 1000), _normal(1000)
    assert _error(ops.softmax(x), torch.softmax(x.double(), -1)) < 5e-3
    want = torch.nn.functional.rms_norm(x.double(), (1000,), w.double(), 1e-6)
    assert _error(ops.rmsnorm(x, w), want) < 5e-3
    q, k, v = _normal(2, 8, 333, 128), _normal(2, 2, 555, 128), _normal(2, 2, 555, 128)
    want = torch.nn.functional.scaled_dot_product_attention(
        q.double(), k.double(), v.double(), enable_gqa=True
    )
    assert _error(ops.attention(q, k, v), want) < 8e-3


@pytest.mark.parametrize("d", [16, 64, 96, 160, 208, 256])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_other_head_dimensions(d: int, causal: bool) -> None:
    from argus import ops

    q, k, v = (_normal(2, 4, 300, d) for _ in range(3))
    want = torch.nn.functional.scaled_dot_product_attention(
        q.double(), k.double(), v.double(), is_causal=causal
    )
    assert _error(ops.attention(q, k, v, causal=causal), want) < 8e-3


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("d", [64, 128, 256])
def test_decoding_packs_the_heads_of_a_group(rows: int, d: int) -> None:
    from argus import ops

    q, k, v = _normal(3, 8, rows, d), _normal(3, 2, 777, d), _normal(3, 2, 777, d)
    want = torch.nn.functional.scaled_dot_product_attention(
        q.double(), k.double(), v.double(), enable_gqa=True
    )
    assert _error(ops.attention(q, k, v), want) < 8e-3
    apart = q.transpose(1, 2).contiguous().transpose(1, 2)
    assert _error(ops.attention(apart, k, v), want) < 8e-3


# Torch's thread of gradients has no context before its first product.
@pytest.mark.filterwarnings("ignore:Attempting to run cuBLAS:UserWarning")
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", [(2, 4, 2, 300, 333, 128), (1, 8, 8, 129, 70, 64)])
def test_gradients_of_attention(sizes: tuple[int, ...], causal: bool) -> None:
    from argus import ops

    b, h, g, s, t, d = sizes
    torch.manual_seed(0)
    shapes = ((b, h, s, d), (b, g, t, d), (b, g, t, d), (b, h, s, d))
    q, k, v, do = (torch.randn(x, device="cuda").bfloat16() for x in shapes)
    exact = [x.double().requires_grad_() for x in (q, k, v)]
    want = torch.nn.functional.scaled_dot_product_attention(
        *exact, is_causal=causal, enable_gqa=True
    )
    want.backward(do.double())
    out, logs = ops.attention_forward(q, k, v, causal=causal)
    assert _error(out, want.detach()) < 8e-3
    found = ops.attention_backward(do, q, k, v, out, logs, causal=causal)
    for got, x in zip(found, exact, strict=True):
        assert x.grad is not None
        assert _error(got, x.grad) < 1e-2
    again = ops.attention_backward(do, q, k, v, out, logs, causal=causal)
    assert all(torch.equal(a, b) for a, b in zip(found, again, strict=True))


@pytest.mark.parametrize("rows", [1, 90])
@pytest.mark.parametrize("d", [64, 80, 128, 256])
def test_attention_by_parts_of_the_keys(rows: int, d: int) -> None:
    from argus import ops

    q, k, v = _normal(1, 4, rows, d), _normal(1, 2, 9001, d), _normal(1, 2, 9001, d)
    for scale in (d**-0.5, 0.5 * d**-0.5):
        want = torch.nn.functional.scaled_dot_product_attention(
            q.double(), k.double(), v.double(), enable_gqa=True, scale=scale
        )
        assert _error(ops.attention(q, k, v, scale=scale), want) < 8e-3


def test_grouped_gemm_with_gather_and_scatter() -> None:
    from argus import ops

    x, w = _normal(300, 128), _normal(5, 264, 128)
    ends = torch.tensor([70, 70, 300, 301, 500], device="cuda", dtype=torch.int32)
    rows = torch.randint(0, 300, (500,), device="cuda", dtype=torch.int32)
    scatter = torch.randperm(500, device="cuda").int()
    want = torch.empty(500, 264, device="cuda", dtype=torch.double)
    begin = 0
    for e, end in enumerate(ends.tolist()):
        part = x[rows[begin:end].long()].double() @ w[e].double().T
        want[scatter[begin:end].long()] = part
        begin = end
    assert _error(ops.grouped_gemm(x, w, ends, rows, scatter), want) < 5e-3


def test_cuda_graph_and_side_stream() -> None:
    from argus import ops

    a, b = _normal(256, 256), _normal(256, 256)
    out = ops.gemm(a, b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ops.gemm(a, b, out=out)
    a.copy_(_normal(256, 256))
    out.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize()
    assert _error(out, a.double() @ b.double().T) < 5e-3
    with torch.cuda.stream(torch.cuda.Stream()):
        again = ops.gemm(a, b)
    torch.cuda.synchronize()
    assert torch.equal(again, out)


def test_torch_compile_full_graph() -> None:
    from argus.calls import torch_op
    from argus.kernels.norms.kernel import rmsnorm

    op = torch_op(rmsnorm, "argus_tests::rmsnorm", BN=1024, WARPS=1)

    def model(x, w):
        y = torch.empty_like(x)
        op(x * 2, w, y, 1e-6)
        return y + 1

    x, w = _normal(40, 1024), _normal(1024)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    want = torch.nn.functional.rms_norm(2 * x.double(), (1024,), w.double(), 1e-6) + 1
    assert _error(compiled(x, w), want) < 5e-3


@pytest.mark.parametrize("tokens", [1, 100, 1000])
@pytest.mark.parametrize("one", [None, 3])
def test_layer_of_experts(tokens: int, one: int | None) -> None:
    from argus import ops

    x, logits = _normal(tokens, 256), _normal(tokens, 16)
    if one is not None:
        logits[:, one] += 20
    up, down = _normal(16, 2 * 392, 256) / 16, _normal(16, 256, 392) / 16
    got = ops.moe(x, logits, up, down, top_k=3)
    share, ids = logits.double().softmax(-1).topk(3, -1)
    share = share / share.sum(-1, keepdim=True)
    want = torch.zeros_like(x, dtype=torch.float64)
    for j in range(3):
        hidden = torch.einsum("td,tnd->tn", x.double(), up.double()[ids[:, j]])
        hidden = torch.nn.functional.silu(hidden[:, :392]) * hidden[:, 392:]
        own = torch.einsum("tn,tdn->td", hidden, down.double()[ids[:, j]])
        want += own * share[:, j, None]
    assert _error(got, want) < 5e-3
    assert torch.equal(got, ops.moe(x, logits, up, down, top_k=3))


@pytest.mark.parametrize("rows", [1, 64, 300, 1024])
def test_swiglu(rows: int) -> None:
    from argus import ops

    x, both = _normal(rows, 520), _normal(2 * 1408, 520)
    gate, up = both[:1408], both[1408:]
    want = torch.nn.functional.silu(x.double() @ gate.double().T)
    want = want * (x.double() @ up.double().T)
    assert _error(ops.swiglu(x, gate, up), want) < 5e-3


@pytest.mark.parametrize("rows", [1, 8, 16, 17, 64, 300])
@pytest.mark.parametrize("group", [32, 128, 384])
@pytest.mark.parametrize("signed", [False, True])
def test_int4_gemm(rows: int, group: int, signed: bool) -> None:
    from argus import ops

    n, k = 1000, 1152
    q = torch.randint(0, 16, (n, k), dtype=torch.uint8, device="cuda")
    x, scales = _normal(rows, k), _normal(n, k // group)
    zeros = torch.randint(0, 16, scales.shape, device="cuda").bfloat16()
    numbers = q.double()
    if signed:
        numbers = torch.where(numbers > 7, numbers - 16, numbers)
    packed = q[:, 0::2] | q[:, 1::2] << 4
    zero, scale = (t.double().repeat_interleave(group, 1) for t in (zeros, scales))
    got = ops.int4_gemm(x, packed, scales, zeros, group=group, signed=signed)
    assert _error(got, x.double() @ ((numbers - zero) * scale).T) < 5e-3
    got = ops.int4_gemm(x, packed, scales, group=group, signed=signed)
    numbers = numbers if signed else numbers - 8
    assert _error(got, x.double() @ (numbers * scale).T) < 5e-3


@pytest.mark.parametrize("rows", [1, 8, 16, 17, 64, 300])
@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_mxfp4_gemm(rows: int, kind) -> None:
    from argus import ops

    n, k = 1000, 1184
    magnitudes = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    values = torch.tensor([*magnitudes, *(-x for x in magnitudes)], device="cuda")
    codes = torch.randint(0, 16, (n, k), dtype=torch.uint8, device="cuda")
    scales = torch.randint(120, 132, (n, k // 32), dtype=torch.uint8, device="cuda")
    x, bias = _normal(rows, k).to(kind), torch.randn(n, device="cuda")
    power = torch.exp2(scales.double() - 127).repeat_interleave(32, 1)
    want = x.double() @ (values.double()[codes.long()] * power).T + bias
    got = ops.mxfp4_gemm(x, codes[:, 0::2] | codes[:, 1::2] << 4, scales, bias)
    assert _error(got, want) < 5e-3


@pytest.mark.parametrize("page", [0, 16, 64, 128])
@pytest.mark.parametrize("queries", [1, 3])
def test_paged_attention(page: int, queries: int) -> None:
    from argus import ops

    b, h, g, d, t = 5, 16, 4, 128, 3000
    lengths = torch.tensor([t, 3, 64, 1000, 2999], device="cuda", dtype=torch.int32)
    pages = -(-t // page) if page else 0
    q, table = _normal(b, h, queries, d), None
    k, v = (_normal(*((b * pages, page) if page else (b, t)), g, d) for _ in range(2))
    keys, values = k, v
    if page:
        table = torch.randperm(b * pages, device="cuda").view(b, pages).int()
        keys, values = (x[table.long()].flatten(1, 2) for x in (k, v))
    logs = torch.empty(b, h, queries, device="cuda")
    out = ops.paged_attention(q, k, v, lengths, table, logs=logs)
    for i, n in enumerate(lengths.tolist()):
        near, far = (
            x[i, :n].double().transpose(0, 1).repeat_interleave(h // g, 0)
            for x in (keys, values)
        )
        scores = q[i].double() @ near.mT * d**-0.5
        seen = torch.ones_like(scores, dtype=torch.bool).tril(n - queries)
        scores = scores.masked_fill(~seen, -torch.inf)
        assert _error(out[i], scores.softmax(-1) @ far) < 8e-3
        assert (logs[i] - scores.logsumexp(-1)).abs().max() < 1e-3


@pytest.mark.parametrize("d", [64, 128, 256])
@pytest.mark.parametrize(("causal", "window"), [(False, None), (True, None), (0, 200)])
@pytest.mark.parametrize("longer", [False, True])
def test_packed_sequences(d: int, causal, window, longer: bool) -> None:
    from argus import ops

    rows = [700, 0, 1, 129, 64, 1000]
    keys = [900, 30, 4, 129, 0, 700] if longer else rows
    ends = [
        torch.tensor([0, *torch.tensor(x).cumsum(0)], dtype=torch.int32, device="cuda")
        for x in (rows, keys)
    ]
    q = _normal(sum(rows), 8, d)
    k, v = (_normal(sum(keys), 2, d) for _ in range(2))
    logs = torch.empty(8, sum(rows), device="cuda")
    out = ops.varlen_attention(
        q, k, v, *ends, max(rows), causal=bool(causal), window=window, logs=logs
    )
    parts = (
        x.double().split(n) for x, n in ((q, rows), (k, keys), (v, keys), (out, rows))
    )
    for mine, near, far, got in zip(*parts, strict=True):
        i, n = len(mine), len(near)
        near, far = (x.transpose(0, 1).repeat_interleave(4, 0) for x in (near, far))
        scores = mine.transpose(0, 1) @ near.mT * d**-0.5
        seen = torch.ones_like(scores, dtype=torch.bool)
        if causal or window:
            seen = seen.tril(n - i)
        if window:
            seen = seen.triu(n - i - (window - 1))
        weights = scores.masked_fill(~seen, -torch.inf).softmax(-1).nan_to_num()
        want = (weights @ far).transpose(0, 1)
        if i:
            assert (got - want).norm() <= 8e-3 * want.norm()


@pytest.mark.parametrize("d", [64, 96, 128, 256])
@pytest.mark.parametrize(
    ("window", "cap"), [((100, 0), None), (1, None), ((300, 20), 5.0), (None, 3.0)]
)
def test_attention_under_windows_and_caps(d: int, window, cap) -> None:
    from argus import ops

    q, k, v = (_normal(2, heads, 700, d) for heads in (8, 2, 2))
    sinks, logs = torch.randn(8, device="cuda"), torch.empty(2, 8, 700, device="cuda")
    out = ops.attention(q, k, v, window=window, softcap=cap, sinks=sinks, logs=logs)
    keys, values = (x.double().repeat_interleave(4, 1) for x in (k, v))
    scores = q.double() @ keys.mT * d**-0.5
    scores = scores if cap is None else cap * torch.tanh(scores / cap)
    if window is not None:
        left, right = (window - 1, 0) if isinstance(window, int) else window
        seen = torch.ones_like(scores, dtype=torch.bool).tril(right).triu(-left)
        scores = scores.masked_fill(~seen, -torch.inf)
    column = sinks.double().view(8, 1, 1).expand(2, 8, 700, 1)
    weights = torch.cat([scores, column], -1).softmax(-1)[..., :-1]
    assert _error(out, weights @ values) < 8e-3
    total = torch.cat([scores, column], -1).logsumexp(-1)
    assert (logs - total).abs().max() < (1e-3 if cap is None else 2e-2)


@pytest.mark.parametrize("blocks", [True, False])
def test_layer_of_experts_of_eight_bits(blocks: bool) -> None:
    from argus import ops

    x, logits = _normal(300, 256), _normal(300, 8)
    shapes = (8, 2 * 384, 256), (8, 256, 384)
    eights = [torch.randn(s, device="cuda").to(torch.float8_e4m3fn) for s in shapes]
    of = [(8, s[1] // 128, s[2] // 128) if blocks else (8,) for s in shapes]
    scales = [(torch.rand(s, device="cuda") + 0.5) / 16 for s in of]
    got = ops.moe(
        x, logits, *eights, top_k=2, scale_gate_up=scales[0], scale_down=scales[1]
    )
    whole = [
        s.repeat_interleave(128, 1).repeat_interleave(128, 2)
        if blocks
        else s[:, None, None]
        for s in scales
    ]
    plain = [(w.float() * s).bfloat16() for w, s in zip(eights, whole, strict=True)]
    assert _error(got, ops.moe(x, logits, *plain, top_k=2)) < 0.06
