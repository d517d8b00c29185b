"""Attention, forward, under windows, soft caps and sinks."""
