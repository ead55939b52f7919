"""Lets a program in a box without a network reach some hosts, through a proxy outside of the box.

A launcher in the box opens listening sockets on its loopback device, hands them to us, and becomes the program. So the
programs in the box connect to themselves, and we accept. Only the host names count: what is sent there is not read.
"""

from __future__ import annotations

import ipaddress
import os
import re
import select
import socket
import sys
import threading
from base64 import b64encode
from contextlib import suppress
from urllib.parse import SplitResult, unquote, urlsplit

from sow.domain.network import HTTP, HTTPS, LOOPBACK, REFUSED, Hosts, split_host
from sow.system import clock, plain_file
from sow.system.caller import SUPERVISOR_PREFIX
from sow.system.process.forked_server import ForkedServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ALLOWED, IGNORED, FAILED = "allowed", "ignored", "failed"  # of an entry in the log, besides refused
MOST_LINES = 1000  # of each kind in the log
MOST_CONNECTIONS = 256
MAX_HEAD = 1 << 16
HEAD_SECONDS = 30.0
CONNECT_SECONDS = 30.0
PIECE = 1 << 16
PROXY_PORT = 3128
VERSIONS = ("HTTP/1.0", "HTTP/1.1")
FIELD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # the name of a field
MOST_SHOWN = 80  # characters of a malformed host, in the log
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
NO_VARIABLES = ("NO_PROXY", "no_proxy")
# Runs in the box, with no module that has to be found.
LAUNCHER = """
import _socket, os, sys
handle, ports, command = int(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:]
numbers = b""
listeners = []
for port in ports:
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", int(port)))
    listener.listen(128)
    listeners.append(listener)
    numbers += listener.fileno().to_bytes(4, sys.byteorder)
ours = _socket.socket(fileno=handle)
ours.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)])
ours.close()
os.execvp(command[0], command)
"""


class NetworkProxy(ForkedServer):
    """The process that connects one box to the hosts that it may reach, and logs each connection."""

    __slots__ = ("handle", "ports")

    def __init__(self, hosts: Hosts, log_path: str, environment: Mapping[str, str]) -> None:
        local = hosts.local_ports()
        proxy = next(port for port in range(PROXY_PORT, PROXY_PORT + len(local) + 1) if port not in local)
        self.ports = [proxy, *local]
        log = plain_file.create(log_path, os.O_WRONLY | os.O_APPEND)
        ours, self.handle = socket.socketpair()

        def serve(lifeline: int) -> None:
            _Proxy(hosts, self.ports, log, environment).serve(ours, lifeline)

        try:
            super().__init__(SUPERVISOR_PREFIX, {ours.fileno(), log}, serve)  # what it asks for, an agent asked for
        finally:
            ours.close()
            os.close(log)

    def command(self, command: Sequence[str]) -> list[str]:
        """Returns the command line that hands over the sockets and then runs the command."""
        ports = ",".join(map(str, self.ports))
        return [sys.executable, "-I", "-S", "-c", LAUNCHER, str(self.handle.fileno()), ports, *command]

    def variables(self) -> dict[str, str]:
        """Returns the variables that lead programs in the box to the proxy."""
        proxies = dict.fromkeys(VARIABLES, f"http://{LOOPBACK[1]}:{self.ports[0]}")
        return {**proxies, **dict.fromkeys(NO_VARIABLES, ",".join(LOOPBACK)), "NODE_USE_ENV_PROXY": "1"}

    def close(self) -> bool:
        self.handle.close()
        return super().close()


class _NotConnected(Exception):
    """A connection that is not made; its kind is in the log."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class _Proxy:
    """The server: one thread for each connection."""

    def __init__(self, hosts: Hosts, ports: Sequence[int], log: int, environment: Mapping[str, str]) -> None:
        self.hosts = hosts
        self.ports = ports
        self.log = log
        self.environment = environment
        self.counts = dict.fromkeys((ALLOWED, REFUSED, IGNORED, FAILED), 0)
        self.lock = threading.Lock()
        self.room = threading.BoundedSemaphore(MOST_CONNECTIONS)

    def serve(self, handle: socket.socket, lifeline: int) -> None:
        """Serves until the lifeline ends."""
        os.environ.clear()
        os.environ.update(self.environment)
        listeners: dict[int, tuple[socket.socket, int]] = {}
        poll = select.poll()
        for descriptor in (lifeline, handle.fileno()):
            poll.register(descriptor, select.POLLIN)
        while lifeline not in (ready := {descriptor for descriptor, _ in poll.poll()}):
            if handle.fileno() in ready:  # only the first message counts, and it comes before the program runs
                poll.unregister(handle.fileno())
                for descriptor, port in zip(_receive(handle, len(self.ports)), self.ports, strict=False):
                    listeners[descriptor] = socket.socket(fileno=descriptor), port
                    poll.register(descriptor, select.POLLIN)
                handle.close()
            for descriptor in ready & listeners.keys():
                self._accept(*listeners[descriptor])

    def _accept(self, listener: socket.socket, port: int) -> None:
        try:
            client, _ = listener.accept()
        except OSError:  # it is gone already, or there is no free descriptor
            return
        if not self.room.acquire(blocking=False):
            client.close()
            return
        threading.Thread(target=self._connect, args=(client, port), daemon=True).start()

    def _connect(self, client: socket.socket, port: int) -> None:
        """Is the whole life of one connection."""
        try:
            with client:
                client.settimeout(HEAD_SECONDS)
                if port == self.ports[0]:
                    self._answer(client)
                else:  # a port of this machine that the user named
                    with socket.create_connection((LOOPBACK[0], port), CONNECT_SECONDS) as server:
                        self._note(ALLOWED, f"{LOOPBACK[1]}:{port}")
                        _relay(client, server)
        except (OSError, ValueError):
            return
        finally:
            self.room.release()

    def _answer(self, client: socket.socket) -> None:
        """Reads a request, connects to its host if that is allowed, and passes everything on."""
        head, rest = _read_head(client)
        method, target, version = head.partition(b"\r\n")[0].decode("ascii").split(" ")
        fields = _fields(head)
        if version not in VERSIONS or not target.isprintable():
            raise ValueError("no plain request")
        is_tunnel = method == "CONNECT"
        scheme, _, location = ("https", "", target) if is_tunnel else target.partition("://")
        authority, slash, path = location.partition("/")
        default = HTTPS if is_tunnel else HTTP
        try:
            host, port = split_host(authority, default)
            server, proxy = self._dial(host, port, scheme.lower())
        except ValueError:
            if authority:
                self._refuse(client, REFUSED, _shown(authority, default))
            return
        except _NotConnected as problem:
            self._refuse(client, problem.kind, f"{host}:{port}")
            return
        with server:
            self._note(ALLOWED, f"{host}:{port}")
            name = f"[{host}]" if ":" in host else host
            host_line = f"Host: {name}" if port == default else f"Host: {name}:{port}"
            if is_tunnel:
                if proxy is None:
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                elif not _open_tunnel(
                    client, server, _head_for_server([f"CONNECT {target} {version}", host_line], fields, proxy)
                ):
                    return
                server.sendall(rest)
                _relay(client, server)
                return
            first = f"{method} {target if proxy else slash + path or '/'} {version}"
            length = _body_length(fields)
            own = [first, host_line, "Connection: close"]  # another request needs a connection of its own
            server.sendall(_head_for_server(own, fields, proxy) + rest[:length])
            _relay(client, server, length - len(rest[:length]))

    def _dial(self, host: str, port: int, scheme: str) -> tuple[socket.socket, SplitResult | None]:
        """Returns a connection to a host, or to the user's own proxy, which is returned too."""
        if scheme not in ("http", "https") or not self.hosts.allows(host, port):
            raise _NotConnected(IGNORED if self.hosts.is_silent(host) else REFUSED)
        proxy = None if host in LOOPBACK else _own_proxy(host, scheme)
        address = (proxy.hostname, proxy.port or 80) if proxy else (host, port)
        try:
            server = socket.create_connection(address, CONNECT_SECONDS)
        except OSError:
            raise _NotConnected(FAILED) from None
        address = server.getpeername()[0]
        is_ours = _is_local(address) or address == server.getsockname()[0]
        if proxy is None and is_ours and host not in LOOPBACK:
            server.close()  # a name of somebody else that leads to this machine
            raise _NotConnected(REFUSED)
        return server, proxy

    def _refuse(self, client: socket.socket, kind: str, host: str) -> None:
        """Tells the client, and the log, that a host is not connected."""
        self._note(kind, host)
        text = f"sow: {host}: {kind} in the sandbox; see sandbox.network and sandbox.hosts\n"
        status = "502 Bad Gateway" if kind == FAILED else "403 Forbidden"
        client.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n{text}".encode())

    def _note(self, kind: str, host: str) -> None:
        """Adds a line to the log, which has a limited size."""
        with self.lock:
            self.counts[kind] += 1
            if self.counts[kind] <= MOST_LINES:
                os.write(self.log, f"{clock.now()} {kind} {host}\n".encode())


def _is_local(address: str) -> bool:
    """Returns whether an address leads to this machine or to its cloud provider's own services."""
    target = ipaddress.ip_address(address.partition("%")[0])
    target = getattr(target, "ipv4_mapped", None) or target
    return target.is_loopback or target.is_link_local or target.is_unspecified


def _own_proxy(host: str, scheme: str) -> SplitResult | None:
    """Returns the address of the proxy that the user's variables name for a host."""
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    url = proxies.get(scheme) or proxies.get("all") or ""
    return urlsplit(url) if url.startswith("http://") and not proxy_bypass(host) else None


def _open_tunnel(client: socket.socket, server: socket.socket, head: bytes) -> bool:
    """Asks the user's proxy for a tunnel and passes its answer on; without a tunnel, nothing else may be sent to it."""
    server.sendall(head)
    answer, rest = _read_head(server)
    client.sendall(answer + b"\r\n\r\n" + rest)
    return answer.split(b" ")[1:2] == [b"200"]


def _shown(authority: str, default: int) -> str:
    """Returns what the log says of a host that is malformed, without a login in front of it."""
    text = authority.rpartition("@")[2]
    try:
        host, port = split_host(text, default)
    except ValueError:
        return text[:MOST_SHOWN]
    return f"{host}:{port}"


def _fields(head: bytes) -> list[tuple[bytes, bytes]]:
    """Returns the names and values of a head; raises ValueError for one that the next server could read otherwise."""
    fields = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
    if not all(colon and FIELD.fullmatch(name) for name, colon, _ in fields):
        raise ValueError("no plain field")
    return [(name, value) for name, _, value in fields]


def _body_length(fields: Sequence[tuple[bytes, bytes]]) -> int:
    """Returns the length of a request's body; raises ValueError if that is not plain, because one request counts."""
    lengths = {value.strip() for name, value in fields if name.lower() == b"content-length"}
    is_chunked = any(name.lower() == b"transfer-encoding" for name, _ in fields)
    if is_chunked or len(lengths) > 1 or not all(value.isdigit() and len(value) < 16 for value in lengths):
        raise ValueError("no plain length")
    return int(lengths.pop()) if lengths else 0


def _head_for_server(own: Sequence[str], fields: Sequence[tuple[bytes, bytes]], proxy: SplitResult | None) -> bytes:
    """Returns the head of a request for the next server, with the host that was allowed and no other.

    A server of several hosts would else answer for the one that the client's field names.
    """
    names = {line.partition(":")[0].lower().encode() for line in own[1:]} | {b"keep-alive"}
    kept = [(name, value) for name, value in fields if name.lower() not in names]
    lines = [name + b":" + value for name, value in kept if not name.lower().startswith(b"proxy-")]
    if proxy and proxy.username is not None:
        login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
        lines.append(b"Proxy-Authorization: Basic " + b64encode(login))
    return b"\r\n".join([*(line.encode() for line in own), *lines, b"", b""])


def _receive(handle: socket.socket, count: int) -> list[int]:
    try:
        return socket.recv_fds(handle, 1, count)[1]
    except OSError:
        return []


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    """Returns the head of a request, and what came after it; raises ValueError if it has no end."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = client.recv(PIECE)
        data += piece
        if not piece or len(data) > MAX_HEAD:
            raise ValueError("no request")
    head, _, rest = data.partition(b"\r\n\r\n")
    # A lone line end would begin another request.
    if any(byte < 32 and byte != 9 for byte in head.replace(b"\r\n", b"")):
        raise ValueError("control characters in a request")
    return head, rest


def _relay(client: socket.socket, server: socket.socket, most: int = -1) -> None:
    """Passes on what both sides send until both have ended; of the client only so many bytes, if that is limited."""
    for end in (client, server):
        end.settimeout(None)
    back = threading.Thread(target=_copy, args=(server, client), daemon=True)
    back.start()
    _copy(client, server, most)
    back.join()


def _copy(source: socket.socket, target: socket.socket, most: int = -1) -> None:
    try:
        while most and (data := source.recv(PIECE if most < 0 else min(PIECE, most))):
            target.sendall(data)
            most -= len(data) if most > 0 else 0
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
