"""Functions of the language that are written in the language.

They are parsed like an author's `@ag.inline` functions, and expanded where called.
"""

from argus.lang.names.compute import erf, exp, maximum, tanh_approx
from argus.lang.names.decorators import inline
from argus.lang.names.values import Tile


@inline
def identity(x: Tile) -> Tile:
    """Leave x as it is: the default of an epilogue parameter."""
    return x


@inline
def sigmoid(x: Tile) -> Tile:
    """Logistic function, 1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + exp(-x))


@inline
def silu(x: Tile) -> Tile:
    """Return x * sigmoid(x), also called swish."""
    return x / (1.0 + exp(-x))


@inline
def relu(x: Tile) -> Tile:
    """Positive part."""
    return maximum(x, 0)


@inline
def gelu(x: Tile) -> Tile:
    """X times the normal distribution function, by erf; 0.7071... is 1/sqrt(2)."""
    return 0.5 * x * (1.0 + erf(x * 0.7071067811865476))


@inline
def gelu_tanh(x: Tile) -> Tile:
    """The tanh form of gelu; 0.7978... is sqrt(2/pi)."""
    return (
        0.5 * x * (1.0 + tanh_approx(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    )
