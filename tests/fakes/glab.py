#!/usr/bin/env python3
"""A fake of GitLab's glab, which no registry has: `glab auth status` and `glab api`, as its manual describes them.

It calls the host in GITLAB_HOST with the token in GITLAB_TOKEN, and prints what `glab api` prints.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys


def main() -> int:
    if sys.argv[1:] == ["--version"]:
        print("glab 1.80.0 (stand-in)")
        return 0
    if sys.argv[1:3] == ["auth", "status"]:
        parser = argparse.ArgumentParser()
        parser.add_argument("--hostname", required=True)
        host = parser.parse_args(sys.argv[3:]).hostname
        return 0 if os.environ.get("GITLAB_TOKEN") and call(host, "GET", "user", [], None)[0] == 200 else 1
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("api",))
    parser.add_argument("--method", default="GET")
    parser.add_argument("--include", action="store_true")
    parser.add_argument("--header", action="append", default=[])
    parser.add_argument("--input")
    parser.add_argument("path")
    options = parser.parse_args()
    body = sys.stdin.buffer.read() if options.input == "-" else None
    try:
        status, reason, headers, text = call(
            os.environ["GITLAB_HOST"], options.method, options.path, options.header, body
        )
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    if options.include:
        sys.stdout.write(f"HTTP/2.0 {status} {reason}\n")
        sys.stdout.write("".join(f"{name.title()}: {value}\r\n" for name, value in sorted(headers)) + "\r\n")
    sys.stdout.write(text)
    sys.stdout.flush()
    if status > 299:
        sys.stderr.write(f"glab: {message(text, status)}\n")
    return int(status > 299)


def call(host: str, method: str, path: str, headers: list[str], body: bytes | None) -> tuple[int, str, list, str]:
    """The answer of the host: status, its text, headers and body."""
    given = dict(header.split(": ", 1) for header in headers)
    given |= {"PRIVATE-TOKEN": os.environ.get("GITLAB_TOKEN", "")}
    connection = http.client.HTTPSConnection(host, timeout=60)
    connection.request(method, f"/api/v4/{path}", body, given)
    answer = connection.getresponse()
    return answer.status, answer.reason, answer.getheaders(), answer.read().decode()


def message(text: str, status: int) -> str:
    """Returns glab's text about a refusal: the message, or the whole answer if that is no text."""
    try:
        said = json.loads(text).get("message")
    except (ValueError, AttributeError):
        said = None
    return f"{said} (HTTP {status})" if isinstance(said, str) else f"HTTP {status}"


if __name__ == "__main__":
    sys.exit(main())
