"""Says how a machine reaches its cluster, and how the queues of the cluster are called."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from sow.cluster.turn_request import PROTOCOL
from sow.config import Config, seconds
from sow.errors import SowError

VARIABLE = "SOW_CLUSTER"
CONFIGURED = "configured"  # the value of --cluster without an address
PATHS = ("transfer", "tls_ca", "tls_cert", "tls_key")  # settings in which ~ is the user's home
USUAL_ADDRESS = "127.0.0.1:7233"


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """The server of a cluster, its transfer repository, and its time limits."""

    address: str
    namespace: str
    name: str
    transfer: str
    tls_ca: str
    tls_cert: str
    tls_key: str
    lost_after: float
    fetch_mb: int = 0

    @property
    def prefix(self) -> str:
        """The beginning of the names of all queues, of all versions."""
        return f"sow.{self.name}."

    def queue_of_executor(self, executor: str) -> str:
        """Returns the queue for turns that any host with this executor can take."""
        return f"{self.prefix}{PROTOCOL}.x.{executor}"

    def queue_of_host(self, host: str) -> str:
        """Returns the queue for turns that one host has to take."""
        return f"{self.prefix}{PROTOCOL}.host.{host}"

    def host_of_queue(self, queue: str) -> tuple[str, str]:
        """Returns the name of the host to which a queue belongs, and its protocol; "" if it is no such queue."""
        protocol, is_host, name = queue.removeprefix(self.prefix).partition(".host.")
        return (name, protocol) if is_host and queue.startswith(self.prefix) else ("", "")

    def require_transfer(self) -> None:
        """Raises if the settings name no transfer repository."""
        if not self.transfer:
            raise SowError(
                "cluster.transfer is not set: no git repository carries requests and results",
                "sow config set cluster.transfer URL",
            )


def cluster_settings(config: Config, environment: Mapping[str, str], address: str = "") -> ClusterSettings:
    """Returns the settings of the cluster; an address that was typed comes first, then SOW_CLUSTER."""
    address = "" if address == CONFIGURED else address
    address = address or environment.get(VARIABLE, "") or str(config.setting("cluster", "address")) or USUAL_ADDRESS
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise SowError(
            f"{address!r:.80} is no address of a Temporal server", f"write HOST:PORT, such as {USUAL_ADDRESS}"
        )
    texts = {
        name: str(config.setting("cluster", name))
        for name in ("namespace", "name", "transfer", "tls_ca", "tls_cert", "tls_key")
    }
    return ClusterSettings(
        address=address,
        lost_after=seconds(str(config.setting("cluster", "lost_after"))),
        fetch_mb=config.setting("cluster", "fetch_mb"),
        **{**texts, **{name: os.path.expanduser(texts[name]) for name in PATHS}},
    )


def require_temporal() -> None:
    """Raises if the package that speaks with the server is not installed."""
    if find_spec("temporalio") is None:
        raise SowError(
            "a cluster needs the Python package temporalio, which is not installed",
            "install sow with it: pip install 'sow[temporal]'",
        )
