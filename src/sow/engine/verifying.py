"""Repeats the checks of completed tasks, each command on the tree that its evidence is about."""

from __future__ import annotations

from sow.engine.check_list import run_list
from sow.errors import Interrupted
from sow.store import desk as desks
from sow.store import project as projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sow.domain.shapes import Check, Evidence, Task
    from sow.engine.merging import Integration
    from sow.engine.ship import Ship
    from sow.engine.steps import Steps

HOLDS, DIFFERS, LEFT_OUT = "holds", "differs", "left out"


class Repeated:
    """One piece of evidence, and the result of the same command now."""

    __slots__ = ("evidence", "exit", "passed", "reason", "task")

    def __init__(self, task: Task, evidence: Evidence) -> None:
        self.task = task
        self.evidence = evidence
        self.exit: int | None = None
        self.passed: bool | None = None
        self.reason = ""  # why it was not repeated

    @property
    def verdict(self) -> str:
        if self.reason:
            return LEFT_OUT
        same = (self.exit, self.passed) == (self.evidence["exit"], self.evidence["passed"])
        return HOLDS if same else DIFFERS


def recorded(ship: Ship, task_ids: Sequence[str]) -> list[Repeated]:
    """Return the evidence of the run's completed tasks, or of some; the same command on the same tree counts once."""
    project = projects.load(ship.home)
    idents = task_ids or ship.folder.run["tasks"]
    entries: dict[tuple[str, str, str], Repeated] = {}
    for task in desks.load_some(ship.home, project, idents):
        if task["status"] == "completed":
            commands = {check["command"] for check in task.get("checks", ())}
            for evidence in task.get("evidence", ()):
                if evidence["kind"] == "final" and evidence["command"] not in commands:
                    continue  # a check of another task, which this one broke, is repeated there
                entries.setdefault(
                    (task["id"], evidence["command"], evidence.get("tree", "")), Repeated(task, evidence)
                )
    return list(entries.values())


def check_of(repeated: Repeated) -> Check:
    """Return the command as the plan gave it, with the expected exit code."""
    command = repeated.evidence["command"]
    for check in repeated.task.get("checks", ()):
        if check["command"] == command:
            return check
    return {"kind": "test", "command": command}


def repeat(
    ship: Ship, integration: Integration, entries: Sequence[Repeated], tell: Callable[[Repeated], None]
) -> Steps[None]:
    """Run the commands of each task again on each tree, in the order of the task's list."""
    groups: dict[tuple[str, str], list[Repeated]] = {}
    for entry in entries:
        groups.setdefault((entry.task["id"], entry.evidence.get("tree", "")), []).append(entry)
    for (_, tree), group in groups.items():
        reason = unrepeatable(integration, group[0])
        if reason:
            for entry in group:
                entry.reason = reason
        else:
            yield from _repeat(ship, integration, tree, group)
        for entry in group:
            tell(entry)


def _repeat(ship: Ship, integration: Integration, tree: str, group: Sequence[Repeated]) -> Steps[None]:
    order = [check["command"] for check in group[0].task.get("checks", ())]
    checks = [check_of(entry) for entry in group]
    checks.sort(key=lambda check: order.index(check["command"]) if check["command"] in order else len(order))
    commit = integration.repository.commit_tree(tree, [integration.head], "To be verified")
    facts = {"commit": commit, "tree": tree, "iteration": group[0].evidence["iteration"]}
    result = yield from run_list(ship, checks, **facts, name="verify")  # type: ignore[arg-type]
    if result.interrupted:
        raise Interrupted("interrupted: the evidence was not repeated to its end", "run the same command again")
    results = {evidence["command"]: evidence for evidence in result.evidence}
    for entry in group:
        evidence = results[entry.evidence["command"]]
        entry.exit, entry.passed = evidence["exit"], evidence["passed"]


def unrepeatable(integration: Integration, entry: Repeated) -> str:
    """Return the reason why a piece of evidence cannot be repeated; empty if it can."""
    tree = entry.evidence.get("tree", "")
    if not tree:
        return "it was shown on no tree of its own"
    answer = integration.repository.attempt(["cat-file", "-e", f"{tree}^{{tree}}"])
    return "its tree is not in git any more" if answer.code else ""
