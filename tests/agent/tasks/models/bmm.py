"""Level 1: products of a batch of matrices, the right ones transposed."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b.transpose(1, 2))


def get_inputs():
    return [torch.randn(3, 64, 32), torch.randn(3, 48, 32)]
