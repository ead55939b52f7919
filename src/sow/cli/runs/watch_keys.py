"""Takes keys while `sow watch` shows a run: answer a question, accept work, stop the run.

Each key asks on the terminal first and then calls the sow command, so that all its rules apply.
"""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event
from typing import Any

from sow.cli.context import Context
from sow.cli.runs.live import Live
from sow.cli.tasks.questions import open_items
from sow.domain.inbox import Item
from sow.engine.turns.allowed_commands import sow_path
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.inbox import waiting
from sow.system.process import program
from sow.system.terminal import YES, err, escape_control, escape_line, out, read_line

HINT = "keys: a answer, y accept, s stop the run, Ctrl-C leave"
LONGEST_REASON = 2000


class WatchKeys:
    """The keys of a terminal, one at a time. `is_active` is False where nobody may act or the terminal is not ours."""

    def __init__(self, context: Context, home: Home, run: str, live: Live, *, may_wait: Callable[[], bool]) -> None:
        self.context = context
        self.home = home
        self.run = run
        self.live = live
        self.may_wait = may_wait  # False after Ctrl-C, which ends a prompt
        self.saved: list[Any] | None = None
        self.is_active = live.form == "block" and _is_foreground() and _may_act(context)

    def __enter__(self) -> WatchKeys:
        if self.is_active:
            self.live.hint = HINT
            self.saved = termios.tcgetattr(sys.stdin)
            self._take_keys()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.hint = ""
        self._take_lines()

    def _take_keys(self) -> None:
        """Delivers keys without Enter, and does not show them. Ctrl-C still sends its signal."""
        with suppress(termios.error):  # the terminal was closed
            tty.setcbreak(sys.stdin, termios.TCSAFLUSH)

    def _take_lines(self) -> None:
        """Restores the terminal. Keys that were typed before a prompt do not answer it."""
        with suppress(termios.error):
            if self.saved is not None:
                termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, self.saved)

    def handle(self) -> None:
        """Carries out the next key, if there is one."""
        if not self.is_active or not _is_foreground() or not select.select([sys.stdin], [], [], 0)[0]:
            return
        key = os.read(sys.stdin.fileno(), 1)
        act = {b"a": self._answer, b"y": self._accept, b"s": self._stop}.get(key.lower())
        self.is_active = key != b""  # the terminal was closed
        if act is None:
            return
        self.live.hold()
        self._take_lines()
        try:
            act()
        except SowError as error:
            err(f"error: {escape_line(error.message)}\nhint: {error.hint}")
        finally:
            sys.stdout.flush()
            self._take_keys()

    def _ask(self, question: str) -> str:
        return read_line(question, self.may_wait).strip() if self.may_wait() else ""

    def _choose(self, verb: str, items: Sequence[Item]) -> Item | None:
        """Returns the chosen item; the only one without a question."""
        if not items:
            out(f"nothing to {verb}")
            return None
        for item in items:
            out(f"{_name(item)}: {escape_control(item['text'].strip())}")
        if len(items) == 1:
            return items[0]
        name = self._ask(f"Which one to {verb} ({', '.join(map(_name, items))}; an empty line cancels)?")
        return next((item for item in items if _name(item) == name), None)

    def _answer(self) -> None:
        item = self._choose("answer", open_items(self.home))
        text = self._ask(f"Your answer to {_name(item)} (an empty line cancels):") if item else ""
        if item and text:
            arguments = self._command("answer", "--", _name(item), "-")
            environment = self.context.environment
            done = program.run_until_stopped(
                arguments, cwd=self.home.root, environment=environment, stop=Event(), given=text
            )
            out(escape_control((done.out + done.err).rstrip()))

    def _accept(self) -> None:
        items = [item for item in waiting(self.home) if item["task"] and (item["accept"] or item["kind"] == "review")]
        item = self._choose("accept", items)
        if item is None:
            return
        if item["waive"]:
            out(escape_line(f"these checks fail and will not run again: {'; '.join(item['waive'])}"))
        reason = self._ask(f"Why accept the work on {item['task']} as it is (an empty line cancels)?")
        if reason:
            waived = [f"--waive={command}" for command in item["waive"]]
            self._run("approve", f"--reason={reason[:LONGEST_REASON]}", *waived, "--", item["task"])

    def _stop(self) -> None:
        if self._ask("Stop the run? Agents end their turn, and 'sow run' continues it later. [y/N]").lower() in YES:
            self._run("runs", "stop", "--wait=30s", "--", self.run)

    def _run(self, *words: str) -> None:
        sys.stdout.flush()
        program.run_in_front(self._command(*words), cwd=self.home.root, environment=self.context.environment)

    def _command(self, *words: str) -> list[str]:
        return [sow_path(), f"--root={self.home.root}", *words]


def _name(item: Item) -> str:
    return str(item["number"] or item["task"])


def _is_foreground() -> bool:
    """Returns whether both streams are this process group's terminal; a background job may not change its settings."""
    try:
        return sys.stdin.isatty() and sys.stdout.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):  # closed, or the terminal of another session
        return False


def _may_act(context: Context) -> bool:
    try:
        context.require_non_worker("act on a run")
    except SowError:
        return False
    return True
