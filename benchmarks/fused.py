"""What changes where products are fused with sums, as NVRTC fuses them. No GPU.

    python benchmarks/fused.py [library] [forms] [modules] [--only A,B] [--cases 2]

Each kernel runs in the interpreter as it is placed, and with every product in a sum
that the printed text allows to be fused (`tests/contraction.py`), on inputs on which
rounding shows (`tests/hard_inputs.py`). Library: small cases of all entries. Forms: the
other files of a family, at the same. Modules: those of `tests/programs`, and more.

Prints what differs by more than rounding, and exits with 1 if something does. Of
modules it also prints where a result is not finite and torch's is: huge numbers
overflow in some order.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:1] = [str(ROOT / "src"), str(ROOT / "tests")]  # not this folder

import numpy as np  # noqa: E402

from argus.diagnostics import ArgusError  # noqa: E402
from argus.kernels.entry import KernelChoice  # noqa: E402
from argus.kernels.library import LIBRARY  # noqa: E402
from argus.kernels.space import source_text  # noqa: E402
from argus.lang.kernel import load_kernels  # noqa: E402
from contracted_runs import compared_runs, differs  # noqa: E402
from contraction import contracted  # noqa: E402
from hard_inputs import HARD, hard  # noqa: E402

PARTS = ("library", "forms", "modules")


def main() -> int:
    """Run what is asked for; what differs is a line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--only", default="", metavar="A,B", help="of these names")
    parser.add_argument("--cases", type=int, default=2, help="of each entry")
    args = parser.parse_args()
    only = {*filter(None, args.only.split(","))}
    runs = {"library": library, "forms": forms, "modules": modules}
    wrong = 0
    for part in args.parts or PARTS:
        for name, found in runs[part](only, args.cases):
            wrong += len(found)
            print(f"{part} {name}: {len(found) or 'nothing'} differs", flush=True)
            for line in found:
                print(f"  {line}", flush=True)
    return int(bool(wrong))


def library(only: set[str], cases: int) -> Iterator[tuple[str, list[str]]]:
    """Small cases of the library's entries."""
    for name, entry in LIBRARY.items():
        if not only or name in only:
            found = [compared_runs(entry, c, tuple(HARD)) for c in entry.small[:cases]]
            yield name, [line for lines in found for line in lines]


def forms(only: set[str], cases: int) -> Iterator[tuple[str, list[str]]]:
    """The forms of each design space, with the knobs that each begins with."""
    from argus.agent.spaces import SPACES

    for space in SPACES.values():
        for (name, entry), form in product(space.entries.items(), space.forms.values()):
            if only and name not in only:
                continue
            text = source_text(form.package, form.file)
            kernel = load_kernels(form.file, text).kernels[form.kernel]
            found: list[str] = []
            for case in entry.small[:cases]:
                scalars = entry.choose(case, entry.targets[0]).scalars
                choice = KernelChoice(kernel, form.defaults, scalars)
                held = replace(entry, choose=lambda *_, made=choice: made)
                try:
                    found += compared_runs(held, case, tuple(HARD))
                except (ArgusError, AssertionError) as error:
                    said = str(error).splitlines()[0]
                    print(f"  not run: {name} {form.name} {case.name}: {said}")
            yield f"{name} {form.name}", found


def _further() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Functions of torch in which products meet in sums, with inputs."""
    import torch
    from torch.nn import functional as f

    from programs.modules import random

    x, y, long = random(7, 40), random(7, 40).flip(0), random(3, 9000)
    q, k = random(1, 2, 40, 32), random(1, 2, 70, 32)
    hidden = torch.arange(70) < torch.arange(40)[:, None] + 20

    def masked(q: Any, k: Any, v: Any) -> Any:
        scores = (q @ k.transpose(-1, -2)) * 0.17
        return scores.masked_fill(hidden, -1e30).softmax(-1) @ v

    def softmaxes(x: Any) -> Any:
        s = x * 0.37
        return s.softmax(-1), s.log_softmax(-1), torch.logsumexp(s, 1)

    def rotations(x: Any, y: Any) -> Any:
        cross: Any = x * y.flip(1) - y * x.flip(1)
        return cross, torch.exp(cross), torch.sqrt(x * x - y * y), torch.hypot(x, y)

    return {
        "softmax": (softmaxes, (x,)),
        "softmax of long rows": (softmaxes, (long,)),
        "rotations": (rotations, (x, y)),
        "rotations of one": (rotations, (x, x)),
        "moments": (lambda x: (x.var(1), x.std(0), *torch.var_mean(x)), (x,)),
        "norms": (lambda x: (f.layer_norm(x, (40,)), f.normalize(x, dim=1)), (x,)),
        "batch norm": (lambda x: f.batch_norm(x, None, None, training=True), (x,)),
        "distances": (
            lambda x, y: (torch.cdist(x, y), f.cosine_similarity(x, y)),
            (x, y),
        ),
        "remainders": (lambda x, y: (x % y, torch.fmod(x, y), x // y), (3 * x, x)),
        "attention": (f.scaled_dot_product_attention, (q, k, k)),
        "masked attention": (masked, (q, k, k)),
    }


def modules(only: set[str], cases: int) -> Iterator[tuple[str, list[str]]]:
    """Plans of modules: each kernel as it is placed, and with fused products."""
    import torch

    from argus.programs.planning.plan import plan_of
    from argus.programs.running import execution
    from programs.modules import MODULES, Formula

    del cases
    placed, how = execution.placed_program, {"fused": False, "last": False}

    def program_of(request: Any) -> Any:
        program = placed(request)
        return contracted(program, last=how["last"])[0] if how["fused"] else program

    execution.placed_program = program_of  # what `in_interpreter` asks
    every = {n: (Formula(g).eval(), i) for n, (g, i) in _further().items()}
    every |= {n: (make().eval(), i) for n, (make, i, _) in MODULES.items()}
    for name, (model, inputs) in every.items():
        if (only and name not in only) or sum(x.numel() for x in inputs) > 50_000:
            continue
        plan = plan_of(model, inputs)
        found: list[str] = []
        for manner in HARD:
            given = tuple(_hard(manner, x) for x in inputs)
            with torch.no_grad(), np.errstate(all="ignore"):
                wanted = _each(model(*given))
                results: list[list[Any]] = []
                for fused, last in ((False, False), (True, False), (True, True)):
                    how.update(fused=fused, last=last)
                    own = tuple(x.clone() for x in given)
                    made = execution.run_plan(
                        plan, own, plan.program.tensors, execution.in_interpreter
                    )
                    results.append(_each(made))
            for i, exact in enumerate(results[0]):
                if not np.issubdtype(exact.dtype, np.floating):
                    continue
                if (np.isfinite(wanted[i]) & ~np.isfinite(exact)).any():
                    print(f"  not finite: {name}, {manner}, result {i}")
                for other in results[1:]:
                    said = differs(exact, other[i])
                    found += [f"{manner}: result {i} {said}"] if said else []
        yield name, found


def _hard(manner: str, x: Any) -> Any:
    import torch

    if not x.is_floating_point():
        return x.clone()
    most = float(torch.finfo(x.dtype).max)
    return torch.from_numpy(hard(manner, x.float().numpy(), most)).to(x.dtype)


def _each(results: Any) -> list[Any]:
    made = list(results) if isinstance(results, tuple | list) else [results]
    return [(x.float() if x.is_floating_point() else x).numpy() for x in made]


if __name__ == "__main__":
    raise SystemExit(main())
