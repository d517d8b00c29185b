"""What the host has planned, on the GPU: trials at small sizes, and what drives.

A trial is compared with the oracle, whole. A drive is launched with the inputs that
drove a condition on tiles, once with each poison, and compared with what blocks of the
problem's own kernel write, which are run on tiles here as they were there. What is too
large for the device, or would take too long, is not launched, and that is said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from argus.diagnostics import ArgusError
from argus.evaluation.arrays import TorchArrays
from argus.evaluation.judge import findings as say
from argus.evaluation.judge.agreeing import differs, written
from argus.evaluation.judge.checking import Clock
from argus.evaluation.judge.launching import (
    DeviceCandidate,
    PreparableKernel,
    correct,
    outside,
    placed_at,
)
from argus.evaluation.judge.plans import Drive, Plan
from argus.evaluation.judge.settings import Setting, case_of, setting_of
from argus.evaluation.judge.subject import Subject
from argus.evaluation.tiles import BlockTensor, Drawn, IndexTable, Written, now
from argus.evaluation.tiles.tensors import chosen
from argus.ir.program import Program
from argus.kernels.library import Case
from argus.runs.records import JudgeVerdict

__all__ = ["Replay", "laid_out"]

_BYTES = 6 << 30
"""Of all tensors of a drive, at most."""
_SECONDS = 2.0
"""Of the problem's own blocks, by `argus.clock`; a drive that began is ended."""
_AT_ONCE = 1 << 24
"""Elements that are drawn at once."""


@dataclass
class Replay:
    """A candidate, loaded, and what it is compared with.

    ``programs``: the candidate and the problem's own kernel, as they were typed.
    """

    subject: Subject
    programs: tuple[Program, Program]
    kernel: PreparableKernel
    library: TorchArrays
    clock: Clock
    seed: int
    spent: float = 0.0
    """Seconds of the problem's own blocks."""

    def run(self, plan: Plan) -> tuple[JudgeVerdict | None, str]:
        """What is wrong, or None; and words about what was launched.

        Raises ArgusError AG0811 for a fault of the device, AG1018 for one of the
        reference.
        """
        left: dict[str, int] = {}
        launched = 0
        for sizes in list({str(t.sizes): t.sizes for t in plan.trials}.values()):
            same = [t for t in plan.trials if t.sizes == sizes]
            case = case_of(self.subject, sizes)
            placed = None if case is None else self._placed(case)
            if placed is None:
                left["refused"] = left.get("refused", 0) + len(same)
                continue
            bad, _ = correct(placed, self.clock, same)
            if bad is not None:
                return bad, ""
            launched += len(same)
        drives = 0
        for drive in plan.drives:
            if self.spent > _SECONDS:
                why = "without time"
            else:
                bad, why = self._drive(drive, plan)
                if bad is not None:
                    return bad, ""
            if why:
                left[why] = left.get(why, 0) + 1
            else:
                drives += 1
        return None, _words(launched, drives, left)

    def _placed(
        self, case: Case, setting: Setting | None = None
    ) -> DeviceCandidate | None:
        """Arrays and launch for a case; None where the candidate refuses it."""
        scalars = None if setting is None else setting.scalars
        try:
            return placed_at(
                self.subject, case, self.kernel, self.library, self.seed, scalars
            )
        except ArgusError as error:
            if error.code.startswith("AG080"):
                return None
            raise

    def _drive(self, drive: Drive, plan: Plan) -> tuple[JudgeVerdict | None, str]:
        """What is wrong with one drive, or None; and why it was not launched."""
        setting = setting_of(drive, self.subject, self.programs)
        arguments = self.subject.entry.arguments(setting.case)
        if sum(math.prod(a.shape) * a.dtype.bytes for a in arguments) > _BYTES:
            return None, "too large"
        placed = self._placed(setting.case, setting)
        if placed is None:
            return None, "refused"
        own = self.programs[1]
        begin = now()
        right = written(own, setting, drive.blocks, math.inf)
        self.spent += now() - begin
        other = replace(
            setting, mode=replace(setting.mode, poison=not setting.mode.poison)
        )
        for poisoned in (setting, other):
            for name, tensor in poisoned.tensors().items():
                laid_out(tensor, placed.arrays[name], self.library)
            bad = self._launched(placed, poisoned, right, plan)
            if bad is not None:
                return bad, ""
        return None, ""

    def _launched(
        self,
        placed: DeviceCandidate,
        setting: Setting,
        right: dict[str, Written],
        plan: Plan,
    ) -> JudgeVerdict | None:
        self.clock.begin("run", "launch")
        placed.launch()
        self.clock.begin("compare", "run")
        if not placed.intact():
            return outside()
        for name, tensor in right.items():
            at, exact = tensor.written()
            flat = placed.arrays[name].view(-1)
            index = self.library.module.as_tensor(at, device=flat.device)
            got = self.library.exact(flat[index], tensor.dtype).cpu().numpy()
            found = differs(
                name, tensor, at, got, exact, setting, plan.tolerances[name]
            )
            if found is not None:
                where = f"{setting.where()}, on the device"
                told = say.said("AG0815", found.why(), (where,))
                return say.verdict("wrong", "compare", (told,))
        return None


def laid_out(tensor: BlockTensor, array: Any, library: TorchArrays) -> None:
    """Write the elements of a tensor that need not exist into an array that does.

    ``array``: of its shape and type, on the library's device.
    """
    torch = library.module
    match tensor:
        case IndexTable():
            array.copy_(torch.from_numpy(tensor.array))
        case Drawn() | Written():
            table = torch.as_tensor(tensor.table, device=array.device)
            table = library.rounded(table, tensor.dtype) if tensor.dtype.is_float else (
                table.to(array.dtype)
            )  # fmt: skip
            flat = array.view(-1)
            count = int(flat.shape[0])
            for start in range(0, count, _AT_ONCE):
                stop = min(start + _AT_ONCE, count)
                at = torch.arange(start, stop, device=array.device)
                flat[start:stop] = table[chosen(at, tensor.seed)]
        case _:
            raise TypeError(f"a tensor is {type(tensor).__name__}")


def _words(trials: int, drives: int, left: dict[str, int]) -> str:
    said = f"; launched at {trials} small trials and {drives} runs that drive"
    if left:
        said += f" ({', '.join(f'{n} {why}' for why, n in left.items())})"
    return said
