"""One scenario for every executor, from a question to approval, and the state that it leaves."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from conftest import SOW, Repo, fresh_environment

NAME, QUESTION, ANSWER, FEEDBACK = "Sign tokens", "Which algorithm?", "Use RS256", "Refuse an empty token"
FILE = "signing.py"
TASK_FOLDER = ".sow/project/phases/implementation/tasks/010"
NOTES = f"{TASK_FOLDER}/completion_drive/session_current.json"
MASKS = (
    (r"(session_id|project_id): .*", r"\1: ID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
    (r"(?<!\d)\d{10}(?!\d)", "0"),
    # How often a state was written: once more if the CLI chooses its session's id, which is written when it is known.
    (r"revision: \d+", "revision: N"),
    # A CLI that cannot resume is spawned again, and the project's log has that.
    (r"\n### TIME · \w+ · agent_spawn · done\n\n.*\n", ""),
)
TURN_BY_TURN = [("spawn", "done", "paused", False), *[("resume", "done", "needs_review", False)] * 2]
Edit = tuple[str, str, str]  # a file, its old text (none: at the end), its new text
Picture = dict[str, str]


class Turn:
    """A worker's acts in one turn: a line of code, entries in its log, perhaps a note, and its status."""

    def __init__(self, line: str, entries: list[tuple[str, str]], status: str) -> None:
        self.line = line
        self.entries = entries
        self.status = status

    def commands(self) -> list[str]:
        """Returns the turn of a worker that has a shell."""
        logged = [[SOW, "agent", "log", text, f"--action={action}", "--result=info"] for action, text in self.entries]
        note = ["--description", QUESTION, "--context", "the signature", "--category", "requirements"]
        noted = [[SOW, "note", "add", *note], [SOW, "note", "escalate", "1", "--reason", "only a person knows"]]
        texts = [*logged, *(noted if self.status == "paused" else ()), [SOW, "task", "set", "status", self.status]]
        return [f"echo '{self.line}' >> {FILE}", *map(shlex.join, texts)]

    def edits(self, iteration: int) -> list[Edit]:
        """Returns the turn of a worker that can only edit files, and so edits those in its task folder."""
        head = f"### 2026-01-31T09:00:00Z · implementer-{iteration}"
        logged = [f"\n{head} · {action} · info\n\n{text}\n" for action, text in self.entries]
        status = (f"{TASK_FOLDER}/state.yaml", "  status: in_progress\n", f"  status: {self.status}\n")
        return [(FILE, "", f"{self.line}\n"), *((f"{TASK_FOLDER}/log.md", "", item) for item in logged), status]


TURNS = (
    Turn("sign = HS256", [("edit", f"Began {FILE}"), ("question", QUESTION)], "paused"),
    Turn("sign = RS256", [("edit", "Took the algorithm that was named")], "needs_review"),
    Turn("assert token", [("edit", "Refused what is empty")], "needs_review"),
)


def write_worker(path: Path) -> None:
    """Writes a program that does the turn of the task's present iteration, with real calls of sow."""
    cases = [f"{number}) {' && '.join(turn.commands())} ;;" for number, turn in enumerate(TURNS, 1)]
    iteration = "sed -n 's/^  iteration: //p' \"$SOW_DESK/state.yaml\""
    path.write_text("\n".join(["#!/bin/sh", f"case $({iteration}) in", *cases, "esac", ""]))
    path.chmod(0o755)


def bind(repo: Repo, kind: str, settings: dict[str, Any]) -> None:
    """Binds an executor of this type to the implementer."""
    executor = {"type": kind, "settings": settings}
    config = {"agents": {"executors": {"mine": executor}, "bindings": {"implementer": "mine"}}}
    path = Path(repo.environment["HOME"], ".config", "sow", "config.yaml")
    path.parent.mkdir(parents=True)
    path.write_text(yaml.safe_dump(config))


def scripted(folder: Path) -> dict[str, str]:
    """Returns the settings of a simulated agent that runs the worker in this folder, whatever its prompt is."""
    write_worker(folder / "worker")
    steps = folder / "scenario.yaml"
    steps.write_text(yaml.safe_dump({"tasks": {"default": [[{"run": [str(folder / "worker")]}]]}}))
    return {"scenario": str(steps)}


def expected(folder: Path, template: Path, cues: Sequence[str]) -> list[Picture]:
    """Returns the result of the simulated agent in a repository of its own below this folder."""
    shutil.copytree(template, folder / "repo", symlinks=True)
    repo = Repo(folder / "repo", fresh_environment(folder / "home"))
    bind(repo, "simulated", scripted(folder))
    return play(repo, cues)


def play(repo: Repo, cues: Sequence[str], *, resumes: bool = True) -> list[Picture]:
    """Plays the whole scenario; each turn's cue tells the worker what to do. Returns a picture after every step."""
    repo.ok("task", "create", "--name", f"{NAME} {cues[0]}", "--agent", "implementer")
    begun = _step(repo, ("agent", "spawn", "implementer", "010"))
    answer, feedback = f"{ANSWER} {cues[1]}", f"{FEEDBACK} {cues[2]}"
    fresh = ("agent", "spawn", "implementer", "010", "--fresh")
    if resumes:
        answered = _step(repo, ("agent", "resume", "010", answer))
        sent_back = _step(repo, ("agent", "resume", "010", feedback))
    else:
        answered = _step(repo, ("answer", "010", answer), fresh)
        sent_back = _step(repo, ("feedback", "add", "010", feedback), fresh)
    return [begun, answered, sent_back, _step(repo, ("task", "set", "--id", "010", "status", "completed"))]


def _step(repo: Repo, *calls: tuple[str, ...]) -> Picture:
    for call in calls:
        repo.ok(*call)
    return picture(repo)


def picture(repo: Repo) -> Picture:
    """Returns every state file of the project and the work itself, without ids and times."""
    result = {str(path.relative_to(repo.root)): path.read_text() for path in repo.project.rglob("*") if path.is_file()}
    result[FILE] = (repo.root / FILE).read_text()
    for pattern, instead in MASKS:
        result = {path: re.sub(pattern, instead, text) for path, text in result.items()}
    return result


def turns(repo: Repo) -> list[list[tuple[Any, ...]]]:
    """Returns each session's turns: their kind, outcome and status, and whether that was inferred."""
    paths = sorted((repo.root / ".sow/local/sessions/010").glob("*/record.yaml"))
    sessions = [yaml.safe_load(path.read_text())["session"]["turns"] for path in paths]
    keys = ("kind", "outcome", "status", "inferred")
    return [[tuple(turn[key] for key in keys) for turn in session] for session in sessions]
