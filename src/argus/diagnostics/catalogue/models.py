"""AG1060 and following: language models that write kernels."""

from argus.diagnostics.catalogue.code import Code

CODES = (
    Code(
        "AG1060",
        "the packages for language models are missing",
        "`argus optimize --agent model` asks language models through pydantic-ai, "
        "which comes with the extra `agent`. Some providers need a package of their "
        "own.",
    ),
    Code(
        "AG1061",
        "a language model that cannot be asked",
        "The model's name, address, key, price or settings do not go together. Nothing "
        "was sent.",
    ),
    Code(
        "AG1062",
        "an answer of a language model that cannot be used",
        "The answer was cut off, is not of the form that was asked for, or says of its "
        "kernel what is not so. It goes back to the model with the reason.",
    ),
    Code(
        "AG1063",
        "an edit that changes nothing",
        "The kernel that a language model wrote is the one that it was given: the same "
        "text, or another text for the same program. It goes back to the model.",
    ),
)
