"""Notifies a person that something waits for them or that the run has ended, with the user's command and a bell."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sow.domain.text.units import cut
from sow.engine.runs.run_context import RunContext
from sow.errors import SowError
from sow.executors.settings import find_binary
from sow.reports import event_text
from sow.reports.run_history import RunHistory
from sow.store.runs.run_folder import JournalEntry
from sow.system.process.exit_code import ending_text
from sow.system.process.program import BackgroundProgram, ProgramOutput
from sow.system.terminal import escape_line

PAUSE = 1.0  # seconds between two notifications; events in between are sent together
TIMEOUT = 5.0  # seconds that one command may take
MOST_OUTPUT = 4 << 10  # bytes
LONGEST = 500
LAST = "run_ended"


@dataclass(frozen=True)
class Notification:
    """The content of one notification: the last of some events, and their number."""

    entry: JournalEntry
    text: str
    count: int = 1

    def line(self) -> str:
        """Returns one line for a person."""
        more = f" (and {self.count - 1} more: sow inbox)" if self.count > 1 else ""
        return escape_line(cut(self.text, LONGEST) + more)


class Notifier:
    """Listens to a run's entries; waits for its command only at the end and never fails the run."""

    def __init__(self, context: RunContext, *, bell: Callable[[], None] | None) -> None:
        self._context = context
        self._bell = bell if context.config.setting("notify", "bell") else None
        self._problem = ""
        self._arguments = self._command()
        self._history = RunHistory()
        self._news: Notification | None = None
        self._program: BackgroundProgram | None = None
        self._sent = float("-inf")
        self._said = False

    def __enter__(self) -> Notifier:
        self._context.listeners.append(self.tell)
        return self

    def __exit__(self, *_: object) -> None:
        """Ends a running command, whatever happened to the run."""
        if self._program:
            self._program.end()

    def _command(self) -> list[str]:
        try:
            arguments = self._context.config.notify_command()
        except SowError as problem:
            self._problem = problem.message
            return []
        program = find_binary(arguments[0], self._context.environment) if arguments else ""
        if arguments and not program:
            self._problem = f"notify.command: there is no program {arguments[0]}"
        return [program, *arguments[1:]] if program else []

    def tell(self, entry: dict[str, Any]) -> None:
        """Keeps an event that a person should know, for the next tick."""
        parsed = JournalEntry(entry)
        self._history.add(parsed)
        if is_news(parsed):
            before = self._news.count if self._news else 0
            self._news = Notification(parsed, event_text.event_text(parsed, self._history), before + 1)

    def tick(self, now: float) -> None:
        """Reads the result of the last command, and starts the next one if it is time."""
        self._look()
        if self._problem and not self._said:
            self._said = True
            self._context.journal("notify_failed", reason=self._problem)
        if self._news and not self._program and now >= self._sent + PAUSE:
            self._send(self._news, now)

    def close(self) -> list[str]:
        """Sends what is left, waits for the command and ends it; returns remarks."""
        if self._program:
            self._judge(self._program.wait())
        if self._news:
            self._send(self._news, time.monotonic())
            if self._program:
                self._judge(self._program.wait())
        return [f"nobody was notified: {self._problem}"] if self._problem and not self._said else []

    def _send(self, news: Notification, now: float) -> None:
        self._news, self._sent = None, now
        if self._bell:
            self._bell()
        if not self._arguments:
            return
        facts = notification_fields(news, self._context)
        environment = {**_without_marks(self._context.environment), **variables(facts)}
        text = json.dumps(facts, ensure_ascii=False) + "\n"
        try:
            self._program = BackgroundProgram(
                self._arguments,
                environment=environment,
                timeout=TIMEOUT,
                given=text,
                most=MOST_OUTPUT,
                keep_end=True,
                process_group=0,  # Ctrl-C must not reach it; in its own session it would look like an orphan
            )
        except (SowError, OSError, ValueError) as error:
            self._problem = self._problem or f"notify.command: {error}"

    def _look(self) -> None:
        answer = self._program.poll() if self._program else None
        if answer:
            self._judge(answer)

    def _judge(self, answer: ProgramOutput) -> None:
        """Keeps the first failure only."""
        self._program = None
        if answer.code == 0 or self._problem:
            return
        failure = f"took longer than {TIMEOUT:.0f} s" if answer.code is None else ending_text(answer.code)
        output = escape_line(answer.text)[:200]
        self._problem = f"notify.command: {self._arguments[0]} {failure}{': ' if output else ''}{output}"


def is_news(entry: JournalEntry) -> bool:
    """Tells whether an event waits for a person or ends the run."""
    is_stuck = entry.event == "waiting" and entry.number("until") is None
    return is_stuck or entry.event in ("question", "budget", LAST)


def notification_fields(news: Notification, context: RunContext) -> dict[str, Any]:
    """Returns a notification's fields for programs."""
    entry = news.entry
    facts = {
        "event": entry.event,
        "run": context.folder.id,
        "name": context.folder.run["name"],
        "root": context.home.root,
        "task": entry.task or None,
        "number": entry.data.get("number") if entry.event == "question" else None,
        "status": entry.text("status") or None,
        "exit": entry.data.get("exit") if entry.event == LAST else None,
        "text": news.line(),
        "count": news.count,
        "at": entry.at,
    }
    return {key: escape_line(value) if isinstance(value, str) else value for key, value in facts.items()}


def variables(facts: Mapping[str, Any]) -> dict[str, str]:
    """Returns the same as variables for a shell script; SOW_TASK is set only for an event of a task."""
    keys = {"SOW_EVENT": "event", "SOW_RUN": "run", "SOW_TASK": "task", "SOW_TEXT": "text", "SOW_ROOT": "root"}
    return {name: str(facts[key]) for name, key in keys.items() if facts[key] is not None}


def _without_marks(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith("SOW_")}
