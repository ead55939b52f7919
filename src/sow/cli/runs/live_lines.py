"""Draws a live run as lines for the bottom of a terminal."""

from __future__ import annotations

from sow.domain.text.similar_text import answer_command
from sow.domain.text.units import format_minutes, stopwatch
from sow.system import width
from sow.system.terminal import COLOURS, escape_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.reports.live_run import LiveRun

    Line = tuple[str, str]  # without and with colours

MOST_QUESTIONS = 3
MOST_PAUSES = 3
MOST_NAMED = 20
NARROW, WIDE = 16, 44  # columns of a task's name
BAR = 30
SIGNS = {"work": "●", "asks": "?", "pause": "‖", "wait": "·", "full": "█", "empty": "░", "next": "→"}
ASCII_SIGNS = {"work": "*", "asks": "?", "pause": "=", "wait": ".", "full": "#", "empty": "-", "next": ":"}


class RunView:
    """Draws a run; `colours` and `rich` say what the terminal can show."""

    __slots__ = ("colours", "signs")

    def __init__(self, *, colours: bool, rich: bool) -> None:
        self.colours = colours
        self.signs = SIGNS if rich else ASCII_SIGNS

    def lines(self, live_run: LiveRun, now: float, columns: int, rows: int) -> list[Line]:
        """Returns at most `rows` lines; if space is short, running tasks are left out first and the bar never."""
        below = [
            *self._questions(live_run, columns),
            *self._stops(live_run, columns),
            *self._waiting(live_run, columns),
        ]
        below += [self._plain("work", live_run.final, columns)] if live_run.final else []
        bar = self._bar(live_run, now, columns)
        below = below[: max(rows - 2, 0)]
        room = max(rows - len(below) - 1, 0)
        return [*self._work(live_run, now, columns, room), *below, bar]

    def _work(self, live_run: LiveRun, now: float, columns: int, room: int) -> list[Line]:
        """Returns one line per running task, the oldest first."""
        idents = list(live_run.running)
        shown = idents if len(idents) <= room else idents[: max(room - 1, 0)]
        names = {ident: live_run.task_label(ident) for ident in shown}
        name_width = min(
            max((width.columns(name) for name in names.values()), default=0), max(columns // 3, NARROW), WIDE
        )
        lines = [self._task(live_run, ident, names[ident], name_width, now, columns) for ident in shown]
        if len(shown) < len(idents) and room:
            lines.append(self._plain("wait", f"and {len(idents) - len(shown)} more at work", columns))
        return lines

    def _task(self, live_run: LiveRun, ident: str, name: str, name_width: int, now: float, columns: int) -> Line:
        work = live_run.running[ident]
        spent = live_run.spend.get(ident)
        prefix = f"iteration {work.iteration}, " if work.iteration > 1 else ""
        facts = f"{stopwatch(max(now - work.started, 0)):>7}  {spent.text() if spent else '':>7}"
        padded = width.pad(name, name_width)
        step = width.cut(escape_line(prefix + work.step), columns - name_width - len(facts) - 8)
        plain = f" {self.signs['work']} {padded}  {facts}  {step}".rstrip()
        mark = self._tint(self.signs["work"], "cyan")
        return plain, f" {mark} {padded}  {facts}  {self._tint(step, 'dim')}"

    def _questions(self, live_run: LiveRun, columns: int) -> list[Line]:
        questions = list(live_run.questions.items())
        lines = []
        for ident, (number, text) in questions[:MOST_QUESTIONS]:
            answer = f" {self.signs['next']} {answer_command(number or ident, text)}"
            room = max(columns - width.columns(answer) - 5, 0)
            question = width.cut(escape_line(f"{live_run.task_label(ident)} asks: {text}"), room)
            plain = f" {self.signs['asks']} {question}{answer}"
            lines.append((plain, f" {self._tint(self.signs['asks'], 'yellow')} {question}{self._tint(answer, 'cyan')}"))
        if len(questions) > len(lines):
            lines.append(self._plain("asks", f"{len(questions) - len(lines)} more questions: sow inbox", columns))
        return lines

    def _stops(self, live_run: LiveRun, columns: int) -> list[Line]:
        texts = [*live_run.pauses.values(), *live_run.stops.values()]
        return [self._plain("pause", text, columns, "yellow") for text in texts[:MOST_PAUSES]]

    def _waiting(self, live_run: LiveRun, columns: int) -> list[Line]:
        """Returns how many tasks wait, and what the first of them wait for."""
        idents = live_run.waiting()
        if not idents:
            return []
        needs = [(ident, live_run.waits_for(ident)) for ident in idents[:MOST_NAMED]]
        reasons = [
            f"{_number(live_run, ident)} for {_task_list(live_run, needed)}" for ident, needed in needs if needed
        ]
        verb = "waits" if len(idents) == 1 else "wait"
        more = f": {', '.join(reasons)}" if reasons else " for a free place"
        return [self._plain("wait", f"{len(idents)} {verb}{more}", columns)]

    def _bar(self, live_run: LiveRun, now: float, columns: int) -> Line:
        total, completed, failed = len(live_run.tasks), live_run.count("completed"), live_run.count("failed")
        seconds_left = live_run.seconds_left(now)
        facts = [
            f"{completed}/{total}" + (f", {failed} failed" if failed else ""),
            stopwatch(live_run.elapsed(now)),
            live_run.total.text(),
            f"about {format_minutes(seconds_left / 60)} left" if seconds_left else "",
        ]
        summary = "   ".join(fact for fact in facts if fact)
        room = min(max(columns - width.columns(summary) - 6, 0), BAR)
        full = room * completed // total if total else 0
        filled, empty = self.signs["full"] * full, self.signs["empty"] * (room - full)
        return f" {filled}{empty}  {summary}", f" {self._tint(filled, 'green')}{self._tint(empty, 'dim')}  {summary}"

    def _plain(self, sign: str, text: str, columns: int, colour: str = "dim") -> Line:
        shown = width.cut(escape_line(text), columns - 5)
        return f" {self.signs[sign]} {shown}", f" {self._tint(self.signs[sign], colour)} {self._tint(shown, colour)}"

    def _tint(self, text: str, colour: str) -> str:
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if self.colours and text else text


def _number(live_run: LiveRun, ident: str) -> str:
    task = live_run.tasks.get(ident)
    return escape_line((task.name_or_number("number") if task else "") or ident)


def _task_list(live_run: LiveRun, needed: Sequence[str]) -> str:
    """Lists tasks such as `2 and 3 (failed)`; ended ones show their status."""
    notes = {ident: f" ({status})" for ident, status in live_run.ended.items()}
    return " and ".join(_number(live_run, ident) + notes.get(ident, "") for ident in needed[:4])
