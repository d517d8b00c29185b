"""Calls of a plan: memory, launches in order, calls of torch, replays."""
