"""The pass on a Dask cluster: a task for each piece of a file, merged in the order of the files.

Dask repeats the tasks of a worker that is lost. What others have sent by then is here already, so
a lost worker costs the pieces that it was working on.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from steinquad.errors import InputError, shown
from steinquad.streaming.correction import Correction, Passed
from steinquad.streaming.source import Piece

__all__ = ["by_workers", "connected"]

SECONDS = 30  # to find a scheduler


@contextmanager
def connected(client: Any) -> Iterator[Any]:
    """A Dask client for a `with` block: the user's own, or one of an address, closed at the end.

    Args:
        client: a `distributed.Client`, or the address of a scheduler.
    """
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            "client needs Dask, which is not installed; pip install 'steinquad[dask]'."
        ) from None
    if isinstance(client, Client):
        yield client
        return
    if not isinstance(client, str):
        raise InputError(
            f"client is {shown(client)}; pass a distributed.Client or the address of a scheduler."
        )
    try:
        own: Any = Client(client, timeout=SECONDS)
    except (OSError, ValueError) as error:
        raise InputError(
            f"client is {client!r}, where no Dask scheduler answers ({error})."
        ) from None
    with own:
        yield own


def by_workers(
    correction: Correction,
    pieces: Sequence[Piece],
    client: Any,
    report: Callable[[Passed], None],
) -> Iterator[Passed]:
    """What is known of every piece, in their order.

    Args:
        correction: sent to each worker once.
        pieces: a task for each; their files must be at the same paths for all workers.
        client: a `distributed.Client`.
        report: called with each as soon as it is there, in whatever order.
    """
    import cloudpickle
    from dask import config
    from distributed import KilledWorker, as_completed

    # As the result of a task, which a worker that was lost cannot take with it.
    with config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
        sent = client.submit(cloudpickle.loads, cloudpickle.dumps(correction), pure=False)
        futures = [client.submit(_of_piece, sent, piece, pure=False) for piece in pieces]
        place = {future.key: i for i, future in enumerate(futures)}
        found: dict[int, Passed] = {}
        following = 0
        try:
            for future, passed in as_completed(futures, with_results=True):
                report(passed)
                found[place[future.key]] = passed
                while following in found:
                    yield found.pop(following)
                    following += 1
        except KilledWorker as error:
            raise InputError(
                f"client has lost workers again and again at the same rows ({error}); give them "
                "more memory, or look into their logs."
            ) from None
        finally:
            client.cancel([sent, *futures])


def _of_piece(correction: Correction, piece: Piece) -> Passed:
    return correction.of_piece(piece)
