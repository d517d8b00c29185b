"""Level 3: a transformer block whose attention is written out."""

import math

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.heads = heads
        self.first = nn.LayerNorm(width)
        self.second = nn.RMSNorm(width, eps=1e-6)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        self.register_buffer("later", later)

    def forward(self, x):
        b, s, w = x.shape
        q, k, v = self.qkv(self.first(x)).split(w, dim=2)
        q, k, v = (
            t.view(b, s, self.heads, w // self.heads).transpose(1, 2) for t in (q, k, v)
        )
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.later[:s, :s], float("-inf"))
        y = torch.softmax(scores, dim=-1) @ v
        y = y.transpose(1, 2).contiguous().view(b, s, w)
        x = x + self.out(y)
        return x + self.down(torch.relu(self.up(self.second(x))))


def get_inputs():
    return [torch.randn(1, 64, 128)]


def get_init_inputs():
    return [128, 2, 64]
