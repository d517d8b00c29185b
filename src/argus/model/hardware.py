"""What the performance model knows of a GPU: sizes, rates and latencies.

Numbers of the data sheet and of the architecture stand beside their source. The others
are calibrated: chosen so that predictions fit the training half of the measurements
(`benchmarks/model_data.py`, `docs/model.md`); each is a physical quantity, and none is
about a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass


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
    dram_bytes_per_second: float
    # calibrated
    clock_ghz: float
    dram_efficiency: float
    l2_bytes: float
    wgmma_efficiency: float
    wgmma_latency: float
    mma_efficiency: float
    mma_latency: float
    lines: float
    cycles_per_instruction: float
    dram_latency: float
    l2_latency: float
    tma_latency: float
    sync_cycles: float
    block_cycles: float
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
    # NVIDIA H200 data sheet: 132 multiprocessors, 4.8 TB/s; 989.4 TFLOP/s of dense
    # bf16 at 1.83 GHz are 4096 operations per cycle and multiprocessor.
    multiprocessors=132,
    tensor_flops=4096.0,
    # NVIDIA H100 Tensor Core GPU Architecture (white paper): four partitions, each with
    # one scheduler; CUDA C++ Programming Guide, "Arithmetic Instructions", 9.0: 16
    # results of special functions per cycle; shared memory: 32 banks of 4 bytes.
    issue_slots=4.0,
    special=0.5,
    shared_bytes=128.0,
    # White paper: 50 MB of L2.
    l2_capacity=50e6,
    dram_bytes_per_second=4.8e12,
    clock_ghz=1.66,
    dram_efficiency=0.88,
    l2_bytes=56.0,
    wgmma_efficiency=0.97,
    wgmma_latency=60.0,
    mma_efficiency=0.62,
    mma_latency=33.0,
    lines=1.0,
    cycles_per_instruction=1.5,
    dram_latency=900.0,
    l2_latency=300.0,
    tma_latency=300.0,
    sync_cycles=30.0,
    block_cycles=700.0,
    launch_microseconds=2.5,
    throttle=0.17,
    throttle_microseconds=900.0,
)
