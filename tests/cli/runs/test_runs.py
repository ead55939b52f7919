"""sow runs: the list, a run in every format, its report in a file, and `sow runs stop`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Repo
from support.claim_holder import hold_claim
from support.journals import MadeUpRun, home_of, stamp
from support.quick_cases import few_of

RUN = "20260921-143320-ab12"


@pytest.fixture
def journal(repo: Repo) -> MadeUpRun:
    """A run of three tasks: one completed after a RED, one failed, one waits for the failed one."""
    for item in (["Store users"], ["Login form"], ["Logout", "--depends-on", "020"]):
        repo.ok("task", "create", "--name", *item)
    repo.ok("task", "set", "--id", "020", "status", "in_progress")
    repo.ok("task", "set", "--id", "020", "status", "failed")
    made = MadeUpRun(repo, ["010", "020", "030"])
    made.begin(needs={"030": ["020"]}, settings={"max_concurrency": 2})
    with made.in_time_order():
        made.work(1, 61, "010")
        made.add(60, "reviewed", task="010", iteration=1, verdict="GREEN", by="reviewer", findings=0, feedback="")
        made.work(1, 31, "020", "failed", executor="codex", cost_usd=None)
        made.add(32, "limit", executor="codex", until=None, reason="usage limit")
    return made


def test_no_runs_yet(repo):
    """Without a run the list is empty and says how to start one."""
    assert repo.ok("runs", "list").out == "no runs yet; start one: sow run PLAN\n"
    assert repo.ok("runs", "list", "--json").json == {"runs": []}


def test_the_list_shows_each_run(repo, journal):
    """Each run has its id, status, start, progress and name; a killed one is stopped."""
    journal.end(70, code=1)
    second = MadeUpRun(repo, ["030"], id="20260921-150000-cd34", started_at=stamp(1000))
    second.begin()
    lines = repo.ok("runs", "list").out.splitlines()
    assert lines[0].split() == ["RUN", "STATUS", "STARTED", "DONE", "NAME"]
    assert lines[1].split() == [RUN, "ended", stamp(0), "1/3", "Add", "a", "login"]
    assert lines[2].split()[:4] == ["20260921-150000-cd34", "stopped", stamp(1000), "0/1"]
    first, last = repo.ok("runs", "list", "--json").json["runs"]
    assert (first["completed"], first["failed"], first["exit"]) == (1, 1, 1)
    assert (last["status"], last["live"]) == ("stopped", False)


def test_a_broken_run_hides_no_other(repo, journal):
    """A half-written folder of a crash is left out."""
    (repo.root / ".sow/local/runs/20990101-000000-0000").mkdir()
    assert [run["id"] for run in repo.ok("runs", "list", "--json").json["runs"]] == [RUN]


@pytest.mark.parametrize("name", [(), ("last",), (RUN,), ("2026",)])
def test_a_run_is_named_in_four_ways(repo, journal, name):
    """The last run by `last` or by default, a whole id, or its beginning."""
    assert repo.ok("runs", "show", *name, "--json").json["run"]["id"] == RUN


def test_an_unknown_run_is_refused(repo, journal):
    """An unknown name, and a prefix of two runs, are refused with the existing ids."""
    MadeUpRun(repo, ["010"], id="20260921-150000-cd34")
    for name in ("1999", "20260921"):
        result = repo.sow("runs", "show", name)
        assert result.code == 2
        assert RUN in result.err


def test_show_prints_the_whole_run(repo, journal):
    """Outcomes, time, cost, tasks with what blocks them, agents, and the next step."""
    journal.end(70, code=1)
    shown = repo.ok("runs", "show").out
    for text in (
        f"Run {RUN}: Add a login (ended)",
        "1 completed, 1 failed, 1 pending",
        "1m 30s in all turns; the run was 1.3 times as fast as one agent at a time",
        "$0.25 and 1 turn of unknown cost",
        "1 (010)  Store users  completed  GREEN",
        "waits for 2 (020), failed",
        "codex        1 turn  30s  unknown",
        "sow task show 020",
        "sow run plan.md",
    ):
        assert text in shown, (text, shown)


def test_the_report_fits_a_narrow_terminal(repo, journal, on_terminal):
    """On 80 columns the table has whole headings, and leaves out the agent, the executor and the estimates."""
    journal.end(70, code=1)
    code, shown = on_terminal(repo, "runs", "show", NO_COLOR="1").end()
    assert code == 0
    assert max(map(len, shown.splitlines())) <= 80, shown
    header = next(line for line in shown.splitlines() if "OUTCOME" in line)
    assert header.split() == ["TASK", "NAME", "OUTCOME", "RESULT", "ITERATIONS", "TIME", "COST"]
    piped = repo.ok("runs", "show").out
    assert "AGENT" in piped
    assert "EXECUTOR" in piped


def test_show_and_report_are_the_same(repo, journal):
    """`show` and `report` have the same document and the same page."""
    document = repo.ok("runs", "show", "--json").json
    assert repo.ok("runs", "show", "--format", "json").json == document
    assert repo.ok("runs", "report", "--format", "json").json == document
    page = repo.ok("runs", "show", "--format", "md").out
    assert page.startswith(f"# Run {RUN}: Add a login\n")
    assert "| 1 (010) | Store users | pending | GREEN |" in page
    assert repo.ok("runs", "report").out == page
    assert repo.ok("runs", "show", "--format", "text").out == repo.ok("runs", "show").out


def test_showing_a_run_changes_nothing(repo, journal):
    """No form of a run changes a file."""
    before = repo.snapshot()
    for text in ("runs list", "runs show", "runs report", "runs show --json"):
        repo.ok(*text.split())
    assert repo.snapshot() == before


def test_a_report_is_written_to_a_file(repo, journal, tmp_path):
    """`--out` writes or replaces a file in an existing folder."""
    page = repo.ok("runs", "report").out
    for _ in range(2):
        assert repo.ok("runs", "report", "--out", "report.md").out == "wrote report.md\n"
        assert (repo.root / "report.md").read_text() == page
    repo.ok("runs", "report", "--format", "json", "--out", str(tmp_path / "report.json"))
    assert json.loads((tmp_path / "report.json").read_text())["run"]["id"] == RUN


@pytest.mark.parametrize("place", ["src", "missing/report.md"])
def test_a_report_needs_a_writable_place(repo, journal, place):
    """`--out` with a folder, or a file in a missing folder, is refused."""
    (repo.root / "src").mkdir()
    result = repo.sow("runs", "report", "--out", place)
    assert result.code == 2
    assert result.err.startswith("error: --out: ")


def test_the_shell_completes_runs(repo, journal):
    """The shell offers the ids of the runs, and `last`."""
    assert repo.ok("completion", "words", "--", "runs", "show", "").out.split() == [RUN, "last"]


def test_a_run_stays_readable_after_its_project(repo, journal):
    """After the project is gone its runs can still be looked at."""
    repo.ok("project", "delete", "--yes")
    assert "shown from the journal alone" in repo.ok("runs", "show").out


HOLD = """
import os, signal, subprocess, sys
from sow.store.files.checkout_home import find
home = find(option=sys.argv[1], environment={}, cwd="/")
if "deaf" in sys.argv:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with home.claim("run", purpose="running a plan") as claim:
    claim.record_run("20260921-143320-ab12")
    if "lie" in sys.argv:
        os.ftruncate(claim.descriptor, 0)
        os.pwrite(claim.descriptor, sys.argv[3].encode(), 0)
    child = subprocess.Popen(["sleep", "60"])
    print(child.pid, flush=True)
    try:
        sys.stdin.read()
    except KeyboardInterrupt:
        pass
"""


@contextmanager
def holder(repo: Repo, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process that holds the run's claim, and a child in the same group."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(repo.root), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout
    child = int(process.stdout.readline())
    try:
        yield process, child
    finally:
        os.kill(child, signal.SIGKILL)
        process.kill()
        process.communicate()


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_stop_without_a_run(repo, journal):
    """If no run is live, stop says so and exits with 0."""
    assert repo.ok("runs", "stop").out == f"no run is active; the last run, {RUN}, is stopped\n"
    assert repo.ok("runs", "stop", RUN).out == f"run {RUN} is not running: it is stopped\n"


def test_a_run_is_stopped(repo, journal):
    """The holder gets SIGINT, no other process does, and the call returns when it has ended."""
    with holder(repo) as (process, child):
        result = repo.ok("runs", "stop", RUN)
        assert process.wait(300) == 0
        assert is_alive(child)
    assert result.out.splitlines() == [
        f"process {process.pid} has stopped; run {RUN} is stopped",
        "continue with: sow run plan.md",
    ]


def test_stopping_an_ended_run_stops_nothing(repo, journal):
    """An ended run that is named stops nothing, although another one is live."""
    journal.end(70)
    MadeUpRun(repo, ["010"], id="20260921-150000-cd34")
    with hold_claim(repo, "run") as pid:
        assert repo.ok("runs", "stop", RUN).out == f"run {RUN} is not running: it is ended\n"
        assert is_alive(pid)


def lives(repo: Repo) -> dict[str, tuple[bool, str]]:
    return {run["id"]: (run["live"], run["status"]) for run in repo.ok("runs", "list", "--json").json["runs"]}


@pytest.mark.parametrize("live", [RUN, "20260921-150000-cd34"])
def test_only_the_run_of_the_claim_is_live(repo, journal, live):
    """Of two unended runs, the one that the claim names is live, even if it is older; the other is stopped."""
    MadeUpRun(repo, ["010"], id="20260921-150000-cd34")
    with hold_claim(repo, "run", live):
        result = lives(repo)
        assert result.pop(live) == (True, "running")
        ((dead, messages),) = result.items()
        assert messages == (False, "stopped")
        assert repo.ok("runs", "show", dead, "--json").json["run"]["live"] is False
        assert repo.ok("runs", "stop", dead).out == f"run {dead} is not running: it is stopped\n"


def test_another_holder_of_the_claim_makes_no_run_live(repo, journal):
    """A clean-up holds the claim of runs without a run, and a killed run stays killed."""
    with hold_claim(repo, "run"):
        assert lives(repo) == {RUN: (False, "stopped")}
        assert "was interrupted" in repo.ok("watch").out


def test_the_live_run_is_stopped_even_if_it_is_not_the_last(repo, journal):
    """Without a name the live run is told to stop, and it is the one that is told of."""
    MadeUpRun(repo, ["010"], id="20260921-150000-cd34").end(5)
    with holder(repo) as (process, _):
        assert f"process {process.pid} has stopped; run {RUN} is stopped" in repo.ok("runs", "stop").out


def test_stop_reports_a_run_that_does_not_end(repo, journal):
    """A run that does not end in time is exit 4, with where to look."""
    with holder(repo, "deaf") as (process, _):
        result = repo.sow("runs", "stop", "--wait", "1s")
        assert process.poll() is None
    assert result.code == 4
    assert result.err.splitlines() == [
        f"error: process {process.pid} is still stopping",
        "hint: check again later: sow runs show",
    ]


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process that belongs to no run."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def test_a_claim_with_a_foreign_process_id_signals_nothing(repo, journal, bystander):
    """A claim whose text names a process that does not hold it signals neither."""
    line = f"pid {bystander.pid} on {os.uname().nodename} since {stamp(0)} (running a plan)"
    with holder(repo, "lie", line) as (process, _):
        result = repo.sow("runs", "stop")
        assert (process.poll(), bystander.poll()) == (None, None)
    assert result.code == 1
    assert "cannot be identified for certain" in result.err


def test_the_process_id_of_a_dead_holder_is_not_signalled(repo, journal, bystander):
    """The id in the claim of a killed run may belong to another process now."""
    with holder(repo) as (process, _):
        process.kill()
        process.wait()
    claims = Path(home_of(repo).checkout.git) / "sow" / "claims" / "claim-run.lock"
    text = claims.read_text()
    assert f"pid {process.pid} " in text
    claims.write_text(text.replace(str(process.pid), str(bystander.pid)))
    assert repo.ok("runs", "stop").out.startswith("no run is active")
    assert bystander.poll() is None


def test_a_run_on_another_machine(repo, journal):
    """A holder on another host is named, and no process is signalled."""
    with holder(repo, "lie", f"pid 4711 on elsewhere since {stamp(0)} (running a plan)") as (process, _):
        result = repo.sow("runs", "stop")
        assert process.poll() is None
    assert result.code == 1
    assert "the run is on another machine: pid 4711 on elsewhere" in result.err


SEQUENCES = (
    "\x1b[31m", "\x1b]0;owned\x07", "\x1b]52;c;AA==\x07", "\x9b31m", "a\rb", "a\x08b", "\u202etxt.exe", "\ufeff",
    "a\u2028b", "\ud800", "\x00\x7f",
)  # fmt: skip


@few_of("text", SEQUENCES, 5, ids=[ascii(sequence) for sequence in SEQUENCES])
def test_no_control_byte_is_printed(repo, journal, text):
    """For any names and texts in a journal, no form of the run moves a cursor or reorders text."""
    for event in ("question", "sent_back", "limit", "budget", "conflict", "check", "reviewed", "turn_started"):
        fields = ("text", "reason", "executor", "role", "feedback", "verdict", "by", "command", "origin", "kind")
        journal.add(80, event, task="010", number=4, paths=[text], passed=False, **dict.fromkeys(fields, text))
    journal.add(81, "task_ended", task=text, status=text, result=text)
    journal.add(81, "run_started", tasks=[{"id": text, "number": text, "name": text, "needs": [text]}])
    for line in ("runs list", "runs show", "runs show --format md", "runs show --json", "runs report --format json"):
        shown = repo.ok(*line.split()).out
        bad = [
            character
            for character in shown
            if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") and character != "\n"
        ]
        assert bad == []
        assert not set(shown) & set("\u202e\ufeff")
    repo.ok("runs", "report", "--format", "json", "--out", "r.json")
    assert json.loads((repo.root / "r.json").read_text())["run"]["id"] == RUN
