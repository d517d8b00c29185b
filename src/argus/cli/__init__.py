"""The command line, `argus`."""
