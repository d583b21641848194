"""What has to happen before the package loads, which takes a second."""

import gc
import sys

# Loading makes many objects and leaves no garbage: looking for some takes a tenth of its time.
COLLECTS = gc.isenabled()
gc.disable()

if sys.argv[:1] == ["-m"] and "speedcube" in sys.orig_argv:  # python -m speedcube, before its main
    import speedcube_command

    speedcube_command.listen()


def loaded() -> None:
    """Collect garbage again, as before."""
    if COLLECTS:
        gc.enable()
