"""R5 for the commands around a workflow: killed at any point and repeated, each has the same result."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import FULL, Repo, Result
from support.crew_crash_scene import plain
from support.plan_crash_scene import was_killed
from support.quick_cases import few_of
from support.workflow_repo import WorkflowRepo
from support.workflow_store import StoredWorkflow, result

from sow.store.workflows import members, question_updates
from sow.system.clock import CROSSINGS, VARIABLE

POINTS = 1000 if FULL else 4  # for each command, spread over all of its boundaries
DATA, API = "database_agent", "api_agent"
AGENT = {"SOW_TASK": DATA, "SOW_AGENT": "implementer"}


def at_work(flow: StoredWorkflow) -> None:
    flow.start()
    flow.note()


def asking(flow: StoredWorkflow) -> None:
    flow.start()
    flow.block()
    question_updates.ask_person(flow.home, DATA, "Unique?", kind="user")


def failed(flow: StoredWorkflow) -> None:
    flow.start()
    for _ in range(3):
        members.fail_try(flow.home, DATA, "it broke")


def ended(flow: StoredWorkflow) -> None:
    """Every agent verified, and the workflow complete, with an archived session."""
    for name in (DATA, API):
        flow.start(name)
        flow.hand_in(name)
        members.record_verification(flow.home, name, result("passed", verifier=name.replace("agent", "verifier")))
    for name in (DATA, API):
        members.complete_member(flow.home, name)
    members.set_workflow_status(flow.home, "completed")


def designed(repo: Repo, folder: Path) -> None:
    """An unchecked design."""
    WorkflowRepo(repo, folder).begin().crew({"data": [], "api": ["data"]})


def verified(repo: Repo, folder: Path) -> None:
    """A design that passed its check, without approval."""
    designed(repo, folder)
    repo.ok("workflow", "verify", "--executor", "simulated")


def nothing(repo: Repo, folder: Path) -> None:
    """A summary, and no workflow."""
    (repo.root / "summary.md").write_text("# Summary\n")


Preparation = Callable[[Repo, Path], None]


def crew(act: Callable[[StoredWorkflow], None]) -> Preparation:
    """Returns a crew of two after an act."""
    return lambda repo, folder: act(StoredWorkflow(repo.root).begin())


class Command:
    """A command line, its preparation, and the error of a second call after a complete first one."""

    def __init__(self, words: str, before: Preparation, done: str = "never", **marks: str) -> None:
        self.words = words.split()
        self.before = before
        self.done = done
        self.marks = marks


COMMANDS = {
    "new": Command("workflow new user_management --summary summary.md", nothing, "there is a workflow already"),
    "verify": Command("workflow verify --executor simulated --yes", designed),
    "approve": Command("workflow approve", verified),
    "archive": Command("workflow archive", crew(ended), "there is no workflow"),
    "answer": Command("answer w1 blue", crew(asking), "is answered already"),
    "set": Command("workflow set status completion_drive_review", crew(at_work), "completion_drive_review", **AGENT),
    "retry": Command(f"workflow set status working --agent {DATA}", crew(failed), "working and not failed"),
    "escalate": Command("note escalate 1 --reason mine", crew(at_work), "escalated", **AGENT),
    "resolve": Command("note resolve 1 --resolution so", crew(at_work), "resolved", **AGENT),
}


def bare(text: str) -> str:
    """Returns a text without times, ids and revisions; an id is quoted only if it looks like a number."""
    return re.sub(r"revision: \d+", "", plain(text)).replace('"ID"', "ID")


class RepeatedCommand:
    """One repository in which a command is repeated from the same start."""

    def __init__(self, repo: Repo, folder: Path, command: Command) -> None:
        self.repo = repo
        self.command = command
        self.crossings = folder / "crossings"
        self.saved = folder / "saved"
        command.before(repo, folder)
        shutil.copytree(repo.root, self.saved, symlinks=True)

    def call(self, kill_at: int = 0) -> Result:
        """Calls the command from its start; it may be told to die at a boundary."""
        shutil.rmtree(self.repo.root)
        shutil.copytree(self.saved, self.repo.root, symlinks=True)
        self.crossings.unlink(missing_ok=True)
        return self.again(**{VARIABLE: str(kill_at), CROSSINGS: str(self.crossings)})

    def again(self, **environment: str) -> Result:
        return self.repo.sow(*self.command.words, **self.command.marks, **environment)

    def steps(self) -> list[str]:
        return self.crossings.read_text().splitlines()

    def picture(self) -> dict[str, Any]:
        """Returns every document and every kept copy, without times, ids, revisions and temporary files.

        The copy of the state may be one change behind until the next one.
        """
        folders = (self.repo.root / "orchestration", self.repo.root / ".git/sow")
        paths = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
        paths = [path for path in paths if path.suffix != ".tmp" and path.name != "workflow.yaml"]
        named = {plain(str(path.relative_to(self.repo.root))): path for path in paths}
        seen = {name: bare(path.read_text()) for name, path in named.items()}
        inbox = self.repo.ok("inbox", "--json").json["items"]
        return {**seen, "inbox": plain(str(inbox)), "doctor": self.repo.sow("doctor").code}


@few_of("name", COMMANDS, 1)
def test_killed_command(repo: Repo, tmp_path: Path, name: str) -> None:
    """A command that is killed at a boundary and repeated has the same result."""
    repeated = RepeatedCommand(repo, tmp_path, COMMANDS[name])
    calm = repeated.call()
    assert calm.code == 0, calm
    expected, boundaries = repeated.picture(), len(repeated.steps())
    step = max((boundaries - 1) / (min(POINTS, boundaries) - 1), 1)
    points = sorted({round(1 + step * number) for number in range(min(POINTS, boundaries))})
    print(f"sow {' '.join(COMMANDS[name].words)}: {boundaries} boundaries, killed at {points}")
    for point in points:
        assert was_killed(repeated.call(point)), point
        crossed = repeated.steps()[-1]
        second = repeated.again()
        assert second.code == 0 or COMMANDS[name].done in second.err, (crossed, second)
        result = repeated.picture()
        assert result == expected, crossed
    assert len(points) >= min(POINTS, boundaries)


@pytest.mark.parametrize("words", [("workflow", "archive"), ("workflow", "new", "next")])
def test_an_archive_that_was_killed_at_its_last_step_is_found(repo: Repo, tmp_path: Path, words: tuple[str]) -> None:
    """All files are moved and the folder has no name yet: the next `archive` or `new` names it, and list shows it."""
    repeated = RepeatedCommand(repo, tmp_path, COMMANDS["archive"])
    assert repeated.call().code == 0
    last = max(number for number, step in enumerate(repeated.steps(), 1) if "replace " in step)
    assert was_killed(repeated.call(last))
    assert repeated.repo.sow(*words).code == 0
    listed = repeated.repo.ok("workflow", "list", "--json").json["workflows"]
    assert "orchestration/archive/user_management" in [file["path"] for file in listed]
