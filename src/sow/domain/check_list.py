"""The ordered list of commands that shows whether a task's work is done."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sow.domain.shapes import Check, Evidence, Task


def of_task(task: Task) -> list[Check]:
    """The commands that must pass on the work, in order; dependency checks and waived commands are left out."""
    waived = {waiver["command"] for waiver in task.get("waivers", ())}
    return [
        check for check in task.get("checks", ()) if check["kind"] != "dependency" and check["command"] not in waived
    ]


def digest(checks: Sequence[Check]) -> str:
    """The identity of a list: two tasks with equal commands in equal order share one."""
    import hashlib

    lines = (f"{check['command']}\0{check.get('expected', '')}\n" for check in checks)
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def last_run(evidence: Sequence[Evidence], checks: Sequence[Check], *, tree: str) -> list[Evidence]:
    """The results of the last whole run of a list on a tree; nothing if a command of it is missing.

    Without a tree the results of a shared folder count, which belong to no commit.
    """
    if not checks:
        return []
    known, scope = digest(checks), "commit" if tree else "folder"
    alike = [
        each
        for each in evidence
        if each.get("list") == known and each.get("scope") == scope and each.get("tree", "") == tree
    ]
    last = alike[-len(checks) :]
    return last if [each["command"] for each in last] == [each["command"] for each in checks] else []


def distinct(tasks: Iterable[Task]) -> dict[str, tuple[list[Check], list[str]]]:
    """Every distinct list of some tasks, by its digest: the commands, and the ids of the tasks that have it."""
    lists: dict[str, tuple[list[Check], list[str]]] = {}
    for task in tasks:
        checks = of_task(task)
        if checks:
            lists.setdefault(digest(checks), (checks, []))[1].append(task["id"])
    return lists
