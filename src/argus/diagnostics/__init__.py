"""Source spans, the catalogue of error codes, and the rendering of diagnostics."""
