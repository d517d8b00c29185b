"""What a denotation must not claim: each kernel here breaks one of its premises."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.ir import ops as o
from argus.requests import tile_program
from argus.terms import World
from argus.verify.denotation import denote
from verifier.denotation.denoting import agrees, denoted, lost, request

ROLES = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    ring = ag.ring(3, a=f32.tile(32, 32))
    with ag.role("load", warps=4):
        for i in ag.persistent(ag.cdiv(M, 32)):
            for n in ag.range(0, {filled}, 32):
                {fill}
    with ag.role("use", warpgroups=1):
        for i in ag.persistent(ag.cdiv(M, 32)):
            for n in ag.range(0, {drained}, 32):
                with ring.drain() as slot:
                    Y[i * 32 :, n:] = slot.a.load()
"""
FILL = "with ring.fill() as slot:\n                    slot.a.load(X[i * 32 :, n:])"


def roles(filled: str = "N", drained: str = "N", fill: str = FILL) -> str:
    return ROLES.format(filled=filled, drained=drained, fill=fill)


def test_roles_that_count_alike_are_followed(tmp_path: Path) -> None:
    assert denoted(roles(), tmp_path).unknown is None
    both = "ag.min(N, (i + 1) * 32)"
    assert denoted(roles(both, both), tmp_path).unknown is None


@pytest.mark.parametrize(
    ("filled", "drained"),
    [
        ("N", "N + 32"),  # one drain too many
        ("N + 32", "N"),  # counters of the roles go apart from tile to tile
        ("ag.min(N, (i + 1) * 32)", "ag.min(N, i * 32)"),
    ],
)
def test_counters_of_roles_that_go_apart(
    filled: str, drained: str, tmp_path: Path
) -> None:
    assert "ring" in lost(roles(filled, drained), tmp_path)


def test_a_fill_in_a_branch_is_not_every_fill(tmp_path: Path) -> None:
    fill = "if n < 64:\n                    " + FILL.replace("\n", "\n    ")
    assert "ring" in lost(roles(fill=fill), tmp_path)


PARTS = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 32))
    ring = ag.ring(2, a=f32.tile(32, 32))
    with ag.role("make", warpgroups=1):
        for n in ag.range(0, N, 32):
            with ring.fill() as slot:
                slot.a[0:16, :].store(ag.load(X[i * 32 :, n:], (16, 32)))
                slot.a[{second}, :].store(ag.zeros((16, 32), f32))
    with ag.role("use", warpgroups=1):
        for n in ag.range(0, N, 32):
            with ring.drain() as slot:
                Y[i * 32 :, n:] = slot.a.load()
"""


def test_a_fill_in_parts(tmp_path: Path) -> None:
    found = denoted(PARTS.format(second="16:32"), tmp_path)
    assert found.unknown is None
    assert len(found.stores[0].value.cases) == 2


def test_a_part_that_is_written_twice_or_never(tmp_path: Path) -> None:
    assert "ring_a" in lost(PARTS.format(second="8:24"), tmp_path)


def test_parts_of_a_fill_that_overlap(tmp_path: Path) -> None:
    again = "16:32, :].store(ag.zeros((16, 32), f32))\n"
    again += " " * 16 + "slot.a[8:24"
    source = PARTS.replace("{second}", again)
    assert "written twice" in lost(source, tmp_path)


def test_fills_that_are_not_numbered_one_by_one(tmp_path: Path) -> None:
    # The frontend numbers fills itself: a program in which it did so wrongly.
    program = tile_program(request(PARTS.format(second="16:32"), tmp_path))
    (roles_,) = (op for op in program.body.ops if isinstance(op, o.Roles))
    for role in roles_.roles:
        (loop,) = (op for op in role.body.ops if isinstance(op, o.For))
        loop.scalars[0].yielded = loop.scalars[0].yielded + 1
    found = denote(program, World())
    assert found.unknown is not None
    assert "numbered" in found.unknown.reason


BRANCH = """
@ag.kernel
def k(X: f32["M"], Y: f32["M"], flip: i32):
    i = ag.block(ag.cdiv(X.shape[0], 32))
    s = ag.shared(f32, (32,))
    if flip > 0:
        s.store(ag.load(X[i * 32 :], (32,)))
    {other}
    Y[i * 32 :] = s.load().rename("M")
"""


def test_shared_memory_that_only_one_side_of_a_branch_writes(tmp_path: Path) -> None:
    assert "nothing is known" in lost(BRANCH.format(other=""), tmp_path)
    other = "else:\n        s.store(ag.zeros((32,), f32))"
    found = denoted(BRANCH.format(other=other), tmp_path)
    assert found.unknown is None
    assert len(found.stores[0].value.cases) >= 2


IN_PLACE = """
@ag.kernel
def k(X: f32["M N"], *, N: int = 64):
    M, _ = X.shape
    m = ag.block(M)
    x = ag.load(X[{read}, :], (64,))
    {more}
    X[m, :] = x + 1.0
"""


def test_in_place(tmp_path: Path) -> None:
    assert denoted(IN_PLACE.format(read="m", more=""), tmp_path).unknown is None


def test_what_another_block_writes_in_place(tmp_path: Path) -> None:
    reason = lost(IN_PLACE.format(read="M - 1 - m", more=""), tmp_path)
    assert "another block" in reason


def test_what_was_written_before_it_is_read_in_place(tmp_path: Path) -> None:
    more = "X[m, :] = x * 2.0\n    x = ag.load(X[m, :], (64,))"
    found = denoted(IN_PLACE.format(read="m", more=more), tmp_path)
    assert found.sequential == {"X"} and found.in_order({"X"}).unknown is None
    assert str(found.stores[-1].value).startswith("1 + 2*X[")
    reason = found.in_order(()).unknown
    assert reason is not None and "threads that nothing orders" in reason.reason
    moved = more.replace("ag.load(X[m, :]", "ag.load(X[m, 1:]")
    assert "written before" in lost(IN_PLACE.format(read="m", more=moved), tmp_path)


LOOP_IN_PLACE = """
@ag.kernel
def k(X: f32["M N"], *, N: int = 64):
    m = ag.block(X.shape[0])
    for t in ag.range(0, {turns}):
        X[m, t * {step} :] = ag.load(X[m, t * {step} :], (16,)) + 1.0
"""


def test_iterations_in_place(tmp_path: Path) -> None:
    apart = denoted(LOOP_IN_PLACE.format(turns=4, step=16), tmp_path)
    assert apart.unknown is None
    assert "written before" in lost(LOOP_IN_PLACE.format(turns=4, step=8), tmp_path)


MULTICAST = """
@ag.kernel
def k(A: f16["M N"], C: f16["M N"]):
    M, N = A.shape
    ag.cluster(2)
    ring = ag.ring(2, a=f16.tile(64, 64))
    with ag.role("load", warps=1):
        for i, j in ag.persistent_tiles(ag.cdiv(M, 64), ag.cdiv(N, 64)):
            with ring.fill() as slot:
                slot.a.load(A[{row} * 64 :, j * 64 :], multicast=2)
    with ag.role("use", warpgroups=1):
        for i, j in ag.persistent_tiles(ag.cdiv(M, 64), ag.cdiv(N, 64)):
            with ring.drain() as slot:
                C[i * 64 :, j * 64 :] = slot.a.load()
"""


def test_a_multicast_of_what_differs_between_blocks(tmp_path: Path) -> None:
    assert "multicast" in lost(MULTICAST.format(row="i"), tmp_path)
    assert denoted(MULTICAST.format(row="0"), tmp_path).unknown is None


RESET = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    buffer = ag.shared(f32, (64, 32), stages=2, dims="M N")
    full, empty = ag.barriers(2), ag.barriers(2, arrivals=4)
    with ag.role("load", warps=1):
        {first}
        for i in ag.persistent(ag.cdiv(M, 64)):
            {each}
            for c in ag.range(0, N, 32):
                empty[n % 2].wait(n // 2 - 1)
                full[n % 2].expect(64 * 32 * 4)
                buffer[n % 2].copy(X[i * 64 :, c:], full[n % 2])
                n += 1
    with ag.role("use", warpgroups=1):
        {first}
        for i in ag.persistent(ag.cdiv(M, 64)):
            {each}
            for c in ag.range(0, N, 32):
                full[n % 2].wait(n // 2)
                Y[i * 64 :, c:] = buffer[n % 2].load()
                ag.fence_async()
                empty[n % 2].arrive(per="warp")
                n += 1
"""


def test_a_counter_that_begins_anew_with_each_tile(tmp_path: Path) -> None:
    right = RESET.format(first="n = 0", each="pass")
    assert denoted(right, tmp_path).unknown is None
    wrong = RESET.format(first="pass", each="n = 0")
    assert "buffer" in lost(wrong, tmp_path)


HANDED = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 64))
    s = ag.shared(f32, (64, 32), dims="M N")
    full, done = ag.barriers(1), ag.barriers(1, arrivals=4)
    with ag.role("load", warps=1):
        t = 0
        for n in ag.range(0, N, 32):
            done[0].wait(t - 1)
            {load}
            t += 1
    with ag.role("use", warpgroups=1):
        t = 0
        for n in ag.range(0, N, 32):
            full[0].wait({wait})
            Y[i * 64 :, n:] = s.load()
            ag.fence_async()
            done[0].arrive(per="warp")
            t += 1
"""
EXPECT, COPY = "full[0].expect(8192)", "s.copy(X[i * 64 :, n:], full[0])"


def handed(first: str = EXPECT, second: str = COPY, wait: str = "t") -> str:
    return HANDED.format(load=f"{first}\n            {second}", wait=wait)


def test_a_buffer_handed_over_by_a_barrier(tmp_path: Path) -> None:
    assert denoted(handed(), tmp_path).unknown is None
    assert "fill" in lost(handed(wait="t + 1"), tmp_path)
    assert "phase" in lost(handed(COPY, EXPECT), tmp_path)


NAMED = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 32))
    s = ag.shared(f32, (32, 32), dims="M N")
    {common}
    with ag.role("make", warpgroups=1):
        for n in ag.range(0, N, 32):
            s.store(ag.load(X[i * 32 :, n:], (32, 32)))
            {made}
            ag.sync("done", threads=256)
    with ag.role("use", warpgroups=1):
        for n in ag.range(0, N, 32):
            {awaited}
            Y[i * 32 :, n:] = s.load()
            ag.sync("done", threads=256)
"""
READY = 'ag.sync("ready", threads=256)'
ARRIVE = 'ag.arrive("ready", threads=256)'


def named(made: str = READY, awaited: str = READY, common: str = "pass") -> str:
    return NAMED.format(made=made, awaited=awaited, common=common)


def test_a_buffer_handed_over_by_named_barriers(tmp_path: Path) -> None:
    assert denoted(named(), tmp_path).unknown is None
    assert denoted(named(ARRIVE), tmp_path).unknown is None


@pytest.mark.parametrize(
    ("made", "awaited", "common", "reason"),
    [
        ("pass", "pass", "pass", "may have no fill"),
        (READY, f"{ARRIVE}\n            {READY}", "pass", "who comes to which round"),
        (READY.replace("256", "384"), READY.replace("256", "384"), "pass", "who meets"),
        (f"{READY}\n            other[0].arrive()",
         f"{READY}\n            other[0].wait(0)",
         "other = ag.barriers(1, arrivals=2)", "whose arrivals"),
        (READY, f"{READY}\n            other[n % 2].wait(0)",
         "other = ag.barriers(2)", "several ways"),
        (f"if n > 32:\n                {READY}", READY, "pass", "how often"),
    ],
)  # fmt: skip
def test_named_barriers_that_do_not_say_which_write_is_read(
    made: str, awaited: str, common: str, reason: str, tmp_path: Path
) -> None:
    assert reason in lost(named(made, awaited, common), tmp_path)


ASSUMED = """
@ag.kernel
def k(X: f32["R N"], Row: i32["P"], Y: f32["P N"]):
    p, j = ag.block(Row.shape[0], ag.cdiv(X.shape[1], 32))
    {assume}
    r = Row[p]
    Y[p, j * 32 :] = ag.load(X[r, j * 32 :], (32,))
"""


def test_a_table_without_an_assumption_may_lie_outside(tmp_path: Path) -> None:
    free = denoted(ASSUMED.format(assume="pass"), tmp_path)
    assert len(free.stores[0].value.cases) == 2
    known = "ag.assume(lambda r: (r >= 0) & (r < X.shape[0]), Row)"
    bound = denoted(ASSUMED.format(assume=known), tmp_path)
    assert len(bound.stores[0].value.cases) == 1
    assert any("assumed" in note for note in bound.notes)


def test_an_assumption_in_a_branch_holds_there_only(tmp_path: Path) -> None:
    source = """
@ag.kernel
def k(X: f32["N"], Y: f32["N"], n: i32):
    if n > 5:
        ag.assume(n < 3)
    x = ag.load(X[0:], (32,))
    Y[0:] = ag.where(ag.index(x, "N") + n < 8, x, 0.0)
"""
    found = denoted(source, tmp_path)
    assert len(found.stores[0].value.cases) == 2


def test_sums_of_quotients_of_sums(tmp_path: Path) -> None:
    """A variable of an inner sum never escapes: the numbers are right, or lost."""
    source = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 4))
    a = ag.zeros((4, 32), f32)
    b = ag.full((4, 32), 1.0, f32)
    for n in ag.range(0, N, 32):
        x = ag.load(X[i * 4 :, n:], (4, 32))
        a = a + x
        b = b + x * x
    Y[i * 4 :] = ag.sum(a / b, "N")
"""
    found = denoted(source, tmp_path)
    if found.unknown is None:
        agrees(source, tmp_path, {"M": 5, "N": 75})
    else:
        assert "means nothing" in found.unknown.reason


def test_a_loop_that_carries_what_has_no_form(tmp_path: Path) -> None:
    source = """
@ag.kernel
def k(X: f32["N"], Y: f32["N"]):
    a = ag.zeros((32,), f32, dims="N")
    for n in ag.range(0, X.shape[0], 32):
        a = a * a + ag.load(X[n:], (32,))
    Y[0:] = a
"""
    assert "carries" in lost(source, tmp_path)


MOVED_BY_A_BRANCH = """
@ag.kernel
def k(X: f32["M N"], Y: f32["M L"], *, N: int = 64, L: int = 65):
    m = ag.block(X.shape[0])
    x = ag.load(X[m, :], (64,))
    if m > 0:
        c = {first}
    else:
        c = 0
    Y[m, c:] = ag.rename(x, "L")
    y = ag.load(Y[m, 0:], (64,))
    Y[m, 1:] = y + 1.0
"""


def test_a_tile_that_a_branch_moves_is_no_tile_that_is_read_again(
    tmp_path: Path,
) -> None:
    found = denoted(MOVED_BY_A_BRANCH.format(first=0), tmp_path)
    assert found.sequential == {"Y"} and found.unknown is None
    assert "written before" in lost(MOVED_BY_A_BRANCH.format(first=1), tmp_path)
