"""SwiGLU of two matrix products: one tile of each factor, two sums, one result."""
