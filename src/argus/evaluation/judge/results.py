"""From a comparison with the oracle to a verdict, with words for the usual cheats."""

from __future__ import annotations

from typing import Any

from argus.evaluation.judge import findings as say
from argus.evaluation.oracle import Inputs, OutputVerdict
from argus.evaluation.oracle import OracleVerdict as Compared
from argus.runs.records import Finding, JudgeVerdict


def wrong(compared: Compared, inputs: Inputs, where: str) -> JudgeVerdict | None:
    """The verdict "wrong" with what is wrong, or None if nothing is."""
    if compared.ok:
        return None
    found: list[Finding] = []
    for name in compared.changed:
        found.append(say.said("AG1015", f"the input {name} was overwritten", (where,)))
    for output in compared.outputs:
        if not output.ok:
            notes = [where, *_resembles(output, inputs)]
            found.append(say.said("AG0815", output.why(), notes))
    made = say.verdict("wrong", "compare", found)
    error = compared.error
    return made.model_copy(update={"error": None if error != error else error})


def _resembles(output: OutputVerdict, inputs: Inputs) -> list[str]:
    """What a wrong output looks like: all zero, constant, or a copy of an input."""
    array = inputs.arrays[output.name]
    types = {a.name: a.dtype for a in inputs.arguments}
    values = inputs.library.exact(array, types[output.name])
    if output.unwritten:
        return []
    if bool((values == 0).all()):
        return ["every element is 0"]
    first = values.reshape(-1)[0]
    if bool((values == first).all()):
        return [f"every element is {float(first):.6g}"]
    copies = [
        name
        for name, kept in inputs.kept.items()
        if _same(inputs, values, kept, types[name])
    ]
    return [f"it is a copy of {copies[0]}"] if copies else []


def _same(inputs: Inputs, values: Any, kept: Any, dtype: Any) -> bool:
    if tuple(kept.shape) != tuple(values.shape):
        return False
    return bool((inputs.library.exact(kept, dtype) == values).all())
