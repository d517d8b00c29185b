"""What can be shown of a candidate: its proof, its stages, and what it would spend.

    told = inspected(job, enter)        in the candidate's own process

``job.view`` says what is wanted. Nothing is run and nothing is judged: a kernel that is
wrong can be looked at, too. What reading or compiling it finds is in "findings".
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from argus.compiler import build, cuda_source, prove
from argus.diagnostics import ArgusError
from argus.evaluation.disassembly import sass
from argus.evaluation.judge import findings as say
from argus.evaluation.judge.candidate import CANDIDATE, request_of
from argus.evaluation.judge.checking import Enter, predicted
from argus.evaluation.judge.limits import Job
from argus.evaluation.judge.subject import Subject, subject_of
from argus.evaluation.specialised import specialised_of
from argus.ir.printer import print_program
from argus.requests import Request, placed_program, tile_program
from argus.verify.performance import measure
from argus.verify.render.data import report_json

if TYPE_CHECKING:
    from argus.verify.performance import PerformanceFinding

_OPCODE = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)")
"""An instruction in the text of nvdisasm: its address, maybe a predicate, its name."""

_KINDS: tuple[tuple[str, str], ...] = (
    ("tensor cores", r"[HQIBD]G?MMA|UTC\w*MMA"),
    ("waiting", r"SYNCS|BAR|B2R|R2B|DEPBAR|LDGDEPBAR|ARRIVES|WARPSYNC|NANOSLEEP|UCGABAR"
     r"_\w+|WARPGROUP|FENCE|MEMBAR|ERRBAR|CCTL|UTMACMDFLUSH|ELECT|WARPGROUPSET"),
    ("bulk copies", r"UTMA\w*|UBLK\w*|LDGSTS"),
    ("shared memory", r"LDS|STS|LDSM|STSM|ATOMS|ST|LD"),
    ("global memory", r"LDG|STG|RED|REDG|ATOM|ATOMG"),
    ("local memory", r"LDL|STL"),
    ("special functions", r"MUFU"),
    ("conversion", r"F2F|F2FP|F2I|I2F|I2FP|FRND|HADD2_32|PRMT"),
    ("floating point", r"F(ADD|MUL|FMA|MNMX|SET|SETP|SEL|CHK|SWZADD)\d*|[HD](ADD2?|MUL2"
     r"?|FMA2?|MNMX2?|SET2?|SETP2?)"),
    ("between threads", r"SHFL|VOTEU?|MATCH|REDUX|MOVM"),
    ("control", r"BRA|BRX|JMP|CALL|RET|EXIT|BSSY|BSYNC|BREAK|BMOV|NOP|YIELD|USETMAXREG"
     r"|KILL|RPCMOV"),
)  # fmt: skip
"""Kinds of instructions by their names in SASS; what is in none is integer work."""

_INTEGER = "integers and addresses"


def inspected(job: Job, enter: Enter) -> dict[str, Any]:
    """The view of a candidate, or ``{"findings": [...]}`` with why there is none."""
    enter("parse")
    try:
        # The reference is not needed, and it is somebody's program.
        subject = subject_of(job.problem, reference=False)
        request = request_of(job.candidate, subject)
        match job.view:
            case "proof":
                return _proof(request, enter)
            case "profile":
                return _profile(request, subject, enter)
            case _:
                return {"text": _text(request, job.view, enter)}
    except ArgusError as error:
        found = say.findings_of(error)
    except (RecursionError, MemoryError) as error:
        found = (say.said("AG1013", f"the compiler gave up: {type(error).__name__}"),)
    return {"findings": [f.model_dump(mode="json") for f in found]}


def _proof(request: Request, enter: Enter) -> dict[str, Any]:
    enter("verify")
    report = prove(request, CANDIDATE).report
    about = specialised_of(request, report.verdict)
    return {"proof": report_json(replace(report, specialised=about))}


def _text(request: Request, view: str, enter: Enter) -> str:
    match view:
        case "tile":
            return print_program(tile_program(request))
        case "placed":
            return print_program(placed_program(request))
        case "cuda":
            return cuda_source(request).text
        case "sass":
            enter("build")
            return sass(build(request).cubin.image)
        case _:
            raise ValueError(f"there is no view {view!r}")


# ------------------------------------------------------------------------- the profile


def _profile(request: Request, subject: Subject, enter: Enter) -> dict[str, Any]:
    program = placed_program(request)
    enter("build")
    built = build(request)
    usage = built.cubin.usage
    facts = measure(program, usage.registers)
    told: dict[str, Any] = {
        "predicted": None,
        "not_predicted": "",
        "occupancy": {
            "blocks": facts.occupancy.blocks,
            "limited_by": facts.occupancy.by,
            "limits": facts.occupancy.limits,
        },
        "resources": {
            "threads": program.threads,
            "shared_bytes": program.shared_bytes,
            "registers": usage.registers,
            "spill_bytes": usage.spill_stores,
        },
        "cluster": program.cluster,
        "bank_conflicts": _worst(facts.bank_conflicts),
        "sectors": _worst(facts.excess_sectors),
        "access_bytes": _worst(facts.access_bytes),
        "uncounted": [f"line {s.line}: {why}" for s, why in facts.unknown],
        **_instructions(built.cubin.image),
    }
    try:
        said = predicted(program, subject, usage)
        told["predicted"] = said.model_dump(mode="json")
    except ArgusError as error:  # the model does not know something in it
        told["not_predicted"] = error.diagnostics[0].message
    return told


def _worst(found: PerformanceFinding | None) -> dict[str, Any] | None:
    """The worst access of a kind; None where the kernel has none."""
    if found is None:
        return None
    return {
        "value": found.value,
        "ideal": found.ideal,
        "line": found.span.line,
        "role": found.role,
        "what": found.what,
        "why": found.why,
    }


def _instructions(image: bytes) -> dict[str, Any]:
    """Instructions by kind: how many stand in the machine code, not how many run."""
    try:
        text = sass(image)
    except ArgusError as error:
        why = error.diagnostics[0]
        return {"instructions": {}, "not_counted": why.message}
    names = Counter(_OPCODE.findall(text))
    kinds: Counter[str] = Counter()
    for name, count in names.items():
        kinds[kind_of(name)] += count
    return {"instructions": dict(kinds.most_common()), "not_counted": ""}


def kind_of(opcode: str) -> str:
    """The kind of an instruction, by its name without suffixes."""
    for kind, pattern in _KINDS:
        if re.fullmatch(pattern, opcode):
            return kind
    return _INTEGER
