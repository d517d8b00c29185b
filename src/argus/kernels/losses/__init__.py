"""Losses over rows of logits."""
