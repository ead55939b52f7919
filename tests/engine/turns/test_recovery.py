"""After a crash, the next command ends what a turn left running and repairs what it left on disk."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from conftest import SOW
from fakes import install
from support.quick_cases import few_of
from support.simulated_workers import WorkerRepo, end, script, wait_for

HANGING = [{"run": ["touch", "begun"]}, {"hang": True}]
HAND_IN = [{"write": {"path": "a.py", "text": "x"}}, {"status": "needs_review"}]
SECRET = "the-value-that-nobody-may-keep"


def crash(worker: WorkerRepo, *arguments: str) -> None:
    """Kills a call of sow once its worker works."""
    call = worker.start("agent", "spawn", "implementer", "010", *arguments)
    wait_for(lambda: (worker.repo.root / "begun").exists())
    end(call, signal.SIGKILL)


def everything(worker: WorkerRepo) -> bytes:
    folder = worker.repo.root / ".sow/local/sessions"
    return b"\0".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "words", [("task", "abandon", "010", "--reason", "enough"), ("cleanup", "--yes"), ("project", "delete", "--yes")]
)
def test_ending_a_task_ends_its_worker(worker: WorkerRepo, words: tuple[str, ...]) -> None:
    """After kill -9 of sow, abandoning the task or deleting the project ends the worker and closes its record."""
    worker.scenario(HANGING)
    crash(worker)
    assert worker.alive()
    result = worker.repo.ok(*words)
    assert "note: an earlier turn on task 010 was cut off" in result.err
    assert not worker.alive()
    assert worker.outcomes() == ["lost"]


def test_approving_a_task_ends_its_worker(worker: WorkerRepo) -> None:
    """The work of a worker that continued after kill -9 of sow can be approved, and the worker ends."""
    worker.scenario([{"status": "needs_review"}, *HANGING])
    crash(worker)
    assert "was cut off" in worker.repo.ok("approve", "010").err
    assert not worker.alive()
    assert worker.repo.task("010")["status"] == "completed"


def test_an_unsupervised_turn_is_reported(worker: WorkerRepo) -> None:
    """After kill -9 of sow, status and doctor say that the worker still runs and how to end it."""
    worker.scenario(HANGING)
    call = worker.start("agent", "spawn", "implementer", "010")
    wait_for(lambda: (worker.repo.root / "begun").exists())
    document = worker.repo.ok("status", "--json").json
    assert (document["left"], document["idle"]) == ([], [])
    end(call, signal.SIGKILL)
    document = worker.repo.ok("status", "--json").json
    assert (document["left"], document["idle"]) == ([{"task": "010", "do": "sow runs stop"}], [])
    assert document["next"]["text"] == "an earlier turn on task 010 still runs, and nobody supervises it: end it"
    assert document["next"]["command"] == "sow runs stop"
    shown = worker.repo.ok("status").out
    assert "a turn on task 010  →  sow runs stop" in shown
    assert "Nobody works on" not in shown
    what = "an earlier turn on task 010 is still running, unsupervised"
    messages = {"state": "warning", "what": what, "hint": "stop it: sow runs stop"}
    assert messages in worker.repo.sow("doctor", "--json").json["findings"]
    ended = worker.repo.ok("runs", "stop").out  # although there never was a run
    assert "an earlier turn on task 010 was cut off; processes of it that had to be ended: " in ended
    assert not worker.alive()


def test_a_task_without_a_worker_is_reported(worker: WorkerRepo) -> None:
    """Status and doctor name a task in progress whose worker is gone, with the next command."""
    worker.scenario(HANGING, HAND_IN)
    crash(worker)
    for pid in worker.alive():
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not worker.alive())
    door = 'sow agent resume 010 "Continue"'
    document = worker.repo.ok("status", "--json").json
    assert (document["left"], document["idle"]) == ([], [{"task": "010", "do": door}])
    assert document["next"]["command"] == door
    shown = worker.repo.ok("status").out
    assert f"\nNext\n  nobody works on task 010: continue it\n  {door}\n" in shown
    assert shown.count(door) == 1
    findings = worker.repo.sow("doctor", "--json").json["findings"]
    messages = {
        "state": "warning",
        "what": "task 010 is in progress, but no worker is on it",
        "hint": f"continue it: {door}",
    }
    assert messages in findings
    worker.resume()
    assert worker.repo.ok("status", "--json").json["idle"] == []


def test_a_task_started_by_hand_needs_no_worker(worker: WorkerRepo) -> None:
    """A task in progress without a session is not reported."""
    worker.repo.ok("task", "set", "--id", "010", "status", "in_progress")
    assert worker.repo.ok("status", "--json").json["idle"] == []


LEAKING = f"""#!/bin/sh
echo "it is {SECRET}."; echo "it is {SECRET}." >&2
touch begun
exec sleep 300
"""


def test_a_secret_is_masked_when_its_value_is_known(worker: WorkerRepo) -> None:
    """Recovered without the secret's value, a turn stays to be masked; its record has the name and never the value."""
    script(worker, LEAKING, env=["PLAIN"])
    worker.repo.environment["PLAIN"] = SECRET
    crash(worker, "--executor", "script")
    del worker.repo.environment["PLAIN"]
    script(worker, f"#!/bin/sh\n{SOW} task set status needs_review\n", env=["PLAIN"])
    assert worker.resume().code == 0
    first = worker.record()["turns"][0]
    assert (first["outcome"], first["unstruck"]) == ("lost", ["PLAIN"])
    assert SECRET not in (worker.repo.root / ".sow/local/sessions/010/1/record.yaml").read_text()
    assert SECRET.encode() in everything(worker)
    worker.repo.ok("approve", "010", PLAIN=SECRET)
    assert SECRET.encode() not in everything(worker)
    first = worker.record()["turns"][0]
    assert "unstruck" not in first and first["redacted"] >= 2


def test_secrets_of_the_settings_are_masked_after_a_crash(worker: WorkerRepo) -> None:
    """A variable that only the settings call a secret is masked by recovery too."""
    script(worker, LEAKING, env=["PLAIN"])
    worker.repo.environment["PLAIN"] = SECRET
    crash(worker, "--executor", "script")
    worker.repo.ok("task", "abandon", "010", "--reason", "enough")
    assert SECRET.encode() not in everything(worker)
    assert "unstruck" not in worker.record()["turns"][0]


def test_an_ended_turn_has_nothing_to_mask(worker: WorkerRepo) -> None:
    """The names are in the record only during the turn."""
    worker.repo.environment["MY_TOKEN"] = SECRET
    record = worker.repo.root / ".sow/local/sessions/010/1/record.yaml"
    worker.scenario([{"run": ["cp", str(record), "seen.yaml"]}, {"status": "needs_review"}])
    worker.spawn()
    assert "MY_TOKEN" in (worker.repo.root / "seen.yaml").read_text()
    assert "unstruck" not in record.read_text()


def slow(folder: Path, name: str) -> None:
    """Makes a fake CLI wait before its first output, until it is released."""
    program = folder / name
    program.rename(folder / f"{name}-itself")
    program.write_text(f'#!/bin/sh\n[ -e go ] || {{ touch begun; sleep 300; }}\nexec "{program}-itself" "$@"\n')
    program.chmod(0o755)


@few_of(
    ("executor", "name"), [("cursor", "cursor-agent"), ("codex", "codex"), ("opencode", "opencode"), ("amp", "amp")], 3
)
def test_a_cli_without_a_session_id_gets_a_fresh_session(worker: WorkerRepo, executor: str, name: str) -> None:
    """After a crash before the CLI named its id, resume starts a new session with the state on disk."""
    install(worker.repo, name, worker.folder / "bin")
    worker.repo.environment["AMP_API_KEY"] = "dummy-key"
    slow(worker.folder / "bin", name)
    crash(worker, "--executor", executor)
    (worker.repo.root / "go").touch()
    result = worker.resume(f"[[sh:{SOW} task set status needs_review]]", "--executor", executor)
    assert "the CLI never said which session it is: a fresh session starts" in result.err, result
    assert worker.record(2)["turns"][0]["kind"] == "recovery"
    assert "Do not start over" in worker.transcript(1, "prompt", session=2).read_text()
    assert not worker.alive()
