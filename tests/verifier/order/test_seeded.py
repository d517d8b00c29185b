"""One bug each, written into the source of a kernel whose order is written by hand.

Each seed replaces pieces of a kernel's source, and names the code that is expected and
how the line begins at which it is expected. Where several obligations fail, one of them
must be that one.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from argus.verify.verdict import Verdict
from verifier.order.check_order import failing, placed, source_of, told


@dataclass(frozen=True)
class Seed:
    """``text``: what is replaced by what. ``line``: where the bug shows."""

    kernel: str
    name: str
    rule: str
    line: str
    text: tuple[tuple[str, str], ...]


def seed(kernel: str, name: str, rule: str, line: str, *text: str) -> Seed:
    """``text`` are pairs: what is replaced, by what."""
    return Seed(
        kernel, name, rule, line, tuple(zip(text[::2], text[1::2], strict=True))
    )


RELEASE = '            empty[n % STAGES].arrive(per="warpgroup")\n'
CLUSTER_END = "            n += 1\n        ag.cluster_sync()\n    with"

SEEDS = (
    # --- one loads, one multiplies
    seed(
        "products", "a product stays in flight", "AG0406", "empty[n % STAGES].arrive",
        "ag.wgmma_wait(0)", "ag.wgmma_wait(1)",
    ),
    seed(
        "products", "no wait for the product", "AG0406", "empty[n % STAGES].arrive",
        "            ag.wgmma_wait(0)\n", "",
    ),
    seed(
        "products", "released before the wait", "AG0406", "empty[n % STAGES].arrive",
        "            ag.wgmma_wait(0)\n" + RELEASE,
        RELEASE + "            ag.wgmma_wait(0)\n",
    ),
    seed(
        "products", "a slot is not waited for", "AG0401", "a[n % STAGES].copy",
        "            empty[n % STAGES].wait(n // STAGES - 1)\n", "",
    ),
    seed(
        "products", "the fill is not waited for", "AG0401", "acc = ag.dot",
        "            full[n % STAGES].wait(n // STAGES)\n", "",
    ),
    seed(
        "products", "parity off by one, early", "AG0404", "empty[n % STAGES].wait",
        "wait(n // STAGES - 1)", "wait(n // STAGES - 2)",
    ),
    seed(
        "products", "parity off by one, late", "AG0403", "empty[n % STAGES].wait",
        "empty[n % STAGES].wait(n // STAGES - 1)",
        "empty[n % STAGES].wait(n // STAGES)",
    ),
    seed(
        "products", "waits for the next fill", "AG0404", "full[n % STAGES].wait",
        "full[n % STAGES].wait(n // STAGES)", "full[n % STAGES].wait(n // STAGES + 1)",
    ),
    seed(
        "products", "waits for the fill before", "AG0402", "acc = ag.dot",
        "full[n % STAGES].wait(n // STAGES)", "full[n % STAGES].wait(n // STAGES - 1)",
    ),
    seed(
        "products", "more bytes expected than copied", "AG0405", "full[n % STAGES].",
        "(BM + BN) * BK * 2", "(BM + BN) * BK * 4",
    ),
    seed(
        "products", "fewer bytes expected than copied", "AG0405", "full[n % STAGES].",
        "(BM + BN) * BK * 2", "BM * BK * 2",
    ),
    seed(
        "products", "nobody announces the bytes", "AG0403", "full[n % STAGES].wait",
        "            full[n % STAGES].expect((BM + BN) * BK * 2)\n", "",
    ),
    seed(
        "products", "copied to the next stage", "AG0401", "b[(n + 1) % STAGES].copy",
        "b[n % STAGES].copy", "b[(n + 1) % STAGES].copy",
    ),
    seed(
        "products", "read from the next stage", "AG0401", "a[n % STAGES].copy",
        "dot(a[n % STAGES], b", "dot(a[(n + 1) % STAGES], b",
    ),
    seed(
        "products", "the first read of a stage nobody wrote", "AG0311", "acc = ag.dot",
        "dot(a[n % STAGES], b", "dot(a[(n + 1) % STAGES], b",
    ),
    seed(
        "products", "counted on another barrier", "AG0405", "full[n % STAGES].expect",
        "BM :, k:], full[n % STAGES]", "BM :, k:], full[(n + 1) % STAGES]",
    ),
    seed(
        "products", "too few arrivals counted", "AG0409", "empty[n % STAGES].arrive",
        "arrivals=2", "arrivals=1",
    ),
    seed(
        "products", "too many arrivals counted", "AG0409", "empty[n % STAGES].wait",
        "arrivals=2", "arrivals=3",
    ),
    seed(
        "products", "one thread arrives for all", "AG0409", "empty[n % STAGES].wait",
        'per="warpgroup"', 'per="role"',
    ),
    seed(
        "products", "each warp arrives", "AG0409", "empty[n % STAGES].arrive",
        'per="warpgroup"', 'per="warp"',
    ),
    seed(
        "products", "nobody releases", "AG0403", "empty[n % STAGES].wait", RELEASE, "",
    ),
    seed(
        "products", "a barrier outside its array", "AG0423", "full[n % STAGES].expect",
        "ag.barriers(STAGES), ag", "ag.barriers(STAGES - 1), ag",
    ),
    seed(
        "products", "one iteration more than fills", "AG0403", "full[n % STAGES].wait",
        "for _ in ag.range(0, K, BK)", "for _ in ag.range(0, K + BK, BK)",
    ),
    seed(
        "products", "the last fill is not read", "AG0421", "b[n % STAGES].copy",
        "for _ in ag.range(0, K, BK)", "for _ in ag.range(BK, K, BK)",
    ),
    seed(
        "products", "every other slot is read", "AG0403", "full[n % STAGES].wait",
        RELEASE + "            n += 1", RELEASE + "            n += 2",
    ),
    # --- two rings, tile after tile
    seed(
        "persistent", "one fill less", "AG0403", "with left.drain()",
        "for k in ag.range(0, K, BK)", "for k in ag.range(BK, K, BK)",
    ),
    seed(
        "persistent", "one drain less", "AG0403", "with right.fill() as slot:",
        "for _ in ag.range(0, K, BK)", "for _ in ag.range(BK, K, BK)",
    ),
    seed(
        "persistent", "one ring after the other", "AG0403", "with right.drain()",
        "                with right.fill() as slot:",
        "            for k in ag.range(0, K, BK):\n"
        "                with right.fill() as slot:",
    ),
    # --- threads write, TMA stores
    seed(
        "relay", "no fence", "AG0408", "ag.tma_store(",
        "            ag.fence_async()\n", "",
    ),
    seed(
        "relay", "the fence comes too late", "AG0408", "ag.tma_store(",
        '            ag.fence_async()\n            ready.arrive(per="thread")\n',
        '            ready.arrive(per="thread")\n            ag.fence_async()\n',
    ),
    seed(
        "relay", "the store is not waited for", "AG0421", "out.store(x)",
        "            ag.tma_store_wait(0)\n", "",
    ),
    seed(
        "relay", "a store stays in flight", "AG0421", "out.store(x)",
        "tma_store_wait(0)", "tma_store_wait(1)",
    ),
    seed(
        "relay", "freed before the store is over", "AG0421", "out.store(x)",
        "            ag.tma_store_wait(0)\n            free.arrive()\n",
        "            free.arrive()\n            ag.tma_store_wait(0)\n",
    ),
    seed(
        "relay", "overwritten at once", "AG0401", "out.store(x)",
        "            free.wait(n - 1)\n", "",
    ),
    seed(
        "relay", "one of two barriers lags", "AG0404", "free.wait",
        "free.wait(n - 1)", "free.wait(n - 2)",
    ),
    seed(
        "relay", "each warp arrives, threads counted", "AG0409", "ready.wait(n)",
        'arrive(per="thread")', 'arrive(per="warp")',
    ),
    seed(
        "relay", "half of the threads counted", "AG0409", "ready.arrive",
        "arrivals=128", "arrivals=64",
    ),
    seed(
        "relay", "waits for the next tile", "AG0403", "ready.wait(n + 1)",
        "ready.wait(n)", "ready.wait(n + 1)",
    ),
    # --- named barriers, roles in turn
    seed(
        "alternate", "nobody arrives", "AG0420", 'ag.sync("full"',
        '            ag.arrive("full", threads=256)\n', "",
    ),
    seed(
        "alternate", "counts that disagree", "AG0420", 'ag.arrive("full"',
        'ag.arrive("full", threads=256)', 'ag.arrive("full", threads=128)',
    ),
    seed(
        "alternate", "more threads than there are", "AG0403", 'ag.sync("full"',
        'ag.arrive("full", threads=256)', 'ag.arrive("full", threads=384)',
        'ag.sync("full", threads=256)', 'ag.sync("full", threads=384)',
    ),
    seed(
        "alternate", "no barrier after the write", "AG0401", "C[bm * BM :, k:]",
        '            ag.arrive("full", threads=256)\n', "",
        '            ag.sync("full", threads=256)\n', "",
    ),
    seed(
        "alternate", "no barrier before the write", "AG0401", "tile.store",
        '            ag.sync("free", threads=256)\n', "",
        '            ag.arrive("free", threads=256)\n', "",
    ),
    seed(
        "alternate", "written before the turn", "AG0401", "tile.store",
        '            ag.sync("free", threads=256)\n', "",
        '            ag.arrive("full"',
        '            ag.sync("free", threads=256)\n            ag.arrive("full"',
    ),
    seed(
        "alternate", "arrives and does not wait", "AG0401", "C[bm * BM :, k:]",
        'ag.sync("full", threads=256)', 'ag.arrive("full", threads=256)',
    ),
    seed(
        "alternate", "one role leaves early", "AG0410", 'ag.sync("free"',
        'with ag.role("read", warpgroups=1):\n        for k in ag.range(0, K, BK)',
        'with ag.role("read", warpgroups=1):\n        for k in ag.range(BK, K, BK)',
    ),
    seed(
        "alternate", "the wrong one of two barriers", "AG0420", 'ag.arrive("full"',
        'ag.sync("full", threads=256)', 'ag.sync("free", threads=256)',
    ),
    # --- groups of cp.async, no roles
    seed(
        "copies", "a group stays in flight", "AG0401", "acc = ag.dot",
        "cp_async_wait(0)\n        ag.sync", "cp_async_wait(1)\n        ag.sync",
    ),
    seed(
        "copies", "no wait", "AG0421", "a[ahead].copy",
        "        ag.cp_async_wait(0)\n        ag.sync()", "        ag.sync()",
    ),
    seed(
        "copies", "a group that is not closed", "AG0421", "a[ahead].copy",
        "        ag.cp_async_commit()\n        acc", "        acc",
    ),
    seed(
        "copies", "the kernel ends in between", "AG0421", "b[ahead].copy",
        "    ag.cp_async_wait(0)\n    C[", "    C[",
    ),
    seed(
        "copies", "copied over what is read", "AG0401", "acc = ag.dot",
        "ahead = 1 - stage", "ahead = stage",
    ),
    # --- a slot is held, a tile is ahead
    seed(
        "ahead", "too few stages", "AG0418", "after = ring.wait()",
        "ag.ring(2", "ag.ring(1",
    ),
    seed(
        "ahead", "the held slot is not released", "AG0403", "with ring.fill()",
        "            slot.release()\n            slot = after",
        "            slot = after",
    ),
    seed(
        "early", "copied over before it is read", "AG0402", "C[bm * BM :, k:]",
        "stages=3", "stages=2", "(n + 2) % 3", "(n + 2) % 2",
        "tile[n % 3].load", "tile[n % 2].load",
    ),
    seed(
        "rotating", "the other stage", "AG0311", "C[bm * BM :, k:]",
        "tile[stage].load", "tile[1 - stage].load",
        "tile[1 - stage].store", "tile[stage].store",
    ),
    # --- copies that arrive by themselves
    seed(
        "handed", "an arrival before its copy", "AG0401", "C[bm * BM :, k:]",
        '            s[n % 2].copy(A[bm * BM :, k:], via="cp_async")\n', "",
        "            ag.cp_async_arrive(full[n % 2])\n",
        "            ag.cp_async_arrive(full[n % 2])\n"
        '            s[n % 2].copy(A[bm * BM :, k:], via="cp_async")\n',
    ),
    seed(
        "handed", "threads arrive, not their copies", "AG0401", "C[bm * BM :, k:]",
        "ag.cp_async_arrive(full[n % 2])", 'full[n % 2].arrive(per="thread")',
    ),
    seed(
        "handed", "warps counted, threads arrive", "AG0409", "ag.cp_async_arrive",
        "arrivals=128", "arrivals=4",
    ),
    seed(
        "handed", "one warp releases for four", "AG0401", "s[n % 2].copy",
        "ag.barriers(2, arrivals=4)", "ag.barriers(2, arrivals=1)",
        'empty[n % 2].arrive(per="warp")', "empty[n % 2].arrive()",
    ),
    # --- two rings, two roles in turn
    seed(
        "crossed", "drained in another order", "AG0403", "with right.drain()",
        "            with right.fill() as slot:\n",
        "        for k in ag.range(0, K, BK):\n"
        "            with right.fill() as slot:\n",
    ),
    seed(
        "by_turns", "the turn is given on too early", "AG0401", "tile.store",
        "            C[i * 64 :, k:] = tile.load()\n            turn.next(0)\n",
        "            turn.next(0)\n            C[i * 64 :, k:] = tile.load()\n",
    ),
    seed(
        "by_turns", "both take the first turn", "AG0401", "tile.store",
        "turn.wait(1)", "turn.wait(0)", "turn.next(1)", "turn.next(0)",
    ),
    seed(
        "by_turns", "a turn that is not given on", "AG0403", "turn.wait(0)",
        "            turn.next(1)\n", "",
    ),
    # --- tiles, counted through
    seed(
        "tiles", "one role takes every other slot", "AG0403", "empty[n % STAGES].wait",
        "n += 1", "n += 2",
    ),
    seed(
        "tiles", "phases of another number of stages", "AG0403", "full[n % STAGES].w",
        "full[n % STAGES].wait(n // STAGES)",
        "full[n % STAGES].wait(n // (STAGES - 1))",
    ),
    seed(
        "tiles", "released every other time", "AG0403", "empty[n % STAGES].wait",
        '                empty[n % STAGES].arrive(per="warp")\n',
        "                if k % (2 * BK) == 0:\n"
        '                    empty[n % STAGES].arrive(per="warp")\n',
    ),
    # --- a cluster
    seed(
        "together", "released to its own block only", "AG0401", "b[n % STAGES].copy",
        "arrivals=8", "arrivals=4", ", cluster=True", "",
    ),
    seed(
        "together", "released in one block only", "AG0403", "empty[n % STAGES].wait",
        ", cluster=True", "",
    ),
    seed(
        "together", "arrivals of one block counted", "AG0409", "empty[n % STAGES].arr",
        "arrivals=8", "arrivals=4",
    ),
    seed(
        "together", "no multicast", "AG0409", "empty[n % STAGES].arrive",
        ", multicast=2", "",
    ),
    seed(
        "together", "only the own half expected", "AG0405", "full[n % STAGES].expect",
        "(BM + BN) * BK * 2", "(BM * BK + BN * BK // 2) * 2",
    ),
)  # fmt: skip


@pytest.mark.parametrize("it", SEEDS, ids=[f"{s.kernel}: {s.name}" for s in SEEDS])
def test_refuted(it: Seed) -> None:
    text = source_of(it.kernel)
    for old, new in it.text:
        assert old in text, f"{old!r} is not in {it.kernel}"
        text = text.replace(old, new, 1)
    bad = failing(placed(text, it.kernel))
    lines = text.splitlines()
    places = {
        (o.rule, lines[o.span.line - 1].strip())
        for o in bad
        if o.verdict is Verdict.REFUTED
    }
    assert any(r == it.rule and at.startswith(it.line) for r, at in places), told(bad)


@pytest.mark.parametrize("kernel", sorted({s.kernel for s in SEEDS}))
def test_proved_without_the_bug(kernel: str) -> None:
    bad = failing(placed(source_of(kernel), kernel))
    assert not bad, told(bad)
