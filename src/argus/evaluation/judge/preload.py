"""Imported once by the fork server, so that a candidate's process costs little.

Nothing here may start threads or initialise CUDA: neither survives a fork.
"""

import importlib
import os

from argus.verify.verifier import ANALYSES, available

_MODULES = (
    "argus.codegen",
    "argus.evaluation.judge.simulating",
    "argus.evaluation.judge.worker",
    "argus.interpret",
    "argus.lang.frontend.reading",
    "argus.lower",
    "argus.model",
    "argus.runtime.build",
    "argus.verify.render.diagnostics",
)

# One thread for each process: the judge's workers are the parallelism, and a process
# with threads should not be forked. numpy reads these when it is first used for a
# product, torch when it is loaded, which is later.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
for _module in _MODULES:
    importlib.import_module(_module)
for _analysis in ANALYSES:
    available(_analysis)
