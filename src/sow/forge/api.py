"""Calls the REST and GraphQL interface of a forge through `gh api` or `glab api`, which hold the user's login."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Any

from sow.errors import SowError
from sow.executors.settings import find_binary
from sow.forge.forge import GITHUB, ForgeError
from sow.system import clock
from sow.system import environment as environments
from sow.system.process.program import ProgramOutput, capture
from sow.system.terminal import escape_control, escape_line

PROGRAMS = {"github": "gh", "gitlab": "glab"}
HOST_VARIABLES = {"github": "GH_HOST", "gitlab": "GITLAB_HOST"}
INSTALL = {"gh": "https://cli.github.com", "glab": "https://gitlab.com/gitlab-org/cli"}
TIMEOUT = 60.0
MOST = 8 << 20  # bytes of one answer
MOST_PAGES = 10
# Variables of gh and glab that would change what they print or where they go.
REMOVED = {"GH_DEBUG", "DEBUG", "GH_REPO", "GH_FORCE_TTY", "GH_PAGER", "PAGER", "GLAB_DEBUG_HTTP"}
REMOVED |= {"GITLAB_URI", "GL_HOST", "GITLAB_REPO", "CLICOLOR_FORCE"}
SET = {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_PROMPT": "1", "NO_COLOR": "1", "LC_ALL": "C"}
SET |= {"GLAB_CHECK_UPDATE": "false", "GH_SPINNER_DISABLED": "1"}
STATUS = re.compile(r"\AHTTP/[\d.]+ (\d{3})[^\n]*\n")
VERSION = re.compile(r"\d+\.\d+\.\d+")
COLOURS = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
NEXT = re.compile(r'<([^>]+)>;\s*rel="next"')
# Tokens of forges and of their CI, and passwords in URLs: they are removed even if no variable of ours holds them.
TOKENS = re.compile(
    r"\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|gl[a-z]{2,6}-[\w-]{16,}|AKIA[A-Z0-9]{16}|sk-[\w-]{20,})"
    r"|(?<=://)[^\s/@]*:[^\s/@]+(?=@)|(?i:(?<=authorization: )\S[^\r\n]*)"
)


@dataclass(frozen=True, slots=True)
class ForgeReply:
    """One answer of the forge."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    text: str

    @property
    def data(self) -> Any:
        """The JSON values of the text: the value, or all items if there are several lists."""
        values = list(json_values(self.text))
        if len(values) > 1 and all(isinstance(value, list) for value in values):
            return [item for value in values for item in value]
        return values[0] if values else None


@dataclass(slots=True)
class ForgeApi:
    """The calls to one host. `calls` counts them; answers with an ETag are kept, so that no change costs nothing."""

    kind: str
    host: str
    environment: Mapping[str, str]
    calls: int = 0
    kept: dict[str, tuple[str, Any]] = field(default_factory=dict)

    @property
    def program(self) -> str:
        return PROGRAMS[self.kind]

    def is_installed(self) -> bool:
        """Returns whether gh or glab is there."""
        return bool(find_binary(self.program, self.environment))

    def find_program(self) -> str:
        """Returns the path of gh or glab."""
        path = find_binary(self.program, self.environment)
        if not path:
            raise SowError(
                f"{self.program} is not installed: sow uses it to talk to {self.host}",
                f"install it from {INSTALL[self.program]}, then: {self.program} auth login --hostname {self.host}",
            )
        return path

    def require_login(self) -> None:
        """Raises if the user is not logged in: `gh api` would continue without a token."""
        if not self.is_logged_in():
            raise ForgeError(
                f"{self.program} is not logged in to {self.host}",
                f"{self.program} auth login --hostname {self.host}",
                exit_code=4,
            )

    def is_logged_in(self) -> bool:
        """Returns whether the user is logged in to the host."""
        return self._run(["auth", "status", "--hostname", self.host]).code == 0

    def version(self) -> tuple[int, ...]:
        """Returns the version of gh or glab, or () if it does not say."""
        match = VERSION.search(self._run(["--version"]).text)
        return tuple(map(int, match[0].split("."))) if match else ()

    def get(self, path: str) -> Any:
        """Returns what a path holds; an answer that did not change is not sent again."""
        etag, data = self.kept.get(path, ("", None))
        reply = self.call("GET", path, etag=etag)
        if reply.status == 304:
            return data
        if reply.headers.get("etag"):
            self.kept[path] = (reply.headers["etag"], reply.data)
        return reply.data

    def pages(self, path: str) -> list[Any]:
        """Returns the items of a list with all its pages, up to a limit."""
        items: list[Any] = []
        for _ in range(MOST_PAGES):
            reply = self.call("GET", path)
            items += reply.data or []
            following = NEXT.search(reply.headers.get("link", ""))
            if not following:
                break
            path = re.sub(r"\Ahttps?://[^/]+/(?:api/v[34]/)?", "", following[1])
        return items

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Changes something; returns the answer."""
        return self.call(method, path, body=body).data

    def graphql(self, query: str, variables: Mapping[str, Any]) -> Any:
        """Returns the data of a GraphQL call."""
        reply = self.call("POST", "graphql", body={"query": query, "variables": dict(variables)})
        data = reply.data or {}
        if data.get("errors"):
            if any(error.get("type") == "RATE_LIMITED" for error in data["errors"]):
                raise self._refusal(replace(reply, status=429), "POST graphql")
            message = escape_line(str(data["errors"][0].get("message", "")))[:200]
            raise ForgeError(f"{self.host} refused: {message}", "see the request in a browser")
        return data.get("data") or {}

    def call(self, method: str, path: str, *, body: Any = None, etag: str = "") -> ForgeReply:
        """Returns the answer to one call; raises a ForgeError for a refusal."""
        arguments = ["api", "--method", method, "--include"]
        arguments += ["--header", "Accept: application/vnd.github+json"] if self.kind == GITHUB else []
        arguments += ["--header", f"If-None-Match: {etag}"] if etag else []
        given = "" if body is None else json.dumps(body)
        arguments += ["--header", "Content-Type: application/json", "--input", "-"] if given else []
        output = self._run([*arguments, path], given)
        reply = parse_reply(output.text)
        if reply is None:
            lines = [line for line in output.text.splitlines() if line.strip()]
            cause = clean(" ".join(lines[:2]), self.environment)[:200] or "it did not answer"
            raise ForgeError(f"{self.host} cannot be reached: {escape_line(cause)}", "try again later", exit_code=1)
        if reply.status >= 400:
            raise self._refusal(reply, f"{method} {path}")
        return reply

    def tail(self, path: str, most: int) -> str:
        """Returns the end of a text such as a log, without secrets and colours, or "" if it is gone."""
        output = self._run(["api", path], most=most, keep_end=True)
        return "" if output.code else clean(COLOURS.sub("", output.text), self.environment)

    def _run(self, arguments: list[str], given: str = "", *, most: int = MOST, keep_end: bool = False) -> ProgramOutput:
        self.calls += 1
        variables = {name: value for name, value in self.environment.items() if name not in REMOVED} | SET
        # The option --hostname accepts no port, and a token in a variable counts only for the host named here.
        variables[HOST_VARIABLES[self.kind]] = self.host
        return capture(
            [self.find_program(), *arguments],
            environment=variables,
            timeout=TIMEOUT,
            given=given,
            most=most,
            keep_end=keep_end,
        )

    def _refusal(self, reply: ForgeReply, act: str) -> SowError:
        """Returns the error for a refused call; a limit says when it ends."""
        data = reply.data if reply.text.lstrip().startswith("{") else {}
        message = data.get("message") or data.get("error") or ""
        details = [str(error.get("message", "")) for error in data.get("errors", ()) if isinstance(error, dict)]
        text = escape_line(clean(": ".join(filter(None, [str(message), *details])), self.environment))[:300]
        seconds = wait_seconds(reply)
        if seconds is not None:
            return ForgeError(
                f"{self.host} accepts no calls for {max(1, round(seconds))} seconds: {text}",
                "run the same command again then",
                status=reply.status,
                exit_code=4,
                seconds=max(1.0, seconds),
            )
        if reply.status == 401:
            hint = f"{self.program} auth login --hostname {self.host}"
            return ForgeError(f"{self.host} does not accept your login", hint, status=401, exit_code=4)
        if reply.status >= 500:
            return ForgeError(f"{self.host} failed: {reply.status} {text}", "try again later", status=500, exit_code=1)
        exit_code = 4 if reply.status == 403 else 2
        hint = f"see whether you may do that with: {self.program} auth status --hostname {self.host}"
        return ForgeError(
            f"{self.host} refused {act}: {reply.status} {text}", hint, status=reply.status, exit_code=exit_code
        )


def parse_reply(text: str) -> ForgeReply | None:
    """Returns the answer that `api --include` printed, or None if it printed none."""
    text = text.replace("\r\n", "\n")
    status = STATUS.match(text)
    if not status:
        return None
    head, _, rest = text[status.end() :].partition("\n\n")
    pairs = (line.partition(":") for line in head.splitlines())
    return ForgeReply(int(status[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}, rest)


def json_values(text: str) -> Iterator[Any]:
    """Yields the JSON values of a text one after the other; what follows them is a message of the program."""
    decoder, position = json.JSONDecoder(), 0
    while True:
        position += len(text[position:]) - len(text[position:].lstrip())
        try:
            value, position = decoder.raw_decode(text, position)
        except ValueError:
            return
        yield value


def wait_seconds(reply: ForgeReply) -> float | None:
    """Returns how long the forge accepts no calls, or None if that is not why it refused."""
    if reply.status not in (403, 429):
        return None
    after = reply.headers.get("retry-after", "")
    if after.isdigit():
        return float(after)
    if after:
        try:
            return parsedate_to_datetime(after).timestamp() - clock.epoch()
        except ValueError:
            return 60.0
    reset = reply.headers.get("x-ratelimit-reset", "") or reply.headers.get("ratelimit-reset", "")
    remaining = reply.headers.get("x-ratelimit-remaining", "") or reply.headers.get("ratelimit-remaining", "")
    if remaining == "0" and reset.isdigit():
        return float(reset) - clock.epoch()
    return 60.0 if reply.status == 429 else None


def clean(text: str, environment: Mapping[str, str]) -> str:
    """Returns a text of the forge without secrets and without what could control a terminal."""
    text = TOKENS.sub("***", escape_control(text.replace("\r\n", "\n").replace("\r", "\n")))
    return environments.redact_text(text, environments.secrets(environment))
