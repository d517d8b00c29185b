"""What the performance model knows of a GPU: sizes, rates and latencies.

Numbers of the data sheet and of the architecture stand beside their source. The others
are calibrated: chosen so that predictions fit the training half of the measurements
(`benchmarks/model_data.py`, `docs/model.md`); each is a physical quantity, and none is
about a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.model.peaks import PEAKS


@dataclass(frozen=True)
class Hardware:
    """One GPU. Rates are per multiprocessor and clock cycle unless they say otherwise.

    ``tensor_flops``: dense 16-bit operations (a multiply-add is two).
    ``issue_slots``: warp instructions; ``special``: warp instructions of the special
    function units; ``shared_bytes``: of shared memory and of the load/store unit.
    """

    name: str
    multiprocessors: int
    tensor_flops: float
    issue_slots: float
    special: float
    shared_bytes: float
    l2_capacity: float
    blocks_per_cycle: float
    dram_bytes_per_second: float
    # calibrated
    clock_ghz: float
    dram_efficiency: float
    burst: float
    """What one multiprocessor can get from memory, over its even share."""
    l2_bytes: float
    wgmma_efficiency: float
    wgmma_cycles: float
    """Cycles of the tensor cores that a `wgmma` takes beside its multiplications."""
    wgmma_latency: float
    mma_efficiency: float
    mma_latency: float
    lines: float
    stored_lines: float
    cycles_per_instruction: float
    dram_latency: float
    l2_latency: float
    tma_latency: float
    copy_latency: float
    sync_cycles: float
    block_cycles: float
    element_cycles: float
    launch_microseconds: float
    throttle: float
    """How much longer cycles are under the power limit, tensor cores fully busy."""
    throttle_microseconds: float

    @property
    def dram_bytes(self) -> float:
        """Bytes per cycle of the whole device, sustained."""
        rate = self.dram_bytes_per_second * self.dram_efficiency
        return rate / (self.clock_ghz * 1e9)


H200 = Hardware(
    name="NVIDIA H200",
    # NVIDIA H200 data sheet: 132 multiprocessors, whose peak rate is at 1.83 GHz (4096
    # operations per cycle and multiprocessor).
    multiprocessors=132,
    tensor_flops=round(PEAKS["H200"].flops / (132 * 1.83e9)),
    # NVIDIA H100 Tensor Core GPU Architecture (white paper): four partitions, each with
    # one scheduler; CUDA C++ Programming Guide, "Arithmetic Instructions", 9.0: 16
    # results of special functions per cycle; shared memory: 32 banks of 4 bytes.
    issue_slots=4.0,
    special=0.5,
    shared_bytes=128.0,
    # White paper: 50 MB of L2.
    l2_capacity=50e6,
    # One scheduler of blocks for the whole device (seen where blocks do next to
    # nothing).
    blocks_per_cycle=1.0,
    dram_bytes_per_second=PEAKS["H200"].bytes,
    clock_ghz=1.69,
    dram_efficiency=0.857,
    burst=1.37,
    l2_bytes=53.0,
    wgmma_efficiency=0.975,
    wgmma_cycles=9.73,
    wgmma_latency=56.7,
    mma_efficiency=0.707,
    mma_latency=33.0,
    lines=1.1,
    stored_lines=0.646,
    cycles_per_instruction=1.15,
    dram_latency=684.0,
    l2_latency=255.0,
    tma_latency=199.0,
    copy_latency=257.0,
    sync_cycles=36.3,
    block_cycles=792.0,
    element_cycles=42.6,
    launch_microseconds=3.32,
    throttle=0.139,
    throttle_microseconds=900.0,
)
