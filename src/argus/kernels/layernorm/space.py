"""The design space of layer norm: passes over rows, or whole rows in registers."""

from __future__ import annotations

from typing import ClassVar

from argus.kernels.layernorm.entry import LAYERNORM
from argus.kernels.norms.space import KNOBS, RowSpace, held, passes

_PACKAGE = "argus.kernels.layernorm"


class LayerNorm(RowSpace):
    """Layer normalisation over rows."""

    name = "layernorm"
    entries: ClassVar = {LAYERNORM.name: LAYERNORM}
    weighted = True
    forms: ClassVar = {
        "passes": passes("layernorm", package=_PACKAGE),
        "held": held("layernorm", package=_PACKAGE),
    }
    knobs = KNOBS


SPACES = (LayerNorm(),)
