"""Every operation of the IR is read, or lost with a reason that names it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from argus.ir import ops as o
from argus.ir.walk import walk
from argus.requests import tile_program
from argus.terms import World
from argus.verify.denotation import denote
from verifier.denotation.denoting import denoted, request

HEAD = """
@ag.kernel
def k(X: f32["M N"], A: f16["M N"], I: i32["M"], Y: f32["M N"], n: i32, a: f32):
    M, N = X.shape
    ag.require(M > 0, "rows")
"""

BODIES: dict[str, str] = {
    "registers": """
    x = ag.load(X[0:32, 0:32])
    c = ag.cumsum(x, "N") + ag.index(x, "N").to(f32)
    p, q = ag.split(ag.reshape(c, (32, 2, 16), dims="M P N"), "P", 2)
    c = ag.reshape(ag.join(p, q, "P"), (32, 32), dims="M N")
    t = ag.full((32, 32), a, f32, dims="M N") + c.T.rename("M N")
    s = ag.sum(t, "N") * ag.reduce(x, "N", ag.maximum)
    c = ag.flip(c, "N").rename("M N")
    _ = ag.sort(x, "N")
    Y[0:32, 0:16] = t[:, 0:16] + t[:, 0:32:2] + s
""",
    "products": """
    b = ag.load(A[0:64, 0:64])
    Y[0:64, 0:64] = ag.dot(b, b.T.rename("N P")).rename("M N")
""",
    "control": """
    i = ag.block(ag.cdiv(M, 32))
    t = ag.zeros((32, 32), f32)
    for j in ag.range(0, N, 32):
        if n > 3:
            t = t + ag.load(X[i * 32 :, j:], (32, 32))
    w = I[0] + 2 * n
    ag.atomic_add(Y[w:, 0:32], t)
""",
    "shared": """
    s = ag.shared(f32, (32, 32))
    s.store(ag.load(X[0:32, 0:32]))
    ag.sync()
    ag.fence_async()
    ag.tma_store(Y[0:, 0:], s)
    ag.tma_store_wait(0)
    q = ag.shared(f32, (32, 32))
    bar = ag.barriers(1, arrivals=128)
    q.copy(X[0:, 0:], via="cp_async")
    ag.cp_async_commit()
    ag.cp_async_wait(0)
    Y[32:64, 0:32] = q.load()
""",
    "rings": """
    ag.cluster(2)
    ring = ag.ring(2, a=f32.tile(32, 32))
    full = ag.barriers(1)
    s = ag.shared(f32, (32, 32))
    with ag.role("load", warps=1):
        with ring.fill() as slot:
            slot.a.load(X[0:, 0:])
        full.expect(4096)
        s.copy(X[32:, 0:], full)
        ag.cluster_sync()
    with ag.role("use", warpgroups=1):
        with ring.drain() as slot:
            Y[0:, 0:] = slot.a.load()
        full.wait(0)
        Y[32:, 0:] = s.load()
        ag.cluster_sync()
""",
    "votes": """
    x = ag.load(X[0:32, 0:32])
    if ag.any(x > 3.0):
        x = ag.minimum(x, 3.0)
    ag.print("x", n, x[0:2, 0:2])
    Y[0:32, 0:32] = x
""",
    "old values": """
    old = ag.atomic_exchange(Y[0:32, 0:32], ag.load(X[0:32, 0:32]))
    ag.print("old", old[0:2, 0:2])
""",
    "annotations": """
    ag.expect(occupancy=1)
    ag.assume(n < 4)
    x = ag.load(X[0:32, 0:32])
    ag.tag(x, lambda m, n: {"K": n})
    ag.check(lambda p, q: p.K == q.K, x, x)
    ag.trust("it is right")
    Y[0:32, 0:32] = x
""",
}
"""Bodies that together contain what the frontend makes."""

ORDER = (
    o.BarrierArrive, o.CpAsyncArrive, o.WgmmaCommit, o.WgmmaWait, o.SetMaxRegisters,
)  # fmt: skip
"""What orders and moves nothing, and does not occur above."""
PLACED = (o.Convert, o.Reinterpret)
"""What moves elements, and is made by placing or with layouts."""


def _operations(body: str, tmp_path: Path) -> set[type[o.Op]]:
    program = tile_program(request(HEAD + body, tmp_path))
    return {type(op) for op in walk(program.body)}


def test_each_operation_occurs_in_a_test(tmp_path: Path) -> None:
    seen: set[type[o.Op]] = {*ORDER, *PLACED}
    for body in BODIES.values():
        seen |= _operations(body, tmp_path)
    assert set(o.OPS) - seen == set()


@pytest.mark.parametrize("name", BODIES)
def test_operations_are_read(name: str, tmp_path: Path) -> None:
    found = denoted(HEAD + BODIES[name], tmp_path)
    assert found.unknown is None
    assert found.stores


def test_reinterpreting_registers_is_lost_by_name(tmp_path: Path) -> None:
    program = tile_program(request(HEAD + BODIES["products"], tmp_path))
    block = program.body
    index = [isinstance(op, o.Transpose) for op in block.ops].index(True)
    turned = block.ops[index]
    assert isinstance(turned, o.Transpose)
    block.ops[index] = o.Reinterpret(
        span=turned.span, result=turned.result, src=turned.src
    )
    found = denote(program, World())
    assert found.unknown is not None
    assert "reinterpret" in found.unknown.reason
    assert found.unknown.span == turned.span


@pytest.mark.parametrize("name", ["Convert", "Reshape"])
def test_renamings_of_placed_programs(name: str, tmp_path: Path) -> None:
    program = tile_program(request(HEAD + BODIES["registers"], tmp_path))
    store = program.body.ops[-1]
    assert isinstance(store, o.StoreGlobal)
    source = store.src
    if name == "Convert":
        made = replace(source, id=-1)
        op: o.AnyOp = o.Convert(span=store.span, result=made, src=source)
    else:
        shape = (32, 4, 4)
        made = replace(source, id=-1, shape=shape, dims=("M", None, "N"))
        op = o.Reshape(span=store.span, result=made, src=source)
        view = replace(store.view, shape=shape, dims=made.dims)
        column = view.coords[1]
        from argus.ir.expr import axis, substitute

        both = axis(1) * 4 + axis(2)
        view = replace(view, coords=(view.coords[0], substitute(column, {"%1": both})))
        program.body.ops[-1] = replace(store, view=view)
    program.body.ops[-1] = replace(program.body.ops[-1], src=made)
    program.body.ops.insert(-1, op)
    found = denote(program, World())
    assert found.unknown is None
    plain = denoted(HEAD + BODIES["registers"], tmp_path)
    assert len(found.stores) == len(plain.stores)


def test_a_placed_program_is_refused(tmp_path: Path) -> None:
    program = tile_program(request(HEAD + BODIES["products"], tmp_path))
    with pytest.raises(ValueError, match="placed"):
        denote(replace(program, placed=True), World())
