"""Starts a run: continues the interrupted one or creates a new one, and recovers what a crash left."""

from __future__ import annotations

from sow.domain.task import ENDED_STATUSES
from sow.engine.check_mark import sweep_left
from sow.engine.merging import Integration
from sow.engine.pruning import leftovers, sweep
from sow.engine.recovery import is_needed, recover
from sow.engine.repository import Repository
from sow.engine.ship import Isolation, Ship
from sow.engine.worktrees import Worktrees
from sow.store import desk as desks
from sow.store import runs, unfinished
from sow.store.repair import load_or_repair
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from sow.agents.registry import AgentRegistry
    from sow.config import Config
    from sow.domain.agreed import Agreed
    from sow.domain.shapes import ProjectState, Run, RunPlan, RunSettings
    from sow.store.claim import Claim
    from sow.store.desk import Desk
    from sow.store.home import Home
    from sow.store.runs import RunFolder


def folder_for(
    home: Home,
    owner: str,
    *,
    claim: Claim,
    name: str,
    branch: str,
    base: str,
    plans: list[RunPlan],
    tasks: list[str],
    settings: RunSettings,
) -> tuple[RunFolder, bool]:
    """Return the unfinished run of a project or workflow, or a new one, and whether it continues."""
    unfinished_run = runs.unfinished(home, owner)
    if unfinished_run is not None and [plan["path"] for plan in unfinished_run.run["plans"]] == [
        plan["path"] for plan in plans
    ]:
        unfinished_run.run.update({"settings": settings, "tasks": tasks, "plans": plans, "status": "running"})
        unfinished_run.run.pop("ended_at", None)
        claim.work_on(unfinished_run.id)
        unfinished_run.save()
        return unfinished_run, True
    run: Run = {
        "id": runs.new_id(),
        "project_id": owner,
        "name": name,
        "branch": branch,
        "base": base,
        "status": "running",
        "started_at": clock.now(),
        "plans": plans,
        "tasks": tasks,
        "settings": settings,
    }
    claim.work_on(run["id"])
    return runs.create(home, run), False


def board_ship(
    home: Home,
    config: Config,
    environment: Mapping[str, str],
    *,
    agents: AgentRegistry,
    folder: RunFolder,
    listeners: list[Callable[[dict[str, Any]], None]],
    judges: Sequence[str] | None = None,
    agreed: Agreed | None = None,
) -> Ship:
    """Create the run's context, with its worktrees and integration branch if tasks are isolated."""
    isolation = None
    if folder.run["settings"]["isolation"] == "worktree":
        repository = Repository(home)
        integration = Integration(home, folder.id, repository=repository, record=folder)
        integration.begin(folder.run["base"])
        isolation = Isolation(Worktrees(home, folder.id, repository=repository), integration)
    return Ship(
        home,
        config,
        environment,
        agents=agents,
        folder=folder,
        isolation=isolation,
        listeners=listeners,
        judges=judges,
        agreed=agreed,
    )


def put_in_order(home: Home, project: ProjectState, environment: Mapping[str, str]) -> list[str]:
    """End what earlier checks and turns left running, on every task that nobody works on; returns remarks."""
    with home.lock():
        for folder in (home.project, f"{home.sow}/local/sessions", f"{home.sow}/local/runs"):
            unfinished.sweep(folder)
    process_count = sweep_left(f"{home.sow}/local/runs")
    remarks = (
        [f"an earlier check was cut off; processes of it that had to be ended: {process_count}"]
        if process_count
        else []
    )
    for desk in desks.desks(home, project):
        if is_needed(desk) and not home.holder(desk.id):
            with home.claim(f"task-{desk.id}", purpose="recovery"):
                remarks += recover(desk, environment)
        remarks += _repaired(desk, project["project_id"])
    return remarks + _swept(home, project)


def _swept(home: Home, project: ProjectState) -> list[str]:
    """Remove worktrees that a run left when it was killed between the end of a task and their removal."""
    loaded = desks.load_all(home, project)[0]
    ended = {task["id"] for _, task in loaded if task["status"] in ENDED_STATUSES and not home.holder(task["id"])}
    if not leftovers(home, ended):
        return []
    swept = sweep(home, ended)
    remarks = [f"removed worktree {name}, which an earlier run left" for name in swept.dropped]
    return remarks + [f"worktree {name} of an earlier run stays: {reason}" for name, reason in swept.kept.items()]


def _repaired(desk: Desk, project_id: str) -> list[str]:
    """Repair a broken state file, because an unreadable task would look like a new task of the plan."""
    with desk.home.lock():
        _, remark = load_or_repair(desk, project_id)
    return [f"task {desk.id}: {remark}"] if remark else []
