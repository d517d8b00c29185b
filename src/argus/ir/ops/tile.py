"""Register tiles: the values that operations make."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from argus.ir.dtypes import DType

if TYPE_CHECKING:
    from argus.diagnostics import Span
    from argus.layout import Fragment

_ids = itertools.count()


@dataclass(eq=False)
class Tile:
    """A register tile: values spread over the threads of a role.

    ``dims`` names its axes (None: unnamed). ``layout`` is None until placed.
    ``storage`` is set by placing: tiles with the same storage share registers
    (a loop-carried accumulator and the dot that updates it).
    """

    dtype: DType
    shape: tuple[int, ...]
    dims: tuple[str | None, ...]
    span: Span
    name: str = "t"
    layout: Fragment | None = None
    required: Fragment | None = None
    """The author's explicit layout, honoured or an error."""
    storage: int | None = None
    id: int = field(default_factory=lambda: next(_ids))

    def __repr__(self) -> str:
        dims = " ".join(
            f"{d or '_'}:{n}" for d, n in zip(self.dims, self.shape, strict=True)
        )
        return f"%{self.name}.{self.id}:{self.dtype}[{dims}]"
