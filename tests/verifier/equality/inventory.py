"""Every kernel of the repository that has a reference, or could have one.

    for subject in subjects():
        subject.name, subject.decided()

Kernels of the library are compared with the reference of their entry, in each manner
of its cases; those of files with the reference in it; examples of knowledge entries
with one of `EXAMPLES`, which is put beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import MappingProxyType

from argus.equivalence.deciding import Decided
from argus.equivalence.references import reference_of
from argus.equivalence.traced import decided, decided_case
from argus.evaluation.forms import form_requests
from argus.evaluation.requests import default_dtypes, request_for
from argus.ir.dtypes import DType
from argus.kernels.entry import Case, LibraryEntry
from argus.kernels.library import LIBRARY
from argus.knowledge.entry import CodeBlock, read_entry
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request
from few import EVERY

ROOT = Path(__file__).parents[3]
FOLDERS = ("examples", "docs/tutorial", "benchmarks", "src/argus/kernels")
ENTRIES = ROOT / "src" / "argus" / "knowledge" / "entries"
SECONDS = 20.0
_SM90 = "sm_90a"

_SOFTMAX = """
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)"""
_PRODUCT = "(A, B):\n    return A @ B.T"
EXAMPLES = {
    "attention": f"(Q, K, V, scale):\n    x = Q @ K.T * scale{_SOFTMAX} @ V",
    "bias_relu": "(C, Bias):\n    return np.maximum(C + Bias, 0)",
    "gather": "(X, Rows):\n    return X[Rows]",
    "gelu_gemm": """(A, B):
    import math

    x = A @ B.T
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / 2**0.5))""",
    "gemm": _PRODUCT,
    "gemm Bias": "(A, B, Bias):\n    return np.maximum(A @ B.T + Bias, 0)",
    "gemm Rows": "(A, B, Rows):\n    return A[Rows] @ B.T",
    "layernorm": """(X, W):
    x = X - X.mean(1, keepdims=True)
    return x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * W""",
    "lookup": "(X, I):\n    return X[I]",
    "parts": '(A, B):\n    return np.einsum("mzk,nzk->zmn", A, B)',
    "rest": _PRODUCT,
    "row_max": "(X):\n    return X.max(1)",
    "scale": "(X, alpha):\n    return X * alpha",
    "softmax": f"(X):\n    x = X{_SOFTMAX}",
    "total": "(P):\n    return P.sum(0)",
    "whole": _PRODUCT,
}
"""What examples compute: by the kernel's name, and a tensor that not all have."""
_FINISHED = """
    x = x if Bias is None else x + Bias
    return x if Residual is None else x + Residual"""
_SCALES = "(A, B, ScaleA=None, ScaleB=None, Bias=None)"
_SCALED = """
    x = x if ScaleA is None else x * ScaleA[0]
    x = x if ScaleB is None else x * ScaleB[0]
    return x if Bias is None else x + Bias"""
PARTS = {
    **dict.fromkeys(("attention_merge", "attention_parts")),
    "swiglu_sm90": None,
    **dict.fromkeys(("moe_up", "moe_down", "moe_up_eights", "moe_down_eights")),
    **dict.fromkeys(("int4_weights", "int8_weights", "mxfp4_weights")),
    **dict.fromkeys(("every_fourth", "int4_parts", "int8_parts", "mxfp4_parts")),
    "copy_eights": None,
    **dict.fromkeys(("copy_rows", "turned_rows", "gemm_orders", "batched_orders")),
    "copy_singles": None,
    "single_split": None,
    "gemm_parts": None,
    "gemm_small": f"(A, B, Bias=None, Residual=None):\n    x = A @ B.T{_FINISHED}",
    "gemm_sum": f"(W, Bias=None, Residual=None):\n    x = W.sum(0){_FINISHED}",
    **dict.fromkeys(
        f"{norm}_{part}"
        for norm in ("softmax", "rmsnorm", "layernorm")
        for part in ("parts", "apply")
    ),
    **dict.fromkeys(("cross_entropy_parts", "cross_entropy_merge")),
    **dict.fromkeys(("loss_mean", "loss_sums", "norm_backward", "norm_weights")),
    "gemm_thin": f"(A, B, Bias=None, Residual=None):\n    x = A @ B.T{_FINISHED}",
    "scaled_parts": None,
    "scaled_small": f"{_SCALES}:\n    x = A @ B.T{_SCALED}",
    "scaled_sum": f"{_SCALES.replace('A, B', 'W')}:\n    x = W.sum(0){_SCALED}",
    "scaled_thin": f"{_SCALES}:\n    x = A @ B.T{_SCALED}",
    "single_small": f"(A, B, Bias=None, Residual=None):\n    x = A @ B.T{_FINISHED}",
    "single_thin": f"(A, B, Bias=None, Residual=None):\n    x = A @ B.T{_FINISHED}",
    # Of real numbers a part is all there is, and nothing is left for the others.
    "split_parts": "(X):\n    return np.stack([0 * X, 0 * X, X, 0 * X, X, X], axis=1)",
}
"""What those kernels of the library compute that no entry has by themselves, or says in
other words; None: what the reference in their file says. (Files of kernels that are
proved by terms are compared in `proved/test_proved.py`.)"""

ALTERNATIVES = dict.fromkeys(
    ("gemm_orders", "batched_orders"), (("A", "TurnedA"), ("B", "TurnedB"))
)
"""Optional tensors of parts of which one is given."""


BY_TERMS = (
    "cross_entropy",
    "attention_training",
    "attention_backward_keys",
    "attention_backward_queries",
    "masked_attention",
    "paged_attention",
    "length_attention",
    "paged_merge",
    "moe_route",
    "moe_sum",
    "varlen_attention",
    "int4_few",
    "int4_small",
    "mxfp4_few",
    "mxfp4_small",
)
"""Kernels whose data flow follows from being equal to their references: what online
softmax has seen, and which parts; which blocks of keys a mask leaves out; which query
heads a key head has; which columns the numbers of packed weights meet.
"""


@dataclass(frozen=True)
class Subject:
    """A kernel, where it stands, and the comparison with its reference.

    ``decided``: None where there is no reference.
    """

    name: str
    file: str
    kernel: str
    decided: Callable[[], Decided] | None


def subjects() -> list[Subject]:
    """Every one that no other test compares, in a fixed order."""
    return [*_library(), *_parts(), *_files(), *_examples()]


def _library() -> Iterator[Subject]:
    """Kernels in each manner of their cases, forms of them in one by default."""
    for entry in LIBRARY.values():
        target = entry.targets[-1]
        seen: set[object] = set()
        for case in (*entry.small, *entry.large):
            words = frozenset(word for word in case.options if word.islower())
            own = request_for(entry, case, target)[0]
            forms = [(own.kernel.name, own), *form_requests(entry, case, target)]
            for form, request in forms:
                alike = not EVERY and form != own.kernel.name and form in seen
                if (
                    (form, words) not in seen
                    and not alike
                    and not (form == own.kernel.name and is_compared_elsewhere(entry))
                ):
                    seen |= {form, (form, words)}
                    shown = " ".join([entry.name, request.kernel.name, *sorted(words)])
                    yield _case(shown, entry, case, request)


def is_compared_elsewhere(entry: LibraryEntry) -> bool:
    """Whether `proved/test_proved.py` compares an entry's kernels with a reference.

    That is the one in their file. Where the entry's is another, `kernels/
    test_interpreter.py` holds the numbers of all small cases against it.
    """
    return entry.name in BY_TERMS


def _case(name: str, entry: LibraryEntry, case: Case, request: Request) -> Subject:
    def compare() -> Decided:
        return decided_case(request, entry.proved_reference, case, SECONDS)

    path = Path(request.kernel.file).name
    return Subject(name, path, request.kernel.name, compare)


def _parts() -> Iterator[Subject]:
    """Each without and with its optional tensors."""
    for path in files():
        text = path.read_text()
        names = [name for name in PARTS if f"\ndef {name}(" in text]
        for name in names:
            if (said := PARTS[name]) is not None:
                text += f"\n\n@ag.reference\ndef {name}_reference{said}\n"
        kernels = load_kernels(path.name, text).kernels if names else {}
        for name in names:
            kernel = kernels[name]
            for shown, given in _given(kernel):
                yield _file(shown, path.name, kernel, _SM90, given)


def _given(kernel: Kernel) -> Iterator[tuple[str, Mapping[str, DType]]]:
    """What each case of a part is called, and its optional tensors."""
    tensors = {t.name: t for t in kernel.signature.tensors}
    if kernel.name in ALTERNATIVES:
        for names in product(*ALTERNATIVES[kernel.name]):
            given = {name: tensors[name].dtypes[0] for name in names}
            yield f"part {kernel.name} {' '.join(names)}", given
        return
    yield f"part {kernel.name}", {}
    if any(t.optional for t in tensors.values()):
        every = {name: t.dtypes[0] for name, t in tensors.items()}
        yield f"part {kernel.name}, all tensors", every


def files() -> list[Path]:
    """Files with kernels, outside of tests."""
    return [
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "\n@ag.kernel\n" in path.read_text()
    ]


def _files() -> Iterator[Subject]:
    for path in files():
        if path.is_relative_to(ROOT / "src"):
            continue
        for kernel in load_kernels(path).kernels.values():
            name = f"{path.relative_to(ROOT)} {kernel.name}"
            yield _file(name, path.name, kernel, _SM90)


def _file(
    name: str,
    file: str,
    kernel: Kernel,
    target: str,
    dtypes: Mapping[str, DType] = MappingProxyType({}),
) -> Subject:
    declared = reference_of(kernel)
    request = Request(kernel, default_dtypes(kernel, dtypes), {}, target, {})
    if declared is None:
        return Subject(name, file, kernel.name, None)

    def compare() -> Decided:
        return decided(request, declared, SECONDS)

    return Subject(name, file, kernel.name, compare)


def _examples() -> Iterator[Subject]:
    """Those that are right, each text once."""
    seen: set[str] = set()
    for path in sorted(ENTRIES.glob("*.md")):
        entry = read_entry(path.read_text(encoding="utf-8"), path.stem)
        for which, codes in (("before", entry.before), ("after", entry.after)):
            for code in codes:
                if code.source in seen:
                    continue
                seen.add(code.source)
                for kernel in _with_reference(code, entry.id):
                    name = f"{entry.id} {which} {kernel.name}"
                    yield _file(name, entry.id, kernel, code.target)


def _with_reference(code: CodeBlock, name: str) -> list[Kernel]:
    """The kernels of an example, with a reference for each in their file."""
    source = code.source
    for kernel in load_kernels(f"{name}.py", code.source).kernels.values():
        tensors = (f"{kernel.name} {t.name}" for t in kernel.signature.tensors)
        key = next((t for t in tensors if t in EXAMPLES), kernel.name)
        if key in EXAMPLES:
            source += f"\n\n@ag.reference\ndef {kernel.name}_reference{EXAMPLES[key]}\n"
    return list(load_kernels(f"{name}.py", source).kernels.values())
