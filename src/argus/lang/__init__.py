"""The names that kernel authors write, and the frontend that parses them."""
