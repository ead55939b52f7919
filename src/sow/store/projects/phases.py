"""Changes the phases of a project."""

from __future__ import annotations

from sow.domain import task as task_rules
from sow.domain.documents.state import Phase, ProjectState
from sow.domain.task import OPEN_STATUSES, Actor
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.projects.tasks import log_act
from sow.store.runs.run_folder import refuse_undelivered
from sow.system import clock


def _save(home: Home, project: ProjectState, phases: list[Phase], actor: Actor, action: str, text: str) -> list[Phase]:
    now = clock.now()
    log_act(home, actor, action=action, text=text, now=now)
    projects.save(home, {**project, "phases": phases, "updated_at": now})
    for entry in phases:
        if entry["status"] != "proposed":
            projects.add_phase_folder(home, entry["name"])
    return phases


def add(home: Home, name: str, *, reason: str, before: str, after: str, approved: bool, actor: Actor) -> Phase:
    """Proposes a phase, or adds it at once if a person approved."""
    now = clock.now()
    with home.lock():
        project = projects.load(home)
        task_rules.propose(project["phases"], name, reason=reason, before=before, after=after, question=1, now=now)
        number = 0 if approved else projects.next_question(home, project, now)
        phases = task_rules.propose(
            project["phases"], name, reason=reason, before=before, after=after, question=max(number, 1), now=now
        )
        name = task_rules.check_name(name)
        if approved:
            phases = task_rules.approve_phase(phases, name)
        verb = "added" if approved else "proposed"
        _save(home, project, phases, actor, "phase_add", f"{verb} phase {name}: {reason}")
    return next(entry for entry in phases if entry["name"] == name)


def decide(home: Home, name: str, *, yes: bool, actor: Actor) -> str:
    """Approves or rejects a proposed phase for a person; returns the phase's name."""
    with home.lock():
        project = projects.load(home)
        phase_name = task_rules.find_name(name, project["phases"])
        status = next(entry["status"] for entry in project["phases"] if entry["name"] == phase_name)
        if status != "proposed":
            raise SowError(f"phase {phase_name} is {status}: it needs no approval", "see 'sow phase list'")
        phases = (
            task_rules.approve_phase(project["phases"], phase_name)
            if yes
            else task_rules.reject(project["phases"], phase_name)
        )
        action, result = ("phase_approve", "approved") if yes else ("phase_reject", "rejected")
        _save(home, project, phases, actor, action, f"{result} phase {phase_name}")
    return phase_name


def move(home: Home, name: str, *, before: str, after: str, actor: Actor) -> list[Phase]:
    """Moves a phase to another place."""
    with home.lock():
        project = projects.load(home)
        phases = task_rules.move_phase(project["phases"], name, before=before, after=after)
        name = task_rules.find_name(name, phases)
        order = ", ".join(entry["name"] for entry in phases)
        return _save(home, project, phases, actor, "phase_move", f"moved phase {name}; the order is: {order}")


def advance(home: Home, *, actor: Actor) -> list[Phase]:
    """Advances to the next phase, if no task up to here is open."""
    with home.lock():
        project = projects.load(home)
        readable, broken = task_folder.load_readable(home, project)
        if broken:
            raise SowError(
                f"task {min(broken)} cannot be read: {broken[min(broken)]}", "fix it first; see 'sow doctor'"
            )
        open_tasks: dict[str, list[str]] = {}
        for folder, task in readable:
            if task["status"] in OPEN_STATUSES:
                open_tasks.setdefault(folder.phase, []).append(task["id"])
        phases = task_rules.advance(project["phases"], open_tasks)
        current = task_rules.active(phases)
        if current is None:
            refuse_undelivered(home, project["project_id"], [task for _, task in readable])
        goal = current["name"] if current else "the end: all phases are completed"
        return _save(home, project, phases, actor, "phase_advance", f"advanced to {goal}")


def go_back(home: Home, name: str, *, actor: Actor) -> list[Phase]:
    """Goes back to an earlier phase."""
    with home.lock():
        project = projects.load(home)
        phases = task_rules.back(project["phases"], name)
        current = task_rules.active(phases)
        return _save(home, project, phases, actor, "phase_back", f"went back to {current['name'] if current else ''}")
