"""The form in which a kernel computes a group, and its text.

    form = form_of(group)
    source_of(group, form, "softmax", "...")

This is where a further form is added: a class that says how a group is computed, a
function that finds it in a `LoweredGroup` (or returns None, or raises NotFusedError for
what no kernel should do), and one that writes the file. The first that is found is
taken.
"""

from __future__ import annotations

from argus.programs.kernel_text import KernelSource, kernel_source
from argus.programs.lowering import LoweredGroup
from argus.programs.product_text import product_source
from argus.programs.products import ProductForm, product_form
from argus.programs.tiling import GroupTiling, tiling_of

KernelForm = ProductForm | GroupTiling


def form_of(group: LoweredGroup) -> KernelForm:
    """How a group is computed. Raises NotFusedError where no kernel can."""
    return product_form(group) or tiling_of(group)


def source_of(
    group: LoweredGroup, form: KernelForm, name: str, title: str
) -> KernelSource:
    """The file of a kernel. Raises NotFusedError for what the language cannot say."""
    match form:
        case ProductForm():
            return product_source(group, form, name, title)
        case GroupTiling():
            return kernel_source(group, form, name, title)
