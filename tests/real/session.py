"""A person's session with the real Claude Code on a terminal, opened by `sow continue`."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

import yaml
from conftest import SOW, Repo

from real import install
from real.stub import Stub

PATIENCE = 90
SPAWN = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
SIZED = 'stty rows 50 cols 160; exec "$0" "$@"'
ESCAPES = re.compile(rb"\x1b(\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07]*\x07|[()][AB0]|[=>78M])")


class ClaudeSession:
    """The opened program: its screen, the typed keys, and its requests to the model."""

    def __init__(self, repo: Repo, stub: Stub) -> None:
        self.repo = repo
        self.stub = stub
        home = Path(repo.environment["HOME"])
        repo.environment |= install.environment("claude", home, stub.port)
        existing = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        accepted = {"approved": [repo.environment["ANTHROPIC_API_KEY"][-20:]], "rejected": []}
        state = {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": accepted,
            "projects": {str(repo.root): existing},
        }
        (home / ".claude.json").write_text(json.dumps(state))
        executor = {"type": "claude", "settings": {"binary": install.binary("claude")}}
        config = {"agents": {"executors": {"claude": executor}, "bindings": {"orchestrator": "claude"}}}
        (home / ".config/sow").mkdir(parents=True, exist_ok=True)
        (home / ".config/sow/config.yaml").write_text(yaml.safe_dump(config))
        self.shown = b""
        self.seen = 0  # how much of it was waited for

    def __enter__(self) -> ClaudeSession:
        text = [sys.executable, "-c", SPAWN, "sh", "-c", SIZED, SOW, "continue"]
        self.process = subprocess.Popen(
            text,
            cwd=self.repo.root,
            env={**self.repo.environment, "TERM": "xterm-256color"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.until("for shortcuts")
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            stream.close()

    def until(self, text: str, keys: bytes = b"") -> None:
        """Waits for a new text on the screen, and presses keys meanwhile; spaces do not count."""
        expected = text.replace(" ", "").encode()
        end = time.monotonic() + PATIENCE
        while (result := plain(self.shown).find(expected, self.seen)) < 0:
            assert time.monotonic() < end, f"{text!r} is not shown: {plain(self.shown)[self.seen :].decode()}"
            self.press(keys)
            self._read(0.5 if keys else 0.2)
        self.seen = result + len(expected)

    def _read(self, seconds: float) -> None:
        assert self.process.stdout
        if select.select([self.process.stdout], [], [], seconds)[0]:
            self.shown += os.read(self.process.stdout.fileno(), 65536)

    def say(self, text: str) -> None:
        """Types a message, and sends it when it is completely shown, since a fast Enter would be pasted as text."""
        self.press(text.encode())
        self.until(text[-20:])
        self.press(b"\r")

    def press(self, keys: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(keys)
        self.process.stdin.flush()

    def told(self, text: str, keys: bytes = b"") -> None:
        """Waits until the model gets a text. Keys are pressed repeatedly, since a new dialog ignores them."""
        end = time.monotonic() + PATIENCE
        while not any(text in said for talk in self.stub.conversations() for _, _, said in talk):
            assert time.monotonic() < end, f"the model was never told {text!r}: {plain(self.shown).decode()[-3000:]}"
            self.press(keys)
            self._read(0.5)


def plain(shown: bytes) -> bytes:
    """Returns the screen without colours, movements and spaces."""
    return re.sub(rb"\s", b"", ESCAPES.sub(b"", shown))
