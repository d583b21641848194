"""What has to happen before the package loads, which takes a second."""

import gc
import sys
from typing import Any

# Nothing that loading makes is garbage: looking for some would be a seventh of its time. So Python
# looks for it after this many objects more, which is more than loading makes.
_MANY = 200_000
_BEFORE = gc.get_threshold()
_MEANWHILE = (_MANY, *_BEFORE[1:])


def loaded() -> None:
    """Garbage is looked for as before; unless someone else has said meanwhile how often."""
    if gc.get_threshold() == _MEANWHILE:
        if not gc.get_freeze_count():  # those that a program froze stay frozen
            gc.freeze()  # and back, among those that live long: the next look is at new ones alone
            gc.unfreeze()
        gc.set_threshold(*_BEFORE)
    if _looks in gc.callbacks:
        gc.callbacks.remove(_looks)


def _looks(phase: str, info: dict[str, Any]) -> None:
    """Python looks for garbage: loading has ended, be it with an error, or is longer than that."""
    loaded()


if 0 < _BEFORE[0] < _MANY:
    gc.set_threshold(*_MEANWHILE)
    gc.callbacks.append(_looks)

if sys.argv[:1] == ["-m"] and "speedcube" in sys.orig_argv:  # python -m speedcube, before its main
    import speedcube_command

    speedcube_command.listen()
