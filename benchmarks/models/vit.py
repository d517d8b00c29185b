"""ViT: two layers of the base model, with patches of 16 pixels."""

import torch
from transformers import ViTConfig, ViTForImageClassification

BATCH, PATCHES, PATCH = 8, 14, 16
LAYERS, HEADS, HEAD = 2, 12, 64
INNER, CLASSES = 3072, 1000
SMALL = {
    "BATCH": 2,
    "PATCHES": 2,
    "PATCH": 4,
    "HEADS": 2,
    "HEAD": 8,
    "INNER": 32,
    "CLASSES": 8,
}


class Model(torch.nn.Module):
    """Logits of classes."""

    def __init__(self) -> None:
        super().__init__()
        config = ViTConfig(
            hidden_size=HEADS * HEAD,
            intermediate_size=INNER,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            image_size=PATCHES * PATCH,
            patch_size=PATCH,
            num_labels=CLASSES,
        )
        self.model = ViTForImageClassification(config).to(torch.bfloat16)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.model(images).logits


def get_inputs() -> list[torch.Tensor]:
    size = PATCHES * PATCH
    return [torch.randn(BATCH, 3, size, size, dtype=torch.bfloat16)]


def get_init_inputs() -> list[int]:
    return []
