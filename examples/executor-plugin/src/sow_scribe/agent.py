"""A toy agent CLI: it adds a line to SCRIBE.md, hands its task in, and keeps its sessions in ~/.scribe."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path


def say(kind: str, text: str) -> None:
    print(json.dumps({"type": kind, "text": text}), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scribe")
    parser.add_argument("--version", action="version", version="scribe 1.0.0")
    parser.add_argument("word", choices=["work"], help="work on the prompt that is on stdin")
    session = parser.add_mutually_exclusive_group(required=True)
    session.add_argument("--session", help="begin a session with this id")
    session.add_argument("--resume", help="continue the session with this id")
    parser.add_argument("--model")
    parser.add_argument("--allow-all", action="store_true")
    parser.add_argument("--allow", action="append", default=[], metavar="COMMAND")
    options = parser.parse_args()
    chat = Path.home() / ".scribe" / (options.session or options.resume)
    if options.resume and not chat.exists():
        print("no such session", file=sys.stderr)
        return 1
    chat.parent.mkdir(exist_ok=True)
    with chat.open("a") as file:
        file.write(sys.stdin.read())
    task = os.environ.get("SOW_TASK", "")
    with Path("SCRIBE.md").open("a") as file:
        file.write(f"task {task}\n")
    say("tool", "Write: SCRIBE.md")
    sow = next((command for command in options.allow if Path(command).name == "sow"), "sow")
    done = subprocess.run([sow, "task", "set", "--id", task, "status", "needs_review"], capture_output=True, text=True)
    say("done", done.stdout.strip() or done.stderr.strip())
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
