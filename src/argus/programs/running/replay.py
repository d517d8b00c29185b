"""Calls with tensors where they were before, replayed as a CUDA graph.

A graph belongs to the addresses of what is given: it is recorded when a call has them
for the second time, and reads what is there by then, so nothing is copied in. Results
are copied out, since the next replay writes where this one did.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from argus.programs.planning.plan import TorchStep
from argus.programs.running.copies import copy_all
from argus.programs.running.execution import ProgramCall
from argus.programs.running.given import addresses

if TYPE_CHECKING:
    from torch import Tensor

GRAPHS = 16
"""Graphs of a program that are kept: each has memory of its own."""
_SEEN = 256
_WORTH = 16
"""Replays for each recording below which no graph is given up for another one: a
recording takes as long as many launches, and addresses that change always (of what a
forward pass keeps) are launched as usual."""


class ReplayedCall:
    """A program's call that records itself. Not for several threads at once.

    ``why_not``: why nothing is recorded; such programs are launched as usual.
    """

    def __init__(
        self,
        call: ProgramCall,
        record: Callable[[Callable[[], None]], Callable[[], None]] | None = None,
    ) -> None:
        self.plan = call.plan
        self.why_not = next((w for s in call.plan.left if (w := _unrecorded(s))), "")
        self._call = call
        self._record = record or recorded
        self._seen: OrderedDict[tuple[int, ...], None] = OrderedDict()
        self._graphs: OrderedDict[tuple[int, ...], _Recorded] = OrderedDict()
        self._recordings = self._replays = 0

    def __call__(
        self, given: Sequence[Tensor], places: Sequence[int] | None = None
    ) -> list[Any]:
        """See `ProgramCall`."""
        if self.why_not:
            return self._call(given, places)
        key = tuple(addresses(given) if places is None else places)
        found = self._graphs.get(key)
        if found is None:
            if key not in self._seen or not self._worth():
                self._remember(key)
                return self._call(given, key)
            try:
                found = self._recorded(given)
            except RuntimeError as error:  # of torch: a call that cannot be recorded
                self.why_not = str(error).partition("\n")[0]
                return self._call(given, key)
            if len(self._graphs) >= GRAPHS:
                self._graphs.popitem(last=False)
            self._graphs[key] = found
            self._recordings += 1
        self._replays += 1
        self._call.refresh(given, key)
        found.replay()
        return self._call.results(given, found.copied(given))

    def _worth(self) -> bool:
        """Whether there is room for one more graph, or those that were paid."""
        room = len(self._graphs) < GRAPHS
        return room or self._replays >= _WORTH * self._recordings

    def _remember(self, key: tuple[int, ...]) -> None:
        if len(self._seen) >= _SEEN:
            self._seen.popitem(last=False)
        self._seen[key] = None

    def _recorded(self, given: Sequence[Tensor]) -> _Recorded:
        memory: list[Any] = []

        def run() -> None:
            memory[:] = self._call.launched(given)

        replay = self._record(run)
        # What is given is not kept: a call brings its own, at the same addresses.
        own = {i: memory[i] for i in self._call.shown}
        return _Recorded(replay, own, len(memory), memory[len(given) :])


@dataclass
class _Recorded:
    """A graph, and the tensors in its own memory; results by the number of their base.

    ``kept``: everything that the graph uses beside what is given.
    """

    replay: Callable[[], None]
    results: dict[int, Tensor]
    size: int
    kept: list[Any]

    def copied(self, given: Sequence[Tensor]) -> list[Any]:
        """The memory of the last replay: what is given, and results elsewhere."""
        import torch

        found: list[Any] = [*given, *[None] * (self.size - len(given))]
        for i, tensor in self.results.items():
            found[i] = torch.empty_like(tensor)
        copy_all([found[i] for i in self.results], [*self.results.values()])
        return found


def recorded(run: Callable[[], None]) -> Callable[[], None]:
    """A CUDA graph of what a function launches; it has run before."""
    import torch

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def _unrecorded(step: TorchStep) -> str:
    """Why a step in torch cannot be part of a graph; "" where it can."""
    import torch

    tags = getattr(step.call.target, "tags", ()) if step.call else ()
    for tag in (
        torch.Tag.data_dependent_output,
        torch.Tag.dynamic_output_shape,
        torch.Tag.nondeterministic_seeded,
    ):
        if tag in tags:
            return f"{step.what} is {tag}"
    return ""
