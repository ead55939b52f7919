"""Output to closed pipes, missing streams, and terminals with and without colour."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from conftest import SOW, Repo
from support.plan_repo import PlanRepo
from support.quick_cases import few_of
from support.simulated_workers import wait_for

from sow.cli.output import print_error
from sow.system import terminal

ESCAPE = "\x1b["


def shell(repo: Repo, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a shell script in the repository, with sow on its PATH."""
    return subprocess.run(
        ["bash", "-c", script],
        cwd=repo.root,
        env={**repo.environment, "SOW": SOW, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def many_tasks(repo: Repo) -> None:
    """Makes tasks whose names do not fit into the buffer of a pipe."""
    text = "x" * 20_000
    for number in range(6):
        repo.ok("log", f"{number} {text}")


@pytest.mark.parametrize(
    "command", ["status", "log --list", "status --json", "schema show task", "--help", "--version"]
)
def test_a_closed_pipe_is_no_error(repo: Repo, command: str):
    """`sow … | head -1` ends well and prints nothing on stderr, for an output of any length."""
    many_tasks(repo)
    result = shell(repo, f'"$SOW" {command} | head -1; echo "${{PIPESTATUS[0]}}"')
    *_, code = result.stdout.splitlines()
    assert (code, result.stderr) == ("0", "")


@few_of("blocked", [0, 80], 1)
def test_a_failed_run_keeps_its_exit_code(plan_repo: PlanRepo, blocked: int):
    """A run has its own exit code although its report is not read, whether that fits into a buffer or not."""
    messages, gone = plan_repo.folder / "told", plan_repo.folder / "gone"
    bell = plan_repo.folder / "bell"
    bell.write_text(f"#!/bin/sh\ntouch {messages}\nuntil [ -e {gone} ]; do sleep 0.05; done\n")
    bell.chmod(0o755)
    plan_repo.configure(notify={"command": str(bell)})
    plan_repo.act("implementer", "exit 3\n")
    plan_repo.plan("Fails", *["Waits " + "with a long name " * 6 + "< 1"] * blocked)
    run = plan_repo.start("--review", "off")
    wait_for(messages.exists)  # after the last word of the live view, and before the report
    assert run.stdout
    run.stdout.close()
    gone.touch()
    assert run.wait(300) == 1
    assert run.stderr
    assert "error" not in run.stderr.read().decode()
    assert plan_repo.runs()[-1]["exit"] == 1


def test_an_error_is_printed_after_stdout_is_closed(repo: Repo):
    """If the reader of stdout is gone, the error and its exit code still come, without a traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [SOW, "validate", ".sow/project/state.yaml", "missing.yaml"],
        cwd=repo.root,
        env=repo.environment,
        stdout=writer,
        stderr=subprocess.PIPE,
    )
    os.close(writer)
    assert result.returncode == 2
    assert result.stderr.decode().splitlines() == [
        "error: there is no file missing.yaml",
        "hint: give the path of an existing file",
    ]


@pytest.mark.parametrize("command", ["status", "status --json", "task list", "log hello", "inbox", "--version"])
def test_closed_stdout(repo: Repo, command: str):
    """With stdout closed the command works and ends well."""
    result = shell(repo, f'"$SOW" {command} >&-')
    assert (result.returncode, result.stderr) == (0, "")


def test_closed_streams_do_not_damage_files(repo: Repo):
    """A command with all streams closed works, and no file of sow gets the number of a stream."""
    result = shell(repo, '"$SOW" log "in the dark" <&- >&- 2>&-')
    assert result.returncode == 0
    entries = repo.ok("log", "--list", "--json").json["entries"]
    assert entries[-1]["text"] == "in the dark"


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full"])
def test_the_exit_code_works_without_stderr(repo: Repo, stderr: str):
    """If stderr is closed, the exit code is still right."""
    assert shell(repo, f'"$SOW" task show 099 {stderr}').returncode == 2


def test_a_full_disk_behind_stdout(repo: Repo):
    """If the output cannot be written, the command fails and says why, without a traceback."""
    result = shell(repo, '"$SOW" status >/dev/full')
    assert result.returncode == 1
    assert result.stderr.startswith("error: No space left on device\nhint: ")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("command", ["log -", "project remember -", "task create --name x --description -"])
def test_closed_stdin(repo: Repo, command: str):
    """A text from a closed stdin is an error, and nothing is written."""
    before = repo.snapshot()
    result = shell(repo, f'"$SOW" {command} <&-')
    assert result.returncode == 2
    assert result.stderr.startswith("error: standard input is closed")
    assert repo.snapshot() == before


def test_a_text_from_stdin(repo: Repo):
    """A dash reads the text from stdin, in any script and with many lines."""
    repo.ok("log", "-", stdin="erste Zeile\nzweite: 好\n".encode())
    assert repo.ok("log", "--list", "--json").json["entries"][-1]["text"] == "erste Zeile\nzweite: 好"


def test_a_text_from_stdin_that_is_not_utf8(repo: Repo):
    """Bytes that are not UTF-8 are refused."""
    result = repo.sow("log", "-", stdin=b"\xff\xfe")
    assert result.code == 2
    assert "is not UTF-8" in result.err


@pytest.mark.parametrize("words", [("status",), ("inbox",), ("task", "show", "010"), ("doctor",)])
def test_colour_on_a_terminal(task_repo: Repo, on_terminal: Callable[..., Any], words: tuple[str, ...]):
    """On a terminal there is colour."""
    task_repo.ok("task", "set", "--id", "010", "status", "paused")
    assert ESCAPE in on_terminal(task_repo, *words).end()[1]


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.parametrize("words", [("status",), ("task", "show", "099"), ("doctor",)])
def test_no_color_and_dumb_terminals_get_plain_text(
    task_repo: Repo, on_terminal: Callable[..., Any], variables: dict[str, str], words: tuple[str, ...]
):
    """NO_COLOR and a dumb terminal get plain text."""
    assert ESCAPE not in on_terminal(task_repo, *words, **variables).end()[1]


@pytest.mark.parametrize("words", [("status",), ("inbox",), ("doctor",), ("task", "show", "099")])
def test_no_colour_in_a_pipe(task_repo: Repo, words: tuple[str, ...]):
    """A program gets plain text."""
    result = task_repo.sow(*words)
    assert ESCAPE not in result.out + result.err


def test_errors_are_coloured_on_a_terminal_only(task_repo: Repo, on_terminal: Callable[..., Any]):
    """The labels of an error are red and cyan on a terminal."""
    code, shown = on_terminal(task_repo, "task", "show", "099").end()
    assert code == 2
    assert "\x1b[31merror:\x1b[0m there is no task 099" in shown


@few_of(
    "variables",
    [
        {"LANG": "C"},
        {"LC_ALL": "C"},
        {"LC_ALL": "POSIX"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
    ],
    2,
    ids=str,
)
def test_a_locale_without_a_letter(task_repo: Repo, variables: dict[str, str]):
    """In a poor locale letters are replaced on the screen, the command works, and JSON stays JSON."""
    name = "naïve → 好 🙂"
    task_repo.ok("task", "set", "--id", "010", "name", name)
    for case in (("status",), ("task", "show", "010"), ("doctor",), ("task", "list")):
        result = task_repo.ok(*case, **variables)
        assert "010" in result.out or case == ("doctor",)
    assert task_repo.ok("task", "show", "010", "--json", **variables).json["name"] == name
    assert task_repo.sow("task", "show", "好", **variables).code == 2


def test_a_poor_locale_stores_utf8(task_repo: Repo):
    """A name that is typed under LANG=C is stored as UTF-8."""
    task_repo.ok("task", "set", "--id", "010", "name", "naïve 好", LANG="C")
    assert task_repo.task("010")["name"] == "naïve 好"


def test_errors_and_hints_are_escaped(capsys: pytest.CaptureFixture[str]):
    """Control characters of a file's content do not reach the terminal, and further lines of a hint are indented."""
    print_error("bad \x1b[31m", "first \x1b[31m\nsecond")
    error = capsys.readouterr().err
    assert ESCAPE not in error
    assert error.splitlines()[2] == "      second"


LONG_NAME = "Make the totals of the shop exact to the cent in every currency that customers may pay with"


@pytest.mark.parametrize("words", [("task", "list"), ("status",), ("agent", "list"), ("plan", "show", "plan.md")])
def test_tables_fit_the_terminal(repo: Repo, on_terminal: Callable[..., Any], words: tuple[str, ...]):
    """On 80 columns no row of a table wraps and the first column is complete. A pipe gets every word."""
    (repo.root / "plan.md").write_text(f"# Plan\n\n## Task 1: {LONG_NAME}\n\nDo it.\n")
    repo.ok("task", "create", "--name", LONG_NAME)
    code, shown = on_terminal(repo, *words, NO_COLOR="1").end()
    rows = [line for line in shown.splitlines() if "implementer" in line or "IMPLEMENTER" in line]
    assert code == 0
    assert rows
    assert max(map(len, rows)) <= 80
    assert any("…" in row for row in rows)
    assert "…" not in repo.ok(*words).out
    assert ESCAPE not in shown


def test_a_slow_step_shows_its_time(repo: Repo, on_terminal: Callable[..., Any], tmp_path: Any):
    """A step of more than a second shows a line with its seconds on a terminal, and removes it at the end."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nsleep 1.6\necho 9.9.9\n")
    program.chmod(0o755)
    path = f"{program.parent}:{repo.environment['PATH']}"
    code, shown = on_terminal(repo, "doctor", PATH=path).end()
    assert "Checking the repository and the agent CLIs (1s)" in shown
    assert re.search(r"\([0-9]s\)\r +\r", shown)
    assert code in (0, 1)
    program.write_text("#!/bin/sh\nsleep 1.6\necho 9.9.8\n")
    assert "Checking" not in on_terminal(repo, "doctor", "-q", PATH=path).end()[1]
    assert "Checking" not in repo.sow("doctor", PATH=path).err


LONG_TEXT = (
    "Which of the two currencies does the shop use for its totals when a customer pays with the other one instead?"
)


@pytest.mark.parametrize("words", [("inbox",), ("status",)])
def test_texts_break_between_words(task_repo: Repo, on_terminal: Callable[..., Any], words: tuple[str, ...]):
    """On 80 columns a long question is several lines of whole words; a pipe gets one line."""
    task_repo.ok("log", "--task", "010", LONG_TEXT)
    task_repo.ok("task", "set", "--id", "010", "status", "paused")
    code, shown = on_terminal(task_repo, *words, NO_COLOR="1").end()
    assert code == 0
    assert max(map(len, shown.splitlines())) <= 80, shown
    assert LONG_TEXT in " ".join(shown.split())
    assert LONG_TEXT in task_repo.ok(*words).out


def test_notes_break_between_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """A note and a question on a terminal break between words; a note in a pipe is one line."""
    terminal.err(f"note: {LONG_TEXT}")
    assert capsys.readouterr().err == f"note: {LONG_TEXT}\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n"))
    terminal.err(f"note: {LONG_TEXT}")
    assert terminal.ask(LONG_TEXT) == "yes"
    shown = capsys.readouterr().err
    assert max(map(len, shown.splitlines())) <= 80
    assert " ".join(shown.split()) == f"note: {LONG_TEXT} {LONG_TEXT}"
