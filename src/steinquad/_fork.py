"""JAX does not survive a fork, and a copy of a process that has used it must say so.

`fork` copies a process with one of its threads. Those of JAX are missing in the copy, which waits
for them for ever as soon as it computes. Before anything asked for a device, a fork does no harm.
"""

import os
import sys
from typing import Any

import jax

from steinquad.errors import InputError

__all__ = ["refuse_forked"]

COMPILED = "/jax/core/compile/backend_compile"  # the event that JAX records, by its beginning

_compiled = False  # anything in this process, or in the one that it is a copy of
_lost = False  # the threads of JAX


def refuse_forked() -> None:
    """Raise an `InputError` in a process that was forked after JAX had started its threads.

    Called by whatever may compute with JAX: an error at once, where there would be none ever.
    """
    if _lost:
        raise InputError(
            "this process was forked from one that had used JAX, whose threads do not survive "
            'that; start processes with multiprocessing.get_context("spawn") or "forkserver".'
        )


def _note(event: str, *_: Any, **__: Any) -> None:
    global _compiled
    _compiled = _compiled or event.startswith(COMPILED)


def _started() -> bool:
    """Whether JAX has threads, also those from before this module was imported."""
    # Private to JAX, whose function for it takes a lock that nobody may be left to release.
    devices = getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None)
    return _compiled or bool(devices)


def _note_fork() -> None:
    global _lost
    _lost = _lost or _started()


jax.monitoring.register_event_duration_secs_listener(_note)
if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_note_fork)
