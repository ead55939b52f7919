"""The import of a plan: its tasks become tasks of the project, each whole or not at all, again and again."""

from __future__ import annotations

import os

from sow.domain import intake as rules
from sow.domain import phase
from sow.domain import task as task_rules
from sow.errors import Waiting
from sow.store import desk as desks
from sow.store import project as projects
from sow.store.desk import Desk
from sow.store.repair import load_or_repair
from sow.store.task_acts import lay_out, record
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from sow.domain.actor import Actor
    from sow.domain.intake import Difference, Wanted
    from sow.domain.plan import Plan
    from sow.domain.shapes import ImportedPlan, ProjectState, Task
    from sow.store.home import Home


class Intake:
    """A plan that is to be imported: what it says, where its files are, and who works on what."""

    __slots__ = ("agents", "descriptions", "digests", "paths", "phase", "plan")

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
        self.paths = paths  # the plan's own name of a file → its path as state has it
        self.digests = digests
        self.descriptions = descriptions
        self.agents = agents
        self.phase = phase  # none: where the tasks of a plan usually go


def digest(text: str) -> str:
    """What tells one text from another."""
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def place_of(home: Home, path: str) -> str:
    """A plan's path as state has it: below the root where it is there, else in full."""
    full = os.path.realpath(path)
    root = os.path.realpath(home.root)
    return os.path.relpath(full, root) if full.startswith(f"{root}/") else full


def propose(home: Home, project: ProjectState, given: Intake) -> list[Difference]:
    """What the import would do; nothing is changed."""
    phase.may_plan_in(project["phases"], _where(given, project))
    tasks = [task for _, task in desks.load_all(home, project)[0]]
    taken = [each.id for each in desks.desks(home, project)]
    return rules.compare(_wanted(given, tasks, taken), tasks, set(given.paths.values()))


def _where(given: Intake, project: ProjectState) -> str:
    """The phase of new tasks."""
    return phase.match(given.phase, project["phases"]) if given.phase else phase.usual(project["phases"])


def propose_fresh(given: Intake) -> list[Difference]:
    """The same where there is no project yet."""
    return rules.compare(_wanted(given, (), ()), (), ())


def _wanted(given: Intake, tasks: Sequence[Task], taken: Sequence[str]) -> list[Wanted]:
    import json

    have = {(task["source"]["plan"], task["source"]["id"]): task["id"] for task in tasks if "source" in task}
    known = {
        task.id: have[given.paths[task.file], task.number]
        for task in given.plan.tasks
        if (given.paths[task.file], task.number) in have
    }
    numbers = rules.number(given.plan.tasks, known, taken)
    skipped = {task.id for task in given.plan.tasks if task.status == "skipped"}
    found = []
    for task in given.plan.tasks:
        fields = rules.fields(task, numbers, agent=given.agents[task.id], skipped=skipped)
        text = given.descriptions[task.id]
        each = rules.Wanted(task, numbers[task.id], fields, plan=given.paths[task.file], description=text)
        each.digest = digest(json.dumps([fields, text], sort_keys=True))
        found.append(each)
    return found


def carry_out(home: Home, given: Intake, agreed: Sequence[Difference], *, actor: Actor) -> None:
    """Do what was proposed, if that is still what there is to do.

    A task is written after those that it waits for, so that a crash leaves tasks that can be worked on, and the same
    import again adds the rest.
    """
    now = clock.now()
    with home.lock():
        project = projects.load(home)
        found = propose(home, project, given)
        if summary(found) != summary(agreed):
            raise Waiting("the project changed meanwhile: nothing was imported", "look at the changes again")
        if any(each.kind in ("new", "changed", "gone") for each in found):
            names = ", ".join(given.paths.values())
            record(home, actor, action="plan_import", text=f"imported {names}: {counts(found)}", now=now)
        where = _where(given, project)
        for each in _in_order(found):
            _apply(home, project, each, where, actor, now)
        _remember(home, project, given, now)


def summary(found: Sequence[Difference]) -> list[tuple[object, ...]]:
    """What tells one proposal from another."""
    return [(each.kind, each.task, each.number, each.wanted.digest if each.wanted else "") for each in found]


def counts(found: Sequence[Difference]) -> str:
    """`5 new, 1 changed`"""
    words = {"new": "new", "changed": "changed", "gone": "gone", "ended": "ended already", "same": "unchanged"}
    numbers = {kind: sum(each.kind == kind for each in found) for kind in words}
    return ", ".join(f"{numbers[kind]} {word}" for kind, word in words.items() if numbers[kind])


def _in_order(found: Sequence[Difference]) -> list[Difference]:
    """Those that others wait for first."""
    from sow.domain.graph import waves

    new = {each.task: each for each in found if each.wanted is not None and each.kind == "new"}
    needs = {
        task: [
            other
            for field in ("depends_on", "after")
            for other in (each.wanted.fields.get(field, ()) if each.wanted else ())
            if other in new
        ]
        for task, each in new.items()
    }
    ordered = [new[task] for wave in waves(needs) for task in wave]
    return ordered + [each for each in found if each.kind in ("changed", "gone")]


def _apply(home: Home, project: ProjectState, each: Difference, where: str, actor: Actor, now: str) -> None:
    if each.kind == "new" and each.wanted is not None:
        task = _new_task(each.wanted, actor, now)
        lay_out(Desk(home, where, each.task), task, each.wanted.description, project["project_id"])
        return
    desk = desks.find(home, project, each.task)
    loaded, _ = load_or_repair(desk, project["project_id"])
    if each.wanted is None:
        gone, _ = task_rules.move(loaded["task"], "abandoned", actor=actor, now=now, reason=rules.GONE)
        desk.save(loaded, gone, project["project_id"])
        return
    home.replace(desk.description_path, home.struck(each.wanted.description))
    kept = {key: value for key, value in loaded["task"].items() if key not in rules.FIELDS}
    changed: Task = {**kept, **each.wanted.fields, "source": _source(each.wanted), "updated_at": now}  # type: ignore[typeddict-item]
    desk.save(loaded, {**changed, "name": home.struck(changed["name"])}, project["project_id"])


def _source(wanted: Wanted) -> dict[str, str]:
    return {"plan": wanted.source_plan, "id": wanted.source_id, "digest": wanted.digest}


def _new_task(wanted: Wanted, actor: Actor, now: str) -> Task:
    """A task as it begins: pending, unless its plan says that it is done or left out."""
    fresh: dict[str, Any] = {"id": wanted.id, "name": "", "status": "pending", "iteration": 1, "priority": "medium"}
    fresh |= {"references": [], "questions": [], **wanted.fields, "source": _source(wanted)}
    fresh |= {"created_at": now, "updated_at": now}
    if wanted.status == "completed":
        approval = {"by": actor.name, "at": now, "iteration": 1}
        fresh |= {"status": "completed", "completed_at": now, "approval": approval}
    elif wanted.status == "skipped":
        fresh |= {"status": "abandoned", "abandoned_reason": rules.SKIPPED}
    return fresh  # type: ignore[return-value]


def _remember(home: Home, project: ProjectState, given: Intake, now: str) -> None:
    """Keep the digest of every file, so that a change of the plan is seen."""
    before = {each["path"]: each for each in project.get("plans", [])}
    found = dict(before)
    for name, path in given.paths.items():
        imported: ImportedPlan = {"path": path, "digest": given.digests[name], "imported_at": now}
        if path not in before or before[path]["digest"] != imported["digest"]:
            found[path] = imported
    if found != before:
        project["plans"] = list(found.values())
        project["updated_at"] = now
        projects.save(home, project)
