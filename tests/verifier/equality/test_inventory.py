"""Every kernel that has a reference, or could have one: equal to it, or open here."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.evaluation.requests import request_for
from argus.kernels.library import LIBRARY
from argus.lang.kernel import load_kernels
from few import EVERY
from verifier.equality.inventory import Subject, files, is_compared_elsewhere, subjects

OPEN = {
    # It fills the table of grouped products, in a loop whose conditions depend on what
    # it carries.
    "kernel.py tile_table": "no reference",
}
"""What is not decided, and why: part of the reason that is given."""

LEFT = {
    *("part swiglu_sm90", "part moe_up", "part moe_down"),
    *("part moe_up_eights", "part moe_down_eights", "moe_up_eights moe_up_eights"),
    *("part int4_parts", "part int4_parts, all tensors", "part int4_weights"),
    *("part mxfp4_parts", "part norm_weights, all tensors"),
    *("part gemm_orders A B", "part gemm_orders A TurnedB"),
    *("part batched_orders A B", "part batched_orders TurnedA TurnedB"),
    *("attention attention_persistent", "attention attention_roles"),
    *("attention attention_ring", "part attention_parts"),
}
"""What ``ARGUS_TESTS=all`` alone compares: parts that are kernels of entries, those
that are compared with all their tensors, and what takes long beside what is like it.
"""

SUBJECTS = subjects()
assert {s.name for s in SUBJECTS} >= LEFT
FEW = [s for s in SUBJECTS if EVERY or s.name not in LEFT]


@pytest.mark.parametrize("subject", FEW, ids=lambda s: s.name)
def test_is_its_reference(subject: Subject) -> None:
    if subject.decided is None:
        assert OPEN[subject.name] == "no reference"
        return
    made = subject.decided()
    print(f"{'equal' if made.equal else made.reason}, {made.seconds:.2f} s")
    if subject.name in OPEN:
        assert OPEN[subject.name] in made.reason, "it is equal: take it off the list"
    else:
        assert made.equal, made.reason


def test_no_kernel_is_forgotten() -> None:
    listed = {(s.file, s.kernel) for s in SUBJECTS}
    for entry in filter(is_compared_elsewhere, LIBRARY.values()):
        for case in (*entry.small, *entry.large):
            kernel = request_for(entry, case, entry.targets[-1])[0].kernel
            listed.add((Path(kernel.file).name, kernel.name))
    for path in files():
        for kernel in load_kernels(path).kernels:
            found = (path.name, kernel) in listed
            assert found or OPEN[f"{path.name} {kernel}"] == "no reference"


def test_what_is_open_is_there() -> None:
    names = {s.name for s in SUBJECTS}
    for name, why in OPEN.items():
        assert name in names or why == "no reference" or not EVERY
    assert len(names) == len(SUBJECTS)
