"""`argus demo`: the compiler at work on a matrix product.

Says exactly what was done. Without a GPU nothing is timed, and it says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.cli.options import JsonOption
from argus.cli.output import Output, reporting

if TYPE_CHECKING:
    from argus.ir.program import Program
    from argus.kernels.library import LibraryEntry

_NAME = "gemm"


def demo(json_output: JsonOption = False) -> None:
    """Compile a matrix product, run it against its reference, time it on a GPU."""
    with reporting("demo", json_output) as out:
        from argus.evaluation.device import find_device
        from argus.kernels.library import LIBRARY

        entry = LIBRARY[_NAME]
        _compile(out, entry)
        device = find_device()
        if device is None:
            _interpret(out, entry)
        else:
            _measure(out, entry, device.name)


def _step(out: Output, title: str = "") -> None:
    """End what is indented; begin a step, unless without a title."""
    out.margin = 0
    out.line()
    if title:
        out.line(title, style="bold", indent=3)
        out.margin = 3


def _compile(out: Output, entry: LibraryEntry) -> None:
    from argus import compiler, requests
    from argus.cli.subjects import entry_target
    from argus.evaluation.requests import request_for

    case = entry.large[0]
    target = entry_target(entry, None)
    request, _ = request_for(entry, case, target)
    _step(out, f"1. Place {request.kernel.name} for {target}")
    program = requests.placed_program(request)
    inferred = _inferred(program)
    for line in inferred:
        out.line(line, indent=2)
    out.line(f"See all: argus explain {entry.name} --stage placed", style="dim")
    _step(out, "2. Build it with NVRTC, which needs no GPU")
    built = compiler.build(request)
    usage = built.cubin.usage
    out.line(
        f"{len(built.cubin.image)} bytes of machine code, {usage.registers} "
        f"registers, {built.spec.shared_bytes} bytes of shared memory, "
        f"{usage.spill_stores} bytes spilled"
    )
    out.data["kernel"] = request.kernel.name
    out.data["target"] = target
    out.data["inferred"] = list(inferred)
    out.data["registers"] = usage.registers
    out.data["shared_bytes"] = built.spec.shared_bytes
    out.data["spill_stores"] = usage.spill_stores


def _inferred(program: Program) -> list[str]:
    """A few facts that the author did not write."""
    from argus.ir.ops import BarrierWait, CopyAsync, Dot
    from argus.ir.placement import TmaPlan, WgmmaPlan
    from argus.ir.walk import walk
    from argus.isa.registry import lookup

    ops = list(walk(program.body))
    copies = [o.plan for o in ops if isinstance(o, CopyAsync)]
    tma = [p for p in copies if isinstance(p, TmaPlan)]
    dots = [o.plan for o in ops if isinstance(o, Dot)]
    wgmma = {lookup(p.instruction).name for p in dots if isinstance(p, WgmmaPlan)}
    waits = [o for o in ops if isinstance(o, BarrierWait)]
    found = [f"instruction of each product: {name}" for name in sorted(wgmma)]
    if tma:
        boxes = ", ".join(
            f"{'x'.join(map(str, m.box))} of {m.tensor.name}"
            for m in program.tensor_maps
        )
        found.append(f"boxes that TMA copies: {boxes}")
        swizzles = sorted({m.swizzle for m in program.tensor_maps})
        found.append(f"shared tiles swizzled by {', '.join(map(str, swizzles))} bytes")
    barriers = sum(b.count for b in program.barriers)
    found.append(f"{barriers} barriers, {len(waits)} waits with derived parities")
    found.append(
        f"{program.warps} warps, {program.shared_bytes} bytes of shared memory, "
        f"clusters of {program.cluster}"
    )
    reasons = dict.fromkeys(r.why for r in program.requirements)
    found += [f"checked at launch: {why}" for why in reasons]
    return found


def _interpret(out: Output, entry: LibraryEntry) -> None:
    from argus.cli.run import run_entry
    from argus.cli.subjects import SubjectOptions

    case = next(c for c in entry.small if any(o.islower() for o in c.options))
    _step(out, "3. Run a small case in the interpreter")
    selection = SubjectOptions(case=case.name)
    run_entry(out, entry, selection, 0, "the interpreter", on_device=False)
    out.data["where"] = "interpreter"
    out.data["timed"] = False
    _step(out)
    out.line(
        "There is no usable GPU here: the machine code was built but not run, and "
        "nothing was timed. `argus doctor` says what was found.",
    )


def _measure(out: Output, entry: LibraryEntry, device: str) -> None:
    from argus.cli.bench import show_record
    from argus.cli.proving import proved_first
    from argus.cli.run import run_entry
    from argus.cli.subjects import SubjectOptions
    from argus.evaluation.bench import bench
    from argus.evaluation.device import require_device
    from argus.evaluation.report import record_json
    from argus.evaluation.requests import request_for
    from argus.runtime.driver import target_of

    _step(out, "3. Run it on the GPU")
    run_entry(out, entry, SubjectOptions(), 0, device, on_device=True)
    _step(out, "4. Time it beside its baseline")
    case = entry.large[0]
    target = target_of(require_device("timing")).name
    claim = proved_first(out, request_for(entry, case, target)[0], case.name, False)
    record = bench(entry, case, device)
    show_record(out, record, claim)
    out.data["where"] = "gpu"
    out.data["device"] = device
    out.data["timed"] = True
    out.data["record"] = record_json(record)
