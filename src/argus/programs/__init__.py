"""Programs of PyTorch: captured, cut into kernels, each printed in the language.

capture.py        a module of torch (`torch_file.py`: of a file) -> the tensor program
tensor_array.py   what functions of numpy record in it (`recorder.py`); `operators.py`:
                  ATen's, by name (`operator_table.py`): `attention_operators.py`, ...
tensor_program.py values, maps, reductions; views of operands (`views.py`)
rewriting.py      programs made anew: `splitting.py`, `copying.py`, `channels_last.py`
result_order.py   values in the order in which results show them
grouping.py       which values one kernel computes; `merging.py`: several results
lowering.py       a group over loops (`loops.py`), as expressions (`expressions.py`,
                  `expression_text.py`)
forms.py          the form of kernel of a group; `products.py`: matrix products
attention_form.py  attention as one kernel; `attention_scores.py`: its masks,
                  `attention_chains.py`, `attention_text.py`, `attention_tiles.py`;
                  `attention_gradients.py`: operators of gradients as one
chained_form.py   gradients of attention as two kernels; `chained_text.py`;
                  `ring_text.py`: what both forms of kernels have in common
window_products.py  convolutions as matrix products; `window_product_text.py`
kernel_text.py    the group as a kernel in the language; `reference_text.py`
plan.py           launches, buffers, what stays in torch; `predictions.py`: times;
                  `kernel_requests.py`: the specialisation of each launch
execution.py      a plan on a GPU, in torch, or in the interpreter, of its inputs
                  (`given.py`)
"""
