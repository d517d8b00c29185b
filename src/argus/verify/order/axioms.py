"""What the analysis of order takes for granted beyond the PTX memory model.

Each entry is common practice on the hardware, relied upon by the libraries that
everybody runs, but is not (or not fully) promised by the PTX ISA. They are listed in
docs/verification.md; every one is used by name at one place of the walk.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Axiom:
    """``claim`` is assumed; ``source`` says who relies on it, or what comes closest."""

    name: str
    claim: str
    source: str


AXIOMS = (
    Axiom(
        "elected-arrival",
        "One thread of a warpgroup that has waited for a wgmma group may arrive for "
        "all four warps: the group's reads of shared memory are over for all of them, "
        "and all four have passed what precedes the group's last instruction.",
        "CUTLASS, PipelineTmaAsync::consumer_release: one predicated arrival per "
        "consumer; PTX ISA, wgmma.mma_async (all threads of the warpgroup execute it); "
        "wgmma.wait_group speaks of the executing threads only.",
    ),
    Axiom(
        "warp-lanes",
        "The lanes of a warp reach an access to shared memory together: what one lane "
        "did before in program order is ordered before what another does later.",
        "The kernels' control flow is uniform per warp. Since Volta the CUDA "
        "Programming Guide (Independent Thread Scheduling) asks for __syncwarp.",
    ),
    Axiom(
        "remote-arrival",
        "An arrival on another block's barrier releases the slots it speaks for at "
        "block scope only; nothing but TMA writes those slots again.",
        "PTX ISA, mbarrier.arrive (.release.cta is the default); CUTLASS, "
        "ClusterBarrier::arrive(cta_id).",
    ),
    Axiom(
        "prologue",
        "All barriers are initialised, visible to the async proxy and the cluster, "
        "before the first operation of the program.",
        "The code generator's prologue: mbarrier.init, fence.mbarrier_init, and a "
        "block or cluster barrier.",
    ),
    Axiom(
        "progress",
        "Every warp and every asynchronous operation that can go on, does.",
        "PTX ISA, mbarrier.try_wait; all blocks of a cluster are resident together "
        "(CUDA Programming Guide, Thread Block Clusters).",
    ),
)
"""Every axiom, by name unique."""
