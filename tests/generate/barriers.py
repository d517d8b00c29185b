"""A ring of mbarriers written by hand: what its fillers and drainers have to write.

    ring = HandRing.drawn(draft, parts, fillers, drainers)
    ring.declare()
    with ring.filled(role): ...     # inside the loop of a role that fills
    with ring.drained(role): ...    # inside the loop of a role that drains

A part is filled by TMA, by `cp.async` or from registers; the parts of a slot may be
filled in different ways, by one role or by several. Counts, fences and the syncs before
an arrival for several warps follow from that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from generate.draft import Draft
from generate.roles import Role


@dataclass
class Part:
    """A shared tile of a slot. ``view``: what of the tensor a step copies."""

    tensor: str
    buffer: str
    dtype: str
    shape: str
    size: str
    """Bytes, in text."""
    view: str
    way: str
    filler: Role
    multicast: int = 1


@dataclass
class HandRing:
    """Buffers with stages, barriers that say full and empty, and who arrives how."""

    d: Draft
    stages: int
    parts: list[Part]
    drainers: list[Role]
    matrix: bool = False
    """Drained by wgmma, which reads through the asynchronous proxy."""
    cluster: int = 1
    counter: str = "c"
    _fill: dict[str, str] = field(default_factory=dict)
    _drain: dict[str, str] = field(default_factory=dict)

    def slot(self, name: str) -> str:
        """A staged buffer or barrier at the step of the counter."""
        many = f"[{self.counter} % {self.stages}]"
        return name + (many if self.stages > 1 else "")

    @property
    def turn(self) -> str:
        """The number of the step among those of its slot."""
        return f"{self.counter} // {self.stages}" if self.stages > 1 else self.counter

    def declare(self) -> None:
        """The buffers and the two arrays of barriers."""
        d = self.d
        for p in self.parts:
            staged = f", stages={self.stages}" if self.stages > 1 else ""
            d.line(f"{p.buffer} = ag.shared({p.dtype}, ({p.shape}){staged})")
        full = 0
        for role in self._fillers():
            own = self._parts(role)
            full += any(p.way == "tma" for p in own)
            plain = [p for p in own if p.way != "tma"]
            if plain:
                direct = all(p.way == "cp_async" for p in plain) and not self.matrix
                ways = {"group": 1.0, "thread": 1, "warp": 1, "role": 0.5}
                if not direct:
                    del ways["group"]
                self._fill[role.name] = d.pick(**ways)
                full += _arrivals(role, self._fill[role.name])
        empty = 0
        for role in self.drainers:
            self._drain[role.name] = d.pick(thread=1, warp=2, role=1, warpgroup=1)
            if role.warps % 4 and self._drain[role.name] == "warpgroup":
                self._drain[role.name] = "warp"
            empty += _arrivals(role, self._drain[role.name])
        counts = f"ag.barriers({self.stages}, arrivals={empty * self.cluster})"
        d.line(f"full, empty = ag.barriers({self.stages}, arrivals={full}), {counts}")

    def _fillers(self) -> list[Role]:
        return list({p.filler.name: p.filler for p in self.parts}.values())

    def _parts(self, role: Role) -> list[Part]:
        return [p for p in self.parts if p.filler is role]

    def fill(self, role: Role) -> None:
        """A step of a role that fills: its parts, and its arrivals."""
        d, full = self.d, self.slot("full")
        own = self._parts(role)
        d.line(f"{self.slot('empty')}.wait({self.turn} - 1)")
        tma = [p for p in own if p.way == "tma"]
        if tma:
            d.use("TMA")
            if len(tma) == len(own) and role.warps > 1:
                # One thread arrives: no warp may still wait for what was two turns ago.
                d.line("ag.sync()")
            d.line(f"{full}.expect({' + '.join(p.size for p in tma)})")
        for p in tma:
            cast = f", multicast={p.multicast}" if p.multicast > 1 else ""
            d.line(f"{self.slot(p.buffer)}.copy({p.view}, {full}{cast})")
        plain = [p for p in own if p.way != "tma"]
        for p in plain:
            if p.way == "cp_async":
                d.use("cp.async")
                d.line(f'{self.slot(p.buffer)}.copy({p.view}, via="cp_async")')
            else:
                d.use("filled from registers")
                made = d.fresh("x")
                d.line(f"{made} = ag.load({p.view}, ({p.shape}))")
                d.line(f"{self.slot(p.buffer)}.store({made})")
        if plain:
            self._hand_on(role, plain, full)
        d.line(f"{self.counter} += 1")

    def _hand_on(self, role: Role, plain: list[Part], full: str) -> None:
        d, per = self.d, self._fill[role.name]
        if per == "group":
            d.line(f"ag.cp_async_arrive({full})")
            return
        if any(p.way == "cp_async" for p in plain):
            d.line("ag.cp_async_commit()")
            d.line("ag.cp_async_wait(0)")
        if self.matrix:
            d.line("ag.fence_async()")
        self._arrive(role, per, full)

    def _arrive(self, role: Role, per: str, barrier: str, more: str = "") -> None:
        if per in ("role", "warpgroup") and role.warps > 1:
            self.d.line("ag.sync()")
        self.d.line(f'{barrier}.arrive(per="{per}"{more})')

    def end(self, role: Role) -> None:
        """After the last step of a role that fills."""
        if self._fill.get(role.name) == "group":
            self.d.line("ag.cp_async_wait(0)")
        self.leave()

    def leave(self) -> None:
        """At the end of any role: no block ends before all have its arrivals."""
        if self.cluster > 1:
            self.d.line("ag.cluster_sync()")

    @contextmanager
    def drained(self, role: Role) -> Iterator[None]:
        """A step of a role that drains; inside, it reads the slot."""
        d = self.d
        d.line(f"{self.slot('full')}.wait({self.turn})")
        yield
        if self.matrix:
            d.line("ag.wgmma_wait(0)")
        elif any(p.way == "tma" for p in self.parts):
            d.use("fence")
            d.line("ag.fence_async()")
        more = ", cluster=True" if self.cluster > 1 else ""
        self._arrive(role, self._drain[role.name], self.slot("empty"), more)
        d.line(f"{self.counter} += 1")


def _arrivals(role: Role, per: str) -> int:
    threads = 32 * role.warps
    each = {"thread": threads, "group": threads, "warp": role.warps, "role": 1}
    return each.get(per, role.warps // 4)
