"""Work of a task that lies apart, in its worktree or on its branch: a run in one folder would judge without it."""

from __future__ import annotations

from sow.domain.task import ENDED_STATUSES
from sow.engine.furnishing import furniture
from sow.engine.place import Place
from sow.engine.repository import Repository
from sow.errors import SowError
from sow.system import linked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.domain.shapes import Task
    from sow.store.home import Home

BRANCHES = "refs/heads/sow/task"
INTEGRATIONS = "refs/heads/sow/int/"
NO_WORK = ("pending", *ENDED_STATUSES)
SHOWN = 5


def refuse(home: Home, tasks: Sequence[Task], again: str) -> None:
    """Refuse a run in one folder of tasks whose work is not there; `again` is the command that goes on with it."""
    begun = [task for task in tasks if task["status"] not in NO_WORK]
    if not begun:
        return
    repository = Repository(home)
    with repository.held():
        found = {task["id"]: task for task in begun if _is_apart(repository, task)}
    if not found:
        return
    one, first = len(found) == 1, next(iter(found))
    shown = ", ".join(list(found)[:SHOWN]) + (f" and {len(found) - SHOWN} more" if len(found) > SHOWN else "")
    said = f"task {shown} has work in its worktree" if one else f"tasks {shown} have work in their worktrees"
    raise SowError(
        f"{said}, and a run in one folder would judge without it",
        f"go on with it where it is: {again}\n"
        f"or bring it here: {_way_here(repository, found[first])}\n"
        f'or give it up: sow task abandon {first} --reason "…"',
    )


def _is_apart(repository: Repository, task: Task) -> bool:
    """Whether a task has done anything that the user's checkout has not."""
    here = repository.commit_of("HEAD")
    if repository.outside(repository.only_commits(_collected(task)), [here]):
        return True
    place = Place(repository, task["id"])
    if place.is_ready and (linked.under_way(place.record) or place.dirt(furniture(place))):
        return True
    heads = [place.head()] if place.is_ready else list(_branches(repository, task["id"]).values())
    # What others have done is where a task's work began.
    return bool(repository.outside(heads, [here, *repository.refs(INTEGRATIONS).values()]))


def _collected(task: Task) -> list[str]:
    """The commit of what this iteration has handed in, where that is anything."""
    work = task.get("work")
    if work is None or work["iteration"] != task["iteration"] or work["commit"] == work["base"]:
        return []
    return [work["commit"]]


def _branches(repository: Repository, task: str) -> dict[str, str]:
    """The branches that runs gave a task."""
    return repository.refs(f"{BRANCHES}/*/{task}")


def _way_here(repository: Repository, task: Task) -> str:
    """How a person brings a task's work into their checkout."""
    place, branches = Place(repository, task["id"]), _branches(repository, task["id"])
    stood = (place.branch() if place.is_ready else "") or max(branches, default="")
    name = stood.removeprefix("refs/heads/") or "".join(_collected(task))
    first = f"commit what is open in .sow/local/worktrees/{task['id']}, then " if place.is_ready else ""
    return f"{first}git merge {name}"
