"""Imports a plan: creates the project, and creates, changes and abandons its tasks. An import can be repeated."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from sow.domain import inputs
from sow.domain import task as task_rules
from sow.domain.documents.state import ProjectState
from sow.domain.plans import plan as plan_rules
from sow.domain.plans.plan import Difference, Plan, PlannedTask
from sow.domain.task import Actor, new_phases
from sow.errors import Waiting
from sow.store.files.checkout_home import Home
from sow.store.projects import plan_files
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.projects.task_folder import TaskFolder, load_or_repair
from sow.store.projects.tasks import log_act, write_task_folder
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.documents.state import ImportedPlan, Task


class PlanImport:
    """Holds a plan to import, with its files, descriptions and the agent of each task."""

    def __init__(
        self,
        plan: Plan,
        *,
        paths: Mapping[str, str],
        digests: Mapping[str, str],
        descriptions: Mapping[str, str],
        agents: Mapping[str, str],
        phase: str,
    ) -> None:
        self.plan = plan
        self.paths = paths  # file name in the plan → path in the state
        self.digests = digests
        self.descriptions = descriptions
        self.agents = agents
        self.phase = phase  # empty: the usual phase for tasks of a plan


def digest(text: str) -> str:
    """Returns the SHA-256 of a text."""
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def state_path(home: Home, path: str) -> str:
    """Returns a plan's path for the state: relative to the root if it is below it, else absolute."""
    full = plan_files.recorded_path(os.path.realpath(path))
    root = os.path.realpath(home.root)
    return os.path.relpath(full, root) if full.startswith(f"{root}/") else full


def propose(home: Home, project: ProjectState, intake: PlanImport) -> list[Difference]:
    """Returns the changes that the import would make. Changes nothing."""
    task_rules.require_approved(project["phases"], _phase_of_new_tasks(intake, project))
    tasks = [task for _, task in task_folders.load_readable(home, project)[0]]
    used_ids = [folder.id for folder in task_folders.all_folders(home, project)]
    return plan_rules.compare(_wanted_tasks(intake, tasks, used_ids), tasks, set(intake.paths.values()))


def _phase_of_new_tasks(intake: PlanImport, project: ProjectState) -> str:
    return (
        task_rules.find_name(intake.phase, project["phases"])
        if intake.phase
        else task_rules.default_phase(project["phases"])
    )


def propose_without_project(intake: PlanImport) -> list[Difference]:
    """Returns the changes that the import would make without a project."""
    return plan_rules.compare(_wanted_tasks(intake, (), ()), (), ())


def _wanted_tasks(intake: PlanImport, tasks: Sequence[Task], used_ids: Sequence[str]) -> list[PlannedTask]:
    import json

    task_ids = {(task["source"]["plan"], task["source"]["id"]): task["id"] for task in tasks if "source" in task}
    known_ids = {
        task.id: task_ids[intake.paths[task.file], task.number]
        for task in intake.plan.tasks
        if (intake.paths[task.file], task.number) in task_ids
    }
    numbers = plan_rules.assign_ids(intake.plan.tasks, known_ids, used_ids)
    skipped = {task.id for task in intake.plan.tasks if task.status == "skipped"}
    wanted_tasks = []
    for task in intake.plan.tasks:
        fields = plan_rules.task_fields(task, numbers, agent=intake.agents[task.id], skipped=skipped)
        text = intake.descriptions[task.id]
        wanted = plan_rules.PlannedTask(task, numbers[task.id], fields, plan=intake.paths[task.file], description=text)
        wanted.digest = digest(json.dumps([fields, text], sort_keys=True))
        wanted_tasks.append(wanted)
    return wanted_tasks


def apply(home: Home, intake: PlanImport, proposed: Sequence[Difference], *, actor: Actor) -> None:
    """Carries out the proposed changes, and refuses if the project changed since the proposal.

    A task is written after the tasks that it waits for. After a crash, the written tasks can be worked on, and the same
    import adds the rest.
    """
    now = clock.now()
    with home.lock():
        project = projects.load(home)
        differences = propose(home, project, intake)
        if summary(differences) != summary(proposed):
            raise Waiting("the project changed meanwhile: nothing was imported", "look at the changes again")
        if any(difference.kind in ("new", "changed", "gone") for difference in differences):
            paths = ", ".join(intake.paths.values())
            log_act(home, actor, action="plan_import", text=f"imported {paths}: {counts(differences)}", now=now)
        phase_name = _phase_of_new_tasks(intake, project)
        for difference in _in_order(differences):
            _apply(home, project, difference, phase_name, actor, now)
        _record_digests(home, project, intake, now)


def summary(differences: Sequence[Difference]) -> list[tuple[object, ...]]:
    """Returns a comparable form of a proposal."""
    return [
        (difference.kind, difference.task, difference.number, difference.wanted.digest if difference.wanted else "")
        for difference in differences
    ]


def counts(differences: Sequence[Difference]) -> str:
    """`5 new, 1 changed`"""
    labels = {"new": "new", "changed": "changed", "gone": "gone", "ended": "ended already", "same": "unchanged"}
    numbers = {kind: sum(difference.kind == kind for difference in differences) for kind in labels}
    return ", ".join(f"{numbers[kind]} {label}" for kind, label in labels.items() if numbers[kind])


def _in_order(differences: Sequence[Difference]) -> list[Difference]:
    """Returns the new tasks, each after those it waits for, then the changed and removed ones."""
    from sow.domain.plans.graph import waves

    new = {
        difference.task: difference
        for difference in differences
        if difference.wanted is not None and difference.kind == "new"
    }
    needs = {
        task: [
            needed
            for field in ("depends_on", "after")
            for needed in (difference.wanted.fields.get(field, ()) if difference.wanted else ())
            if needed in new
        ]
        for task, difference in new.items()
    }
    ordered = [new[task] for wave in waves(needs) for task in wave]
    return ordered + [difference for difference in differences if difference.kind in ("changed", "gone")]


def _apply(home: Home, project: ProjectState, difference: Difference, phase_name: str, actor: Actor, now: str) -> None:
    if difference.kind == "new" and difference.wanted is not None:
        task = _new_task(difference.wanted, actor, now)
        write_task_folder(
            TaskFolder(home, phase_name, difference.task), task, difference.wanted.description, project["project_id"]
        )
        return
    folder = task_folders.find(home, project, difference.task)
    task_state, _ = load_or_repair(folder, project["project_id"])
    if difference.wanted is None:
        abandoned_task, _ = task_rules.move(
            task_state["task"], "abandoned", actor=actor, now=now, reason=plan_rules.GONE
        )
        folder.save(task_state, abandoned_task, project["project_id"])
        return
    home.replace(folder.description_path, home.redact(difference.wanted.description))
    fields = {key: value for key, value in task_state["task"].items() if key not in plan_rules.FIELDS}
    changed: Task = {**fields, **difference.wanted.fields, "source": _source(difference.wanted), "updated_at": now}  # type: ignore[typeddict-item]
    folder.save(task_state, {**changed, "name": home.redact(changed["name"])}, project["project_id"])


def _source(wanted: PlannedTask) -> dict[str, str]:
    return {"plan": wanted.source_plan, "id": wanted.source_id, "digest": wanted.digest}


def _new_task(wanted: PlannedTask, actor: Actor, now: str) -> Task:
    """Returns a new task: pending, unless the plan marks it as completed or skipped."""
    fields: dict[str, Any] = {"id": wanted.id, "name": "", "status": "pending", "iteration": 1, "priority": "medium"}
    fields |= {"references": [], "questions": [], **wanted.fields, "source": _source(wanted)}
    fields |= {"created_at": now, "updated_at": now}
    if wanted.status == "completed":
        approval = {"by": actor.name, "at": now, "iteration": 1}
        fields |= {"status": "completed", "completed_at": now, "approval": approval}
    elif wanted.status == "skipped":
        fields |= {"status": "abandoned", "abandoned_reason": plan_rules.SKIPPED}
    return fields  # type: ignore[return-value]


def _record_digests(home: Home, project: ProjectState, intake: PlanImport, now: str) -> None:
    """Records the digest of every plan file, so that a later change of the plan is noticed."""
    old_plans = {plan["path"]: plan for plan in project.get("plans", [])}
    plans = dict(old_plans)
    for name, path in intake.paths.items():
        imported: ImportedPlan = {"path": path, "digest": intake.digests[name], "imported_at": now}
        if path not in old_plans or old_plans[path]["digest"] != imported["digest"]:
            plans[path] = imported
    if plans != old_plans:
        project["plans"] = list(plans.values())
        project["updated_at"] = now
        projects.save(home, project)


def prepare_project(
    home: Home, *, name: str, description: str = "", phases: list[str], actor: Actor
) -> Callable[[], ProjectState]:
    """Checks all input for a new project and returns a function that creates it on the current branch."""
    now = clock.now()
    checked = inputs.checked_line(name, "the project's name", 100)
    about = inputs.checked_text(description, "the description", 20_000) if description else ""
    about = "" if about.strip() == checked else about
    stages = new_phases(phases, now=now)
    projects.check_can_create(home)

    def make() -> ProjectState:
        with home.lock():
            branch = projects.check_can_create(home)
            home.folder("project")
            log_act(home, actor, action="project_new", text=f"started project {checked} on {branch}", now=now)
            return projects.create(
                home, project_id=clock.uuid4(), name=checked, description=about, phases=stages, now=now
            )

    return make
