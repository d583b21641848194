"""What has to happen before the package loads, which takes a second."""

import gc
import sys

# Nothing that loading makes is garbage: looking for some would be a seventh of its time.
_COLLECTED = gc.isenabled()
gc.disable()


def loaded() -> None:
    """The package is there: garbage is collected again, where it was before."""
    if _COLLECTED:
        gc.enable()


if sys.argv[:1] == ["-m"] and "speedcube" in sys.orig_argv:  # python -m speedcube, before its main
    import speedcube_command

    speedcube_command.listen()
