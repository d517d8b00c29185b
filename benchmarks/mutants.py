"""What refuted mutants do on a GPU: wrong numbers, a hang, a fault, or nothing seen.

    python benchmarks/mutants.py --prove             write mutants.json; no GPU
    PYTHONPATH=src python benchmarks/mutants.py --out OUT.json [--only TEXT ...]
    python benchmarks/mutants.py --table OUT.json    what was seen, in Markdown

The second form needs a GPU and torch, and does not import the verifier: what it said
of each mutant (rule, line, words) is read from mutants.json. Every mutant is built from
its changed program and launched in a process of its own, some times with other inputs,
and judged against the fp64 reference. So are the kernels without a change, first.
Results are written after each mutant. That nothing is seen does not mean that nothing
is wrong: a race may go well a thousand times.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]
PROOFS = Path(__file__).with_suffix(".json")
LAUNCHES = 8
HANG = 15.0
"""Seconds after which a kernel that has not ended hangs; they take milliseconds."""
PATIENCE = 150.0
"""Seconds for a process as a whole: building, starting torch, all launches."""

SIZES: dict[str, dict[str, int]] = {
    "gemm": {"M": 1100, "N": 1040, "K": 2064},
    "gemm cluster": {"M": 1100, "N": 1040, "K": 2064},
    "gemm epilogue": {"M": 1100, "N": 1048, "K": 2056},
    "gemm sm80": {"M": 1100, "N": 1040, "K": 2064},
    "softmax odd": {"M": 3000, "N": 1000},
    "rmsnorm wide": {"M": 3000, "N": 4100},
    "attention": {"H": 8, "S": 1000, "T": 2100},
    "attention causal": {"H": 8, "S": 1030, "T": 1030},
    "grouped gather": {"P": 2000, "N": 512, "K": 1040},
}
"""Sizes to launch each subject at: many blocks and many iterations."""

CHOSEN: tuple[tuple[str, str, int], ...] = (
    # elements in the wrong place
    ("gemm", "descriptor_offset", 1),
    ("gemm", "descriptor_swizzle", 2),
    ("gemm", "map_swizzle", 0),
    ("gemm", "load_coordinate", 3),
    ("gemm", "store_coordinate", 1),
    ("gemm", "copy_offset", 1),
    ("gemm", "warpgroup_stride", 1),
    ("gemm", "no_accumulator", 0),
    ("gemm", "loop_step", 1),
    ("gemm cluster", "no_multicast", 0),
    ("gemm sm80", "mma_step", 0),
    ("gemm sm80", "global_coordinate", 3),
    ("softmax odd", "fill_value", 0),
    ("softmax odd", "global_coordinate", 1),
    ("rmsnorm wide", "fill_value", 0),
    ("rmsnorm wide", "global_coordinate", 2),
    ("attention", "drop_where", 0),
    ("attention", "descriptor_major", 4),
    ("attention", "named_scalar", 3),
    ("attention", "load_coordinate", 10),
    ("grouped gather", "scalar_coordinate", 1),
    ("grouped gather", "global_coordinate", 0),
    ("grouped gather", "limit_forgotten", 0),
    # too early, too late, never
    ("gemm", "delete_wait", 0),
    ("gemm", "delete_wait", 2),
    ("gemm", "delete_arrive", 1),
    ("gemm", "more_arrivals", 1),
    ("gemm", "more_bytes", 0),
    ("gemm", "fewer_bytes", 0),
    ("gemm", "wait_previous", 2),
    ("gemm", "other_stage", 4),
    ("gemm", "delete_fence", 0),
    ("gemm", "sync_count", 0),
    ("gemm cluster", "own_block_only", 0),
    ("gemm sm80", "delete_copy_wait", 1),
    ("gemm sm80", "delete_sync", 0),
    ("attention", "early_arrive", 0),
    ("attention", "delete_wgmma_wait", 2),
    ("attention", "counter_stands", 0),
    ("attention causal", "one_iteration_less", 1),
    ("grouped gather", "delete_fence", 1),
    ("grouped gather", "per_role", 0),
)
"""Subject, operator, and which of its places; see tests/verifier/report/subjects.py."""


def main() -> int:
    """Prove, run all, or (with --one) run a single one in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prove", action="store_true")
    parser.add_argument("--build", action="store_true", help="build only; no GPU")
    parser.add_argument("--one", nargs=3, metavar=("SUBJECT", "OPERATOR", "NUMBER"))
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=4, help="processes at a time")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path, metavar="FILE")
    args = parser.parse_args()
    if args.table:
        print(table(json.loads(args.table.read_text())))
        return 0
    if args.prove:
        return prove()
    if args.one:
        subject, operator, number = args.one
        return run_one(subject, operator, int(number), build_only=args.build)
    return run_all(args.out, args.only, args.jobs, build_only=args.build)


# ------------------------------------------------------------------------ the verifier


def prove() -> int:
    """Write what the verifier says of every chosen mutant; 1 if one is not refuted."""
    from argus.verify.verdict import Verdict
    from argus.verify.verifier import verify
    from verifier.report.subjects import Mutant

    found: list[dict[str, Any]] = []
    for chosen in CHOSEN:
        program, line = Mutant(*chosen).made()
        report = verify(program, only=("tags", "order"))
        refuted = [o for o in report.obligations if o.verdict is Verdict.REFUTED]
        first = next((o for o in refuted if o.counterexample is not None), None)
        said = None if first is None else first.counterexample
        found.append(
            {
                "subject": chosen[0],
                "operator": chosen[1],
                "number": chosen[2],
                "changed_line": line,
                "verdict": str(report.verdict),
                "rule": "" if first is None else first.rule,
                "line": 0 if first is None else first.span.line,
                "message": "" if said is None else said.message,
                "label": "" if said is None else said.label,
                "rules": sorted({o.rule for o in refuted}),
            }
        )
        print(*chosen, found[-1]["verdict"], *found[-1]["rules"], flush=True)
    PROOFS.write_text(json.dumps(found, indent=1) + "\n")
    return int(any(x["verdict"] != "refuted" for x in found))


# ------------------------------------------------------------------------- the machine


def run_all(out: Path | None, only: list[str], jobs: int, *, build_only: bool) -> int:
    """Every kernel unchanged, then every mutant; 1 if an unchanged one is wrong."""
    proofs = {
        (x["subject"], x["operator"], x["number"]): x
        for x in json.loads(PROOFS.read_text())
    }
    right = [(name, "", 0) for name in SIZES]
    found: list[dict[str, Any]] = []
    wanted = [
        x
        for x in (*right, *CHOSEN)
        if not only or any(text in " ".join(map(str, x)) for text in only)
    ]
    pool = ThreadPoolExecutor(jobs)
    running = {x: pool.submit(in_a_process, x, build_only) for x in wanted}
    for chosen in wanted:
        result = running[chosen].result()
        proof = proofs.get(chosen, {})
        entry = {"subject": chosen[0], "operator": chosen[1], "number": chosen[2]}
        entry |= {k: proof[k] for k in ("rule", "line", "message") if k in proof}
        entry |= result
        if proof and result.get("changed_line") not in (None, proof["changed_line"]):
            entry["note"] = "the kernel has changed since it was proved; prove again"
        found.append(entry)
        said = f"{entry.get('rule', 'right')} line {entry.get('line', '-')}"
        print(f"{' '.join(map(str, chosen)):40} {said:18} {result['seen']:14} "
              f"{result.get('detail', '')[:100]}", flush=True)  # fmt: skip
        if out is not None:
            out.write_text(json.dumps(found, indent=1) + "\n")
    expected = "builds" if build_only else "nothing"
    return int(any(not x["operator"] and x["seen"] != expected for x in found))


def table(found: list[dict[str, Any]]) -> str:
    """Markdown: what was changed, what the verifier said, what the GPU did."""
    from verifier.report.subjects import OPERATORS

    mutants = [x for x in found if x["operator"]]
    seen = Counter(x["seen"] for x in mutants)
    counts = ", ".join(f"{n} {what}" for what, n in seen.most_common())
    lines = [
        f"{len(mutants)} refuted mutants on the device: {counts}. The kernels without "
        f"a change were right in {LAUNCHES} launches each.",
        "",
        "| kernel | what was changed | refuted as | line | on the device |",
        "| --- | --- | --- | ---: | --- |",
    ]
    for x in mutants:
        what = (OPERATORS[x["operator"]][1].__doc__ or "").splitlines()[0].rstrip(".")
        detail = x.get("detail", "").replace("|", "\\|")
        lines.append(
            f"| {x['subject']} | {what} (`{x['operator']}` {x['number']}) | "
            f"{x['rule']} | {x['line']} | **{x['seen']}**: {detail[:110]} |"
        )
    return "\n".join(lines)


def in_a_process(chosen: tuple[str, str, int], build_only: bool) -> dict[str, Any]:
    """What a process of its own says of one mutant."""
    command = [sys.executable, __file__, "--one", *map(str, chosen)]
    command += ["--build"] if build_only else []
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return {"seen": "hang", "detail": f"the process did not end in {PATIENCE} s"}
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    ending = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    return {"seen": "process died", "detail": ending[0]}


def say(seen: str, **more: object) -> None:
    """One line for the process that waits for it."""
    print(json.dumps({"seen": seen, **more}), flush=True)


def run_one(subject: str, operator: str, number: int, *, build_only: bool) -> int:
    """Build one mutant and launch it; one line of JSON says what was seen."""
    from argus.codegen import emit
    from argus.diagnostics import ArgusError
    from argus.runtime.build import build
    from argus.runtime.launch import LoadedKernel
    from verifier.report.subjects import SUBJECTS, Mutant, program_of

    # Programs for this machine, whatever target the subject is proved for.
    SUBJECTS[subject] = replace(SUBJECTS[subject], target="sm_90a")
    line = 0
    if operator:
        program, line = Mutant(subject, operator, number).made()
    else:
        program = program_of(subject)
    try:
        source = emit(program)
        cubin = build(source.text, "sm_90a")
    except ArgusError as error:
        say("does not build", changed_line=line, detail=str(error).splitlines()[0])
        return 0
    if build_only:
        say("builds", changed_line=line)
        return 0
    seen, detail = launch(subject, LoadedKernel(source.spec, cubin.image))
    say(seen, changed_line=line, detail=detail)
    return 0


def launch(subject: str, loaded: Any) -> tuple[str, str]:
    """Launch with other inputs each time until something is wrong."""
    from argus.diagnostics import ArgusError
    from argus.evaluation.arrays import TorchArrays
    from argus.evaluation.device import launch_and_wait
    from argus.evaluation.oracle import judge, make_inputs
    from argus.kernels.entry import choose
    from verifier.report.subjects import SUBJECTS

    found = SUBJECTS[subject]
    case = replace(found.case, sizes={**found.case.sizes, **SIZES[subject]})
    choice = choose(found.entry, found.case, "sm_90a")
    for turn in range(LAUNCHES):
        inputs = make_inputs(found.entry, case, TorchArrays(turn))
        prepared = loaded.prepare(**inputs.arrays, **choice.scalars)
        watch = threading.Timer(HANG, _hangs, (turn,))
        watch.start()
        try:
            launch_and_wait(prepared)
        except ArgusError as error:
            notes = [n for d in error.diagnostics for n in (d.message, *d.notes)]
            return "fault", f"launch {turn}: {' '.join(notes)}"
        finally:
            watch.cancel()
        verdict = judge(found.entry, case, inputs)
        if not verdict.ok:
            return "wrong numbers", f"launch {turn}: {verdict.why()[0]}"
    return "nothing", f"{LAUNCHES} launches"


def _hangs(turn: int) -> None:
    """Called by the watch: the launch has not ended. Ends the process at once."""
    say("hang", detail=f"launch {turn}: not done in {HANG} s")
    os._exit(3)


if __name__ == "__main__":
    raise SystemExit(main())
