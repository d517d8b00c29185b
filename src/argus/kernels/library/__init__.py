"""The library's entries by name. Entries are data: importing them compiles nothing."""

from argus.kernels.library.attention import ATTENTION
from argus.kernels.library.entry import Argument, Case, Choice, Entry, Work
from argus.kernels.library.gemm import GEMM, GEMM_AMPERE
from argus.kernels.library.grouped import GROUPED
from argus.kernels.library.norms import RMSNORM, SOFTMAX

LIBRARY: dict[str, Entry] = {
    e.name: e for e in (GEMM, GEMM_AMPERE, SOFTMAX, RMSNORM, ATTENTION, GROUPED)
}

__all__ = ["LIBRARY", "Argument", "Case", "Choice", "Entry", "Work"]
