"""The timeline of a block agrees with the simulation that it is a record of."""

from itertools import pairwise

import pytest

import predicted
from argus.kernels.library import LIBRARY
from argus.model.timeline import Timeline, timeline


@pytest.fixture(scope="module")
def gemm() -> Timeline:
    return timeline(predicted.gemm(), predicted.sizes(4096, 4096, 4096))


def lane(found: Timeline, name: str) -> list[tuple[float, float, str]]:
    (number,) = [i for i, x in enumerate(found.lanes) if x.name == name]
    return [(s.begin, s.end, s.kind) for s in found.stays if s.lane == number]


def test_lanes(gemm: Timeline) -> None:
    names = [x.name for x in gemm.lanes]
    slots = [f"slot {i}" for i in range(4)]
    assert names[:7] == ["load", "math 1", "math 2", *slots]
    assert names[-1] == "tensor cores"


def test_no_lane_does_two_things_at_once(gemm: Timeline) -> None:
    for x in gemm.lanes:
        parts = sorted(lane(gemm, x.name))
        assert parts, x.name
        for (_, end, _), (begin, _, _) in pairwise(parts):
            assert begin >= end - 1e-6, x.name


def test_a_slot_is_filled_then_read_then_filled(gemm: Timeline) -> None:
    """After the first fills, a slot is not filled before it was read."""
    for slot in range(4):
        kinds = [k for _, _, k in sorted(lane(gemm, f"slot {slot}"))]
        assert kinds.count("copy") >= 3
        without = [k for k in kinds if k != "full"]
        assert without == ["copy", "read"] * (len(without) // 2)


def test_products_are_in_the_lane_of_the_tensor_cores(gemm: Timeline) -> None:
    """Both math groups multiply in each of the iterations that are drawn."""
    busy = sum(end - begin for begin, end, _ in lane(gemm, "tensor cores"))
    whole = max(s.end for s in gemm.stays)
    assert 0.5 * whole < busy < whole
    for name in ("math 1", "math 2"):
        assert sum(k == "product" for _, _, k in lane(gemm, name)) >= 7


def test_waiting_for_a_slot_ends_when_it_was_read(gemm: Timeline) -> None:
    waits = [s for s in gemm.stays if s.kind == "wait slot" and s.end - s.begin > 0.1]
    assert waits
    for wait in waits:
        reads = [end for _, end, k in lane(gemm, f"slot {wait.slot}") if k == "read"]
        assert any(abs(end - wait.end) < 0.2 for end in reads)


@pytest.mark.parametrize("entry", ["softmax", "attention", "gemm_sm80"])
def test_other_kernels_have_one(entry: str) -> None:
    case = LIBRARY[entry].large[0]
    program = predicted.library(entry, case)
    found = timeline(program, predicted.every_size(entry, case))
    assert len(found.stays) > 5
    assert min(s.begin for s in found.stays) >= 0
    kinds = {s.kind for s in found.stays}
    assert "work" in kinds and kinds & {"load", "copy"} and "store" in kinds


def test_a_block_is_no_longer_than_the_prediction_allows(gemm: Timeline) -> None:
    """Few iterations of few loops take a part of what the whole launch takes."""
    from argus.model import predict

    whole = predict(predicted.gemm(), predicted.sizes(4096, 4096, 4096)).microseconds
    assert 0 < max(s.end for s in gemm.stays) < whole
