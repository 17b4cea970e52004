"""A laboratory for storage arrays in Python: runs as data frames, simulated arrays (twins) as functions.

>>> import arraylab
>>> simulation = arraylab.simulate("flashsystem-840", rw="randread", bs="4k", iodepth=4, runtime="1s")
>>> simulation.results()["status"][0]
'done'

Sizes are in bytes, times in seconds where they are settings and in nanoseconds (``_ns``) where they are results; column names
are those of ``arraylab results --csv`` and end in their unit. Errors are :class:`ArraylabError`, with the text and the hint that
the command prints.
"""

from ._array import Array, arrays
from ._error import ArraylabError
from ._fit import Fit, fit
from ._native import VERSION as __version__
from ._native import Histogram
from ._plan import Plan, plans, run
from ._run import Case, Run, compare, open
from ._simulate import Simulation, simulate
from ._study import study
from ._sweep import sweep
from ._twin import Twin
from . import charts

__all__ = [
    "Array",
    "ArraylabError",
    "Case",
    "Fit",
    "Histogram",
    "Plan",
    "Run",
    "Simulation",
    "Twin",
    "__version__",
    "arrays",
    "charts",
    "compare",
    "fit",
    "open",
    "plans",
    "run",
    "simulate",
    "study",
    "sweep",
]
