"""Plans on disk, each found by the tensor program that it is of.

    plan = kept_plan(program)       # what `plan_program` makes, or made of an equal one

A tensor program says all that planning looks at: primitives with shapes, types,
strides, devices, precisions, and numbers that were folded. Flags of torch are in it,
since capturing reads them. So the key is the whole of it, and the code of Argus. Of
weights it has names and forms and no elements: a plan holds none, and gets those of the
program at hand, as it does inputs that are numbers, and how results are nested.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from argus.diagnostics import ArgusError
from argus.ir.dtypes import DType
from argus.programs.planning.plan import ProgramPlan, plan_program
from argus.programs.planning.program_data import (
    Data,
    KernelFiles,
    plan_of_data,
    torch_operator,
)
from argus.programs.tensors.tensor_program import ProgramValue, TensorProgram, TorchCall
from argus.runtime.cache import default_cache
from argus.runtime.keys import package_stamp

_PLANS = "plans"
"""The kind of cache entry that holds a plan."""


def kept_plan(program: TensorProgram) -> ProgramPlan:
    """The plan of a program as data says it: its steps have no groups.

    A program that data cannot say (`plan_data`) is planned in each process. Raises what
    `plan_program` raises.
    """
    store = default_cache().store
    said = program_key(program) if store.root is not None else None
    if said is None:
        return plan_program(program)
    found = store.read(_PLANS, said, lambda raw: _read(json.loads(raw), program))
    if found is not None:
        return found
    plan = plan_program(program)
    try:
        data = _data(plan)
    except ArgusError as error:
        if error.diagnostics[0].code != "AG1048":
            raise
        return plan
    store.put(_PLANS, said, json.dumps(data).encode())
    return _read(data, program)


def _data(plan: ProgramPlan) -> Data:
    files = KernelFiles()
    of_caller = replace(
        plan.program,
        tree=None,
        fixed={},
        told=(),
        updates=(),
        shown=(),
        pairs=frozenset(),
    )
    data = files.plan_data(replace(plan, program=of_caller))
    return {"plan": data, "files": files.texts}


def _read(data: Data, program: TensorProgram) -> ProgramPlan:
    plan = plan_of_data(data["plan"], data["files"], program.device)
    found = replace(
        plan.program,
        tensors=program.tensors,
        tree=program.tree,
        fixed=program.fixed,
        told=program.told,
        updates=program.updates,
        shown=program.shown,
        pairs=program.pairs,
    )
    return replace(plan, program=found)


def program_key(program: TensorProgram) -> str | None:
    """SHA-256 of all that planning may look at; None where something has no text."""
    writer = _Writer()
    try:
        writer.program(program)
    except _NoTextError:
        return None
    said = "\n".join(["plan", package_stamp(), *writer.words])
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


class _NoTextError(Exception):
    """A program holds what is known by its identity alone."""


class _Writer:
    """Words that are the same for equal programs only, and in each process.

    Values and calls are what they are by identity: the first time with all they hold,
    later by number.
    """

    def __init__(self) -> None:
        self.words: list[str] = []
        self._numbers: dict[int, int] = {}

    def program(self, program: TensorProgram) -> None:
        self.word(program.device)
        self._each(program.values)
        self._each(program.results)
        self._each(program.told)
        self._each(program.updates)
        self._each(sorted(program.pairs))

    def word(self, text: str) -> None:
        self.words.append(f"{len(text)} {text}")

    def _each(self, parts: Any) -> None:
        self.word(f"{len(parts)} of")
        for part in parts:
            self.any(part)

    def any(self, said: Any) -> None:
        """Append the words of a part of a program."""
        import torch

        match said:
            case None | bool() | int() | float() | complex() | str():
                self.word(f"{type(said).__name__} {said!r}")
            case tuple() | list():
                self._each(cast("Any", said))
            case dict():
                self._each(sorted(cast("dict[str, Any]", said).items()))
            case DType():
                self.word(repr(said))
            case TensorProgram():
                self.program(said)
            case ProgramValue() | TorchCall():
                self._identified(said)
            case _ if is_dataclass(said) and not isinstance(said, type):
                self._parts(said)
            case (
                torch.dtype() | torch.device() | torch.memory_format() | torch.layout()
            ):
                self.word(f"{type(said).__name__} {said}")
            case _:
                raise _NoTextError(type(said).__name__)

    def _identified(self, said: ProgramValue | TorchCall) -> None:
        known = self._numbers.get(id(said))
        self.word("new" if known is None else f"number {known}")
        if known is None:
            self._numbers[id(said)] = len(self._numbers)
            self._parts(said)

    def _parts(self, said: Any) -> None:
        kind = cast("type[object]", type(said))
        self.word(f"{kind.__module__}.{kind.__qualname__}")
        for field in fields(said):
            part = getattr(said, field.name)
            if isinstance(said, TorchCall) and field.name == "target":
                if part is not None and torch_operator(said.name) is not part:
                    raise _NoTextError(said.name)
            else:
                self.any(part)
