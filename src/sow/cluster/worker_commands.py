"""Applies the commands that a worker on another machine had accepted there, as if it had given them here."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sow.domain.actor import Actor
from sow.errors import SowError
from sow.store.projects import log, notes
from sow.store.projects.task_folder import TaskFolder
from sow.system import caller, clock
from sow.system.process.forked_server import ForkedServer
from sow.system.process.steps import Steps

Verbs = Callable[[list[str], Mapping[str, str]], int]
NAME = "sow-commands"
PIECE = 1 << 16
MOST_WORDS = 1000


@dataclass(frozen=True)
class WorkerCommand:
    """One command of a worker: when it was accepted, and its words."""

    at: str
    words: list[str]


def read_commands(recorded: Sequence[object], since: str, until: str) -> list[WorkerCommand]:
    """Returns the recorded commands that have the form of one; their times are kept within the turn."""
    commands = []
    for entry in recorded:
        words = entry.get("words") if isinstance(entry, dict) else None
        if not isinstance(words, list) or not words or len(words) > MOST_WORDS:
            continue
        if all(isinstance(word, str) and "\0" not in word for word in words):
            at = str(entry.get("at", "")) if isinstance(entry, dict) else ""
            commands.append(WorkerCommand(min(max(at, since), until) if len(at) == len(since) else until, words))
    return commands


def apply_commands(
    folder: TaskFolder,
    commands: Sequence[WorkerCommand],
    verbs: Verbs,
    environment: Mapping[str, str],
    actor: Actor,
    *,
    start: int,
    applied: Callable[[int], None],
) -> Steps[list[str]]:
    """Runs the commands from a position on, in a process of their own; returns a remark for each that is refused.

    `applied` is called after each with their number. A crash can hide that the first one was applied already, so it is
    looked for.
    """
    remaining = list(enumerate(commands))[start:]
    if remaining and start and _is_there(folder, remaining[0][1]):
        remaining = remaining[1:]
    if not remaining:
        return []
    reading, writing = os.pipe()

    def serve(lifeline: int) -> None:
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(environment["SOW_ROOT"])
        caller.set_actor(actor)
        for number, command in remaining:
            clock.fix(command.at)
            error = _run(verbs, command.words, environment)
            os.write(writing, (json.dumps([number + 1, error[:500]]) + "\n").encode())
        os.close(writing)

    server = ForkedServer(NAME, {writing}, serve)
    os.close(writing)
    os.set_blocking(reading, False)
    remarks, received = [], b""
    try:
        while True:
            try:
                piece = os.read(reading, PIECE)
            except BlockingIOError:
                yield
                continue
            *lines, received = (received + piece).split(b"\n")
            for line in lines:
                number, error = json.loads(line)
                applied(number)
                if error:
                    words = " ".join(commands[number - 1].words)[:80]
                    remarks.append(f"a command of the worker is not taken over: sow {words}: {error}")
            if not piece:
                return remarks
    finally:
        os.close(reading)
        server.close()


def _run(verbs: Verbs, words: list[str], environment: Mapping[str, str]) -> str:
    """Runs one command; returns its error, or "" if it was accepted."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace") for _ in range(2)]
    sys.stdout, sys.stderr = streams
    code = verbs(words, environment)
    buffer = streams[1].detach()
    text = buffer.getvalue().decode("utf-8", "replace") if isinstance(buffer, io.BytesIO) else ""
    return (text.strip().partition("\n")[0] or f"exit code {code}") if code else ""


def _is_there(folder: TaskFolder, command: WorkerCommand) -> bool:
    """Tells whether a log entry or a note of a command is there; all other commands can be repeated."""
    try:
        if command.words[:2] == ["agent", "log"] or command.words[0] == "log":
            entries = log.read(folder.home, folder.log_path)
            return any(entry["timestamp"] == command.at and entry["text"] in command.words for entry in entries)
        if command.words[:2] == ["note", "add"]:
            return any(f"--description={note['description']}" in command.words for note in notes.load_notes(folder))
    except SowError:
        return False
    return False
