"""Applies the commands that a worker on another host had accepted there, as if it had given them here."""

from __future__ import annotations

import io
import json
import os
import select
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sow.domain.task import Actor
from sow.errors import SowError, SystemFailure
from sow.store.projects import log, notes
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.projects.task_folder import TaskFolder
from sow.system import caller, clock
from sow.system.process.child_process import CONTINUE
from sow.system.process.forked_server import ForkedServer
from sow.system.process.steps import Steps

Verbs = Callable[[list[str], Mapping[str, str]], int]
NAME = "sow-commands"
OF_TESTS = "SOW_TEST_"  # variables by which a test kills the run itself at a numbered step
PIECE = 1 << 16
MOST_WORDS = 1000
PATIENCE = 0.02  # seconds to wait for a command, because the loop of a run steps less often


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

    `applied` is called after each with their number, before the next one begins. So after a crash only the first one
    can have been applied already.
    """
    remaining = list(enumerate(commands))[start:]
    if remaining and _is_there(folder, remaining[0][1]):
        applied(start + 1)
        remaining = remaining[1:]
    if not remaining:
        return []
    reading, writing = os.pipe()
    waiting, allowing = os.pipe()

    def serve(lifeline: int) -> None:
        os.environ.clear()
        os.environ.update({name: value for name, value in environment.items() if not name.startswith(OF_TESTS)})
        os.chdir(environment["SOW_ROOT"])
        caller.set_actor(actor)
        for number, command in remaining:
            if not os.read(waiting, 1):
                return
            clock.fix(command.at)
            error = _run(verbs, command.words, environment)
            os.write(writing, (json.dumps([number + 1, error[:500]]) + "\n").encode())

    server = ForkedServer(NAME, {writing, waiting}, serve)
    os.close(writing)
    os.close(waiting)
    remarks, received, number = [], b"", len(commands) - len(remaining)
    try:
        os.write(allowing, b".")
        while True:
            if not select.select([reading], [], [], PATIENCE)[0]:
                yield
                continue
            piece = os.read(reading, PIECE)
            *lines, received = (received + piece).split(b"\n")
            for line in lines:
                number, error = json.loads(line)
                applied(number)
                if error:
                    words = " ".join(commands[number - 1].words)[:80]
                    remarks.append(f"a command of the worker is not taken over: sow {words}: {error}")
                if number < len(commands):
                    os.write(allowing, b".")
            if not piece and number < len(commands):
                raise SystemFailure("the process that applies the worker's commands was killed", "run again")
            if not piece:
                return remarks
            yield CONTINUE
    finally:
        os.close(reading)
        os.close(allowing)
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
    """Tells whether what a command adds is there, with its time; a command that changes something can be repeated."""
    words, epoch = command.words, clock.epoch_of(command.at)
    try:
        if words[:2] == ["agent", "log"] or words[0] == "log":
            entries = log.read(folder.home, folder.log_path)
            return any(entry["timestamp"] == command.at and entry["text"] in words for entry in entries)
        if words[:2] == ["note", "add"]:
            texts = [note["description"] for note in notes.load_notes(folder) if note["timestamp"] == epoch]
            return any(f"--description={text}" in words for text in texts)
        if words[:2] in (["task", "create"], ["task", "add"]):
            tasks = task_folders.load_readable(folder.home, projects.load(folder.home))[0]
            return any(task["created_at"] == command.at and f"--name={task['name']}" in words for _, task in tasks)
        if words[:2] == ["project", "remember"]:
            memories = projects.memory_entries(folder.home)
            return any(head.startswith(command.at) and text == words[-1].strip() for head, text in memories)
    except SowError:
        return False
    return False
