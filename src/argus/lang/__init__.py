"""The names that kernel authors write, and the frontend that parses them.

names/      what `import argus as ag` offers: typed stubs, dtypes, decorators
library.py  functions written in the language itself (`ag.silu`, `ag.gelu`, ...)
kernel.py   `Kernel`, `Module`: handles on source text, never on executed code
frontend/   source text to :class:`argus.ir.program.Program`
"""
