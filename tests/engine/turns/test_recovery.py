"""After a crash: what a turn left running and on disk is put in order by whoever comes next."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from conftest import SOW
from fakes import install
from support.quick_cases import few_of
from support.simulated_workers import Yard, end, script, wait_for

HANGING = [{"run": ["touch", "begun"]}, {"hang": True}]
HAND_IN = [{"write": {"path": "a.py", "text": "x"}}, {"status": "needs_review"}]
SECRET = "the-value-that-nobody-may-keep"


def crash(yard: Yard, *words: str) -> None:
    """Kill a call of sow once its worker works."""
    call = yard.start("agent", "spawn", "implementer", "010", *words)
    wait_for(lambda: (yard.repo.root / "begun").exists())
    end(call, signal.SIGKILL)


def everything(yard: Yard) -> bytes:
    folder = yard.repo.root / ".sow/local/sessions"
    return b"\0".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "words", [("task", "abandon", "010", "--reason", "enough"), ("cleanup", "--yes"), ("project", "delete", "--yes")]
)
def test_who_ends_a_task_leaves_nothing_of_it_running(yard: Yard, words: tuple[str, ...]) -> None:
    """After kill -9 of sow, giving the task or the project up ends the worker and closes its record."""
    yard.scenario(HANGING)
    crash(yard)
    assert yard.alive()
    result = yard.repo.ok(*words)
    assert "note: an earlier turn on task 010 was cut off" in result.err
    assert not yard.alive()
    assert yard.outcomes() == ["lost"]


def test_who_approves_leaves_nothing_of_it_running(yard: Yard) -> None:
    """The work of a worker that went on after kill -9 of sow can be approved, and the worker ends."""
    yard.scenario([{"status": "needs_review"}, *HANGING])
    crash(yard)
    assert "was cut off" in yard.repo.ok("approve", "010").err
    assert not yard.alive()
    assert yard.repo.task("010")["status"] == "completed"


def test_a_turn_that_nobody_supervises_is_told(yard: Yard) -> None:
    """After kill -9 of sow, status and doctor say that the worker still runs and how to end it; not before that."""
    yard.scenario(HANGING)
    call = yard.start("agent", "spawn", "implementer", "010")
    wait_for(lambda: (yard.repo.root / "begun").exists())
    known = yard.repo.ok("status", "--json").json
    assert (known["left"], known["idle"]) == ([], [])
    end(call, signal.SIGKILL)
    known = yard.repo.ok("status", "--json").json
    assert (known["left"], known["idle"]) == ([{"task": "010", "do": "sow runs stop"}], [])
    assert known["next"]["text"] == "an earlier turn on task 010 still runs, and nobody supervises it: end it"
    assert known["next"]["command"] == "sow runs stop"
    shown = yard.repo.ok("status").out
    assert "a turn on task 010  →  sow runs stop" in shown
    assert "Nobody works on" not in shown
    what = "an earlier turn on task 010 is still running, unsupervised"
    told = {"state": "warning", "what": what, "hint": "stop it: sow runs stop"}
    assert told in yard.repo.sow("doctor", "--json").json["findings"]
    ended = yard.repo.ok("runs", "stop").out  # although there never was a run
    assert "an earlier turn on task 010 was cut off; processes of it that had to be ended: " in ended
    assert not yard.alive()


def test_a_task_that_nobody_works_on_is_told(yard: Yard) -> None:
    """Status and doctor name a task in progress whose worker is gone, with the door; not one that has a worker."""
    yard.scenario(HANGING, HAND_IN)
    crash(yard)
    for pid in yard.alive():
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not yard.alive())
    door = 'sow agent resume 010 "Continue"'
    known = yard.repo.ok("status", "--json").json
    assert (known["left"], known["idle"]) == ([], [{"task": "010", "do": door}])
    assert known["next"]["command"] == door
    assert f"task 010  →  {door}" in yard.repo.ok("status").out
    findings = yard.repo.sow("doctor", "--json").json["findings"]
    told = {
        "state": "warning",
        "what": "task 010 is in progress, but no worker is on it",
        "hint": f"continue it: {door}",
    }
    assert told in findings
    yard.resume()
    assert yard.repo.ok("status", "--json").json["idle"] == []


def test_a_task_that_was_started_by_hand_is_somebodys(yard: Yard) -> None:
    """Who works without a session is not told that nobody works."""
    yard.repo.ok("task", "set", "--id", "010", "status", "in_progress")
    assert yard.repo.ok("status", "--json").json["idle"] == []


LEAKING = f"""#!/bin/sh
echo "it is {SECRET}."; echo "it is {SECRET}." >&2
touch begun
exec sleep 300
"""


def test_a_secret_waits_for_its_name(yard: Yard) -> None:
    """Recovered without the secret at hand, a turn stays to be struck; its record has the name and never the value."""
    script(yard, LEAKING, env=["PLAIN"])
    yard.repo.environment["PLAIN"] = SECRET
    crash(yard, "--executor", "script")
    del yard.repo.environment["PLAIN"]
    script(yard, f"#!/bin/sh\n{SOW} task set status needs_review\n", env=["PLAIN"])
    assert yard.resume().code == 0
    first = yard.record()["turns"][0]
    assert (first["outcome"], first["unstruck"]) == ("lost", ["PLAIN"])
    assert SECRET not in (yard.repo.root / ".sow/local/sessions/010/1/record.yaml").read_text()
    assert SECRET.encode() in everything(yard)
    yard.repo.ok("approve", "010", PLAIN=SECRET)
    assert SECRET.encode() not in everything(yard)
    first = yard.record()["turns"][0]
    assert "unstruck" not in first and first["redacted"] >= 2


def test_the_names_that_an_executor_lets_through_count_after_a_crash(yard: Yard) -> None:
    """What only the settings call a secret is struck out by recovery too."""
    script(yard, LEAKING, env=["PLAIN"])
    yard.repo.environment["PLAIN"] = SECRET
    crash(yard, "--executor", "script")
    yard.repo.ok("task", "abandon", "010", "--reason", "enough")
    assert SECRET.encode() not in everything(yard)
    assert "unstruck" not in yard.record()["turns"][0]


def test_a_turn_that_ends_leaves_nothing_to_be_struck(yard: Yard) -> None:
    """The names are in the record only as long as the turn lasts."""
    yard.repo.environment["MY_TOKEN"] = SECRET
    record = yard.repo.root / ".sow/local/sessions/010/1/record.yaml"
    yard.scenario([{"run": ["cp", str(record), "seen.yaml"]}, {"status": "needs_review"}])
    yard.spawn()
    assert "MY_TOKEN" in (yard.repo.root / "seen.yaml").read_text()
    assert "unstruck" not in record.read_text()


def slow(folder: Path, name: str) -> None:
    """Have a stand-in wait before its first word, until it is let go."""
    program = folder / name
    program.rename(folder / f"{name}-itself")
    program.write_text(f'#!/bin/sh\n[ -e go ] || {{ touch begun; sleep 300; }}\nexec "{program}-itself" "$@"\n')
    program.chmod(0o755)


@few_of(
    ("executor", "name"), [("cursor", "cursor-agent"), ("codex", "codex"), ("opencode", "opencode"), ("amp", "amp")], 3
)
def test_a_cli_that_never_said_its_session_gets_a_fresh_one(yard: Yard, executor: str, name: str) -> None:
    """A crash before a CLI told the id that it chose leaves no session: resume starts anew, with the packet."""
    install(yard.repo, name, yard.folder / "bin")
    yard.repo.environment["AMP_API_KEY"] = "dummy-key"
    slow(yard.folder / "bin", name)
    crash(yard, "--executor", executor)
    (yard.repo.root / "go").touch()
    result = yard.resume(f"[[sh:{SOW} task set status needs_review]]", "--executor", executor)
    assert "the CLI never said which session it is: a fresh session starts" in result.err, result
    assert yard.record(2)["turns"][0]["kind"] == "recovery"
    assert "Do not start over" in yard.transcript(1, "prompt", session=2).read_text()
    assert not yard.alive()
