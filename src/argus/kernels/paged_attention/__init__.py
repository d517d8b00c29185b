"""Attention of few queries to keys and values in pages."""
