"""What torch's transformers ask of a mask, which no graph can answer."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


def _as_said(mask: Any, is_causal: bool | None = None, size: int | None = None) -> bool:
    return is_causal is True


@contextmanager
def masks_as_given() -> Generator[None]:
    """Within it, `TransformerEncoder` and `TransformerDecoder` take masks as they are.

    Torch's compare the elements of one with those of a causal mask, where nobody says
    which it is. What they find is a hint alone: a mask that is not said to be causal is
    added as it stands, with the same result.
    """
    from torch.nn.modules import transformer

    torchs: Any = transformer
    asked = torchs._detect_is_causal_mask
    torchs._detect_is_causal_mask = _as_said
    try:
        yield
    finally:
        torchs._detect_is_causal_mask = asked
