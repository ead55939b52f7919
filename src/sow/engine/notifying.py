"""Telling a person that something waits for them, or that the run has ended: by a command of theirs, and a bell."""

from __future__ import annotations

import json
import time

from sow.domain.entry import Entry
from sow.engine import entry_lines
from sow.engine.scene import Scene
from sow.errors import SowError
from sow.executors.executor import find_binary
from sow.system.errand import Errand
from sow.system.terminal import harmless_line
from sow.system.width import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any

    from sow.engine.ship import Ship
    from sow.system.program import Answer

PAUSE = 1.0  # seconds between two notifications: what happens meanwhile is told together
TIMEOUT = 5.0  # seconds of one command
LONGEST = 500
LAST = "run_ended"


class News:
    """What is told with one notification: the last of some events, and how many they are."""

    __slots__ = ("count", "entry", "text")

    def __init__(self, entry: Entry, text: str, count: int = 1) -> None:
        self.entry = entry
        self.text = text
        self.count = count

    def words(self) -> str:
        """One line for a person."""
        more = f" (and {self.count - 1} more: sow inbox)" if self.count > 1 else ""
        return harmless_line(cut(self.text, LONGEST) + more)


class Notifier:
    """Told of every entry of a run; it never waits for its command but at the end, and never fails the run."""

    __slots__ = ("_bell", "_errand", "_news", "_problem", "_said", "_scene", "_sent", "_ship", "_words")

    def __init__(self, ship: Ship, *, bell: Callable[[], None] | None) -> None:
        self._ship = ship
        self._bell = bell if ship.config.setting("notify", "bell") else None
        self._problem = ""
        self._words = self._command()
        self._scene = Scene()
        self._news: News | None = None
        self._errand: Errand | None = None
        self._sent = float("-inf")
        self._said = False

    def __enter__(self) -> Notifier:
        self._ship.listeners.append(self.tell)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """No command is left behind, whatever happened to the run."""
        if self._errand:
            self._errand.end()

    def _command(self) -> list[str]:
        try:
            words = self._ship.config.notify_command()
        except SowError as problem:
            self._problem = problem.message
            return []
        found = find_binary(words[0], self._ship.environment) if words else ""
        if words and not found:
            self._problem = f"notify.command: there is no program {words[0]}"
        return [found, *words[1:]] if found else []

    def tell(self, entry: dict[str, Any]) -> None:
        """Keep what a person should hear of, for the next look."""
        known = Entry(entry)
        self._scene.take(known, known.t or 0.0)
        if is_news(known):
            before = self._news.count if self._news else 0
            self._news = News(known, entry_lines.told(known, self._scene), before + 1)

    def tick(self, now: float) -> None:
        """See what became of the last command, and start the next one if it is time."""
        self._look()
        if self._problem and not self._said:
            self._said = True
            self._ship.tell("notify_failed", reason=self._problem)
        if self._news and not self._errand and now >= self._sent + PAUSE:
            self._send(self._news, now)

    def close(self) -> list[str]:
        """Tell what is left, wait for the command, and end it; returns what there is to say about it."""
        if self._errand:
            self._judge(self._errand.wait())
        if self._news:
            self._send(self._news, time.monotonic())
            if self._errand:
                self._judge(self._errand.wait())
        return [f"nobody was notified: {self._problem}"] if self._problem and not self._said else []

    def _send(self, news: News, now: float) -> None:
        self._news, self._sent = None, now
        if self._bell:
            self._bell()
        if not self._words:
            return
        facts = facts_of(news, self._ship)
        surroundings = {**_without_marks(self._ship.environment), **variables(facts)}
        text = json.dumps(facts, ensure_ascii=False) + "\n"
        try:
            self._errand = Errand(self._words, environment=surroundings, text=text, timeout=TIMEOUT)
        except (OSError, ValueError) as error:
            self._problem = self._problem or f"notify.command: {self._words[0]} cannot be started: {error}"

    def _look(self) -> None:
        found = self._errand.look() if self._errand else None
        if found:
            self._judge(found)

    def _judge(self, answer: Answer) -> None:
        """A failure is kept, the first one only."""
        self._errand = None
        if answer.code == 0 or self._problem:
            return
        how = f"took longer than {TIMEOUT:.0f} s" if answer.code is None else f"ended with exit code {answer.code}"
        said = harmless_line(answer.text)[:200]
        self._problem = f"notify.command: {self._words[0]} {how}{': ' if said else ''}{said}"


def in_turn(*ticks: Callable[[float], None]) -> Callable[[float], None]:
    """One tick for several who want to know the time."""

    def tick(now: float) -> None:
        for each in ticks:
            each(now)

    return tick


def is_news(entry: Entry) -> bool:
    """Whether an event waits for a person, or is the end."""
    stuck = entry.event == "waiting" and entry.number("until") is None
    return stuck or entry.event in ("question", "budget", LAST)


def facts_of(news: News, ship: Ship) -> dict[str, Any]:
    """A notification for programs."""
    entry = news.entry
    found = {
        "event": entry.event,
        "run": ship.folder.id,
        "name": ship.folder.run["name"],
        "root": ship.home.root,
        "task": entry.task or None,
        "number": entry.data.get("number") if entry.event == "question" else None,
        "status": entry.text("status") or None,
        "exit": entry.data.get("exit") if entry.event == LAST else None,
        "text": news.words(),
        "count": news.count,
        "at": entry.at,
    }
    return {key: harmless_line(value) if isinstance(value, str) else value for key, value in found.items()}


def variables(facts: Mapping[str, Any]) -> dict[str, str]:
    """The same for a shell script; SOW_TASK is there only where a task is meant."""
    named = {"SOW_EVENT": "event", "SOW_RUN": "run", "SOW_TASK": "task", "SOW_TEXT": "text", "SOW_ROOT": "root"}
    return {name: str(facts[key]) for name, key in named.items() if facts[key] is not None}


def _without_marks(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith("SOW_")}
