"""Softmax and root-mean-square norm over rows."""
