"""Random kernels: whatever is proved must return from a GPU with the right numbers.

    PYTHONPATH=src python benchmarks/random_kernels.py OUT --seeds 0..2000 --jobs 16
    python benchmarks/random_kernels.py OUT --seeds 0..2000 --no-gpu --emulate --fused
    python benchmarks/random_kernels.py OUT --families barrier_rings,handoffs
    python benchmarks/random_kernels.py OUT --seeds 0..20000 --no-gpu --changed

Kernels come from ``tests/generate``. Processes of their own parse, place, prove, print
and interpret each (and build what is proved); what is proved is then launched by other
processes at all its sizes, several times on fresh data, on poisoned outputs, and
compared with the reference in fp64. A launch that does not return ends its process and
is reported; so is a fault. Then a fresh process goes on. OUT gets one line of JSON for
each kernel, and is complete up to the last line however the run ends.

With ``--emulate`` printed text runs on the CPU, by g++. With ``--fused`` products are
fused with the sums that they go into, as NVRTC does: by g++, too, and in the
interpreter (`tests/contraction.py`).

With ``--changed`` each kernel has one random change, and its reference has none. Then a
kernel that is refuted and runs right is no mistake: runs need not show what is wrong.

Exits with 1 if a proved kernel hangs, faults or is wrong, or if Argus crashed.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from random_summary import SHOWN, bad, summary

ROOT = Path(__file__).parents[1]
PATHS = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT / "tests/codegen")]
sys.path[:0] = PATHS
EXAMINATION = 120.0
"""Seconds for a kernel without a GPU: proving and interpreting take one or two."""
HANG = 20.0
"""Seconds for all launches of a kernel, which take milliseconds."""
START = 120.0
"""Seconds for a process to start: torch and the driver take some."""
LAUNCHES = 3


def main() -> int:
    """Examine, launch, sum up; or serve another process of this script."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--seeds", default="0..1000", metavar="A..B")
    parser.add_argument("--count", type=int, help="no more kernels than this")
    parser.add_argument(
        "--families", default="", metavar="A,B", help="kernels of these families only"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument(
        "--launchers", type=int, default=3, help="processes that launch"
    )
    parser.add_argument("--minutes", type=float, default=8.0, help="for the whole run")
    parser.add_argument("--no-gpu", action="store_true")
    parser.add_argument(
        "--emulate", action="store_true", help="run printed code by g++"
    )
    parser.add_argument(
        "--fused", action="store_true", help="products with sums, rounded once"
    )
    parser.add_argument(
        "--changed", action="store_true", help="kernels with one random change each"
    )
    parser.add_argument("--unknown", action="store_true", help="launch these, too")
    parser.add_argument(
        "--serve", choices=("examine", "launch"), help=argparse.SUPPRESS
    )
    args = parser.parse_args()
    if args.serve:
        return serve(args)
    if args.out is None:
        parser.error("OUT is missing")
    from generate import FAMILIES

    if unknown := {*filter(None, args.families.split(","))} - {*FAMILIES}:
        parser.error(f"no families: {', '.join(sorted(unknown))}")
    first, _, last = args.seeds.partition("..")
    seeds = range(int(first), int(last))
    return run_all(args, list(seeds)[: args.count])


# ------------------------------------------------------------------------ the processes


class Server:
    """A process of this script that takes seeds and answers with lines of JSON."""

    def __init__(self, args: argparse.Namespace, what: str) -> None:
        self.command = [sys.executable, __file__, "--serve", what]
        self.command += ["--families", args.families] if args.families else []
        self.command += [f for f in ("--no-gpu", "--emulate", "--fused", "--changed")
                         if getattr(args, f[2:].replace("-", "_"))]  # fmt: skip
        self.process: subprocess.Popen[str] | None = None

    def ask(self, seed: int, patience: float) -> dict[str, Any]:
        """What the process says of a seed; it is ended if it does not answer."""
        process = self._running()
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        watch = threading.Timer(patience, end)
        watch.start()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(f"{seed}\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if line.strip():
            said = json.loads(line)
            if said.get("over"):
                self.close()
            return said
        self.close()
        if late.is_set():
            return {"seen": "hang", "detail": f"no answer in {patience:.0f} s"}
        return {"seen": "died", "detail": f"exit code {process.returncode}"}

    def _running(self) -> subprocess.Popen[str]:
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            assert self.process.stdout is not None
            watch = threading.Timer(START, self.process.kill)
            watch.start()
            self.process.stdout.readline()  # it says that it is ready
            watch.cancel()
        return self.process

    def close(self) -> None:
        """End the process; the next question starts another one."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def serve(args: argparse.Namespace) -> int:
    """Answer seeds from standard input, one line each."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from generate import generate, mutate

    answer = Launcher().launch if args.serve == "launch" else Examiner(args).examine
    print("ready", file=out, flush=True)
    families = args.families.split(",") if args.families else []
    for line in sys.stdin:
        made = generate(int(line), families=families)
        if args.changed:
            made = mutate(made, int(line)).generated
        said = answer(made)
        print(json.dumps(said), file=out, flush=True)
    return 0


class Examiner:
    """Everything that needs no GPU, and the build."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.build = not args.no_gpu
        self.emulate, self.fused = args.emulate, args.fused
        self.changed = args.changed

    def examine(self, g: Any) -> dict[str, Any]:
        """What `generate.examine` finds, and whether the machine code can be made."""
        from argus.compiler import build
        from argus.diagnostics import ArgusError
        from generate.examine import examine
        from generate.running import request_of

        found = examine(g, schedules=2)
        said = found.data()
        if self.changed:
            harmless = "refuted, but right"
            said["problems"] = [p for p in found.problems if not p.startswith(harmless)]
        if self.build and found.verdict in (*SHOWN, "unknown"):
            try:
                build(request_of(g))
            except ArgusError as error:
                said["build"] = str(error).splitlines()[0]
        if self.emulate and found.verdict in SHOWN:
            said["emulated"] = emulated(g, self.fused)
        if self.fused and found.verdict in SHOWN:
            said["fused"] = fused(g)
        return said


def fused(g: Any) -> list[str]:
    """What is wrong with the kernel where all products are fused that may be."""
    import numpy as np

    from argus.interpret import run
    from argus.requests import placed_program
    from contraction import contracted
    from generate.running import (
        compared,
        inputs_of,
        interpreted,
        launched_sizes,
        reference_of,
        request_of,
    )

    program, count = contracted(placed_program(request_of(g)))
    wrong: list[str] = []
    for sizes in launched_sizes(g) if count else []:
        arrays = inputs_of(g, sizes, 0)
        got = {name: array.copy() for name, array in arrays.items()}
        with np.errstate(all="ignore"):
            run(program, got, g.scalars)
        if compared(g, got, reference_of(g, sizes, arrays)):
            wrong += compared(g, got, interpreted(g, sizes, arrays))
    return wrong


def emulated(g: Any, fuse: bool) -> list[str]:
    """What is wrong with the printed text on the CPU; of kernels that can run there."""
    import emulator

    from argus.codegen import emit
    from argus.requests import placed_program
    from generate.running import compared, inputs_of, reference_of, request_of

    source = emit(placed_program(request_of(g)))
    beyond = ("mbarrier", "wgmma", "tma_", "setmaxnreg", "cluster", "argus_bar")
    sizes = g.sizes[0]
    if not emulator.available() or any(word in source.text for word in beyond):
        return []
    if 0 in sizes.values():
        return []
    arrays = inputs_of(g, sizes, 0)
    expected = reference_of(g, sizes, arrays)
    try:
        launch = emulator.bound(source, {**sizes, **g.scalars}, arrays)
        options = emulator.FUSED if fuse and emulator.fuses() else ()
        emulator.run_all([launch], *options)
    except (subprocess.CalledProcessError, AssertionError, OSError):
        return []  # the emulation lacks an instruction, or a function
    return compared(g, arrays, expected)


class Launcher:
    """Launches on the GPU. After a fault the process is of no more use."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        torch.zeros(1, device="cuda")

    def launch(self, g: Any) -> dict[str, Any]:
        """right, wrong, fault or refused, with a detail."""
        from argus.compiler import build
        from argus.diagnostics import ArgusError
        from argus.runtime.launch import LoadedKernel
        from generate.running import launched_sizes, request_of

        try:
            built = build(request_of(g))
            loaded = LoadedKernel(built.spec, built.cubin.image)
            done = 0
            for sizes in launched_sizes(g):
                for turn in range(LAUNCHES):
                    wrong = self._once(g, loaded, sizes, turn)
                    if wrong:
                        return {"seen": "wrong", "detail": f"{dict(sizes)}: {wrong[0]}"}
                    done += 1
        except ArgusError as error:
            # A driver that refused once may have lost its context.
            detail = str(error).splitlines()[0]
            return {"seen": "refused", "detail": detail, "over": True}
        except RuntimeError as error:  # a fault, which torch sees when it waits
            return {"seen": "fault", "detail": str(error).splitlines()[0], "over": True}
        return {"seen": "right", "detail": f"{done} launches"}

    def _once(self, g: Any, loaded: Any, sizes: Any, turn: int) -> list[str]:
        from generate.running import compared, inputs_of, interpreted, reference_of

        torch = self.torch
        arrays = inputs_of(g, sizes, 100 + turn)
        expected = reference_of(g, sizes, arrays)
        types = {t.name: t.dtype for t in g.tensors}
        given = {n: self._on_device(a, types[n]) for n, a in arrays.items()}
        kept = {n: given[n].clone() for n in given if n not in g.outputs}
        loaded(**given, **g.scalars)
        torch.cuda.synchronize()
        got = {n: self._back(given[n], types[n]) for n in g.outputs}
        wrong = compared(g, got, expected)
        if wrong:
            # Numbers that are rounded on the way may end elsewhere than in fp64: the
            # interpreter rounds as the kernel does.
            wrong = compared(g, got, interpreted(g, sizes, arrays))
        for name, was in kept.items():
            if was.numel() == 0:
                continue
            same = torch.equal(was.view(torch.uint8), given[name].view(torch.uint8))
            wrong += [] if same else [f"the input {name} was changed"]
        return wrong

    def _on_device(self, array: Any, dtype: str) -> Any:
        import numpy as np

        if dtype == "bf16":
            bits = self.torch.from_numpy(np.ascontiguousarray(array).view(np.int16))
            return bits.cuda().view(self.torch.bfloat16)
        return self.torch.from_numpy(np.ascontiguousarray(array)).cuda()

    def _back(self, tensor: Any, dtype: str) -> Any:
        import numpy as np

        if dtype == "bf16":
            return tensor.view(self.torch.int16).cpu().numpy().view(np.uint16)
        return tensor.cpu().numpy()


# ----------------------------------------------------------------------------- the run


def run_all(args: argparse.Namespace, seeds: list[int]) -> int:
    """Ask about all seeds, write what is said, print the summary."""
    end = time.monotonic() + 60 * args.minutes
    found: dict[int, dict[str, Any]] = {}
    waiting: queue.Queue[int | None] = queue.Queue()
    left = iter(seeds)
    lock = threading.Lock()
    wanted = {*SHOWN, "unknown"} if args.unknown else {*SHOWN}

    def examine_some() -> None:
        server = Server(args, "examine")
        while time.monotonic() < end - (0 if args.no_gpu else 25):
            with lock:
                seed = next(left, None)
            if seed is None:
                break
            said = server.ask(seed, EXAMINATION)
            if "verdict" not in said:
                said = {"verdict": "crashed", "problems": [f"{said}"], "seed": seed}
            with lock:
                found[seed] = said
            if said["verdict"] in wanted and "build" not in said and not args.no_gpu:
                waiting.put(seed)
            else:
                write(seed)
        server.close()

    def launch_some() -> None:
        server = Server(args, "launch")
        while (seed := waiting.get()) is not None and time.monotonic() < end:
            found[seed]["launch"] = server.ask(seed, HANG)
            write(seed)
        server.close()

    args.out.parent.mkdir(parents=True, exist_ok=True)
    with args.out.open("w") as out:

        def write(seed: int) -> None:
            with lock:
                print(json.dumps(found[seed]), file=out, flush=True)

        examining = [threading.Thread(target=guarded(examine_some))
                     for _ in range(args.jobs)]  # fmt: skip
        launching = [] if args.no_gpu else [
            threading.Thread(target=guarded(launch_some)) for _ in range(args.launchers)
        ]  # fmt: skip
        for thread in (*examining, *launching):
            thread.start()
        for thread in examining:
            thread.join()
        for _ in launching:
            waiting.put(None)
        for thread in launching:
            thread.join()
    print(summary(list(found.values()), len(seeds)))
    return int(bool(bad(list(found.values()))))


def guarded(work: Any) -> Any:
    """The same; what goes wrong in a thread is said."""

    def run() -> None:
        try:
            work()
        except Exception:
            traceback.print_exc()
            raise

    return run


if __name__ == "__main__":
    raise SystemExit(main())
