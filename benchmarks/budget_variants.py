"""Small kernels about setmaxnreg that no author can write; a part of `budgets.py`.

They ask the hardware what the PTX ISA leaves open, and show in which way each rule of
`verify/order/register_budgets.py` is needed. Block b stores 1 at ``out[b]`` once all is
done.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Variant:
    """``says``: what Argus says of such a program. ``registers``: those at launch."""

    source: str
    threads: int
    says: str
    registers: int | None


def _dec(count: int) -> str:
    return f'asm volatile("setmaxnreg.dec.sync.aligned.u32 {count};" ::: "memory");'


def _inc(count: int) -> str:
    return f'asm volatile("setmaxnreg.inc.sync.aligned.u32 {count};" ::: "memory");'


_WAIT = 'asm volatile("bar.sync 1, 256;" ::: "memory");'
_ARRIVE = 'asm volatile("bar.arrive 1, 256;" ::: "memory");'
_SLEEP = "for (int i = 0; i < 100; ++i) __nanosleep(1000);"


def _kernel(
    warpgroups: list[str],
    says: str,
    registers: int | None = 168,
    bounds: str | None = None,
    threads: int | None = None,
) -> Variant:
    """One piece of code for each warpgroup; the last to be done stores."""
    count = len(warpgroups)
    threads = threads or 128 * count
    bounds = bounds or f"__launch_bounds__({threads}, 1)"
    branches = " else ".join(
        f"if (group == {i}) {{ {code} done(&left, out); }}"
        for i, code in enumerate(warpgroups)
    )
    source = f"""\
__device__ void done(int* left, float* out) {{
  if (threadIdx.x % 128 == 0 && atomicSub(left, 1) == 1) out[blockIdx.x] = 1;
}}
extern "C" __global__ void {bounds} k(float* out) {{
  __shared__ int left;
  const int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
  if (threadIdx.x == 0) left = {count};
  __syncthreads();
  {branches}
}}
"""
    return Variant(source, threads, says, registers)


RAW = {
    "raw: the sum fits": _kernel([_dec(72), _inc(216), _inc(216)], "proved"),
    "raw: 8 more": _kernel([_dec(80), _inc(216), _inc(216)], "refuted"),
    "raw: lower to what is held": _kernel(
        [_dec(168), _dec(72), _inc(264 - 8)], "unknown"
    ),
    "raw: raise to what is held": _kernel(
        [_inc(168), _dec(72), _inc(264 - 8)], "unknown"
    ),
    "raw: raise by lowering": _kernel([_dec(200), "", ""], "refuted"),
    "raw: gives after a while": _kernel(
        [_SLEEP + _dec(72), _inc(216), _inc(216)], "unknown"
    ),
    "raw: gives once it was served": _kernel(
        [_WAIT + _dec(72), _inc(216) + _ARRIVE, ""], "refuted"
    ),
    "raw: gives after a barrier": _kernel(
        [_WAIT + _dec(120), _ARRIVE + _inc(216), ""], "unknown"
    ),
    "raw: served in turn": _kernel(
        [
            _dec(120),
            _inc(216) + _SLEEP + _WAIT.replace("256", "128") + _dec(168),
            _SLEEP + _inc(216),
        ],
        "unknown",
    ),
    "raw: others end, and keep what they have": _kernel(
        ["", "", _SLEEP + _inc(240)], "refuted"
    ),
    "raw: gives, ends; another takes": _kernel(
        [_dec(96), "", _SLEEP + _inc(240)], "proved"
    ),
    "raw: two take what one gives": _kernel([_dec(24), _inc(240), _inc(240)], "proved"),
    "raw: built for fewer registers": _kernel(
        [_dec(72), _inc(216), _inc(216)], "AG0711", None, "__maxnreg__(160)"
    ),
    "raw: nine warps": _kernel([_dec(96), _inc(240), ""], "proved", 168, None, 288),
    "raw: nine warps, 8 more": _kernel(
        [_dec(104), _inc(240), ""], "refuted", 168, None, 288
    ),
    "raw: nine warps, as if dealt out evenly": _kernel(
        [_dec(208), _inc(240), ""], "refuted", 168, None, 288
    ),
}
