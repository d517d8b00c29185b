"""Attention of several sequences of different lengths, packed, forward."""
