"""Level 1: softmax written out, once over rows and once over columns."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        e = torch.exp(x - x.amax(-1, keepdim=True))
        y = e / e.sum(-1, keepdim=True)
        return y + torch.softmax(x, dim=0)


def get_inputs():
    return [torch.randn(6, 256)]
