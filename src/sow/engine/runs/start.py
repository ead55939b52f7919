"""Starts a run: continues the interrupted one or creates a new one, and recovers what a crash left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sow.domain.documents.state import ProjectState, Run, RunPlan, RunSettings
from sow.domain.task import unused_worktrees
from sow.engine.turns.recovery import is_needed, recover
from sow.errors import SowError
from sow.gitwork.check_processes import remarks_on_left_checks
from sow.gitwork.prune import leftover_worktrees, remove_leftovers
from sow.store.files import temp_files
from sow.store.files.checkout_home import Home
from sow.store.files.disk import Claim
from sow.store.projects import task_folder as task_folders
from sow.store.projects.task_folder import TaskFolder, load_or_repair
from sow.store.runs import run_folder
from sow.store.runs.run_folder import RunFolder
from sow.store.workflows.folder import AgentFolder
from sow.system import clock, git


def open_run_folder(
    home: Home,
    owner: str,
    *,
    claim: Claim,
    name: str,
    branch: str,
    plans: list[RunPlan],
    tasks: list[str],
    settings: RunSettings,
) -> tuple[RunFolder, bool]:
    """Returns the unfinished run of a project or workflow, or a new one, and whether it continues."""
    unfinished_run = run_folder.unfinished_run(home, owner)
    if unfinished_run is not None and [plan["path"] for plan in unfinished_run.run["plans"]] == [
        plan["path"] for plan in plans
    ]:
        unfinished_run.run.update({"settings": settings, "tasks": tasks, "plans": plans, "status": "running"})
        unfinished_run.run.pop("ended_at", None)
        claim.record_run(unfinished_run.id)
        unfinished_run.save()
        return unfinished_run, True
    run: Run = {
        "id": run_folder.new_id(),
        "project_id": owner,
        "name": name,
        "branch": branch,
        "base": git.run(["rev-parse", "HEAD"], cwd=home.root).strip(),
        "status": "running",
        "started_at": clock.now(),
        "plans": plans,
        "tasks": tasks,
        "settings": settings,
    }
    claim.record_run(run["id"])
    return run_folder.create(home, run), False


def require_commit(home: Home, noun: str = "a run") -> str:
    """Returns the current branch; refuses a detached HEAD and a repository without a commit."""
    branch = home.checkout.branch()
    if not branch:
        raise SowError(f"HEAD is detached in {home.root}: {noun} works for a branch", "git switch -c feature/NAME")
    if not git.run(["rev-parse", "--verify", "--quiet", "HEAD"], cwd=home.root, check=False).strip():
        raise SowError(f"{home.root} has no commit yet", "make a first one: git commit --allow-empty -m first")
    return branch


def start_fields(run: Run, tasks: list[dict[str, Any]]) -> dict[str, object]:
    """Returns the fields of a run and its tasks or agents that the journal keeps when a call begins."""
    return {"run": run["id"], "name": run["name"], "plans": run["plans"], "tasks": tasks, "settings": run["settings"]}


def recover_project(home: Home, project: ProjectState, environment: Mapping[str, str]) -> list[str]:
    """Ends what earlier checks and turns left running, on every task that nobody works on; returns remarks."""
    with home.lock():
        for folder in (home.project, f"{home.sow}/local/sessions", f"{home.sow}/local/runs"):
            temp_files.remove_temporary_files(folder)
    remarks = remarks_on_left_checks(f"{home.sow}/local/runs")
    for task_folder in task_folders.all_folders(home, project):
        remarks += recover_turn(task_folder, environment)
        remarks += _repaired(task_folder, project["project_id"])
    return remarks + _swept(home, project)


def recover_turn(folder: TaskFolder | AgentFolder, environment: Mapping[str, str]) -> list[str]:
    """Ends what a turn of a task or agent left running, unless somebody works there now; returns remarks."""
    if not is_needed(folder) or folder.home.task_holder(folder.id):
        return []
    with folder.home.claim(f"task-{folder.id}", purpose="recovery"):
        return recover(folder, environment)


def _swept(home: Home, project: ProjectState) -> list[str]:
    """Removes worktrees that a run left when it was killed between the end of a task and their removal."""
    loaded = task_folders.load_readable(home, project)[0]
    ended = {name for name in unused_worktrees(task for _, task in loaded) if not home.task_holder(name)}
    if not leftover_worktrees(home, ended):
        return []
    swept = remove_leftovers(home, ended)
    remarks = [f"removed worktree {name}, which an earlier run left" for name in swept.removed]
    return remarks + [f"worktree {name} of an earlier run stays: {reason}" for name, reason in swept.kept.items()]


def _repaired(folder: TaskFolder, project_id: str) -> list[str]:
    """Repairs a broken state file, because an unreadable task would look like a new task of the plan."""
    with folder.home.lock():
        _, remark = load_or_repair(folder, project_id)
    return [f"task {folder.id}: {remark}"] if remark else []
