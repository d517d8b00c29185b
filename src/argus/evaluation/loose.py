"""A kernel without a reference: random inputs, and what can be said of its outputs.

Says whether a run finished, what was not written and how large the values are; not
whether they are right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from argus.calls import prepare_call
from argus.diagnostics import ArgusError, fail
from argus.equivalence.sizes import elements_of, with_others_small
from argus.evaluation.arrays import NumpyArrays, Statistics, TorchArrays
from argus.evaluation.device import free_memory, launch_and_wait
from argus.evaluation.memory import require_memory
from argus.evaluation.oracle import Inputs, draw, reads
from argus.evaluation.requests import contiguous_facts
from argus.evaluation.simulate import interpret
from argus.interpret import Fault
from argus.ir.expr import holds, symbols
from argus.ir.program import Program
from argus.kernels.library import Argument
from argus.lang.kernel import Kernel, literal
from argus.requests import Request, placed_program, tile_program

DEFAULT_SIZE = 256
"""Of a dimension that has no other."""
DEFAULT_ELEMENTS = 1 << 20
"""Elements of all tensors, at most, where sizes are not given: those are smaller then.
"""


@dataclass(frozen=True)
class Observation:
    """What a run without a reference shows, by output.

    ``bytes``: how much memory it takes, at most.
    """

    outputs: Mapping[str, Statistics]
    changed: tuple[str, ...]
    faults: tuple[Fault, ...]
    bytes: int

    @property
    def ok(self) -> bool:
        """Whether nothing is certainly wrong: a kernel may leave elements alone."""
        return not self.faults and not self.changed


def sizes_of(
    kernel: Kernel, given: Mapping[str, int], statics: Mapping[str, object]
) -> dict[str, int]:
    """A size for every dimension: given, static, or `DEFAULT_SIZE`.

    Raises ArgusError AG0908 for a dimension that the kernel does not have.
    """
    signature = kernel.signature
    for name in given:
        if name not in signature.dims:
            raise fail(
                "AG0908",
                None,
                f"kernel `{kernel.name}` has no dimension `{name}`",
                help=f"its dimensions are {', '.join(signature.dims)}",
            )
    sizes: dict[str, int] = {}
    defaults = {s.name: s.default for s in signature.statics}
    for dim in signature.dims:
        fixed = statics.get(dim, literal(defaults.get(dim)))
        known = fixed if isinstance(fixed, int) else DEFAULT_SIZE
        sizes[dim] = given.get(dim, known)
    return sizes


def admitted(
    request: Request, sizes: Mapping[str, int], given: Mapping[str, int]
) -> tuple[Request, dict[str, int]]:
    """The specialisation at sizes that the kernel's requirements admit, and the sizes.

    ``sizes`` are those that `sizes_of` says; others than the ``given`` ones are changed
    until they are admitted, and made smaller until tensors have at most
    `DEFAULT_ELEMENTS` elements, if they can. Raises ArgusError AG0808 where none were
    found, and what parsing finds.
    """
    kernel = request.kernel
    program = tile_program(replace(request, facts=dict.fromkeys(request.facts, 1)))
    chosen = admitted_sizes(program, given)
    whole = {**sizes, **chosen}
    shapes = {
        t.name: tuple(whole[d] if isinstance(d, str) else d for d in t.dims)
        for t in kernel.signature.tensors
        if t.name in request.dtypes
    }
    return replace(request, facts=contiguous_facts(kernel, shapes)), whole


def admitted_sizes(
    program: Program, given: Mapping[str, int], most: int = DEFAULT_ELEMENTS
) -> dict[str, int]:
    """Sizes that a typed program admits: the ``given`` ones, others `DEFAULT_SIZE`.

    Others are smaller where tensors would have more than ``most`` elements, if they can
    be. Raises ArgusError AG0808 where none were found.
    """
    chosen: dict[str, int] | None = None
    usual = DEFAULT_SIZE
    while usual:
        made = with_others_small(program, given, usual)
        if made is not None and all(made.get(d, n) == n for d, n in given.items()):
            chosen = made
            if elements_of(program, made) <= most:
                break
        usual //= 2
    if chosen is None:
        raise not_admitted(program, given)
    return chosen


def not_admitted(program: Program, given: Mapping[str, int]) -> ArgusError:
    """What to raise where no sizes beside the given ones were found: AG0808.

    It names the requirement that refuses them, where one does alone.
    """
    if not given:
        missing = f"no sizes were found that `{program.name}` admits"
        help_ = "give some: --size DIM=N"
        return fail("AG0808", None, missing, notes=_required(program), help=help_)
    for one in program.requirements:
        used = {s.name for s in symbols(one.cond)}
        if used <= given.keys() and not holds(one.cond, given):
            said, why = one.refused(given)
            return fail("AG0808", one.span, f"`{program.name}`: {said}", notes=[why])
    at = ", ".join(f"{d}={n}" for d, n in given.items())
    said = f"`{program.name}` does not admit {at}, whatever the other sizes are"
    return fail("AG0808", None, said, notes=_required(program))


def _required(program: Program) -> list[str]:
    return [f"it requires {r.cond}: {r.why}" for r in program.requirements]


def scalars_of(kernel: Kernel, given: Mapping[str, int | float]) -> dict[str, float]:
    """A value for every run-time scalar: given, or its default.

    Raises ArgusError AG0801 where there is neither.
    """
    values: dict[str, float] = {}
    for scalar in kernel.signature.scalars:
        value = given.get(scalar.name, literal(scalar.default))
        if not isinstance(value, int | float):
            raise fail(
                "AG0801",
                scalar.span,
                f"the scalar `{scalar.name}` has no value",
                help=f"give it one: --set {scalar.name}=1",
            )
        values[scalar.name] = float(value) if scalar.dtype.is_float else int(value)
    return values


def arguments_of(
    request: Request, sizes: Mapping[str, int], outputs: list[str]
) -> tuple[Argument, ...]:
    """Tensor arguments of a request. Index tensors stay below every dimension."""
    least = min(sizes.values(), default=1)
    found: list[Argument] = []
    for tensor in request.kernel.signature.tensors:
        dtype = request.dtypes.get(tensor.name)
        if dtype is None:
            continue
        shape = tuple(d if isinstance(d, int) else sizes[d] for d in tensor.dims)
        if tensor.name in outputs:
            found.append(Argument(tensor.name, dtype, shape, "output"))
        elif dtype.is_float:
            found.append(Argument(tensor.name, dtype, shape))
        else:
            found.append(Argument(tensor.name, dtype, shape, "index", least))
    return tuple(found)


def observe(
    request: Request,
    sizes: Mapping[str, int],
    scalars: Mapping[str, float],
    *,
    seed: int = 0,
    on_device: bool = False,
) -> Observation:
    """Run a kernel on random inputs, in the interpreter or on the GPU.

    Raises ArgusError: what compiling, binding and the device find.
    """
    program = placed_program(request)
    arguments = arguments_of(request, sizes, program.outputs)
    # The statistics are taken in 64 bits.
    free = free_memory() if on_device else None
    size = require_memory(arguments, sizes, compared=True, free=free)
    library = TorchArrays(seed) if on_device else NumpyArrays(seed)
    arrays = {a.name: draw(a, library) for a in arguments}
    kept = {a.name: library.copy(arrays[a.name]) for a in arguments if reads(a)}
    inputs = Inputs(library, arguments, arrays, kept)
    faults: tuple[Fault, ...] = ()
    if on_device:
        named = {**arrays, **scalars, **request.statics}
        loaded, values = prepare_call(request.kernel, (), named, checking=False)
        launch_and_wait(loaded.prepare(*values))
    else:
        faults = interpret(program, inputs, scalars, seed=seed).faults
    return Observation(
        {
            a.name: library.statistics(arrays[a.name], a.dtype)
            for a in arguments
            if not reads(a)
        },
        tuple(n for n, k in kept.items() if not library.same(k, arrays[n])),
        faults,
        size,
    )
