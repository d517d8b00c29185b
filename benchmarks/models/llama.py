"""Llama: two layers of the width of Llama 3.2 1B, with its embedding and head."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

BATCH, LENGTH = 1, 1024
LAYERS, HEADS, GROUPS, HEAD = 2, 16, 4, 128
INNER, VOCABULARY = 8192, 32768


class Model(torch.nn.Module):
    """Logits of tokens."""

    def __init__(self) -> None:
        super().__init__()
        config = LlamaConfig(
            hidden_size=HEADS * HEAD,
            intermediate_size=INNER,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=GROUPS,
            vocab_size=VOCABULARY,
            max_position_embeddings=max(LENGTH, 16),
            use_cache=False,
        )
        self.model = LlamaForCausalLM(config).to(torch.bfloat16)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.model(tokens).logits


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH))]


def get_init_inputs() -> list[int]:
    return []
