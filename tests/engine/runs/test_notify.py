"""Notifications: a script of the user gets questions and the end of the run, and never delays the run."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import SOW, Repo
from support.plan_repo import WORK, PlanRepo
from support.quick_cases import few_of
from support.workflow_repo import WorkflowRepo

ASK = "sow note add --description 'Which port?' --context x --category requirements\n"
ASK += "sow note escalate 1 --reason 'only a person knows'\nsow task set status paused\n"
SCRIPT = """#!/bin/sh
cat > {folder}/said-$$.part
for name in EVENT RUN TASK TEXT ROOT; do eval "echo \\"\\$SOW_$name\\"" >> {folder}/told-$$; done
printf '%s\\n' "$@" > {folder}/words-$$
pwd > {folder}/cwd-$$
mv {folder}/said-$$.part {folder}/said-$$
{more}
"""


class Listener:
    """The user's script and its calls."""

    def __init__(self, folder: Path, more: str = "") -> None:
        self.folder = folder / "ear"
        self.folder.mkdir()
        self.path = self.folder / "no tify"
        self.path.write_text(SCRIPT.format(folder=self.folder, more=more))
        self.path.chmod(0o755)

    def heard(self) -> list[dict[str, Any]]:
        """Returns every notification in order: its facts, variables and arguments."""
        result = []
        for path in sorted(self.folder.glob("said-*"), key=lambda each: each.stat().st_mtime_ns):
            number = path.name.removeprefix("said-")
            lines = (self.folder / f"told-{number}").read_text().splitlines()
            text = (self.folder / f"words-{number}").read_text().splitlines()
            result.append({**json.loads(path.read_text()), "told": lines, "words": text})
        return result


@pytest.fixture
def listener(tmp_path: Path) -> Listener:
    return Listener(tmp_path)


def test_a_question_and_the_end_are_sent(plan_repo: PlanRepo, listener: Listener) -> None:
    """A script gets a question and the end, as variables and as JSON, outside of any repository."""
    plan_repo.act("implementer-010", ASK)
    plan_repo.act("implementer-020", f"sleep 2\n{WORK}")
    plan_repo.configure(notify={"command": [str(listener.path), "a b", "$(touch owned)"]})
    plan_repo.plan("First", "Second")
    assert plan_repo.run().code == 4
    asked, over = listener.heard()
    run = plan_repo.runs()[0]["id"]
    text = 'task 1 (010) First: asks question 1: Which port? → sow answer 1 "…"'
    assert asked["told"] == ["question", run, "010", text, str(plan_repo.repo.root)]
    assert asked["words"] == ["a b", "$(touch owned)"]
    expected = {
        "event": "question",
        "run": run,
        "task": "010",
        "number": 1,
        "text": text,
        "count": 1,
        "name": "Harbour",
    }
    assert expected.items() <= asked.items()
    assert over["told"][:3] == ["run_ended", run, ""]
    assert (over["exit"], over["status"], over["task"]) == (4, "waiting", None)
    assert over["text"].startswith("the run is paused after")
    assert {path.read_text() for path in listener.folder.glob("cwd-*")} == {"/\n"}
    assert not list(plan_repo.repo.root.rglob("owned"))


@pytest.mark.full
def test_a_text_is_split_like_in_a_shell(plan_repo: PlanRepo, listener: Listener) -> None:
    """A command that is one text may have quotes, and no other shell syntax."""
    plan_repo.configure(notify={"command": f"'{listener.path}' --as \"two words\" $HOME ; echo"})
    plan_repo.plan("First")
    assert plan_repo.run().code == 0
    (over,) = listener.heard()
    assert over["words"] == ["--as", "two words", "$HOME", ";", "echo"]
    assert (over["event"], over["exit"]) == ("run_ended", 0)


@pytest.mark.full
def test_notifications_are_grouped(plan_repo: PlanRepo, tmp_path: Path) -> None:
    """Questions that come while a command runs are sent with the next one, with their number."""
    listener = Listener(tmp_path, more="sleep 1.2")
    plan_repo.act("implementer", ASK)
    plan_repo.configure(notify={"command": [str(listener.path)]}, run={"max_concurrency": 4})
    plan_repo.plan("First", "Second", "Third", "Fourth")
    assert plan_repo.run().code == 4
    heard = listener.heard()
    assert len(heard) < 5
    assert sum(item["count"] for item in heard) == 5
    assert heard[-1]["event"] == "run_ended"
    assert any(entry["text"].endswith(f"(and {entry['count'] - 1} more: sow inbox)") for entry in heard)


@few_of(
    ("more", "said"),
    [
        ("echo no bus >&2; exit 3", "ended with exit code 3: no bus"),
        ("setsid sleep 300 & sleep 300", "took longer than 5 s"),
    ],
    1,
    ids=["fails", "hangs"],
)
def test_a_failed_command_is_reported_once(plan_repo: PlanRepo, tmp_path: Path, more: str, said: str) -> None:
    """A command that fails or hangs is reported once and ended with its processes; the run does not change."""
    listener = Listener(tmp_path, more)
    plan_repo.act("implementer-010", ASK)
    plan_repo.act("implementer-020", f"sleep 7\n{WORK}")
    plan_repo.configure(notify={"command": [str(listener.path)]})
    plan_repo.plan("First", "Second")
    result = plan_repo.run()
    assert result.code == 4, result
    (messages,) = plan_repo.journal("notify_failed")
    assert messages["reason"] == f"notify.command: {listener.path} {said}"
    assert (result.out + result.err).count("nobody is notified") == 1
    assert plan_repo.journal()[-1]["event"] == "run_ended"
    assert plan_repo.statuses()["020"] == "completed"
    assert plan_repo.alive() == []


def test_a_failure_at_the_end_is_a_note(plan_repo: PlanRepo, tmp_path: Path) -> None:
    """A failure after the journal's last entry is reported in the output."""
    listener = Listener(tmp_path, "exit 1")
    plan_repo.configure(notify={"command": [str(listener.path)]})
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 0, result
    assert f"note: nobody was notified: notify.command: {listener.path} ended with exit code 1" in result.err
    assert plan_repo.journal()[-1]["event"] == "run_ended"


@few_of(
    ("command", "said"),
    [
        (["no-such-program-here"], "notify.command: there is no program no-such-program-here"),
        (["./part"], "notify.command: must begin with the name of a program or an absolute path, not './part'"),
        ("say 'hello", "notify.command: a quote is not closed"),
    ],
    1,
)
def test_an_invalid_command_stops_nothing(plan_repo: PlanRepo, command: Any, said: str) -> None:
    """For a missing program, one of the repository, or an invalid text the run prints a note and continues."""
    (plan_repo.repo.root / "part").write_text("#!/bin/sh\ntouch owned\n")
    (plan_repo.repo.root / "part").chmod(0o755)
    plan_repo.configure(notify={"command": command})
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 0, result
    (messages,) = plan_repo.journal("notify_failed")
    assert messages["reason"].endswith(said)
    assert not list(plan_repo.repo.root.rglob("owned"))


@pytest.mark.full
def test_a_command_with_much_output_is_read(plan_repo: PlanRepo, tmp_path: Path) -> None:
    """A command that prints megabytes is neither blocked nor kept in memory."""
    listener = Listener(tmp_path, "head -c 20000000 /dev/zero; exit 0")
    plan_repo.configure(notify={"command": [str(listener.path)]})
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 0
    assert "notified" not in result.out + result.err


@pytest.mark.full
def test_a_repository_names_no_command(plan_repo: PlanRepo, listener: Listener) -> None:
    """notify in a repository's settings starts nothing."""
    plan_repo.plan("First")
    plan_repo.repo.ok("init")
    (plan_repo.repo.root / ".sow/config.yaml").write_text(
        f'schema_version: "1.2.0"\nnotify:\n  command: ["{listener.path}"]\n'
    )
    plan_repo.run()
    assert listener.heard() == []


def in_terminal(repo: Repo, *arguments: str) -> bytes:
    """Runs sow with a terminal as its output, and returns the output."""
    master, slave = pty.openpty()
    run = subprocess.Popen(
        [SOW, *arguments],
        cwd=repo.root,
        env={**repo.environment, "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(slave)
    seen, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        try:
            more = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        seen += more
    run.wait(60)
    os.close(master)
    return seen


@few_of(
    ("settings", "words", "rings"),
    [({}, (), True), ({"bell": False}, (), False), ({}, ("--json",), False)],
    1,
    ids=["usual", "off", "json"],
)
def test_the_bell(plan_repo: PlanRepo, settings: dict[str, Any], words: tuple[str, ...], rings: bool) -> None:
    """The bell rings on a terminal, unless it is off or the output is JSON, and never in a pipe."""
    plan_repo.configure(notify=settings)
    plan_repo.plan("First")
    assert (b"\x07" in in_terminal(plan_repo.repo, "run", "plan.yaml", *words)) == rings
    assert "\x07" not in plan_repo.run().out


@pytest.mark.full
def test_a_workflow_sends_notifications(repo: Repo, tmp_path: Path, listener: Listener) -> None:
    """The end of a workflow's run is sent like that of a plan's."""
    flow = WorkflowRepo(repo, tmp_path).begin().crew({"first": []})
    path = "orchestration/agents/first/task_output/first.txt"
    work = [
        {"write": {"path": path, "text": "one line\n"}},
        {"stand": "completion_drive_review"},
        {"stand": "ready_for_verification"},
        {"say": "done"},
    ]
    flow.scripted({"first": [work], "first_verifier": [[{"say": "I read it.\n\nVerification: PASSED"}]]})
    repo.ok("workflow", "verify", "--executor", "simulated", "--yes")
    config = Path(repo.environment["HOME"], ".config/sow/config.yaml")
    config.write_text(f'{config.read_text()}\nnotify:\n  command: ["{listener.path}"]\n')
    repo.ok("workflow", "run", "--executor", "script")
    (over,) = listener.heard()
    assert (over["event"], over["exit"], over["name"]) == ("run_ended", 0, "user_management")


SETTINGS = {
    "notify: {command: [sh, -c, 'true']}": "✓ The notification command exists",
    "notify: {command: no-such-program-here --now}": "⚠ Warning: notify.command: no-such-program-here not found",
    "notify: {command: [bin/tell]}": "must begin with the name of a program or an absolute path, not 'bin/tell'",
    'notify: {command: "tell \'me"}': "notify.command: a quote is not closed",
    "notify: {command: 3}": "notify.command: must be a list or a text",
    "notify: {bell: loud}": "notify.bell: must be true or false",
    "notify: {comand: []}": "is not a field; did you mean command?",
}


@pytest.mark.parametrize("text", SETTINGS)
def test_validate_checks_the_command(repo: Repo, text: str) -> None:
    """`sow config validate` says whether the command can be used."""
    path = Path(repo.environment["HOME"], ".config/sow/config.yaml")
    path.parent.mkdir(parents=True)
    path.write_text(f"{text}\n")
    result = repo.sow("config", "validate")
    output = " ".join((result.out + result.err).split())
    assert SETTINGS[text] in output, result
    assert result.code == (0 if SETTINGS[text][0] in "✓⚠" else 2)
