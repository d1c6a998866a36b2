"""The command line of the devcluster: run until told to stop, and say clearly what is wrong."""

import asyncio
import sys
from collections.abc import Sequence

from dra_devcluster.kubelet.place import FolderError, PathTooLongError
from dra_devcluster.listener import PortTakenError
from dra_devcluster.service import ControllerEndedError, serve
from dra_devcluster.settings import parse_arguments
from dra_devcluster.signals import until_told


def main(words: Sequence[str]) -> int:
    """Run until SIGTERM or SIGINT; returns the exit code."""
    settings = parse_arguments(words)
    try:
        asyncio.run(until_told(serve(settings)))
    except (PortTakenError, PathTooLongError, FolderError) as problem:
        sys.stderr.write(f"error: {problem}\n")
        return 2
    except ControllerEndedError as fault:
        sys.stderr.write(f"error: {fault}\n")
        return 1
    return 0
