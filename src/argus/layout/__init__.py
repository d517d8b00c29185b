"""The layout algebra: fragments, layouts and swizzles; imports nothing of argus."""
