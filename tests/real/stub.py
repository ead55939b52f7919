"""A model server for tests on 127.0.0.1: it speaks four APIs and follows the directives of the prompt.

A directive is in the prompt: `[[text:T]]`, `[[sh:COMMAND]]` (call the CLI's own shell tool, then answer
`STUB-DONE` and what the tool said), `[[loop:N:COMMAND]]`, `[[call:TOOL {"json": "arguments"}]]`, `[[status:429]]`,
`[[status:529x2]]` (fail twice, then answer `recovered`), `[[hang:SECONDS]]` (send the head of a stream and stall), and
`[[play:NAME]]`: the steps in `stub.plays[NAME]`, directives without brackets, one for each request of the turn.
The last text of a user that has a directive counts, so a conversation that continues is not confused by its past.
After a text that has a phrase of `stub.phrases`, `[[play:NAME]]` is `stub.plays[NAME + suffix]`, with that suffix.
In a command or a text, `{NAME}` is what the pattern `stub.patterns[NAME]` found last in the conversation.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from real import model_apis
from real.model_apis import TOKENS_IN, TOKENS_OUT, Answer, Said, normalize

DONE = "STUB-DONE"
__all__ = ["DONE", "TOKENS_IN", "TOKENS_OUT", "Stub", "normalize"]


class Stub:
    """The server, as a context manager; every request that it gets is a line in its log."""

    def __init__(self, log_path: str | Path) -> None:
        self.log_path = Path(log_path)
        self.plays: dict[str, list[str]] = {}
        self.phrases: dict[str, str] = {}  # phrase in a later prompt → suffix of the play
        self.patterns: dict[str, str] = {}
        self.retry_after = ""  # seconds, told to a CLI that is refused
        self.first: float | None = None  # when the first request to a model came
        self.tries: Counter[str] = Counter()
        self.closing = threading.Event()
        self.lock = threading.Lock()
        self.server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"stub": self}))
        self.port: int = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Stub:
        self.log_path.write_text("")
        self.thread.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.closing.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def log(self, entry: dict[str, Any]) -> None:
        with self.lock, self.log_path.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def requests(self, api: str = "") -> list[dict[str, Any]]:
        """Returns the requests to a model, oldest first: t, api, method, path, headers, body, decision, tools."""
        with self.lock:
            entries = [json.loads(line) for line in self.log_path.read_text().splitlines()]
        return [entry for entry in entries if entry["api"] and api in ("", entry["api"])]

    def conversations(self) -> list[list[Said]]:
        """Returns the conversation of each request to a model, as (role, kind, text)."""
        return [normalize(request["api"], request["body"]) for request in self.requests()]

    def wait(self, count: int = 1, seconds: float = 60) -> None:
        """Waits until this many requests to a model have come."""
        until = time.monotonic() + seconds
        while len(self.requests()) < count:
            assert time.monotonic() < until, f"only {len(self.requests())} of {count} requests came"
            time.sleep(0.05)


def directive(said: list[Said], phrases: dict[str, str]) -> tuple[str, list[str]]:
    """Returns the current directive, and the results of the tools since it was given."""
    suffix, start = "", 0
    for index in range(len(said) - 1, -1, -1):
        role, kind, text = said[index]
        if role != "user" or kind != "text":
            continue
        if "[[" in text and "]]" in text.rpartition("[[")[2]:
            result = text.rpartition("[[")[2].partition("]]")[0]
            return result + suffix, [text for _, kind, text in said[start or index + 1 :] if kind == "tool_result"]
        if not suffix:
            suffix = next((value for phrase, value in phrases.items() if phrase in text), "")
            start = index + 1 if suffix else 0
    return "", []


def steps(stub: Stub, wanted: str) -> list[str]:
    """Returns a directive as the steps of a turn."""
    verb, _, rest = wanted.partition(":")
    if verb == "play":
        return stub.plays[rest]
    if verb == "loop":
        count, _, command = rest.partition(":")
        return [f"sh:{command} # {number}" for number in range(int(count))]  # equal calls would trip loop guards
    return [wanted]


class _Server(ThreadingHTTPServer):
    """A server whose clients may be killed at any time."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    stub: Stub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        return

    def do_GET(self) -> None:
        self._note("", {}, "canned")
        if self.path.partition("?")[0].endswith("/models"):
            self._json(200, {"object": "list", "data": [{"id": "stub-model", "object": "model"}], "models": []})
        else:
            self._json(404, {"error": {"message": "the stub has no such path"}})

    def do_HEAD(self) -> None:
        self._note("", {}, "canned")
        self.send_response(404)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self._answer(self._body())

    def _body(self) -> dict[str, Any]:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.headers.get("content-encoding", "") == "gzip":
            data = gzip.decompress(data)
        try:
            body = json.loads(data or b"{}")
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def _answer(self, body: dict[str, Any]) -> None:
        api = model_apis.api_of(self.path)
        if not api:
            self._note("", body, "canned")
            counts = self.path.partition("?")[0].endswith(("count_tokens", ":countTokens"))
            self._json(200 if counts else 404, {"input_tokens": 100, "totalTokens": 100} if counts else {"error": {}})
            return
        self.stub.first = self.stub.first or time.time()
        expected, results = directive(normalize(api, body), self.stub.phrases)
        plan = steps(self.stub, expected)
        step = plan[len(results)] if len(results) < len(plan) else "end"
        verb, _, rest = step.partition(":")
        if verb == "status":
            self._refuse(api, body, rest)
        elif verb == "hang":
            self._hang(api, body, float(rest))
        else:
            self._speak(api, body, self._said(api, body, verb, rest, results), step)

    def _said(self, api: str, body: dict[str, Any], verb: str, rest: str, results: list[str]) -> Answer:
        offered = model_apis.tools(api, body)
        for name, pattern in self.stub.patterns.items() if verb in ("sh", "text") else ():
            matches = re.findall(pattern, "\n".join(text for _, _, text in normalize(api, body)))
            rest = rest.replace(f"{{{name}}}", matches[-1] if matches else "")
        if verb == "sh":
            call = model_apis.shell_call(offered, rest)
            return Answer(tool=call[0], arguments=call[1]) if call else Answer("there is no shell tool")
        if verb == "call":
            name, _, arguments = rest.partition(" ")
            return Answer(tool=name, arguments=json.loads(arguments)) if name in offered else Answer(f"no tool {name}")
        if verb == "text":
            return Answer(rest)
        return Answer(f"{DONE} {results[-1]}" if results else "hello from the stub")

    def _refuse(self, api: str, body: dict[str, Any], rest: str) -> None:
        """Refuses: `429` always, `529x2` twice."""
        status, _, times = rest.partition("x")
        with self.stub.lock:
            self.stub.tries[rest] += 1
            over = bool(times) and self.stub.tries[rest] > int(times)
        if over:
            self._speak(api, body, Answer("recovered"), f"status:{rest}")
            return
        self._note(api, body, f"status:{rest}")
        self._json(int(status), model_apis.error_body(api, int(status)), self.stub.retry_after)

    def _hang(self, api: str, body: dict[str, Any], seconds: float) -> None:
        self._note(api, body, f"hang:{seconds}")
        self._begin_stream()
        self.stub.closing.wait(seconds)

    def _speak(self, api: str, body: dict[str, Any], answer: Answer, decision: str) -> None:
        self._note(api, body, decision)
        model = str(body.get("model") or "stub-model")
        streams = ":streamGenerateContent" in self.path if api == model_apis.GEMINI else bool(body.get("stream"))
        if not streams:
            self._json(200, model_apis.whole(api, answer, model))
            return
        self._begin_stream()
        for name, data in model_apis.events(api, answer, model):
            if api == model_apis.RESPONSES:
                data = {"type": name, **data}
            text = data if isinstance(data, str) else json.dumps(data)
            self.wfile.write((f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode())
            self.wfile.flush()

    def _begin_stream(self) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.flush()

    def _json(self, status: int, body: dict[str, Any], retry_after: str = "") -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        if retry_after:
            self.send_header("retry-after", retry_after)
        self.end_headers()
        self.wfile.write(data)

    def _note(self, api: str, body: dict[str, Any], decision: str) -> None:
        self.stub.log(
            {
                "t": time.time(),
                "api": api,
                "method": self.command,
                "path": self.path,
                "headers": {name.lower(): value[:40] for name, value in self.headers.items()},
                "body": body,
                "decision": decision,
                "tools": sorted(model_apis.tools(api, body)) if api else [],
            }
        )
