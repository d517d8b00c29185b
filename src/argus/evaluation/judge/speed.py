"""The speed of light of a problem: the time that no kernel for it can be below."""

from __future__ import annotations

from math import prod

from argus.evaluation.judge.subject import Subject
from argus.model.peaks import peak_of

DEFAULT_DEVICE = "H200"
"""Whose numbers are used where there is no device."""
L2_BYTES = 50 << 20
"""L2 of an H100 or H200 (NVIDIA H100 architecture white paper). Bytes that were written
may still be there, and not in memory, when a kernel ends."""


def speed_limit(subject: Subject, device: str) -> float | None:
    """Least microseconds of a problem on a device, by the driver's name for it.

    The larger of the time of the arithmetic at the peak rate and the time of moving the
    least bytes at the peak bandwidth; outputs that fit the L2 cache count as not moved.
    None for a device whose peak is not known. "" stands for `DEFAULT_DEVICE`.
    """
    peak = peak_of(device or DEFAULT_DEVICE)
    if peak is None:
        return None
    work = subject.entry.work(subject.case)
    written = sum(
        prod(a.shape) * a.dtype.bytes
        for a in subject.arguments()
        if a.name in subject.outputs
    )
    moved = max(0, work.bytes - min(written, L2_BYTES))
    return max(work.flops / peak.flops, moved / peak.bytes) * 1e6
