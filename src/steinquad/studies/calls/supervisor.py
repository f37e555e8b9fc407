"""Run a program and see that nothing of it is left when it ends, or when its owner does.

`python -IS supervisor.py OWNER MEMORY PROGRAM ARGUMENTS...`, with the number of the process that
asked and a limit of bytes, or 0. The supervisor ends with the exit code or signal of the program.

A program may start others, put them in sessions of their own and end before them; a worker or the
driver may be killed with -9, and then nobody else is left to end what it has started. On Linux the
supervisor adopts such orphans (PR_SET_CHILD_SUBREAPER), so that everything the program ever
started is below it in the tree of processes, and it kills all of that: when the program has ended,
when SIGTERM asks for it, or when its own parent is not OWNER any more. If the supervisor is
itself killed, its owner ends what it has left, by a mark in the environment of all below it. On
other systems the process group is all that can be found.
"""

import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

__all__ = ["end_descendants", "end_marked", "outlive_parent", "supervise"]

MARK = "STEINQUAD_SUPERVISOR"  # in the environment of a program and of what it starts

LOOK = 0.2  # s between looks whether the owner still lives
PATIENCE = 5.0  # s for killed processes to vanish, which one that waits for a dead disk does not
SET_CHILD_SUBREAPER, SET_PARENT_DEATH_SIGNAL = 36, 1  # of prctl


def supervise(owner: int, memory: int, program: list[str]) -> int:
    """Run a program to its end, or to that of its owner.

    Args:
        owner: the process that must go on living.
        memory: most bytes of data for the program and each that it starts; 0 for no limit. Not the
            address space: libraries and threads reserve much of that and never touch it.
        program: with its arguments.

    Returns:
        How the program ended, as `os.waitpid` gives it; that of a kill where it was ended here.
    """
    wake, waker = os.pipe()
    for end in (wake, waker):
        os.set_blocking(end, False)
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    _control(SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        above = os.environ.get(MARK, "")  # of a worker, where the program is a command of its own
        os.environ[MARK] = f"{above} {_mark(owner, os.getppid())}"
        _become(memory, program)
    import select

    ended: dict[int, int] = {}
    while child not in ended and not asked and os.getppid() == owner:
        select.select([wake], [], [], LOOK)
        with suppress(BlockingIOError):
            while os.read(wake, 512):
                pass
        ended.update(_reap())
    ended.update(end_descendants())
    return ended.get(child, signal.SIGKILL)


def end_descendants() -> dict[int, int]:
    """Kill everything that this process has started, and what that has started, and so on.

    Returns:
        Those that were this process's own children, with how they ended.
    """
    ended: dict[int, int] = {}

    def find() -> list[int]:
        ended.update(_reap())
        return _descendants(os.getpid())

    _kill_all(find)
    return ended


def end_marked(owner: int, supervisor: int) -> None:
    """Kill what a supervisor has left that was itself killed, sessions of their own too.

    Args:
        owner: the process that it was to watch.
        supervisor: its process.
    """
    mark = _mark(owner, supervisor)

    def find() -> list[int]:
        # Below a marked supervisor of a command may be what has cleared its environment.
        return _with_descendants([each for each, _ in _processes() if mark in _marks(each)])

    _kill_all(find)


def outlive_parent() -> None:
    """Let this process go on when its supervisor is killed, which would kill it by default.

    For a worker, which hears of that from its driver and then has time to end what it started.
    """
    _control(SET_PARENT_DEATH_SIGNAL, 0)


def _kill_all(find: Callable[[], list[int]]) -> None:
    """Killed processes start no others, so it is repeated until nobody is left."""
    deadline = time.monotonic() + PATIENCE
    while (left := find()) and time.monotonic() < deadline:
        for process in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.001)


def _mark(owner: int, supervisor: int) -> str:
    return f"{owner}-{supervisor}"


def _become(memory: int, program: list[str]) -> None:
    """Turn this copy of the supervisor into the program."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    _control(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    try:
        if memory:
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        os.execvp(program[0], program)
    except OSError as error:
        os.write(2, f"{type(error).__name__}: {error.strerror}: {program[0]}".encode())
    os._exit(127)


def _control(option: int, value: int) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _reap() -> dict[int, int]:
    """Children that have ended."""
    ended: dict[int, int] = {}
    with suppress(ChildProcessError):  # there are none any more
        while (child := os.waitpid(-1, os.WNOHANG))[0]:
            ended[child[0]] = child[1]
    return ended


def _descendants(root: int) -> list[int]:
    return _with_descendants([root])[1:]


def _with_descendants(roots: list[int]) -> list[int]:
    """Some processes and all below them, each once, parents before their children."""
    children: dict[int, list[int]] = {}
    for process, parent in _processes():
        children.setdefault(parent, []).append(process)
    found = dict.fromkeys(roots)
    queue = list(found)
    for process in queue:  # grows as it goes
        new = [child for child in children.get(process, ()) if child not in found]
        found.update(dict.fromkeys(new))
        queue += new
    return queue


def _processes() -> Iterator[tuple[int, int]]:
    """Every process that has not ended, with its parent; none where there is no /proc."""
    for entry in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except OSError:  # it ended meanwhile
                continue
            if state not in b"ZX":
                yield int(entry), int(parent)


def _marks(process: int) -> list[str]:
    """The supervisors that a process has above it; none if it ended or is somebody else's."""
    with suppress(OSError), open(f"/proc/{process}/environ", "rb") as file:
        for variable in file.read().split(b"\0"):
            name, _, value = variable.partition(b"=")
            if name == MARK.encode():
                return value.decode(errors="replace").split()
    return []


def _end_as(status: int) -> None:
    """End in the way that the program did, so that the owner sees it."""
    if os.WIFEXITED(status):
        os._exit(os.WEXITSTATUS(status))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    number = os.WTERMSIG(status)
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


if __name__ == "__main__":
    _end_as(supervise(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
