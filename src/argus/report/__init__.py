"""Reports of runs as self-contained HTML pages."""
