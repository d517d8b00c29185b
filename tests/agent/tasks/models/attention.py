"""Level 1: causal attention of grouped heads."""

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention


class Model(nn.Module):
    def forward(self, q, k, v):
        return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def get_inputs():
    return [
        torch.randn(1, 4, 96, 64),
        torch.randn(1, 2, 96, 64),
        torch.randn(1, 2, 96, 64),
    ]
