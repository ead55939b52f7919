"""An act of a workflow that is killed between any two writes is done or not done, and can be repeated."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Repo
from support.workflow_store import ADA, TIME, StoredWorkflow, begun, deaths, itself, result

from sow.domain.documents.state import RunSettings
from sow.domain.workflows import escalation
from sow.errors import SowError
from sow.store import note_updates
from sow.store.files import disk
from sow.store.files.checkout_home import Home
from sow.store.runs import run_folder
from sow.store.workflows import archive, members, note_archive, question_updates

NAME = "database_agent"
OTHER = "00000000-0000-4000-8000-000000000000"  # another project


def started(flow: StoredWorkflow) -> None:
    flow.start()


def asking(flow: StoredWorkflow) -> None:
    flow.start()
    flow.block()


def asked(flow: StoredWorkflow) -> None:
    asking(flow)
    question_updates.ask_person(flow.home, NAME, "Unique?", kind="user")


def ready(flow: StoredWorkflow) -> None:
    flow.start()
    flow.note()
    note_updates.resolve(flow.home, NAME, "1", resolution="ok", actor=ADA)
    flow.hand_in()


def refused(flow: StoredWorkflow) -> None:
    ready(flow)
    members.record_verification(flow.home, NAME, result("failed"), feedback="no")
    flow.hand_in()


def passed(flow: StoredWorkflow) -> None:
    ready(flow)
    members.record_verification(flow.home, NAME, result("passed"))


def note_resolved(flow: StoredWorkflow) -> bool:
    session = json.loads(flow.notes().read_text())
    return flow.member()["status"] == "working" and session["notes"][0]["status"] == "resolved"


Act = tuple[Callable[[StoredWorkflow], object], Callable[[Home], object], Callable[[StoredWorkflow], bool]]
ACTS: dict[str, Act] = {
    "begin": (
        lambda flow: None,
        lambda home: members.begin_session(home, NAME, session_id="s-1"),
        lambda flow: flow.member()["status"] == "working" and flow.notes().is_file(),
    ),
    "note": (
        started,
        lambda home: note_updates.add(home, NAME, description="d", context="c", category="", actor=itself(NAME)),
        lambda flow: flow.view()["agents"][NAME]["completion_drive_notes_count"] >= 1,
    ),
    "move": (
        started,
        lambda home: members.set_status(home, NAME, "completion_drive_review", actor=itself(NAME)),
        lambda flow: flow.member()["status"] == "completion_drive_review",
    ),
    "resolve": (
        asking,
        lambda home: question_updates.resolve_notes(home, NAME, {"note_001": ("Yes", "user")}),
        note_resolved,
    ),
    "answer": (
        asked,
        lambda home: question_updates.answer(home, 1, "Yes", actor=ADA),
        lambda flow: flow.member().get("pending_answer") == "Yes" and "question" not in flow.member(),
    ),
    "refuse": (
        ready,
        lambda home: members.record_verification(home, NAME, result("failed"), feedback="no"),
        lambda flow: flow.member()["rounds"] == 1 and (flow.member_folder() / "verification_results.json").is_file(),
    ),
    "pass": (
        refused,
        lambda home: members.record_verification(home, NAME, result("passed", 2)),
        lambda flow: flow.member()["status"] == "verified",
    ),
    "complete": (
        passed,
        lambda home: members.complete_member(home, NAME),
        lambda flow: flow.member()["status"] == "session_complete" and not flow.notes().exists(),
    ),
}


def notes_anywhere(root: Path) -> int:
    """Returns how many notes are in all session files of the agent, archived ones included."""
    files = (root / f"orchestration/agents/{NAME}/completion_drive").glob("session_*.json")
    return sum(len(json.loads(path.read_text())["notes"]) for path in files)


@pytest.mark.parametrize("name", ACTS)
def test_an_interrupted_act_can_be_repeated(repo: Repo, tmp_path: Path, name: str):
    """After a kill before each change the files are valid or repaired, and the same act succeeds."""
    prepare, act, is_done = ACTS[name]
    first = begun(repo)
    prepare(first)
    before = notes_anywhere(repo.root)
    died = 0
    for at in deaths_on_copies(repo.root, tmp_path, act):
        died += 1
        flow = StoredWorkflow(at)
        members.recover(flow.home)
        assert notes_anywhere(at) >= before
        if not is_done(flow):
            act(flow.home)
        assert is_done(flow)
        assert flow.folder.view_text() == flow.folder.view(flow.folder.load())
        assert members.recover(flow.home) == []
        assert not (flow.member_folder() / "set_aside").exists(), "a change of our own was taken for an edit by hand"
        shutil.rmtree(at)
    assert died >= 3


def deaths_on_copies(root: Path, folder: Path, act: Callable[[Home], object]):
    """Returns a copy of the repository for every change before which the act was killed there."""
    number = 0
    while True:
        number += 1
        copy = folder / f"copy-{number}"
        shutil.copytree(root, copy, symlinks=True)
        if dies(StoredWorkflow(copy), act, number):
            yield copy
        else:
            shutil.rmtree(copy)
            return


def dies(flow: StoredWorkflow, act: Callable[[Home], object], at: int) -> bool:
    from support.workflow_store import DiskStopped, StoppingDisk

    try:
        act(flow.with_disk(StoppingDisk(at)))
    except DiskStopped:
        return True
    return False


def test_archival_can_be_repeated_and_loses_nothing(repo: Repo):
    """After repeated kills on the same files, archival ends with one file and one entry."""
    flow = begun(repo)
    passed(flow)
    died = list(deaths(flow, lambda home: members.complete_member(home, NAME)))
    assert len(died) >= 3
    files = list((flow.member_folder() / "completion_drive").glob("session_*.json"))
    assert len(files) == 1
    assert notes_anywhere(flow.root) == 1
    (entry,) = note_archive.index(flow.folder.agent_folder(NAME))["archives"]
    assert flow.root / "orchestration" / entry["file"] == files[0]
    assert entry["notes"] == 1
    assert not flow.notes().exists()
    log = json.loads((flow.root / "orchestration/agents/archival_agent/cleanup_log.json").read_text())
    assert [entry.get("file") for entry in log["entries"]] == [entry["file"]]


def test_leftovers_of_a_killed_writer_are_removed(repo: Repo):
    """Unfinished files of dead processes are removed; those of live ones, of agents and of others stay."""
    flow = begun(repo)
    with subprocess.Popen(["true"]) as dead:
        dead.wait()
    ours = f".state.yaml.{dead.pid}.0123abcd.tmp"
    left = [flow.root / "orchestration" / ours, flow.member_folder() / "completion_drive" / ours]
    stay = [
        flow.member_folder() / "task_output" / ours,
        flow.member_folder() / f".state.yaml.{os.getpid()}.0123abcd.tmp",
    ]
    stay += [
        flow.member_folder() / name
        for name in (".tmp", ".notes.tmp", "x.1.0123abcd.tmp", f".x.{dead.pid}.0123abcz.tmp")
    ]
    for path in (*left, *stay):
        path.touch()
    members.archive_leftover_sessions(flow.home)
    assert [path for path in left if path.exists()] == []
    assert [path for path in stay if not path.exists()] == []


def test_an_agents_own_answer_does_not_count(repo: Repo):
    """An agent that writes a resolution into an escalated note gains nothing, under any name."""
    flow = begun(repo)
    asking(flow)
    question_updates.record_routes(
        flow.home, NAME, [escalation.EscalationDecision("note_001", "user", question="Unique?")]
    )
    session = json.loads(flow.notes().read_text())
    answer = {"status": "resolved", "resolution": "No", "resolved_by": "user", "resolution_timestamp": 1727539300}
    session["notes"][0] |= answer
    flow.notes().write_text(json.dumps(session))
    assert any("against the rules" in text for text in members.recover(flow.home))
    assert json.loads(flow.notes().read_text())["notes"][0]["status"] == "escalated"


def test_a_session_of_a_crash_is_archived(repo: Repo):
    """An agent that has not started, but has a session, lost it to a crash: it is archived, and a new one begins."""
    flow = begun(repo)
    flow.notes().write_text('{"task_id": "old_1727539200", "session_start": 1, "notes": []}\n')
    output = members.archive_leftover_sessions(flow.home)
    assert any("its session is archived as" in text for text in output)
    assert not flow.notes().exists()
    (entry,) = note_archive.index(flow.folder.agent_folder(NAME))["archives"]
    assert entry["task_id"] == "old_1727539200"
    log = json.loads((flow.root / "orchestration/agents/archival_agent/cleanup_log.json").read_text())
    assert [(entry["action"], entry["reason"]) for entry in log["entries"]] == [("archived", "left_over")]
    assert members.archive_leftover_sessions(flow.home) == []


def test_a_new_session_is_continued(repo: Repo):
    """Killed before an agent works, its empty session of notes is no leftover: the agent starts with it."""
    flow = begun(repo)
    session = {"task_id": flow.member()["task_id"], "session_start": 1727539201, "notes": []}
    flow.notes().write_text(json.dumps(session))
    assert members.archive_leftover_sessions(flow.home) == []
    assert flow.notes().exists()
    assert members.begin_session(flow.home, NAME).member["session_start"] == 1727539201


def test_archiving_overwrites_no_file(repo: Repo):
    """A name that exists gets a number."""
    flow = begun(repo)
    stem = flow.root / "orchestration/x"
    assert disk.free_path(str(stem), ".json") == f"{stem}.json"
    Path(f"{stem}.json").touch()
    Path(f"{stem}-2.json").touch()
    assert disk.free_path(str(stem), ".json") == f"{stem}-3.json"


def test_a_failed_archival_is_reported(repo: Repo):
    """The session stays, and the log has the reason."""
    flow = begun(repo)
    passed(flow)
    flow.notes().unlink()
    flow.notes().mkdir()
    output = note_archive.archive(flow.folder.agent_folder(NAME), reason="session_complete")
    assert "was not archived" in output[0]
    log = json.loads((flow.root / "orchestration/agents/archival_agent/cleanup_log.json").read_text())
    assert log["entries"][-1]["action"] == "failed"
    assert "error" in log["entries"][-1]


def test_a_killed_archival_of_a_workflow_can_be_repeated(repo: Repo):
    """After a kill before each change the same call moves all of it; a second one of that name gets a number."""
    for expected in ("user_management", "user_management-2"):
        flow = begun(repo)
        flow.start()
        flow.note()
        with pytest.raises(SowError, match="is pending"):
            archive.archive(flow.home)
        assert len(list(deaths(flow, lambda home: away(home)))) >= 3
        archive.finish(flow.home)
        assert not flow.folder.exists()
        folder = flow.root / "orchestration/archive" / expected
        assert (
            len(json.loads((folder / f"agents/{NAME}/completion_drive/session_current.json").read_text())["notes"]) == 1
        )
        assert sorted(path.name for path in (flow.root / "orchestration").iterdir()) == ["archive"]
    assert archive.names(flow.home) == ["user_management", "user_management-2"]


def test_the_runs_of_an_archived_workflow_end(repo: Repo):
    """After a kill before each change the same call ends the open run once, and changes no other one."""
    flow = begun(repo)
    asked(flow)
    workflow = flow.folder.workflow()
    settings: RunSettings = {
        "max_concurrency": 1,
        "schedule": "ready",
        "isolation": "none",
        "review": "on",
        "retries": 0,
    }
    names = list(workflow["members"])
    for ident, owner in (("1", workflow["id"]), ("2", OTHER)):
        folder = run_folder.create(
            flow.home,
            {
                "id": ident,
                "project_id": owner,
                "name": "it",
                "branch": "feat/auth",
                "base": "0" * 40,
                "status": "waiting",
                "started_at": TIME,
                "plans": [],
                "tasks": names,
                "settings": settings,
            },
        )
        folder.append_event("task_ended", task=NAME, t=7.5, status="paused")
    assert list(deaths(flow, away))
    own, other = run_folder.all_folders(flow.home)
    assert (own.run["status"], other.run["status"]) == ("ended", "waiting")
    assert [(entry["task"], entry["status"], entry["t"]) for entry in own.journal()] == [
        (NAME, "paused", 7.5),
        *((name, "abandoned", 7.5) for name in names),
    ]
    assert len(list(other.journal())) == 1


def away(home: Home) -> None:
    """Archives a workflow, unless an earlier call has moved its last file."""
    if (Path(home.root) / "orchestration/state.yaml").exists():
        archive.archive(home, force=True)


def test_an_existing_archive_name_is_refused(repo: Repo):
    """A name that a person gives is used unchanged, or refused."""
    flow = begun(repo)
    (flow.root / "orchestration/archive/old").mkdir(parents=True)
    with pytest.raises(SowError, match="there is an archive old already"):
        archive.archive(flow.home, "old", force=True)
    assert flow.folder.exists()
