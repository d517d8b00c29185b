"""What stays in torch is called as torch's graph says; what no graph holds is told."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.diagnostics import ArgusError  # noqa: E402
from argus.programs.capturing.operators import known, operator_named  # noqa: E402
from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.program_data import KernelFiles, plan_of_data  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.programs.tensors.operator_table import OWN  # noqa: E402
from argus.programs.tensors.recorder import ProgramRecorder  # noqa: E402
from argus.specification.aten.table import OPERATORS  # noqa: E402
from programs.modules import Formula, random  # noqa: E402

X = random(4, 6)

STRIDES: dict[str, Callable[..., Any]] = {
    "rows that were columns": lambda x: torch.linalg.qr(x.t()).R * 2,
    "a line of what was turned": lambda x: (
        torch.fft.fft(x.t().double()).t().contiguous().view(-1).abs() + 1
    ),
    "pairs": lambda x: torch.view_as_real(
        torch.view_as_complex(
            (x.reshape(2, 2, 6) * 2).permute(0, 2, 1).contiguous()
        ).tanh()
    ),
}


@pytest.mark.parametrize("name", STRIDES)
def test_operands_lie_as_torch_said(name: str) -> None:
    model = Formula(STRIDES[name])
    plan = plan_of(model, (X,))
    assert plan.left
    files = KernelFiles()
    read = plan_of_data(files.plan_data(plan), files.texts, plan.program.device)
    for each in (plan, read):
        found = run_plan(each, (X,), plan.program.tensors, in_interpreter)
        torch.testing.assert_close(found, model(X))


def test_an_operator_gives_lists_beside_tensors() -> None:
    def halves(x: Any, at: int) -> Any:
        return x * 3, [x[:at].clone(), x[at:].clone()], x + 1

    library = torch.library.Library("argus_tests", "FRAGMENT")
    library.define("halves(Tensor x, int at) -> (Tensor, Tensor[], Tensor)")
    library.impl("halves", halves, "CompositeExplicitAutograd")
    operator = torch.ops.argus_tests.halves

    def used(x: Any) -> Any:
        one, (two, three), four = operator(x * 2, 1)
        return one + four, two * 2, three.sum(0)

    plan = plan_of(Formula(used), (X,))
    assert [step.what for step in plan.left] == ["argus_tests.halves.default"]
    found = run_plan(plan, (X,), plan.program.tensors, in_interpreter)
    torch.testing.assert_close(found, used(X))


RANGES: dict[str, Callable[..., Any]] = {
    "whole": lambda: (torch.arange(1.0, 6), torch.arange(10, -1, -3.0)),
    "halves": lambda: (torch.arange(0.5, 7), torch.arange(3, -2, -0.25)),
    "types": lambda: tuple(
        torch.arange(0.5, 4, dtype=kind)
        for kind in (torch.float64, torch.bfloat16, torch.int64)
    ),
}


@pytest.mark.parametrize("name", RANGES)
def test_ranges_that_are_exact_are_kernels(name: str) -> None:
    model = Formula(lambda x: (*RANGES[name](), x * 2))
    plan = plan_of(model, (X,))
    assert not plan.left
    found = run_plan(plan, (X,), plan.program.tensors, in_interpreter)
    assert all(map(torch.equal, found, model(X)))


def test_ranges_that_are_rounded_stay_in_torch() -> None:
    plan = plan_of(Formula(lambda x: torch.arange(0, 1, 0.1) * x.sum()), (X,))
    assert [step.what for step in plan.left] == ["aten.arange.start_step"]


def test_a_border_of_nothing_is_all_there_is() -> None:
    model = Formula(lambda x: torch.nn.functional.pad(x[:, :0], (1, 2), value=3.0) + x)
    plan = plan_of(model, (X[:, :3],))
    found = run_plan(plan, (X[:, :3],), plan.program.tensors, in_interpreter)
    assert torch.equal(found, model(X[:, :3]))


ELEMENTS: dict[str, Callable[..., Any]] = {
    "a branch": lambda x: x * 2 if x.sum() > 0 else x,
    "a size": lambda x: x[x > 0],
    "a slice": lambda x: x[: int(x.sum())],
    "a number": lambda x: x * x.max().item(),
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_what_depends_on_elements_is_told_with_what_helps(name: str) -> None:
    with pytest.raises(ArgusError) as found:
        plan_of(Formula(ELEMENTS[name]), (X,))
    (told,) = found.value.diagnostics
    assert told.code == "AG1041"
    assert "depends on elements" in told.message
    assert "torch.compile" in (told.help or "")


def test_the_line_that_torch_cannot_export_is_named() -> None:
    """Of what calls torch, and not of what is inside."""

    def checked(x: Any) -> Any:
        y = x * 2
        return torch.nn.functional.one_hot(y.long())  # of no errors

    with pytest.raises(ArgusError) as found:
        plan_of(Formula(checked), (X,))
    said = found.value.diagnostics[0].message
    assert "test_torch_calls.py: `return torch.nn" in said and "of no errors" in said


def test_masks_of_transformers_need_nobody_who_says_what_they_are() -> None:
    """Torch compares their elements with those of a causal mask."""
    layer = torch.nn.TransformerEncoderLayer(8, 2, 8, batch_first=True)
    after = torch.nn.TransformerDecoderLayer(8, 2, 8, batch_first=True)

    class Both(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = torch.nn.TransformerEncoder(layer, 1)
            self.decoder = torch.nn.TransformerDecoder(after, 1)

        def forward(self, x: Any, mask: Any) -> Any:
            causal = torch.nn.Transformer.generate_square_subsequent_mask(5)
            return self.decoder(x, self.encoder(x, mask=mask), tgt_mask=causal)

    torch.manual_seed(0)
    model, inputs = Both().eval(), (torch.randn(2, 5, 8), torch.randn(5, 5))
    plan = plan_of(model, inputs)
    assert plan.whole
    made = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(made, model(*inputs), rtol=1e-5, atol=1e-5)


def overload(name: str) -> Any:
    """The operator of torch with this name; None where torch lacks the overload."""
    found: Any = torch.ops
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def test_translations_take_what_torch_passes() -> None:
    """Arguments by position, and those that only have a name by it."""
    known("aten.add.Tensor")  # fills the tables
    recorder, wrong, seen = ProgramRecorder(), list[str](), 0
    for name in sorted({*OWN, *OPERATORS}):
        op = overload(name)
        if op is None or "." not in name:  # operators of functions have no schema
            continue
        seen += 1
        translation = operator_named(name, recorder)
        assert translation is not None
        said = op._schema.arguments
        signature = inspect.signature(translation)
        try:
            signature.bind(
                *(a for a in said if not a.kwarg_only),
                **{a.name: a for a in said if a.kwarg_only},
            )
        except TypeError as error:
            wrong.append(f"{name}: {error}")
    assert wrong == []
    assert seen > 300
