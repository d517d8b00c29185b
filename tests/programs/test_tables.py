"""Elements chosen by tables become gathers, which are proved equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.diagnostics import ArgusError  # noqa: E402
from argus.interpret import run  # noqa: E402
from argus.programs.planning.kernel_requests import kernel_of, request_for_step  # noqa: E402
from argus.programs.planning.plan import plan_of  # noqa: E402
from argus.programs.planning.predictions import prediction_of  # noqa: E402
from argus.programs.planning.proofs import proof_of  # noqa: E402
from argus.programs.running.execution import in_interpreter, run_plan  # noqa: E402
from argus.requests import placed_program  # noqa: E402
from argus.verify.verdict import Verdict  # noqa: E402
from programs.modules import Formula  # noqa: E402


def _numbers(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def _table(count: int, *shape: int) -> torch.Tensor:
    """Positions below a count; ``shape`` has them."""
    return torch.randint(count, shape, generator=torch.Generator().manual_seed(count))


def _words(table: Any, words: Any, places: Any) -> Any:
    """What a language model begins with: words and their places."""
    return words[table] * 2 + places[torch.arange(table.shape[1])[None]]


_BIAS = (_numbers(2, 4, 9, 9), _numbers(25, 4), _table(25, 9, 9))

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int]] = {
    "words": (_words, (_table(50, 3, 16), _numbers(50, 40), _numbers(16, 40)), 1),
    "rows": (lambda x, t: x[t] + 1, (_numbers(20, 7, 5), _table(20, 4, 6)), 1),
    "from the end": (lambda x, t: x[t - 20], (_numbers(20, 5), _table(20, 6)), 1),
    "inside": (lambda x, t: x[:, t], (_numbers(4, 20, 33), _table(20, 6)), 1),
    "selected": (
        lambda x, t: x.index_select(2, t),
        (_numbers(4, 5, 33), _table(33, 9).int()),
        1,
    ),
    "along": (lambda x, t: x.gather(1, t), (_numbers(4, 33), _table(33, 4, 9)), 1),
    "across": (lambda x, t: x.gather(0, t), (_numbers(30, 12), _table(30, 4, 9)), 1),
    "backwards": (lambda x, t: x.flip(0)[t], (_numbers(30, 12), _table(30, 4)), 1),
    "softmax": (
        lambda x, t: torch.softmax(x.index_select(0, t), -1),
        (_numbers(30, 64), _table(30, 5)),
        1,
    ),
    "summed": (lambda x, t: x[t].sum(0), (_numbers(30, 64), _table(30, 5)), 1),
    "bias": (
        lambda x, b, t: x + b[t.reshape(-1)].reshape(9, 9, 4).permute(2, 0, 1)[None],
        _BIAS,
        1,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_tables_choose_is_what_torch_chooses(name: str) -> None:
    function, inputs, kernels = CASES[name]
    plan = plan_of(Formula(function), inputs)
    assert [(s.what, s.why) for s in plan.left] == []
    assert len(plan.kernels) == kernels
    made = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(made, function(*inputs), rtol=2e-6, atol=2e-6)
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


@pytest.mark.parametrize(
    ("function", "shape"),
    [(lambda x, s, t: x[s, t], (20, 7, 33)), (lambda x, s, t: x[s, :, t], (20, 4, 7))],
)
def test_several_tables_choose_as_one(
    function: Callable[..., Any], shape: tuple[int, ...]
) -> None:
    inputs = (_numbers(*shape), _table(20, 6), _table(7, 6))
    plan = plan_of(Formula(function), inputs)
    assert plan.whole
    made = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(made, function(*inputs), rtol=0, atol=0)
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


_BESIDE: dict[str, tuple[Callable[..., Any], tuple[int, ...], int]] = {
    "images and channels": (
        lambda x, s, t: x[
            torch.arange(3)[:, None, None], torch.arange(4)[None, :, None],
            s[:, None], t[:, None],
        ],
        (3, 4, 20, 7),
        140,
    ),
    "every other row": (
        lambda x, s, t: x[torch.arange(1, 13, 2)[:, None], :, s[:1]] * t[0, 0],
        (14, 5, 20),
        20,
    ),
    "behind": (
        lambda x, s, t: x[:, s[..., None], t[..., None], torch.arange(6) + 1],
        (2, 20, 7, 9),
        140,
    ),
    "of one row": (
        lambda x, s, t: x[torch.zeros(1, dtype=torch.long) + 2, s],
        (3, 20),
        20,
    ),
    "of a part": (
        lambda x, s, t: x.flip(1)[1:, torch.arange(3)[:, None], t],
        (3, 3, 7),
        7,
    ),
    "of a border": (
        lambda x, s, t: torch.nn.functional.pad(x, (1, 2))[
            torch.arange(3)[:, None], t
        ],
        (3, 7),
        10,
    ),
    "backwards": (
        lambda x, s, t: x[torch.arange(2, -1, -1)[:, None], s],
        (3, 20),
        60,
    ),
    "from the end": (
        lambda x, s, t: x[torch.arange(-3, 0)[:, None], s],
        (3, 20),
        60,
    ),
    "between": (
        lambda x, s, t: x[s[..., None], torch.arange(6), t[..., None]],
        (20, 6, 7),
        840,
    ),
    "one of each row": (lambda x, s, t: x[torch.arange(36), s[0]], (36, 20), 720),
}  # fmt: skip


@pytest.mark.parametrize("name", _BESIDE)
def test_tables_of_all_positions_choose_nothing(name: str) -> None:
    """What they move is a view, so that the others are tables of single dimensions."""
    function, shape, extent = _BESIDE[name]
    inputs = (_numbers(*shape), _table(20, 3, 36), _table(7, 3, 36))
    plan = plan_of(Formula(function), inputs)
    assert plan.whole
    made = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(made, function(*inputs), rtol=0, atol=0)
    read = [e for s in plan.kernels for e in s.planned.lowered.elements]  # pyright: ignore[reportOptionalMemberAccess]
    assert {t.extent for e in read for t in e.tables} == {extent}
    for step in plan.kernels:
        assert proof_of(step).verdict is Verdict.EQUAL, step.source.text


def test_a_table_of_pixels_is_asked_once_for_all_channels() -> None:
    """Of nine taps alone most of a warp would be empty (241 us, now 24)."""

    def sampled(x: Any, grid: Any) -> Any:
        return torch.nn.functional.grid_sample(x, grid).reshape(2, 64, 9, 56, 56)

    inputs = torch.empty(2, 64, 56, 56), torch.empty(2, 9 * 56, 56, 2)
    for step in plan_of(Formula(sampled), inputs).kernels:
        assert prediction_of(step).microseconds < 40


def test_comparisons_with_a_table_are_stored_by_none() -> None:
    """Each of the kernels that choose by them has the table itself."""

    def attended(e: Any, t: Any) -> Any:
        at = t[:, None].expand(-1, 4)
        most = torch.full((50, 4), -1e9).scatter_reduce(0, at, e, "amax")
        shares = (e - most[t]).exp()
        return shares / torch.zeros(50, 4).scatter_add(0, at, shares)[t]

    inputs = _numbers(400, 4), _table(50, 400)
    plan = plan_of(Formula(attended), inputs)
    assert plan.whole
    assert all(v.dtype.name != "bool" for s in plan.kernels for v in s.written)
    made = run_plan(plan, inputs, plan.program.tensors, in_interpreter)
    torch.testing.assert_close(made, attended(*inputs), rtol=2e-5, atol=2e-6)


def test_positions_of_64_bits_that_no_tensor_has_are_outside() -> None:
    """They are not cut to 32 bits, in which they would be other rows."""
    inputs = (_numbers(20, 8), _table(20, 4))
    function: Any = lambda x, t: x.index_select(0, t)  # noqa: E731
    (step,) = plan_of(Formula(function), inputs).kernels
    request, _ = request_for_step(kernel_of(step), step)
    table = torch.tensor([3, 2**32 + 3, -1, -(2**32)])
    names = [t.name for t in step.source.tensors]
    arrays = [table.numpy(), inputs[0].numpy(), torch.ones(4, 8).numpy()]
    order = {"i64": 0, "f32": 1}
    given = {
        n: arrays[2] if n in step.source.outputs else arrays[order[t.buffer.dtype.name]]
        for n, t in zip(names, step.source.tensors, strict=True)
    }
    run(placed_program(request), given, sm_count=4)
    assert (arrays[2][0] == inputs[0][3].numpy()).all()
    assert (arrays[2][1:] == 0).all()


def test_sizes_that_depend_on_elements_are_no_program() -> None:
    inputs = (_numbers(20, 7), torch.arange(20) % 3 == 0)
    with pytest.raises(ArgusError, match="depends on elements"):
        plan_of(Formula(lambda x, chosen: x[chosen] * 2), inputs)


def test_single_elements_by_a_table_are_inside() -> None:
    """A block has one row, and reads one number for it: positions are another's."""

    def model(x: Any, w: Any, t: Any) -> Any:
        places = torch.mode(t[:, None], 1).values  # torch's, so that kernels read them
        return x * torch.where(places < 0, places + 2048, places)[:, None] * 0 + (
            x * w[places][:, None]
        )

    inputs = (_numbers(2048, 1024), _numbers(2048), _table(2048, 2048))
    for step in plan_of(Formula(model), inputs).kernels:
        assert proof_of(step).verdict is not Verdict.REFUTED, step.source.text
        assert prediction_of(step, "sm_90a").microseconds > 0
