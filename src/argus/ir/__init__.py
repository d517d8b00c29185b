"""The one program representation: expressions, tiles, memory, operations, programs."""
