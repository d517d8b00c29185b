"""Rotary embedding of queries and keys."""
