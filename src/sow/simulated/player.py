"""Plays a scenario: every step is real, done by this process or by programs that it starts."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from typing import Any

from sow.simulated import mischief
from sow.simulated.scenario import Step
from sow.simulated.stream import Voice

REFUSED = "This command requires approval"


class Ended(Exception):
    """The scenario says that the program ends here, with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Player:
    """Does one step after the other, and says so in its stream."""

    def __init__(self, voice: Voice, *, read_only: bool, told: str = "") -> None:
        self.voice = voice
        self.read_only = read_only
        self.told = told  # the prompt of this turn
        self.last = "done"

    def play(self, steps: list[Step]) -> int:
        try:
            for step in steps:
                ((name, value),) = step.items()
                self.step(name, value)
        except Ended as end:
            return end.code
        self.voice.result(self.last)
        return 0

    def step(self, name: str, value: Any) -> None:
        """One step by its name."""
        action = getattr(self, f"do_{name}", None) or getattr(mischief, f"do_{name}", None)
        if action is None:
            known = sorted(each[3:] for each in (*dir(self), *dir(mischief)) if each.startswith("do_"))
            sys.stderr.write(f"scenario: unknown step {name!r}; known are: {', '.join(known)}\n")
            raise Ended(2)
        action(value)

    def do_say(self, text: object) -> None:
        self.last = str(text)
        self.voice.say(self.last)

    def do_show(self, value: object) -> None:
        self.call_sow("task", "show")

    def do_write(self, value: Any) -> None:
        self.write(str(value["path"]), str(value["text"]), "w")

    def do_append(self, value: Any) -> None:
        self.write(str(value["path"]), str(value["text"]), "a")

    def do_run(self, words: Any) -> None:
        self.run(_words(words))

    def do_if(self, value: Any) -> None:
        """Go one way where a program ends well, or where the prompt holds a text, and the other where it is not so."""
        holds = str(value["told"]) in self.told if "told" in value else self.run(_words(value["run"]))
        way = "then" if holds else "else"
        for step in value.get(way, ()):
            ((name, inner),) = step.items()
            self.step(name, inner)

    def do_sow(self, words: Any) -> None:
        self.call_sow(*_words(words))

    def do_log(self, text: object) -> None:
        self.call_sow("agent", "log", str(text))

    def do_status(self, status: object) -> None:
        self.call_sow("task", "set", "status", str(status))

    def do_stand(self, status: object) -> None:
        """Where an agent of a workflow stands."""
        self.call_sow("workflow", "set", "status", str(status))

    def do_note(self, value: Any) -> None:
        category = ("--category", str(value["category"])) if "category" in value else ()
        context = str(value.get("context", "the work"))
        self.call_sow("note", "add", "--description", str(value["description"]), "--context", context, *category)

    def do_resolve(self, text: object) -> None:
        self.call_sow("note", "resolve", "1", "--resolution", str(text))

    def do_ask(self, question: object) -> None:
        """A question, as the contract says: a note, escalated, and the task paused."""
        self.do_note({"description": str(question), "category": "requirements"})
        self.call_sow("note", "escalate", "1", "--reason", "only a person knows")
        self.do_status("paused")

    def do_commit(self, text: object) -> None:
        self.run(["git", "add", "-A"])
        self.run(["git", "commit", "-q", "-m", str(text)])

    def do_refuse(self, command: object) -> None:
        """A command that the CLI does not let it run."""
        self.voice.tool("Bash", str(command))
        self.voice.refuse(REFUSED)

    def do_verdict(self, value: Any) -> None:
        """A review by one simple rule: GREEN where a file holds a text, else RED."""
        path, text = str(value["path"]), str(value["holds"])
        flag, why = ("GREEN", "it is there") if _holds(path, text) else ("RED", f"{path} lacks {text!r}")
        self.do_say(f"Quality Control: {flag}\n\nFeedback: {why}")

    def do_limit(self, seconds: object) -> None:
        self.voice.limit(int(time.time() + float(str(seconds))))
        self.voice.result("You've hit your session limit", failed=True, status=429)
        raise Ended(1)

    def do_error(self, status: object) -> None:
        self.voice.retry(int(str(status)), "simulated")
        self.voice.result(f"API Error: {status} simulated", failed=True, status=int(str(status)))
        raise Ended(1)

    def do_other_session(self, session: object) -> None:
        self.voice.session = str(session)

    def do_finish(self, text: object) -> None:
        """The last word, and then it lives on: what comes after this step is lingering."""
        self.voice.result(str(text))

    def do_exit(self, code: object) -> None:
        raise Ended(int(str(code)))

    def write(self, path: str, text: str, mode: str) -> None:
        self.voice.tool("Write", path)
        if self.read_only:
            self.voice.refuse(f"Claude requested permissions to write to {path}, but you haven't granted it yet.")
            return
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, mode, encoding="utf-8") as file:
            file.write(text)
        self.voice.tool_result("written", failed=False)

    def call_sow(self, *words: str) -> None:
        """The sow of the same environment."""
        self.run([os.path.join(os.path.dirname(sys.executable), "sow"), *words])

    def run(self, words: list[str]) -> bool:
        """Run a program; returns whether it ended well."""
        self.voice.tool("Bash", shlex.join(words))
        try:
            done = subprocess.run(words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
        except OSError as error:
            self.voice.tool_result(str(error), failed=True)
            return False
        self.voice.tool_result((done.stdout + done.stderr)[-4000:], failed=done.returncode != 0)
        return not done.returncode


def _holds(path: str, text: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return text in file.read()
    except OSError:
        return False


def _words(value: Any) -> list[str]:
    return shlex.split(value) if isinstance(value, str) else [str(each) for each in value]
