"""Launches whose tensors move: their parameters are those of launches made anew."""

import struct
from ctypes import c_void_p, string_at

import pytest

from argus.diagnostics import ArgusError
from argus.runtime.arguments import TensorArg
from argus.runtime.driver import Launch, LaunchShape, LoadedFunction
from argus.runtime.launch import LoadedKernel
from argus.runtime.moving import MovableLaunches, MovableStep
from argus.runtime.plan import LaunchPlan
from argus.runtime.tensor_map import MapRequest
from runtime.conftest import FakeDriver, make_spec

SIZES = (128, 8, 4, 4, 8, 4)
"""Of the parameters of `make_spec`, in bytes."""
SHAPES = ((32, 64), (48, 64), (32, 48))
PLACES = ((0, 0), (1, 256), (2, 64)), ((2, 64), (1, 0), (3, 32))
"""Of the tensors of two launches: the second one reads what the first one writes."""


class NotingDriver(FakeDriver):
    """Writes down the parameters of launches; a map is its address, 16 times."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[list[bytes]] = []
        self.refused = 0

    def tensor_map(self, request: MapRequest) -> bytes:
        super().tensor_map(request)
        if request.pointer == self.refused:
            raise ValueError("refused")
        return struct.pack("<Q", request.pointer) * 16

    def launcher(self, function: LoadedFunction, shape: LaunchShape) -> Launch:
        def launch(stream: int, params: c_void_p) -> None:
            each = (c_void_p * len(SIZES)).from_address(params.value or 0)
            assert (each[0] or 0) % 64 == 0
            self.noted.append(
                [string_at(each[i] or 0, size) for i, size in enumerate(SIZES)]
            )

        return launch


@pytest.fixture
def driver() -> NotingDriver:
    return NotingDriver()


@pytest.fixture
def plan(driver: NotingDriver) -> LaunchPlan:
    tensors = [TensorArg(0, "f32", s, (s[1], 1), ("cpu", 0)) for s in SHAPES]
    return LoadedKernel(make_spec(), b"image", driver).plan(tensors, (2.5,))


def steps(plan: LaunchPlan) -> list[MovableStep]:
    return [MovableStep(plan, places, (2.5 + n,)) for n, places in enumerate(PLACES)]


def bases(*numbers: int) -> tuple[int, ...]:
    return tuple((n + 1) << 20 for n in numbers)


def test_parameters_follow_what_moves(plan: LaunchPlan, driver: NotingDriver) -> None:
    launches = MovableLaunches(steps(plan), bases(0, 1, 2, 3))
    # None moves, each alone, several, and all back.
    for numbers in (
        (0, 1, 2, 3),
        (4, 1, 2, 3),
        (4, 5, 2, 7),
        (4, 5, 6, 7),
        (0, 1, 2, 3),
    ):
        at = bases(*numbers)
        launches(at)
        moved, driver.noted = driver.noted, []
        for step in steps(plan):
            step.prepared(at)()
        assert moved == driver.noted
        assert len({m[0] for m in moved}) == len(PLACES)
        driver.noted = []


def test_a_map_is_encoded_where_its_own_tensor_has_moved(
    plan: LaunchPlan, driver: NotingDriver
) -> None:
    launches = MovableLaunches(steps(plan), bases(0, 1, 2, 3))
    before = len(driver.maps)
    launches(bases(0, 4, 2, 5))  # B and the last result, which have none
    assert len(driver.maps) == before
    launches(bases(0, 4, 6, 5))
    assert len(driver.maps) == before + 1


def test_addresses_that_are_not_aligned_are_refused(plan: LaunchPlan) -> None:
    launches = MovableLaunches(steps(plan), bases(0, 1, 2, 3))
    first, *rest = bases(0, 1, 2, 3)
    with pytest.raises(ArgusError, match="AG0806"):
        launches((first + 4, *rest))


def test_a_map_that_is_refused_is_made_by_the_next_call(
    plan: LaunchPlan, driver: NotingDriver
) -> None:
    launches = MovableLaunches(steps(plan), bases(0, 1, 2, 3))
    there = bases(0, 1, 5, 3)
    driver.refused = there[2] + 64
    with pytest.raises(ValueError, match="refused"):
        launches(there)
    assert not driver.noted
    driver.refused = 0
    launches(there)
    moved, driver.noted = driver.noted, []
    for step in steps(plan):
        step.prepared(there)()
    assert moved == driver.noted
