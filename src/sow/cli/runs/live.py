"""Shows runs: one live, as a block of a terminal, as lines or as JSON; its report; and the list of all runs."""

from __future__ import annotations

import atexit
import json as json_module
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TextIO

from sow.cli.context import Context
from sow.cli.output import ESCAPED, coloured_table, emit, print_list, table
from sow.domain.task import answer_command
from sow.domain.text import units
from sow.domain.text.similar_text import without_details
from sow.domain.text.units import cut_to, format_minutes, format_seconds, stopwatch
from sow.errors import SowError
from sow.reports import report_text, run_report
from sow.reports import report_text as words
from sow.reports.run_history import RemainingTime, RunHistory
from sow.store.files.disk import Disk, replace_file
from sow.store.runs import run_folder
from sow.store.runs.run_folder import JournalEntry
from sow.system import terminal
from sow.system.terminal import COLOURS, escape_line, out, paint

Facts = dict[str, Any]

OUTCOME_COLOURS = {"completed": "green", "failed": "red", "paused": "yellow", "in_progress": "cyan"}
HEAD = ("TASK", "NAME", "OUTCOME", "RESULT", "ITERATIONS", "TIME", "COST")
WHOLE_HEAD = (*HEAD, "AGENT", "EXECUTOR")
WIDE_TABLE = 110  # columns of a terminal that shows the whole table
LONGEST = 48
LONGEST_TEXT = 200


def list_runs(context: Context, *, json: bool) -> int:
    home = context.project_home()
    summaries = [run_report.run_summary(folder) for folder in run_folder.all_folders(home)]
    rows = [("RUN", "STATUS", "STARTED", "DONE", "NAME")]
    rows += [
        (run["id"], words.run_state(run), run["started_at"], f"{run['completed']}/{run['tasks']}", run["name"])
        for run in summaries
    ]
    return print_list({"runs": summaries}, rows, "no runs yet; start one: sow run PLAN", json=json)


def show_run(context: Context, *, run: str, format: str, json: bool) -> int:
    if json and format not in ("", "json"):
        raise SowError(f"--json and --format {format} exclude each other", "use one of them")
    facts = _facts(context, run)
    if json or format == "json":
        emit(facts)
    elif format == "md":
        out(run_report.render_markdown(facts).rstrip("\n"))
    else:
        show_report(facts, whole=True)
    return 0


def report_run(context: Context, *, run: str, format: str, out: str) -> int:
    if out:
        context.require_non_worker("write a report into a file")
    home = context.project_home()
    text = run_report.render(home, run_folder.find(home, run), format, context.hints())
    if out:
        _write(os.path.join(context.cwd, out), text)
        terminal.out(escape_line(f"wrote {out}"))
        return 0
    terminal.out((text.translate(ESCAPED) if format == "json" else text).rstrip("\n"))
    return 0


def _facts(context: Context, run: str) -> Facts:
    home = context.project_home()
    return run_report.report_data(home, run_folder.find(home, run), context.hints())


def _write(path: str, text: str) -> None:
    """Writes the user's file in an existing folder."""
    if os.path.lexists(path) and not os.path.isfile(path):
        raise SowError(f"--out: {path} is not a regular file", "give the name of a file")
    if not os.path.isdir(os.path.dirname(path)):
        raise SowError(f"--out: there is no folder {os.path.dirname(path)}", "create it first, or give another name")
    replace_file(Disk(), os.path.realpath(path), text)


def show_report(document: Facts, *, whole: bool = False) -> None:
    """Prints the summary of one run with the next step first; with `whole` all its totals."""
    run = document["run"]
    out(paint(escape_line(f"Run {run['id']}: {run['name']}"), "bold") + f" ({words.run_state(run)})")
    if whole:
        out(table(words.total_rows(document), indent="  "))
    else:
        _text(words.short_totals(document), 2)
    if document["next"]:
        out(f"\n{paint('Next', 'bold')}")
    for step in document["next"]:
        _text(step["text"], 2)
        out(f"    {paint(escape_line(step['command']), 'cyan')}")
    if document["tasks"]:
        out("")
        is_narrow = sys.stdout.isatty() and terminal.columns() < WIDE_TABLE
        _tasks(document["tasks"], WHOLE_HEAD if whole and not is_narrow else HEAD, with_estimate=not is_narrow)
    for noun in ("agent", "executor") if whole else ():
        _groups(f"By {noun}", document[f"by_{noun}"])
    _section("Limits", [f"{limit['executor']}: {limit['reason']}" for limit in document["limits"]] + document["stops"])
    _section("Remarks", document["remarks"])


def _tasks(rows: Sequence[Facts], head: tuple[str, ...], *, with_estimate: bool) -> None:
    """Prints the table of tasks; what holds a task up is printed below its row."""
    cells = [_row(row if with_estimate else {**row, "estimated_minutes": None})[: len(head)] for row in rows]
    header, *lines = coloured_table([head, *cells], "OUTCOME", OUTCOME_COLOURS)
    out(header)
    for row, line in zip(rows, lines, strict=True):
        out(line)
        for remark in _remarks(row):
            _text(remark, 6)


def _row(row: Facts) -> tuple[str, ...]:
    return (
        words.task_label(row),
        short_text(row["name"], LONGEST),
        words.outcome(row["outcome"]),
        words.result(row),
        str(row["tries"] or "-"),
        words.time_of(row),
        words.money(row).replace(" and ", " + "),
        row["agent"] or "-",
        row["executor"] or "-",
    )


def _remarks(row: Facts) -> list[str]:
    """Returns what holds a task up, and the concerns about its result."""
    noted = words.task_notes(row)
    if row["outcome"] in ("completed", "abandoned"):
        return noted
    about = [f"waits for {words.waits_for(row)}"] if row["waits_for"] else []
    if row["question"]:
        about.append(f"{words.asks(row['question'])}: {without_details(row['question']['text'])}")
    return [*about, *([row["why"]] if row["why"] and row["outcome"] == "failed" else []), *noted]


def _groups(title: str, rows: Sequence[Facts]) -> None:
    if len(rows) < 2:  # it would repeat the totals
        return
    out(f"\n{paint(title, 'bold')}")
    cells = [
        (
            row["name"],
            words.plural(row["turns"], "turn"),
            format_seconds(row["work_seconds"]),
            words.money(row),
            words.tokens(row),
        )
        for row in rows
    ]
    out(table(cells, indent="  "))


def _section(title: str, lines: Sequence[str]) -> None:
    if lines:
        out(f"\n{paint(title, 'bold')}")
        for line in lines:
            _text(line, 2)


def _text(text: str, indent: int) -> None:
    """Prints an indented text; a terminal gets lines that fit."""
    out(terminal.fold(" " * indent + short_text(text, LONGEST_TEXT), indent + 2))


def short_text(text: str, limit: int) -> str:
    """Returns one line without control characters, cut to the limit."""
    return cut_to(limit, escape_line(text))


Line = tuple[str, str]  # without and with colours

MOST_QUESTIONS = 3
MOST_PAUSES = 3
MOST_NAMED = 20
FOLDERS = re.compile(r"(?<!\S)/\S*/(?=[^/\s])")  # of an absolute path: its name says enough on one line
NARROW, WIDE = 16, 44  # columns of a task's name
FACTS, STEP = 24, 28  # columns of its time and cost with all gaps, and the least that its step gets before its name
BAR = 30
SIGNS = {"work": "●", "asks": "?", "pause": "‖", "wait": "·", "full": "█", "empty": "░", "next": "→"}
ASCII_SIGNS = {"work": "*", "asks": "?", "pause": "=", "wait": ".", "full": "#", "empty": "-", "next": ":"}
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
WRAP_OFF, WRAP_ON = "\x1b[?7l", "\x1b[?7h"  # a character whose width we misjudge must not break the line
CLEAR_LINE, CLEAR_BELOW = "\x1b[K", "\x1b[J"
INDENT = 7  # of the rest of a wrapped line, below the text after the time


class RunView:
    """Draws a run; `colours` and `rich` say what the terminal can show."""

    def __init__(self, remaining: RemainingTime, *, colours: bool, rich: bool) -> None:
        self.remaining = remaining
        self.colours = colours
        self.signs = SIGNS if rich else ASCII_SIGNS

    def lines(self, history: RunHistory, now: float, columns: int, rows: int) -> list[Line]:
        """Returns at most `rows` lines; if space is short, running tasks are left out first and the bar never."""
        below = [
            *self._questions(history, columns),
            *self._stops(history, columns),
            *self._waiting(history, columns),
        ]
        below += [self._plain("work", history.final, columns)] if history.final else []
        bar = self._bar(history, now, columns)
        below = below[: max(rows - 2, 0)]
        room = max(rows - len(below) - 1, 0)
        return [*self._work(history, now, columns, room), *below, bar]

    def _work(self, history: RunHistory, now: float, columns: int, room: int) -> list[Line]:
        """Returns one line per running task, the oldest first."""
        idents = list(history.running)
        shown = idents if len(idents) <= room else idents[: max(room - 1, 0)]
        names = {ident: history.task_label(ident) for ident in shown}
        longest = max((units.width_of(name) for name in names.values()), default=0)
        name_width = min(longest, max(columns // 3, columns - FACTS - STEP, NARROW), WIDE)
        lines = [self._task(history, ident, names[ident], name_width, now, columns) for ident in shown]
        if len(shown) < len(idents) and room:
            lines.append(self._plain("wait", f"and {len(idents) - len(shown)} more running", columns))
        return lines

    def _task(self, history: RunHistory, ident: str, name: str, name_width: int, now: float, columns: int) -> Line:
        work = history.running[ident]
        prefix = f"iteration {work.iteration}, " if work.iteration > 1 else ""
        facts = f"{stopwatch(max(now - work.since, 0)):>7}  {work.spend.text() if work.spend else '':>7}"
        padded = units.pad(name, name_width)
        step = units.cut(escape_line(prefix + FOLDERS.sub("", work.step)), columns - name_width - len(facts) - 8)
        plain = f" {self.signs['work']} {padded}  {facts}  {step}".rstrip()
        mark = self._tint(self.signs["work"], "cyan")
        return plain, f" {mark} {padded}  {facts}  {self._tint(step, 'dim')}"

    def _questions(self, history: RunHistory, columns: int) -> list[Line]:
        questions = list(history.open_questions.items())
        lines = []
        for ident, (number, text) in questions[:MOST_QUESTIONS]:
            answer = f" {self.signs['next']} {answer_command(number or ident, text)}"
            room = max(columns - units.width_of(answer) - 5, 0)
            asked = f"asks question {number}" if number else "asks"
            question = units.cut(escape_line(f"{history.task_label(ident)} {asked}: {text}"), room)
            plain = f" {self.signs['asks']} {question}{answer}"
            lines.append((plain, f" {self._tint(self.signs['asks'], 'yellow')} {question}{self._tint(answer, 'cyan')}"))
        if len(questions) > len(lines):
            lines.append(self._plain("asks", f"{len(questions) - len(lines)} more questions: sow inbox", columns))
        return lines

    def _stops(self, history: RunHistory, columns: int) -> list[Line]:
        texts = [*history.pauses.values(), *history.blocks.values()]
        return [self._plain("pause", text, columns, "yellow") for text in texts[:MOST_PAUSES]]

    def _waiting(self, history: RunHistory, columns: int) -> list[Line]:
        """Returns how many tasks are pending, and what the first of them wait for."""
        idents = history.waiting()
        if not idents:
            return []
        needs = [(ident, history.waits_for(ident)) for ident in idents[:MOST_NAMED]]
        reasons = [
            f"task {_number(history, ident)} after task {_task_list(history, needed)}"
            for ident, needed in needs
            if needed
        ]
        more = f": {', '.join(reasons)}" if reasons else " for a running task to end"
        return [self._plain("wait", f"{len(idents)} waiting{more}", columns)]

    def _bar(self, history: RunHistory, now: float, columns: int) -> Line:
        total, completed, failed = len(history.tasks), history.count("completed"), history.count("failed")
        seconds_left = self.remaining.seconds_left(now)
        facts = [
            f"{completed}/{total}" + (f", {failed} failed" if failed else ""),
            stopwatch(history.elapsed(now)),
            history.total.text(),
            f"about {format_minutes(seconds_left / 60)} left" if seconds_left else "",
        ]
        summary = "   ".join(fact for fact in facts if fact)
        room = min(max(columns - units.width_of(summary) - 6, 0), BAR)
        full = room * completed // total if total else 0
        filled, empty = self.signs["full"] * full, self.signs["empty"] * (room - full)
        return f" {filled}{empty}  {summary}", f" {self._tint(filled, 'green')}{self._tint(empty, 'dim')}  {summary}"

    def _plain(self, sign: str, text: str, columns: int, colour: str = "dim") -> Line:
        shown = units.cut(escape_line(text), columns - 5)
        return f" {self.signs[sign]} {shown}", f" {self._tint(self.signs[sign], colour)} {self._tint(shown, colour)}"

    def hint(self, text: str, columns: int) -> Line:
        """Returns a line that names the keys."""
        shown = units.cut(text, columns - 2)
        return f" {shown}", f" {self._tint(shown, 'dim')}"

    def _tint(self, text: str, colour: str) -> str:
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if self.colours and text else text


def _number(history: RunHistory, ident: str) -> str:
    task = history.tasks.get(ident)
    return escape_line((task.number if task else "") or ident)


def _task_list(history: RunHistory, needed: Sequence[str]) -> str:
    """Lists tasks such as `2 and 3 (failed)`; ended ones show their status."""
    shown = needed[:4]
    endings = {ident: history.tasks[ident].ending for ident in shown if ident in history.tasks}
    return " and ".join(
        _number(history, ident) + (f" ({endings[ident]})" if endings.get(ident) else "") for ident in shown
    )


PAUSE = 0.1  # seconds between redraws
RECENT = 12  # lines shown of what happened before the view started


class Live:
    """Receives every journal entry (`tell`) and the time (`tick`); `close` restores the terminal.

    The zero of the clock does not matter, but `tick` must be given times of the same clock.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        json: bool = False,
        clock: Callable[[], float] = time.monotonic,
        expected: Mapping[str, float] | None = None,
    ) -> None:
        self.stream = stream or sys.stdout
        self.form = "json" if json else _form(self.stream)
        self._clock = clock
        self._history = RunHistory()
        self._block = StatusBlock(self.stream)
        rich = (self.stream.encoding or "").lower().startswith("utf")
        self._view = RunView(
            RemainingTime(self._history, expected), colours=terminal.use_colour(self.stream), rich=rich
        )
        self.hint = ""  # a last line of the block
        self._above: list[str] = []
        self._changed = False
        self._drawn = float("-inf")
        self._second = -1
        self._over = False

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def load_past(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Reads the entries of earlier calls of the run without printing them."""
        for data in entries:
            self._history.add(JournalEntry(data))
        self._history.running.clear()
        self._history.started = None

    @property
    def closed(self) -> bool:
        """Returns whether the output is closed, such as a pipe without a reader."""
        return self._over

    def catch_up(self, entries: Iterable[dict[str, Any]]) -> None:
        """Shows earlier entries at their own times; on a terminal only the last lines."""
        for entry in entries:
            self._take(entry)
        self._above = self._above[-RECENT:]
        self.tick(self._clock())

    def tell(self, entry: dict[str, Any]) -> None:
        """Shows a journal entry, now or with the next redraw."""
        now = self._clock()
        self._take(entry, now)
        self.tick(now)

    def _take(self, entry: dict[str, Any], now: float | None = None) -> None:
        if self._over:
            return
        if self.form == "json":
            self._say(self._document(entry))
            return
        record = JournalEntry(entry)
        if record.event == "run_started":  # the elapsed time of a continued run is that of its last call
            self._history.started = None
        self._history.add(record, now)
        elapsed = record.t if record.t is not None else self._history.elapsed(self._history.moment)
        line = report_text.timed_line(record, self._history, elapsed)
        if self.form == "block":
            is_shown = terminal.detail > 0 or record.event in report_text.LASTING_EVENTS
            self._above += [line] if line and is_shown else []
            self._changed = True
        elif line and self.form == "lines":
            self._say(line)

    def _document(self, entry: dict[str, Any]) -> str:
        ascii_only = (self.stream.encoding or "").lower() != "utf-8"
        text = json_module.dumps(entry, ensure_ascii=ascii_only).translate(ESCAPED)
        return text.encode("utf-8", "backslashreplace").decode()  # a lone surrogate becomes an escape

    def tick(self, now: float) -> None:
        """Redraws the block if something changed or a second has passed; cheap otherwise."""
        if self.form != "block" or self._over or self._history.started is None or now - self._drawn < PAUSE:
            return
        second = int(self._history.elapsed(now))
        if not self._changed and second == self._second:
            return
        if not self._block.drawn:
            atexit.register(self.close)
        columns, rows = self._block.size()
        lines = self._view.lines(self._history, now, columns, rows - 1 - bool(self.hint))
        lines += [self._view.hint(self.hint, columns)] if self.hint else []
        above, self._above = self._above, []
        self._drawn, self._second, self._changed = now, second, False
        self._guard(lambda: self._block.draw(above, lines))

    def ring_bell(self) -> None:
        """Rings the bell of the terminal; does nothing for JSON output."""
        if self.form != "json" and self.stream.isatty() and not self._over:
            self._guard(lambda: self._send("\a"))

    def hold(self) -> None:
        """Removes the block, so that something else can be printed; the next tick draws it again."""
        self._guard(lambda: self._block.close(self._above))
        self._above, self._changed = [], True
        atexit.unregister(self.close)

    def close(self) -> None:
        """Removes the block and restores the cursor; printed lines stay."""
        if self._over:
            return
        self._over = True
        atexit.unregister(self.close)
        if self.form == "block":
            self._guard(lambda: self._block.close(self._above))

    def _say(self, text: str) -> None:
        self._guard(lambda: self._send(f"{text}\n"))

    def _send(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()

    def _guard(self, write: Callable[[], None]) -> None:
        """Ends the view, but not the run, if the output is closed."""
        try:
            write()
        except (OSError, ValueError):
            self._over = True
            self._silence()

    def _silence(self) -> None:
        """Redirects the stream to /dev/null, so that flushing its buffer at exit cannot fail."""
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)
        except (OSError, ValueError):
            return


def _form(stream: TextIO) -> str:
    """Returns how to show a run: not at all, as a block that is drawn again and again, or as lines."""
    if terminal.detail < 0:
        return "nothing"
    return "block" if stream.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb") else "lines"


class StatusBlock:
    """The lines on the screen; the cursor stays at the beginning of the last one."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.drawn: list[int] = []  # the columns of each line on the screen

    def size(self) -> tuple[int, int]:
        """Returns the present columns and rows of the terminal, which may have been resized."""
        try:
            terminal_size = os.get_terminal_size(self.stream.fileno())
        except (OSError, ValueError):
            return 80, 24
        return terminal_size.columns or 80, terminal_size.lines or 24

    def draw(self, above: Sequence[str], lines: Sequence[tuple[str, str]]) -> None:
        """Prints lines above the block, and draws the block again.

        Each line of the block is given plain, which is measured, and painted, which is shown if it fits.
        """
        across, rows = self.size()
        shown = [_fit(plain, painted, across - 1) for plain, painted in lines[: max(rows - 1, 1)]]
        parts = ["" if self.drawn else HIDE, WRAP_OFF, self._back(across)]
        parts += [WRAP_ON, *(f"{line}{CLEAR_LINE}\n" for line in _wrap(above, across)), WRAP_OFF] if above else []
        parts.append("\n".join(f"{text}{CLEAR_LINE}" for _, text in shown))
        parts += [CLEAR_BELOW, "\r", WRAP_ON]
        self.drawn = [line_width for line_width, _ in shown]
        self._send("".join(parts))

    def close(self, above: Sequence[str] = ()) -> None:
        """Removes the block, prints these last lines, and shows the cursor again."""
        across = self.size()[0]
        erase = self._back(across) + CLEAR_BELOW + SHOW if self.drawn else ""
        self.drawn = []
        self._send(erase + "".join(f"{line}\n" for line in _wrap(above, across)))

    def _back(self, across: int) -> str:
        """Moves to the first line of the block; a narrower window wraps long lines into several."""
        up = sum(max(-(-line_width // across), 1) for line_width in self.drawn[:-1])
        return "\r" + (f"\x1b[{up}A" if up else "")

    def _send(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def _wrap(texts: Sequence[str], room: int) -> list[str]:
    return [line for text in texts for line in units.wrap(text, room - 1, INDENT)]


def _fit(plain: str, painted: str, room: int) -> tuple[int, str]:
    line_width = units.width_of(plain)
    if line_width <= room:
        return line_width, painted
    short = units.cut(plain, room)
    return units.width_of(short), short
