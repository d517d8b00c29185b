"""mbarrier: counting barriers in shared memory, with transaction bytes.

A phase completes when its pending arrivals and its pending bytes (tx-count) are both
zero; the next phase then begins with `count` arrivals. Completion n (0-based) is
waited for with parity n % 2: the wait returns when the phase of that parity has
completed, that is, when the current phase has the other one. So a wait for parity 1 on
a fresh barrier returns at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from argus.isa.record import (
    ALL_TARGETS,
    HOPPER,
    Constraints,
    Effects,
    Instruction,
    Scope,
)
from argus.isa.text import asm, device

__all__ = ["MAX_COUNT", "MAX_TX", "Mbarrier", "MbarrierError", "records"]

_SECTION = "PTX ISA, Parallel Synchronization and Communication: mbarrier"
MAX_COUNT = 2**20 - 1
"""Largest arrival count (PTX ISA, "Contents of the mbarrier object")."""
MAX_TX = 2**20 - 1
"""Largest magnitude of the tx-count, in bytes (same section)."""


class MbarrierError(Exception):
    """An operation that the PTX ISA leaves undefined."""


@dataclass
class Mbarrier:
    """State of one mbarrier, as the PTX ISA describes it.

    `completed` counts phases that have completed; the phase in progress is number
    `completed`. `pending` is how many arrivals and `tx` how many bytes it still lacks.
    `tx` may be negative: bytes may arrive before they are expected.
    """

    count: int
    pending: int = field(init=False)
    tx: int = 0
    completed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MAX_COUNT:
            raise MbarrierError(f"an arrival count of {self.count}")
        self.pending = self.count

    def expect(self, nbytes: int) -> None:
        """expect_tx: the phase in progress waits for `nbytes` more bytes."""
        self.tx += nbytes
        self._check_tx()

    def arrive(self, count: int = 1) -> None:
        """`count` arrivals; raises MbarrierError for more than the phase lacks."""
        if count > self.pending:
            raise MbarrierError(
                f"{count} arrivals where {self.pending} of {self.count} are missing"
            )
        self.pending -= count
        self._complete_phase()

    def arrive_expect(self, nbytes: int) -> None:
        """arrive.expect_tx: expect, then one arrival."""
        self.expect(nbytes)
        self.arrive()

    def complete_bytes(self, nbytes: int) -> None:
        """complete_tx: `nbytes` of an asynchronous copy have been written."""
        self.tx -= nbytes
        self._check_tx()
        self._complete_phase()

    def passed(self, parity: int) -> bool:
        """Whether a wait for `parity` would return now (try_wait.parity)."""
        return self.completed % 2 != parity % 2

    def _check_tx(self) -> None:
        if abs(self.tx) > MAX_TX:
            raise MbarrierError(f"a tx-count of {self.tx} bytes")

    def _complete_phase(self) -> None:
        if self.pending == 0 and self.tx == 0:
            self.completed += 1
            self.pending = self.count


def _record(
    function: str,
    name: str,
    parameters: str,
    body: str,
    effects: Effects,
    *rules: str,
    result: str = "void",
    targets: tuple[str, ...] = HOPPER,
    scope: Scope = "thread",
) -> Instruction:
    return Instruction(
        name=name,
        family="mbarrier",
        targets=targets,
        scope=scope,
        function=function,
        cuda=device(f"{result} {function}({parameters})", body),
        effects=effects,
        source=f"{_SECTION}, {'.'.join(name.split('.')[:2])}",
        constraints=Constraints(alignment=(("bar", 8),), rules=rules),
    )


def _wait(function: str, scope: str) -> Instruction:
    name = f"mbarrier.try_wait.parity.acquire.{scope}.shared::cta.b64"
    body = asm(
        [
            ".reg .pred done;",
            "again:",
            f"{name} done, [%0], %1;",
            "@!done bra again;",
        ],
        inputs=['"r"(bar)', '"r"(parity)'],
    )
    return _record(
        function,
        name,
        "u32 bar, u32 parity",
        body,
        Effects(("[bar]", "parity"), (), "generic", awaits=("mbarrier",)),
        "returns once the phase of this parity has completed",
        f"acquires at scope {scope} what the arrivals released",
        "the waiting threads stay at most one completion behind",
    )


def records() -> tuple[Instruction, ...]:
    """All records of this family."""
    touch = Effects(("[bar]",), ("[bar]",), "generic", "issue")
    bar = ['"r"(bar)']
    try_body = "u32 done;\n" + asm(
        [
            ".reg .pred p;",
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;",
            "selp.u32 %0, 1, 0, p;",
        ],
        ['"=r"(done)'],
        [*bar, '"r"(parity)'],
    )
    return (
        _record(
            "argus_mbar_init",
            "mbarrier.init.shared::cta.b64",
            "u32 bar, u32 count",
            asm("mbarrier.init.shared::cta.b64 [%0], %1;", inputs=[*bar, '"r"(count)']),
            Effects(("count",), ("[bar]",), "generic", "issue"),
            "one thread, before any other use; then a fence (argus_fence_mbarrier_init "
            "for async copies and clusters) and a block or cluster barrier",
            targets=ALL_TARGETS,
        ),
        _record(
            "argus_mbar_expect",
            "mbarrier.arrive.expect_tx.shared::cta.b64",
            "u32 bar, u32 bytes",
            asm(
                "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;",
                inputs=[*bar, '"r"(bytes)'],
            ),
            touch,
            "one arrival, and `bytes` more bytes for the phase to complete",
            scope="elected",
        ),
        _record(
            "argus_mbar_arrive",
            "mbarrier.arrive.shared::cta.b64",
            "u32 bar",
            asm("mbarrier.arrive.shared::cta.b64 _, [%0];", inputs=bar),
            touch,
            "one arrival; releases this thread's earlier accesses to the block",
        ),
        _record(
            "argus_mbar_arrive_cluster",
            "mbarrier.arrive.shared::cluster.b64",
            "u32 bar, u32 cta_rank",
            asm(
                [
                    ".reg .b32 remote;",
                    "mapa.shared::cluster.u32 remote, %0, %1;",
                    "mbarrier.arrive.shared::cluster.b64 _, [remote];",
                ],
                inputs=[*bar, '"r"(cta_rank)'],
            ),
            touch,
            "one arrival on the barrier at the same offset in block `cta_rank` of the "
            "cluster, which may be this block; orders nothing for ordinary accesses of "
            "other blocks (release at cluster scope costs a GPU-wide fence), which no "
            "slot handed back to a TMA producer needs",
        ),
        _wait("argus_mbar_wait", "cta"),
        _wait("argus_mbar_wait_cluster", "cluster"),
        _record(
            "argus_mbar_try",
            "mbarrier.try_wait.parity.shared::cta.b64",
            "u32 bar, u32 parity",
            try_body + "\nreturn done != 0;",
            Effects(("[bar]", "parity"), (), "generic", "issue"),
            "whether the phase of this parity has completed; may wait a while first",
            result="bool",
        ),
    )
