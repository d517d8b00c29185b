"""Search: the right entry comes first, and whether it applies is said with a reason."""

from __future__ import annotations

import pytest

from argus.knowledge import applicability, applicable, entry, load_entries, search
from argus.knowledge.search import tokens

GEMM = {
    "entry": "gemm",
    "target": "sm_90a",
    "dtype": "bf16",
    "M": 8192,
    "N": 8192,
    "K": 8192,
    "flops": 2 * 8192**3,
    "bytes": 6 * 8192**2,
    "intensity": 2730.7,
}
NAIVE = {**GEMM, "form": "naive", "BM": 64, "BN": 64, "BK": 32, "WARPS": 4}
ROLES = {
    **GEMM,
    "form": "roles",
    "BM": 128,
    "BN": 128,
    "BK": 64,
    "STAGES": 4,
    "GROUP": 1,
    "CLUSTER": 1,
    "WARPGROUPS": 2,
    "TMA_STORE": False,
    "AHEAD": False,
    "REGISTERS": 240,
    "bottleneck": "tensor",
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("bank conflicts in shared memory", "swizzling"),
        ("too few tiles for all multiprocessors, long K", "split-k"),
        ("wave quantisation", "stream-k"),
        ("multicast", "cluster-multicast"),
        ("one warp loads while others multiply", "warp-specialisation"),
        ("setmaxnreg", "register-budget"),
        ("two warpgroups alternate tensor cores and softmax", "ping-pong"),
        ("running maximum rescaled sum", "online-softmax"),
        ("uncoalesced narrow loads", "vectorised-access"),
        ("bias activation residual", "epilogue-fusion"),
        ("L2 hit rate order of blocks", "l2-rasterisation"),
        ("padding neutral element", "tail-masking"),
        ("occupancy, registers spill", "launch-bounds"),
        ("rows by an index table, mixture of experts", "gather-fusion"),
        ("TMA_STORE", "tma-store"),
        ("ex2 log2e", "exp2-folding"),
        ("StaggerU", "stagger-k"),
        ("smem bank conflicts", "swizzling"),
        ("fewer tiles than SMs", "split-k"),
        ("kernel deadlock", "warp-specialisation"),
    ],
)
def test_first_hits(query: str, expected: str) -> None:
    found = [h.entry.id for h in search(query, limit=3)]
    assert expected in found[:2], found


def test_every_entry_is_found_by_its_title() -> None:
    for e in load_entries().values():
        assert search(e.title, limit=1)[0].entry.id == e.id


def test_words_that_nobody_uses_find_nothing() -> None:
    assert search("zymurgy") == ()


def test_limit_and_order() -> None:
    found = search("shared memory", limit=4)
    assert len(found) == 4
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)


def test_applying_entries_come_first_without_words() -> None:
    found = search("", NAIVE, limit=99)
    assert len(found) == len(load_entries())
    order = [{True: 0, None: 1, False: 2}[h.applies] for h in found]
    assert order == sorted(order)
    assert {h.applies for h in found} == {True, False, None}
    assert all(h.why for h in found)


def test_what_applies_to_a_naive_product() -> None:
    ids = {e.id for e in applicable(NAIVE)}
    wanted = {"software-pipelining", "cp-async", "tma", "warp-specialisation", "wgmma"}
    assert wanted <= ids
    assert not {"persistent-grid", "online-softmax", "split-k", "gather-fusion"} & ids


def test_what_applies_to_the_roles_form() -> None:
    ids = {e.id for e in applicable(ROLES)}
    assert {
        "persistent-grid", "cluster-multicast", "l2-rasterisation", "tma-store",
        "instruction-ordering", "tile-shape",
    } <= ids  # fmt: skip
    assert not {"tma", "cp-async", "register-budget", "split-k"} & ids


def test_small_products_are_split() -> None:
    small = {**ROLES, "M": 512, "N": 512, "K": 16384}
    assert entry("split-k") in applicable(small)
    assert entry("persistent-grid") not in applicable(small)


def test_hopper_entries_do_not_apply_to_ampere() -> None:
    outcome = applicability(entry("tma"), {**NAIVE, "target": "sm_80"})
    assert (outcome.value, outcome.why) == (False, "needs sm_90a")
    assert applicability(entry("tma"), {"form": "naive", "K": 64}).value is None


def test_applicability_moves_entries() -> None:
    without = {h.entry.id: h.score for h in search("tiles in L2", limit=99)}
    known = {h.entry.id: h.score for h in search("tiles in L2", ROLES, limit=99)}
    assert known["l2-rasterisation"] > without["l2-rasterisation"]
    assert known["split-k"] < without["split-k"]


def test_tokens_are_stems() -> None:
    assert tokens("The loads, loading and loader") == ["load", "load", "load"]
    assert tokens("m64n256k16 at 0x40") == ["m64n256k16", "x40"]
