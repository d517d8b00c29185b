"""Layer normalisation over rows."""
