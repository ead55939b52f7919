#!/usr/bin/env python3
"""A stand-in for GitLab's glab, which no registry has: `glab auth status` and `glab api`, as its manual describes them.

It answers with what a JSON file says, by method and path; the variable GLAB_STAND_IN names the file.
It logs each call with its body beside that file.
"""

from __future__ import annotations

import argparse
import json
import os
import sys


def main() -> int:
    if sys.argv[1:3] == ["auth", "status"]:
        parser = argparse.ArgumentParser()
        parser.add_argument("--hostname", required=True)
        return 0 if parser.parse_args(sys.argv[3:]).hostname == os.environ["GITLAB_HOST"] else 1
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("api",))
    parser.add_argument("--method", default="GET")
    parser.add_argument("--include", action="store_true")
    parser.add_argument("--header", action="append")
    parser.add_argument("--input")
    parser.add_argument("path")
    options = parser.parse_args()
    with open(os.environ["GLAB_STAND_IN"], encoding="utf-8") as file:
        answers = json.load(file)
    key = f"{options.method} {options.path}"
    sent = json.loads(sys.stdin.read()) if options.input == "-" else None
    with open(os.environ["GLAB_STAND_IN"] + ".log", "a", encoding="utf-8") as log:
        log.write(json.dumps([key, sent]) + "\n")
    status, body = (200, answers[key]) if key in answers else (404, {"message": "404 Not Found"})
    if options.include:
        sys.stdout.write(
            f"HTTP/2.0 {status} {'OK' if status == 200 else 'Not Found'}\nContent-Type: application/json\n\n"
        )
    sys.stdout.write(body if isinstance(body, str) else json.dumps(body))
    if status != 200:
        sys.stderr.write("glab: 404 Not Found (HTTP 404)\n")
    return int(status != 200)


if __name__ == "__main__":
    sys.exit(main())
