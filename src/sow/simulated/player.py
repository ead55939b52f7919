"""Plays a scenario and remembers its conversation; this process, or programs that it starts, really do every step."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from sow.simulated import bad_behaviour
from sow.simulated.scenario import Step
from sow.simulated.stream import OutputWriter

REFUSED = "This command requires approval"


class ScenarioEnd(Exception):
    """Ends the program with this exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class ScenarioPlayer:
    """Does the steps in order, and reports them in its output."""

    def __init__(self, output: OutputWriter, *, read_only: bool, prompt: str = "") -> None:
        self.output = output
        self.read_only = read_only
        self.prompt = prompt  # the prompt of this turn
        self.last_text = "done"

    def play(self, steps: list[Step]) -> int:
        try:
            for step in steps:
                ((name, value),) = step.items()
                self.step(name, value)
        except ScenarioEnd as end:
            return end.code
        self.output.result(self.last_text)
        return 0

    def step(self, name: str, value: Any) -> None:
        """Does one step by its name."""
        action = getattr(self, f"do_{name}", None) or getattr(bad_behaviour, f"do_{name}", None)
        if action is None:
            names = sorted(
                attribute[3:] for attribute in (*dir(self), *dir(bad_behaviour)) if attribute.startswith("do_")
            )
            sys.stderr.write(f"scenario: unknown step {name!r}; known are: {', '.join(names)}\n")
            raise ScenarioEnd(2)
        action(value)

    def do_say(self, text: object) -> None:
        self.last_text = str(text)
        self.output.say(self.last_text)

    def do_show(self, value: object) -> None:
        self.call_sow("task", "show")

    def do_write(self, value: Any) -> None:
        self.write(str(value["path"]), str(value["text"]), "w")

    def do_append(self, value: Any) -> None:
        self.write(str(value["path"]), str(value["text"]), "a")

    def do_run(self, command: Any) -> None:
        self.run(_words(command))

    def do_if(self, value: Any) -> None:
        """Does `then` if a program succeeds or the prompt contains a text, else `else`."""
        condition = str(value["told"]) in self.prompt if "told" in value else self.run(_words(value["run"]))
        branch = "then" if condition else "else"
        for step in value.get(branch, ()):
            ((name, inner),) = step.items()
            self.step(name, inner)

    def do_sow(self, command: Any) -> None:
        self.call_sow(*_words(command))

    def do_log(self, text: object) -> None:
        self.call_sow("agent", "log", str(text))

    def do_status(self, status: object) -> None:
        self.call_sow("task", "set", "status", str(status))

    def do_stand(self, status: object) -> None:
        """Sets the status of a workflow's agent."""
        self.call_sow("workflow", "set", "status", str(status))

    def do_note(self, value: Any) -> None:
        category = ("--category", str(value["category"])) if "category" in value else ()
        context = str(value.get("context", "the work"))
        self.call_sow("note", "add", "--description", str(value["description"]), "--context", context, *category)

    def do_resolve(self, text: object) -> None:
        self.call_sow("note", "resolve", "1", "--resolution", str(text))

    def do_ask(self, question: object) -> None:
        """Asks a question as agents are told to: adds a note, escalates it, and pauses the task."""
        self.do_note({"description": str(question), "category": "requirements"})
        self.call_sow("note", "escalate", "1", "--reason", "only a person knows")
        self.do_status("paused")

    def do_commit(self, text: object) -> None:
        self.run(["git", "add", "-A"])
        self.run(["git", "commit", "-q", "-m", str(text)])

    def do_refuse(self, command: object) -> None:
        """Reports a command that the CLI refused."""
        self.output.tool("Bash", str(command))
        self.output.refuse(REFUSED)

    def do_verdict(self, value: Any) -> None:
        """Reviews by one rule: GREEN if a file contains a text, else RED."""
        path, text = str(value["path"]), str(value["holds"])
        flag, reason = ("GREEN", "it is there") if _holds(path, text) else ("RED", f"{path} lacks {text!r}")
        self.do_say(f"Quality Control: {flag}\n\nFeedback: {reason}")

    def do_limit(self, seconds: object) -> None:
        self.output.limit(int(time.time() + float(str(seconds))))
        self.output.result("You've hit your session limit", failed=True, status=429)
        raise ScenarioEnd(1)

    def do_error(self, status: object) -> None:
        self.output.retry(int(str(status)), "simulated")
        self.output.result(f"API Error: {status} simulated", failed=True, status=int(str(status)))
        raise ScenarioEnd(1)

    def do_other_session(self, session: object) -> None:
        self.output.session = str(session)

    def do_finish(self, text: object) -> None:
        """Sends the final event; the program lingers if more steps follow."""
        self.output.result(str(text))

    def do_exit(self, code: object) -> None:
        raise ScenarioEnd(int(str(code)))

    def write(self, path: str, text: str, mode: str) -> None:
        self.output.tool("Write", path)
        if self.read_only:
            self.output.refuse(f"Claude requested permissions to write to {path}, but you haven't granted it yet.")
            return
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, mode, encoding="utf-8") as file:
            file.write(text)
        self.output.tool_result("written", failed=False)

    def call_sow(self, *arguments: str) -> None:
        """Runs the sow of the same environment."""
        self.run([os.path.join(os.path.dirname(sys.executable), "sow"), *arguments])

    def run(self, command: list[str]) -> bool:
        """Runs a program; returns whether it succeeded."""
        self.output.tool("Bash", shlex.join(command))
        try:
            process = subprocess.run(
                command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
            )
        except OSError as error:
            self.output.tool_result(str(error), failed=True)
            return False
        self.output.tool_result((process.stdout + process.stderr)[-4000:], failed=process.returncode != 0)
        return not process.returncode


def _holds(path: str, text: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return text in file.read()
    except OSError:
        return False


def _words(value: Any) -> list[str]:
    return shlex.split(value) if isinstance(value, str) else [str(word) for word in value]


class Memory:
    """One conversation in a file of the user."""

    def __init__(self, session: str, environment: Mapping[str, str]) -> None:
        self.session = session
        base = environment.get("XDG_STATE_HOME") or os.path.join(environment.get("HOME", "/"), ".local", "state")
        self.folder = os.path.join(base, "sow-simulated")
        self.path = os.path.join(self.folder, f"{session}.json")

    def exists(self) -> bool:
        return os.path.isfile(self.path)

    def add(self, prompt: str) -> list[str]:
        """Adds a prompt; returns all of them, oldest first."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        history: list[str] = []
        if self.exists():
            with open(self.path, encoding="utf-8") as file:
                history = json.load(file)
        history.append(prompt)
        temporary = f"{self.path}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(history, file)
        os.replace(temporary, self.path)
        return history
