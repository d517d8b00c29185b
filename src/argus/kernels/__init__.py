"""The library: expert kernels written in the language, and their references."""
