"""Sweeps: a function trained with many settings, side by side on one cluster.

`sweep` runs trials and returns a `Sweep`; `Sweep(out)` reads the directory of one that runs, was
killed or has ended, and its `write()` makes its page and its table. For programs::

    from speedcube.train import Range, Sweep, sweep

    rates = sweep(fit, {"lr": (1e-4, 1e-2, "log"), "gpus": [1, 4, 8]}, method="random", trials=27,
                  target=1.3, out="runs/sweep")
    rates.best, rates.busy, rates.dataframe()
    Sweep("runs/sweep", target=1.25).write()    # the path of runs/sweep/report.html

`start` checks what was asked for (`checks`) and runs the `loop`. `space` is what may vary, `search`
asks Optuna and tells it, `packing` says which trial starts next, `record` keeps the files. `view`
reads them again, `trials` are the results, `table`, `figures` and `page` show them.
"""

from .space import Range
from .start import report, sweep
from .trials import TrialResult
from .view import Sweep

__all__ = ["Range", "Sweep", "TrialResult", "report", "sweep"]
