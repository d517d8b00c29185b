"""Products of 16-bit floats with weights of eight bits."""
