"""What authors can write, how modules are read, and what is never executed."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import program

import argus as ag
from argus import bf16, f32
from argus.diagnostics import ArgusError
from argus.ir import ops as o
from argus.ir.functions import FUNCTIONS as ELEMENTWISE
from argus.ir.walk import walk
from argus.lang.frontend import builtins, specialise  # noqa: F401 - registers handlers
from argus.lang.frontend.calls import HANDLERS, STUBS, signature_text
from argus.lang.frontend.module import dependencies
from argus.lang.frontend.signature import ScalarParamDecl, TensorParam
from argus.lang.kernel import InlineFunction, Kernel, load_kernels
from argus.lang.names import FUNCTIONS

SCALE = 3.0
HEAD = "import argus as ag\nfrom argus import f32\n\n\n"
STORE = '@ag.kernel\ndef k(A: f32["M"]):\n    A[0:4] = 1.0\n'


@ag.inline
def doubled(x):
    return x * 2.0


@ag.kernel
def scaled(X: bf16["M N"], Y: f32["M N"], shift: f32 = 1.0, *, BN: int = 64):
    (i,) = ag.block(X.shape[0])
    x = ag.load(X[i, 0:], BN).to(f32)
    Y[i, 0:] = doubled(x) * SCALE + shift


class TestTable:
    def test_each_stub_has_a_handler_and_each_handler_a_stub(self) -> None:
        assert HANDLERS.keys() == STUBS.keys()

    def test_each_function_is_exported(self) -> None:
        assert {
            n for n in FUNCTIONS if getattr(ag, n, None) is not FUNCTIONS[n]
        } == set()

    def test_each_element_wise_function_is_in_the_language_reference(self) -> None:
        text = (Path(__file__).parents[2] / "docs" / "language.md").read_text()
        named = {f for f in ELEMENTWISE if f in FUNCTIONS}
        assert {n for n in named if not re.search(rf"`[^`]*\b{n}\b", text)} == set()

    @pytest.mark.parametrize("name", sorted(STUBS))
    def test_stub_is_documented_and_typed(self, name: str) -> None:
        stub = STUBS[name]
        assert stub.__doc__
        parameters = list(inspect.signature(stub).parameters.values())
        typed = [p for p in parameters if p.name != "self"]
        assert all(p.annotation is not p.empty for p in typed)
        assert signature_text(name)

    def test_stub_called_by_python_says_so(self) -> None:
        with pytest.raises(ArgusError, match="outside a kernel") as caught:
            ag.zeros((1,), f32)
        assert caught.value.code == "AG0021"


class TestDecorated:
    def test_is_a_kernel_with_a_signature(self) -> None:
        assert isinstance(scaled, Kernel)
        x, y, shift = scaled.signature.params
        assert isinstance(x, TensorParam)
        assert (x.dims, y.name) == (("M", "N"), "Y")
        assert isinstance(shift, ScalarParamDecl)
        assert scaled.signature.statics[0].name == "BN"
        assert scaled.signature.dims == ("M", "N")

    def test_sees_constants_and_functions_of_its_module(self) -> None:
        ops = [op for op in walk(program(scaled).body) if isinstance(op, o.Elementwise)]
        assert [op.fn for op in ops] == ["mul", "mul", "add"]
        assert [str(op.args[1]) for op in ops] == ["2.0", "3.0", "shift"]
        assert ops[0].span.line == inspect.getsource(sys.modules[__name__]).count(
            "\n", 0, inspect.getsource(sys.modules[__name__]).index("return x * 2.0")
        ) + 1  # fmt: skip

    def test_sees_what_it_captures(self) -> None:
        width = 32

        @ag.kernel
        def local(X: f32["M N"], Y: f32["M N"]):
            (i,) = ag.block(X.shape[0])
            Y[i, 0:] = ag.load(X[i, 0:], width)

        (load,) = [
            op for op in walk(program(local).body) if isinstance(op, o.LoadGlobal)
        ]
        assert load.view.shape == (32,)
        assert "width = 32" in dependencies(local, [])

    def test_dependencies_name_the_source(self) -> None:
        texts = dependencies(scaled, [])
        assert any("def doubled" in text for text in texts)
        assert "SCALE = 3.0" in texts

    def test_python_objects_have_no_meaning(self) -> None:
        thing = object()

        @ag.kernel
        def local(X: f32["M"]):
            X[0:4] = thing

        with pytest.raises(ArgusError) as caught:
            program(local)
        assert caught.value.code == "AG0101"

    def test_inline_is_not_callable(self) -> None:
        assert isinstance(doubled, InlineFunction)
        with pytest.raises(ArgusError):
            doubled(1)


class TestFiles:
    def test_nothing_is_executed(self, tmp_path: Path) -> None:
        path = tmp_path / "k.py"
        path.write_text(
            HEAD + STORE + "\n\n@ag.reference\ndef ref(a):\n    open('/nowhere')\n"
            'if __name__ == "__main__":\n    raise SystemExit\n'
        )
        module = load_kernels(path)
        assert list(module.kernels) == ["k"]
        assert module.references == ("ref",)
        assert program(module.kernels["k"]).outputs == ["A"]

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("import os\n" + STORE, "AG0022"),
            ("from .x import y\n" + STORE, "AG0022"),
            ("from argus import *\n" + STORE, "AG0022"),
            ("print(1)\n" + STORE, "AG0003"),
            ("class X:\n    pass\n" + STORE, "AG0003"),
            ("def f():\n    pass\n" + STORE, "AG0013"),
            ("BM = 1\nBM = 2\n" + STORE, "AG0012"),
            ("async def f():\n    pass\n", "AG0003"),
            ("", "AG0011"),
        ],
    )
    def test_only_declarations_are_allowed(self, text: str, code: str) -> None:
        with pytest.raises(ArgusError) as caught:
            load_kernels("<test>", HEAD + text)
        assert caught.value.code == code

    def test_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(ArgusError) as caught:
            load_kernels(tmp_path / "none.py")
        assert caught.value.code == "AG0002"

    def test_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        path = tmp_path / "k.py"
        path.write_bytes(b"x = '\xff'\n")
        with pytest.raises(ArgusError) as caught:
            load_kernels(path)
        assert caught.value.code == "AG0001"

    def test_constants_may_use_constants(self) -> None:
        text = HEAD + "A4 = 4\nN = A4 * 2\n\n\n" + STORE.replace("0:4", "0:N")
        (store,) = [
            op
            for op in walk(program(load_kernels("<c>", text).kernels["k"]).body)
            if isinstance(op, o.StoreGlobal)
        ]
        assert store.view.shape == (8,)

    @pytest.mark.parametrize(
        ("constant", "code"),
        [
            ("N = N + 1", "AG0101"),
            ("N = ag.cluster_rank", "AG0101"),
            ("N = 10**30", "AG0119"),
            ("N = lambda: 1", "AG0004"),
        ],
    )
    def test_constants_are_static(self, constant: str, code: str) -> None:
        text = HEAD + constant + "\n\n\n" + STORE.replace("0:4", "0 : N + 4")
        with pytest.raises(ArgusError) as caught:
            program(load_kernels("<c>", text).kernels["k"])
        if constant != "N = ag.cluster_rank":
            assert caught.value.code == code


class TestSpecialisation:
    @pytest.mark.parametrize(
        ("statics", "code"),
        [({"BN": 1.5}, "AG0813"), ({"BM": 1}, "AG0813"), ({"BN": True}, "AG0813")],
    )
    def test_wrong_static(self, statics: dict[str, object], code: str) -> None:
        with pytest.raises(ArgusError) as caught:
            program(scaled, **statics)
        assert caught.value.code == code

    def test_wrong_dtype(self) -> None:
        from argus.ir.dtypes import f32 as ir_f32
        from argus.targets import TARGETS

        with pytest.raises(ArgusError) as caught:
            specialise(scaled, {"X": ir_f32}, {}, TARGETS["sm_90a"])
        assert caught.value.code == "AG0802"

    def test_several_mistakes_are_reported_at_once(self) -> None:
        text = HEAD + STORE + "    x = a1\n    y = x + 1\n    z = b2\n"
        with pytest.raises(ArgusError) as caught:
            program(load_kernels("<m>", text).kernels["k"])
        assert caught.value.codes == ("AG0101", "AG0101")

    def test_consumer_before_producer_gets_the_names(self) -> None:
        text = HEAD.replace("f32", "f32, bf16") + (
            "@ag.kernel\n"
            'def k(A: bf16["M K"], C: f32["M K"]):\n'
            "    ring = ag.ring(2, a=bf16.tile(64, 64))\n"
            '    with ag.role("use", warpgroups=1):\n'
            "        with ring.drain() as slot:\n"
            "            x = slot.a.load()\n"
            '            total = ag.sum(x, "K")\n'
            "        C[0:64, 0] = total\n"
            '    with ag.role("load", warps=1):\n'
            "        with ring.fill() as slot:\n"
            "            slot.a.load(A[0:, 0:])\n"
        )
        p = program(load_kernels("<r>", text).kernels["k"])
        (load,) = [op for op in walk(p.body) if isinstance(op, o.LoadShared)]
        assert load.result.dims == ("M", "K")


def test_import_is_light() -> None:
    code = (
        "import sys, argus; "
        "print([m for m in ('numpy', 'torch', 'cuda') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
