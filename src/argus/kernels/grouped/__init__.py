"""Grouped matrix products, for mixture of experts."""
