"""Tasks from a kernel file of the user that has a reference function.

The file is parsed for its kernel. It is not executed here: its reference is, later, in
the judge's process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from argus.agent.spaces import SPACES
from argus.agent.statics import tried
from argus.diagnostics import fail
from argus.evaluation.judge.knobs import settled
from argus.evaluation.loose import (
    admitted_sizes,
    arguments_of,
    scalars_of,
    sizes_of,
)
from argus.evaluation.requests import (
    contiguous_facts,
    default_dtypes,
    named_dtypes,
)
from argus.files.reading import Reader
from argus.ir.dtypes import DTYPES, DType
from argus.lang.kernel import Kernel, Module, load_kernels
from argus.requests import Request, target_named, tile_program
from argus.runs.records import Candidate, FileProblem, Task
from argus.targets import DEFAULT_TARGET

_ELEMENTS = 1 << 24
"""Elements of all tensors, at most, where sizes are not given: a judge fills them."""


def file_task(
    path: str | os.PathLike[str],
    sizes: Mapping[str, int] | None = None,
    dtypes: Mapping[str, str] | None = None,
    kernel: str | None = None,
    *,
    scalars: Mapping[str, float] | None = None,
    target: str | None = None,
    text: str | None = None,
    settle: bool = True,
) -> Task:
    """The task of making a file's kernel faster.

    ``sizes`` by dimension, about 256 where nothing is said, as the kernel admits;
    ``dtypes`` by tensor, the first of its types where nothing is said; ``kernel`` where
    the file has several; ``text`` is what the file holds, where that was read already.
    ``settle``: find out which static parameters change the result; without, all numbers
    are searched.

    Raises ArgusError: AG0901 and AG0902 (the file), AG0908 (no such kernel, or several
    and none is named), AG1018 (no ``@ag.reference`` function for it), AG0908 (sizes and
    types that it does not have), AG0801 (a scalar without a value), AG0808 (no sizes
    that it admits), AG0601, and what reading and typing the kernel find.
    """
    where = Path(path)
    if text is None:
        text = Reader().read(str(where))
    module = load_kernels(where.name, text)
    chosen = _kernel(module, kernel)
    _require_reference(module, chosen)
    types = default_dtypes(chosen, named_dtypes(chosen, dtypes or {}))
    whole = sizes_of(chosen, dict(sizes or {}), {})
    for name, value in whole.items():
        if value < 1:
            raise fail("AG0908", None, f"the size {name}={value} is not positive")
    values = scalars_of(chosen, dict(scalars or {}))
    name = target_named(target or DEFAULT_TARGET).name
    program = tile_program(Request(chosen, types, {}, name))
    whole |= admitted_sizes(program, dict(sizes or {}), _ELEMENTS)
    used = {d for t in chosen.signature.tensors if t.name in types for d in t.dims}
    kept = {k: v for k, v in whole.items() if k in used}
    problem = FileProblem(
        name=where.name,
        kernel=chosen.name,
        reference=text,
        sizes=kept,
        dtypes={n: t.name for n, t in types.items()},
        scalars=values,
        target=name,
    )
    _start(chosen, problem)
    # A window or a mask is no size of a tile: what changes the result stays.
    settled_ones = settled(problem, tried(problem)) if settle else {}
    problem = problem.model_copy(update={"settled": settled_ones})
    start = _start(chosen, problem)
    return Task(
        name=f"{where.name}:{chosen.name} "
        + " ".join(f"{k}={v}" for k, v in kept.items()),
        problem=problem,
        start=start,
        family="statics",
        features={
            "entry": chosen.name,
            "target": name,
            "dtype": next(iter(types.values())).name,
            **kept,
            "bytes": _bytes(chosen, problem, types),
            **start.design,
        },
    )


def _kernel(module: Module, name: str | None) -> Kernel:
    known = ", ".join(module.kernels)
    if name is None and len(module.kernels) > 1:
        raise fail(
            "AG0908",
            None,
            f"`{module.file}` has several kernels, and none is named",
            help=f"name one of {known}",
        )
    if name is not None and name not in module.kernels:
        raise fail(
            "AG0908",
            None,
            f"`{module.file}` has no kernel `{name}`",
            help=f"its kernels are {known}",
        )
    return module.kernels[name] if name else next(iter(module.kernels.values()))


def _require_reference(module: Module, kernel: Kernel) -> None:
    names = module.references
    if f"{kernel.name}_reference" in names or "reference" in names or len(names) == 1:
        return
    raise fail(
        "AG1018",
        None,
        f"`{module.file}` has no reference for `{kernel.name}`",
        notes=[
            "a faster kernel is judged by whether it still computes the same, so what "
            "it shall compute must be said"
        ],
        help=f"mark a function `{kernel.name}_reference` with `@ag.reference`",
    )


def _start(kernel: Kernel, problem: FileProblem) -> Candidate:
    """The kernel as it is, once it has been typed at these sizes."""
    tile_program(_request(kernel, problem))
    family = SPACES["statics"]
    return family.candidate(family.start(problem), problem)


def _request(kernel: Kernel, problem: FileProblem) -> Request:
    shapes = {
        t.name: tuple(d if isinstance(d, int) else problem.sizes[d] for d in t.dims)
        for t in kernel.signature.tensors
        if t.name in problem.dtypes
    }
    return Request(
        kernel,
        {n: DTYPES[t] for n, t in problem.dtypes.items()},
        {
            s.name: problem.sizes[s.name]
            for s in kernel.signature.statics
            if s.name in problem.sizes
        },
        problem.target,
        contiguous_facts(kernel, shapes),
    )


def _bytes(kernel: Kernel, problem: FileProblem, types: Mapping[str, DType]) -> int:
    """Bytes of all arguments: what must be moved at least once."""
    request = _request(kernel, problem)
    total = 0
    for argument in arguments_of(request, problem.sizes, []):
        count = 1
        for n in argument.shape:
            count *= n
        total += count * types[argument.name].bytes
    return total
