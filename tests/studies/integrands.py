"""Integrands for the tests, good and hostile; workers load this file by its path."""

import os
import signal
import sys
import time
from pathlib import Path


def own_pid(a, b):
    return float(os.getpid())


def smooth(a, b):
    return a * a + b


def two(a, b):
    return {"y": a * a + b, "z": a - b, "unused": 3}


def mapping(inputs):
    return [inputs["a"] ** 2 + inputs["b"]]


def batch(x):
    return x[:, 0] ** 2 + x[:, 1]


def batch_with_a_bad_point(x):
    if (x[:, 0] > 1.5).any():
        raise ValueError("too large")
    return x[:, 0] ** 2 + x[:, 1]


def slow(a, b):
    time.sleep(0.02)
    return a * a + b


def counting(a, b):
    """Leaves a line a call in the file that the environment names."""
    with Path(os.environ["CALLS"]).open("a") as file:
        file.write(f"{a!r}\n")
    time.sleep(0.005)
    return a * a + b


def kinked(a, b):
    return abs(a) + b * b


def counting_kinked(a, b):
    return kinked(a, b) + 0 * counting(a, b)


def prints(a, b):
    sys.stdout.write('{"outcomes": []}\n')
    sys.stdout.flush()
    sys.stderr.write("noise\n")
    os.write(1, b'{"ready": true}\n' * 1000)
    sys.stdin.read()
    return a * a + b


def hangs(a, b):
    while a > 1.0:
        time.sleep(0.05)
    return a * a + b


def raises(a, b):
    if a > 1.0:
        raise RuntimeError(f"diverged at {b > 2}\nsecond line <b>&")
    return a * a + b


def exits(a, b):
    if a > 1.0:
        sys.exit(3)
    return a * a + b


def exits_hard(a, b):
    if a > 1.0:
        os._exit(3)
    return a * a + b


def kills_itself(a, b):
    if a > 1.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return a * a + b


def forks(a, b):
    os.fork()
    return a * a + b


def leaves_a_copy(a, b):
    """A copy of the process outlives it; both wait, and the copy's number is in a file."""
    copy = os.fork()
    if copy and "COPY" in os.environ:
        Path(os.environ["COPY"]).write_text(f"{copy}\n")
    time.sleep(60)
    if not copy:
        os._exit(0)


def crashes(a, b):
    if a > 1.8:
        os._exit(1)
    return a * a + b


def closes_files(a, b):
    """Also those that the worker talks through."""
    if a > 1.0:
        os.closerange(3, 64)
    return a * a + b


def exhausts(a, b):
    """Takes memory without end, and keeps it."""
    while a > 1.0:
        hoard.append(bytearray(2**20))
    return a * a + b


hoard = []


def wrong_shape(a, b):
    return [a, b] if a > 1.0 else a * a + b


def text(a, b):
    return "12" if a > 1.0 else a * a + b


def complex_number(a, b):
    return complex(a, b) if a > 1.0 else a * a + b


def nan(a, b):
    return float("nan") if a > 1.0 else a * a + b


def infinite(a, b):
    return float("inf") if a > 1.0 else a * a + b


def nothing(a, b):
    return None if a > 1.0 else a * a + b


def boolean(a, b):
    return True if a > 1.0 else a * a + b


def lacking(a, b):
    return {"other": 1.0} if a > 1.0 else {"f": a * a + b}


def fails_at_first(a, b):
    """Only the second attempt at a point succeeds."""
    mark = Path(os.environ["MARKS"], repr(a))
    if not mark.exists():
        mark.touch()
        raise RuntimeError("not yet")
    return a * a + b


not_a_function = 3
