"""The design space of layer norm: whole rows in registers, from one warp to many."""

from __future__ import annotations

from typing import ClassVar

from argus.kernels.layernorm.entry import LAYERNORM
from argus.kernels.norms.space import KNOBS, RowSpace, held
from argus.kernels.space import Design
from argus.runs.records import Problem


class LayerNorm(RowSpace):
    """Layer normalisation over rows."""

    name = "layernorm"
    entries: ClassVar = {LAYERNORM.name: LAYERNORM}
    weighted = True
    forms: ClassVar = {
        "held": held("layernorm", package="argus.kernels.layernorm", first=True)
    }
    knobs = KNOBS

    def start(self, problem: Problem) -> Design:
        """A block for each row."""
        return self.entered("held", problem)


SPACES = (LayerNorm(),)
