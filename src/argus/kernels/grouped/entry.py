"""Grouped GEMM: sizes, tile table, reference. Kernel: ``kernel.py``."""

from typing import Any

from argus.equivalence.file_reference import FileReference
from argus.ir.dtypes import bf16, i32
from argus.kernels.entry import Argument, Arrays, Case, KernelChoice, LibraryEntry, Work
from argus.kernels.grouped.kernel import grouped_gemm


def tile_rows(case: Case) -> int:
    """Positions per tile."""
    rows = case.options.get("BM", 128)
    assert isinstance(rows, int)
    return rows


def _ends(case: Case) -> list[int]:
    """End position of each expert: uneven on purpose, the last one empty."""
    experts, positions = case.sizes["E"], case.sizes["P"]
    weights = [1 + (7 * e + 3) % 5 for e in range(experts)]
    if experts > 2:
        weights[-1] = 0
    total, running = sum(weights), 0
    ends: list[int] = []
    for w in weights:
        running += w
        ends.append(positions * running // total)
    return ends


def tile_count(case: Case) -> int:
    """Most tiles that any split of the positions over the experts can need."""
    return case.sizes["P"] // tile_rows(case) + case.sizes["E"]


def _arguments(case: Case) -> tuple[Argument, ...]:
    e, n, k, p = (case.sizes[d] for d in "ENKP")
    tiles = tile_count(case)
    rows = case.sizes.get("R", p)
    found = [
        Argument("X", bf16, (rows, k)),
        Argument("W", bf16, (e, n, k)),
        Argument("Y", bf16, (p, n), "output"),
        Argument("Expert", i32, (tiles,), "index"),
        Argument("Start", i32, (tiles,), "index"),
        Argument("End", i32, (tiles,), "index"),
    ]
    if "gather" in case.options:
        found.append(Argument("Rows", i32, (p,), "index", rows))
        found.append(Argument("Out", i32, (p,), "index"))
    return tuple(found)


def _tables(xp: Any, arrays: Arrays, case: Case) -> None:
    """Fill the tile table; with gather, Out is a permutation."""
    rows = tile_rows(case)
    table: list[tuple[int, int, int]] = []
    begin = 0
    for expert, end in enumerate(_ends(case)):
        table += [(expert, p, end) for p in range(begin, end, rows)]
        begin = end
    table += [(-1, 0, 0)] * (tile_count(case) - len(table))
    for column, name in enumerate(("Expert", "Start", "End")):
        values = [row[column] for row in table]
        _fill(xp, arrays[name], values)
    if "Out" in arrays:
        p = case.sizes["P"]
        values = [(i * 7919) % p for i in range(p)]
        if len(set(values)) < p:
            values = list(reversed(range(p)))
        _fill(xp, arrays["Out"], values)


def _fill(xp: Any, array: Any, values: list[int]) -> None:
    made = xp.asarray(values)
    # torch: to the table's own type and device first.
    array[:] = made.to(array) if hasattr(made, "to") else made


def _choose(case: Case, target: str) -> KernelChoice:
    statics = case.statics
    return KernelChoice(grouped_gemm, statics)


def _reference(xp: Any, arrays: Arrays, case: Case) -> Arrays:
    x, w = arrays["X"], arrays["W"]
    if "Rows" in arrays:
        x = x[arrays["Rows"]]
    out = xp.zeros_like(arrays["Y"])
    begin = 0
    for expert, end in enumerate(_ends(case)):
        part = x[begin:end] @ w[expert].T
        if "Out" in arrays:
            out[arrays["Out"][begin:end]] = part
        else:
            out[begin:end] = part
        begin = end
    return {"Y": out}


def _work(case: Case) -> Work:
    e, n, k, p = (case.sizes[d] for d in "ENKP")
    return Work(2 * p * n * k, 2 * (p * k + e * n * k + p * n))


def _baselines(arrays: Arrays, case: Case) -> dict[str, Any]:
    import torch

    product: Any = vars(torch)["_grouped_mm"]
    x, w = arrays["X"], arrays["W"]
    ends = torch.tensor(_ends(case), dtype=torch.int32, device=x.device)
    if "Rows" in arrays:
        rows, out = arrays["Rows"].long(), arrays["Out"].long()
        y = torch.empty_like(arrays["Y"])

        def gathered() -> Any:
            y[out] = product(x[rows], w.transpose(1, 2), offs=ends)
            return y

        return {"torch._grouped_mm": gathered}
    return {"torch._grouped_mm": lambda: product(x, w.transpose(1, 2), offs=ends)}


def _case(e: int, p: int, n: int, k: int, **options: object) -> Case:
    name = f"{e} experts {p}x{n}x{k}" + "".join(f" {w}" for w in options if w.islower())
    return Case(name, {"E": e, "P": p, "N": n, "K": k}, options)


GROUPED = LibraryEntry(
    name="grouped",
    title="grouped matrix product for mixture of experts, bf16",
    arguments=_arguments,
    choose=_choose,
    reference=_reference,
    stated=FileReference(grouped_gemm, ("Y",), _choose),
    work=_work,
    small=(
        _case(3, 200, 96, 72, BN=64, STAGES=2),
        _case(4, 150, 64, 64, BN=64, STAGES=2, gather=1),
    ),
    odd=(
        Case("one expert", {"E": 1, "P": 333, "N": 264, "K": 136}),
        Case("fewer positions than experts", {"E": 40, "P": 17, "N": 256, "K": 128}),
        Case("one position", {"E": 2, "P": 1, "N": 512, "K": 64}),
        Case("odd, gathered", {"E": 7, "P": 1999, "N": 520, "K": 200}, {"gather": 1}),
    ),
    large=(
        _case(8, 16384, 14336, 4096),
        _case(64, 16384, 4096, 4096),
        _case(256, 32768, 2048, 2048),
        _case(64, 16384, 4096, 4096, gather=1),
    ),
    baselines=_baselines,
    beside="torch._grouped_mm",
    line="grouped matrix product (experts)",
    tables=_tables,
    further=("R",),
)

ENTRIES = (GROUPED,)
