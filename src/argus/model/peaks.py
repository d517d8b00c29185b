"""Peak rates of devices: what their data sheets promise, and no kernel exceeds."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PEAKS", "Peak", "peak_of"]


@dataclass(frozen=True)
class Peak:
    """Speed of light of a device: dense 16-bit tensor FLOP/s, and bytes/s of memory."""

    flops: float
    bytes: float


PEAKS: dict[str, Peak] = {
    "H200": Peak(989.4e12, 4.8e12),
    "H100 80GB HBM3": Peak(989.4e12, 3.35e12),
    "H100 PCIe": Peak(756.5e12, 2.0e12),
    "A100-SXM4-80GB": Peak(312e12, 2.039e12),
    "A100-SXM4-40GB": Peak(312e12, 1.555e12),
}
"""By part of the driver's device name; numbers of NVIDIA's data sheets."""


def peak_of(device: str) -> Peak | None:
    """Speed of light of a device by its driver's name for it; None if not known."""
    return next((p for part, p in PEAKS.items() if part in device), None)
