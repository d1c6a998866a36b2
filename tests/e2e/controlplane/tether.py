"""Runs a program that dies with its parent: `python tether.py PARENT_PID PROGRAM ARG...`.

Why a program of its own: the kernel's parent-death signal must be asked for between fork and
exec, where a process with threads may not run Python. It survives the exec. Linux only;
elsewhere the program simply runs. Imports the standard library alone, for speed.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # it died before we asked
        sys.exit(1)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
