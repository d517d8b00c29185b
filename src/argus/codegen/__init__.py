"""A placed program as CUDA C++, and what a host needs to launch it."""

from argus.codegen.emit import CudaSource, emit
from argus.codegen.errors import CodegenError

__all__ = ["CodegenError", "CudaSource", "emit"]
