"""The encoder of Whisper: two layers of the base model; 15 s of sound."""

import torch
from transformers import WhisperConfig
from transformers.models.whisper.modeling_whisper import WhisperEncoder

BATCH, LENGTH = 1, 768
LAYERS, HEADS, HEAD = 2, 8, 64
INNER, BANDS = 2048, 80


class Model(torch.nn.Module):
    """States of a spectrogram, two of whose columns are one position."""

    def __init__(self) -> None:
        super().__init__()
        config = WhisperConfig(
            d_model=HEADS * HEAD,
            encoder_ffn_dim=INNER,
            encoder_layers=LAYERS,
            encoder_attention_heads=HEADS,
            num_mel_bins=BANDS,
            max_source_positions=LENGTH,
        )
        self.model = WhisperEncoder(config).to(torch.bfloat16)

    def forward(self, spectrogram: torch.Tensor) -> torch.Tensor:
        return self.model(spectrogram).last_hidden_state


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(BATCH, BANDS, 2 * LENGTH, dtype=torch.bfloat16)]


def get_init_inputs() -> list[int]:
    return []
