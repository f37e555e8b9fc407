"""Evaluations on a Dask cluster: of a scheduler somewhere, or of this machine."""

from collections.abc import Callable
from typing import Any

from steinquad.errors import InputError
from steinquad.studies.calls.call import Call
from steinquad.studies.executors import Futures

__all__ = ["dask_executor"]

LOOPBACK = "127.0.0.1"


def dask_executor(
    call: Call,
    function: Callable[..., Any] | None,
    *,
    workers: int | None,
    address: str | None,
) -> Futures:
    """An executor on a Dask cluster, which it leaves as it was found.

    Args:
        call: how to call the integrand.
        function: the integrand itself where it was given as an object.
        workers: processes of a cluster on this machine; by default one a core.
        address: of a scheduler; None makes such a cluster, and closes it at the end.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError(
            "where is 'dask', which is not installed; pip install 'steinquad[dask]'."
        ) from None
    cluster = None
    if address is None:
        # By default the dashboards of Dask listen on all interfaces, for anybody to look.
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host=LOOPBACK,
            dashboard_address=f"{LOOPBACK}:0",
            worker_dashboard_address=f"{LOOPBACK}:0",
        )
    try:
        client: Any = Client(cluster if address is None else address, timeout=30)
    except (OSError, ValueError) as error:
        if cluster is not None:
            cluster.close()
        raise InputError(
            f"address is {address!r}, where no Dask scheduler answers ({error})."
        ) from None
    try:
        return _Dask(call, client, cluster, function)
    except InputError:
        _close(client, cluster)
        raise


class _Dask(Futures):
    """Closes the client with itself, and the cluster if it is its own."""

    def __init__(
        self, call: Call, client: Any, cluster: Any, function: Callable[..., Any] | None
    ) -> None:
        self.client, self.cluster = client, cluster
        cores = sum(client.ncores().values())
        super().__init__(call, client.get_executor(pure=False), 2 * max(cores, 1), function)

    def close(self) -> None:
        """See `Executor`."""
        super().close()
        _close(self.client, self.cluster)


def _close(client: Any, cluster: Any) -> None:
    client.close()
    if cluster is not None:
        cluster.close()
