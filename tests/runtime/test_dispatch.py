"""Several launches in one call: their order, their memory, what is remembered."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
import torch

from argus import calls
from argus.compiler import cuda_source
from argus.diagnostics import ArgusError
from argus.dispatch import (
    Buffer,
    Dispatch,
    GivenScalar,
    GivenTensor,
    LaunchSequence,
    LaunchStep,
    TensorView,
)
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request
from argus.runtime import sequence
from argus.runtime.launch import LoadedKernel
from runtime.conftest import remembered

if TYPE_CHECKING:
    FakeDriver = Any

SOURCE = """
import argus as ag
from argus import f32


@ag.kernel
def scaled(X: f32["M N"], Y: f32["M N"], a: f32 = 2.0):
    M, N = X.shape
    m, n = ag.block(M, ag.cdiv(N, 64))
    Y[m, n * 64 :] = ag.load(X[m, n * 64 :], (64,)) * a
"""


PERSISTENT = """
import argus as ag
from argus import f32


@ag.kernel
def walking(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    for m, n in ag.persistent_tiles(M, ag.cdiv(N, 64)):
        Y[m, n * 64 :] = ag.load(X[m, n * 64 :], (64,))
"""


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch, driver: FakeDriver) -> Kernel:
    def make(self: Any, key: Any, request: Request, checking: bool) -> LoadedKernel:
        self._loaded[key] = LoadedKernel(cuda_source(request).spec, b"", driver)
        return self._loaded[key]

    monkeypatch.setattr(calls._Builds, "make", make)
    monkeypatch.setattr(calls, "_target_of_device", lambda tensor: "sm_90a")
    # The driver that is not one has its memory there.
    monkeypatch.setattr(calls, "_in_host_memory", lambda tensors: False)
    return load_kernels("scaled.py", SOURCE).kernels["scaled"]


@pytest.fixture
def workspaces(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Sizes that were allocated. There are two places, which take turns."""
    asked: list[int] = []
    kept = [torch.empty(1 << 16, dtype=torch.uint8) for _ in range(2)]

    def allocator(size: int, device: int) -> Any:
        def allocate() -> torch.Tensor:
            asked.append(size)
            return kept[len(asked) % 2]

        return allocate

    monkeypatch.setattr(sequence, "allocator", allocator)
    yield asked


def twice(kernel: Kernel) -> LaunchSequence:
    """Y = 6 * X, by way of a buffer with longer rows; and of Y's second half again."""
    half = Buffer("f32", (4, 64), (96, 1))
    y = TensorView(GivenTensor(1), (2, 64), (64, 1), 128)
    return LaunchSequence(
        (
            LaunchStep(kernel, (GivenTensor(0), half, 2.0), {}),
            LaunchStep(kernel, (half, GivenTensor(1), 3.0), {}),
            LaunchStep(kernel, (TensorView(half, (2, 64), (96, 1), 192), y, 3.0), {}),
        )
    )


def test_only_kernels_that_wait_overlap(
    kernel: Kernel,
    workspaces: list[int],
    driver: FakeDriver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "_target_of_device", lambda tensor: "sm_80")
    call = Dispatch(lambda *values: twice(kernel))
    call((torch.zeros(4, 64), torch.zeros(4, 64)))
    assert [shape.overlaps for _, shape in driver.launches] == [False] * 3


def test_persistent_grids_do_not_begin_early(
    kernel: Kernel, workspaces: list[int], driver: FakeDriver
) -> None:
    walking = load_kernels("walking.py", PERSISTENT).kernels["walking"]
    half = Buffer("f32", (4, 64))
    steps = (
        LaunchStep(kernel, (GivenTensor(0), half, 2.0), {}),
        LaunchStep(walking, (half, GivenTensor(1)), {}),
        LaunchStep(kernel, (GivenTensor(1), GivenTensor(2), 2.0), {}),
    )
    call = Dispatch(lambda *values: LaunchSequence(steps))
    call(tuple(torch.zeros(4, 64) for _ in range(3)))
    assert [shape.overlaps for _, shape in driver.launches] == [False, False, True]


def addresses(ready: Any) -> list[tuple[int, ...]]:
    """Of X and Y of each launch, of a call that was made."""
    (launches,) = ready._places.values()
    return [
        tuple(int.from_bytes(launch.parameters.raw(i, 8), "little") for i in (0, 1))
        for launch in launches
    ]


def test_launches_follow_each_other(
    kernel: Kernel, workspaces: list[int], driver: FakeDriver
) -> None:
    call = Dispatch(lambda *values: twice(kernel))
    x, y = torch.zeros(4, 64), torch.zeros(4, 64)
    call((x, y))
    assert [shape.grid for _, shape in driver.launches] == [4, 4, 2]
    assert {stream for stream, _ in driver.launches} == {driver.stream}
    # What comes before the first is not known; the others wait for what they read.
    assert [shape.overlaps for _, shape in driver.launches] == [False, True, True]
    assert workspaces == [1536]  # (3 * 96 + 64) * 4 bytes, in steps of 256
    (ready,) = remembered(call._recall)
    (first, memory), (again, second), (part, third) = addresses(ready)
    assert first == x.data_ptr()
    assert again == memory
    assert part == memory + 192 * 4
    assert second == y.data_ptr()
    assert third == y.data_ptr() + 128 * 4


def test_each_call_has_memory_of_its_own(
    kernel: Kernel, workspaces: list[int], driver: FakeDriver
) -> None:
    asked: list[int] = []

    def choose(*values: object) -> LaunchSequence:
        asked.append(1)
        return twice(kernel)

    call = Dispatch(choose)
    x, y = torch.zeros(4, 64), torch.zeros(4, 64)
    for _ in range(4):
        call((x, y))
    call((x, torch.zeros(4, 64)))  # another address: the same plan
    assert len(asked) == 1
    assert workspaces == [1536] * 5
    assert len(driver.launches) == 15
    ready = remembered(call._recall)[0]
    assert len(ready._places) == 2  # as many as addresses that it was given


def test_without_buffers_nothing_is_allocated(
    kernel: Kernel, workspaces: list[int], driver: FakeDriver
) -> None:
    step = LaunchStep(kernel, (GivenTensor(0), GivenTensor(1), 1.0), {})
    call = Dispatch(lambda *values: LaunchSequence((step, step)))
    call((torch.zeros(4, 64), torch.zeros(4, 64)))
    assert workspaces == []
    assert len(driver.launches) == 2


def test_numbers_of_a_call_are_its_own(
    kernel: Kernel, workspaces: list[int], driver: FakeDriver
) -> None:
    asked: list[int] = []

    def choose(*values: object) -> LaunchSequence:
        asked.append(1)
        given = (GivenTensor(0), GivenTensor(1), GivenScalar(2))
        return LaunchSequence((LaunchStep(kernel, given, {}),))

    call = Dispatch(choose)
    x, y = torch.zeros(4, 64), torch.zeros(4, 64)
    for number in (2.0, 5.0):
        call((x, y, number))
    assert len(asked) == 1
    launched = [
        launch.parameters.raw(6, 4)  # after two addresses and four sizes
        for ready in remembered(call._recall)
        for launches in ready._places.values()
        for launch in launches
    ]
    assert launched == [struct.pack("<f", number) for number in (2.0, 5.0)]


def test_every_step_is_checked(kernel: Kernel, workspaces: list[int]) -> None:
    wrong = Buffer("f32", (5, 64))
    step = LaunchStep(kernel, (GivenTensor(0), wrong, 1.0), {})
    call = Dispatch(lambda *values: LaunchSequence((step,)))
    with pytest.raises(ArgusError, match="AG0804"):
        call((torch.zeros(4, 64),))
    far = TensorView(GivenTensor(0), (2, 64), (64, 1), 65)
    step = LaunchStep(kernel, (far, GivenTensor(1), 1.0), {})
    call = Dispatch(lambda *values: LaunchSequence((step,)))
    with pytest.raises(ArgusError, match="AG0806"):
        call((torch.zeros(4, 64), torch.zeros(2, 64)))
