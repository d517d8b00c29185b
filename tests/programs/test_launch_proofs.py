"""Kernels of modules that people write are launched without a warning or an error.

A launch asks rules on data flow, and the reference for what these leave open; it
refuses what is refuted, and warns of what is not known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402
from torch.utils import _pytree  # noqa: E402

from argus.compiler import prove  # noqa: E402
from argus.diagnostics import ArgusError, ArgusWarning, Diagnostic  # noqa: E402
from argus.programs.planning.kernel_requests import kernel_of, request_for_step  # noqa: E402
from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.proofs import is_contradicted  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula, random  # noqa: E402


def _limited_groups(scores: Any) -> Any:
    """The two best experts of the two best of three groups."""
    groups = scores.view(-1, 3, 2)
    best = groups.sum(-1).topk(2, -1)[1]
    closed = torch.ones(scores.shape[0], 3, dtype=torch.bool).scatter(1, best, False)
    return groups.masked_fill(closed[..., None], float("-inf")).flatten(1).topk(2, -1)


def _places_of_experts(scores: Any) -> Any:
    """Which token of its expert a token is."""
    chosen = functional.one_hot(scores.argmax(-1), 3)
    return chosen.cumsum(0) * chosen


def _neighbours(x: Any) -> Any:
    return functional.local_response_norm(x, 3)


def _regions(x: Any) -> Any:
    """The mask of windows that were shifted around a corner."""
    named = torch.zeros(4, 6)
    for i, rows in enumerate((slice(0, -2), slice(-2, -1), slice(-1, None))):
        for j, columns in enumerate((slice(0, -2), slice(-2, None))):
            named[rows, columns] = i * 2 + j
    windows = named.view(2, 2, 3, 2).transpose(1, 2).reshape(-1, 4)
    apart = windows[:, None] - windows[:, :, None]
    return x + torch.where(apart == 0, 0.0, -100.0)


def _enlarged(back: Any) -> Any:
    """The gradient of an image that was enlarged: two tables of positions."""
    rows = (torch.arange(8) * 0.5).long()[:, None]
    columns = (torch.arange(10) * 0.45).long()
    image = torch.zeros(2, 4, 5)
    return image.index_put((torch.arange(2)[:, None, None], rows, columns), back, True)


def _repeated(x: Any) -> Any:
    """A sum and an extreme of elements that stand side by side twice."""
    wide = functional.interpolate(x[None], scale_factor=2)
    return wide.sum((0, 2)), x.repeat_interleave(2, 1).exp().amax(1)


def _mixed(x: Any) -> Any:
    """Means of windows of normalised elements, less these (PoolFormer)."""
    found = functional.group_norm(x, 1)
    means = functional.avg_pool2d(found, 3, 1, 1, count_include_pad=False)
    return x + (means - found) * 0.1


_IMAGES = random(2, 64, 7, 7).contiguous(memory_format=torch.channels_last)

MODULES: dict[str, tuple[Callable[..., Any], Any]] = {
    "experts of limited groups": (_limited_groups, random(7, 6)),
    "places of experts": (_places_of_experts, random(9, 3)),
    "neighbours": (_neighbours, random(2, 5, 4)),
    "regions": (_regions, random(6, 4, 4)),
    "enlarged": (_enlarged, random(2, 8, 10)),
    "repeated": (_repeated, random(3, 4)),
    "mixed": (_mixed, _IMAGES),
}


@pytest.mark.parametrize("name", MODULES)
def test_kernels_of_a_module_are_launched(name: str) -> None:
    function, x = MODULES[name]
    plan = plan_of(Formula(function), (x,))
    assert {step.what for step in plan.left} <= {"aten._assert_async.msg"}
    made = run_plan(plan, (x,), plan.program.tensors, in_interpreter)
    wanted = _pytree.tree_leaves(function(x))
    for one, other in zip(_pytree.tree_leaves(made), wanted, strict=True):
        torch.testing.assert_close(one, other)
    for step in plan.kernels:
        request, _ = request_for_step(kernel_of(step), step)
        assert prove(request).report.verdict >= Verdict.PROVED, step.source.text


def test_what_runs_contradict_is_not_refused() -> None:
    """A launch has names of dimensions alone where terms are too much for it."""

    def refused(code: str) -> ArgusError:
        return ArgusError(Diagnostic(code, "elements do not belong together", None))

    plan = plan_of(Formula(lambda x: x * 2), (random(3, 4),))
    (step,) = plan.kernels
    with pytest.warns(ArgusWarning, match="AG0303 .* contradicted by runs"):
        assert is_contradicted(step, refused("AG0303"), "sm_90a")
    assert not is_contradicted(step, refused("AG0401"), "sm_90a")
    kernel, reference = step.source.text.split("@ag.reference")
    text = f"{kernel.replace('2.0', '3.0')}@ag.reference{reference}"
    wrong = replace(step, source=replace(step.source, text=text))
    assert not is_contradicted(wrong, refused("AG0303"), "sm_90a")
