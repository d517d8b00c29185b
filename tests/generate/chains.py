"""Element-wise chains: functions, operands by name, masks, casts, branches, inlines.

    value = chain(draft, value, place, length)

Each step is a line of the kernel and a line of the reference. Floating point steps keep
values near 1, so that rounding errors stay small relative to what comes out.
"""

from __future__ import annotations

from dataclasses import replace

from generate.draft import FLOATS, HALVES, Draft, Place, Value

_ONE = {
    "ag.tanh({})": "np.tanh({})",
    "ag.abs({})": "np.abs({})",
    "ag.relu({})": "np.maximum({}, 0)",
    "ag.sigmoid({})": "1 / (1 + np.exp(-{}))",
    "ag.silu({})": "{0} / (1 + np.exp(-{0}))",
    "ag.sin({} * 0.125)": "np.sin({} * 0.125)",
    "ag.cos({} * 0.125)": "np.cos({} * 0.125)",
    "-{}": "-{}",
    "ag.exp(-ag.abs({}))": "np.exp(-np.abs({}))",
    "ag.exp2(ag.minimum({}, 1.0))": "np.exp2(np.minimum({}, 1.0))",
    "ag.sqrt(ag.abs({}) + 0.25)": "np.sqrt(np.abs({}) + 0.25)",
    "ag.rsqrt(ag.abs({}) + 0.5)": "(np.abs({}) + 0.5) ** -0.5",
    "ag.rcp(ag.abs({}) + 1.0)": "1 / (np.abs({}) + 1)",
    "ag.log(ag.abs({}) + 1.0)": "np.log(np.abs({}) + 1)",
    "ag.log2(ag.abs({}) + 2.0)": "np.log2(np.abs({}) + 2)",
    "ag.erf({})": "np.vectorize(__import__('math').erf, otypes=[float])({})",
    "ag.fma({0}, {0}, 0.5)": "{0} * {0} + 0.5",
    "ag.fdiv({0}, ag.abs({0}) + 1.0)": "{0} / (np.abs({0}) + 1)",
}
_JUMPS = {
    "ag.floor({})": "np.floor({})",
    "ag.ceil({})": "np.ceil({})",
    "ag.round({})": "np.round({})",
    "ag.where({0} > 0.25, {0}, 0.0)": "np.where({0} > 0.25, {0}, 0)",
    "ag.where(({0} < -0.5) | ({0} >= 1.0), 1.0, {0})": (
        "np.where(({0} < -0.5) | ({0} >= 1), 1, {0})"
    ),
}
_WHOLE = {
    "{} + 3": "{} + 3",
    "{} * 2 - 1": "{} * 2 - 1",
    "-{}": "-{}",
    "{} // 3": "{} // 3",
    "{} % 5": "{} % 5",
    "ag.abs({})": "np.abs({})",
    "ag.maximum({}, 1)": "np.maximum({}, 1)",
    "ag.minimum({}, 2)": "np.minimum({}, 2)",
    "{} & 7": "{} & 7",
    "{} | 8": "{} | 8",
    "~{}": "~{}",
    "{} ^ 5": "{} ^ 5",
    "ag.where({0} % 2 == 0, {0}, -{0})": "np.where({0} % 2 == 0, {0}, -{0})",
}


def loaded(d: Draft, place: Place, name: str, dtype: str, dims, **how) -> Value:
    """A new input tensor, loaded at the place; in the reference, an array of all its
    dimensions, those that it lacks of size 1."""
    t = d.tensor(name, dtype, dims, **how)
    made = d.fresh()
    d.line(f"{made} = {place.load(name, dims)}")
    d.ref(f"{made} = {place.spread(name, tuple(map(str, dims)))}")
    tile = tuple(x for x in dims if place.axes[x][1] is not None)
    return Value(made, tile, t.dtype, exact=True)


def chain(
    d: Draft, x: Value, place: Place, length: int, operands: bool = True
) -> Value:
    """Some steps after each other."""
    if x.dtype in HALVES and d.maybe(0.8):
        x = to(d, x, "f32")
    for _ in range(length):
        x = _step(d, x, place, operands)
    return x


def to(d: Draft, x: Value, dtype: str) -> Value:
    """A conversion between floating point types, or between integers."""
    if x.dtype == dtype:
        return x
    d.use("cast")
    made = _assign(d, f"{x.name}.to({dtype})", x.name, x)
    d.rounded(dtype)
    narrow = FLOATS.index(dtype) < FLOATS.index(x.dtype) if dtype in FLOATS else False
    return replace(made, dtype=dtype, exact=x.exact and not narrow)


def combined(d: Draft, x: Value, y: Value) -> Value:
    """Two values of one place, the second of the same or fewer dimensions."""
    tile, ref = d.rng.choice(_pairs(x.dtype))
    made = _assign(d, tile.format(x.name, y.name), ref.format(x.name, y.name), x)
    return replace(made, exact=False, dtype=_joined(x.dtype, y.dtype))


def _pairs(dtype: str) -> list[tuple[str, str]]:
    both = [("ag.maximum({}, {})", "np.maximum({}, {})")]
    both += [("ag.minimum({}, {})", "np.minimum({}, {})")]
    if dtype in ("i8", "u8"):
        return both  # sums may leave the type
    both += [("{} + {}", "{} + {}"), ("{} - {}", "{} - {}")]
    if dtype in FLOATS:
        both += [("{} * {}", "{} * {}")]
        both += [("{} / (ag.abs({}) + 1.0)", "{} / (np.abs({}) + 1)")]
    return both


def _joined(a: str, b: str) -> str:
    return max(a, b, key=FLOATS.index) if a in FLOATS else a


def _step(d: Draft, x: Value, place: Place, operands: bool) -> Value:
    if x.dtype not in FLOATS:
        return _whole_step(d, x, place, operands)
    kind = d.pick(
        one=4, jump=1 if x.exact else 0, number=2, operand=3 if operands else 0,
        mask=1.5, branch=0.7, inline=1.2, static=0.8, scalar=0.8, half=0.5,
        optional=0.6 if operands else 0, vote=0.4,
    )  # fmt: skip
    match kind:
        case "vote":
            return _vote(d, x)
        case "one":
            tile, ref = d.rng.choice(list(_ONE.items()))
            return _once(d, tile, ref, x)
        case "jump":
            tile, ref = d.rng.choice(list(_JUMPS.items()))
            return _once(d, tile, ref, x)
        case "number":
            c = d.rng.choice((0.5, -0.25, 1.5, 2.0, -1.0))
            op = d.rng.choice("+-*")
            return _once(d, f"{{}} {op} {c}", f"{{}} {op} {c}", x)
        case "operand":
            return _operand(d, x, place)
        case "mask":
            return masked(d, x, place)
        case "branch":
            return _branch(d, x)
        case "inline":
            return _inline(d, x)
        case "static":
            return _static(d, x)
        case "scalar":
            return _scalar(d, x)
        case "half":
            half = d.rng.choice(HALVES)
            if x.dtype not in ("f32", half):
                return x
            return to(d, to(d, x, half), "f32")
        case _:
            return _optional(d, x, place)


def _whole_step(d: Draft, x: Value, place: Place, operands: bool) -> Value:
    if operands and d.maybe(0.25):
        y = _fetched(d, x, place, x.dtype)
        return combined(d, x, y)
    if d.maybe(0.2):
        return masked(d, x, place)
    tile, ref = d.rng.choice(list(_WHOLE.items()))
    if x.dtype in ("i8", "u8") and ("*" in tile or "~" in tile or "-" in tile):
        tile, ref = "ag.minimum({}, 3)", "np.minimum({}, 3)"
    return _once(d, tile, ref, x)


def _assign(d: Draft, tile: str, ref: str, like: Value) -> Value:
    name = d.fresh()
    d.line(f"{name} = {tile}")
    d.ref(f"{name} = {ref}")
    return replace(like, name=name)


def _once(d: Draft, tile: str, ref: str, x: Value) -> Value:
    made = _assign(d, tile.format(x.name), ref.format(x.name), x)
    return replace(made, exact=x.dtype not in FLOATS)


def _fetched(d: Draft, x: Value, place: Place, dtype: str, **how) -> Value:
    """An operand of some of the dimensions; one that is a scalar is loaded as one."""
    dims = tuple(n for n in place.order if d.maybe(0.6)) or (d.rng.choice(place.order),)
    if not any(place.axes[n][1] for n in dims):
        dims = (d.rng.choice([n for n in place.order if place.axes[n][1]]),)
    if dtype not in FLOATS:
        how |= {"draw": "ints", "low": 0 if dtype == "u8" else -4}
    name = f"V{len(d.tensors)}"
    d.use("broadcast" if dims != place.order else "operand")
    return loaded(d, place, name, dtype, dims, **how)


def _operand(d: Draft, x: Value, place: Place) -> Value:
    dtype = d.rng.choice(FLOATS)
    if x.dtype in HALVES and dtype in HALVES:
        dtype = x.dtype
    y = _fetched(d, x, place, dtype)
    return combined(d, x, y)


def _optional(d: Draft, x: Value, place: Place) -> Value:
    """A tensor that may be left out: with it, or without."""
    dims = (d.rng.choice([n for n in place.order if place.axes[n][1]]),)
    name, present = f"P{len(d.tensors)}", d.maybe(0.5)
    d.use("optional" if present else "absent")
    d.tensor(name, "f32", dims, optional=True, present=present)
    made = d.fresh()
    d.line(f"{made} = {x.name}.to(f32)")
    with d.block(f"if {name} is not None:"):
        d.line(f"{made} = {made} + {place.load(name, dims)}")
    d.ref(f"{made} = {x.name}" + (f" + {place.spread(name, dims)}" if present else ""))
    return replace(x, name=made, dtype="f32", exact=False)


def masked(d: Draft, x: Value, place: Place) -> Value:
    """A choice by coordinates: one axis against a number, a size or the other axis."""
    tile = [n for n in place.order if place.axes[n][1] is not None]
    axis = d.rng.choice(tile)
    d.use("where")
    mask, ref = coordinate(d, x, place, axis)
    how = d.rng.randrange(3)
    if how == 0:
        c = d.rng.choice((1, 5, 30, 64))
        cond, cond_ref = f"{mask} < {c}", f"{ref} < {c}"
    elif how == 1:
        c = d.rng.choice((2, 3, 4))
        cond, cond_ref = f"{mask} % {c} == 0", f"{ref} % {c} == 0"
    else:
        cond, cond_ref = f"{mask} >= {axis} // 2", f"{ref} >= {axis} // 2"
    other = "0" if x.dtype not in FLOATS else d.rng.choice(("0.0", "1.0", "-0.5"))
    return _assign(
        d,
        f"ag.where({cond}, {x.name}, {other})",
        f"np.where({cond_ref}, {x.name}, {other})",
        x,
    )


def coordinate(d: Draft, x: Value, place: Place, axis: str) -> tuple[str, str]:
    """The coordinates along an axis: of the tile, and of the whole array."""
    start = place.axes[axis][0]
    plus = "" if start == "0" else f" + {start}"
    name = d.fresh("n")
    d.line(f'{name} = ag.index({x.name}, "{axis}"){plus}')
    picks = [":" if n == axis else "None" for n in place.order]
    d.ref(f"{name} = np.arange({axis})[{', '.join(picks)}]")
    return name, name


def _branch(d: Draft, x: Value) -> Value:
    """A branch on a run-time scalar or size, both ways with a value."""
    d.use("branch")
    made, axis = d.fresh(), d.rng.choice(x.dims)
    if d.maybe(0.5):
        cond = f"{axis} % 2 == 0"
    else:
        name = f"flag{len(d.scalars)}"
        cond = f"{d.scalar(name, 'i32', d.rng.randrange(3))} > 0"
    d.line(f"{made} = {x.name}")
    a, b = d.rng.choice((0.5, 2.0)), d.rng.choice((1.0, -0.5))
    d.ref(f"{made} = {x.name} * {a} if {cond} else {x.name} + {b}")
    if d.maybe(0.5):
        with d.block(f"if {cond}:"):
            d.line(f"{made} = {x.name} * {a}")
        with d.block("else:"):
            d.line(f"{made} = {x.name} + {b}")
    else:
        d.line(f"{made} = {x.name} + {b}")
        with d.block(f"if {cond}:"):
            d.line(f"{made} = {x.name} * {a}")
    return replace(x, name=made, exact=False)


def _vote(d: Draft, x: Value) -> Value:
    """A change that a branch leaves out where no element needs it."""
    d.use("vote")
    made, limit = d.fresh(), d.rng.choice((0.25, 1.0, 1e9))
    high = d.maybe(0.5)
    fn, sign, bound = ("minimum", ">", limit) if high else ("maximum", "<", -limit)
    asked = f"ag.any({x.name} {sign} {bound})"
    if d.maybe(0.3):
        asked = f"not ag.all(~({x.name} {sign} {bound}))"
    d.line(f"{made} = {x.name}")
    with d.block(f"if {asked}:"):
        d.line(f"{made} = ag.{fn}({made}, {bound})")
    d.ref(f"{made} = np.{fn}({x.name}, {bound})")
    return replace(x, name=made)


def _inline(d: Draft, x: Value) -> Value:
    """An inline function of one's own, called by name."""
    d.use("inline")
    tile, ref = d.rng.choice(list(_ONE.items()))
    name, c = f"fun{len(d.inlines)}", d.rng.choice((0.5, 1.5))
    d.inlines.append(
        f"@ag.inline\ndef {name}(x, c={c}):\n    y = {tile.format('x')}\n"
        "    return y * c\n\n"
    )
    given = d.rng.choice((None, 0.75))
    call = f"{name}({x.name})" if given is None else f"{name}({x.name}, c={given})"
    made = _assign(d, call, f"({ref.format(x.name)}) * {given or c}", x)
    return replace(made, exact=False)


def _static(d: Draft, x: Value) -> Value:
    """A static parameter: a function, a switch or a number."""
    d.use("static")
    name = f"CHOICE{len(d.statics)}"
    match d.rng.randrange(3):
        case 0:
            functions = {
                "ag.relu": "np.maximum({}, 0)",
                "ag.silu": _ONE["ag.silu({})"],
                "ag.identity": "{}",
            }
            fn, ref = d.rng.choice(list(functions.items()))
            d.static(name, "ag.Inline", fn)
            made = _assign(d, f"{name}({x.name})", ref.format(x.name), x)
        case 1:
            d.static(name, "bool", False)
            on = d.maybe(0.5)
            d.overrides[name] = on
            text = f"{x.name} * 2.0 if {{}} else {x.name} + 0.5"
            made = _assign(d, text.format(name), text.format(on), x)
        case _:
            d.static(name, "float", 1.0)
            d.overrides[name] = d.rng.choice((0.5, 1.25))
            made = _assign(
                d, f"{x.name} * {name}", f"{x.name} * {d.overrides[name]}", x
            )
    return replace(made, exact=False)


def _scalar(d: Draft, x: Value) -> Value:
    """A run-time number as a factor."""
    name = d.scalar(f"alpha{len(d.scalars)}", "f32", d.rng.choice((0.5, 1.25, -0.75)))
    made = _assign(d, f"{x.name} * {name}", f"{x.name} * {name}", x)
    return replace(made, exact=False)
