"""Every library entry on the device, against the fp64 oracle.

Outputs are poisoned with NaN, inputs compared afterwards, data fresh for each seed.
Needs torch, and only `PYTHONPATH=src` beside this repository.
"""

import pytest

from argus.evaluation.device import find_device, run_on_device, target_of
from argus.kernels.library import LIBRARY, Case, Entry

pytestmark = pytest.mark.gpu


def case(name: str, **sizes: int) -> Case:
    return Case(name, sizes)


_GEMM = [
    case("one row", M=1, N=4096, K=4096),
    case("a few rows", M=16, N=8192, K=8192),
    case("one past a tile", M=129, N=257, K=72),
    case("no dimension a multiple of 16", M=1000, N=1004, K=1048),
    case("less than a step of K", M=300, N=520, K=8),
    case("long K", M=136, N=264, K=50_000),
    case("K that TMA cannot address", M=333, N=555, K=777),
    case("odd N", M=257, N=1001, K=512),
    case("more tiles than multiprocessors", M=3000, N=7000, K=264),
]
_ROWS = [
    case("one row", M=1, N=8192),
    case("one column", M=777, N=1),
    case("odd columns", M=1001, N=3333),
    case("a power of two and one", M=100, N=4097),
]


def _attention(name: str, b: int, h: int, g: int, s: int, t: int, *words: str) -> Case:
    sizes = {"B": b, "H": h, "G": g, "S": s, "T": t, "D": 128}
    return Case(name, sizes, dict.fromkeys(words, 1))


ODD: dict[str, list[Case]] = {
    "gemm": _GEMM,
    "gemm_sm80": _GEMM,
    "softmax": _ROWS,
    "rmsnorm": _ROWS,
    "attention": [
        _attention("one query", 1, 1, 1, 1, 1),
        _attention("one query, many keys", 3, 8, 2, 1, 5000),
        _attention("many queries, one key", 1, 4, 4, 777, 1),
        _attention("one past a tile", 2, 6, 3, 129, 129),
        _attention("one past a tile, causal", 2, 6, 3, 129, 129, "causal"),
        _attention("more keys than queries, causal", 1, 4, 1, 300, 700, "causal"),
    ],
    "grouped": [
        Case("one expert", {"E": 1, "P": 333, "N": 264, "K": 136}),
        Case("fewer positions than experts", {"E": 40, "P": 17, "N": 256, "K": 128}),
        Case("one position", {"E": 2, "P": 1, "N": 512, "K": 64}),
        Case("odd, gathered", {"E": 7, "P": 1999, "N": 520, "K": 200}, {"gather": 1}),
    ],
}

CASES = [
    pytest.param(entry, one, id=f"{entry.name}-{one.name}")
    for entry in LIBRARY.values()
    for one in (*entry.small, *ODD.get(entry.name, ()), *entry.large)
]


def test_every_entry_has_odd_cases() -> None:
    assert set(ODD) == set(LIBRARY)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("entry", "one"), CASES)
def test_case(entry: Entry, one: Case, seed: int) -> None:
    torch = pytest.importorskip("torch")
    device = find_device()
    assert device is not None, "there is a device, but torch or a target is missing"
    if target_of(device) not in entry.targets:
        pytest.skip(f"{entry.name} has no form for {device.name}")
    verdict = run_on_device(entry, one, seed=seed)
    torch.cuda.empty_cache()
    assert verdict.ok, "\n".join(verdict.why())
