"""What NVRTC writes into must belong to nobody else."""

import pytest

from argus.runtime import nvrtc


@pytest.mark.compiler
@pytest.mark.parametrize("source", ["", "this is not C++"])
def test_compiling_changes_no_constant_of_python(source):
    before = [bytes([i]) for i in range(256)]
    nvrtc.compile_source(source, "empty.cu", ["--gpu-architecture=sm_90a"])
    assert [bytes(bytearray([i])) for i in range(256)] == before
    assert [int.from_bytes(b) for b in before] == list(range(256))


@pytest.mark.parametrize("size", [0, 1, 2, 100])
def test_a_buffer_is_an_object_of_its_own(size):
    first, second = nvrtc._buffer(size), nvrtc._buffer(size)
    assert first is not second
    assert len(first) >= size
