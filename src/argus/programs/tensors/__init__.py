"""The tensor program: values made by few primitives, seen through views."""
