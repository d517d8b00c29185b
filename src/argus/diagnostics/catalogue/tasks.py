"""AG1040 and following: what the optimiser is asked."""

from argus.diagnostics.catalogue.code import Code

CODES = (
    Code(
        "AG1040",
        "a PyTorch file that is not a task",
        "A PyTorch file has a class `Model`, a function `get_inputs` that returns the "
        "arguments of its `forward`, and may have `get_init_inputs`, which returns "
        "those of its constructor. It is executed; what it raises is shown.",
    ),
    Code(
        "AG1041",
        "a model whose graph cannot be read",
        "`torch.export` reads the operators that the model runs on its inputs. It "
        "cannot where control flow, sizes or numbers depend on elements of tensors (a "
        "branch on a sum, a mask that chooses, `.item()`, the loss of CTC), "
        "nor where `forward` makes a tensor of its inputs, puts it into an attribute "
        "that held none of that shape, and reads it in the next call (a cache that "
        "grows). "
        '`torch.compile(model, backend="argus")` leaves such a part to Python.',
    ),
    Code(
        "AG1042",
        "a PyTorch program without a kernel to search",
        "What is searched are static parameters of the kernels of its plan that are "
        "numbers, where there is time to be gained. `argus plan` shows the kernels.",
    ),
    Code(
        "AG1043",
        "an operator that stays in torch",
        "`argus.compile(..., strict=True)` accepts only a program of which every "
        "operator is part of a kernel. `argus plan` names those that are not, and why.",
    ),
    Code(
        "AG1044",
        "a value of a program that is read before it is written",
        "Between its kernels a program keeps values in memory. Each is written in full "
        "by one step, inside its bounds, before another reads it. This is checked of "
        "every plan before it runs: a finding is a bug of the planning.",
    ),
    Code(
        "AG1045",
        "a value of a program that is written over while it is needed",
        "Values between kernels share a workspace; two may lie in the same bytes if "
        "one is not read any more when the other is written. This is checked of every "
        "plan before it runs: a finding is a bug of the planning.",
    ),
    Code(
        "AG1046",
        "an option that the backend of torch.compile lacks",
        '`torch.compile(model, backend="argus", options={...})` takes the options '
        "that the message lists.",
    ),
    Code(
        "AG1047",
        "tensors on a device without kernels",
        "Kernels run on a GPU of CUDA, and for tensors of the CPU in the interpreter.",
    ),
    Code(
        "AG1048",
        "a program that cannot be written to a file",
        "A file of `ModelNew` says everything that runs: operators of torch by their "
        "names, constants by their elements. What has neither cannot be written.",
    ),
    Code(
        "AG1049",
        "a written model in a mode without a program",
        "A file of `ModelNew` has programs for evaluation and, where the module "
        "computes something else then, for training; torch could not export this one.",
    ),
    Code(
        "AG1050",
        "a baseline that is none",
        "A function marked `@ag.baseline` takes torch tensors by the names of the "
        "kernel's parameters, and returns what the kernel writes. It is called once "
        "before anything is timed; what it raises, or gives instead, is shown.",
    ),
    Code(
        "AG1051",
        "an operator of torch whose result is not what torch said",
        "A program is made of what torch says that each operator gives, before "
        "anything runs. Of what stays in torch the shape is compared when it has run.",
    ),
)
