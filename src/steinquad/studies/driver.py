"""Keep an executor busy with the points that are still to do, and store what comes back."""

import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from steinquad.studies.calls.call import Outcome
from steinquad.studies.executors import Executor, Here, Task
from steinquad.studies.points import BLOCK, Numbered
from steinquad.studies.store import Evaluation, Store

__all__ = ["Rules", "evaluate_all"]

TICK = 0.2  # s after which a wait looks whether the user wants to stop


@dataclass(frozen=True)
class Rules:
    """How points are handed out, and when one is given up.

    Attributes:
        batch: points in a call; a batch of which a point failed is taken apart into single points.
        attempts: at a point, earlier runs included, before it counts as failed for good.
        version: that the user gave to the integrand; None takes what each call says of the code
            that it was made with.
    """

    batch: int
    attempts: int
    version: str | None


def evaluate_all(
    store: Store,
    points: Numbered,
    stop: int,
    executor: Executor,
    rules: Rules,
    report: Callable[[int, int], None],
) -> None:
    """See that every point below `stop` is done, or has failed as often as it may.

    On Ctrl-C everything that has finished is stored before `KeyboardInterrupt` goes on its way.

    Args:
        store: being written; what it has is not done again.
        points: coordinates by number.
        stop: the number after the last.
        executor: where the calls are made.
        rules: points in a call, attempts, version.
        report: called with how many were done and how many failed for good since the start.
    """
    waiting = _Waiting(store, points, stop, rules)
    in_flight = done = failed = 0
    with _Interrupt(executor) as interrupt:
        while True:
            while executor.room() > 0 and not interrupt.asked and (task := waiting.next_task()):
                executor.submit(task)
                in_flight += 1
            if in_flight == 0 or (interrupt.asked and interrupt.here):  # nothing has begun
                break
            with interrupt.waiting():
                finished = executor.finished(TICK)
            rows: list[Evaluation] = []
            for task, outcomes in finished:
                in_flight -= 1
                rows += waiting.settle(task, outcomes)
            if rows:
                store.record(rows)
                done += sum(row.status == "done" for row in rows)
                failed += sum(
                    row.status == "failed" and row.attempt >= rules.attempts for row in rows
                )
                report(done, failed)
            if interrupt.asked:
                break
    if interrupt.asked:
        raise KeyboardInterrupt


class _Waiting:
    """Points to do: those never finished in the order of their numbers, retries before them."""

    def __init__(self, store: Store, points: Numbered, stop: int, rules: Rules) -> None:
        self.points, self.rules = points, rules
        self.made: dict[int, int] = {}  # attempts at points that failed, or are in flight
        self.again: deque[int] = deque()
        self.fresh = self._unfinished(store, stop)

    def next_task(self) -> Task | None:
        if self.again:
            return self._task([self.again.popleft()])
        numbers = list(islice(self.fresh, self.rules.batch))
        return self._task(numbers) if numbers else None

    def settle(self, task: Task, outcomes: list[Outcome]) -> list[Evaluation]:
        """What is to be stored of a task; a batch that failed is first taken apart."""
        # A batch fails as a whole, so the point to blame shows only when each is called alone;
        # the attempt at the batch counts against none of them.
        if len(task.numbers) > 1 and any(outcome.outputs is None for outcome in outcomes):
            self.again.extend(task.numbers)
            return []
        rows = []
        for number, point, outcome in zip(task.numbers, task.points, outcomes, strict=True):
            attempt = self.made.pop(number) + 1
            good = outcome.outputs is not None
            if not good and attempt < self.rules.attempts:
                self.made[number] = attempt
                self.again.append(number)
            rows.append(
                Evaluation(
                    number,
                    "done" if good else "failed",
                    point,
                    outcome.outputs,
                    outcome.seconds,
                    attempt,
                    None if good else outcome.failure,
                    None if good else outcome.error,
                    outcome.version if self.rules.version is None else self.rules.version,
                )
            )
        return rows

    def _task(self, numbers: list[int]) -> Task:
        return Task(tuple(numbers), tuple(self.points[number] for number in numbers))

    def _unfinished(self, store: Store, stop: int) -> Iterator[int]:
        for start in range(0, stop, BLOCK):
            end = min(start + BLOCK, stop)
            known = store.attempts(start, end)
            for number in range(start, end):
                attempts = known.get(number, 0)
                if attempts is not None and attempts < self.rules.attempts:
                    self.made[number] = attempts
                    yield number


class _Interrupt:
    """Ctrl-C as a question: nothing that came back is lost on its way to the store.

    A second one, and one during a call in this process, is an interrupt at once.
    """

    def __init__(self, executor: Executor) -> None:
        self.asked = False
        self.here = isinstance(executor, Here)
        self.able = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> "_Interrupt":
        if self.able:
            self.before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        if self.able:
            signal.signal(signal.SIGINT, self.before)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While calls are made: those in this process are not protected."""
        if not (self.able and self.here):
            yield
            return
        signal.signal(signal.SIGINT, self.before)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, self._ask)

    def _ask(self, *_: object) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
