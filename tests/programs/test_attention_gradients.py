"""Gradients of attention: one operator in graphs, and kernels."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch._dynamo.backends.common import aot_autograd  # noqa: E402
from torch._functorch._aot_autograd.utils import make_boxed_func  # noqa: E402

from argus.programs.capturing import attention_calls  # noqa: E402
from argus.programs.capturing.attention_calls import (  # noqa: E402
    attention_operators,
    gather_attention,
)
from argus.programs.capturing.capture import capture  # noqa: E402
from argus.programs.planning.plan import plan_of, plan_program  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.running.memory import check_memory, memory_of  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from few import few  # noqa: E402
from programs.modules import Formula, random  # noqa: E402

forward, backward = attention_operators().attention, attention_operators().gradients
Q, K, V, G = (random(2, 2, n, 32) for n in (24, 40, 40, 24))
KEPT = random(24, 40) > 0
MASKS: dict[str, dict[str, Any]] = {
    "plain": {"is_causal": False},
    "causal": {"is_causal": True, "scale": 0.25},
    "added": {"is_causal": False, "attn_mask": torch.where(KEPT, 0.0, -1e9)},
}


def exact(inputs: tuple[Any, ...], options: dict[str, Any]) -> list[Any]:
    """The gradients in f64, from autograd."""
    q, k, v = (x.double().requires_grad_() for x in inputs[:3])
    wide = {n: x.double() if n == "attn_mask" else x for n, x in options.items()}
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, **wide)
    return list(torch.autograd.grad(out, (q, k, v), inputs[3].double()))


NARROW, WIDE = torch.bfloat16, torch.float32
BOTH = [
    *((name, NARROW) for name in few(MASKS, "causal", "added")),
    *((name, WIDE) for name in few(MASKS, "added")),
]
"""In f32 all are products and maps, whichever the mask; with none there is less."""


@pytest.mark.parametrize(("name", "dtype"), BOTH)
def test_gradients_are_kernels(name: str, dtype: Any) -> None:
    q, k, v, grad = inputs = tuple(x.to(dtype) for x in (Q, K, V, G))
    options = dict(MASKS[name])
    if "attn_mask" in options:
        options["attn_mask"] = options["attn_mask"].to(dtype)
    causal, mask = options["is_causal"], options.get("attn_mask")
    said = (mask, causal, options.get("scale"))
    out, logarithms = forward(q, k, v, *said)

    def gradients(*given: Any) -> Any:
        return backward(*given, *said)

    arguments = (grad, q, k, v, out, logarithms)
    plan = plan_of(Formula(gradients).eval(), arguments)
    assert plan.whole
    if dtype is torch.bfloat16:
        # The sums of products of gradients and results, dQ, and dK beside dV; where a
        # row may see no key, the shifts of rows are beside the sums.
        chained = [s for s in plan.kernels if s.computes == "chained products"]
        assert [len(s.written) for s in chained] == [1, 2]
        assert len(plan.kernels) == 3
        assert not any(
            v.shape[-2:] == (24, 40) for s in plan.kernels for v in s.written
        )
        assert {proof_of(s).verdict for s in chained} == {Verdict.EQUAL}
    found = run_plan(plan, arguments, plan.program.tensors, in_interpreter)
    bound = 2e-6 if dtype is torch.float32 else 4e-2
    for one, other in zip(found, exact(inputs, options), strict=True):
        assert one.dtype == dtype
        torch.testing.assert_close(one.double(), other, rtol=bound, atol=bound)


@pytest.mark.parametrize("heads", ["first", "last"])
@pytest.mark.parametrize("name", [*MASKS, "kept"])
def test_the_operator_is_what_torch_computes(
    name: str, heads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Result, logarithms and gradients, in the strides that torch is told."""
    monkeypatch.setattr(attention_calls, "_SCORES", 2 * 2 * 40 * 7)  # seven rows
    options = {"is_causal": False, "attn_mask": KEPT} | MASKS.get(name, {})
    mask, causal = options.get("attn_mask"), options["is_causal"]
    mask = None if name in ("plain", "causal") else mask
    q, k, v = (
        x if heads == "first" else x.transpose(1, 2).contiguous().transpose(1, 2)
        for x in (Q, K[:, :1], V[:, :1])
    )
    said = (mask, causal, options.get("scale"))
    out, logarithms = forward(q, k, v, *said)
    chosen = {"attn_mask": mask, "is_causal": causal, "scale": said[2]}
    q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
    plain = torch.nn.functional.scaled_dot_product_attention
    wanted = plain(q, k, v, enable_gqa=True, **chosen)
    torch.testing.assert_close(out, wanted)
    wide = (q.double(), *(x.double().expand(2, 2, 40, 32) for x in (k, v)))
    exact = scores(wide[0], wide[1], *said).logsumexp(-1)
    torch.testing.assert_close(logarithms.double(), exact, rtol=1e-5, atol=1e-5)
    found = backward(G, q.detach(), k.detach(), v.detach(), out, logarithms, *said)
    for one, other in zip(
        found, torch.autograd.grad(wanted, (q, k, v), G), strict=True
    ):
        torch.testing.assert_close(one, other)
    torch.library.opcheck(
        forward, (q, k, v, *said), test_utils=("test_schema", "test_faketensor")
    )


def scores(q: Any, k: Any, mask: Any, causal: bool, scale: float | None) -> Any:
    found = q @ k.transpose(-1, -2) * (32**-0.5 if scale is None else scale)
    seen = torch.ones(found.shape[-2:], dtype=torch.bool).tril() if causal else mask
    if seen is None:
        return found
    if seen.dtype == torch.bool:
        return found.masked_fill(~seen, -float("inf"))
    return found + seen.double()


def calls_of(function: Any, *inputs: Any) -> tuple[list[Any], list[Any]]:
    """What of attention is in the graph that the backend is given, and gradients."""
    seen: list[Any] = []

    def backend(graph: Any, example_inputs: Any) -> Any:
        gather_attention(graph)
        seen.extend(n.target for n in graph.graph.nodes if n.op == "call_function")
        return aot_autograd(fw_compiler=looked, bw_compiler=looked)(
            graph, example_inputs
        )

    def looked(graph: Any, _: Any) -> Any:
        seen.extend(str(n.target) for n in graph.graph.nodes)
        return make_boxed_func(graph)

    torch._dynamo.reset()
    given = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    wanted = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    torch.compile(function, backend=backend)(*given).square().sum().backward()
    function(*wanted).square().sum().backward()
    for one, other in zip(given, wanted, strict=True):
        if one.requires_grad:
            torch.testing.assert_close(one.grad, other.grad, rtol=2e-2, atol=1e-2)
    return seen, given


SDPA = torch.nn.functional.scaled_dot_product_attention


def narrow(q: Any, k: Any, v: Any) -> Any:
    with torch.autocast("cpu", torch.bfloat16):
        return SDPA(q, k, v).float()


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # vmap, of torch
@pytest.mark.parametrize(
    ("function", "gathered"),
    [
        (lambda q, k, v: SDPA(q, k, v, KEPT), True),
        (lambda q, k, v: SDPA(q, k[:, :1], v[:, :1], enable_gqa=True), True),
        (narrow, True),
        (lambda q, k, v: SDPA(q[0], k[0], v[0]), False),
        (lambda q, k, v: SDPA(q, k, v, k[..., :24, :1].expand(2, 2, 24, 40)), False),
        (lambda q, k, v: SDPA(q.double(), k.double(), v.double()), False),
        (lambda q, k, v: SDPA(q, k[:, :1], v), False),
        (lambda q, k, v: torch.vmap(SDPA)(*(x[None] for x in (q, k, v))), False),
    ],
)
def test_what_is_one_operator_and_what_is_as_torch_has_it(
    function: Any, gathered: bool
) -> None:
    seen, _ = calls_of(function, Q, K, V)
    assert ("argus_programs.attention.default" in seen) == gathered
    assert ("argus_programs.attention_gradients.default" in seen) == gathered


def test_without_gradients_there_are_no_logarithms() -> None:
    seen: list[str] = []

    def backend(graph: Any, example_inputs: Any) -> Any:
        gather_attention(graph)
        return aot_autograd(fw_compiler=looked)(graph, example_inputs)

    def looked(graph: Any, _: Any) -> Any:
        seen.extend(str(n.target) for n in graph.graph.nodes)
        return make_boxed_func(graph)

    torch._dynamo.reset()
    call: Any = torch.compile(lambda q, k, v: SDPA(q, k, v, KEPT), backend=backend)
    torch.testing.assert_close(call(Q, K, V), SDPA(Q, K, V, KEPT))
    with torch.no_grad():
        q = Q.clone().requires_grad_()
        torch.testing.assert_close(call(q, K, V), SDPA(q, K, V, KEPT))
    assert seen.count("argus_programs.attended.default") == 2
    assert "argus_programs.attention.default" not in seen


def test_training_has_one_kernel_forward() -> None:
    """It stores the logarithms of sums beside the result."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(32, 96)

        def forward(self, x: Any) -> Any:
            q, k, v = self.inner(x).view(2, 24, 3, 2, 16).permute(2, 0, 3, 1, 4)
            function = torch.nn.functional.scaled_dot_product_attention
            return function(q, k, v, is_causal=True)

    torch.manual_seed(0)
    model, x = Model().bfloat16(), random(2, 24, 32).bfloat16()
    reports: list[Any] = []
    options = {"interpret": True, "report": reports.append}
    compiled: Any = torch.compile(model, backend="argus", options=options)
    (weight,) = torch.autograd.grad(
        compiled(x).float().square().sum(), model.inner.weight
    )
    (wanted,) = torch.autograd.grad(model(x).float().square().sum(), model.inner.weight)
    torch.testing.assert_close(weight, wanted, rtol=2e-2, atol=2e-2)
    assert [r.left for r in reports] == [(), ()]
    assert sum("chained" in name for name in reports[1].kernels) == 2
    assert reports[0].kernels.count("attention") == 1
    assert not any("exp" in name for name in reports[0].kernels)


def test_layers_that_share_a_mask() -> None:
    """What one of them computes on the way is stored for the other."""

    class Layers(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.ModuleList(torch.nn.Linear(64, 128) for _ in range(2))

        def forward(self, x: Any, tokens: Any) -> Any:
            found = tokens.ne(0).cumsum(-1)
            seen = found[:, None, :, None] == found[:, None, None, :]
            ahead = torch.arange(24)
            seen = seen & (ahead[:, None] >= ahead)
            mask = torch.where(seen, 0.0, -1e9).to(x.dtype)
            for layer in self.inner:
                parts = layer(x).view(2, 24, 8, 16).transpose(1, 2)
                q, k, v = parts[:, :4], parts[:, 4:6], parts[:, 6:]
                k, v = (y.unsqueeze(2).expand(2, 2, 2, 24, 16) for y in (k, v))
                k, v = (y.reshape(2, 4, 24, 16) for y in (k, v))
                function = torch.nn.functional.scaled_dot_product_attention
                x = x + function(q, k, v, mask).transpose(1, 2).reshape(2, 24, 64)
            return x

    torch.manual_seed(0)
    model, x = Layers().bfloat16(), random(2, 24, 64).bfloat16()
    tokens = torch.randint(0, 3, (2, 24))
    plan = plan_of(model.eval(), (x, tokens))
    assert plan.whole
    found = run_plan(plan, (x, tokens), plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, model(x, tokens), rtol=5e-2, atol=5e-2)


def test_what_is_kept_for_gradients_is_stored_once() -> None:
    """In the order that torch says: whoever reads it reads it there."""

    def kept(q: Any, k: Any, v: Any) -> Any:
        function = torch.nn.functional.scaled_dot_product_attention
        q, k, v = (torch.relu(x.transpose(1, 2)) for x in (q, k, v))
        return q, function(q, k, v, is_causal=True).transpose(1, 2).flatten(2).tanh(), k

    inputs = tuple(random(2, 24, 2, 32).bfloat16() for _ in range(3))
    program = capture(Formula(kept).eval(), inputs)
    plan = plan_program(program)
    assert not any(s.computes == "copy" for s in plan.kernels)
    found = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    for one, other in zip(found, kept(*inputs), strict=True):
        assert one.stride() == other.stride()
        torch.testing.assert_close(one, other, rtol=2e-2, atol=2e-2)


def test_logarithms_are_stored_beside_a_result_that_is_rounded() -> None:
    q, k, v = (x.bfloat16() for x in (Q, K, V))

    def both(q: Any, k: Any, v: Any) -> Any:
        out, logarithms = forward(q, k, v, None, True, None)
        return out * 2, out.transpose(1, 2).reshape(2, 24, 64), logarithms

    plan = plan_of(Formula(both).eval(), (q, k, v))
    (attention,) = [s for s in plan.kernels if s.computes == "attention"]
    assert sorted(str(x.dtype) for x in attention.written) == ["bf16", "f32"]
    found = run_plan(plan, (q, k, v), plan.program.tensors, in_interpreter)
    for one, other in zip(found, both(q, k, v), strict=True):
        torch.testing.assert_close(one, other, rtol=3e-2, atol=3e-2)


def test_gradients_lie_side_by_side() -> None:
    """Two outputs of one kernel are parts of what the projection's gradient reads."""
    q, k, v, grad = (random(2, 2, 200, 64).to(NARROW) for _ in range(4))
    said = (None, False, None)
    out, logarithms = forward(q, k, v, *said)

    def joined(*given: Any) -> Any:
        parts = backward(*given, *said)
        return torch.stack([x.transpose(1, 2) for x in parts], 2)

    plan = plan_of(Formula(joined).eval(), (grad, q, k, v, out, logarithms))
    check_memory(plan, memory_of(plan))
    (both,) = (s for s in plan.kernels if len(s.source.outputs) == 2)
    assert len(both.written) == 1
