"""Clusters that we start on this machine: nobody else's processes may talk to them.

Dask's workers run whatever code a client sends. So all of a cluster's connections are encrypted,
and both ends have to show a certificate that was made for this cluster alone and lies in memory.
Its dashboard, which knows no certificates, is off unless Dask's setting ``speedcube.dashboard``
(``DASK_SPEEDCUBE__DASHBOARD``) gives it an address.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Final

from ...errors import WorkerError
from ...late import dask, logging, multiprocessing

IGNORE_TERMINAL: Final = "speedcube.engine.clusters.ignore_terminal"
IMPORTED_AGAIN: Final = 83  # exit code of a worker that runs its program once more
CRITICAL: Final = 50
_WORKER: Final = "Dask Worker process"  # how Dask names the processes of workers
_NO_GUARD: Final = (
    "the workers that speedcube starts import this program's file again, and it starts them there, "
    'too: put what it does below  if __name__ == "__main__":'
)


def start(base: type, **options: Any) -> Any:
    """A new cluster of the class ``base``, Dask's or dask-cuda's; a raised exception leaves none.

    Raises
    ------
    WorkerError
        The program has no ``__main__`` guard, or a worker cannot start.
    """
    from distributed.security import Security

    from .private import StartError, private

    _refuse_second_import()
    kind = private(base)
    try:
        return kind(
            host="127.0.0.1",
            security=Security.temporary(),
            dashboard_address=dask.config.get("speedcube", {}).get("dashboard"),
            preload=[IGNORE_TERMINAL],
            **options,
        )
    except StartError as err:
        again = IMPORTED_AGAIN in err.exit_codes
        raise WorkerError(_NO_GUARD if again else f"no worker could start: {err}") from None


def end_quietly() -> None:
    """Where a program ends: Dask tells of each connection whose other end went first."""
    logging.getLogger("distributed").setLevel(CRITICAL)


def _refuse_second_import() -> None:
    """End this process where it is a worker that is about to run the program's file once more.

    multiprocessing's children import the file first, and are named after what they will be.
    """
    process = multiprocessing.current_process()
    if not getattr(process, "_inheriting", False):
        return
    if process.name.startswith(_WORKER):
        sys.stdout.flush()
        os._exit(IMPORTED_AGAIN)  # quietly: the program hears of it from `start`
    raise WorkerError(_NO_GUARD)
