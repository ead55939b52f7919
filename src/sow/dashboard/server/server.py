"""Serves the dashboard on loopback, with one thread per connection."""

from __future__ import annotations

import errno
import socket
import sys
import threading
from functools import partial
from socketserver import TCPServer, ThreadingMixIn

from sow.dashboard.data.page_errors import print_traceback
from sow.dashboard.server import access, assets
from sow.dashboard.server.access import Access
from sow.dashboard.server.connections import OpenConnections
from sow.dashboard.server.handler import Handler
from sow.dashboard.server.single_flight import ReplyCache, SingleFlight
from sow.errors import SowError, SystemFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sow.dashboard.data.dashboard_data import DashboardData
    from sow.store.files.checkout_home import Home

ADDRESS = "127.0.0.1"
PORT = 7690
MOST_PORTS = 50
MOST_FEEDS = 64


class Listener(ThreadingMixIn, TCPServer):
    """The open port, and the objects that all connections share."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, port: int, access: Access, *, read_only: bool, facts: Callable[[], DashboardData]) -> None:
        self.access = access
        self.read_only = read_only
        self.assets = assets.load()
        self.make_facts = facts
        self.made_facts: DashboardData | None = None
        self.stopping = threading.Event()
        self.feeds_lock = threading.Lock()
        self.facts_lock = threading.Lock()
        self.single_flight = SingleFlight()
        self.kept = ReplyCache()
        self.connections = OpenConnections(_is_foreign)
        self.feeds = 0
        super().__init__((ADDRESS, port), Handler)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def facts(self) -> DashboardData:
        """Returns the data of the pages; it is loaded on first use, so that the server starts sooner."""
        with self.facts_lock:
            if self.made_facts is None:
                self.made_facts = self.make_facts()
            return self.made_facts

    def process_request(self, request: socket.socket, client_address: tuple[str, int]) -> None:  # type: ignore[override]
        """Starts a thread for a connection; closes it at once if there are too many."""
        if self.connections.accept(request):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: socket.socket) -> None:  # type: ignore[override]
        self.connections.remove(request)
        super().shutdown_request(request)

    def add_feed(self) -> bool:
        """Counts one more listening page; returns False if there are too many."""
        with self.feeds_lock:
            if self.feeds >= MOST_FEEDS:
                return False
            self.feeds += 1
            return True

    def remove_feed(self) -> None:
        with self.feeds_lock:
            self.feeds -= 1

    def close_connections(self) -> None:
        """Closes every connection."""
        self.stopping.set()
        for connection in self.connections.all():
            _shut(connection)
        if self.made_facts is not None:
            self.made_facts.close()

    def handle_error(self, request: object, client_address: object) -> None:
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            print_traceback(error)


class Server:
    """The dashboard of one checkout."""

    def __init__(
        self,
        home: Home,
        environment: Mapping[str, str],
        *,
        person: str,
        read_only: bool = False,
        port: int | None = None,
    ) -> None:
        self.home = home
        self.access = Access(environment, home.root, read_only=read_only)
        wanted = access.read_secrets(self.access.path).get("port", PORT) if port is None else port

        def facts() -> DashboardData:
            from sow.dashboard.data.dashboard_data import DashboardData

            return DashboardData(home, environment, read_only=read_only, person=person)

        make = partial(Listener, access=self.access, read_only=read_only, facts=facts)
        self.listener, self.moved_from = _bind(wanted, make)
        self.thread: threading.Thread | None = None
        try:
            self.access.write_secrets(self.port)
        except SowError:
            self.stop()
            raise

    @property
    def port(self) -> int:
        return self.listener.port

    @property
    def read_only(self) -> bool:
        return self.listener.read_only

    @property
    def address(self) -> str:
        """Returns the URL to open; its token works once, so the URL changes after each use."""
        return access.address(self.port, self.access.token)

    @property
    def pages(self) -> int:
        """Returns the number of listening pages."""
        return self.listener.feeds

    def serve(self) -> None:
        """Answers requests in this thread, until an exception or a `stop` from another thread."""
        self.listener.serve_forever()

    def start(self) -> None:
        """Answers requests in a new thread."""
        self.thread = threading.Thread(target=self.serve, name="dashboard", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Closes the port and every connection; safe to call after `serve` has ended."""
        if self.thread is not None:
            self.listener.shutdown()
            self.thread.join()
            self.thread = None
        self.listener.server_close()
        self.listener.close_connections()


def _bind(wanted: int, make: Callable[[int], Listener]) -> tuple[Listener, int]:
    """Listens on the first free port from `wanted` on; returns the listener, and `wanted` if it was in use, else 0."""
    last = min(wanted + MOST_PORTS - 1, access.HIGHEST)
    for port in range(wanted, last + 1):
        try:
            return make(port), wanted if port != wanted else 0
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise SystemFailure(
                    f"cannot listen on port {port}: {error.strerror}", "give another: --port 8000"
                ) from None
    raise SowError(f"the ports {wanted} to {last} are all in use", "give another: --port 8000")


def _is_foreign(connection: socket.socket) -> bool:
    """Returns whether another user of this machine is at the other end, or the other end is closed already."""
    from sow.system.process import socket_owner  # imported here because it is needed only if there are many connections

    try:
        return socket_owner.is_foreign(connection.getpeername(), connection.getsockname())
    except OSError:
        return True


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # closed already
        return
