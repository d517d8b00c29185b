"""Launches kernels one after the other, with a watchdog; a part of `budgets.py`.

    python budget_runner.py JOBS.json FIRST SECONDS

One line of JSON for each job from FIRST on. A kernel that has not returned after
SECONDS is told as "hangs", and ends the process: its context is of no more use.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
import time
from typing import Any

NOT_READY = 600
"""CUDA_ERROR_NOT_READY."""
COLUMNS = 128
MULTIPROCESSORS, REGISTERS = 16, 4
"""CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_FUNC_ATTRIBUTE_NUM_REGS."""

lib = ctypes.CDLL("libcuda.so.1")


def call(name: str, *arguments: Any) -> None:
    """Call the driver. Raises RuntimeError if it refuses."""
    status = getattr(lib, name)(*arguments)
    if status:
        raise RuntimeError(f"{name}: error {status}")


def prepare() -> int:
    """A context on the first device; its number of multiprocessors."""
    device, context, count = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_int()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDeviceGetAttribute", ctypes.byref(count), MULTIPROCESSORS, device)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    return count.value


def run(job: dict[str, Any], multiprocessors: int, seconds: float) -> str:
    """Launch one kernel, twice as many blocks as can be resident."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuModuleLoadData", ctypes.byref(module), bytes.fromhex(job["image"]))
    entry = job["entry"].encode()
    call("cuModuleGetFunction", ctypes.byref(function), module, entry)
    blocks = 2 * job["blocks"] * multiprocessors
    rows = 8 * job["rows"] * blocks if job["rows"] else blocks
    columns = COLUMNS if job["rows"] else 1
    memory = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4 * rows * columns))
    words = ctypes.c_size_t(rows * columns)
    call("cuMemsetD32_v2", memory, 0xFFFFFFFF, words)
    values = {"M": rows, "N": COLUMNS, "Y_s0": COLUMNS}
    held: list[Any] = []
    for kind, *rest in job["args"]:
        if kind == "pointer":
            held.append(memory)
        else:
            integer = ctypes.c_int64 if kind == 64 else ctypes.c_int32
            held.append(integer(values[rest[0]]))
    cells = (ctypes.c_void_p * len(held))(*(ctypes.addressof(x) for x in held))
    shape = (blocks, 1, 1, job["threads"], 1, 1)
    call("cuLaunchKernel", function, *shape, 0, None, cells, None)
    begun = time.monotonic()
    while (status := lib.cuStreamQuery(None)) == NOT_READY:
        if time.monotonic() - begun > seconds:
            return "hangs"
        time.sleep(0.0005)
    if status:
        return f"error {status}"
    found = (ctypes.c_float * (rows * columns))()
    call("cuMemcpyDtoH_v2", found, memory, ctypes.c_size_t(4 * rows * columns))
    call("cuMemFree_v2", memory)
    call("cuModuleUnload", module)
    parts = job["rows"] or 1
    expected = (1.0 + r // 8 % parts for r in range(rows))
    told = b"".join(struct.pack("<f", value) * columns for value in expected)
    return "right" if bytes(found) == told else "wrong"


def main() -> None:
    """Run jobs until one hangs."""
    path, first, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    with open(path) as file:
        jobs = json.load(file)
    multiprocessors = prepare()
    for job in jobs[first:]:
        outcome = run(job, multiprocessors, seconds)
        print(json.dumps({"outcome": outcome}), flush=True)
        if outcome not in ("right", "wrong"):
            os._exit(3)


if __name__ == "__main__":
    main()
