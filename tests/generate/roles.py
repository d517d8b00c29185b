"""What kernels with roles share: sizes and budgets of roles, copies, ways to hand on.

team = Team(draft)
load, math = team.role("load", warps=1), team.role("math", warpgroups=2)
team.budgets()                     # may choose `registers=` for all, or for none
with draft.block(load.head()): ...
"""

from __future__ import annotations

from dataclasses import dataclass, field

from generate.draft import Draft

FILE = 65536
"""Registers of a multiprocessor; a launch deals them out in steps of 8 per thread."""


@dataclass
class Role:
    """A role: its name as an expression of the language, and how many warps."""

    name: str
    warps: int
    copies: int = 1
    heavy: bool = False
    registers: int | None = None

    def head(self) -> str:
        """The `with` that begins it."""
        size = f"warpgroups={self.warps // 4}" if self.warps % 4 == 0 else ""
        size = size or f"warps={self.warps}"
        budget = f", registers={self.registers}" if self.registers else ""
        return f"with ag.role({self.name}, {size}{budget}):"


@dataclass
class Team:
    """The roles of a kernel."""

    draft: Draft
    roles: list[Role] = field(default_factory=list)

    def role(self, name: str, warps: int, *, copies: int = 1, heavy: bool = False):
        """A further role; ``copies`` of it if an unrolled loop makes some."""
        text = f'"{name}"' if copies == 1 else f'f"{name}{{w}}"'
        self.roles.append(Role(text, warps, copies, heavy))
        return self.roles[-1]

    def budgets(self) -> None:
        """Registers of every role, of the heavy ones as much as is left, or of none."""
        d = self.draft
        if d.maybe(0.45):
            return
        d.use("registers")
        groups = {id(r): -(-r.warps // 4) * r.copies for r in self.roles}
        threads = 128 * sum(groups.values())
        entry = min(FILE // threads // 8 * 8, 248)
        pool = entry * threads // 128
        light = d.rng.choice((24, 32, 40, 56))
        if light > entry:
            light = 24
        for role in self.roles:
            if not role.heavy:
                role.registers = light
                pool -= light * groups[id(role)]
        heavy = [r for r in self.roles if r.heavy]
        share = pool // max(1, sum(groups[id(r)] for r in heavy)) // 8 * 8
        slack = d.rng.choice((0, 0, 0, 8, 16, 40, -8))
        for role in heavy:
            role.registers = max(24, min(share - slack, 240))
        if slack == 0:
            d.use("pool edge")
        if slack < 0 and share + 8 <= 240:
            d.refusal = "the budgets are more than the pool has"


def copy_way(d: Draft, loader: Role, *, tma: bool = True) -> str:
    """How a load role copies: `via=` or nothing, by what it can."""
    if loader.warps >= 4 and d.maybe(0.85):
        d.use("cp.async")
        return ', via="cp_async"'
    d.use("TMA")
    return d.rng.choice(("", ', via="tma"')) if tma else ""
