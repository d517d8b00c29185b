"""Gradients of attention: kernels, of whatever operator torch has chosen."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.capturing.capture import capture  # noqa: E402
from argus.programs.operators.attention_gradients import gradient_decompositions  # noqa: E402
from argus.programs.planning.plan import plan_of, plan_program  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula, random  # noqa: E402

aten = torch.ops.aten
forward = aten._scaled_dot_product_flash_attention_for_cpu
backward = aten._scaled_dot_product_flash_attention_for_cpu_backward
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", MASKS)
def test_gradients_are_kernels(name: str, dtype: Any) -> None:
    q, k, v, grad = inputs = tuple(x.to(dtype) for x in (Q, K, V, G))
    options = dict(MASKS[name])
    if "attn_mask" in options:
        options["attn_mask"] = options["attn_mask"].to(dtype)
    causal = options.pop("is_causal")
    out, logarithms = forward(q, k, v, 0.0, causal, **options)

    def gradients(*given: Any) -> Any:
        return backward(*given, 0.0, causal, **options)

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
    for one, other in zip(
        found, exact(inputs, {"is_causal": causal, **options}), strict=True
    ):
        assert one.dtype == dtype
        torch.testing.assert_close(one.double(), other, rtol=bound, atol=bound)


def test_what_torch_chooses_is_the_same_operator() -> None:
    made = gradient_decompositions()
    out, logarithms = forward(Q, K, V, 0.0, False)
    wanted = backward(G, Q, K, V, out, logarithms, 0.0, False)
    none = torch.zeros(())
    flash = made[aten._scaled_dot_product_flash_attention_backward.default]
    cudnn = made[aten._scaled_dot_product_cudnn_attention_backward.default]
    efficient = made[aten._scaled_dot_product_efficient_attention_backward.default]
    tensors, kept = (G, Q, K, V), (True, True, True, False)
    rows = torch.nn.functional.pad(logarithms, (0, 8))  # a multiple of 32
    found = [
        flash(*tensors, out, logarithms, None, None, 24, 40, 0.0, False, none, none),
        cudnn(
            *tensors, out, logarithms, none, none, None, None, None, 24, 40, 0.0, False
        ),
        efficient(*tensors, None, out, rows, none, none, 0.0, kept)[:3],
    ]
    for each in found:
        for one, other in zip(each, wanted, strict=True):
            torch.testing.assert_close(one, other)


def test_dropout_and_gradients_of_masks_stay_as_they_are() -> None:
    made = gradient_decompositions()
    out, logarithms = forward(Q, K, V, 0.0, False)
    none = torch.zeros(())
    flash = made[aten._scaled_dot_product_flash_attention_backward.default]
    efficient = made[aten._scaled_dot_product_efficient_attention_backward.default]
    tensors = (G, Q, K, V)
    given = (*tensors, out, logarithms, None, None, 24, 40, 0.5, False, none, none)
    assert flash(*given) is NotImplemented
    wanted = (True, True, True, True)
    given = (*tensors, KEPT.float(), out, logarithms, none, none, 0.0, wanted)
    assert efficient(*given) is NotImplemented


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


@pytest.mark.parametrize("masked", [False, True])
def test_training_with_the_operator_of_cudnn(masked: bool) -> None:
    """It is traced here, and nothing of it is left that would be called."""
    reports: list[Any] = []

    def attended(x: Any) -> Any:
        mask = (
            torch.where(KEPT[:, :24], 0.0, -1e9).expand(2, 2, 24, 24)
            if masked
            else None
        )
        return aten._scaled_dot_product_cudnn_attention(
            x, x * 2, x.sin(), mask, True, 0.0, False, False, scale=0.25
        )[0]

    def wanted(x: Any) -> Any:
        mask = torch.where(KEPT[:, :24], 0.0, -1e9) if masked else None
        function = torch.nn.functional.scaled_dot_product_attention
        return function(x, x * 2, x.sin(), mask, scale=0.25)

    torch._dynamo.reset()
    options = {"interpret": True, "report": reports.append}
    compiled: Any = torch.compile(attended, backend="argus", options=options)
    x, y = (Q.clone().requires_grad_() for _ in range(2))
    (compiled(x) * G).sum().backward()
    (wanted(y) * G).sum().backward()
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-4, atol=1e-4)
    assert [(r.left, r.whole) for r in reports] == [((), ""), ((), "")]


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
        out, logarithms = forward(q, k, v, 0.0, True)
        return out * 2, out.transpose(1, 2).reshape(2, 24, 64), logarithms

    plan = plan_of(Formula(both).eval(), (q, k, v))
    (attention,) = [s for s in plan.kernels if s.computes == "attention"]
    assert sorted(str(x.dtype) for x in attention.written) == ["bf16", "f32"]
    found = run_plan(plan, (q, k, v), plan.program.tensors, in_interpreter)
    for one, other in zip(found, both(q, k, v), strict=True):
        torch.testing.assert_close(one, other, rtol=3e-2, atol=3e-2)
