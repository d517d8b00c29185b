"""GPU architectures that kernels are compiled for: one record for each.

A target says how large things are and which devices run its code. Which instructions
it has is asked of their records (`argus.isa.registry.supports`, `has_family`), since
each of those names its targets; how fast a GPU is stands in `argus.model.hardware`.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "DEFAULT_TARGET",
    "TARGETS",
    "Target",
    "known_target",
    "target_for_capability",
]


@dataclass(frozen=True)
class Target:
    """A GPU architecture and its sizes (CUDA C++ Programming Guide, capabilities).

    ``name`` is what the toolchain calls the real architecture, ``virtual`` what it
    calls the one of intermediate code. ``capability`` is the lowest that runs its
    binaries; ``exact``: no other does, since it uses what only that one has.
    """

    name: str
    virtual: str
    capability: tuple[int, int]
    exact: bool

    shared_bytes: int
    """Most dynamic shared memory of a block."""
    shared_reserved: int = 1024
    """Bytes of shared memory that the system takes for each block."""
    banks: int = 32
    """Of shared memory; each gives one word in a wavefront."""
    bank_bytes: int = 4
    """Bytes of a word of a bank."""
    sector_bytes: int = 32
    """What global memory moves in."""
    line_bytes: int = 128
    """What the L1 cache looks up at once: several sectors."""

    warp_threads: int = 32
    """Threads of a warp."""
    warpgroup_warps: int = 4
    """Warps that roles are given, and instructions executed by, as a warpgroup."""

    registers: int = 65536
    """Of 32 bits, of a multiprocessor."""
    register_unit: int = 256
    """Registers are given to a warp in this unit."""
    thread_registers: int = 255
    """Registers that a thread can name."""
    partitions: int = 4
    """Parts of a multiprocessor, each with a part of the registers; warps are dealt out
    to them in turn."""

    max_threads: int = 1024
    """Of a block."""
    resident_threads: int = 2048
    """Of a multiprocessor."""
    resident_blocks: int = 32
    """Of a multiprocessor."""

    @property
    def max_warps(self) -> int:
        """Of a block."""
        return self.max_threads // self.warp_threads

    @property
    def number(self) -> int:
        """The capability as toolchains write it: 90 for (9, 0)."""
        major, minor = self.capability
        return 10 * major + minor

    def runs_on(self, capability: tuple[int, int]) -> bool:
        """Whether a device of this capability runs the target's binaries.

        CUDA C++ Programming Guide, "Binary compatibility": those of its major version
        from its minor version on, or where it is ``exact`` nothing but its own.
        """
        if self.exact:
            return capability == self.capability
        return capability[0] == self.capability[0] and capability >= self.capability


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("sm_80", "compute_80", (8, 0), False, shared_bytes=163 * 1024),
        Target("sm_90a", "compute_90a", (9, 0), True, shared_bytes=227 * 1024),
    )
}
DEFAULT_TARGET = "sm_90a"
"""The target of what names none, and of which no device is known."""


def known_target(name: str) -> str:
    """The name, of a target. Raises ValueError for another one."""
    if name not in TARGETS:
        raise ValueError(f"no target {name}; there are {', '.join(TARGETS)}")
    return name


def target_for_capability(capability: tuple[int, int]) -> Target | None:
    """The newest target whose binaries a device of this capability runs, if any."""
    fitting = [t for t in TARGETS.values() if t.runs_on(capability)]
    return max(fitting, key=lambda t: (t.capability, t.exact), default=None)
