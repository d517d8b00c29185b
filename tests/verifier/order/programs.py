"""Placed programs of the library, the tutorial and the examples, each made once."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from argus.evaluation.requests import request_for
from argus.ir.program import Program
from argus.kernels.library import LIBRARY
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from verifier.order.check_order import ROOT

LIBRARY_CASES = {
    "gemm": ("gemm", 0, "sm_90a"),
    "gemm epilogue": ("gemm", 1, "sm_90a"),
    "gemm one warpgroup": ("gemm", 3, "sm_90a"),
    "gemm cluster": ("gemm", 4, "sm_90a"),
    "ampere": ("gemm_sm80", 0, "sm_80"),
    "ampere elements": ("gemm_sm80", 1, "sm_80"),
    "softmax": ("softmax", 2, "sm_90a"),
    "rmsnorm": ("rmsnorm", 2, "sm_90a"),
    "attention": ("attention", 1, "sm_90a"),
    "grouped": ("grouped", 0, "sm_90a"),
    "grouped gather": ("grouped", 1, "sm_90a"),
}
STATICS = {"gemm cluster": {"BM": 128, "BN": 256, "BK": 64, "CLUSTER": 2}}
"""What a case is about, whatever the library chooses for its sizes."""
FILES = {
    "step 2": "docs/tutorial/step2_ring.py",
    "step 4": "docs/tutorial/step4_roles.py",
    "step 5": "docs/tutorial/step5_persistent.py",
    "step 6": "docs/tutorial/step6_cluster.py",
    "turns": "examples/turns.py",
    "layernorm": "examples/layernorm.py",
}


@lru_cache
def program(name: str) -> Program:
    """A program by its name above, not to be changed."""
    if name in LIBRARY_CASES:
        entry, number, target = LIBRARY_CASES[name]
        found = LIBRARY[entry]
        case = (*found.small, *found.large)[number]
        request = request_for(found, case, target)[0]
        statics = {**request.statics, **STATICS.get(name, {})}
        return placed_program(replace(request, statics=statics))
    kernel = next(iter(load_kernels(ROOT / FILES[name]).kernels.values()))
    tensors = kernel.signature.tensors
    dtypes = {t.name: t.dtypes[0] for t in tensors}
    dims = {d for t in tensors for d in t.dims if isinstance(d, str)}
    facts = dict.fromkeys(dims, 16)
    return placed_program(Request(kernel, dtypes, {}, "sm_90a", facts))


@lru_cache
def line_of(file: str, number: int) -> str:
    """A line of a source file, without its indentation."""
    return (ROOT / file).read_text().splitlines()[number - 1].strip()
