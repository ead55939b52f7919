"""The live view of a run: plain lines, a stream of JSON, and a block on a terminal that is removed at the end."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
import termios
import time
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.plan_repo import PlanRepo
from support.quick_cases import all_of

from cli.virtual_screen import Screen
from sow.cli.runs.live import Live
from sow.domain.text import units

TIME = "2026-01-31T09:00:00Z"
MARK = "\x1b[4711m"
OURS = re.compile(r"\x1b\[(\?25[hl]|\?7[hl]|[0-9]*A|K|J|[0-9]+m)|\r|\n")


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    """A stream that claims to be a terminal of 80 columns."""

    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


class Pipe(io.StringIO):
    encoding = "utf-8"  # type: ignore[assignment]


def entry(t: float, event: str, **facts: Any) -> dict[str, Any]:
    return {"at": TIME, "t": t, "event": event, **facts}


def started(count: int = 3, **facts: Any) -> dict[str, Any]:
    tasks = [
        {"id": f"{n}0".zfill(3), "number": str(n), "name": f"Task {n}", "needs": [], "estimated_minutes": 10}
        for n in range(1, count + 1)
    ]
    settings = {"max_concurrency": 3}
    return entry(0, "run_started", run="r1", name="Login", tasks=tasks, settings=settings, **facts)


def turn(t: float, task: str = "010", **facts: Any) -> dict[str, Any]:
    facts = {"iteration": 1, "role": "implementer", "executor": "claude-code", "kind": "spawn", **facts}
    return entry(t, "turn_started", task=task, model="", **facts)


def turned(t: float, task: str = "010", cost: float | None = 0.5, **facts: Any) -> dict[str, Any]:
    return entry(t, "turn_ended", task=task, outcome="done", seconds=t, cost_usd=cost, **facts)


def ended(t: float, task: str = "010", status: str = "completed", **facts: Any) -> dict[str, Any]:
    return entry(t, "task_ended", task=task, status=status, seconds=t, retry_count=0, **{"result": "GREEN", **facts})


TALE = [
    started(),
    turn(12, "020"),
    entry(13, "step", task="020", text="running make test"),
    turned(73, "020"),
    entry(74, "check", task="020", iteration=1, kind="test", command="make test", exit=2, seconds=1, passed=False),
    entry(74, "check", task="020", iteration=1, kind="test", command="true", exit=0, seconds=1, passed=True),
    turn(75, "020", role="reviewer", executor="codex", kind="review"),
    entry(80, "reviewed", task="020", iteration=1, verdict="RED", by="reviewer", findings=2, feedback="No\ntest."),
    entry(80, "sent_back", task="020", iteration=1, reason="No test."),
    turn(81, "020", iteration=2, kind="resume"),
    entry(82, "limit", executor="codex", until=None, reason="usage limit"),
    entry(83, "question", task="030", number=3, text="Which store?"),
    entry(83, "answered", task="030", number=3, origin="a standing answer"),
    entry(84, "budget", reason="$5.00 are spent"),
    entry(85, "waiting", reason="a question", until=None),
    entry(86, "conflict", task="020", paths=["a.py", "b.py"]),
    entry(87, "merged", task="020", iteration=2, commit="0123456789abcdef"),
    ended(88, "020"),
    ended(3700, "010", "failed", result="FAILED"),
    entry(3701, "run_ended", status="ended", exit=1, seconds=3701, completed=1, failed=1, blocked=1, waiting=0),
]
LINES = """\
00:00  run r1: Login, 3 tasks, at most 3 at once
00:12  task 2 (020) Task 2: started, implementer on claude-code
01:14  task 2 (020) Task 2: check failed (exit 2): make test
01:15  task 2 (020) Task 2: review by reviewer on codex
01:20  task 2 (020) Task 2: RED by reviewer, 2 findings: No test.
01:20  task 2 (020) Task 2: sent back: No test.
01:21  task 2 (020) Task 2: resumed, implementer on claude-code, iteration 2
01:22  codex pauses: usage limit
01:23  task 3 (030) Task 3: asks question 3: Which store? → sow answer 3 "…"
01:23  task 3 (030) Task 3: question 3 is answered (a standing answer)
01:24  nothing new starts: $5.00 are spent
01:25  waiting: a question
01:26  task 2 (020) Task 2: merge conflict in a.py, b.py
01:27  task 2 (020) Task 2: merged as 0123456789
01:28  task 2 (020) Task 2: completed GREEN after 1m 28s, $0.50
1:01:40  task 1 (010) Task 1: failed after 1h 2m
1:01:41  the run has ended after 1h 2m: 1 completed, 1 failed, 1 pending
"""


def test_plain_lines_without_a_terminal():
    """Each important event is one line with the time since the start, and nothing else is written."""
    stream = Pipe()
    with Live(stream, clock=Clock()) as live:
        for item in TALE:
            live.tell(item)
            live.tick(1000.0)
    assert stream.getvalue() == LINES


def test_json_is_a_stream_of_entries():
    """With --json every entry is one line, on a terminal too, and parses back to the entry."""
    stream = Terminal()
    hostile = entry(5, "step", task="020", text="\x1b[31m\x9b \u202e \ud800 好 🙂")
    with Live(stream, json=True, clock=Clock()) as live:
        for item in [*TALE, hostile]:
            live.tell(item)
    lines = stream.getvalue().splitlines()
    assert [json.loads(line) for line in lines] == [*TALE, hostile]
    assert not set("".join(lines)) & {"\x1b", "\x9b", "\u202e"}


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_dumb_terminal_gets_plain_lines(monkeypatch, term):
    """A terminal without cursor control gets the lines of a pipe."""
    monkeypatch.setenv("TERM", term)
    stream = Terminal()
    with Live(stream, clock=Clock()) as live:
        for item in TALE:
            live.tell(item)
    assert stream.getvalue() == LINES


@pytest.fixture
def rich(monkeypatch):
    """Returns the variables of an ordinary terminal."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)


class Window:
    """A real pseudo-terminal with a live view at one end and a small screen at the other."""

    def __init__(self, columns: int, rows: int) -> None:
        self.master, slave = pty.openpty()
        self.clock = Clock()
        self.stream = open(slave, "w", encoding="utf-8")  # noqa: SIM115
        self.screen = Screen(columns, rows)
        self.resize(columns, rows)
        self.live = Live(self.stream, clock=self.clock)
        self.bytes = ""

    def resize(self, columns: int, rows: int) -> None:
        termios.tcsetwinsize(self.stream.fileno(), (rows, columns))
        self.screen.columns, self.screen.rows = columns, rows

    def tell(self, *entries: dict[str, Any], pause: float = 0.2) -> None:
        for entry in entries:
            self.live.tell(entry)
            self.clock.now += pause
            self.live.tick(self.clock.now)
            self.look()

    def look(self) -> list[str]:
        """Returns the screen."""
        self.stream.write(MARK)  # what was written before has arrived when this has
        self.stream.flush()
        data = b""
        while MARK.encode() not in data:
            data += os.read(self.master, 65536)
        text = data.decode().replace(MARK, "")
        self.bytes += text
        return self.screen.feed(text).shown

    def close(self) -> list[str]:
        self.live.close()
        return self.look()

    def end(self) -> None:
        self.live.close()
        self.stream.close()
        os.close(self.master)


@pytest.fixture
def window(rich: None) -> Iterator[Window]:
    made = Window(80, 24)
    yield made
    made.end()


def test_the_block_of_a_run(window):
    """Running tasks with time, cost and step, waiting tasks with their reason, and the bar are drawn in place."""
    window.tell(started(4), turn(1), turned(2, cost=0.5), turn(3, iteration=2, kind="resume"), turn(3, "020"))
    window.tell(entry(4, "step", task="020", text="running make test"))
    window.tell(entry(5, "question", task="030", number=7, text="Which store?"), ended(5, "030", "paused"))
    window.tell(entry(6, "limit", executor="codex", until=None, reason="usage limit"))
    window.clock.now += 60
    window.live.tick(window.clock.now)
    assert window.look() == [
        "00:00  run r1: Login, 4 tasks, at most 3 at once",
        '00:05  task 3 (030) Task 3: asks question 7: Which store? → sow answer 7 "…"',
        "00:06  codex pauses: usage limit",
        " ● 1 (010) Task 1    01:01    $0.50  iteration 2, implementer on claude-code",
        " ● 2 (020) Task 2    01:01           running make test",
        ' ? 3 (030) Task 3 asks question 7: Which store? → sow answer 7 "…"',
        " ‖ codex pauses: usage limit",
        " · 1 waiting for a running task to end",
        " ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0/4   01:01   $0.50   about 10m left",
    ]
    assert not window.screen.cursor


def test_final_checks_change_no_count(window):
    """Final checks have a line of their own: completed tasks stay completed, until one is sent back or asked about."""
    window.tell(started(2), turn(1), ended(2), turn(2, "020"), ended(3, "020"))
    window.tell(entry(4, "final_step", text="checks the final tree: make test"))
    assert window.look()[-2:] == [
        " ● checks the final tree: make test",
        " ██████████████████████████████  2/2   00:01",
    ]
    window.tell(entry(5, "final_check", passed=False, tasks=["010"], command="make test", exit=1, tree="0", seconds=1))
    window.tell(entry(5, "question", task="020", number=1, text="final checks: it fails"))
    shown = window.look()
    assert not any("checks the final tree" in line for line in shown)
    assert "  1/2   " in shown[-1]


def test_the_block_is_removed_at_the_end(window):
    """The event lines remain; the cursor is visible below them, and lines wrap again."""
    window.tell(started(), turn(1), turn(1, "020"), turned(2), ended(3), ended(4, "020", "failed", result="RED"))
    assert any("●" in line or "█" in line for line in window.screen.shown)
    shown = window.close()
    assert shown == [
        "00:00  run r1: Login, 3 tasks, at most 3 at once",
        "00:03  task 1 (010) Task 1: completed GREEN after 3.0s, $0.50",
        "00:04  task 2 (020) Task 2: failed RED after 4.0s",
    ]
    assert (window.screen.cursor, window.screen.wraps) == (True, True)
    assert (window.screen.row, window.screen.column) == (3, 0)
    window.live.close()
    window.live.tell(ended(9))
    window.live.tick(window.clock.now + 9)
    assert window.look() == shown


def test_a_view_without_events_writes_nothing(window):
    """Closed before the first event, not a byte is written."""
    window.live.tick(window.clock.now)
    window.close()
    assert window.bytes == ""


@pytest.mark.parametrize("rows", [2, 3, 4, 8, 24])
def test_the_block_fits_the_height_of_the_terminal(rich, rows):
    """With any number of running tasks the block fits, and the bar is always shown."""
    window = Window(60, rows)
    try:
        tasks = [f"{n}0".zfill(3) for n in range(1, 31)]
        window.tell(started(40), *(turn(1, ident) for ident in tasks))
        window.tell(*(entry(2, "question", task=f"{n}0", number=n, text="Why?") for n in range(31, 39)))
        lines = window.look()[1 + 2 * 8 :]  # each question takes two lines
        assert len(lines) <= rows - 1
        assert "0/40" in lines[-1]
        asked, command = window.close()[-2:]
        assert asked.startswith("00:02  task 38") and command == '       → sow answer 38 "…"'
    finally:
        window.end()


NAMES = (
    "plain",
    "日本語の名前がとても長い場合",
    "🙂🙂🙂 party",
    "\U0001f469\u200d\U0001f4bb at work",
    "e\u0301 combined",
    "\u2764\ufe0f heart",
    "x" * 200,
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("columns", [20, 37, 80, 132])
def test_wide_names_do_not_break_lines(rich, name, columns):
    """Wide letters, emoji and long names never make a line of the block wider than the terminal."""
    window = Window(columns, 24)
    try:
        tasks = [{"id": "010", "number": "1", "name": name, "needs": []}]
        window.tell(
            entry(0, "run_started", run="r", name="n", tasks=tasks), turn(1), entry(2, "step", task="010", text=name)
        )
        for _ in range(3):
            window.tell(entry(3, "step", task="010", text=name * 3))
        block = [line for line in window.look() if "●" in line or "0/1" in line]
        assert len(block) == 2
        assert all(units.width_of(line) < columns for line in block)
    finally:
        window.end()


@pytest.mark.parametrize("columns", [41, 80])
def test_lines_above_the_block_break_between_words(rich: None, columns: int) -> None:
    """A long line above the block is wrapped at a space, and its rest is indented below."""
    window = Window(columns, 24)
    try:
        window.tell(entry(0, "run_started", run="r", name="words and more of them " * 6, tasks=[]))
        first, *more = (line for line in window.close() if line)
        assert more
        assert all(line.startswith(" " * 7) and line[7] != " " for line in more)
        assert set(" ".join([first, *more]).split()) >= {"words", "them", "run", "r:"}
        assert max(map(len, [first, *more])) < columns
    finally:
        window.end()


@pytest.mark.parametrize("columns", [120, 79, 41, 17, 3, 1])
def test_the_view_follows_a_resize(window, columns):
    """The next picture has the new width, and the end leaves a clean screen."""
    window.tell(started(), turn(1))
    window.resize(columns, 10)
    window.tell(entry(2, "step", task="010", text="running make test " * 5), turn(3, "020"))
    assert window.live._block.drawn
    assert max(window.live._block.drawn) < max(columns, 2)
    window.resize(80, 24)
    window.tell(ended(9))
    assert window.close()[-1] == "00:09  task 1 (010) Task 1: completed GREEN after 9.0s"
    assert window.screen.cursor


def test_ten_pictures_a_second_at_most(window):
    """A thousand events in one second are drawn at most ten times, and none of their lines is lost."""
    window.tell(started(1000), pause=0)
    before = window.bytes.count("\x1b[J")
    for n in range(1, 1001):
        window.tell(ended(0.5, f"{n}0".zfill(3)), pause=0.001)
    assert window.bytes.count("\x1b[J") - before <= 11
    assert len(window.close()) == 1001


def test_a_quiet_run_is_drawn_once_a_second(window):
    """Without events only the time changes."""
    window.tell(started(), turn(1))
    before = window.bytes.count("\x1b[J")
    for _ in range(1000):
        window.clock.now += 0.01
        window.live.tick(window.clock.now)
        window.look()
    assert 9 <= window.bytes.count("\x1b[J") - before <= 11


@pytest.mark.full
def test_the_view_costs_little(rich):
    """Ten minutes of a run of a thousand tasks, looked at fifty times a second, cost less than 2 % of a core."""
    clock, stream = Clock(), Terminal()
    live = Live(stream, clock=clock)
    live.tell(started(1000))
    for n in range(1, 9):
        live.tell(turn(1, f"{n}0".zfill(3)))
    begun = time.process_time()
    for tick in range(600 * 50):
        clock.now += 0.02
        if tick % 25 == 0:
            live.tell(entry(tick / 50, "step", task=f"{tick % 8 + 1}0".zfill(3), text=f"step {tick}"))
        live.tick(clock.now)
        stream.seek(0)
        stream.truncate()
    assert time.process_time() - begun < 600 * 0.02
    live.close()


def test_no_color_removes_colours(monkeypatch):
    """NO_COLOR keeps the block and drops the colours."""
    monkeypatch.setenv("TERM", "xterm")
    for value, result in (("", True), ("1", False)):
        monkeypatch.setenv("NO_COLOR", value)
        stream = Terminal()
        with Live(stream, clock=Clock()) as live:
            live.tell(started())
            live.tell(turn(1))
            live.tick(2000.0)
        assert bool(re.search(r"\x1b\[[0-9]+m", stream.getvalue())) == result
        assert "●" in stream.getvalue()


def test_an_ascii_terminal_gets_plain_signs(rich):
    """A terminal that cannot show sow's signs gets ASCII ones."""
    stream = Terminal()
    stream.encoding = "ascii"  # type: ignore[misc]
    with Live(stream, clock=Clock()) as live:
        live.tell(started())
        live.tell(turn(1))
        live.tick(2000.0)
    assert OURS.sub("", stream.getvalue()).isascii()


def test_the_remaining_time_is_estimated(window):
    """The forecast uses the estimates, their error so far, and the number of parallel tasks."""
    window.tell(started(6), *(turn(1, ident) for ident in ("010", "020", "030")))
    assert "about 20m left" in window.look()[-1]
    window.clock.now += 1200
    window.tell(ended(1201, "010"))
    assert "about 11m left" in window.look()[-1]
    window.tell(ended(1202, "020"), ended(1202, "030"))
    window.clock.now += 10
    window.live.tick(window.clock.now)
    assert "3/6" in window.look()[-1]
    assert "about 20m left" in window.look()[-1]


def test_earlier_calls_count_for_the_estimate(window):
    """A continued run knows from its journal that its tasks take twice as long as expected."""
    past = [started(4), turn(1, "010"), turn(1, "020"), ended(1201, "010"), ended(1201, "020")]
    window.live.load_past(past)
    again = started(4)
    for task in again["tasks"][:2]:
        task["status"] = "completed"
    window.tell(again)
    assert "2/4" in window.look()[-1]
    assert "about 20m left" in window.look()[-1]


def test_no_estimate_gives_no_remaining_time(window):
    """If a task has neither an estimate nor history, no time is shown."""
    tasks = [{"id": "010", "number": "1", "name": "a", "needs": []}]
    window.tell(entry(0, "run_started", run="r", name="n", tasks=tasks), turn(1))
    assert "left" not in window.look()[-1]
    other = Live(Terminal(), clock=window.clock, expected={"010": 5})
    other.tell(entry(0, "run_started", run="r", name="n", tasks=tasks))
    other.tick(window.clock.now + 1)
    assert "about 5m left" in other.stream.getvalue()  # type: ignore[attr-defined]
    other.close()


def test_a_task_behind_a_failed_one_says_so(window):
    """A task that needs a failed one says so."""
    tasks = [
        {"id": "010", "number": "1", "name": "a", "needs": []},
        {"id": "020", "number": "2", "name": "b", "needs": ["010"]},
    ]
    window.tell(entry(0, "run_started", run="r", name="n", tasks=tasks), turn(1), ended(2, "010", "failed"))
    assert " · 1 waiting: task 2 after task 1 (failed)" in window.look()
    assert "0/2, 1 failed" in window.look()[-1]


def test_unknown_cost_is_not_zero(window):
    """A turn of unknown cost is marked, and a sum of unknown costs is no number."""
    window.tell(started(), turn(1), turned(2, cost=None))
    assert " ?" in window.look()[1]
    assert "$" not in window.look()[-1]
    window.tell(turn(3), turned(4, cost=0.25))
    assert "$0.25+" in window.look()[-1]


def test_a_continued_run_counts_earlier_calls(window):
    """Earlier calls count in the bar and in the cost, and their events are not printed again."""
    window.live.load_past([started(), turn(1), turned(2), ended(3)])
    window.tell(started(recovered=True), turn(1, "020"))
    assert window.look()[0].endswith(", continued")
    assert "1/3" in window.look()[-1]
    assert "$0.50" in window.look()[-1]
    assert not any("completed" in line for line in window.look())


def test_the_first_states_count(window):
    """A task that is completed at the start of the run counts as done."""
    tasks = [{"id": "010", "name": "a", "needs": [], "status": "completed"}, {"id": "020", "name": "b", "needs": []}]
    window.tell(entry(0, "run_started", run="r", name="n", tasks=tasks))
    assert "1/2" in window.look()[-1]


def test_a_question_answered_between_two_calls_is_closed(window):
    """A task that asked in an earlier call and is in progress now waits like any other."""
    asked = entry(2, "question", task="010", number=1, text="Which colour?")
    window.live.load_past([started(), turn(1), asked, entry(3, "task_ended", task="010", status="paused")])
    tasks = [{"id": "010", "name": "a", "needs": [], "status": "in_progress"}]
    window.tell(entry(0, "run_started", run="r", name="n", tasks=tasks, recovered=True))
    assert not any("Which colour?" in line for line in window.look())


def test_restored_state_is_reported(window):
    """The view keeps a line for each state file that the run restored, with the path of the kept edit."""
    window.tell(started(), entry(1, "restored", task="010", aside=".sow/local/edited/010-1.yaml"))
    window.tell(entry(2, "restored", task="project"))
    seen = " ".join(window.look())
    assert "edited by hand" in seen
    assert ".sow/local/edited/010-1.yaml" in seen
    assert "the project: its state was gone or older" in seen


def test_a_closed_pipe_ends_the_view():
    """When the reader of a pipe goes away, the view ends and the run continues."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as stream, Live(stream, clock=Clock()) as live:
        for item in TALE:
            live.tell(item)
            live.tick(2000.0)


PLAY = """
import sys, time
from sow.cli.runs.live import Live
with Live() as live:
    live.tell({"event": "run_started", "run": "r", "name": "n", "tasks": [{"id": "010", "name": "a", "needs": []}]})
    live.tell({"event": "turn_started", "task": "010", "role": "implementer", "executor": "e"})
    while True:
        live.tick(time.monotonic())
        time.sleep(0.01)
"""


def test_ctrl_c_restores_the_terminal():
    """After Ctrl-C the block is gone and the cursor visible before the process ends."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    spawn = "import os, sys; os.setsid(); import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    process = subprocess.Popen(
        [sys.executable, "-c", f"{spawn}exec(sys.argv[1])", PLAY],
        stdin=slave,
        stdout=slave,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(slave)
    seen = b""
    while b"implementer on e" not in seen:
        seen += os.read(master, 65536)
    os.write(master, b"\x03")
    while True:
        try:
            more = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        seen += more
    os.close(master)
    process.wait(300)
    screen = Screen().feed(seen.decode().replace("^C", ""))
    assert screen.shown == ["00:00  run r: n, 1 task"]
    assert screen.cursor


def view(stream: io.StringIO, clock: Clock, *, json: bool = False) -> Live:
    """Returns a live view that treats its stream as an ordinary terminal."""
    with pytest.MonkeyPatch.context() as variables:
        variables.setenv("TERM", "xterm")
        return Live(stream, json=json, clock=clock)


TEXTS = st.text(st.characters(), max_size=12)


@given(TEXTS, TEXTS)
def test_no_byte_of_an_agent_reaches_the_terminal(one, two):
    """For any names, steps, questions and reasons, only sow's own control codes are written."""
    for stream in (Terminal(), Pipe()):
        clock = Clock()
        live = view(stream, clock)
        tasks = [{"id": "010", "number": one, "name": two, "needs": [one]}]
        fields = (
            "text",
            "reason",
            "executor",
            "role",
            "feedback",
            "by",
            "command",
            "origin",
            "status",
            "result",
            "run",
        )
        for event in ("run_started", "turn_started", "step", "check", "reviewed", "sent_back", "question", "limit",
                      "conflict", "waiting", "budget", "task_ended", "run_ended"):  # fmt: skip
            live.tell(entry(1, event, task="010", tasks=tasks, paths=[one], passed=False, findings=1,
                            **dict.fromkeys(fields, one + two)))  # fmt: skip
            clock.now += 1
            live.tick(clock.now)
        live.close()
        left = OURS.sub("", stream.getvalue())
        assert not [character for character in left if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")]
        assert not set(left) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\ufeff")


VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.lists(TEXTS, max_size=2))
EVENTS = (
    "run_started", "task_started", "task_ended", "turn_started", "turn_ended", "step", "collected", "check", "reviewed",
    "sent_back", "merged", "conflict", "question", "answered", "limit", "breaker", "budget", "waiting", "run_ended",
    "something_new",
)  # fmt: skip
FIELDS = (
    "task",
    "t",
    "iteration",
    "role",
    "seconds",
    "cost_usd",
    "tasks",
    "settings",
    "until",
    "number",
    "exit",
    "text",
)


@given(st.lists(st.tuples(st.sampled_from(EVENTS), st.dictionaries(st.sampled_from(FIELDS), VALUES)), max_size=10))
def test_no_entry_breaks_the_view(entries):
    """Entries with fields of any type are shown as far as possible, in every format."""
    for stream, form in ((Terminal(), False), (Pipe(), False), (Pipe(), True)):
        clock = Clock()
        with view(stream, clock, json=form) as live:
            for event, facts in entries:
                live.tell({"event": event, **facts})
                clock.now += 0.5
                live.tick(clock.now)


WIDTHS = {
    "abc": 3,
    "": 0,
    "日本": 4,
    "e\u0301": 1,
    "🙂": 2,
    "\u2764\ufe0f": 2,
    "\U0001f469\u200d\U0001f4bb": 4,
    "\uac00": 2,
    "\u1100\u1161": 2,
    "ｗ": 2,
    "␛": 1,
    "…": 1,
}


@all_of(("text", "columns"), WIDTHS.items())
def test_the_width_of_text(text, columns):
    """Wide letters and emoji take two columns, combining marks none."""
    assert units.width_of(text) == columns


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])), st.integers(0, 20))
def test_a_cut_text_fits_its_width(text, room):
    """A padded text has exactly the given width, and a cut one at most that."""
    assert units.width_of(units.cut(text, room)) <= room
    assert units.width_of(units.pad(text, room)) == room


@given(st.text("ab 日", max_size=200), st.integers(40, 60), st.integers(0, 7))
def test_a_wrapped_text_keeps_every_word(text: str, room: int, indent: int) -> None:
    """Every word stays whole and in order, and only a single long word may exceed the width."""
    first, *more = units.wrap(text, room, indent)
    assert " ".join([first, *more]).split() == text.split()
    assert all(line.startswith(" " * indent) for line in more)
    assert all(units.width_of(line) <= room or len(line.split()) == 1 for line in [first, *more] if line.strip())


@pytest.mark.full
def test_the_final_checks_are_shown_live(plan_repo: PlanRepo, on_terminal: Callable[..., Any]) -> None:
    """The first call of a run shows what its final checks do, while they run."""
    go = plan_repo.folder / "go"
    plan_repo.act("implementer-020", "touch two.txt\n")
    check = f"test ! -e two.txt || while [ ! -e {go} ]; do sleep 0.05; done"
    plan_repo.plan({"test_commands": [check]}, "Second < 1")
    terminal = on_terminal(plan_repo.repo, "run", "plan.yaml", "--yes").until("checks the final tree: test !")
    go.touch()
    assert terminal.end()[0] == 0
