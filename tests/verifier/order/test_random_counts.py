"""Random trip counts of two roles of one ring: what is proved fills and drains alike.

    ARGUS_FUZZ_ORDER=2000 pytest tests/verifier/order/test_random_counts.py

One role fills as often as some expressions of sizes, the block, the tile or a table
say, under some conditions; the other one drains by the same, or by ones that differ at
few sizes. Where fills and drains differ at a size, for a block and a table, nothing
waits for a copy, or a wait never returns.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from types import SimpleNamespace
from typing import Any

from argus.diagnostics import ArgusError
from verifier.order.check_order import failing, placed

COUNT = int(os.environ.get("ARGUS_FUZZ_ORDER", "12"))
FIRST = int(os.environ.get("ARGUS_FUZZ_FIRST", "0"))

HEAD = """import argus as ag
from argus import f32, i32


@ag.kernel
def kernel(A: f32["M K"], C: f32["M K"], V: i32["T"]):
    M, K = A.shape
    T = V.shape[0]
    ag.require({required}, "sizes")
    {block}
    ring = ag.ring({stages}, a=f32.tile(64, 32))
"""
FILL = "with ring.fill() as slot:\n{}    slot.a.load(A[i * 64 :, k * 32 :])\n"
DRAIN = "with ring.drain() as slot:\n{}    C[i * 64 :, k * 32 :] = slot.a.load()\n"


@dataclass(frozen=True)
class Role:
    """What a role counts: ``before`` its loops, of each the count and a condition.

    ``outer``: how often the loops are repeated, by a loop around each.
    """

    before: tuple[str, ...]
    loops: tuple[tuple[str, str], ...]
    outer: str = ""


@dataclass(frozen=True)
class Kernel:
    """Two roles, in a grid of a block for each tile, or a persistent one."""

    fills: Role
    drains: Role
    persistent: bool
    stages: int
    required: str

    def text(self) -> str:
        """As source."""
        block = "" if self.persistent else "i = ag.block(ag.cdiv(M, 64))"
        lines = HEAD.format(block=block, stages=self.stages, required=self.required)
        for name, warps, role, body in (
            ("load", "warps=1", self.fills, FILL),
            ("use", "warpgroups=1", self.drains, DRAIN),
        ):
            lines += f'    with ag.role("{name}", {warps}):\n'
            room = " " * 8
            if self.persistent:
                lines += f"{room}for i in ag.persistent(ag.cdiv(M, 64)):\n"
                room += " " * 4
            for line in role.before:
                lines += f"{room}{line}\n"
            for count, condition in role.loops:
                inner = room
                if role.outer:
                    lines += f"{inner}for c in ag.range(0, {role.outer}):\n"
                    inner += " " * 4
                lines += f"{inner}for k in ag.range(0, {count}):\n"
                inner += " " * 4
                if condition:
                    lines += f"{inner}if {condition}:\n"
                    inner += " " * 4
                lines += inner + body.format(inner)
        return lines

    def differs(self, sizes: dict[str, Any]) -> bool:
        """Whether some block fills another number of slots than it drains."""
        if not eval(self.required, dict(sizes)):
            return False
        tiles = -(-sizes["M"] // 64)
        for blocks in (1, 3) if self.persistent else (tiles,):
            for first in range(min(blocks, tiles)):
                mine = range(first, tiles, blocks)
                counts = [
                    sum(_often(role, {**sizes, "i": i}) for i in mine)
                    for role in (self.fills, self.drains)
                ]
                if counts[0] != counts[1]:
                    return True
        return False


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


AG = SimpleNamespace(cdiv=_cdiv, min=min, max=max, range=range)


def _often(role: Role, names: dict[str, Any]) -> int:
    """How often a role fills or drains in one tile."""
    names = {**names, "ag": AG}
    exec("\n".join(role.before), names)
    total = 0
    repeated = max(int(eval(role.outer, names)), 0) if role.outer else 1
    for count, condition in role.loops:
        turns = max(int(eval(count, names)), 0)
        if not condition:
            total += turns * repeated
            continue
        asked = compile(condition, "condition", "eval")
        for k in range(turns):
            names["k"] = k
            total += bool(eval(asked, names)) * repeated
    return total


# ------------------------------------------------------------------------- drawing


def _size(rng: Random) -> str:
    return rng.choice(
        ("ag.cdiv(K, 32)", "ag.cdiv(K, 32)", "ag.cdiv(K, 64)", "K // 32", "K // 128",
         "ag.cdiv(M, 64)", "i + 1", "K // 16")
    )  # fmt: skip


def _count(rng: Random) -> str:
    one, other = _size(rng), _size(rng)
    return rng.choice(
        (one, one, one, f"ag.min({one}, {other})", f"ag.max({one}, {other})",
         f"{one} + {other}", f"2 * ({one})", f"({one}) * ({other})",
         f"ag.min({one}, {rng.randrange(2, 9)})", f"{one} + {rng.randrange(3)}",
         f"({one}) % {rng.choice((3, 5))} + 1")
    )  # fmt: skip


def _asked(rng: Random) -> str:
    """A condition on sizes and the tile, true for few or for most."""
    modulus = rng.choice((3, 7, 14)) * 16
    return rng.choice(
        (f"K % {modulus} == {rng.randrange(0, modulus, 16)}",
         f"K > {rng.choice((16, 64, 400, 1000))}", "K > M",
         f"M % 96 == {rng.choice((0, 16, 48))}", f"i == {rng.choice((1, 5, 9))}",
         f"i % 4 == {rng.randrange(4)}", f"({_size(rng)}) % 5 == 4")
    )  # fmt: skip


def _condition(rng: Random) -> str:
    """One in the loop, or none."""
    return rng.choice(
        ("", "", "", "", "V[k] > 0", "V[i] > 0", "k % 2 == 0", "k > 0",
         "k * 32 + 32 < K", f"k != {rng.choice((2, 9, 30))}", _asked(rng),
         f"V[k] > 0 and {_asked(rng)}")
    )  # fmt: skip


def _other(rng: Random, role: Role) -> Role:
    """A role that counts otherwise, mostly at few sizes alone."""
    before, loops = list(role.before), list(role.loops)
    at = rng.randrange(len(loops))
    count, condition = loops[at]
    match rng.randrange(6):
        case 0:
            before += [f"o = {count}", f"if {_asked(rng)}:", "    o = o + 1"]
            count = "o"
        case 1:
            count = f"{count} + ({_size(rng)}) // {rng.choice((1, 8, 25))}"
        case 2:
            rest = f"K % 112 // {rng.choice((64, 96))}"
            before += [f"o = {count}", f"for j in ag.range(0, {rest}):"]
            before += ["    o = o + 1"]
            count = "o"
        case 3:
            more = _asked(rng)
            condition = f"{condition} and {more}" if condition else more
        case 4:
            condition = condition.replace("V[k]", "V[k + 7]").replace("> 0", "> 1")
            condition = condition or "V[k] > 0"
        case _:
            count = f"ag.min({count}, {rng.choice((6, 20, 40))})"
    if role.outer and rng.random() < 0.5:
        return replace(role, outer=rng.choice(("T + 1", "2 * T", "", "ag.min(T, 4)")))
    loops[at] = count, condition
    return replace(role, before=tuple(before), loops=tuple(loops))


def _required(rng: Random) -> str:
    """What the kernel requires of its sizes, mostly nothing."""
    least = rng.choice((48, 112, 160, 320))
    return rng.choice(
        ("K > 0", "K > 0", "K > 0", f"K <= {least}", f"K >= {least}", f"M <= {least}",
         f"K % 224 == {rng.randrange(0, 224, 16)}", f"K * M <= {least * 144}")
    )  # fmt: skip


def _draw(seed: int) -> Kernel:
    rng = Random(seed)
    before: tuple[str, ...] = ()
    loops = [(_count(rng), _condition(rng)) for _ in range(rng.choice((1, 1, 2)))]
    if rng.random() < 0.2:
        before = (f"n = {loops[0][0]}", f"if {_asked(rng)}:", "    n = n + 1")
        loops[0] = "n", loops[0][1]
    outer = rng.choice(("", "", "T", "ag.cdiv(K, 32)"))
    fills = Role(before, tuple(loops), outer)
    drains = _other(rng, fills) if rng.random() < 0.7 else fills
    persistent, stages = rng.random() < 0.4, rng.choice((1, 2, 3))
    kernel = Kernel(fills, drains, persistent, stages, _required(rng))
    # Who fills by the unusual counts is another case.
    return replace(kernel, fills=drains, drains=fills) if rng.random() < 0.5 else kernel


@dataclass(frozen=True)
class _Table:
    """A table as long as one likes."""

    elements: list[int]

    def __getitem__(self, at: int) -> int:
        return self.elements[at % len(self.elements)]


def _sizes(seed: int) -> Iterator[dict[str, Any]]:
    rng = Random(seed)
    columns = [*range(16, 368, 16), 496, 1008]
    for rows in (16, 144, 640):
        for k in columns:
            yield {
                "M": rows,
                "K": k,
                "T": rng.choice((16, 32, 48)),
                "V": _Table([rng.choice((-1, 0, 1, 2)) for _ in range(61)]),
            }


def test_what_is_proved_fills_and_drains_alike() -> None:
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in range(FIRST, FIRST + COUNT):
        kernel = _draw(seed)
        try:
            bad = failing(placed(kernel.text()))
        except ArgusError as error:
            counts[f"refused {error.codes}"] += 1
            continue
        said = str(bad[0].verdict) if bad else "proved"
        counts[said] += 1
        if said == "proved":
            apart = next((s for s in _sizes(seed) if kernel.differs(s)), None)
            if apart is not None:
                sizes = {name: n for name, n in apart.items() if name != "V"}
                wrong.append(f"seed {seed} at {sizes}:\n{kernel.text()}")
    assert not wrong, "\n".join(wrong)
    assert counts["proved"] >= COUNT // 8, counts
    assert counts["refuted"] >= COUNT // 8, counts
