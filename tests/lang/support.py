"""Reading kernels in tests."""

from collections.abc import Mapping
from pathlib import Path

from argus.ir.check import check
from argus.ir.program import Program
from argus.lang.frontend import specialise
from argus.lang.kernel import Kernel, Module, load_kernels
from argus.targets import TARGETS

HERE = Path(__file__).parent
KERNELS = HERE / "kernels"


def load(name: str) -> Module:
    """The kernels of a file in `kernels/`."""
    return load_kernels(KERNELS / f"{name}.py")


def program(
    kernel: Kernel,
    *,
    target: str = "sm_90a",
    absent: tuple[str, ...] = (),
    facts: Mapping[str, int] | None = None,
    **statics,
) -> Program:
    """A kernel specialised to the first element type of each tensor, and checked."""
    tensors = [t for t in kernel.signature.tensors if t.name not in absent]
    made = specialise(
        kernel,
        dtypes={t.name: t.dtypes[0] for t in tensors},
        statics=statics,
        target=TARGETS[target],
        present={t.name: True for t in tensors},
        facts=facts or {},
    )
    check(made)
    return made
