"""Handles the requests of one browser connection, after the guard accepts them."""

from __future__ import annotations

import io
import json
import time
from functools import partial
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qsl

from sow.dashboard.data.page_errors import print_traceback
from sow.dashboard.server import guard, reply
from sow.dashboard.server.assets import INDEX as INDEX_FILE
from sow.dashboard.server.guard import SAFE, RequestRefused
from sow.dashboard.server.reply import Reply
from sow.dashboard.server.routes import ACT, ASSET, FEED, INDEX, SESSION, RequestValues, find
from sow.errors import SowError, SystemFailure, Waiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    from _typeshed import WriteableBuffer

    from sow.dashboard.server.routes import Route
    from sow.dashboard.server.server import Listener

IDLE = 75.0  # seconds between two requests
IDLE_IN_A_CROWD = 5.0
REQUEST_TIMEOUT = 10.0  # seconds for a whole request, from its first byte
SENDING = 60.0
LINGER = 1.0
LONGEST_LINE = 65536
MOST_FIELDS = 20
LOOK_AGAIN = "look again in a moment; if it stays: sow doctor"
USE_THE_PAGE = "use the page that 'sow ui' serves"


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection, one after the other."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Listener

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.patience = DeadlineReader(self.connection)
        self.rfile = self.reader = io.BufferedReader(self.patience)
        self.unread = 0
        self.streaming = False

    def handle_one_request(self) -> None:
        """Reads one request and answers it; closes a connection that is slow, silent or broken."""
        self.close_connection = True
        try:
            if self._read_head():
                self._answer()
        except OSError:  # closed or too slow: nobody is left to tell
            self.close_connection = True
        if self.close_connection and self.unread:
            self._drain()

    def _read_head(self) -> bool:
        self.patience.set_deadline(IDLE_IN_A_CROWD if self.server.connections.is_large else IDLE)
        if not self.reader.peek(1):
            return False
        self.patience.set_deadline(REQUEST_TIMEOUT)
        self.raw_requestline = self.rfile.readline(LONGEST_LINE + 1)
        self.requestline, self.request_version, self.command = "", "", ""
        if len(self.raw_requestline) > LONGEST_LINE:
            self.send_error(414)
            return False
        return self.parse_request()

    def _answer(self) -> None:
        try:
            answer = self._reply_for_request()
        except RequestRefused as error:
            answer = reply.refusal(error.status, error.message, error.hint, error.headers)
        except SowError as error:
            answer = reply.refusal(_status(error), error.message, error.hint)
        except OSError:
            raise
        except Exception as error:  # the last handler of the server: one failed request must not affect the others
            print_traceback(error)
            answer = reply.refusal(500, "internal error", "see the terminal of 'sow ui', and report it")
        if answer is not None and not self.streaming:
            self._send(answer)

    def _reply_for_request(self) -> Reply | None:
        """Returns the reply; None if it was streamed already."""
        if self.request_version not in ("HTTP/1.0", "HTTP/1.1"):
            raise RequestRefused(400, "the request is not HTTP/1.1", USE_THE_PAGE)
        self.unread = 1 if "Content-Length" in self.headers or "Transfer-Encoding" in self.headers else 0
        guard.check_head(self.headers)
        path, _, query = self.path.partition("?")
        route, values = self._route(path)
        guard.check_origin(route, self.command, self.headers)
        if route is None:
            raise self._no_route(path)
        ends = self.client_address, self.connection.getsockname()
        guard.check(route, self.headers, self.server.access, read_only=self.server.read_only, ends=ends)
        body = self._body(route)
        arguments = _values(query)
        arguments.update(values)
        return self._view(route, arguments, body)

    def _route(self, path: str) -> tuple[Route | None, dict[str, str]]:
        method = "GET" if self.command == "HEAD" else self.command
        for route, values in find(path):
            if route.method == method:
                return route, values
        return None, {}

    def _no_route(self, path: str) -> RequestRefused:
        methods = [route.method for route, _ in find(path)]
        if not methods:
            return RequestRefused(404, "there is nothing at this address", USE_THE_PAGE)
        allowed = ", ".join([*methods, *(["HEAD"] if "GET" in methods else [])])
        return RequestRefused(
            405, f"the method {self.command} is not for this address", USE_THE_PAGE, (("Allow", allowed),)
        )

    def _body(self, route: Route) -> dict[str, Any]:
        """Reads the JSON body of a request; a GET or HEAD may have none."""
        length = guard.check_size(self.headers)
        if route.method in SAFE:
            if length:
                raise RequestRefused(400, "a GET request must not have a body", "leave it out")
            self.unread = 0
            return {}
        data = self.rfile.read(length)
        self.unread = 0
        if len(data) < length:
            raise ConnectionError
        return _document(data)

    def _view(self, route: Route, arguments: RequestValues, body: dict[str, Any]) -> Reply | None:
        if route is INDEX or route is ASSET:
            return self._asset(arguments["name"] or INDEX_FILE)
        if route is SESSION:
            return self._session(body)
        if route is FEED:
            return self._feed(arguments)
        if route is ACT:
            status, document = self.server.facts.act(arguments["name"], body)
            return reply.document(document, status)
        return self._document(route, arguments)

    def _document(self, route: Route, arguments: RequestValues) -> Reply:
        """Returns the document of a route; if the page has it already, only a 304 with its tag."""
        name = f"{self._accepts_gzip()} {self.path}"
        make = partial(self._cached_or_new, name, route, arguments)
        answer = self.server.single_flight.reply(name, make) if route.is_large else make()
        tag = dict(answer.headers)["ETag"]
        return reply.empty(304, (("ETag", tag),)) if self.headers.get("If-None-Match") == tag else answer

    def _cached_or_new(self, name: str, route: Route, arguments: RequestValues) -> Reply:
        """Returns the cached reply of this name if its mark is unchanged, else a new one."""
        facts, kept = self.server.facts, self.server.kept
        values = [arguments[value] for value in route.values]
        try:
            mark = getattr(facts, route.mark)(*values) if route.mark else None
            answer = kept.get(name, mark) if route.mark else None
            if answer is None:
                answer = reply.document_with_etag(getattr(facts, route.view)(*values), packs=self._accepts_gzip())
                if route.mark:
                    kept.keep(name, mark, answer)
        except OSError as error:  # from a file, not the connection: the page must be told
            raise SystemFailure(f"cannot read {error.filename or 'a file'}: {error.strerror}", LOOK_AGAIN) from None
        return answer

    def _accepts_gzip(self) -> bool:
        return "gzip" in self.headers.get("Accept-Encoding", "")

    def _asset(self, name: str) -> Reply:
        asset = self.server.assets.get(name)
        if asset is None:
            raise RequestRefused(404, "the page has no such file", USE_THE_PAGE)
        return asset.reply(packs=self._accepts_gzip(), client_tag=self.headers.get("If-None-Match", ""))

    def _session(self, body: dict[str, Any]) -> Reply:
        token = body.get("token")
        if not isinstance(token, str) or not self.server.access.use_token(token):
            raise RequestRefused(401, "the token is wrong or was already used", guard.OPEN_AGAIN)
        return reply.empty(204, (("Set-Cookie", self.server.access.cookie()),))

    def _feed(self, arguments: RequestValues) -> Reply | None:
        from sow.dashboard.server import feed

        if self.command == "HEAD":
            raise RequestRefused(405, "the feed does not support HEAD", USE_THE_PAGE, (("Allow", "GET"),))
        after = self.headers.get("Last-Event-ID") or arguments["after"]
        with feed.listener_slot(self.server), self.server.facts.feed(after[: feed.LONGEST_ID]) as source:
            self.close_connection = self.streaming = True  # from here on, no other reply can be sent
            feed.serve(self.connection, source, self.server.stopping)
        return None

    def _send(self, answer: Reply) -> None:
        if self.unread:
            self.close_connection = True
        self.connection.settimeout(SENDING)
        body = b"" if self.command == "HEAD" else answer.body
        self.wfile.write(answer.head(close=self.close_connection) + body)

    def _drain(self) -> None:
        """Reads the rest of the request for a moment: closing with unread data would lose the reply."""
        import socket

        self.patience.set_deadline(LINGER)
        try:
            self.connection.shutdown(socket.SHUT_WR)
            while self.reader.read1(LONGEST_LINE):
                pass
        except OSError:
            return

    def handle_expect_100(self) -> bool:
        self.send_error(417)
        return False

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Sends the errors of the standard request parser in our own form."""
        self.close_connection, self.unread = True, 1
        status = code if code in (400, 414, 417, 431, 505) else 400
        self._send(reply.refusal(status, "the request is not valid HTTP", USE_THE_PAGE))

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


def _status(error: SowError) -> int:
    from sow.dashboard.data.page_errors import PageNotFound

    if isinstance(error, PageNotFound):
        return 404
    return 500 if isinstance(error, SystemFailure) else 409 if isinstance(error, Waiting) else 400


def _values(query: str) -> RequestValues:
    try:
        return RequestValues(parse_qsl(query, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise RequestRefused(400, f"the address has more than {MOST_FIELDS} values", USE_THE_PAGE) from None


def _document(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise RequestRefused(400, "the body of the request is not JSON", "send one JSON object") from None
    if not isinstance(document, dict):
        raise RequestRefused(400, "the body of the request is not a JSON object", "send one JSON object")
    return document


class DeadlineReader(io.RawIOBase):
    """A socket that is read until a deadline. A timeout per byte would let a slow client hold it open."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self.connection = connection
        self.until = 0.0

    def set_deadline(self, seconds: float) -> None:
        """Sets the deadline to so many seconds from now."""
        self.until = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)
