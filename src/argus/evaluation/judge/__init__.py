"""The judge of untrusted candidates: isolation, limits, verdicts, executors."""
