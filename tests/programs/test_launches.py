"""A program's call on a GPU: its launches and memory, on a driver without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.compiler import cuda_source  # noqa: E402
from argus.programs import launches  # noqa: E402
from argus.programs.execution import ProgramCall  # noqa: E402
from argus.programs.given import GivenTensors  # noqa: E402
from argus.programs.plan import ProgramPlan, plan_of  # noqa: E402
from argus.programs.replay import ReplayedCall  # noqa: E402
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
    kept = [call(GivenTensors(plan.program)((x,), {})) for _ in range(3)]
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


def test_what_cannot_be_recorded_is_launched(driver: FakeDriver) -> None:
    x = torch.randn(8, 16)
    plan = planned(lambda x: torch.rand_like(x) * x, x)
    call = ReplayedCall(ProgramCall(plan), lambda run: pytest.fail("recorded"))
    assert "rand" in call.why_not
    for _ in range(3):
        call((x,))
