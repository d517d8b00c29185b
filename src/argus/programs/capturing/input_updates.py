"""Inputs that a graph changes at its end (running statistics), apart from the graph.

    graph, updated = without_updates(graph)

The new graph changes nothing: what its inputs become are its last results, which are
copied to the inputs (`running/copies.py`).
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from argus.programs.capturing.nodes import memory_of

if TYPE_CHECKING:
    from torch.fx import GraphModule


def without_updates(graph: GraphModule) -> tuple[GraphModule, tuple[int, ...]]:
    """A graph that changes no input, and the positions of the inputs it changed.

    What an input becomes is a result behind the others, in the order of positions
    given. Where the changed input is a result, too, that is the input. It is the same
    graph where nothing changes.
    """
    import torch
    from torch.fx import GraphModule

    target = torch.ops.aten.copy_.default
    if not any(node.target is target for node in graph.graph.nodes):
        return graph, ()
    made = GraphModule(graph, copy.deepcopy(graph.graph))
    nodes = made.graph
    places = {n: i for i, n in enumerate(nodes.find_nodes(op="placeholder"))}
    (end,) = nodes.find_nodes(op="output")
    found: list[tuple[int, Any]] = []
    for node in nodes.find_nodes(op="call_function", target=target):
        changed, value = node.args
        if changed not in places or set(node.users) - {end}:
            continue
        node.replace_all_uses_with(changed)  # the input itself, which is changed then
        if memory_of(value) in places:  # another input, which may change, too
            given, clone = value, torch.ops.aten.clone.default
            with nodes.inserting_before(node):
                value = nodes.call_function(clone, (given,))
            value.meta.update(given.meta)
        found.append((places[changed], value))
        nodes.erase_node(node)
    end.args = ((*end.args[0], *(value for _, value in found)),)
    made.recompile()
    return made, tuple(place for place, _ in found)
