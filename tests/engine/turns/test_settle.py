"""The end of a turn: hand edits of its worker are undone, and those of others stay."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Repo
from support.plan_repo import WORK, PlanRepo
from support.simulated_workers import WorkerRepo, end, script, wait_for

from sow.engine.turns import settle
from sow.store.files import checkout_home as homes
from sow.store.projects import project as projects
from sow.store.state_watcher import Snapshot, StateWatcher

HAND_IN = {"status": "needs_review"}
WAIT = {"run": ["sh", "-c", "touch begun-{task}; while [ ! -e go-{task} ]; do sleep 0.02; done"]}


CALLS: list[subprocess.Popen[bytes]] = []


@pytest.fixture(autouse=True)
def _end_calls() -> Iterator[None]:
    """Ends the calls that a failed test left."""
    yield
    for call in CALLS:
        if call.poll() is None:
            end(call)
    CALLS.clear()


@pytest.fixture
def pair(worker: WorkerRepo) -> WorkerRepo:
    """A repository with a second pending task, 020, that is not the worker's."""
    worker.repo.ok("task", "create", "--name", "Another")
    return worker


def state(repo: Repo, task: str) -> Path:
    return repo.task_folder(task) / "state.yaml"


def notes(repo: Repo, task: str) -> Path:
    return repo.task_folder(task) / "completion_drive" / "session_current.json"


def edit(path: Path, old: str, new: str) -> dict[str, list[str]]:
    """Returns a step in which the worker edits a file."""
    return {"run": ["sed", "-i", f"s/{old}/{new}/", str(path)]}


def scenarios(worker: WorkerRepo, **tasks: list[dict[str, Any]]) -> None:
    """Returns one turn for each task."""
    path = worker.folder / "scenario.yaml"
    path.write_text(yaml.safe_dump({"tasks": {name.removeprefix("t"): [turn] for name, turn in tasks.items()}}))
    worker.repo.environment["SOW_SIMULATED_SCENARIO"] = str(path)


def begin(worker: WorkerRepo, task: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Starts a worker that waits for `go`."""
    call = worker.start("agent", "spawn", "implementer", task, *arguments)
    CALLS.append(call)
    wait_for(lambda: (worker.repo.root / f"begun-{task}").exists())
    return call


def go(worker: WorkerRepo, task: str, call: subprocess.Popen[bytes]) -> tuple[str, str]:
    """Lets a waiting worker continue; returns the output of its call."""
    (worker.repo.root / f"go-{task}").touch()
    out, err = call.communicate(timeout=300)
    assert call.returncode == 0, err
    return out.decode(), err.decode()


def test_a_pulled_state_before_the_turn_stays(pair: WorkerRepo) -> None:
    """A newer state of another task that came through git is no edit of the worker."""
    path = state(pair.repo, "020")
    newer = re.sub(r"revision: \d+", "revision: 40", path.read_text()).replace("name: Another", "name: By a teammate")
    path.write_text(newer)
    result = pair.spawn()
    assert (result.code, path.read_text()) == (0, newer), result
    assert "edited" not in result.err


def test_changes_of_a_person_stay(pair: WorkerRepo) -> None:
    """Tasks, notes and the project may change through sow while a worker works."""
    scenarios(pair, t010=[WAIT, HAND_IN])
    call = begin(pair, "010")
    pair.repo.ok("task", "set", "--id", "020", "priority", "high")
    pair.repo.ok("note", "add", "--task", "020", "--description", "unsure", "--context", "here")
    pair.repo.ok("note", "escalate", "1", "--task", "020", "--reason", "a question")
    pair.repo.ok("task", "create", "--name", "A third")
    out, err = go(pair, "010", call)
    assert "edited" not in err and "appeared" not in err
    assert out.splitlines()[-1] == "task 010: status is needs_review"
    assert (pair.repo.task("020")["priority"], pair.repo.task("020")["notes"][0]["status"]) == ("high", "escalated")
    assert pair.repo.task("030")["name"] == "A third"


def test_an_edit_after_a_change_is_undone_and_the_change_stays(pair: WorkerRepo) -> None:
    """The last state that sow wrote during the turn counts, not the one at its beginning."""
    scenarios(pair, t010=[WAIT, edit(state(pair.repo, "020"), "name: Another", "name: Mine"), HAND_IN])
    call = begin(pair, "010")
    pair.repo.ok("task", "set", "--id", "020", "priority", "high")
    _, err = go(pair, "010", call)
    task = pair.repo.task("020")
    assert (task["name"], task["priority"]) == ("Another", "high")
    assert "task 020: its state file was edited by hand; the last good state is back" in err


def test_a_workers_own_outcome_is_settled_at_its_own_end(pair: WorkerRepo) -> None:
    """A status that a worker wrote by hand is settled at the end of its own turn only."""
    paused = edit(state(pair.repo, "010"), "status: in_progress", "status: paused")
    scenarios(pair, t010=[{"log": "Which algorithm?"}, paused, WAIT], t020=[WAIT, HAND_IN])
    other = begin(pair, "020")
    first = begin(pair, "010")
    _, err = go(pair, "020", other)
    assert "status: paused" in pair.repo.state("010") and "task 010" not in err
    out, _ = go(pair, "010", first)
    assert out.splitlines()[-1] == "task 010: status is paused"
    assert pair.repo.task("010")["question"]["text"] == "Which algorithm?"


SILENT = "#!/bin/sh\ntouch made-$SOW_TASK\n"


@pytest.mark.full
def test_a_shared_folder_is_no_evidence(pair: WorkerRepo) -> None:
    """If another worker was active in the folder, its changes do not count for a silent worker."""
    scenarios(pair, t020=[WAIT, HAND_IN])
    script(pair, SILENT)
    other = begin(pair, "020")
    result = pair.spawn("--executor", "script")
    go(pair, "020", other)
    assert result.out.splitlines()[-1] == "task 010: status is failed", result
    assert "others worked in the same folder (task 020)" in result.err


@pytest.mark.parametrize("when", ["before", "never"])
def test_a_folder_of_its_own_is_evidence(pair: WorkerRepo, when: str) -> None:
    """A silent worker that changed its folder has handed in, though another one had worked there before."""
    scenarios(pair, t020=[HAND_IN])
    script(pair, SILENT)
    if when == "before":
        pair.repo.ok("agent", "spawn", "implementer", "020")
    result = pair.spawn("--executor", "script")
    assert result.out.splitlines()[-1] == "task 010: status is needs_review", result


CONFLICT = "<<<<<<< ours\nname: a\n=======\nname: b\n>>>>>>> theirs\n"


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_conflict_elsewhere_is_a_remark(pair: WorkerRepo, when: str) -> None:
    """A merge conflict in the state of another task ends no turn, and stays for a person."""
    path = state(pair.repo, "020")
    if when == "before":
        path.write_text(CONFLICT)
        pair.scenario([HAND_IN])
    else:
        (pair.folder / "conflict").write_text(CONFLICT)
        pair.scenario([{"run": ["cp", str(pair.folder / "conflict"), str(path)]}, HAND_IN])
    result = pair.spawn()
    assert (result.code, path.read_text()) == (0, CONFLICT), result
    assert result.out.splitlines()[-1] == "task 010: status is needs_review"
    assert ("task 020: " in result.err and "merge conflict" in result.err) == (when == "during")


BREAKING = {
    "broken": ["sh", "-c", "echo : > {path}"],
    "gone": ["rm", "{path}"],
    "gone with its folder": ["rm", "-r", "{folder}"],
    "a link": ["ln", "-sf", "/etc/passwd", "{path}"],
}


@pytest.mark.parametrize("how", BREAKING)
def test_a_broken_file_elsewhere_is_restored(pair: WorkerRepo, how: str) -> None:
    """Any change of a worker to the state of another task is undone after the turn, with a remark."""
    path = state(pair.repo, "020")
    before = path.read_text()
    text = [word.format(path=path, folder=path.parent) for word in BREAKING[how]]
    pair.scenario([{"run": text}, HAND_IN])
    result = pair.spawn()
    assert (result.code, path.read_text(), path.is_symlink()) == (0, before, False), result
    assert "task 020: its state file was edited by hand; the last good state is back" in result.err


def test_a_broken_file_of_its_own_is_restored(worker: WorkerRepo) -> None:
    """A worker that breaks its own state has set no status by that."""
    worker.scenario([{"write": {"path": str(state(worker.repo, "010")), "text": ": :"}}])
    result = worker.spawn()
    assert result.out.splitlines()[-1] == "task 010: status is needs_review", result


def test_the_project_is_restored(worker: WorkerRepo) -> None:
    """The project's own state is restored like any other."""
    worker.scenario([edit(worker.repo.project / "state.yaml", "name: Add authentication", "name: hacked"), HAND_IN])
    result = worker.spawn()
    assert worker.repo.ok("status", "--json").json["project"]["name"] == "Add authentication"
    assert ".sow/project/state.yaml was edited by hand; the last good state is back" in result.err


def test_an_unknown_folder_is_reported(worker: WorkerRepo) -> None:
    """A task folder that a worker made by hand stays, since it may have come through git, and is reported."""
    made = worker.repo.task_folder("050")
    worker.scenario([{"run": ["cp", "-r", str(worker.repo.task_folder("010")), str(made)]}, HAND_IN])
    assert "tasks/050/state.yaml appeared during the turn, and not through sow" in worker.spawn().err
    assert made.exists()


def test_notes_of_another_task_are_restored(pair: WorkerRepo) -> None:
    """A note that blocks another task is open again after the turn."""
    pair.repo.ok("note", "add", "--task", "020", "--description", "unsure", "--context", "here")
    before = notes(pair.repo, "020").read_text()
    pair.scenario([edit(notes(pair.repo, "020"), '"open"', '"escalated"'), HAND_IN])
    result = pair.spawn()
    assert notes(pair.repo, "020").read_text() == before
    assert "task 020: its notes were edited by hand" in result.err


RESOLVED = '"resolved", "resolution": "yes", "resolved_by": "agent_self", "resolution_timestamp": 1'
ON_ITS_OWN_DESK = {
    "closes a matter of security": ({"category": "security"}, RESOLVED, "open"),
    "closes a detail": ({"category": "detail"}, RESOLVED, "resolved"),
    "escalates": ({}, '"escalated", "escalation_reason": "why"', "escalated"),
}


@pytest.mark.parametrize("case", ON_ITS_OWN_DESK)
def test_notes_by_hand_follow_the_rules(worker: WorkerRepo, case: str) -> None:
    """A worker that edits its notes by hand can do no more with them than through sow."""
    more, now, expected = ON_ITS_OWN_DESK[case]
    change = edit(notes(worker.repo, "010"), '"open"', now)
    worker.scenario([{"note": {"description": "unsure", **more}}, change, {"write": {"path": "a", "text": "b"}}])
    result = worker.spawn()
    assert worker.repo.task("010")["notes"][0]["status"] == expected, result
    assert worker.repo.task("010")["status"] == ("needs_review" if expected == "resolved" else "failed"), result


@pytest.mark.full
def test_a_removed_note_is_restored(worker: WorkerRepo) -> None:
    """No note is lost by removing its file, and it still blocks the task."""
    worker.scenario([{"note": {"description": "unsure"}}, {"run": ["rm", str(notes(worker.repo, "010"))]}, HAND_IN])
    worker.spawn()
    task = worker.repo.task("010")
    assert {note["description"] for note in task["notes"]} == {"unsure"}
    assert {note["status"] for note in task["notes"]} == {"open"}
    assert task["status"] == "failed"


@pytest.mark.parametrize("text", ["", "{", '{"notes": 7}'])
def test_unreadable_notes_are_removed(worker: WorkerRepo, text: str) -> None:
    """An unreadable file in place of notes resolves none of them."""
    worker.scenario([{"write": {"path": str(notes(worker.repo, "010")), "text": text}}])
    result = worker.spawn()
    assert result.out.splitlines()[-1] == "task 010: status is needs_review", result
    assert not notes(worker.repo, "010").exists()


def test_a_note_written_by_hand_counts(worker: WorkerRepo) -> None:
    """A note that a worker writes into the file by hand blocks its task."""
    note = {"note_id": "note_001", "timestamp": 1, "description": "unsure", "context": "here", "status": "open"}
    text = json.dumps({"task_id": "add_login_1700000000", "session_start": 1700000000, "notes": [note]})
    worker.scenario([{"write": {"path": str(notes(worker.repo, "010")), "text": text}}])
    result = worker.spawn()
    assert result.out.splitlines()[-1] == "task 010: status is failed", result
    assert "open notes: note_001" in result.err


@pytest.mark.full
def test_a_task_in_a_turn_is_not_decided(worker: WorkerRepo) -> None:
    """While a live worker has a task it is neither approved nor abandoned, and the project is not removed."""
    scenarios(worker, t010=[HAND_IN, WAIT])
    call = begin(worker, "010")
    before = worker.repo.state("010")
    for case in (
        ("approve", "010"),
        ("task", "set", "--id", "010", "status", "completed"),
        ("task", "abandon", "010", "--reason", "enough"),
        ("cleanup", "--yes"),
        ("project", "delete", "--yes"),
    ):
        result = worker.repo.sow(*case)
        assert (result.code, worker.repo.state("010")) == (4, before), result
        assert result.err.startswith(f"error: task 010 is claimed by pid {call.pid} on ")
    go(worker, "010", call)
    worker.repo.ok("approve", "010")


def test_a_deferred_scan_finds_edits(task_repo: Repo) -> None:
    """A scan that a turn deferred finds the turn's edits in other folders, once."""
    task_repo.ok("task", "create", "--name", "Another")
    home = homes.find(option=str(task_repo.root), environment={}, cwd=str(task_repo.root))
    seen = StateWatcher(home, is_shared=True)
    turn = Snapshot(home, projects.load(home), seen)
    path = state(task_repo, "020")
    before = path.read_text()
    path.write_text(before.replace("pending", "completed"))
    seen.cost, seen.scanned = 3600.0, time.monotonic() + 3600  # just now, however slow this machine is
    assert turn.hand_edits("010") == []
    (named, remark), *more = settle.undo_deferred_edits(seen)
    assert (named, path.read_text(), more) == ("020", before, [])
    assert remark.startswith("task 020: its state file was edited by hand; the last good state is back, the edit is in")
    assert settle.undo_deferred_edits(seen) == []


@pytest.mark.full
def test_a_deferred_scan_is_done_during_other_turns(plan_repo: PlanRepo) -> None:
    """If a scan is slow, edits elsewhere are undone soon, however long the other turns take."""
    plan_repo.plan(*(f"Part {number}" for number in range(1, 301)))
    path, gate = "$SOW_ROOT/.sow/project/phases/implementation/tasks/2000/state.yaml", plan_repo.folder / "gate"
    plan_repo.act("implementer-010", f"sed -i s/pending/completed/ {path}\n{WORK}")
    plan_repo.act("implementer-020", f"until [ -e {gate} ]; do sleep 0.05; done\n{WORK}")
    run = plan_repo.start("--task", "1", "--task", "2", "--review", "off", "--isolation", "none")
    wait_for(lambda: plan_repo.has_happened("task_ended", task="010"))
    wait_for(lambda: "task 2000: its state file was edited by hand" in str(plan_repo.journal("restored", "turn_ended")))
    assert plan_repo.task("2000")["status"] == "pending"
    gate.touch()
    run.communicate(timeout=300)
    assert run.returncode == 0


@pytest.mark.full
def test_no_scan_is_left_at_the_end_of_a_run(plan_repo: PlanRepo) -> None:
    """With very many tasks, edits of the last turn are undone before the run ends."""
    plan_repo.plan(*(f"Part {number}" for number in range(1, 301)))
    path = "$SOW_ROOT/.sow/project/phases/implementation/tasks/2000/state.yaml"
    plan_repo.act("implementer", f"sed -i s/pending/completed/ {path}\n{WORK}")
    result = plan_repo.run("--task", "1", "--review", "off", "--isolation", "none")
    assert result.code == 0, result
    assert plan_repo.task("2000")["status"] == "pending"
    assert "task 2000: its state file was edited by hand" in str(plan_repo.journal("restored", "turn_ended"))
