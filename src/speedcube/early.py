"""What has to happen before the package loads, which takes a second."""

import sys

if sys.argv[:1] == ["-m"] and "speedcube" in sys.orig_argv:  # python -m speedcube, before its main
    import speedcube_command

    speedcube_command.listen()
