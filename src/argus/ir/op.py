"""The base of operations: where each comes from. The operations are in `ops.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argus.diagnostics import Span


@dataclass(eq=False, kw_only=True)
class Op:
    """Base of operations. ``note`` is set on inserted operations: the reason."""

    span: Span
    note: str | None = None
