"""Matrix products of f32: as tf32, or as accurate as f32 by parts of bf16."""
