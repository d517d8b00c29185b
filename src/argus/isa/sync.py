"""Synchronisation other than mbarriers: named barriers, clusters, fences, election.

And between launches: PTX ISA, griddepcontrol; CUDA C++ Programming Guide, "Programmatic
Dependent Launch and Synchronization".
"""

from __future__ import annotations

from argus.isa.record import (
    ALL_TARGETS,
    HOPPER,
    Constraints,
    Effects,
    Instruction,
    Scope,
)
from argus.isa.text import asm, computed, device
from argus.layout import WARP_LANES

__all__ = ["CLUSTER_SIZES", "NAMED_BARRIERS", "records"]

NAMED_BARRIERS = 16
"""Barriers of a block; number 0 is the one of __syncthreads (PTX ISA, bar)."""
_NONE = Effects()
CLUSTER_SIZES = (1, 2, 4, 8)
"""Blocks of a cluster, by powers of two up to the portable most (CUDA C++ Programming
Guide, "Thread Block Clusters")."""


def _named(kind: str) -> Instruction:
    waits = kind == "sync"
    return Instruction(
        name=f"barrier.{kind}.aligned",
        family="sync",
        targets=ALL_TARGETS,
        scope="warp",
        function=f"argus_named_{kind}",
        cuda=device(
            f"void argus_named_{kind}(int id, int threads)",
            asm(f"bar.{kind} %0, %1;", inputs=['"r"(id)', '"r"(threads)']),
        ),
        effects=Effects(awaits=("threads",) if waits else ()),
        source="PTX ISA, Parallel Synchronization and Communication: bar, barrier",
        constraints=Constraints(
            rules=(
                f"id is 0 to {NAMED_BARRIERS - 1} (0 is the one of __syncthreads)",
                f"threads counts all that arrive or wait, a multiple of {WARP_LANES}",
                "all lanes of a warp execute it together",
                "orders generic memory accesses of the block among those threads"
                + ("" if waits else ", once a bar.sync on the same id returns"),
            )
        ),
    )


def _plain(
    function: str,
    ptx: str,
    section: str,
    *rules: str,
    scope: Scope = "thread",
    effects: Effects = _NONE,
    targets: tuple[str, ...] = HOPPER,
    family: str = "sync",
) -> Instruction:
    return Instruction(
        name=ptx,
        family=family,
        targets=targets,
        scope=scope,
        function=function,
        cuda=device(f"void {function}()", asm(ptx + ";")),
        effects=effects,
        source=f"PTX ISA, Parallel Synchronization and Communication: {section}",
        constraints=Constraints(rules=rules),
    )


def _cluster_rank() -> Instruction:
    return Instruction(
        name="mov.u32 %cluster_ctarank",
        family="cluster",
        targets=HOPPER,
        scope="thread",
        function="argus_cluster_rank",
        cuda=computed(
            "u32 argus_cluster_rank()", "mov.u32 %0, %%cluster_ctarank", "u32 r"
        ),
        effects=Effects(),
        source="PTX ISA, Special Registers: %cluster_ctarank",
    )


def _elect() -> Instruction:
    return Instruction(
        name="elect.sync",
        family="sync",
        targets=HOPPER,
        scope="warp",
        function="argus_elect",
        cuda=device(
            "bool argus_elect()",
            "u32 chosen;\n"
            + asm(
                [
                    ".reg .pred p;",
                    "elect.sync _|p, 0xffffffff;",
                    "selp.u32 %0, 1, 0, p;",
                ],
                ['"=r"(chosen)'],
                memory=False,
            )
            + "\nreturn chosen != 0;",
        ),
        effects=Effects(),
        source="PTX ISA, Parallel Synchronization and Communication: elect.sync",
        constraints=Constraints(
            rules=(
                f"all {WARP_LANES} lanes execute it; true in exactly one, "
                "always the same",
            )
        ),
    )


def records() -> tuple[Instruction, ...]:
    """All records of this family."""
    return (
        _named("sync"),
        _named("arrive"),
        _plain(
            "argus_fence_proxy_async",
            "fence.proxy.async.shared::cta",
            "membar, fence",
            "this thread's earlier ordinary accesses to shared memory come before "
            "later asynchronous ones (TMA, wgmma) that are ordered after it",
            effects=Effects(fence="async"),
        ),
        _plain(
            "argus_fence_proxy_async_all",
            "fence.proxy.async",
            "membar, fence",
            "as argus_fence_proxy_async, for global and shared memory",
            effects=Effects(fence="async"),
        ),
        _plain(
            "argus_fence_mbarrier_init",
            "fence.mbarrier_init.release.cluster",
            "membar, fence",
            "makes earlier mbarrier.init visible to the cluster and the async proxy",
        ),
        _plain(
            "argus_cluster_arrive",
            "barrier.cluster.arrive.release.aligned",
            "barrier.cluster",
            "every thread of every block of the cluster arrives, then waits",
            scope="cluster",
            family="cluster",
        ),
        _plain(
            "argus_cluster_wait",
            "barrier.cluster.wait.acquire.aligned",
            "barrier.cluster",
            "returns when all threads of the cluster have arrived",
            scope="cluster",
            family="cluster",
            effects=Effects(awaits=("threads",)),
        ),
        _plain(
            "argus_await_launches",
            "griddepcontrol.wait",
            "griddepcontrol",
            "returns when the launches before this one on the stream have ended and "
            "what they wrote can be read; at once where this launch began after them",
        ),
        _plain(
            "argus_release_launches",
            "griddepcontrol.launch_dependents",
            "griddepcontrol",
            "once all blocks have executed it, or ended, a launch behind this one that "
            "waits by argus_await_launches may begin where there is room",
        ),
        _cluster_rank(),
        _elect(),
    )
