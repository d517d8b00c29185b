"""A kernel and its reference as terms, compared for all sizes.

    found = decided(request, declared)

The tile program becomes terms by `argus.verify.denotation`, the reference, which is run
on symbolic arrays, by `argus.specification`.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from argus.diagnostics import ArgusError
from argus.equivalence.deciding import (
    SECONDS,
    Decided,
    LimitedWorld,
    open_,
    told,
)
from argus.equivalence.fitting import require_fitting
from argus.equivalence.programs import Programs, programs_of
from argus.equivalence.references import load
from argus.ir import ops as o
from argus.ir.expr import Const
from argus.ir.program import Program, ScalarParam
from argus.lang.frontend.module import FunctionDecl
from argus.lang.kernel import Kernel, literal
from argus.requests import Request
from argus.specification import Need, trace_numpy
from argus.terms import Unknown
from argus.verify.denotation import Denotation, denote
from argus.verify.equality import decide
from argus.verify.equality.coverage import positions
from argus.verify.equality.stored import shape_of

__all__ = ["decided"]


def decided(
    request: Request,
    declared: FunctionDecl,
    seconds: float = SECONDS,
    programs: Programs | None = None,
) -> Decided:
    """Compare a kernel with its reference.

    ``programs``: those of the request, if they are known already. Raises ArgusError of
    parsing and placing.
    """
    begin = time.process_time()
    programs = programs or programs_of(request)
    program = programs.tile
    world = LimitedWorld(seconds)
    try:
        require_fitting(program, programs.placed)
        reference = load(declared)
        program, axioms = _with_defaults(program, request.kernel, reference.parameters)
        mine = denote(program, world)
        if mine.unknown is not None and not mine.stores:
            raise mine.unknown
        noted = len(world.obligations)
        text = "\n".join(declared.env.source.lines)
        given = trace_numpy(reference.function, program, world, source=text)
        _require_defined(mine, world, given.needs)
        found = decide(mine, given.outputs, given.taken, noted=noted)
    except (Unknown, RecursionError, ArgusError) as why:
        return open_(why, begin)
    needs = (
        f"the reference does not fail: {n.why}" for n in given.needs if n.where is None
    )
    return told(found, (*axioms, *found.axioms, *given.assumptions, *needs), begin)


def _require_defined(
    mine: Denotation, world: LimitedWorld, needs: Sequence[Need]
) -> None:
    """Raises Unknown where outputs have elements and the reference is not defined.

    A need that sets cannot say is an axiom.
    """
    outputs = {s.tensor.name: s.tensor for s in mine.stores}.values()
    known = [need.where for need in needs if need.where is not None]
    with world.without(known):
        for tensor in outputs if needs else ():
            sizes = shape_of(world, tensor)
            _, inside = positions(world, tensor.dims, sizes)
            for need in needs:
                if need.where is not None and not world.is_subset(inside, need.where):
                    raise Unknown(
                        f"the reference needs that {need.why}, which the kernel does "
                        "not require of its launches"
                    )


def _with_defaults(
    program: Program, kernel: Kernel, taken: Collection[str]
) -> tuple[Program, tuple[str, ...]]:
    """The program at the defaults of scalars that a reference does not take.

    Raises Unknown for one without a default.
    """
    lets: list[o.AnyOp] = []
    axioms: list[str] = []
    defaults = {s.name: literal(s.default) for s in kernel.signature.scalars}
    for param in program.params:
        if not isinstance(param, ScalarParam) or param.name in taken:
            continue
        value = defaults.get(param.name)
        if not isinstance(value, int | float):
            raise Unknown(f"the reference does not take the scalar `{param.name}`")
        number = float(value) if param.dtype.startswith("f") else int(value)
        lets.append(o.Let(param.sym, Const(number), span=program.span))
        axioms.append(f"{param.name} is {number:g}, as the reference does not take it")
    if not lets:
        return program, ()
    return replace(program, body=o.Block([*lets, *program.body.ops])), tuple(axioms)
