"""A program's call on a GPU: its launches and memory, on a driver without one."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from argus.compiler import cuda_source  # noqa: E402
from argus.ir.dtypes import f32  # noqa: E402
from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.running import execution, in_torch, launches  # noqa: E402
from argus.programs.running.execution import ProgramCall  # noqa: E402
from argus.programs.running.given import GivenTensors  # noqa: E402
from argus.programs.running.replay import GRAPHS, ReplayedCall  # noqa: E402
from argus.programs.tensors.tensor_program import (  # noqa: E402
    GivenPrimitive,
    ProgramValue,
    ViewedValue,
)
from argus.programs.tensors.views import LinearView, ReshapedView  # noqa: E402
from argus.runtime.launch import LoadedKernel  # noqa: E402
from programs.modules import Formula  # noqa: E402
from runtime.conftest import FakeDriver  # noqa: E402


def chain(x: Any) -> Any:
    for dim in (0, 1, 0):
        x = x - x.sum(dim, keepdim=True)
    return x


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    found = FakeDriver()
    monkeypatch.setattr(
        launches,
        "loaded_kernel",
        lambda request: LoadedKernel(cuda_source(request).spec, b"", found),
    )
    monkeypatch.setattr(launches, "device_target", lambda device: "sm_90a")
    return found


def planned(function: Callable[..., Any], *inputs: Any) -> ProgramPlan:
    return plan_of(Formula(function), inputs)


def test_a_call_launches_every_kernel_once(driver: FakeDriver) -> None:
    x = torch.randn(64, 48)
    plan = planned(chain, x)
    call = ProgramCall(plan)
    assert len(driver.loads) == 0  # loaded where something is launched
    kept = [call(*GivenTensors(plan.program)((x,), {})) for _ in range(3)]
    assert len(driver.launches) == 3 * len(plan.kernels)
    assert {stream for stream, _ in driver.launches} == {driver.stream}
    places = {result.data_ptr() for (result,) in kept}
    assert len(places) == 3  # each call's results are its own


def test_what_is_launched_again_is_not_prepared_again(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.randn(64, 48)
    plan = planned(chain, x)
    memory: dict[Any, Any] = {}
    real = torch.empty_strided, torch.empty
    for name, make in zip(("empty_strided", "empty"), real, strict=True):

        def kept(*args: Any, make: Any = make, **named: Any) -> Any:
            return memory.setdefault((make, args), make(*args, **named))

        monkeypatch.setattr(torch, name, kept)
    call = ProgramCall(plan)
    call((x,))
    monkeypatch.setattr(launches.LaunchPlan, "prepare", None)  # nobody calls it
    call((x,))
    assert len(memory) == 2  # one result, one workspace
    assert len(driver.launches) == 2 * len(plan.kernels)


def test_kernels_get_addresses_that_they_can_use(driver: FakeDriver) -> None:
    x = torch.randn(65 * 64 + 1)[1:].reshape(65, 64)  # not at a multiple of 16 bytes
    plan = planned(lambda x: x[1:, 1:] * 2 + x[:-1, :-1], x)
    (result,) = ProgramCall(plan)((x,))
    assert result.shape == (64, 63)
    assert len(driver.launches) == 1


def test_a_graph_is_recorded_for_addresses_that_come_again(driver: FakeDriver) -> None:
    x, other = torch.randn(64, 48), torch.randn(64, 48)
    plan = planned(chain, x)
    recorded: list[int] = []
    replayed: list[int] = []

    def record(run: Callable[[], None]) -> Callable[[], None]:
        number = len(recorded)
        run()
        recorded.append(number)
        return lambda: replayed.append(number)

    call = ReplayedCall(ProgramCall(plan), record)
    for given in (x, other, x, other, x, x):
        call((given,))
    assert (recorded, replayed) == ([0, 1], [0, 1, 0, 0])
    (first,), (second,) = call((x,)), call((x,))
    assert first.data_ptr() != second.data_ptr()
    assert len(driver.launches) == 4 * len(plan.kernels)


def test_addresses_that_change_always_are_launched(driver: FakeDriver) -> None:
    """No graph is given up for another one but where graphs are replayed often."""
    given = [torch.randn(8, 16) for _ in range(GRAPHS + 4)]
    plan = planned(lambda x: x * 2, given[0])
    recorded: list[int] = []

    def record(run: Callable[[], None]) -> Callable[[], None]:
        run()
        recorded.append(len(recorded))
        return lambda: None

    call = ReplayedCall(ProgramCall(plan), record)
    for x in given * 4:
        call((x,))
    assert len(recorded) == GRAPHS
    for _ in range(13 * GRAPHS):  # three rounds were replayed
        call((given[0],))
    for x in given[-4:]:
        call((x,))
    assert len(recorded) == GRAPHS + 1


def test_what_cannot_be_recorded_is_launched(driver: FakeDriver) -> None:
    x = torch.randn(8, 16)
    plan = planned(lambda x: torch.rand_like(x) * x, x)
    call = ReplayedCall(ProgramCall(plan), lambda run: pytest.fail("recorded"))
    assert "rand" in call.why_not
    for _ in range(3):
        call((x,))


def test_a_call_follows_no_views(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where results and operands of torch lie is known before."""
    x = torch.randn(8, 16)
    plan = planned(lambda x: ((x * 2).t(), torch.rand_like(x)[1:] + x[1:], x.t()), x)
    call = ProgramCall(plan)
    first = call((x,))
    for module in (in_torch, execution):
        monkeypatch.setattr(module, "strides_of", None)  # nobody calls it
    again = call((x,))
    assert [y.stride() for y in again] == [y.stride() for y in first]
    assert again[0].stride() == (1, 16)


def test_torch_is_given_views_and_no_indices(driver: FakeDriver) -> None:
    """Of repeated heads one copy, of rows in other places none."""
    x = torch.randn(4, 6, 8)
    views = (
        LinearView((4, 1, 6, 8), (((0, 1),), ((2, 1),), ((3, 1),)), (0, 0, 0)),
        LinearView((4, 3, 6, 8), (((0, 1),), (), ((2, 1),), ((3, 1),)), (0, 0, 0, 0)),
        ReshapedView((12, 6, 8)),
        LinearView((12, 3, 8), (((0, 1),), ((1, -2),), ((2, 1),)), (0, 5, 0)),
    )
    made = GivenPrimitive("input", 0, tuple(x.shape), x.stride())
    value = ProgramValue("x", tuple(x.shape), f32, made)
    buffers = in_torch.ProgramBuffers({value: x}, x.device)
    wanted = x.repeat_interleave(3, 0)
    calls: list[str] = []

    class Counted(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            calls.append(str(func.overloadpacket))
            return func(*args, **(kwargs or {}))

    with Counted():
        seen = buffers.operand(ViewedValue(value, views[:3]))
        back = buffers.operand(ViewedValue(value, views))
        rows = buffers.operand(ViewedValue(value, views[:2]))
    assert torch.equal(seen, wanted)
    assert torch.equal(back, wanted.flip(1)[:, ::2])
    assert torch.equal(rows, x[:, None].expand(4, 3, 6, 8))
    assert rows.data_ptr() == x.data_ptr()
    assert not any("index" in c or "arange" in c for c in calls)
    assert sum("clone" in c for c in calls) == 2  # of what a reshape repeats


def test_what_torch_lays_in_another_order_is_not_copied(driver: FakeDriver) -> None:
    x = torch.randn(2, 3, 8, 16)

    def drawn(x: Any) -> Any:
        return torch.rand_like(x.transpose(1, 2)) * 2

    plan = planned(drawn, x)
    (step,) = plan.left
    assert [v.shape for v in step.results] == [(2, 3, 8, 16)]
    copies: list[str] = []

    class Counted(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            copies.append(str(func.overloadpacket))
            return func(*args, **(kwargs or {}))

    call = ProgramCall(plan)
    with Counted():
        call((x,))
    assert not {"aten.clone", "aten.copy_", "aten.contiguous"} & {*copies}


def test_a_call_leaves_no_tensor_to_the_garbage_collector(driver: FakeDriver) -> None:
    """Memory that is freed late moves what the next call allocates."""
    x = torch.randn(8, 16)
    plan = planned(lambda x: torch.rand_like(x * 2) + x, x)
    given = GivenTensors(plan.program)
    call = ProgramCall(plan)
    assert plan.left
    call(*given((x,), {}))
    gc.freeze()  # what is alive now is not looked at, and there may be much
    gc.disable()
    try:
        call(*given((x,), {}))
        alive = [t for t in gc.get_objects() if type(t) is torch.Tensor]
    finally:
        gc.enable()
    assert not [t.shape for t in alive]


def test_what_moves_is_not_prepared_again(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another result and another workspace are addresses alone."""
    x = torch.randn(64, 48)
    plan = planned(chain, x)
    call = ProgramCall(plan)
    kept = [call((x,))]
    monkeypatch.setattr(launches.LaunchPlan, "prepare", None)  # nobody calls it
    kept += [call((x,)) for _ in range(2)]
    assert len({r.data_ptr() for (r,) in kept}) == 3
    assert len(driver.launches) == 3 * len(plan.kernels)


def test_kernels_but_the_first_may_begin_before_the_one_before_ends(
    driver: FakeDriver,
) -> None:
    x = torch.randn(64, 48)
    plan = planned(chain, x)
    ProgramCall(plan)((x,))
    overlaps = [shape.overlaps for _, shape in driver.launches]
    assert overlaps == [False] + [True] * (len(plan.kernels) - 1)
