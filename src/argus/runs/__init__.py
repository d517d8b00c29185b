"""Records of optimisation runs: what they are made of, and where they are kept."""
