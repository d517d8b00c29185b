"""Is a kernel its reference? What runs show, and what is decided for all sizes."""
