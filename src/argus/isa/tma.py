"""TMA: copies of boxes of a tensor between global and shared memory.

A tensor map, made by the host, holds the tensor's address, extents and strides, the box
and the swizzle. Coordinates are given innermost first, may be negative or beyond the
end: elements outside the tensor arrive as zeros and are not written. Loads complete by
bytes on an mbarrier (all bytes of the box, zeros included), stores with a bulk group.
This file has the device functions; which byte each element goes to is in `boxes.py`.
"""

from __future__ import annotations

from argus.isa.boxes import (
    CHUNK,
    MAX_BOX_DIM,
    MAX_RANK,
    MAX_STEP,
    SWIZZLE_ROWS,
    SWIZZLES,
    Violation,
    box_alignment,
    box_bytes,
    box_offsets,
    broken,
    swizzles_text,
    violations,
)
from argus.isa.record import HOPPER, Constraints, Effects, Instruction, InstructionCost
from argus.isa.text import asm, computed, device

__all__ = [
    "CHUNK",
    "MAX_BOX_DIM",
    "MAX_RANK",
    "MAX_STEP",
    "RANKS",
    "SWIZZLES",
    "SWIZZLE_ROWS",
    "Violation",
    "box_alignment",
    "box_bytes",
    "box_offsets",
    "broken",
    "load_function",
    "policy_function",
    "records",
    "store_function",
    "swizzles_text",
    "violations",
]

RANKS = range(1, MAX_RANK + 1)
_SECTION = "PTX ISA, Data Movement and Conversion Instructions: "
_LOAD = (
    "cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
)
_MAP_RULE = (
    "the map is a __grid_constant__ kernel parameter or in constant/global memory"
)


def load_function(rank: int, *, multicast: bool = False, hint: bool = False) -> str:
    """Device function that loads a box; `rank` is one of `RANKS`."""
    return f"argus_tma_load_{rank}d" + "_multicast" * multicast + "_hint" * hint


def store_function(rank: int) -> str:
    """Device function that stores a box; `rank` is one of `RANKS`."""
    return f"argus_tma_store_{rank}d"


def policy_function(priority: str) -> str:
    """Device function that makes the cache policy of a `hint`: "evict_first", ..."""
    return f"argus_policy_{priority}"


def _coordinates(rank: int) -> tuple[str, list[str]]:
    names = [f"c{i}" for i in range(rank)]
    return ", ".join(f"int {name}" for name in names), [f'"r"({n})' for n in names]


def _placeholders(rank: int, first: int) -> str:
    return ", ".join(f"%{first + i}" for i in range(rank))


def _load(rank: int, multicast: bool = False, hint: bool = False) -> Instruction:
    parameters, coordinates = _coordinates(rank)
    name = _LOAD.format(rank)
    function = load_function(rank, multicast=multicast, hint=hint)
    operands = f"[%0], [%1, {{{_placeholders(rank, 3)}}}], [%2]"
    inputs = ['"r"(smem)', '"l"(map)', '"r"(bar)', *coordinates]
    reads = ("[map]", "bar")
    rules = [
        "one thread executes it",
        "argus_fence_proxy_async follows the ordinary reads of smem and writes to it, "
        "before a barrier, before it",
        _MAP_RULE,
    ]
    if multicast:
        name += ".multicast::cluster"
        parameters += ", u16 mask"
        operands += f", %{len(inputs)}"
        inputs.append('"h"(mask)')
        rules.append(
            "each block whose bit is set in mask receives the box at the same offset "
            "and its bytes on its own barrier at the offset of bar"
        )
    if hint:
        name += ".L2::cache_hint"
        parameters += ", u64 policy"
        operands += f", %{len(inputs)}"
        inputs.append('"l"(policy)')
        rules.append("policy comes from argus_policy_*")
    body = asm([f"{name}", f"{operands};"], inputs=inputs)
    return Instruction(
        name=name,
        family="tma",
        targets=HOPPER,
        scope="elected",
        function=function,
        cuda=device(
            f"void {function}(u32 smem, TensorMap const* map, u32 bar, {parameters})",
            body,
        ),
        effects=Effects(reads, ("[smem]", "[bar]"), "async", "mbarrier"),
        source=_SECTION + "cp.async.bulk.tensor",
        constraints=Constraints(
            alignment=(("smem", 128), ("bar", 8), ("map", 64)),
            shape=(("rank", rank),),
            rules=tuple(rules),
        ),
        needs=("TensorMap",),
    )


def _store(rank: int) -> Instruction:
    parameters, coordinates = _coordinates(rank)
    name = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group"
    function = store_function(rank)
    body = asm(
        [name, f"[%0, {{{_placeholders(rank, 2)}}}], [%1];"],
        inputs=['"l"(map)', '"r"(smem)', *coordinates],
    )
    return Instruction(
        name=name,
        family="tma",
        targets=HOPPER,
        scope="elected",
        function=function,
        cuda=device(
            f"void {function}(TensorMap const* map, u32 smem, {parameters})", body
        ),
        effects=Effects(
            ("[smem]", "map"), ("[map]",), "async", "bulk_group", released="bulk_read"
        ),
        source=_SECTION + "cp.async.bulk.tensor",
        constraints=Constraints(
            alignment=(("smem", 128), ("map", 64)),
            shape=(("rank", rank),),
            rules=(
                "one thread executes it; the same thread commits and waits",
                "argus_fence_proxy_async follows the ordinary writes to smem, before a "
                "barrier, before it",
                _MAP_RULE,
            ),
        ),
        needs=("TensorMap",),
    )


def _commit() -> Instruction:
    return Instruction(
        name="cp.async.bulk.commit_group",
        family="tma",
        targets=HOPPER,
        scope="elected",
        function="argus_tma_store_commit",
        cuda=device(
            "void argus_tma_store_commit()", asm("cp.async.bulk.commit_group;")
        ),
        effects=Effects(commits=("bulk_read", "bulk_group")),
        source=_SECTION + "cp.async.bulk.commit_group",
    )


def _wait(read: bool) -> Instruction:
    name = "cp.async.bulk.wait_group" + (".read" if read else "")
    function = "argus_tma_store_wait" + ("_read" if read else "")
    done = "have read their shared memory" if read else "have been written"
    return Instruction(
        name=name,
        family="tma",
        targets=HOPPER,
        scope="elected",
        function=function,
        cuda=device(
            f"void {function}()",
            asm(f"{name} %0;", inputs=['"n"(pending)']),
            "template <int pending>",
        ),
        effects=Effects(awaits=("bulk_read",) if read else ("bulk_read", "bulk_group")),
        source=_SECTION + "cp.async.bulk.wait_group",
        constraints=Constraints(
            rules=(f"all but the latest `pending` groups of this thread {done}",)
        ),
    )


def _prefetch() -> Instruction:
    return Instruction(
        name="prefetch.tensormap",
        family="tma",
        targets=HOPPER,
        scope="elected",
        function="argus_tma_prefetch",
        cuda=device(
            "void argus_tma_prefetch(TensorMap const* map)",
            asm("prefetch.tensormap [%0];", inputs=['"l"(map)']),
        ),
        effects=Effects(("[map]",)),
        cost=InstructionCost(bytes=128),
        source=_SECTION + "prefetch.tensormap",
        constraints=Constraints(alignment=(("map", 64),), rules=(_MAP_RULE,)),
        needs=("TensorMap",),
    )


def _policy(priority: str) -> Instruction:
    name = f"createpolicy.fractional.L2::{priority}.b64"
    function = policy_function(priority)
    return Instruction(
        name=name,
        family="tma",
        targets=("sm_80", "sm_90a"),
        scope="thread",
        function=function,
        cuda=computed(f"u64 {function}()", f"{name} %0, 1.0", "u64 l"),
        effects=Effects(),
        source=_SECTION + "createpolicy",
    )


def records() -> tuple[Instruction, ...]:
    """All records of this family."""
    return (
        *(
            _load(rank, multicast, hint)
            for rank in RANKS
            for multicast in (False, True)
            for hint in (False, True)
        ),
        *map(_store, RANKS),
        _commit(),
        _wait(False),
        _wait(True),
        _prefetch(),
        *map(_policy, ("evict_first", "evict_last", "evict_normal")),
    )
