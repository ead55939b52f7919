"""The ordered list of commands that shows whether a task's work is done."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sow.domain.shapes import Check, Task


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


def distinct(tasks: Iterable[Task]) -> dict[str, tuple[list[Check], list[str]]]:
    """Every distinct list of some tasks, by its digest: the commands, and the ids of the tasks that have it."""
    lists: dict[str, tuple[list[Check], list[str]]] = {}
    for task in tasks:
        checks = of_task(task)
        if checks:
            lists.setdefault(digest(checks), (checks, []))[1].append(task["id"])
    return lists
