"""Norms over rows with a residual, in eight bits, and their gradients."""
