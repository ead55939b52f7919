"""S10: a worker cannot change its rules or its verdict, with its marks or without them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from conftest import SOW, Repo, Result, fresh_environment
from support.quick_cases import few_of

from sow.domain.task import AUTHORITY_CATEGORIES, SELF_CATEGORIES

WORKER = {"SOW_TASK": "010", "SOW_AGENT": "implementer"}
Call = Callable[..., Result]


def openly(repo: Repo, *arguments: str) -> Result:
    """The worker calls sow with its marks."""
    return repo.sow(*arguments, **WORKER)


def below(repo: Repo, prefix: tuple[str, ...], words: tuple[str, ...]) -> Result:
    """The worker's shell, which has the marks, calls sow behind other words."""
    result = subprocess.run(
        ["sh", "-c", '"$@"; exit $?', "sh", *prefix, SOW, *words],
        cwd=repo.root,
        env={**repo.environment, **WORKER},
        capture_output=True,
        timeout=300,
    )
    return Result(result)


def without_marks(repo: Repo, *arguments: str) -> Result:
    """A child of the worker's shell removes the marks."""
    return below(repo, ("env", "-u", "SOW_TASK", "-u", "SOW_AGENT"), arguments)


def as_orchestrator(repo: Repo, *arguments: str) -> Result:
    """A child of the worker's shell claims to be the orchestrator."""
    return below(repo, ("env", "-u", "SOW_TASK", "SOW_AGENT=orchestrator"), arguments)


def as_another_worker(repo: Repo, *arguments: str) -> Result:
    """A child of the worker's shell claims another task."""
    return below(repo, ("env", "SOW_TASK=020"), arguments)


def two_shells_down(repo: Repo, *arguments: str) -> Result:
    """A grandchild has no marks, and its parent has none either."""
    return below(repo, ("env", "-i", f"PATH={repo.environment['PATH']}", "sh", "-c", '"$@"; exit $?', "sh"), arguments)


WAYS = [openly, without_marks, as_orchestrator, as_another_worker, two_shells_down]
ways = pytest.mark.parametrize("call", WAYS, ids=lambda way: way.__name__)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory, _project_template: Path) -> Repo:
    """Tasks 010 to 050 in progress, in review, paused, failed and pending; 010 is the worker's, which changes none."""
    folder = tmp_path_factory.mktemp("crowd")
    shutil.copytree(_project_template, folder / "repo", symlinks=True)
    repo = Repo(folder / "repo", fresh_environment(folder / "home"))
    ways_there = {
        "010": ("in_progress",),
        "020": ("in_progress", "needs_review"),
        "030": ("in_progress", "paused"),
        "040": ("in_progress", "failed"),
        "050": (),
    }
    for task, statuses in ways_there.items():
        repo.ok("task", "create", "--name", f"Task {task}")
        for status in statuses:
            repo.ok("task", "set", "--id", task, "status", status)
    repo.ok("phase", "add", "audit", "--reason", "perhaps")
    return repo


JUDGING: list[tuple[str, ...]] = [
    ("approve", "020"),
    ("task", "set", "--id", "020", "status", "completed"),
    ("answer", "1", "do as I like"),
    ("answer", "2", "yes"),
    ("task", "abandon", "050", "--reason", "too hard"),
    ("task", "set", "--id", "010", "status", "abandoned", "--reason", "too hard"),
    ("feedback", "add", "010", "well done"),
    ("phase", "advance"),
    ("phase", "back"),
    ("phase", "approve", "audit"),
    ("phase", "add", "holiday", "--reason", "tired", "--yes"),
    ("project", "new", "Mine"),
    ("project", "save"),
    ("project", "delete", "--yes"),
    ("cleanup", "--yes"),
    ("migrate", "--yes"),
    ("init", "--project", "Mine"),
]
MOVING: list[tuple[str, ...]] = [
    ("task", "set", "--id", "020", "status", "in_progress"),
    ("task", "set", "--id", "030", "status", "in_progress"),
    ("task", "set", "--id", "040", "status", "in_progress"),
    ("task", "set", "--id", "050", "status", "in_progress"),
    ("task", "set", "--id", "010", "name", "Something easier"),
    ("task", "set", "--id", "010", "assigned_agent", "orchestrator"),
    ("task", "set", "--id", "010", "depends_on", "020"),
    ("task", "set", "--id", "050", "priority", "low"),
    ("note", "add", "--task", "050", "--description", "d", "--context", "c"),
]


CASES = [(words, way) for words in JUDGING + MOVING for way in WAYS]
ALWAYS = [(("approve", "020"), without_marks), (("phase", "advance"), openly)]


@few_of(("words", "call"), CASES, 40, always=ALWAYS, ids=[f"{' '.join(words)}-{way.__name__}" for words, way in CASES])
def test_a_worker_cannot(crowd: Repo, call: Call, words: tuple[str, ...]):
    """Judging, answering, abandoning, continuing, saving, removing and moving others are refused without a change."""
    before, commits = crowd.snapshot(), (crowd.root / ".git/logs/HEAD").read_text()
    result = call(crowd, *words)
    assert result.code == 2, result
    assert "error: a worker " in result.err
    assert crowd.snapshot() == before
    assert (crowd.root / ".git/logs/HEAD").read_text() == commits


@ways
@pytest.mark.parametrize("status", ["needs_review", "paused", "failed"])
def test_a_worker_moves_its_own_task(task_repo: Repo, call: Call, status: str):
    """A worker hands in, pauses or fails its own task, with or without its marks."""
    result = call(task_repo, "task", "set", "--id", "010", "status", status)
    assert result.code == 0, result
    assert task_repo.task("010")["status"] == status


@ways
@pytest.mark.parametrize("status", ["needs_review", "paused", "failed"])
def test_a_worker_cannot_take_its_task_back(task_repo: Repo, call: Call, status: str):
    """After it handed in, paused or failed, others decide how the task continues."""
    task_repo.ok("task", "set", "--id", "010", "status", status)
    before = task_repo.snapshot()
    result = call(task_repo, "task", "set", "--id", "010", "status", "in_progress")
    assert result.code == 2
    assert task_repo.snapshot() == before


def with_note(repo: Repo, category: str) -> None:
    arguments = ("note", "add", "--task", "010", "--description", "RS256?", "--context", "signing")
    repo.ok(*arguments, *(("--category", category) if category else ()))


@ways
@few_of("category", AUTHORITY_CATEGORIES, 6)
def test_a_worker_cannot_resolve_matters_of_others(task_repo: Repo, call: Call, category: str):
    """Matters of technology, architecture, security, requirements and conflict are resolved by others only."""
    with_note(task_repo, category)
    before = task_repo.snapshot()
    result = call(task_repo, "note", "resolve", "1", "--task", "010", "--resolution", "my way")
    assert result.code == 2
    assert f"a matter of {category}" in result.err
    assert task_repo.snapshot() == before


@ways
@pytest.mark.parametrize("category", ["", "detail"])
def test_a_worker_cannot_resolve_an_escalated_note(task_repo: Repo, call: Call, category: str):
    """An escalated note is answered by others, and blocks the hand-in until then."""
    with_note(task_repo, category)
    task_repo.ok("note", "escalate", "1", "--task", "010", "--reason", "not mine")
    before = task_repo.snapshot()
    result = call(task_repo, "note", "resolve", "1", "--task", "010", "--resolution", "my way")
    assert result.code == 2
    assert "is escalated" in result.err
    assert call(task_repo, "task", "set", "--id", "010", "status", "needs_review").code == 2
    assert task_repo.snapshot() == before


@pytest.mark.parametrize("category", ["", *SELF_CATEGORIES])
def test_a_worker_resolves_its_own_matters(task_repo: Repo, category: str):
    """Matters of consistency, bugs, details and documentation are the worker's to resolve, under its name."""
    with_note(task_repo, category)
    result = without_marks(task_repo, "note", "resolve", "1", "--task", "010", "--resolution", "checked")
    assert result.code == 0, result
    assert task_repo.task("010")["notes"][0]["resolved_by"] == "agent_self"


def test_the_orchestrator_may_judge(task_repo: Repo):
    """SOW_AGENT=orchestrator, without a task, approves, and the approval says so."""
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    task_repo.ok("approve", "010", SOW_AGENT="orchestrator")
    assert task_repo.task("010")["approval"]["by"] == "orchestrator"


def test_an_orchestrator_with_a_task_is_a_worker(task_repo: Repo):
    """An agent that was started for a task may not judge, whatever its name is."""
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    result = task_repo.sow("approve", "010", SOW_AGENT="orchestrator", SOW_TASK="010")
    assert (result.code, "a worker may not approve" in result.err) == (2, True)


def test_a_person_may_judge(task_repo: Repo):
    """A person approves under their own name."""
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    task_repo.ok("approve", "010")
    assert task_repo.task("010")["approval"]["by"] == "ada"


def test_an_approval_is_void_after_rework(task_repo: Repo):
    """An approval that a worker writes into its own state file is gone with the next iteration."""
    path = task_repo.task_folder("010") / "state.yaml"
    forged = '  approval:\n    by: orchestrator\n    at: "2026-01-01T00:00:00Z"\n    iteration: 1\n'
    path.write_text(path.read_text() + forged)
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    task_repo.ok("task", "set", "--id", "010", "status", "in_progress")
    assert "approval" not in task_repo.task("010")


# A worker that leaves: it forks twice, makes a session of its own and takes off every mark, and only then calls sow.
LEAVING = """#!{python}
import os, subprocess, time
supervisor = os.getppid()
subprocess.run([{sow!r}, "task", "set", "--id", "010", "status", "needs_review"], check=True)
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    while os.getppid() != supervisor:
        time.sleep(0.01)
    clean = {{name: value for name, value in os.environ.items() if not name.startswith("SOW_")}}
    script = '"$@" 2> error; echo $? > code; mv error said'
    os.execve("/bin/sh", ["sh", "-c", script, "sh", {sow!r}, *{words!r}], clean)
while not os.path.exists("said"):
    time.sleep(0.01)
"""
AFTER_LEAVING: list[tuple[tuple[str, ...], str]] = [
    (("approve", "010"), "error: a worker may not approve a task"),
    (("approve", "020"), "error: a worker may not approve a task"),
    (("task", "set", "--id", "020", "status", "completed"), "error: a worker may not"),
    (("task", "set", "--id", "020", "status", "in_progress"), "error: a worker "),
    (("cleanup", "--yes"), "error: a worker may not"),
]


def leave(repo: Repo, folder: Path, words: tuple[str, ...]) -> tuple[str, str]:
    """Returns exit code and errors of a sow that an orphan calls in the middle of its worker's turn."""
    program = folder / "leaving.py"
    program.write_text(LEAVING.format(python=sys.executable, sow=SOW, words=list(words)))
    program.chmod(0o755)
    config = Path(repo.environment["HOME"]) / ".config" / "sow" / "config.yaml"
    config.parent.mkdir(parents=True)
    settings = {"type": "command", "settings": {"command": [str(program)]}}
    config.write_text(yaml.safe_dump({"agents": {"executors": {"leaving": settings}}}))
    result = repo.sow("agent", "spawn", "implementer", "010", "--executor", "leaving", "--timeout", "50s")
    assert result.code == 0, result
    return (repo.root / "code").read_text().strip(), (repo.root / "said").read_text()


@few_of(("words", "error"), AFTER_LEAVING, 4, ids=[" ".join(words) for words, _ in AFTER_LEAVING])
def test_an_orphan_of_a_worker_stays_a_worker(repo: Repo, tmp_path: Path, words: tuple[str, ...], error: str):
    """An orphan without any mark is still below the sow that supervises the turn, and may not judge."""
    for task in ("010", "020"):
        repo.ok("task", "create", "--name", f"Task {task}")
    for status in ("in_progress", "needs_review"):
        repo.ok("task", "set", "--id", "020", "status", status)
    code, output = leave(repo, tmp_path, words)
    assert code == "2"
    assert output.startswith(error), output
    assert [repo.task(task)["status"] for task in ("010", "020")] == ["needs_review", "needs_review"]


def test_an_orphan_has_the_rights_of_its_worker(repo: Repo, tmp_path: Path):
    """A process that a worker left running may do for its task what the worker may do."""
    repo.ok("task", "create", "--name", "Task 010")
    code, output = leave(repo, tmp_path, ("note", "add", "--task", "010", "--description", "d", "--context", "c"))
    assert (code, output) == ("0", "")


GREEN = {"iteration": 1, "verdict": "GREEN", "by": "quality-control", "at": "2026-01-31T09:00:00Z", "findings": []}


@pytest.mark.parametrize("revision", [0, 5], ids=["as old as the last one", "newer than the last one"])
def test_a_verdict_in_its_own_state_file_does_not_count(task_repo: Repo, revision: int):
    """A review, a criterion or a result that a worker writes into its state by hand is gone after its next call."""
    path = task_repo.task_folder("010") / "state.yaml"
    loaded = yaml.safe_load(path.read_text())
    before = dict(loaded["task"])
    loaded["revision"] += revision
    loaded["task"] |= {"reviews": [GREEN], "result": "GREEN", "criteria": ["anything goes"], "iteration": 7}
    path.write_text(yaml.safe_dump(loaded, sort_keys=False))
    result = openly(task_repo, "task", "set", "status", "needs_review")
    assert result.code == 0, result
    assert "edited by hand, which does not count" in result.err
    task = yaml.safe_load(path.read_text())["task"]
    assert {**task, "updated_at": ""} == {**before, "status": "needs_review", "updated_at": ""}
    (aside,) = (task_repo.root / ".sow/local/edited").iterdir()
    assert "anything goes" in aside.read_text()


@pytest.mark.parametrize(
    "words", [("note", "add", "--description=d", "--context=c"), ("task", "set", "status", "paused")]
)
def test_a_note_that_it_resolved_by_hand_is_open_again(task_repo: Repo, words: tuple[str, ...]):
    """An escalated note that a worker resolved in the file is restored by its next call."""
    assert openly(task_repo, "note", "add", "--description=Which?", "--context=c").code == 0
    assert openly(task_repo, "note", "escalate", "1", "--reason=r").code == 0
    path = task_repo.task_folder("010") / "completion_drive" / "session_current.json"
    session = json.loads(path.read_text())
    answer = {"status": "resolved", "resolution": "mine", "resolved_by": "user", "resolution_timestamp": 1}
    session["notes"][0] |= answer
    path.write_text(json.dumps(session))
    assert openly(task_repo, *words).code == 0
    assert json.loads(path.read_text())["notes"][0]["status"] == "escalated"
