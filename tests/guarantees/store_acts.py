"""Every act of the store that writes: its preparation, the call, and a check of its result."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sow.cli.context import Context
from sow.cli.project.project import prepare_project
from sow.domain.task import PERSON, Actor
from sow.store import migration, note_updates
from sow.store.files.checkout_home import Home
from sow.store.files.disk import Disk
from sow.store.projects import log, notes, task_folder, tasks
from sow.store.projects import phases as projects_phases
from sow.store.projects import project as projects
from sow.store.projects.removal import remove
from sow.store.projects.task_folder import TaskFolder
from sow.system import checkout

ADA = Actor(kind=PERSON, name="ada")
NOW = "2026-01-31T09:00:00Z"
LONG = "Tränen, 涙 and tears. " * 40


def home_at(root: str, disk: Disk | None = None) -> Home:
    where = checkout.at(root)
    assert where is not None
    return Home(where, disk)


def create(home: Home, name: str = "Add login") -> None:
    tasks.create(
        home,
        name=name,
        agent="implementer",
        phase_name="",
        description=LONG,
        criteria=["it works"],
        references=[],
        depends_on=[],
        after="",
        priority="medium",
        actor=ADA,
    )


def move(home: Home, *statuses: str) -> None:
    for status in statuses:
        tasks.set_status(home, "010", status, actor=ADA, reason="because")


def set_field(home: Home, priority: str) -> None:
    tasks.set_field(home, "010", "priority", priority, actor=ADA)


def write_log(home: Home, path: str, text: str) -> None:
    log.append(
        home,
        path,
        {"timestamp": NOW, "agent": "ada", "action": "note", "result": "info", "files": ["src/a.py"], "text": text},
    )


def add_note(home: Home, text: str = "which hash?") -> None:
    note_updates.add(home, "010", description=text, context=LONG, category="", actor=ADA)


def escalate(home: Home) -> None:
    note_updates.escalate(home, "010", "1", reason="not mine to decide", actor=ADA)


def new_project(home: Home) -> None:
    context = Context(root=home.root, environment={"USER": "ada"})
    prepare_project(context, home, name="Second", description=LONG, phases=["design", "build"])()


def add_phase(home: Home, name: str, *, approved: bool) -> None:
    projects_phases.add(home, name, reason="we need it", before="", after="", approved=approved, actor=ADA)


def make_older(home: Home) -> None:
    """Rewrites a project with one task in the format of the first release."""
    state = Path(folder(home).state_path)
    text = state.read_text().replace("1.2.0", "0.9.0").replace("assigned_agent", "assignee")
    state.write_text(text.replace("  priority: medium\n", ""))
    project = Path(projects.path(home))
    project.write_text(project.read_text().replace("1.2.0", "0.9.0"))


def folder(home: Home) -> TaskFolder:
    return TaskFolder(home, "implementation", "010")


def project_log(home: Home) -> str:
    return f"{home.project}/log.md"


def logged(home: Home, path: str, text: str) -> bool:
    return any(text in entry["text"] for entry in log.read(home, path))


def phases(home: Home) -> dict[str, str]:
    return {phase["name"]: phase["status"] for phase in projects.load(home)["phases"]}


def read_all(home: Home) -> None:
    """Reads everything; an unreadable file is an error."""
    project = projects.load(home)
    readable, broken = task_folder.load_readable(home, project)
    assert not broken, broken
    for each, _ in readable:
        assert home.read(each.description_path).startswith("# ")
        notes.load_notes(each)
        log.read_feedback(each)
        log.read(home, each.log_path)
    log.read(home, project_log(home))
    projects.read_memories(home)


def read_project_if_any(home: Home) -> None:
    if projects.exists(home):
        read_all(home)


def read_older(home: Home) -> None:
    """Reads a project during its migration: once a file is changed, there is a complete copy of all."""
    steps = migration.plan(home)
    assert len(steps) == 2 or copied(home), "changed without a copy"
    if not steps:
        read_all(home)


def copied(home: Home) -> bool:
    copies = Path(f"{home.sow}/local/backups").glob("*")
    return any([text.read_text().count("0.9.0") for text in copy.rglob("state.yaml")] == [1, 1] for copy in copies)


def read_broken(home: Home) -> None:
    """Reads a project whose one task is broken, missing or repaired."""
    projects.load(home)


class Act:
    """One act that writes."""

    def __init__(
        self,
        name: str,
        before: Callable[[Home], Any],
        run: Callable[[Home], Any],
        done: Callable[[Home], bool],
        read: Callable[[Home], None] = read_all,
    ) -> None:
        self.name = name
        self.before = before
        self.run = run
        self.done = done
        self.read = read


def _nothing(home: Home) -> None:
    return


def _at(*statuses: str) -> Callable[[Home], None]:
    def before(home: Home) -> None:
        create(home)
        move(home, *statuses)

    return before


def _then(first: Callable[[Home], Any], *others: Callable[[Home], Any]) -> Callable[[Home], None]:
    def before(home: Home) -> None:
        for other in (first, *others):
            other(home)

    return before


def _breaks(home: Home) -> None:
    Path(folder(home).state_path).write_text("task: [")


def _without_project(home: Home) -> None:
    shutil.rmtree(home.project)
    shutil.rmtree(f"{home.checkout.common}/sow")


def _removed(home: Home) -> bool:
    return not os.path.lexists(home.project) and any(Path(f"{home.sow}/local/removed").glob("*/state.yaml"))


def _status(wanted: str) -> Callable[[Home], bool]:
    return lambda home: folder(home).task()["status"] == wanted


def _note(wanted: str) -> Callable[[Home], bool]:
    return lambda home: [load_note["status"] for load_note in notes.load_notes(folder(home))][-1:] == [wanted]


def _answered(home: Home) -> bool:
    task = folder(home).task()
    return "question" not in task and [question["answer"] for question in task["questions"]] == ["use argon2"]


def _answer(home: Home) -> None:
    tasks.answer(home, "010", "use argon2", actor=ADA)


AT_WORK = _at("in_progress")
IN_REVIEW = _at("in_progress", "needs_review")

ACTS = {
    act.name: act
    for act in (
        Act("create", _nothing, create, lambda home: len(task_folder.all_folders(home, projects.load(home))) == 1),
        Act("start", create, lambda home: move(home, "in_progress"), _status("in_progress")),
        Act("pause", AT_WORK, lambda home: move(home, "paused"), _status("paused")),
        Act("submit", AT_WORK, lambda home: move(home, "needs_review"), _status("needs_review")),
        Act("approve", IN_REVIEW, lambda home: move(home, "completed"), _status("completed")),
        Act("send back", IN_REVIEW, lambda home: move(home, "in_progress"), _status("in_progress")),
        Act("abandon", AT_WORK, lambda home: move(home, "abandoned"), _status("abandoned")),
        Act(
            "set priority",
            create,
            lambda home: set_field(home, "high"),
            lambda home: folder(home).task()["priority"] == "high",
        ),
        Act("add note", AT_WORK, add_note, _note("open")),
        Act(
            "add second note",
            _then(AT_WORK, add_note),
            lambda home: add_note(home, "which salt?"),
            lambda home: len(notes.load_notes(folder(home))) == 2,
        ),
        Act(
            "resolve note",
            _then(AT_WORK, add_note),
            lambda home: note_updates.resolve(home, "010", "1", resolution="argon2", actor=ADA),
            _note("resolved"),
        ),
        Act(
            "escalate note",
            _then(AT_WORK, add_note),
            escalate,
            lambda home: _note("escalated")(home) and "question" in folder(home).task(),
        ),
        Act("answer a paused task", _then(AT_WORK, lambda home: move(home, "paused")), _answer, _answered),
        Act("answer an escalated note", _then(AT_WORK, add_note, escalate), _answer, _answered),
        Act(
            "give feedback",
            AT_WORK,
            lambda home: tasks.give_feedback(home, "010", LONG, actor=ADA),
            lambda home: [entry["text"] for entry in log.read_feedback(folder(home))] == [LONG.strip()],
        ),
        Act(
            "log on a task",
            AT_WORK,
            lambda home: write_log(home, folder(home).log_path, f"first {LONG}"),
            lambda home: logged(home, folder(home).log_path, f"first {LONG}"),
        ),
        Act(
            "log on a project",
            _nothing,
            lambda home: write_log(home, project_log(home), f"next {LONG}"),
            lambda home: logged(home, project_log(home), f"next {LONG}"),
        ),
        Act(
            "start a project",
            _without_project,
            new_project,
            lambda home: os.path.lexists(projects.path(home)),
            read_project_if_any,
        ),
        Act(
            "propose a phase",
            _nothing,
            lambda home: add_phase(home, "release", approved=False),
            lambda home: phases(home).get("release") == "proposed",
        ),
        Act(
            "add a phase",
            _nothing,
            lambda home: add_phase(home, "release", approved=True),
            lambda home: phases(home).get("release") == "pending",
        ),
        Act(
            "advance the phase",
            lambda home: add_phase(home, "release", approved=True),
            lambda home: projects_phases.advance(home, actor=ADA),
            lambda home: phases(home)["release"] == "active",
        ),
        Act(
            "remember",
            lambda home: projects.add_memory(home, "use argon2", by="ada", now=NOW),
            lambda home: projects.add_memory(home, LONG, by="ada", now=NOW),
            lambda home: projects.read_memories(home)[-1] == LONG.strip(),
        ),
        Act(
            "migrate",
            _then(create, make_older),
            lambda home: migration.apply(home, migration.plan(home)),
            lambda home: not migration.plan(home) and copied(home),
            read_older,
        ),
        Act(
            "remove a project",
            create,
            lambda home: remove(home, force=True, any_branch=False),
            _removed,
            read_project_if_any,
        ),
        Act(
            "repair",
            _then(create, _breaks),
            lambda home: set_field(home, "high"),
            lambda home: folder(home).task()["priority"] == "high",
            read_broken,
        ),
    )
}
