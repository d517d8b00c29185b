"""From a kernel's source to a launch: parse, place, emit, build, load, run.

    request = Request(kernel, {"A": bf16, ...}, {"BM": 128}, "sm_90a")
    tile_program(request)       what the author wrote, typed
    placed_program(request)     with layouts, instructions, waits and fences
    prove(request)              what the verifier says, from the disk cache if it can
    cuda_source(request)        CUDA C++ and the launch contract
    build(request)              cubin, from the disk cache where possible

Each step calls the one before it. ``launch`` is what calling a kernel does. Nothing is
decided here: each step has a package of its own.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from argus.diagnostics import fail
from argus.ir.dtypes import DTYPES, DType
from argus.ir.program import TARGETS, Program, Target
from argus.lang.kernel import InlineFunction, Kernel
from argus.lang.names.types import as_dtype

if TYPE_CHECKING:
    from argus.codegen import CudaSource
    from argus.ir.launch import LaunchSpec
    from argus.runtime.build import Cubin
    from argus.runtime.launch import Loaded
    from argus.verify.expectations import Usage
    from argus.verify.verdict import Report

DEFAULT_TARGET = "sm_90a"
_DIVISORS = (16, 8, 4, 2)
_PROOFS, _VERDICTS = "proofs", "verdicts"
"""Kinds of cache entries: a proof, and nothing but its verdict."""


@dataclass(frozen=True)
class Request:
    """One specialisation of a kernel.

    ``dtypes`` of the tensors that are passed (an optional tensor left out is absent);
    ``statics`` override defaults; ``facts`` are powers of two (at most 16) known to
    divide dimensions ("M") and strides ("A_s0"); what is not named is divisible by 16.
    """

    kernel: Kernel
    dtypes: Mapping[str, DType]
    statics: Mapping[str, object] = field(default_factory=dict[str, object])
    target: str = DEFAULT_TARGET
    facts: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Built:
    """A kernel ready to load: launch contract, and machine code with its usage."""

    spec: LaunchSpec
    cubin: Cubin


def divisor(n: int) -> int:
    """The largest power of two that divides n, at most 16."""
    return next((d for d in _DIVISORS if n % d == 0), 1)


def facts_of(
    kernel: Kernel, known: Mapping[str, tuple[Sequence[int], Sequence[int]]]
) -> dict[str, int]:
    """The facts of a :class:`Request`, from what divides each tensor's layout.

    ``known``: divisors of the extents and of the strides, by tensor; a tensor that is
    not named is absent. Accesses are as wide as strides and innermost extents allow;
    of a dimension that is innermost nowhere nothing is said, so that a new batch size
    is no new specialisation.
    """
    facts: dict[str, int] = {}
    innermost = {t.dims[-1] for t in kernel.signature.tensors if t.name in known}
    for tensor in kernel.signature.tensors:
        extents, strides = known.get(tensor.name, ((), ()))
        for i, (dim, extent, stride) in enumerate(
            zip(tensor.dims, extents, strides, strict=False)
        ):
            facts[f"{tensor.name}_s{i}"] = stride
            if isinstance(dim, str):
                told = extent if dim in innermost else 1
                facts[dim] = min(facts.get(dim, 16), told)
    return facts


def target_named(name: str) -> Target:
    """The target of that name. Raises ArgusError AG0601 for an unknown one."""
    if name not in TARGETS:
        known = ", ".join(TARGETS)
        raise fail("AG0601", None, f"there is no target `{name}`", help=f"try {known}")
    return TARGETS[name]


def tile_program(request: Request) -> Program:
    """Parse and specialise. Raises ArgusError for every mistake of the author."""
    from argus.lang.frontend import specialise

    kernel = request.kernel
    present = {t.name: t.name in request.dtypes for t in kernel.signature.tensors}
    return specialise(
        kernel,
        dtypes=request.dtypes,
        statics=request.statics,
        target=target_named(request.target),
        present=present,
        facts=request.facts,
    )


def placed_program(request: Request) -> Program:
    """Parse and place. Raises ArgusError where the target cannot honour the kernel."""
    from argus.lower import place

    return place(tile_program(request))


@dataclass(frozen=True)
class Proof:
    """What the verifier says of a specialisation, and what a block of it takes."""

    report: Report
    threads: int
    shared_bytes: int
    cluster: int
    replayed: bool = False
    """Whether its counterexamples were given to the interpreter."""


def prove(request: Request, *, fresh: bool = False) -> Proof:
    """Parse, place and verify; from the disk cache unless ``fresh``.

    Raises ArgusError for what parsing and placing find. What the verifier finds is in
    the report.
    """
    from argus.runtime.cache import default_cache

    key = _proof_key(request)
    raw = None if fresh else default_cache().store.get(_PROOFS, key)
    if raw is not None:
        return _proof_of(json.loads(raw))
    program = placed_program(request)
    from argus.verify.expectations import about_machine_code
    from argus.verify.verifier import verify

    usage = _usage(request) if about_machine_code(program) else None
    report = verify(program, usage=usage)
    proof = Proof(report, 32 * program.warps, program.shared_bytes, program.cluster)
    remember_proof(request, proof)
    return proof


def remember_proof(request: Request, proof: Proof) -> None:
    """Keep a proof on disk; it replaces the one that was kept before."""
    from argus.runtime.cache import default_cache
    from argus.verify.render.data import report_json

    data = {
        "report": report_json(proof.report),
        "block": [proof.threads, proof.shared_bytes, proof.cluster, proof.replayed],
    }
    content = json.dumps(data).encode()
    store = default_cache().store
    store.put(_PROOFS, _proof_key(request), content)
    # Calls need no more than this, and read it without importing the verifier.
    verdict = str(proof.report.verdict).encode()
    store.put(_VERDICTS, _key(request, _sources(request)), verdict)


def _proof_of(data: dict[str, Any]) -> Proof:
    from argus.verify.render.data import report_of

    return Proof(report_of(data["report"]), *data["block"])


def _proof_key(request: Request) -> str:
    """Like that of a build, and with the file's name, which reports point into."""
    return _key(request, [*_sources(request), f"file {request.kernel.file}"])


def _usage(request: Request) -> Usage:
    from argus.verify.expectations import Usage

    found = build(request).cubin.usage
    return Usage(found.registers, found.spill_stores)


def require_right(request: Request) -> None:
    """Prove what is to be launched, unless the cache knows that it is proved.

    Raises ArgusError (an ErrorList) if it is refuted. What is not decided passes with
    an ArgusWarning, and everything with ``ARGUS_CHECK=0`` (AG0908: not 0 or 1).
    """
    if not _checking() or _known_right(_key(request, _sources(request))):
        return
    from argus.diagnostics.errors import ErrorList
    from argus.diagnostics.warning import warn
    from argus.verify.render.diagnostics import diagnostics
    from argus.verify.verdict import Verdict

    report = prove(request).report
    if report.verdict is Verdict.PROVED:
        return
    if report.verdict is Verdict.REFUTED:
        raise ErrorList(*(d for d in diagnostics(report) if d.severity == "error"))
    kernel = request.kernel
    first, *others = (
        o for o in report.obligations if o.verdict is Verdict.UNKNOWN and not o.slow
    )
    warn(
        "AG0390",
        f"kernel `{kernel.name}` is not proved: at line {first.span.line} it is not "
        f"known whether {first.claim} ({first.reason}), and {len(others)} more; "
        f"`argus check {kernel.file}` shows all, `ag.trust` accepts what is unknown, "
        "ARGUS_CHECK=0 proves nothing",
    )


def cuda_source(request: Request) -> CudaSource:
    """Parse, place and print as CUDA C++."""
    from argus.codegen import emit

    return emit(placed_program(request))


def build(request: Request) -> Built:
    """A built kernel: from the disk cache, or made now.

    Raises ArgusError: the author's mistakes, and AG07xx for what the CUDA compiler
    finds (serialised wgmma, ignored register budgets, undeclared spills).
    """
    return _build(request, _key(request, _sources(request)))


def _build(request: Request, key: str) -> Built:
    from argus.runtime.build import BuildOptions
    from argus.runtime.cache import default_cache

    cache = default_cache()
    found = cache.find(key)
    if found is not None:
        return Built(found.spec, found.cubin)
    program = placed_program(request)
    from argus.codegen import emit

    source = emit(program)
    options = BuildOptions(spill_bytes=program.spill_bytes)
    cubin = cache.cubin(source.text, request.target, options, file=request.kernel.file)
    cache.remember(key, source.spec, cubin, options)
    return Built(source.spec, cubin)


def _key(request: Request, sources: list[str]) -> str:
    from argus.runtime.keys import specialisation_key

    return specialisation_key(
        sources=sources,
        kernel=request.kernel.name,
        statics=request.statics,
        dtypes={k: v.name for k, v in request.dtypes.items()},
        target=request.target,
        facts=request.facts,
    )


def _sources(request: Request) -> list[str]:
    """Texts of every file outside the package that the result depends on."""
    from argus.lang.frontend.module import dependencies

    inlines = [v for v in request.statics.values() if isinstance(v, InlineFunction)]
    return dependencies(request.kernel, inlines)


# ------------------------------------------------------------------ calling a kernel


class _Calls:
    """Built kernels in memory, by kernel and by what a call was like."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: dict[tuple[object, ...], Loaded] = {}

    def find(self, key: tuple[object, ...]) -> Loaded | None:
        return self._loaded.get(key)

    def make(self, key: tuple[object, ...], request: Request, checking: bool) -> Loaded:
        from argus.runtime.launch import Loaded

        with self._lock:
            if key not in self._loaded:
                stored = _key(request, _sources(request))
                if checking and not _known_right(stored):
                    require_right(request)
                built = _build(request, stored)
                self._loaded[key] = Loaded(built.spec, built.cubin.image)
            return self._loaded[key]


def _known_right(key: str) -> bool:
    """Whether the disk cache has the verdict that a specialisation is proved."""
    from argus.runtime.cache import default_cache

    return default_cache().store.get(_VERDICTS, key) == b"proved"


def _checking() -> bool:
    """Whether kernels are proved before they are launched: unless ``ARGUS_CHECK=0``.

    Raises ArgusError AG0908 for another value than 0 and 1.
    """
    chosen = os.environ.get("ARGUS_CHECK", "1")
    if chosen not in ("0", "1"):
        raise fail("AG0908", None, f"ARGUS_CHECK is {chosen!r}", help="use 0 or 1")
    return chosen == "1"


_calls = _Calls()


def launch(
    kernel: Kernel,
    args: Sequence[object],
    named: Mapping[str, object],
    *,
    checking: bool = True,
) -> None:
    """Compile for these arguments where that is still to be done, and launch.

    Runs on the current stream of the tensors' device. A new specialisation is proved
    before it is built (`require_right`), unless not ``checking`` or ``ARGUS_CHECK=0``.
    Raises ArgusError before anything is launched for arguments that do not fit.
    """
    loaded, values = prepare_call(kernel, args, named, checking=checking)
    loaded(*values)


def prepare_call(
    kernel: Kernel,
    args: Sequence[object],
    named: Mapping[str, object],
    *,
    checking: bool = True,
) -> tuple[Loaded, tuple[object, ...]]:
    """The built kernel for a call, and its runtime arguments in order."""
    values, statics = _split(kernel, args, named)
    tensors = {
        t.name: values[t.name]
        for t in kernel.signature.tensors
        if values.get(t.name) is not None
    }
    described = {name: _describe(name, value) for name, value in tensors.items()}
    key = (
        kernel,
        checking,
        tuple((n, *d) for n, d in described.items()),
        tuple(sorted(statics.items(), key=lambda item: item[0])),
    )
    loaded = _calls.find(key)
    if loaded is None:
        request = Request(
            kernel,
            {n: dtype for n, (dtype, _, _) in described.items()},
            statics,
            _target_of_device(next(iter(tensors.values()), None)),
            facts_of(kernel, {n: d[1:] for n, d in described.items()}),
        )
        loaded = _calls.make(key, request, checking)
    spec = loaded.spec
    missing = [p.name for p in spec.scalars if p.name not in values]
    defaults = scalar_defaults(kernel) if missing else {}
    ordered = [values[t.name] for t in spec.tensors]
    ordered += [values.get(p.name, defaults.get(p.name)) for p in spec.scalars]
    return loaded, tuple(ordered)


_Described = tuple[DType, tuple[int, ...], tuple[int, ...]]
"""Element type, divisors of the extents, divisors of the strides."""


def _describe(name: str, value: object) -> _Described:
    from argus.runtime.arguments import describe

    given = describe(name, value)
    if given.dtype not in DTYPES:
        raise fail(
            "AG0802",
            None,
            f"argument `{name}` has element type {given.dtype}, which Argus lacks",
            help=f"its element types are {', '.join(DTYPES)}",
        )
    return (
        DTYPES[given.dtype],
        tuple(divisor(n) for n in given.shape),
        tuple(divisor(s) for s in given.strides),
    )


def _target_of_device(tensor: object) -> str:
    """The target for the device of a tensor (the first device without one)."""
    from argus.runtime.arguments import describe
    from argus.runtime.driver import cuda_driver

    index = 0 if tensor is None else describe("tensor", tensor).device[1]
    return "sm_90a" if cuda_driver().info(index).capability == (9, 0) else "sm_80"


def _split(
    kernel: Kernel, args: Sequence[object], named: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, object]]:
    """Runtime values by name, and static overrides. Raises ArgusError AG0801."""
    signature = kernel.signature
    params = signature.params
    if len(args) > len(params):
        raise fail(
            "AG0801",
            None,
            f"kernel `{kernel.name}` takes {len(params)} runtime arguments; "
            f"{len(args)} were given",
        )
    values: dict[str, object] = dict(zip((p.name for p in params), args, strict=False))
    statics: dict[str, object] = {}
    static_names = {s.name for s in signature.statics}
    runtime_names = {p.name for p in params}
    for name, value in named.items():
        if name in static_names:
            statics[name] = _static(value)
        elif name in runtime_names and name not in values:
            values[name] = value
        else:
            known = ", ".join([*runtime_names, *static_names])
            raise fail(
                "AG0801",
                None,
                f"kernel `{kernel.name}` has no argument `{name}` left to be given",
                help=f"its parameters are {known}",
            )
    return values, statics


def _static(value: object) -> object:
    from argus.lang.names.types import ElementType

    return as_dtype(value) if isinstance(value, ElementType) else value


# ------------------------------------------------------------------------ torch


def torch_op(kernel: Kernel, name: str, **statics: object) -> Any:
    """Register ``kernel`` with these static parameters as a torch operator.

    ``name`` is "namespace::name". The operator takes the kernel's runtime parameters by
    position and writes its outputs in place; ``torch.compile(fullgraph=True)`` accepts
    it. Raises ArgusError AG0906 without torch, and what specialising the kernel raises.
    """
    from argus.lang.frontend.signature import TensorParam
    from argus.runtime.torch_op import REQUIRED, OpParameter, as_torch_op

    signature = kernel.signature
    dtypes = {t.name: t.dtypes[0] for t in signature.tensors}
    outputs = tile_program(Request(kernel, dtypes, statics)).outputs
    defaults = scalar_defaults(kernel)
    parameters: list[OpParameter] = []
    for p in signature.params:
        if isinstance(p, TensorParam):
            kind = "optional_tensor" if p.optional else "tensor"
            parameters.append(
                OpParameter(p.name, kind, None if p.optional else REQUIRED)
            )
        else:
            kind = "float" if p.dtype.is_float else "int"
            default = defaults.get(p.name, REQUIRED)
            parameters.append(OpParameter(p.name, kind, default))
    names = [p.name for p in signature.params]

    def run(*args: object) -> None:
        launch(kernel, (), {**dict(zip(names, args, strict=True)), **statics})

    return as_torch_op(run, name, parameters, outputs)


def scalar_defaults(kernel: Kernel) -> dict[str, int | float]:
    """Defaults of the runtime scalars that have one (literals)."""
    import ast

    found: dict[str, int | float] = {}
    for scalar in kernel.signature.scalars:
        if scalar.default is not None:
            found[scalar.name] = ast.literal_eval(scalar.default)
    return found
