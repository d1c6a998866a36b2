"""The supervisor keeps programs running, says why one does not, and leaves nothing behind."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from waiting import until

from dra_cli.local.child import NotReadyError, Program, ProgramEndedError
from dra_cli.local.ports import hold_ports
from dra_cli.local.supervisor import NoSuchProgramError, Supervisor

TOY = """
import http.server, signal, sys
port, code = int(sys.argv[1]), int(sys.argv[2])
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(code))
if code == 99:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(503 if code == 50 else 200)
        self.end_headers()
        self.wfile.write(b"missing: patience" if code == 50 else b"ok")
    def log_message(self, *_):
        pass
print("toy begins", flush=True)
http.server.HTTPServer(("127.0.0.1", port), Answer).serve_forever()
"""

PARENT = """
import asyncio, sys
from pathlib import Path
from dra_cli.local.child import Program
from dra_cli.local.supervisor import Supervisor
async def main():
    supervisor = Supervisor(Path(sys.argv[1]))
    supervisor.start(Program(name="toy", command=tuple(sys.argv[3:]), ready=sys.argv[2]))
    await supervisor.ready(within=10)
    print(supervisor.child("toy").pid, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


@pytest.fixture
def port() -> Iterator[int]:
    """A port for one program, also while it is away."""
    with ExitStack() as held:
        yield hold_ports(1, held)[0]


def a_program(tmp_path: Path, port: int, *, code: int = 0) -> Program:
    """A program that is ready when its port answers, and ends with `code` on SIGUSR1."""
    script = tmp_path / "toy.py"
    script.write_text(TOY)
    command = (sys.executable, str(script), str(port), str(code))
    return Program(name="toy", command=command, ready=f"http://127.0.0.1:{port}/readyz")


@pytest.fixture
async def supervisor(tmp_path: Path) -> AsyncIterator[Supervisor]:
    made = Supervisor(tmp_path, patience=0.5)
    yield made
    await made.stop()


def gone(pid: int) -> bool:
    """Whether no process has this id, or only its remains."""
    try:
        return b") Z " in Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return True


async def starts(supervisor: Supervisor, count: int) -> None:
    """Waits until the toy has been started so often and is ready."""

    async def started() -> bool:
        return supervisor.child("toy").starts >= count

    await until(started, f"{count} starts")
    await supervisor.ready("toy", within=10)


async def test_a_program_is_ready_once_its_url_answers_200(
    supervisor: Supervisor,
    tmp_path: Path,
    port: int,
) -> None:
    supervisor.start(a_program(tmp_path, port))
    await supervisor.ready(within=10)
    supervisor.check()
    assert "toy begins" in (tmp_path / "toy.log").read_text()


async def test_a_program_that_is_not_ready_in_time_is_told_with_what_it_says(
    supervisor: Supervisor,
    tmp_path: Path,
    port: int,
) -> None:
    supervisor.start(a_program(tmp_path, port, code=50))
    with pytest.raises(NotReadyError, match="missing: patience") as error:
        await supervisor.ready(within=1)
    assert "toy begins" in str(error.value)


async def test_a_killed_program_is_started_again(
    supervisor: Supervisor, tmp_path: Path, port: int
) -> None:
    supervisor.start(a_program(tmp_path, port))
    await supervisor.ready(within=10)
    supervisor.child("toy").signal(signal.SIGKILL)
    await starts(supervisor, 2)


async def test_a_program_that_asks_for_it_is_started_again(
    supervisor: Supervisor,
    tmp_path: Path,
    port: int,
) -> None:
    supervisor.start(a_program(tmp_path, port, code=75))
    await supervisor.ready(within=10)
    supervisor.child("toy").signal(signal.SIGUSR1)
    await starts(supervisor, 2)


async def test_any_other_end_is_for_good_and_told_with_the_end_of_the_log(
    supervisor: Supervisor,
    tmp_path: Path,
    port: int,
) -> None:
    supervisor.start(a_program(tmp_path, port, code=3))
    await supervisor.ready(within=10)
    supervisor.child("toy").signal(signal.SIGUSR1)
    with pytest.raises(ProgramEndedError, match=r"toy ended with exit code 3.*\n.*toy begins"):
        await asyncio.wait_for(supervisor.failure(), 10)
    with pytest.raises(ProgramEndedError):
        await supervisor.ready(within=1)


async def test_a_program_that_the_system_cannot_start_is_told(
    supervisor: Supervisor,
    tmp_path: Path,
    port: int,
) -> None:
    (tmp_path / "toy.log").mkdir()
    supervisor.start(a_program(tmp_path, port))
    with pytest.raises(ProgramEndedError, match=r"toy cannot be started .*Is a directory"):
        await asyncio.wait_for(supervisor.failure(), 10)
    with pytest.raises(ProgramEndedError):
        await supervisor.ready(within=1)


async def test_a_program_that_the_system_cannot_start_again_is_told(
    supervisor: Supervisor,
    tmp_path: Path,
    port: int,
) -> None:
    supervisor.start(a_program(tmp_path, port))
    await supervisor.ready(within=10)
    (tmp_path / "toy.log").unlink()
    (tmp_path / "toy.log").mkdir()
    supervisor.child("toy").signal(signal.SIGKILL)
    with pytest.raises(ProgramEndedError, match=r"toy cannot be started .*Is a directory"):
        await asyncio.wait_for(supervisor.failure(), 10)


async def test_without_restarts_a_kill_is_for_good_until_the_program_is_started_by_hand(
    tmp_path: Path,
    port: int,
) -> None:
    supervisor = Supervisor(tmp_path, restart=False)
    supervisor.start(a_program(tmp_path, port))
    await supervisor.ready(within=10)
    supervisor.child("toy").signal(signal.SIGKILL)
    with pytest.raises(ProgramEndedError, match="signal SIGKILL"):
        await asyncio.wait_for(supervisor.failure(), 10)
    supervisor.start_again("toy")
    await starts(supervisor, 2)
    supervisor.check()
    await supervisor.stop()


async def test_stopping_kills_what_does_not_end_by_itself(
    supervisor: Supervisor,
    tmp_path: Path,
    port: int,
) -> None:
    supervisor.start(a_program(tmp_path, port, code=99))
    await supervisor.ready(within=10)
    pid = supervisor.child("toy").pid
    await supervisor.stop()
    assert pid
    assert gone(pid)


async def test_a_retired_program_is_gone_and_its_name_is_free(
    supervisor: Supervisor,
    tmp_path: Path,
    port: int,
) -> None:
    supervisor.start(a_program(tmp_path, port))
    await supervisor.ready(within=10)
    pid = supervisor.pids()["toy"]
    await supervisor.retire("toy")
    assert gone(pid)
    supervisor.check()
    supervisor.start(a_program(tmp_path, port))
    await supervisor.ready(within=10)
    assert supervisor.child("toy").starts == 1


async def test_an_unknown_name_is_answered_with_those_that_there_are(
    supervisor: Supervisor,
    tmp_path: Path,
    port: int,
) -> None:
    supervisor.start(a_program(tmp_path, port))
    with pytest.raises(NoSuchProgramError, match="there are toy"):
        supervisor.child("toi")


async def test_programs_end_with_their_parent_even_when_it_is_killed(
    tmp_path: Path, port: int
) -> None:
    toy = a_program(tmp_path, port)
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PARENT, str(tmp_path), toy.ready, *toy.command),
        stdout=asyncio.subprocess.PIPE,
    )
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    os.kill(pid, 0)
    parent.kill()
    await parent.wait()

    async def toy_is_gone() -> bool:
        return gone(pid)

    await until(toy_is_gone, "the toy's end")
