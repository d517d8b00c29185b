"""Launching a built kernel.

    loaded = LoadedKernel(spec, cubin.image)
    loaded(A, B, C, alpha)                  # checks, and launches on the current stream
    ready = loaded.prepare(A, B, C, alpha)  # the same, in two steps ...
    ready()                                 # ... of which this one only launches

Arguments come in the order of ``spec.tensors`` and then ``spec.scalars``, or by name. A
launch allocates nothing and waits for nothing, so it may be captured into a CUDA graph.
Faults of the kernel on the device are not seen here: the next synchronisation has them.
"""

import threading
from collections.abc import Hashable, Sequence
from dataclasses import replace

from argus.diagnostics import fail
from argus.ir.launch import LaunchSpec
from argus.runtime.arguments import TensorArg, describe
from argus.runtime.binding import bind
from argus.runtime.driver import Driver, LaunchShape, LoadedFunction, cuda_driver
from argus.runtime.plan import LaunchPlan, PreparedLaunch, Stream, stream_handle
from argus.runtime.recall import PlannedLaunch, Recall


class LoadedKernel:
    """A built kernel, loaded on each device when it is first launched there.

    ``image`` is the cubin. Safe to use from several threads.
    """

    def __init__(
        self, spec: LaunchSpec, image: bytes, driver: Driver | None = None
    ) -> None:
        self.spec = spec
        self.image = image
        self.names = (
            *(t.name for t in spec.tensors),
            *(s.name for s in spec.scalars),
        )
        self._driver = driver
        self._functions: dict[int, LoadedFunction] = {}
        self._lock = threading.Lock()
        self._recall = Recall[PreparedLaunch](self._planned)

    def __call__(
        self, *values: object, stream: Stream | None = None, **named: object
    ) -> None:
        """Check the arguments and launch; a call made before is not checked again.

        Raises ArgusError AG0801 to AG0814, see `binding`.
        """
        if named or len(values) != len(self.names):
            values = self._ordered(values, named)
        handle = 0 if stream is None else stream_handle(stream)
        self._recall((), values, handle)(stream)

    def prepare(self, *values: object, **named: object) -> PreparedLaunch:
        """Check the arguments, and resolve everything that a launch needs.

        Raises ArgusError AG0801 to AG0814, see `binding`.
        """
        given = self._ordered(values, named)
        return self._recall((), given).keeping(given)

    def plan(
        self, tensors: Sequence[TensorArg], scalars: Sequence[object]
    ) -> LaunchPlan:
        """Calls with tensors like these, which are in the order of the spec.

        Raises ArgusError AG0802 to AG0814 but for what the addresses are.
        """
        binding = bind(self.spec, tensors, scalars, self.driver.kind)
        return LaunchPlan(self.spec, self.driver, self.function, tensors, binding)

    def described(
        self, values: Sequence[object], stream: int = 0
    ) -> tuple[TensorArg, ...]:
        """The tensors of a call, with the device of each, in the order of the spec."""
        return tuple(
            located(describe(declared.name, value, stream), self.driver)
            for declared, value in zip(self.spec.tensors, values, strict=False)
        )

    def function(self, device: int) -> LoadedFunction:
        """The kernel on ``device``, loading it there if it is not.

        Raises ArgusError AG0903, AG0904, AG0905, AG0911 or AG0810.
        """
        found = self._functions.get(device)
        if found is None:
            with self._lock:
                found = self._functions.get(device)
                if found is None:
                    spec = self.spec
                    found = self.driver.load(
                        self.image, spec.entry, spec.target, device, self._shape(0)
                    )
                    self._functions[device] = found
        return found

    @property
    def driver(self) -> Driver:
        """The driver; ArgusError AG0911 or AG0903 where there is none."""
        if self._driver is None:
            self._driver = cuda_driver()
        return self._driver

    def _shape(self, grid: int) -> LaunchShape:
        spec = self.spec
        return LaunchShape(grid, spec.threads, spec.cluster, spec.shared_bytes)

    def _ordered(
        self, values: Sequence[object], named: dict[str, object]
    ) -> tuple[object, ...]:
        """Arguments in the order of ``names``; AG0801 if they are not these."""
        names, entry = self.names, self.spec.entry
        expects = f"{entry}({', '.join(names)})"
        if len(values) > len(names):
            raise fail(
                "AG0801",
                None,
                f"`{entry}` takes {len(names)} arguments, given {len(values)}",
                notes=[expects],
            )
        positional = names[: len(values)]
        for name in named:
            if name not in names or name in positional:
                why = "twice" if name in positional else "and has none of that name"
                raise fail(
                    "AG0801",
                    None,
                    f"`{entry}` is given `{name}`, {why}",
                    notes=[expects],
                )
        missing = [n for n in names[len(values) :] if n not in named]
        if missing:
            wanted = ", ".join(f"`{name}`" for name in missing)
            raise fail("AG0801", None, f"`{entry}` lacks {wanted}", notes=[expects])
        return (*values, *(named[name] for name in names[len(values) :]))

    def _planned(
        self, options: Hashable, values: Sequence[object], stream: int
    ) -> PlannedLaunch[PreparedLaunch]:
        tensors = self.described(values, stream)
        count = len(tensors)
        return PlannedLaunch(
            self.plan(tensors, values[count:]),
            tuple(range(count)),
            tuple(range(count, len(values))),
            tuple(t.pointer for t in tensors),
        )


def located(tensor: TensorArg, driver: Driver) -> TensorArg:
    """A tensor with the device that it is on, where its producer does not say that."""
    kind, index = tensor.device
    if index >= 0:
        return tensor
    return replace(tensor, device=(kind, driver.device_of(tensor.pointer)))


__all__ = ["LoadedKernel", "PreparedLaunch", "Stream", "located"]
