"""Where evaluations happen: in this process, or through anybody's `concurrent.futures` executor.

The pool of worker processes is in `pool`. All have the members of `Executor`, and none ever holds
more tasks than it asked for, so a million points never wait in memory.
"""

from collections import deque
from collections.abc import Callable
from concurrent import futures
from typing import Any, NamedTuple, Protocol

from steinquad.errors import InputError
from steinquad.studies.calls.call import Call, Outcome
from steinquad.studies.calls.evaluate import evaluate, evaluate_each
from steinquad.studies.calls.loading import Loaded, load

__all__ = ["Executor", "Finished", "Futures", "Here", "Task", "loaded", "unloadable"]

QUICK, MOST_TOGETHER = 0.1, 64  # s of calls that are sent as one future, and most calls of one
SETTLE = 5.0  # s for an executor that broke to say so of everything that it held


class Task(NamedTuple):
    """Points to evaluate in one call, with their numbers in the study.

    Attributes:
        numbers: of the points, by which outcomes are stored; more than one for a batch only.
        points: their coordinates, in the same order.
    """

    numbers: tuple[int, ...]
    points: tuple[tuple[float, ...], ...]


Finished = list[tuple[Task, list[Outcome]]]


class Executor(Protocol):
    """What the driver needs of a place to run: room for tasks, and their outcomes.

    The driver submits while there is room, waits for what has finished, and closes at the end. A
    failure of the integrand is an outcome, never an exception; what is raised here ends the run.
    """

    def room(self) -> int:
        """How many more tasks it takes now, zero or more.

        Enough to keep every worker busy and few enough that points need not all wait in memory.
        """
        ...

    def submit(self, task: Task) -> None:
        """Take one more task without waiting for its end; only while `room` is above zero.

        Args:
            task: to be given back with its outcomes by `finished`, exactly once.
        """
        ...

    def finished(self, timeout: float) -> Finished:
        """Wait up to so many seconds for outcomes, and hand them over.

        Args:
            timeout: seconds after which the driver looks at other things, such as Ctrl-C.

        Returns:
            Tasks that have finished, in any order, with an outcome for each point; possibly none.
        """
        ...

    def close(self) -> None:
        """Drop what is unfinished and end everything that was started.

        Dropped tasks leave no trace in the store, so that the next run does them as if never
        begun.
        """
        ...


def unloadable(call: Call, reason: str) -> InputError:
    """The complaint that an integrand cannot be imported, to be raised by the caller.

    One text for all executors, wherever the import was tried: here or in a worker.

    Args:
        call: that names the integrand.
        reason: what went wrong, such as the text of an exception.
    """
    return InputError(
        f"integrand.function is {call.function!r}, which cannot be loaded from "
        f"{call.directory} ({reason}); give module:function or file.py:function."
    )


def loaded(call: Call, function: Callable[..., Any] | None) -> Loaded | None:
    """The integrand with its version, or None of a command; refused before any point is lost.

    Args:
        call: how to call it.
        function: the integrand itself, if there is one: nothing is to be imported then.
    """
    if call.command:
        return None
    try:
        return load(call, function)
    except (Exception, SystemExit) as error:
        raise unloadable(call, f"{type(error).__name__}: {error}") from None


class Here:
    """One task at a time, in this process: for debugging, and for functions without a name.

    Nothing protects this process from the integrand, so a time limit holds for commands only, and
    a crash is one of the study.

    Args:
        call: how to call the integrand.
        function: the integrand itself where it was given as an object.
    """

    def __init__(self, call: Call, function: Callable[..., Any] | None = None) -> None:
        self.call, self.integrand = call, loaded(call, function)
        self.tasks: list[Task] = []

    def room(self) -> int:
        """One, or zero while a task waits for `finished`."""
        return 1 - len(self.tasks)

    def submit(self, task: Task) -> None:
        """Keep the task; `finished` evaluates it, where Ctrl-C may interrupt the call."""
        self.tasks.append(task)

    def finished(self, timeout: float) -> Finished:
        """Evaluate the task that waits, however long that takes: the timeout means nothing here.

        Args:
            timeout: not used, since a call in this process cannot be left and come back to.
        """
        del timeout
        done: Finished = []
        for task in self.tasks:
            outcomes = evaluate(self.call, task.points, task.numbers, self.integrand)
            done.append((task, outcomes))
        self.tasks.clear()
        return done

    def close(self) -> None:
        """Nothing was started, so there is nothing to end; see `Executor`."""


class Futures:
    """Any `concurrent.futures.Executor`: a process pool of yours, MPI, Dask, Ray, ipyparallel.

    Quick calls are sent several together, slow ones each by itself. Where several are lost with a
    worker nobody knows whose fault it was: they are tried again, ever fewer at a time, and only
    one that was lost by itself has failed.

    Args:
        call: how to call the integrand.
        executor: an executor, which stays open afterwards, or a function that makes one, which is
            shut down at the end and called again if the executor breaks.
        in_flight: most futures at a time.
        function: the integrand itself, for executors that can send it.
    """

    def __init__(
        self,
        call: Call,
        executor: futures.Executor | Callable[[], futures.Executor],
        in_flight: int,
        function: Callable[..., Any] | None = None,
    ) -> None:
        loaded(call, function)
        self.call, self.function, self.in_flight = call, function, in_flight
        self.make = None if isinstance(executor, futures.Executor) else executor
        self.executor = executor if isinstance(executor, futures.Executor) else executor()
        self.waiting: list[Task] = []
        self.sent: dict[futures.Future[list[list[Outcome]]], list[Task]] = {}
        self.together = 1  # tasks of a future
        self.alone: list[Task] = []  # of a future that was lost: to be sent one by one
        self.suspects: deque[list[Task]] = deque()  # one of each group broke the whole executor
        self.on_trial = False  # whether such a group, and nothing else, is in flight

    def room(self) -> int:
        """See `Executor`; zero until what was lost with a worker is settled.

        New points in flight would be lost with the next break too, and hide whose fault it is.
        """
        if self.alone or self.suspects or self.on_trial:
            return 0
        free = self.in_flight - len(self.sent)
        return max(0, free * self.together - len(self.waiting))

    def submit(self, task: Task) -> None:
        """See `Executor`; the task waits until `finished` sends it, quick ones together."""
        self.waiting.append(task)

    def finished(self, timeout: float) -> Finished:
        """See `Executor`; sends what waits first, and learns from the times how many go together.

        Tasks of a future that was lost are sent again by themselves. If the executor itself broke,
        all that it held is split in halves that are tried one after the other.

        Args:
            timeout: seconds to wait for the first future that is done.

        Raises:
            InputError: the executor broke and there is no function that makes another.
        """
        self._send()
        ready, _ = futures.wait(self.sent, timeout, return_when=futures.FIRST_COMPLETED)
        if any(isinstance(_failure(future), futures.BrokenExecutor) for future in ready):
            ready, _ = futures.wait(self.sent, SETTLE)  # all others go down with it
        done: Finished = []
        broken: Finished = []
        for future in ready:
            tasks, error = self.sent.pop(future), _failure(future)
            if error is None:
                done += zip(tasks, future.result(), strict=True)
            elif isinstance(error, futures.BrokenExecutor):
                broken += [_lost(task, error) for task in tasks]
            elif len(tasks) > 1:
                self.alone += tasks
            else:
                done.append(_lost(tasks[0], error))
        if len(broken) == 1:
            done += broken
        elif broken:
            half = len(broken) // 2
            # At the front: halving goes on until one task is lost alone, before others are tried.
            for part in (broken[half:], broken[:half]):
                self.suspects.appendleft([task for task, _ in part])
        self.on_trial = self.on_trial and bool(self.sent)
        if done:
            seconds = sum(outcome.seconds for _, outcomes in done for outcome in outcomes)
            each = max(seconds / len(done), QUICK / MOST_TOGETHER)
            self.together = max(1, int(QUICK / each))
        return done

    def close(self) -> None:
        """See `Executor`; shuts down an executor that was made here, not one of the user.

        Calls that are running cannot be ended from here: their results are dropped.
        """
        for future in self.sent:
            future.cancel()
        for unfinished in (self.sent, self.waiting, self.alone, self.suspects):
            unfinished.clear()
        if self.make is not None:
            self.executor.shutdown(wait=False, cancel_futures=True)

    def _send(self) -> None:
        if self.suspects and not self.sent:
            self.on_trial = True
            for task in self.suspects.popleft():
                self._begin([task])
        if self.suspects or self.on_trial:
            return
        while self.alone and len(self.sent) < self.in_flight:
            self._begin([self.alone.pop()])
        while self.waiting and len(self.sent) < self.in_flight:
            tasks = self.waiting[: self.together]
            del self.waiting[: self.together]
            self._begin(tasks)

    def _begin(self, tasks: list[Task]) -> None:
        try:
            future = self._submit(tasks)
        except RuntimeError as error:  # it broke, or was shut down
            self._mend(error)
            future = self._submit(tasks)
        self.sent[future] = tasks

    def _submit(self, tasks: list[Task]) -> "futures.Future[list[list[Outcome]]]":
        plain = [(task.numbers, task.points) for task in tasks]
        return self.executor.submit(evaluate_each, self.call, plain, self.function)

    def _mend(self, error: BaseException) -> None:
        """Another executor in place of one that broke."""
        if self.make is None:
            raise InputError(
                f"executor broke ({type(error).__name__}: {error}); what was finished is stored. "
                "Run again with another, or pass a function that makes one."
            ) from None
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = self.make()


def _failure(future: "futures.Future[Any]") -> BaseException | None:
    """Why a future that is done has no result."""
    return futures.CancelledError() if future.cancelled() else future.exception()


def _lost(task: Task, error: BaseException) -> tuple[Task, list[Outcome]]:
    reason = f"{type(error).__name__}: {error}"
    # Dask has an exception of its own for a worker that was lost.
    killed = isinstance(error, futures.BrokenExecutor | futures.CancelledError)
    kind = "killed" if killed or type(error).__name__ == "KilledWorker" else "exception"
    return task, [Outcome(None, 0.0, kind, reason)] * len(task.numbers)
