"""Kernels of a program are proved and built by processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from argus.compiler import is_ready  # noqa: E402
from argus.programs import backend  # noqa: E402
from argus.programs.compiled import called  # noqa: E402
from argus.programs.planning import building  # noqa: E402
from argus.programs.planning.building import as_line, build_side_by_side, of_line  # noqa: E402
from argus.programs.planning.kernel_requests import built_request  # noqa: E402
from argus.programs.planning.plan import ProgramPlan, plan_of  # noqa: E402
from argus.requests import Request, key_of  # noqa: E402
from argus.targets import DEFAULT_TARGET  # noqa: E402
from programs.modules import Formula  # noqa: E402


def chain(x: torch.Tensor) -> torch.Tensor:
    for dim in (0, 1, 0):
        x = x - x.sum(dim, keepdim=True)
    return x


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProgramPlan:
    monkeypatch.setenv("ARGUS_CACHE_DIR", str(tmp_path))
    return plan_of(Formula(chain), (torch.randn(64, 48),))


def requests(plan: ProgramPlan) -> list[Request]:
    return [built_request(s, DEFAULT_TARGET, open_sizes=False) for s in plan.kernels]


def test_a_request_is_read_as_it_was_written(plan: ProgramPlan) -> None:
    for step, request in zip(plan.kernels, requests(plan), strict=True):
        again = of_line(as_line(request, step.source.text))
        assert key_of(again) == key_of(request)
        assert again.values == request.values


def test_machine_code_is_for_the_sizes_of_a_plan() -> None:
    model = Formula(lambda x: x.transpose(0, 2) + 1.0)
    (step,) = plan_of(model, (torch.randn(1, 5, 7),)).kernels
    open_, own = (
        built_request(step, DEFAULT_TARGET, open_sizes=open_sizes)
        for open_sizes in (True, False)
    )
    assert not open_.values
    assert key_of(own) == key_of(open_)  # one proof
    extents = {n: v for n, v in own.values.items() if "_s" not in n}
    assert extents == step.source.sizes
    for t in step.source.tensors:
        for d, (n, s) in enumerate(zip(step.shape(t), t.all_strides, strict=True)):
            assert own.values.get(f"{t.name}_s{d}") == (s if n > 1 else None)


@pytest.mark.parametrize("dynamic", [True, False])
def test_sizes_that_torch_leaves_open_are_no_constants(
    dynamic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[ProgramPlan] = []

    def noted(plan: ProgramPlan, *also: object) -> object:
        plans.append(plan)
        return called(plan, *also)

    monkeypatch.setattr(backend, "called", noted)
    double = torch.compile(
        Formula(lambda x: x * 2.0),
        backend="argus",
        dynamic=dynamic,
        options={"interpret": True},
    )
    x = torch.randn(6, 5)
    torch.testing.assert_close(double(x), x * 2.0)
    assert [plan.open_sizes for plan in plans] == [dynamic]


@pytest.mark.compiler
def test_workers_leave_what_they_build_on_disk(
    plan: ProgramPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not any(map(is_ready, requests(plan)))
    monkeypatch.setenv("ARGUS_WORKERS", "1")
    build_side_by_side(plan.kernels, DEFAULT_TARGET, open_sizes=False)
    assert not any(map(is_ready, requests(plan)))
    monkeypatch.setenv("ARGUS_WORKERS", "2")
    build_side_by_side(plan.kernels, DEFAULT_TARGET, open_sizes=False)
    assert all(map(is_ready, requests(plan)))


def test_a_worker_that_ends_leaves_the_rest(
    plan: ProgramPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building.sys, "executable", "/bin/false")
    monkeypatch.setenv("ARGUS_WORKERS", "2")
    build_side_by_side(plan.kernels, DEFAULT_TARGET, open_sizes=False)
    assert not any(map(is_ready, requests(plan)))
