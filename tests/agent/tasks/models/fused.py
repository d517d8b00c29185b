"""Level 2: a linear layer, activation, and a residual."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(torch.relu(self.linear(x))) + x


def get_inputs():
    return [torch.randn(2, 40, 64)]


def get_init_inputs():
    return [64]
