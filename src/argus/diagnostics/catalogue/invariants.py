"""AG03xx: data-flow invariants, the rules that the verifier proves."""

from argus.diagnostics.catalogue.code import Code

CODES = (
    Code(
        "AG0301",
        "elements that do not share a contracted dimension are multiplied",
        "Every pair of elements that meets in a matrix instruction must agree on "
        "the dimension that is summed over. The counterexample names a pair that "
        "does not, and where each came from.",
    ),
    Code(
        "AG0302",
        "an accumulator element changes its row or column",
        "An element of an accumulator belongs to one output element over all "
        "iterations. Here its row or column differs from one iteration to the next.",
    ),
    Code(
        "AG0303",
        "elements that belong to different coordinates are combined",
        "In an element-wise operation both operands must agree, element by element, "
        "on each dimension they share: a bias, scale, residual or rotation that is "
        "off by a row, a column or a head.",
    ),
    Code(
        "AG0304",
        "a reduction that is incomplete or counts an element twice",
        "Each coordinate of the reduced dimension must be counted exactly once.",
    ),
    Code(
        "AG0305",
        "an element is stored at the wrong coordinate",
        "What is stored at `C[m, n]` must be the element that belongs to row m and "
        "column n. A shift, or another order, may be meant: an `@ag.reference` says "
        "so.",
    ),
    Code(
        "AG0306",
        "an output element is never written",
        "The blocks of the grid together must write each element of an output "
        "exactly once. The counterexample names one that no block writes.",
    ),
    Code(
        "AG0307",
        "an output element is written more than once",
        "Two blocks, two threads or two iterations write the same element of an "
        "output.",
    ),
    Code(
        "AG0308",
        "a partial sum or maximum is stored",
        "The stored element has not seen every coordinate of the dimension that it is "
        "a sum or a maximum over, is a function of a part of a sum that only the "
        "whole one may undergo, or is still relative to a maximum of a part. A part "
        "may be meant: an `@ag.reference` says so, and without one it is refuted only "
        "where the result shows where tiles end.",
    ),
    Code(
        "AG0309",
        "a contracted coordinate is added twice",
        "The accumulator has seen some coordinate of the contracted dimension more "
        "than once, as when the parts of a split overlap; or each of several parts "
        "of a sum adds what belongs to it once, as a bias. Whether that is meant is "
        "for an `@ag.reference` to say; without one it is refuted where the result "
        "shows which tiles were added.",
    ),
    Code(
        "AG0310",
        "a padded element reaches a result",
        "An element outside the tensor may enter a sum only as 0, a maximum only as "
        "-inf, a minimum only as +inf, and a store never. Mask it with `ag.where`.",
    ),
    Code(
        "AG0311",
        "an element is read before it is written",
        "Registers and shared memory hold nothing before they are written.",
    ),
    Code(
        "AG0312",
        "an access outside its tensor",
        "For some admitted sizes the access reads or writes outside the tensor.",
    ),
    Code(
        "AG0313",
        "an access outside its shared tile",
        "The access leaves the bytes of the shared tile or ring slot it names.",
    ),
    Code(
        "AG0314",
        "an assertion on tags does not hold",
        "A condition given to `ag.check` is false for some thread, element and "
        "iteration.",
    ),
    Code(
        "AG0315",
        "a gathered element carries the wrong index",
        "The index tile that gathered the row belongs to another tile, block or "
        "expert than the place where the row is used.",
    ),
    Code(
        "AG0316",
        "a reinterpreted register holds another element",
        "After `ag.reinterpret` the new coordinates must name the same elements "
        "that the registers hold.",
    ),
    Code(
        "AG0317",
        "a shared tile is read with another layout than it was written with",
        "The swizzle or the order of the writer and of the reader differ, so the "
        "reader finds other elements than it names.",
    ),
    Code(
        "AG0318",
        "an assumption that contradicts itself or the sizes",
        "No run-time value satisfies all that `ag.assume` and the contract of the "
        "kernel say, so that everything would be proved.",
    ),
    Code(
        "AG0319",
        "a counterexample that the interpreter does not confirm",
        "The verifier refuted an obligation, and the interpreter, run at the sizes of "
        "the counterexample, found nothing wrong. One of the two is mistaken: this is "
        "a bug of Argus, not of the kernel.",
    ),
    Code(
        "AG0320",
        "an access that the hardware does not accept",
        "A vector access is aligned to its size and stays in one row, a TMA box and a "
        "matrix descriptor keep the rules of their instruction, for all admitted "
        "sizes.",
    ),
    Code(
        "AG0321",
        "parts that are relative to different maxima are added",
        "An online softmax subtracts the maximum of what it has seen. What earlier "
        "iterations have summed is relative to an older maximum, and must be "
        "multiplied by exp(old - new) before more is added.",
    ),
    Code(
        "AG0322",
        "the kernel does not compute its reference",
        "The function marked `@ag.reference` says what the kernel computes. At the "
        "sizes that are shown an element of an output is another number, by more than "
        "rounding, or is not written. The kernel was run in the interpreter there, "
        "and the reference in numpy. Where no run shows a difference, and the terms of "
        "both differ or cannot be compared, it is unknown: `argus equal` shows both.",
    ),
    Code(
        "AG0323",
        "a whole number that does not fit its type",
        "At the sizes that are shown, all of them small, a number that the kernel "
        "computes is too large for 32 bits, so that a launch refuses them. Compute "
        "with smaller numbers, or require what the kernel can do. Of a tile it is "
        "unknown where a number wraps, or where a float that may not hold it decides "
        "a mask, an index or a rounding: 257 is no number of bf16. Compare whole "
        "numbers as such.",
    ),
    Code(
        "AG0324",
        "a scan with a function that may not be associative",
        "`ag.scan` and `ag.reduce` combine elements in any grouping, so that their "
        "function must give the same for f(f(a, b), c) and f(a, f(b, c)), as real "
        "numbers. What is shown are small numbers for which it does not, or what "
        "could not be compared.",
    ),
    Code(
        "AG0330",
        "an exponential that may overflow",
        "Nothing bounds the argument of the exponential, and a quotient or logarithm "
        "of it is no number where it is infinite (above 88 in f32). A softmax "
        "subtracts the maximum first. It is advice: in real arithmetic nothing is "
        "wrong.",
    ),
    Code(
        "AG0331",
        "a division by nothing",
        "What is divided by is a size, or a sum over a set, that is 0 or empty at "
        "sizes that a launch admits. It is an error where a run at these sizes stores "
        "what is not finite, else advice.",
    ),
    Code(
        "AG0332",
        "a maximum of nothing",
        "A maximum is stored that is one of no number at sizes that a launch admits: "
        "it is minus infinity, or what stands for it. Its place is none. It is an "
        "error where a run at these sizes shows it, else advice.",
    ),
    Code(
        "AG0333",
        "a sum that is kept in 16 bits",
        "Each addition rounds to the 8 or 11 bits of bf16 or f16, and a sum of many "
        "terms stops growing. Keep the sum in f32, and convert it when it is complete. "
        "It is an error where a run over a long dimension loses the result, else "
        "advice.",
    ),
    Code(
        "AG0334",
        "a root of what rounding may make negative",
        "A mean of squares less the square of the mean is a variance in real "
        "arithmetic. Where the sums are large beside their difference its digits "
        "cancel, and the root or logarithm of what is left may be NaN. It is advice: "
        "sum the squares of `x - mean`, or take the maximum with 0.",
    ),
    Code(
        "AG0390",
        "the verifier cannot decide this obligation",
        "The obligation is neither proved nor refuted. The note says what stood in "
        "the way. `unknown` never counts as proved.",
    ),
    Code(
        "AG0391",
        "the solver ran out of time",
        "The obligation was handed to the solver, which gave no answer within its "
        "limit. It counts as unknown.",
    ),
    Code(
        "AG0392",
        "an operation that the verifier does not model",
        "Nothing is known of the result of this operation, so that every obligation "
        "that depends on it is unknown.",
    ),
    Code(
        "AG0393",
        "not every specialisation was looked at",
        "A kernel is compiled again for other element types, optional tensors and "
        "divisors of sizes and strides. It has more of these than a check looks at, "
        "and it is not known whether the others are right. `--dtype` and `--size` "
        "choose some of them.",
    ),
    Code(
        "AG0394",
        "an analysis that this installation lacks",
        "A part of the verifier is not there, and nothing is known of what it would "
        "have shown. No other proof stands in for it.",
    ),
)
