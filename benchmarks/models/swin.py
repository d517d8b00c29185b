"""Swin: a plain and a shifted block for each size, in the tiny model's widths."""

from typing import Any

import timm
import torch

BATCH, IMAGE = 8, 224
NAME, OPTIONS = "swin_tiny_patch4_window7_224", {"depths": (2, 2, 2, 2)}
SMALL: dict[str, Any] = {
    "BATCH": 1,
    "IMAGE": 56,
    "OPTIONS": {
        "depths": (2,),
        "num_heads": (2,),
        "embed_dim": 16,
        "img_size": 56,
        "num_classes": 10,
    },
}


class Model(torch.nn.Module):
    """Logits of classes."""

    def __init__(self) -> None:
        super().__init__()
        self.model = timm.create_model(NAME, **OPTIONS)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.model(images)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(BATCH, 3, IMAGE, IMAGE)]


def get_init_inputs() -> list[int]:
    return []
