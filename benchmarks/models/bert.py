"""BERT: two layers of the base model, with padded sentences and the head of masks."""

import torch
from transformers import BertConfig, BertForMaskedLM

BATCH, LENGTH = 8, 512
LAYERS, HEADS, HEAD = 2, 12, 64
INNER, VOCABULARY = 3072, 30720


class Model(torch.nn.Module):
    """Logits of tokens, of which the mask says which there are."""

    def __init__(self) -> None:
        super().__init__()
        config = BertConfig(
            hidden_size=HEADS * HEAD,
            intermediate_size=INNER,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            vocab_size=VOCABULARY,
            max_position_embeddings=max(LENGTH, 16),
        )
        self.model = BertForMaskedLM(config).to(torch.bfloat16)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.model(tokens, attention_mask=mask).logits


def get_inputs() -> list[torch.Tensor]:
    lengths = torch.randint(LENGTH // 2, LENGTH + 1, (BATCH, 1))
    mask = (torch.arange(LENGTH) < lengths).long()
    return [torch.randint(0, VOCABULARY, (BATCH, LENGTH)), mask]


def get_init_inputs() -> list[int]:
    return []
