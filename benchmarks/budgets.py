"""Register budgets at their edge, on the GPU: what fits returns, what does not hangs.

    python benchmarks/budgets.py --out FOLDER            table, and FOLDER/budgets.json
    python benchmarks/budgets.py --out FOLDER --compile  without a GPU: build only

Kernels of two to four roles, with and without budgets, one or two resident blocks: the
budgets just fit what the block is launched with, or ask for 8 registers more. Those
that fit are compiled as for a caller; a sample of the others is printed by the same
printer, with the check of placing left out. Each launch has a watchdog; one that does
not return costs its process, and the next process goes on behind it. `Case.says` is
what Argus says, `outcome` what the GPU does: "right", "wrong", "hangs", or an error.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from budget_variants import RAW

TARGET = "sm_90a"
WATCHDOG = 1.5
"""Seconds after which a launch of some microseconds has hung."""
SHAPES = (
    (4, 4), (4, 8), (8, 4), (8, 8), (1, 4), (2, 8), (3, 4, 4), (4, 4, 4), (4, 4, 8),
    (8, 4, 4), (4, 8, 4), (4, 8, 8), (8, 8, 8), (4, 4, 4, 4), (1, 4, 4, 4),
    (4, 4, 4, 8), (4, 8, 8, 8), (8, 8, 8, 8),
)  # fmt: skip
"""Warps of the roles that have budgets."""
BESIDE = ((4, 4), (4, 8), (4, 4, 4), (1, 8))
"""Of these, also with a role of 1 to 4 warps without a budget, in front and behind."""


@dataclass
class Case:
    """A kernel: its roles, and what became of it."""

    name: str
    roles: list[tuple[int, int | None]] = field(default_factory=list)
    min_blocks: int = 1
    says: str = ""
    launched: int = 0
    """Registers per thread, of the machine code."""
    outcome: str = "not run"
    job: dict[str, Any] = field(default_factory=dict)


def cases(sample: int) -> list[Case]:
    """All that fit exactly, and ``sample`` of those that ask for a little more."""
    rng = random.Random(0)
    fits: list[Case] = []
    beyond: list[Case] = []
    kinds = [(shape, None, False) for shape in SHAPES]
    kinds += [(s, w, front) for s in BESIDE for w in range(1, 5) for front in (0, 1)]
    for shape, extra, front in kinds:
        for blocks in (1, 2):
            for number in range(2):
                made = _split(rng, shape, extra, bool(front), blocks)
                if made is None:
                    continue
                fits.append(Case(f"fits {len(fits)}", made, blocks))
                more = _raised(rng, made)
                if number == 0 and more is not None:
                    beyond.append(Case(f"beyond {len(beyond)}", more, blocks))
    rng.shuffle(beyond)
    issue = [(4, 80), (8, 216)]
    known = [Case("fits: 72 + 2 x 216", [(4, 72), (8, 216)])]
    return known + fits + [Case("beyond: 80 + 2 x 216", issue), *beyond[:sample]]


def _split(
    rng: random.Random, shape: tuple[int, ...], extra: int | None, front: bool, mb: int
) -> list[tuple[int, int | None]] | None:
    """Budgets that share out exactly what the warpgroups are launched with."""
    from argus.isa.registers import at_launch, held
    from argus.targets import TARGETS

    groups = [-(-warps // 4) for warps in shape]
    # As placing deals out warps: budgets take whole warpgroups.
    padded = 4 * sum(groups)
    warps = padded + ((4 if front else extra) if extra else 0)
    if warps > 32 or warps * mb > 64:
        return None
    entry = held(at_launch(warps, mb, TARGETS["sm_90a"]))
    left = entry * sum(groups)
    counts: list[int] = []
    for at, n in enumerate(groups):
        rest = sum(groups[at + 1 :])
        low = max(24, -(-(left - 256 * rest) // n // 8) * 8)
        high = min(256, (left - 24 * rest) // n // 8 * 8)
        if low > high:
            return None
        last = at == len(groups) - 1
        counts.append(high if last else rng.randrange(low, high + 1, 8))
        left -= n * counts[-1]
    roles: list[tuple[int, int | None]] = list(zip(shape, counts, strict=True))
    if extra:
        roles.insert(0 if front else len(roles), (extra, None))
    return roles


def _raised(
    rng: random.Random, roles: list[tuple[int, int | None]]
) -> list[tuple[int, int | None]] | None:
    """Eight registers more for one role; None if all have the most there is."""
    able = [
        i for i, (_, count) in enumerate(roles) if count is not None and count < 256
    ]
    if not able:
        return None
    chosen = rng.choice(able)
    return [
        (w, c + 8 if i == chosen and c is not None else c)
        for i, (w, c) in enumerate(roles)
    ]


# ------------------------------------------------------------------------ compiling


def _text(case: Case) -> str:
    lines = [
        "import argus as ag",
        "from argus import f32",
        "",
        "",
        "@ag.kernel",
        'def budgets(Y: f32["M N"]):',
        f"    ag.launch(min_blocks={case.min_blocks})",
        "    M, N = Y.shape",
        f"    (b,) = ag.block(ag.cdiv(M, {8 * len(case.roles)}))",
    ]
    for i, (warps, count) in enumerate(case.roles):
        budget = "" if count is None else f", registers={count}"
        at = f"b * {8 * len(case.roles)} + {8 * i}"
        lines.append(f'    with ag.role("r{i}", warps={warps}{budget}):')
        lines.append(f"        Y[{at} :, 0:] = ag.full((8, 128), {i + 1}.0, f32)")
    return "\n".join(lines) + "\n"


def compiled(case: Case) -> Case:
    """What Argus says of a case, and its machine code, whether it fits or not."""
    from argus.codegen import emit
    from argus.diagnostics import ArgusError
    from argus.ir.dtypes import f32
    from argus.ir.launch import PointerArg, SymArg
    from argus.lang.kernel import load_kernels
    from argus.lower import roles
    from argus.requests import Request, placed_program
    from argus.runtime.build import BuildOptions, build
    from argus.verify.order import obligations

    if case.name in RAW:
        variant = RAW[case.name]
        options = BuildOptions(registers=variant.registers)
        case.says = variant.says
        try:
            cubin = build(variant.source, TARGET, options)
        except ArgusError as error:
            case.outcome = f"{error.code}, not built"
            return case
        case.launched = cubin.usage.registers
        pointer: list[list[Any]] = [["pointer"]]
        case.job = _job(case, cubin.image.hex(), "k", variant.threads, pointer, 0)
        return case
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "budgets.py"
        path.write_text(_text(case))
        (kernel,) = load_kernels(path).kernels.values()
        request = Request(kernel, {"Y": f32}, {}, TARGET)
        try:
            program = placed_program(request)
            case.says = "fits"
        except ArgusError as error:
            case.says = error.code
            check, roles._check_sum = roles._check_sum, lambda *_: None  # type: ignore[attr-defined]
            program = placed_program(request)
            roles._check_sum = check  # type: ignore[attr-defined]
        found = {x.verdict.name.lower() for x in obligations(program)}
        worst = min(found, key=["refuted", "unknown", "proved"].index, default="proved")
        case.says += f", {worst}"
        source = emit(program)
        spec = source.spec
        if spec.shared_bytes or spec.tensor_maps:
            raise ValueError(f"{case.name} needs more than the runner gives it")
        cubin = build(source.text, TARGET, BuildOptions(registers=spec.registers))
    case.launched = cubin.usage.registers
    rows = len(case.roles)
    args: list[list[Any]] = []
    for arg in spec.args:
        match arg:
            case PointerArg():
                args.append(["pointer"])
            case SymArg():
                args.append([arg.bits, arg.sym.name])
            case _:
                raise ValueError(f"{case.name}: {arg}")
    case.job = _job(case, cubin.image.hex(), spec.entry, spec.threads, args, rows)
    return case


def _job(
    case: Case, image: str, entry: str, threads: int, args: list[list[Any]], rows: int
) -> dict[str, Any]:
    return {
        "image": image,
        "entry": entry,
        "threads": threads,
        "args": args,
        "rows": rows,
        "blocks": case.min_blocks,
    }


# ------------------------------------------------------------------------- launching


def _launch_all(jobs: list[Case], deadline: float, folder: Path) -> None:
    """Launch each, in a process that is given up where one hangs."""
    todo = folder / "jobs.json"
    todo.write_text(json.dumps([case.job for case in jobs]))
    runner = str(Path(__file__).with_name("budget_runner.py"))
    start = 0
    while start < len(jobs) and time.time() < deadline:
        command = [sys.executable, runner, str(todo), str(start), str(WATCHDOG)]
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert child.stdout is not None
        before, said = start, ""
        for line in child.stdout:  # a runner that hangs ends itself
            said = line.strip() or said
            if line.startswith("{"):
                answer = json.loads(line)
                jobs[start].outcome = answer["outcome"]
                start += 1
            if time.time() > deadline:
                break
        try:
            child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            child.kill()
        if start == before:
            jobs[start].outcome = f"the runner ended: {said[:200]}"
            start += 1


def main() -> None:
    """Compile, launch, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=20, help="of those that hang")
    parser.add_argument("--seconds", type=float, default=220)
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    deadline = time.time() + args.seconds
    made = cases(args.sample) + [Case(name) for name in RAW]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(compiled, made, chunksize=4))
    print(
        f"{len(made)} kernels, {args.seconds - deadline + time.time():.0f} s to build"
    )
    if not args.compile:
        with tempfile.TemporaryDirectory() as folder:
            _launch_all([c for c in made if c.job], deadline, Path(folder))
    counts: dict[tuple[str, str, str], int] = {}
    for case in made:
        kind = case.name if case.name in RAW else case.name.partition(" ")[0].strip(":")
        key = (kind, case.says, case.outcome)
        counts[key] = counts.get(key, 0) + 1
    print(f"{'kernels':44} {'Argus says':36} {'GPU':20} count")
    for (kind, says, outcome), count in counts.items():
        print(f"{kind:44} {says:36} {outcome:20} {count}")
    odd = [
        case
        for case in made
        if case.name not in RAW
        and case.outcome != ("right" if case.says.startswith("fits") else "hangs")
    ]
    for case in odd if not args.compile else ():
        print("NOT AS SAID:", case.name, case.roles, case.says, case.outcome)
    rows = [asdict(case) | {"job": None} for case in made]
    (args.out / "budgets.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
