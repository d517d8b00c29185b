"""Kernels of a program are proved and built by processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from argus.compiler import is_ready  # noqa: E402
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
        assert key_of(of_line(as_line(request, step.source.text))) == key_of(request)


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
