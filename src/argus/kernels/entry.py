"""What the library says about each of its kernels, in one record.

An entry names sizes, makes inputs, chooses the kernel form and its static parameters
for them, and gives the reference. Everything that runs kernels (tests, ``argus run``,
``argus bench``) goes through entries, in numpy without a GPU or in torch with one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from argus.diagnostics import fail
from argus.ir.dtypes import DType
from argus.lang.kernel import Kernel
from argus.targets import DEFAULT_TARGET

Sizes = Mapping[str, int]
Arrays = dict[str, Any]
"""Arrays by parameter name: numpy arrays or torch tensors."""


@dataclass(frozen=True)
class Case:
    """One problem: sizes, and what else selects it ("causal", "bias")."""

    name: str
    sizes: Mapping[str, int]
    options: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def statics(self) -> dict[str, object]:
        """Options that are static parameters: those in capitals."""
        return {name: v for name, v in self.options.items() if name.isupper()}


@dataclass(frozen=True)
class Argument:
    """A tensor argument: element type, shape, and how random inputs are drawn.

    ``draw``: "normal", "index" (integers below ``high``), or "output" (poisoned).
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    draw: str = "normal"
    high: int = 0


@dataclass(frozen=True)
class KernelChoice:
    """How a case is run: the kernel form, its static and its scalar arguments."""

    kernel: Kernel
    statics: Mapping[str, object]
    scalars: Mapping[str, int | float] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Work:
    """The least a case must do: floating point operations and bytes moved."""

    flops: int
    bytes: int


@dataclass(frozen=True)
class LibraryEntry:
    """One library kernel.

    ``arguments(case)`` lists tensor arguments in order; ``tables`` fills arguments that
    are not random (index tables), given the module (numpy or torch) and the arrays.
    ``choose(case, target)`` selects form and parameters.
    ``reference(xp, arrays, case)`` computes the outputs in the precision of the given
    arrays with numpy or torch; ``arrays`` may hold scalar arguments, too.
    ``baselines(arrays, case)`` are what a torch user has today, by name.
    ``beside`` is the one of them that tables of results are about, in which the kernel
    is called ``line``.
    ``tolerance``: largest accepted norm of the error over the norm of the result.
    """

    name: str
    title: str
    arguments: Callable[[Case], tuple[Argument, ...]]
    choose: Callable[[Case, str], KernelChoice]
    reference: Callable[[Any, Arrays, Case], Arrays]
    work: Callable[[Case], Work]
    small: tuple[Case, ...]
    """For the interpreter: seconds in numpy, tails included."""
    odd: tuple[Case, ...]
    """For the GPU: sizes at which kernels go wrong."""
    large: tuple[Case, ...]
    """For the GPU, and for ``argus bench``."""
    baselines: Callable[[Arrays, Case], dict[str, Callable[[], Any]]]
    beside: str
    line: str
    targets: tuple[str, ...] = (DEFAULT_TARGET,)
    tables: Callable[[Any, Arrays, Case], None] | None = None
    tolerance: float = 5e-3
    memory_bound: bool = False
    """Judge by bytes per second instead of operations per second."""
    usual: Mapping[str, str] = field(default_factory=dict[str, str])
    """Sizes that are equal to others where they are not given."""
    further: tuple[str, ...] = ()
    """Sizes that may be given beside those of its cases."""
    epilogues: tuple[str, ...] = ()
    """Options that it has beside those of its cases."""
    stated: Callable[[Any, Arrays, Case], Arrays] | None = None
    """The same as ``reference``, for proofs: where that goes by the numbers of a table,
    it has no terms. Of large cases it may not be run."""

    @property
    def proved_reference(self) -> Callable[[Any, Arrays, Case], Arrays]:
        """What a kernel is shown to compute, with the sizes and tables of all cases."""
        return self.stated or self.reference


def count(xp: Any, n: int, beside: Any) -> Any:
    """0, 1, ... n - 1, where an array is: a range of torch is on the host."""
    made = xp.arange(n)
    return made.to(beside.device) if hasattr(made, "to") else made


def choose(entry: LibraryEntry, case: Case, target: str) -> KernelChoice:
    """The form of the kernel that the library uses for a case.

    Raises ArgusError AG0602 for a target that the entry does not support.
    """
    if target not in entry.targets:
        raise fail(
            "AG0602",
            None,
            f"`{entry.name}` has no form for {target}",
            help=f"its targets are {', '.join(entry.targets)}",
        )
    return entry.choose(case, target)
