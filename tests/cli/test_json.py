"""`--json`: one object on stdout, always with the same keys; exit codes."""

from pathlib import Path

import pytest

COMMON = {"version", "command", "ok", "diagnostics"}
ENTRY = {"name", "title", "targets", "tolerance", "memory_bound", "kernels", "cases"}
CHECKED = {
    "kernel",
    "case",
    "file",
    "target",
    "statics",
    "dtypes",
    "ok",
    "threads",
    "shared_bytes",
    "cluster",
    "proof",
}
BUILT = {
    "kernel",
    "case",
    "target",
    "statics",
    "entry",
    "threads",
    "cluster",
    "registers",
    "shared_bytes",
    "spill_stores",
    "spill_loads",
    "stack",
    "cubin_bytes",
    "compiler",
    "output",
}
RAN = {"case", "sizes", "ok", "proof", "why", "tolerance", "outputs", "changed_inputs"}
SEEN = {"bytes", "kernel", "ok", "proof", "sizes", "scalars", "outputs", "why"}


def test_list(argus) -> None:
    data = argus("list", "--json").json
    assert set(data) == COMMON | {"entries"}
    assert all(set(e) == ENTRY for e in data["entries"])
    gemm = next(e for e in data["entries"] if e["name"] == "gemm")
    assert gemm["kernels"][0] == "gemm_sm90"
    assert gemm["cases"][0] == {
        "number": 0,
        "name": "256x256x128",
        "group": "small",
        "sizes": {"M": 256, "N": 256, "K": 128},
    }


def test_check_right(argus) -> None:
    ran = argus("check", "scale.py", "--dtype", "X=f16", "--set", "BN=128", "--json")
    assert ran.code == 0
    assert set(ran.json) == COMMON | {"kernels"}
    (kernel,) = ran.json["kernels"]
    assert set(kernel) == CHECKED
    assert kernel["dtypes"] == {"X": "f16", "Y": "bf16"}
    assert kernel["statics"] == {"BN": "128"}
    assert (kernel["threads"], kernel["target"]) == (32, "sm_90a")
    found = kernel["proof"]["specialised"]
    assert found["count"] > len(found["programs"]) > 1
    assert "divisible by 16, 8, 4, 2 or 1" in found["text"]
    assert (found["refused"], found["left"]) == ([], [])


def test_check_wrong(argus) -> None:
    ran = argus("check", "wrong.py", "--json")
    assert ran.code == 1
    assert ran.err == ""
    assert not ran.json["ok"]
    assert [k["ok"] for k in ran.json["kernels"]] == [False, False]
    found = ran.json["diagnostics"]
    assert [d["code"] for d in found] == ["AG0101", "AG0218"]
    assert found[0]["span"]["line"] == 11


def test_one_kernel_of_a_file(argus) -> None:
    ran = argus("check", "wrong.py", "--kernel", "mixed", "--json")
    assert [k["kernel"] for k in ran.json["kernels"]] == ["mixed"]


def test_check_of_an_entry_has_its_distinct_specialisations(argus) -> None:
    kernels = argus("check", "rmsnorm", "--target", "sm_80", "--json").json["kernels"]
    assert all(k["ok"] and k["target"] == "sm_80" for k in kernels)
    keys = [(tuple(k["statics"].items()), k["case"]) for k in kernels]
    assert len(set(keys)) == len(keys) > 1


@pytest.mark.compiler
def test_build(argus, tmp_path) -> None:
    path = tmp_path / "scale.cubin"
    ran = argus("build", "scale.py", "--output", str(path), "--json")
    assert ran.code == 0
    (kernel,) = ran.json["kernels"]
    assert set(kernel) == BUILT
    assert path.read_bytes()[:4] == b"\x7fELF"
    assert path.stat().st_size == kernel["cubin_bytes"]
    assert 0 < kernel["registers"] < 64


def test_run_entry(argus) -> None:
    ran = argus("run", "rmsnorm", "--interpret", "--seed", "3", "--json")
    assert ran.code == 0
    data = ran.json
    assert set(data) == COMMON | {"where", "device", "entry", "cases"}
    assert (data["where"], data["device"]) == ("interpreter", None)
    assert all(set(c) == RAN for c in data["cases"])
    assert all(0 < c["outputs"]["Y"]["error"] < c["tolerance"] for c in data["cases"])


def test_run_with_a_size(argus) -> None:
    ran = argus(
        *["run", "softmax", "--interpret", "--size", "M=2", "--size", "N=77", "--json"]
    )
    (case,) = ran.json["cases"]
    assert case["sizes"] == {"M": 2, "N": 77}
    assert case["case"] == "2x77"
    assert case["outputs"]["Y"]["elements"] == 154


def test_run_file(argus) -> None:
    ran = argus(
        *[
            "run",
            "scale.py",
            "--interpret",
            "--json",
            "--set",
            "a=0",
            "--dtype",
            "Y=f32",
        ]
    )
    assert ran.code == 0
    (kernel,) = ran.json["kernels"]
    assert set(kernel) == SEEN
    assert kernel["sizes"] == {"M": 256, "N": 256}
    assert kernel["scalars"] == {"a": 0.0}
    output = kernel["outputs"]["Y"]
    assert (output["unwritten"], output["min"], output["max"]) == (0, 0.0, 0.0)


def test_explain(argus) -> None:
    data = argus("explain", "scale.py", "--stage", "cuda", "--json").json
    (kernel,) = data["kernels"]
    assert set(kernel) == {"kernel", "stage", "text"}
    assert "__global__" in kernel["text"]


def test_export(argus, tmp_path) -> None:
    ran = argus("export", "scale.py", "--output", str(tmp_path / "new"), "--json")
    assert ran.code == 0
    (file,) = ran.json["files"]
    text = (tmp_path / "new" / "scale.cu").read_text()
    assert file["path"] == str(tmp_path / "new" / "scale.cu")
    assert "int main(" in text


def test_doctor(argus) -> None:
    ran = argus("doctor", "--json")
    assert set(ran.json) == COMMON | {"facts"}
    assert [f["name"] for f in ran.json["facts"]][:3] == ["python", "numpy", "nvrtc"]
    assert ran.code == (
        2 if any(f["state"] == "fail" for f in ran.json["facts"]) else 0
    )


@pytest.mark.compiler
@pytest.mark.usefixtures("no_gpu")
def test_demo(argus) -> None:
    data = argus("demo", "--json").json
    assert data["ok"]
    assert data["timed"] is False
    assert data["spill_stores"] == 0
    assert any("wgmma" in line for line in data["inferred"])


def test_a_wrong_result_is_not_ok(argus, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from argus.kernels.library import LIBRARY

    entry = LIBRARY["softmax"]
    reference = entry.reference
    off = replace(
        entry,
        reference=lambda xp, arrays, case: {"Y": 2 * reference(xp, arrays, case)["Y"]},
    )
    monkeypatch.setitem(LIBRARY, "softmax", off)
    ran = argus("run", "softmax", "--interpret", "--json")
    assert ran.code == 1
    assert not ran.json["ok"]
    assert "elements of Y are wrong" in ran.json["cases"][0]["why"][0]


SMALL = ["softmax", "--shape", "32x128", "--trials", "1", "--no-ablate", "--cold"]
EVERY = {
    "bench": ["gemm"],
    "build": ["scale.py"],
    "check": ["scale.py"],
    "demo": [],
    "doctor": [],
    "equal": ["scale.py", "scale.py"],
    "explain": ["scale.py"],
    "export": ["scale.py", "-o", "{folder}"],
    "list": [],
    "optimize": SMALL,
    "run": ["scale.py"],
    "test": ["scale.py"],
    "runs diff": ["latest:0", "latest:2"],
    "runs export": ["-o", "{folder}"],
    "runs list": [],
    "runs show": [],
}
ELSEWHERE = {
    "mcp": "tests/mcp",
    "plan": "tests/programs",
    "policy": "tests/agent/session",
    "report": "tests/report",
    "session": "tests/agent/session",
}
"""Commands and groups whose JSON is tested with what they do."""


def commands() -> set[str]:
    """The names of all commands, with those of their groups."""
    import typer
    from typer.core import TyperGroup

    from argus.cli.app import app

    whole = typer.main.get_command(app)
    assert isinstance(whole, TyperGroup)
    found: set[str] = set()
    for name, one in whole.commands.items():
        if isinstance(one, TyperGroup):
            found |= {f"{name} {inner}" for inner in one.commands}
        else:
            found.add(name)
    return found


def test_every_command_is_here() -> None:
    others = {name for name in commands() if name.split()[0] in ELSEWHERE}
    assert commands() - others == set(EVERY)
    root = Path(__file__).parents[2]
    for name in {other.split()[0] for other in others}:
        texts = (p.read_text() for p in (root / ELSEWHERE[name]).glob("**/*.py"))
        assert any(f'"{name}"' in text for text in texts), name


@pytest.mark.compiler
@pytest.mark.usefixtures("no_gpu", "run")
@pytest.mark.parametrize("command", EVERY)
def test_one_object_and_nothing_else(
    argus, tmp_path, monkeypatch, command: str
) -> None:
    monkeypatch.setattr("argus.report.page.page", lambda run, state: f"of {run.id}")
    words = [w.format(folder=tmp_path / "new") for w in EVERY[command]]
    ran = argus(*command.split(), *words, "--json")
    data = ran.json  # all of stdout
    assert set(data) >= COMMON
    assert (data["command"], data["ok"]) == (command, ran.code == 0)
    assert ran.err == ""
