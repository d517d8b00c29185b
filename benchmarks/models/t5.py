"""T5: two layers of encoder and decoder of the base model (version 1.1)."""

import torch
from transformers import T5Config, T5ForConditionalGeneration

BATCH, LENGTH, ANSWER = 4, 512, 128
LAYERS, HEADS, HEAD = 2, 12, 64
INNER, VOCABULARY = 2048, 32128


class Model(torch.nn.Module):
    """Logits of an answer to tokens."""

    def __init__(self) -> None:
        super().__init__()
        config = T5Config(
            d_model=HEADS * HEAD,
            d_kv=HEAD,
            d_ff=INNER,
            num_layers=LAYERS,
            num_heads=HEADS,
            vocab_size=VOCABULARY,
            feed_forward_proj="gated-gelu",
            use_cache=False,
        )
        self.model = T5ForConditionalGeneration(config).to(torch.bfloat16)

    def forward(self, tokens: torch.Tensor, answer: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=tokens, decoder_input_ids=answer).logits


def get_inputs() -> list[torch.Tensor]:
    tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    return [tokens, torch.randint(0, VOCABULARY, (BATCH, ANSWER))]


def get_init_inputs() -> list[int]:
    return []
