"""Kernels whose bank conflicts are counted here and by the hardware.

    python tests/gpu/bank_variants.py            launch every variant once, in order
    python tests/gpu/bank_variants.py --counts   print what is predicted (no GPU)

`test_bank_conflicts.py` runs the first form under ncu. Launching needs torch and a GPU.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argus.calls import launch
from argus.ir.dtypes import DTYPES
from argus.ir.program import Program
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request, placed_program
from argus.verify.performance.bank_conflicts import conflict_at, shared_access
from argus.verify.performance.sites import sites

KERNELS = load_kernels(Path(__file__).parent / "kernels" / "banks.py").kernels


@dataclass(frozen=True)
class Variant:
    """One launch. ``instructions`` are those its store and its load have to be."""

    name: str
    kernel: Kernel
    dtype: str
    statics: dict[str, int]
    instructions: tuple[str, str] = ("st.shared", "ld.shared")

    def program(self) -> Program:
        dtype = DTYPES[self.dtype]
        return placed_program(
            Request(self.kernel, {"X": dtype, "Y": dtype}, dict(self.statics))
        )


def vectors(name: str, dtype: str = "f32", **statics: int) -> Variant:
    return Variant(name, KERNELS["vectors"], dtype, statics)


def matrices(name: str, **statics: int) -> Variant:
    return Variant(name, KERNELS["matrices"], "bf16", statics, ("stmatrix", "ldmatrix"))


def panels(store: tuple[int, int], load: tuple[int, int]) -> dict[str, int]:
    """Panel width and vector of the store and of the load."""
    return dict(
        zip(("STORE_W", "STORE_V", "LOAD_W", "LOAD_V"), (*store, *load), strict=True)
    )


VARIANTS = (
    vectors("4 bytes, rows, columns", **panels((32, 1), (1, 1))),
    vectors("4 bytes, columns, columns", **panels((1, 1), (1, 1))),
    vectors("4 bytes, columns, swizzled", SWIZZLE=128, **panels((32, 1), (1, 1))),
    vectors("4 bytes, two columns", **panels((2, 1), (2, 1))),
    vectors("8 bytes, columns", **panels((2, 2), (2, 2))),
    vectors("8 bytes, columns, swizzled", SWIZZLE=128, **panels((2, 2), (2, 2))),
    vectors("8 bytes, rows", **panels((32, 2), (32, 2))),
    vectors("16 bytes, columns", **panels((4, 4), (4, 4))),
    vectors("16 bytes, columns, swizzled", SWIZZLE=128, **panels((4, 4), (4, 4))),
    vectors("16 bytes, two columns", **panels((8, 4), (8, 4))),
    vectors("16 bytes, rows", **panels((32, 4), (32, 4))),
    vectors("16 bytes, one for all", R=1, **panels((4, 4), (4, 4))),
    vectors("2 bytes, columns", "bf16", C=64, **panels((1, 1), (1, 1))),
    matrices("matrices of rows 128 bytes apart"),
    matrices("matrices, swizzled by 128 bytes", SWIZZLE=128),
    matrices("matrices, swizzled by 64 bytes", SWIZZLE=64),
    matrices("matrices, swizzled by 32 bytes", SWIZZLE=32),
    matrices("matrices of rows 64 bytes apart", C=32),
)


@dataclass(frozen=True)
class Counts:
    """Over all warps of a launch, for one direction."""

    wavefronts: int = 0
    conflicts: int = 0


def counts(program: Program) -> dict[str, Counts]:
    """Predicted counts of loads ("ld") and stores ("st"); one launch is one block."""
    found = {"ld": Counts(), "st": Counts()}
    for site in sites(program):
        access = shared_access(site)
        if access is None:
            continue
        view, plan = access
        here = conflict_at(plan, view, site.env, program.target)
        way = "ld" if plan.instruction.startswith("ld") else "st"
        found[way] = Counts(
            found[way].wavefronts + here.all_wavefronts,
            found[way].conflicts + here.all_conflicts,
        )
    return found


def launch_all() -> None:
    """Launch each variant once."""
    torch: Any = importlib.import_module("torch")
    types = {"f32": torch.float32, "bf16": torch.bfloat16}
    for variant in VARIANTS:
        x = torch.zeros(128, 64, dtype=types[variant.dtype], device="cuda")
        y = torch.zeros_like(x)
        torch.cuda.synchronize()
        launch(variant.kernel, (x, y), variant.statics)
        torch.cuda.synchronize()


def main() -> None:
    if "--counts" not in sys.argv:
        launch_all()
        return
    for variant in VARIANTS:
        for way, found in counts(variant.program()).items():
            print(f"{variant.name:36} {way} {found.wavefronts:5} {found.conflicts:5}")


if __name__ == "__main__":
    main()
