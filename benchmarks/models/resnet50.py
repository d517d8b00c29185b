"""ResNet-50 for images of 224 pixels a side."""

from typing import Any

import timm
import torch

BATCH, IMAGE = 8, 224
NAME, OPTIONS = "resnet50", {}
SMALL: dict[str, Any] = {
    "BATCH": 2,
    "IMAGE": 32,
    "OPTIONS": {
        "layers": (1, 1, 1, 1),
        "channels": (8, 8, 16, 16),
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
