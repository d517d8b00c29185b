"""Copies of several tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def copy_all(changed: Sequence[Any], values: Sequence[Any]) -> None:
    """Copy to each tensor one of its shape and type; of one type all by one launch."""
    import torch

    kinds: dict[Any, tuple[list[Any], list[Any]]] = {}
    for one, value in zip(changed, values, strict=True):
        of_kind = kinds.setdefault(one.dtype, ([], []))
        of_kind[0].append(one)
        of_kind[1].append(value)
    copies: Any = vars(torch)["_foreach_copy_"]
    with torch.no_grad():
        for of_kind in kinds.values():
            copies(*of_kind)
