"""The entry point: a kernel, its element types and static values to a program.

A kernel is read once, and once more when a shared tile got its dimension names only
after it had been used (a consumer that stands before its producer).
"""

from __future__ import annotations

from collections.abc import Mapping

from argus.diagnostics import Reporter, Span, fail
from argus.ir import dtypes
from argus.ir.divisors import take, working
from argus.ir.dtypes import DType
from argus.ir.expr import Const, Expr, Sym
from argus.ir.memory import GlobalTensor
from argus.ir.ops import Block, Roles
from argus.ir.program import HARDWARE, Program, ScalarParam, stride_symbol
from argus.lang.frontend import builtins
from argus.lang.frontend.declarations import LanguageModule, LanguageName
from argus.lang.frontend.expressions import evaluate
from argus.lang.frontend.grid import final_grid
from argus.lang.frontend.inlining import liveness_of
from argus.lang.frontend.liveness import Liveness
from argus.lang.frontend.lookup import declared, host_value, is_static, language
from argus.lang.frontend.signature import (
    ScalarParamDecl,
    Signature,
    StaticParam,
    TensorParam,
)
from argus.lang.frontend.state import Dims, Elaborator, Scope
from argus.lang.frontend.statements import execute
from argus.lang.frontend.values import (
    InlineValue,
    ScalarValue,
    StaticValue,
    TensorValue,
    Value,
    describe,
)
from argus.lang.frontend.withs import after_roles
from argus.lang.kernel import Kernel
from argus.targets import Target

DEFAULT_DIVISOR = 16
"""What sizes and strides are taken to be multiples of where `facts` says nothing."""

_REREADS = 4
__all__ = ["builtins", "specialise"]


def specialise(
    kernel: Kernel,
    dtypes: Mapping[str, DType],
    statics: Mapping[str, object],
    target: Target,
    present: Mapping[str, bool] | None = None,
    facts: Mapping[str, int] | None = None,
) -> Program:
    """Read a kernel into a program that is not placed yet.

    Args:
        kernel: the kernel.
        dtypes: element type by tensor name, where the annotation leaves a choice.
        statics: values of static parameters by name; the others take their defaults.
        target: the architecture, for what it lacks.
        present: whether an optional tensor is passed, by name (default: it is not).
        facts: powers of two that divide sizes and strides, by symbol name ("K" or
            "A_s0"); `DEFAULT_DIVISOR` where nothing is said.

    Raises:
        ArgusError: whatever is wrong with the kernel or with these arguments.
    """
    signature = kernel.signature
    seeds: dict[str, Dims] = {}

    def read() -> Elaborator:
        reading = _Reading(kernel, signature, dtypes, statics, target, seeds)
        reading.present, reading.facts = present or {}, facts or {}
        return reading.run()

    span = kernel.declaration.env.source.span(kernel.declaration.node)
    try:
        e = read()
        for _ in range(_REREADS):
            if not e.stale:
                break
            e = read()
    except RecursionError:
        raise fail(
            "AG0020",
            span,
            f"kernel `{kernel.name}` is nested too deeply",
            help="give parts of its expressions names of their own",
        ) from None
    e.reporter.finish()
    return e.program


class _Reading:
    """One reading of a kernel."""

    def __init__(
        self,
        kernel: Kernel,
        signature: Signature,
        tensor_dtypes: Mapping[str, DType],
        statics: Mapping[str, object],
        target: Target,
        seeds: dict[str, Dims],
    ) -> None:
        self.decl = kernel.declaration
        self.signature = signature
        self.dtypes = tensor_dtypes
        self.statics = statics
        self.present: Mapping[str, bool] = {}
        self.facts: Mapping[str, int] = {}
        source = self.decl.env.source
        self.span = source.span(self.decl.node)
        program = Program(kernel.name, source.name, target, [], {}, Block(), self.span)
        scope = Scope(self.decl.env, {}, liveness_of(self.decl.node))
        self.e = Elaborator(program, scope, seeds, evaluate, execute)

    def run(self) -> Elaborator:
        """Bind the parameters, read the body, finish the program."""
        e, p = self.e, self.e.program
        p.facts = working(self.facts)
        self._check_names()
        self._reserve_symbols()
        for static in self.signature.statics:
            value = self._static(static)
            e.arguments[static.name] = value
            p.statics[static.name] = _plain(value)
        for param in self.signature.params:
            if isinstance(param, TensorParam):
                e.arguments[param.name] = self._tensor(param)
            else:
                e.arguments[param.name] = self._scalar(param)
        e.scope.variables.update(e.arguments)
        e.execute(self.decl.node.body)
        with e.reporter.recover():
            after_roles(e)
        self._finish(e.reporter)
        return e

    def _check_names(self) -> None:
        for param in (*self.signature.params, *self.signature.statics):
            bound = self.decl.env.imports.get(param.name)
            if isinstance(bound, LanguageModule | LanguageName):
                raise fail(
                    "AG0019",
                    param.span,
                    f"parameter `{param.name}` hides a name of the language",
                )
        known = {s.name for s in self.signature.statics}
        for name in self.statics:
            if name not in known:
                raise fail(
                    "AG0813",
                    self.span,
                    f"the kernel has no static parameter `{name}`",
                    notes=(f"it has: {', '.join(sorted(known)) or 'none'}",),
                )

    def _reserve_symbols(self) -> None:
        """Sizes and strides are known by their names: nothing else may get one.

        A symbol is its name wherever it has a value, so no two things share one.
        """
        known = {s.name: "something that every kernel has" for s in HARDWARE}
        for tensor in self.signature.tensors:
            for axis in range(len(tensor.dims) - 1):
                name = stride_symbol(tensor.name, axis).name
                known[name] = f"a stride of `{tensor.name}`"
        for tensor in self.signature.tensors:
            for dim in tensor.dims:
                if dim in known:
                    raise fail(
                        "AG0219",
                        tensor.span,
                        f"dimension `{dim}` has the name of {known[dim]}",
                        help="give the dimension another name",
                    )
        for scalar in self.signature.scalars:
            if scalar.name in self.signature.dims:
                raise fail(
                    "AG0014",
                    scalar.span,
                    f"the scalar `{scalar.name}` has the name of a dimension",
                    notes=("sizes and scalars are given by name",),
                    help=f'leave it out: `ag.dim("{scalar.name}")` is the size',
                )
        for name in (*known, *self.signature.dims):
            self.e.fresh(name)

    # ------------------------------------------------------------ parameters

    def _static(self, param: StaticParam) -> Value:
        e = self.e
        if param.name in self.statics:
            value = self._given(param, self.statics[param.name])
        elif param.default is None:
            raise fail(
                "AG0801",
                param.span,
                f"static parameter `{param.name}` has no value",
                help="give it a default, or pass it by keyword",
            )
        else:
            outer, e.scope = e.scope, Scope(self.decl.env, {}, Liveness(()))
            try:
                value = e.evaluate(param.default)
            finally:
                e.scope = outer
            if not is_static(value):
                raise fail(
                    "AG0108", param.span, f"the default of `{param.name}` is not static"
                )
        return self._fitting(param, value)

    def _given(self, param: StaticParam, value: object) -> Value:
        if param.kind == "inline" and isinstance(value, str):
            found = declared(self.e, self.decl.env, value, param.span)
            return found or language(self.e, value, param.span)
        if param.kind == "dtype" and isinstance(value, str):
            return language(self.e, value, param.span)
        return host_value(self.e, param.name, value, param.span)

    def _fitting(self, param: StaticParam, value: Value) -> Value:
        match param.kind, value:
            case "any", _:
                return value
            case "int", StaticValue(value=int() as v) if not isinstance(v, bool):
                return value
            case "bool", StaticValue(value=bool()):
                return value
            case "str", StaticValue(value=str()):
                return value
            case "float", StaticValue(value=int() | float() as v):
                return StaticValue(float(v))
            case "dtype", StaticValue(value=DType()):
                return value
            case "inline", InlineValue():
                return value
            case _:
                raise fail(
                    "AG0813",
                    param.span,
                    f"static parameter `{param.name}` takes {_KINDS[param.kind]}, and "
                    f"this is {describe(value)}",
                )

    def _tensor(self, param: TensorParam) -> Value:
        if param.optional and not self.present.get(param.name, False):
            return StaticValue(None)
        e, p = self.e, self.e.program
        dtype = self.dtypes.get(param.name)
        if dtype is None and len(param.dtypes) > 1:
            raise fail(
                "AG0801",
                param.span,
                f"the element type of `{param.name}` is needed",
                notes=(f"it may be {', '.join(str(d) for d in param.dtypes)}",),
            )
        if dtype is not None and dtype not in param.dtypes:
            raise fail(
                "AG0802",
                param.span,
                f"`{param.name}` has elements of "
                f"{' or '.join(str(d) for d in param.dtypes)}, not of {dtype}",
            )
        shape = tuple(self._extent(d, param.span) for d in param.dims)
        names = tuple(
            d if isinstance(d, str) else f"_{i}" for i, d in enumerate(param.dims)
        )
        last = len(names) - 1
        strides = tuple(
            stride_symbol(param.name, i) if i < last else Const(1)
            for i in range(len(names))
        )
        for s in strides:
            if isinstance(s, Sym):
                self._fact(s.name)
        tensor = GlobalTensor(
            param.name, dtype or next(iter(param.dtypes)), names, shape, strides
        )
        p.params.append(tensor)
        dims = tuple(d if isinstance(d, str) and d != "_" else None for d in param.dims)
        e.fresh(param.name)
        return TensorValue(tensor, dims, shape)

    def _extent(self, dim: str | int, span: Span) -> Expr:
        if isinstance(dim, int):
            return Const(dim)
        # A tensor may be called like a dimension; only a static parameter is its size.
        given = dim in self.e.program.statics
        static = self.e.arguments[dim] if given else None
        match static:
            case None:
                self._fact(dim)
                return Sym(dim, "dim")
            case StaticValue(value=int() as n) if not isinstance(n, bool) and n > 0:
                return Const(n)
            case _:
                raise fail(
                    "AG0208",
                    span,
                    f"dimension `{dim}` is the static parameter of that name, which is "
                    f"{describe(static)} and not a number of at least 1",
                )

    def _fact(self, name: str) -> None:
        take(self.e.program.facts, self.facts, name, DEFAULT_DIVISOR)

    def _scalar(self, param: ScalarParamDecl) -> Value:
        kind = "float" if param.dtype == dtypes.f32 else "int"
        sym = Sym(self.e.fresh(param.name), "param", kind, nonneg=False)
        self.e.program.params.append(ScalarParam(param.name, param.dtype.name, sym))
        return ScalarValue(sym)

    # ---------------------------------------------------------------- the end

    def _finish(self, reporter: Reporter) -> None:
        e, p = self.e, self.e.program
        p.grid = final_grid(e)
        roles = next((op for op in p.body.ops if isinstance(op, Roles)), None)
        if roles is not None:
            p.warps = sum(r.warps for r in roles.roles)
            if e.launch_span is not None and e.launch_warps:
                reporter.report(
                    "AG0613",
                    e.launch_span,
                    "a kernel with roles takes its warps from them",
                    help="leave `warps=` out",
                )
        for sync in e.block_syncs:
            sync.threads = p.threads
        order = [param.name for param in p.params]
        p.outputs.sort(key=order.index)
        if not p.outputs and not reporter.has_errors:
            reporter.report(
                "AG0024",
                self.span,
                f"kernel `{p.name}` stores nothing",
                help="write a result: `C[i:, j:] = tile`",
            )


_KINDS = {
    "int": "a whole number",
    "bool": "`True` or `False`",
    "str": "a text",
    "float": "a number",
    "dtype": "an element type",
    "inline": "an `@ag.inline` function",
}


def _plain(value: Value) -> object:
    match value:
        case StaticValue(value=v):
            return v
        case InlineValue(declaration=d):
            return d.name
        case _:
            return describe(value)
