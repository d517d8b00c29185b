"""References of the library, the examples and the tutorial: all are traced."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import Given, traced, variable

from argus.equivalence.file_reference import FileReference
from argus.equivalence.references import load, reference_of
from argus.evaluation.requests import contiguous_facts, default_dtypes
from argus.ir.expr import Const, Sym
from argus.ir.memory import GlobalTensor
from argus.ir.program import Program, ScalarParam
from argus.kernels.entry import Case, choose
from argus.kernels.library import LIBRARY
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request, tile_program
from argus.specification import Specification, trace_entry, trace_numpy
from argus.terms import Unknown, World
from argus.terms.evaluate import evaluate, evaluate_value

ROOT = Path(__file__).parents[2]
FILES = sorted(
    p
    for folder in ("examples", "docs/tutorial")
    for p in (ROOT / folder).glob("*.py")
    if "@ag.reference" in p.read_text()
)


def program_of(kernel: Kernel) -> Program:
    return tile_program(Request(kernel, default_dtypes(kernel, {}), {}, "sm_90a", {}))


def kernels() -> list[tuple[Path, str]]:
    found: list[tuple[Path, str]] = []
    for path in FILES:
        for kernel in load_kernels(path).kernels.values():
            if reference_of(kernel) is not None:
                found.append((path, kernel.name))
    return found


@pytest.mark.parametrize(("path", "name"), kernels(), ids=lambda v: str(v)[-25:])
def test_files(path: Path, name: str) -> None:
    kernel = load_kernels(path).kernels[name]
    declared = reference_of(kernel)
    assert declared is not None
    reference = load(declared)
    world = World()
    given = trace_numpy(
        reference.function, program_of(kernel), world, source=path.read_text()
    )
    program = program_of(kernel)
    assert set(given.outputs) == set(program.outputs)
    agrees(given, world, program, reference.function)


SIZES = {
    "conv2d": {"B": 2, "H": 3, "W": 4, "M": 24, "N": 5, "K": 288},
    "rope": {"T": 3, "H": 2, "F": 64},
    "rotated_pairs": {"S": 3, "F": 64},
    "from_four_bits": {"M": 3, "K": 5, "N": 10},
    "pixel_shuffle": {"N": 2, "H": 3, "V": 6},
    "features_to_heads": {"B": 2, "S": 3, "H": 2, "E": 128},
    "overlap_add": {"T": 3, "W": 5, "L": 133},
}
"""Sizes of which one follows from others."""


def agrees(given: Specification, world: World, program: Program, function: Any) -> None:
    """At small sizes that the reference admits, numpy gives the same elements."""
    names = sorted(
        {
            e.name
            for t in program.params
            if isinstance(t, GlobalTensor)
            for e in t.shape
            if isinstance(e, Sym)
        }
    )
    free = SIZES.get(program.name, dict.fromkeys(names, 0))
    for number in itertools.count(3):
        assert number < 50, "no small sizes that the reference admits"
        env = {n: free.get(n) or number + i for i, n in enumerate(names)}
        point = {variable(world.size(n)): k for n, k in env.items()}
        if all(_fits(need.where, point) for need in given.needs):
            break
    arrays = _arrays(program, env)
    scalars: dict[str, Any] = {
        p.name: 0.5 if p.dtype.startswith("f") else 2
        for p in program.params
        if isinstance(p, ScalarParam)
    }
    known = {**program.statics, **env, **scalars, **arrays}
    named = {n: known[n] for n in given.taken}
    wanted = function(**{n: v.copy() if n in arrays else v for n, v in named.items()})
    results = wanted if isinstance(wanted, tuple) else (wanted,)
    data = {**arrays, **{n: np.array(x) for n, x in scalars.items()}}
    for array, right in zip(given.outputs.values(), results, strict=True):
        where = [world.fresh("at", 0, n) for n in array.sizes]
        value = array.at(where)
        shape = tuple(int(evaluate(n, point, Given(arrays))) for n in array.sizes)
        assert shape == right.shape
        rng = np.random.default_rng(0)
        for _ in range(20):
            index = tuple(int(rng.integers(0, n)) for n in shape)
            here = {
                **point,
                **dict(zip(map(variable, where), index, strict=True)),
            }
            got = evaluate_value(value, here, Given(data))
            assert got == pytest.approx(float(right[index]), rel=1e-9)


def _fits(where: Any, point: Any) -> bool:
    from argus.terms.evaluate import holds_at

    return where is None or holds_at(where, point, Given({}))


def _arrays(program: Program, env: dict[str, int]) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for tensor in program.params:
        if not isinstance(tensor, GlobalTensor):
            continue
        shape = [
            int(e.value) if isinstance(e, Const) else env[str(e)] for e in tensor.shape
        ]
        if tensor.dtype.is_float:
            found[tensor.name] = rng.uniform(0.5, 1.5, shape)
        else:
            found[tensor.name] = rng.integers(0, min(env.values()), shape)
    return found


def cases() -> list[tuple[str, Case]]:
    found: list[tuple[str, Case]] = []
    for entry in LIBRARY.values():
        seen: set[Any] = set()
        for case in entry.small:
            words = frozenset(o for o in case.options if o.islower())
            if words not in seen:
                seen.add(words)
                found.append((entry.name, case))
    return found


def entry_of(name: str, case: Case, world: World) -> Specification:
    entry = LIBRARY[name]
    choice = choose(entry, case, entry.targets[0])
    types = {a.name: a.dtype for a in entry.arguments(case)}
    shapes = {a.name: a.shape for a in entry.arguments(case)}
    facts = contiguous_facts(choice.kernel, shapes)
    program = tile_program(
        Request(choice.kernel, types, choice.statics, entry.targets[0], facts)
    )
    if isinstance(entry.reference, FileReference):
        made = load(entry.reference.declared)
        text = "\n".join(entry.reference.declared.env.source.lines)
        return trace_numpy(
            made.function, program, world, source=text, optional=made.optional
        )
    fixed = {"E"} if name == "grouped" else ()  # a loop over the experts of the case
    return trace_entry(entry.reference, program, case, world, fixed)


@pytest.mark.parametrize(("name", "case"), cases(), ids=lambda v: getattr(v, "name", v))
def test_library(name: str, case: Case) -> None:
    world = World()
    given = entry_of(name, case, world)
    assert given.outputs
    for array in given.outputs.values():
        array.at([world.fresh("at", 0, n) for n in array.sizes])


def test_the_library_s_attention_is_softmax() -> None:
    entry = LIBRARY["attention"]
    world = World()
    given = entry_of("attention", entry.small[0], world)
    where = [world.variable(v, 0, world.size(n)) for v, n in zip("bhsd", "BHSD")]
    text = str(given.outputs["O"].at(where))
    assert "exp(" in text and "V[b, (h // (H // G))" in text


def test_scalars_and_statics_are_given_by_name() -> None:
    kernel = load_kernels(ROOT / "examples" / "layernorm.py").kernels
    program = program_of(next(iter(kernel.values())))

    def reference(X: Any, eps: Any) -> Any:
        return X * eps

    world = World()
    given = trace_numpy(reference, program, world)
    assert given.taken == {"X", "eps"}
    (array,) = given.outputs.values()
    where = [world.fresh("at", 0, n) for n in array.sizes]
    assert "eps" in str(array.at(where))


def test_what_a_reference_may_not_do() -> None:
    program = program_of(
        next(iter(load_kernels(ROOT / "examples" / "layernorm.py").kernels.values()))
    )

    def random(X: Any) -> Any:
        return X + np.random.default_rng(0).normal()

    def sorts(X: Any) -> Any:
        return np.sort(X, axis=-1)

    def imports(X: Any) -> Any:
        import functools

        return functools.reduce(lambda a, b: a + b, [X])

    def fails(X: Any) -> Any:
        raise ValueError("no")

    def fewer(X: Any) -> Any:
        return X.sum(0)

    def unknown(X: Any) -> Any:
        return {"Other": X}

    told = {
        random: "np.random", sorts: "np.sort", imports: "imports functools",
        fails: "ValueError: no", fewer: "dimensions", unknown: "no output",
    }  # fmt: skip
    for function, text in told.items():
        with pytest.raises(Unknown, match=text):
            trace_numpy(function, program, World())


@pytest.mark.parametrize("text", [str, lambda n: f"{n}", "%s".__mod__])
def test_a_size_has_no_text(text: Callable[[Any], str]) -> None:
    """What is decided by it would be decided by how the size is called here."""
    with pytest.raises(Unknown, match="text"):
        traced(lambda X: X if text(X.shape[0]) == "7" else 2 * X, {"X": "M N"})
