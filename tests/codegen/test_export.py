"""Exported files: complete, and accepted by nvcc where there is one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from placed_programs import PROGRAMS

from argus.codegen.export import export, host_program, nvcc_flags


def test_the_host_part_is_in_the_file() -> None:
    whole, host = export(PROGRAMS["gemm"]())
    assert host in whole
    assert "cuTensorMapEncodeTiled" in host
    assert whole.count("int main(") == 1
    assert "/" not in whole.splitlines()[0].removeprefix("//"), "a path leaked"


def test_requirements_are_checked_before_the_launch() -> None:
    from argus.codegen import emit
    from argus.ir.expr import Sym, binary
    from argus.ir.program import Requirement

    program = PROGRAMS["gemm"]()
    even = binary("==", Sym("K", "dim") % 8, 0)
    program.requirements.append(Requirement(even, 'rows are "aligned"', program.span))
    host = host_program(emit(program).spec)
    check = host.index(r'require(v_K % 8 == 0, "rows are \"aligned\"")')
    assert check < host.index("argus_host::launch((const void*)")


@pytest.mark.compiler
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("name", ["gemm", "cluster_copy"])
def test_nvcc_compiles_it(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]()
    whole, _ = export(program)
    file = tmp_path / f"{name}.cu"
    file.write_text(whole)
    flags = nvcc_flags(program.target.name).split()
    # Only compiled: linking needs the driver library, which comes with a GPU.
    done = subprocess.run(
        ["nvcc", *flags, "-c", str(file), "-o", str(tmp_path / "k.o")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
