"""Qwen 3 with a mixture of experts: two layers; 4 of 16 experts for each token."""

import torch
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

BATCH, LENGTH = 1, 512
LAYERS, HEADS, GROUPS, HEAD = 2, 16, 4, 64
EXPERTS, CHOSEN, INNER, VOCABULARY = 16, 4, 768, 32768
SMALL = {
    "LENGTH": 16,
    "LAYERS": 1,
    "HEADS": 2,
    "GROUPS": 1,
    "HEAD": 16,
    "EXPERTS": 4,
    "CHOSEN": 2,
    "INNER": 16,
    "VOCABULARY": 32,
}


class Model(torch.nn.Module):
    """Logits of tokens."""

    def __init__(self) -> None:
        super().__init__()
        config = Qwen3MoeConfig(
            hidden_size=HEADS * HEAD,
            intermediate_size=INNER,
            moe_intermediate_size=INNER,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=GROUPS,
            head_dim=HEAD,
            num_experts=EXPERTS,
            num_experts_per_tok=CHOSEN,
            vocab_size=VOCABULARY,
            max_position_embeddings=max(LENGTH, 16),
            use_cache=False,
        )
        self.model = Qwen3MoeForCausalLM(config).to(torch.bfloat16)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.model(tokens).logits


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH))]


def get_init_inputs() -> list[int]:
    return []
