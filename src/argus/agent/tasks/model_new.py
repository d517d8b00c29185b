"""The file with `ModelNew`: a model's own file, and its kernels below it.

Nothing is executed when the file is written. When its `ModelNew` is called for the
first time, the graph of `Model` is read at those inputs, and what the kernels compute
is replaced in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from argus.agent.tasks.rebuild import in_interpreter, on_device, rebuilt
from argus.agent.tasks.torch_task import TorchTasks, tasks_of
from argus.programs.torch_file import TorchFile
from argus.runs.records import Candidate
from argus.targets import DEFAULT_TARGET

if TYPE_CHECKING:
    from torch.fx import GraphModule
    from torch.nn import Module

_BELOW = '''

# ---- below: what Argus made of the model above.

import json as _json

import torch as _torch

from argus.agent.tasks.model_new import replaced as _replaced

KERNELS = _json.loads(
    r"""
{kernels}
"""
)
"""By task: the kernel's source, its name, and its static parameters."""


class ModelNew(_torch.nn.Module):
    """`Model` with the kernels of `KERNELS` in it; for inputs of one size."""

    def __init__(self, *args):
        super().__init__()
        self.model = Model(*args)
        self._faster = None

    def forward(self, *inputs):
        if self._faster is None:
            self._faster = _replaced(self.model, inputs, KERNELS)
        return self._faster(*inputs)
'''


def model_new(tasks: TorchTasks, best: Mapping[str, Candidate]) -> str:
    """The text of a file with `Model` as it was, and `ModelNew`.

    ``best``: candidates by the names of tasks; the library's choice for any other.
    """
    kernels = {
        name: json.loads(candidate.model_dump_json())
        for name, candidate in best.items()
        if any(t.name == name for t in tasks.tasks)
    }
    # In JSON no three quotation marks stand together: those of a text are escaped.
    text = json.dumps(kernels, indent=1)
    original = Path(tasks.file.path).read_text(encoding="utf-8").rstrip("\n")
    return original + "\n" + _BELOW.format(kernels=text)


def replaced(
    model: Module, inputs: tuple[Any, ...], kernels: Mapping[str, Any]
) -> GraphModule:
    """The model with kernels in it, on the GPU if the inputs are, else interpreted.

    ``kernels`` as :func:`model_new` writes them. Raises ArgusError AG1041 and AG1042.
    """
    from torch import Tensor

    best = {name: Candidate.model_validate(k) for name, k in kernels.items()}
    tasks = tasks_of(TorchFile("the model", model.eval(), inputs), DEFAULT_TARGET)
    cuda = any(isinstance(t, Tensor) and t.is_cuda for t in inputs)
    return rebuilt(tasks, on_device(best) if cuda else in_interpreter(best))
