"""Convolutions beside cuDNN: right, and how fast? On a GPU.

    python benchmarks/convolutions.py --out ROWS.json [--only stem wide]
    python benchmarks/convolutions.py --show ROWS.json --page PAGE.md

Twelve forward convolutions, each with channels first and last, of bf16 and of f32 (with
tf32 factors, as torch multiplies convolutions of f32 unless it is told otherwise). The
module is `torch.compile`d for this backend and called without gradients; cuDNN is eager
torch with `torch.backends.cudnn.benchmark`, which times cuDNN's algorithms and takes
the fastest. Both are recorded as CUDA graphs, so that no host is timed; the L2 cache
is written over before each call. `--plain`: without graphs.

`error` is the norm of what the result is off from that in f64, over the norm of the
latter; `error_torch` is cuDNN's.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from argus.evaluation.timing import time_interleaved


@dataclass(frozen=True)
class Convolution:
    """A module's constructor and its input's sizes."""

    name: str
    images: int
    channels: int
    sizes: tuple[int, ...]
    """Of an image."""
    filters: int
    window: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1

    def module(self) -> Any:
        """The module with random weights."""
        made = getattr(torch.nn, f"Conv{len(self.sizes)}d")
        return made(
            self.channels, self.filters, self.window, stride=self.stride,
            padding=self.padding, dilation=self.dilation, groups=self.groups,
            bias=False,
        )  # fmt: skip


CONVOLUTIONS = (
    Convolution("stem", 32, 3, (224, 224), 64, 7, stride=2, padding=3),
    Convolution("narrow", 32, 64, (56, 56), 64, 3, padding=1),
    Convolution("pointwise", 32, 256, (56, 56), 128, 1),
    Convolution("strided", 32, 128, (56, 56), 256, 3, stride=2, padding=1),
    Convolution("wide", 32, 256, (28, 28), 256, 3, padding=1),
    Convolution("deep", 32, 512, (7, 7), 512, 3, padding=1),
    Convolution("diffusion", 2, 640, (64, 64), 320, 3, padding=1),
    Convolution("depthwise", 32, 384, (28, 28), 384, 7, padding=3, groups=384),
    Convolution("grouped", 32, 256, (28, 28), 256, 3, padding=1, groups=32),
    Convolution("dilated", 8, 256, (65, 65), 256, 3, padding=4, dilation=4),
    Convolution("sequence", 16, 512, (1500,), 512, 5, padding=2),
    Convolution("volume", 4, 32, (16, 56, 56), 64, 3, padding=1),
)
LAYOUTS = {
    1: {"first": torch.contiguous_format},
    2: {"first": torch.contiguous_format, "last": torch.channels_last},
    3: {"first": torch.contiguous_format, "last": torch.channels_last_3d},
}
"""By the number of an image's dimensions: memory formats."""
TYPES = {"bf16": torch.bfloat16, "f32": torch.float32}
TOLERANCE = {"bf16": 1e-2, "f32": 2e-3}


def recorded(call: Callable[[], object]) -> Callable[[], object]:
    """The call as a CUDA graph."""
    for _ in range(3):
        call()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def row(case: Convolution, layout: str, kind: str, args: Any) -> dict[str, Any]:
    """Errors, and medians in microseconds."""
    torch._dynamo.reset()
    form = LAYOUTS[len(case.sizes)][layout]
    torch.manual_seed(0)
    shape = (case.images, case.channels, *case.sizes)
    model = case.module().to("cuda", TYPES[kind]).to(memory_format=form)
    x = torch.randn(shape, device="cuda", dtype=TYPES[kind]).to(memory_format=form)
    compiled = torch.compile(model, backend="argus")
    with torch.no_grad():
        got, cudnn = compiled(x), model(x)
        exact = case.module().to("cuda", torch.float64)
        exact.load_state_dict(model.state_dict())
        right = exact(x.double())
        errors = [
            float((found.double() - right).norm() / right.norm())
            for found in (got, cudnn)
        ]
        del right, exact
        calls: dict[str, Callable[[], object]] = {
            "argus": lambda: compiled(x),
            "cuDNN": lambda: model(x),
        }
        if not args.plain:
            calls = {name: recorded(call) for name, call in calls.items()}
        times = time_interleaved(calls, rounds=args.rounds)
    us = {name: round(found.median, 2) for name, found in times.items()}
    flops = 2 * math.prod(got.shape) * case.channels // case.groups
    return {
        **asdict(case),
        "layout": layout,
        "type": kind,
        "strides": [list(got.stride()), list(cudnn.stride())],
        "us": us,
        "of_cudnn": round(us["cuDNN"] / us["argus"], 3),
        "tflops": round(flops * case.window ** len(case.sizes) / us["argus"] / 1e6, 1),
        "error": errors[0],
        "error_torch": errors[1],
    }


def told(found: dict[str, Any]) -> str:
    """A line about a row."""
    us = found["us"]
    wrong = "" if found["error"] < TOLERANCE[found["type"]] else "  WRONG"
    return (
        f"{found['name']:10} {found['layout']:5} {found['type']:4} "
        f"{us['argus']:8.1f} us  cuDNN {us['cuDNN']:8.1f}  {found['of_cudnn']:5.2f}  "
        f"{found['tflops']:6.1f} TFLOPS  error {found['error']:.1e} "
        f"({found['error_torch']:.1e}){wrong}"
    )


def mean(rows: list[dict[str, Any]]) -> float:
    """The geometric mean of how often faster."""
    return math.exp(sum(math.log(r["of_cudnn"]) for r in rows) / len(rows))


def summary(rows: list[dict[str, Any]]) -> None:
    """Means by type and layout, and of all."""
    for kind in TYPES:
        for layout in ("first", "last"):
            of = [r for r in rows if r["type"] == kind and r["layout"] == layout]
            if of:
                least = min(r["of_cudnn"] for r in of)
                print(f"{kind} {layout}: {mean(of):.3f} of cuDNN, least {least:.2f}")
    print(f"all {len(rows)}: {mean(rows):.3f} of cuDNN")


def page(rows: list[dict[str, Any]]) -> str:
    """A table of all rows."""
    lines = [
        "# Convolutions beside cuDNN",
        "",
        "<!-- Made by `python benchmarks/convolutions.py --show ROWS.json` -->",
        "",
        "Microseconds, medians, L2 written over before each; both are CUDA graphs.",
        "",
        "| | image | window | channels | type | Argus | cuDNN | of it | error |",
        "| --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for r in rows:
        image = "x".join(map(str, (r["images"], r["channels"], *r["sizes"])))
        further = ("stride", "dilation", "groups")
        more = [f"{name} {r[name]}" for name in further if r[name] != 1]
        window = ", ".join([f"{r['filters']} of {r['window']}", *more])
        us, error = r["us"], f"{r['error']:.1e} ({r['error_torch']:.1e})"
        lines.append(
            f"| {r['name']} | {image} | {window} | {r['layout']} | {r['type']} "
            f"| {us['argus']:.1f} | {us['cuDNN']:.1f} | {r['of_cudnn']:.2f} | {error} |"
        )
    return "\n".join([*lines, "", f"Geometric mean: {mean(rows):.3f} of cuDNN.", ""])


def main() -> int:
    """Measure, print, write; 1 where a result is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, help="rows as JSON")
    parser.add_argument("--only", nargs="+", choices=[c.name for c in CONVOLUTIONS])
    parser.add_argument("--types", nargs="+", choices=TYPES, default=list(TYPES))
    parser.add_argument("--layouts", nargs="+", choices=("first", "last"))
    parser.add_argument("--plain", action="store_true", help="no CUDA graphs")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--show", type=Path, help="rows that were measured")
    parser.add_argument("--page", type=Path, help="them as a page of Markdown")
    args = parser.parse_args()
    if args.show:
        rows = json.loads(args.show.read_text())
        summary(rows)
        if args.page:
            args.page.write_text(page(rows))
        return 0
    torch.backends.cudnn.benchmark = True
    rows: list[dict[str, Any]] = []
    for case in CONVOLUTIONS:
        if args.only and case.name not in args.only:
            continue
        for layout in args.layouts or ("first", "last"):
            if layout not in LAYOUTS[len(case.sizes)]:
                continue
            for kind in args.types:
                rows.append(row(case, layout, kind, args))
                print(told(rows[-1]), flush=True)
                if args.out:
                    args.out.write_text(json.dumps(rows, indent=1) + "\n")
                torch.cuda.empty_cache()
    summary(rows)
    return int(any(r["error"] >= TOLERANCE[r["type"]] for r in rows))


if __name__ == "__main__":
    raise SystemExit(main())
