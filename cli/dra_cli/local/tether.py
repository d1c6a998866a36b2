"""Runs a program that dies with its parent: `tether.py PARENT_PID -m MODULE ARG...` or a path.

Why a script of its own: the kernel's parent-death signal is asked for by the child itself, and
between fork and exec a process with threads may not run Python. A module runs in this very
interpreter, a path takes its place. Linux only; elsewhere the program simply runs. Imports the
standard library alone, so that it costs no start-up time.
"""

import ctypes
import os
import runpy
import signal
import sys
from typing import Final

PR_SET_PDEATHSIG: Final = 1


def main() -> None:
    """Ties this process to its parent and becomes the program."""
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # it died before we asked
        sys.exit(1)
    if command[0] != "-m":
        os.execv(command[0], command)  # noqa: S606 - a path of our own making, no shell
    sys.argv[:] = command[1:]
    runpy.run_module(command[1], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
