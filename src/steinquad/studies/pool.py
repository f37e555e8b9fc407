"""A pool of worker processes that may hang, crash or be killed, one at a time.

`concurrent.futures.ProcessPoolExecutor` cannot kill one hanging worker, and the death of one takes
all tasks of the others with it. Here a worker is a process started from a file, which talks in
lines of JSON, so neither `__main__` nor a pickle comes into it.
"""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from steinquad.errors import InputError
from steinquad.studies import worker
from steinquad.studies.calls import command
from steinquad.studies.calls.call import Call, Outcome
from steinquad.studies.executors import Finished, Task, unloadable

__all__ = ["Pool"]

STILLBORN = 3  # workers in a row that may be killed while they load the integrand
LOOK = 0.5  # s between looks at processes whose pipe a child of theirs may keep open
FAREWELL = 2.0  # s for workers to end by themselves
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Pool:
    """So many worker processes, each with at most one task; see `executors.Executor`.

    A call that takes longer than its limit is ended with its worker, and a worker that ends costs
    its task; another takes its place. So does one that ran out of memory: who knows what it still
    holds.

    Args:
        call: how to call the integrand, which needs a name that workers can import it by.
        workers: most processes at a time; each is started when it is first needed.

    Raises:
        InputError: this process is itself a worker, whose file starts a study on import.
    """

    def __init__(self, call: Call, workers: int) -> None:
        if worker.MARK in os.environ:
            raise InputError(
                "a study was started by its own integrand's file; put the start under "
                "if __name__ == '__main__':."
            )
        self.call, self.workers = call, workers
        self.idle: list[_Worker] = []
        self.busy: set[_Worker] = set()
        self.stillborn = 0
        self.messages: queue.SimpleQueue[tuple[_Worker, str]] = queue.SimpleQueue()

    def room(self) -> int:
        """See `Executor`: workers that have no task, those not started yet included."""
        return self.workers - len(self.busy)

    def submit(self, task: Task) -> None:
        """See `Executor`; an idle worker takes the task, or one is started if none is left.

        Idle workers that have died meanwhile are dropped first, so that they cost no task.
        """
        for dead in [each for each in self.idle if each.process.poll() is not None]:
            dead.kill()  # what is left of it, where only its supervisor is dead
            self.idle.remove(dead)
        chosen = self.idle.pop() if self.idle else _Worker(self.call, self.messages)
        chosen.begin(task)
        self.busy.add(chosen)

    def finished(self, timeout: float) -> Finished:
        """See `Executor`; also ends calls over their time limit, and notices dead workers.

        Args:
            timeout: seconds; it waits less where a deadline comes before.

        Raises:
            InputError: workers cannot load the integrand; those that a signal ended were tried
                again.
        """
        now = time.monotonic()
        waits = [each.deadline - now for each in self.busy if each.deadline is not None]
        done: Finished = []
        try:
            one = self.messages.get(timeout=max(0.0, min([timeout, LOOK, *waits])))
            while True:
                self._take(*one, done)
                one = self.messages.get_nowait()
        except queue.Empty:
            pass
        self._look(done)
        return done

    def close(self) -> None:
        """See `Executor`: workers get two seconds to end by themselves, then they are killed.

        What the integrand has started goes with them, since each worker is a process group.
        """
        everyone = [*self.idle, *self.busy]
        for each in everyone:
            each.hang_up()
        end = time.monotonic() + FAREWELL
        for each in everyone:
            with suppress(subprocess.TimeoutExpired):
                each.process.wait(max(0.0, end - time.monotonic()))
            each.kill()
        self.idle.clear()
        self.busy.clear()

    def _take(self, sender: "_Worker", line: str, done: Finished) -> None:
        if sender not in self.busy:  # of one that was ended, or after its last word
            return
        if not line.endswith("\n"):
            self._bury(sender, done)
            return
        message: dict[str, Any] = json.loads(line)
        if "unloadable" in message:
            raise unloadable(self.call, message["unloadable"])
        if "ready" in message:
            sender.is_ready()
            self.stillborn = 0
            return
        outcomes = [Outcome.from_fields(fields) for fields in message["outcomes"]]
        done.append((sender.end(), outcomes))
        self.busy.discard(sender)
        if any(outcome.failure == "memory" for outcome in outcomes):
            sender.kill()
        else:
            self.idle.append(sender)

    def _look(self, done: Finished) -> None:
        """End calls that took too long, and notice processes that ended without a word."""
        for each in tuple(self.busy):
            if each.deadline is not None and time.monotonic() >= each.deadline:
                each.kill()
                limit = f"no answer within {self.call.time_limit:g} s"
                self._lose(each, "time-out", limit, done)
            # Its last answer may still be in the queue: only with that read is silence the end.
            elif each.process.poll() is not None and self.messages.empty():
                self._bury(each, done)

    def _bury(self, dead: "_Worker", done: Finished) -> None:
        dead.kill()
        code = dead.process.returncode
        how = (f"signal {-code}" if code < 0 else f"exit code {code}") + self.call.limits
        if not dead.ready:
            self.stillborn += 1
            if code < 0 and self.stillborn < STILLBORN:  # the task has not begun
                self.busy.discard(dead)
                self.submit(dead.end())
                return
            raise InputError(
                f"a worker ended while it loaded the integrand, with {how}; see that "
                f"{self.call.function or 'python'} can be imported."
            )
        kind = "killed" if code < 0 else "exception"
        self._lose(dead, kind, f"the worker ended during the call, with {how}", done)

    def _lose(self, lost: "_Worker", failure: str, error: str, done: Finished) -> None:
        self.busy.discard(lost)
        seconds = time.monotonic() - lost.began
        task = lost.end()
        done.append((task, [Outcome(None, seconds, failure, error)] * len(task.numbers)))


def _environment() -> dict[str, str]:
    """The driver's, its import path too; one thread each unless the user says otherwise."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return ONE_THREAD | os.environ | {worker.MARK: "1", "PYTHONPATH": path}


class _Worker:
    """A worker process, and a thread that passes on what it says."""

    def __init__(self, call: Call, messages: "queue.SimpleQueue[tuple[_Worker, str]]") -> None:
        self.process = subprocess.Popen(
            # -P: modules beside that file are not to be found by the integrand.
            command.supervised(
                [sys.executable, "-P", str(Path(worker.__file__))],
                None if call.command else call.memory,
            ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=_environment(),
            start_new_session=True,  # Ctrl-C is for the driver, and a kill takes all it started
        )
        self.limit = None if call.command else call.time_limit  # a command's is kept over there
        self.ready = False
        self.task: Task | None = None
        self.began = 0.0
        self.deadline: float | None = None
        self._say(call.to_json())
        threading.Thread(target=self._listen, args=(messages,), daemon=True).start()

    def begin(self, task: Task) -> None:
        self.task = task
        self._start_clock()
        self._say(json.dumps(task._asdict()))

    def end(self) -> Task:
        assert self.task is not None
        task, self.task, self.deadline = self.task, None, None
        return task

    def is_ready(self) -> None:
        self.ready = True
        self._start_clock()

    def hang_up(self) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()

    def kill(self) -> None:
        self.hang_up()  # so that it ends what it started, if its supervisor is dead
        command.end(self.process)

    def _start_clock(self) -> None:
        self.began = time.monotonic()
        if self.ready and self.limit is not None:
            self.deadline = self.began + self.limit

    def _say(self, line: str) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):  # of one that has ended, which its silence tells
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()

    def _listen(self, messages: "queue.SimpleQueue[tuple[_Worker, str]]") -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines, suppress(ValueError):
            for line in lines:
                messages.put((self, line))
        messages.put((self, ""))
