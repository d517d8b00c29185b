"""PyTorch as a specification: exported graphs of ATen operators as terms.

`torch.export` and torch's own decompositions make a graph of few operators, without
mutation; sizes stay symbolic. Each operator is what numpy does to symbolic arrays.

    export.py       a function or module of torch, a kernel's parameters: the result
    graph.py        the nodes of a graph, in order
    table.py        operators by name
    pointwise.py, shapes.py, reducing.py, indexing.py, windows.py, layers.py
"""
