"""A plan as a Python file: the model's own text, and below it a class `ModelNew`.

    written = written_model("model.py")         # without a GPU
    written.text                                # of the file
    written.files                               # each kernel as a file of its own

`ModelNew` is the model with another `forward`: it is made as the model is, has its
`state_dict`, and runs the kernels of the file. Whoever executes the file needs `argus`
and torch, and nothing beside it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from argus.diagnostics import ArgusError, fail
from argus.files.reading import Reader
from argus.files.writing import write_text
from argus.programs.capturing.capture import ShapesFile
from argus.programs.planning.plan import ProgramPlan, plan_program
from argus.programs.planning.program_data import Data, KernelFiles, constants_data

if TYPE_CHECKING:
    from torch import Tensor

_LINE = 110
"""Letters of a line of data."""
_CLASS = '''
class ModelNew({model}):
    """`{model}`, computed by `KERNELS`: for inputs of the shapes of `get_inputs`.

    Without gradients. Tensors of the CPU are computed in the interpreter: slow.
    """

    def forward(self, *inputs, **named):
        return _PROGRAM(self, inputs, named)
'''


@dataclass(frozen=True)
class ModelPlans:
    """A PyTorch file and its plans, by mode of the module.

    ``plans``: "evaluation", and "training" where the module computes something else
    then; a text says why there is no plan. ``constants``: tensors that no module has.
    """

    path: Path
    text: str
    model: str
    plans: Mapping[str, ProgramPlan | str]
    constants: Mapping[str, Tensor]

    @property
    def plan(self) -> ProgramPlan:
        """That of evaluation."""
        found = self.plans["evaluation"]
        assert isinstance(found, ProgramPlan)
        return found


@dataclass(frozen=True)
class WrittenModel:
    """``text`` of the Python file, and ``files``: kernels by names of files."""

    text: str
    files: Mapping[str, str]


def model_plans(path: str | os.PathLike[str], *, text: str | None = None) -> ModelPlans:
    """The plans of a PyTorch file, for evaluation and for training.

    ``text`` is what the file holds, where that was read already.
    Raises what `ShapesFile.of` and `capture` raise for evaluation, and AG1048 for a
    tensor that neither the module has nor the file can say.
    """
    where = Path(path)
    if text is None:
        text = Reader().read(str(where))
    file = ShapesFile.of(where, text=text)
    model = file.loaded.model
    program = file.program()
    plans: dict[str, ProgramPlan | str] = {"evaluation": plan_program(program)}
    tensors: dict[str, Any] = dict(program.tensors)
    try:
        training = file.program(training=True)
    except ArgusError as error:
        plans["training"] = error.diagnostics[0].message
    else:
        tensors |= training.tensors
        made = plan_program(training)
        if _said(made) != _said(plans["evaluation"]):
            plans["training"] = made
    return ModelPlans(
        where, text, type(model).__name__, plans, _constants(model, tensors)
    )


def _said(plan: ProgramPlan | str) -> object:
    """All that a file would say of a plan."""
    assert isinstance(plan, ProgramPlan)
    files = KernelFiles()
    return files.plan_data(plan), files.texts


def _constants(model: Any, tensors: Mapping[str, Any]) -> dict[str, Tensor]:
    """Tensors that no attribute of the module is."""
    from torch._subclasses import FakeTensor

    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        try:
            held = attrgetter(name)(model)
        except AttributeError:
            held = None
        if getattr(held, "shape", None) == tensor.shape:
            continue
        if isinstance(tensor, FakeTensor):
            raise fail(
                "AG1048",
                None,
                f"the program cannot be written to a file: `{name}` is made in "
                "`forward`, and its elements are not known",
                help="make it in the constructor, as an attribute of the module",
            )
        found[name] = tensor
    return found


def write_model(made: ModelPlans, to: Path, said: str = "") -> tuple[Path, Path]:
    """Write the file of `ModelNew`, and its kernels beside it; where both are.

    ``to`` is the file (``.py``), or a folder for ``model_new.py``. Raises ArgusError
    AG0902, AG0908 where that is the model's own file, and what `written_model` raises.
    """
    file = to if to.suffix == ".py" else to / "model_new.py"
    if file.exists() and file.samefile(made.path):
        raise fail("AG0908", None, f"`{file}` is the file of the model itself")
    written = written_model(made, said)
    folder = file.with_name(f"{file.stem}_kernels")
    for name, text in written.files.items():
        write_text(folder / name, text)
    write_text(file, written.text)
    return file, folder


def written_model(made: ModelPlans, said: str = "") -> WrittenModel:
    """The file of `ModelNew`; ``said`` is a sentence about where its kernels are from.

    Raises ArgusError AG1048 for what has no text.
    """
    names = KernelFiles()
    plans: dict[str, Data | str] = {
        mode: plan if isinstance(plan, str) else names.plan_data(plan)
        for mode, plan in made.plans.items()
    }
    parts = [
        made.text.rstrip("\n"),
        "\n\n# ---- below: what Argus made of the model above.\n",
        "from argus.programs.written_model import WrittenProgram as _WrittenProgram\n",
        "KERNELS = {",
        *(f'    "{name}": {_quoted(text)},' for name, text in names.texts.items()),
        "}",
        f'"""Kernel files by name. {said}"""\n'.replace(' """', '"""'),
        f"PLANS = {_literal(plans)}",
        '"""Values, launches in order, and what torch computes."""\n',
        f"CONSTANTS = {_literal(constants_data(made.constants))}",
        '"""Tensors that the module does not hold."""\n',
        f"_PROGRAM = _WrittenProgram(\n    {made.model}.forward, PLANS, KERNELS, "
        "CONSTANTS\n)\n",
        _CLASS.format(model=made.model),
    ]
    files = {f"{name}.py": text for name, text in names.texts.items()}
    return WrittenModel("\n".join(parts), files)


def _literal(value: Any, depth: int = 0) -> str:
    """A literal of Python: what fits on a line is on one."""
    text = repr(value)
    if not isinstance(value, dict | list) or len(text) + 4 * depth <= _LINE:
        return text
    inner = "    " * (depth + 1)
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        parts = [f"{k!r}: {_literal(v, depth + 1)}" for k, v in items]
    else:
        parts = [_literal(v, depth + 1) for v in cast("list[Any]", value)]
    opened, closed = text[0], text[-1]
    lines = "".join(f"{inner}{part},\n" for part in parts)
    return f"{opened}\n{lines}{'    ' * depth}{closed}"


def _quoted(text: str) -> str:
    """A kernel file as a literal of Python, readable where it can be."""
    if "'''" in text or "\\" in text or text.endswith("'"):
        return repr(text)
    return f"'''\\\n{text}'''"
