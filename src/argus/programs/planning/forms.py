"""The form in which a kernel computes a group, and its text.

    group, form = formed(group)
    source_of(group, form, "softmax", "...")

This is where a further form is added: a class that says how a group is computed, a
function that finds it in a `LoweredGroup` (or returns None, or raises NotFusedError for
what no kernel should do), and one that writes the file. The first that is found is
taken.
"""

from __future__ import annotations

from argus.programs.attention.attention_form import AttentionForm, attention_form
from argus.programs.attention.attention_text import attention_source
from argus.programs.attention.chained_form import ChainedForm
from argus.programs.attention.chained_text import chained_source
from argus.programs.lowering.kernel_file import KernelSource
from argus.programs.lowering.lowering import LoweredGroup, NotFusedError
from argus.programs.lowering.unrolling import unrolled
from argus.programs.products.box_text import box_source
from argus.programs.products.box_tiles import BoxTile
from argus.programs.products.pixel_factors import with_pixels
from argus.programs.products.pixel_text import pixel_source
from argus.programs.products.pixel_tiles import PixelTile
from argus.programs.products.product_forms import ProductForm
from argus.programs.products.product_text import product_source
from argus.programs.products.products import product_form
from argus.programs.products.tma_dimensions import with_few_dimensions
from argus.programs.tiles.kernel_text import kernel_source
from argus.programs.tiles.tile_axes import GroupTiling
from argus.programs.tiles.tiling import tiling_of
from argus.programs.tiles.window_products import as_window_product

KernelForm = ProductForm | AttentionForm | ChainedForm | GroupTiling


def formed(group: LoweredGroup) -> tuple[LoweredGroup, KernelForm]:
    """How a group is computed, and the group with the loops that the form walks.

    Raises NotFusedError where no kernel can.
    """
    if group.chained:
        return attention_form(unrolled(group))
    padded = any(s.borders for s in group.stores)
    try:
        found = product_form(group)
        if found is not None:
            if found.pixels is not None:
                group, found = with_pixels(group, found)
            if found.pixels is not None or not padded:
                return with_few_dimensions(group, found)
    except NotFusedError:
        if padded or not group.windows:
            raise
    if padded:
        raise NotFusedError("a dimension that begins or ends inside of others")
    walked = as_window_product(group) if group.windows else group
    walked = walked if walked.flat else unrolled(walked)
    return walked, tiling_of(walked)


def source_of(
    group: LoweredGroup, form: KernelForm, name: str, title: str
) -> KernelSource:
    """The file of a kernel. Raises NotFusedError for what the language cannot say."""
    match form:
        case ProductForm(pixels=PixelTile()):
            return pixel_source(group, form, name, title)
        case ProductForm(box=BoxTile()):
            return box_source(group, form, name, title)
        case ProductForm():
            return product_source(group, form, name, title)
        case AttentionForm():
            return attention_source(group, form, name, title)
        case ChainedForm():
            return chained_source(group, form, name, title)
        case GroupTiling():
            return kernel_source(group, form, name, title)
