"""One record per hardware instruction: layouts, text, meaning, effects, limits."""
