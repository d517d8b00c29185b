"""Machine code as text."""

from pathlib import Path

import pytest

from argus import compiler
from argus.diagnostics import ArgusError
from argus.evaluation import disassembly
from argus.evaluation.requests import request_for
from argus.kernels.library import LIBRARY


@pytest.mark.compiler
def test_wgmma_is_in_the_machine_code() -> None:
    entry = LIBRARY["gemm"]
    request, _ = request_for(entry, entry.small[0], "sm_90a")
    text = disassembly.sass(compiler.build(request).cubin.image)
    assert "HGMMA" in text
    assert "UTMALDG" in text


def test_what_is_no_cubin() -> None:
    with pytest.raises(ArgusError) as caught:
        disassembly.sass(b"not a cubin")
    assert caught.value.code == "AG0902"


def test_without_a_disassembler(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path | None:
        return None

    monkeypatch.setattr(disassembly, "disassembler", none)
    with pytest.raises(ArgusError) as caught:
        disassembly.sass(b"")
    assert caught.value.code == "AG0906"
    assert "nvidia-cuda-nvdisasm" in str(caught.value)
