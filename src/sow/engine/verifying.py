"""Verifying: the evidence of completed tasks is repeated, each command on the very tree that it was run on."""

from __future__ import annotations

from sow.domain import check_list
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
    """One piece of evidence, and what came of the same command now."""

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


def recorded(ship: Ship, wanted: Sequence[str]) -> list[Repeated]:
    """The evidence of the run's completed tasks, or of some of them; the same command on the same tree counts once."""
    project = projects.load(ship.home)
    chosen = wanted or ship.folder.run["tasks"]
    found: dict[tuple[str, str, str], Repeated] = {}
    for task in desks.load_some(ship.home, project, chosen):
        if task["status"] == "completed":
            for each in task.get("evidence", ()):
                found.setdefault((task["id"], each["command"], each.get("tree", "")), Repeated(task, each))
    return list(found.values())


def check_of(repeated: Repeated) -> Check:
    """The command as the plan gave it, with the exit code that it wants."""
    command = repeated.evidence["command"]
    for check in repeated.task.get("checks", ()):
        if check["command"] == command:
            return check
    return {"kind": "test", "command": command}


def repeat(
    ship: Ship, integration: Integration, entries: Sequence[Repeated], tell: Callable[[Repeated], None]
) -> Steps[None]:
    """Run every command again on its tree, after the commands of its list that came before it."""
    repository = integration.repository
    for each in entries:
        tree = each.evidence.get("tree", "")
        each.reason = unrepeatable(integration, each)
        if not each.reason:
            commit = repository.commit_tree(tree, [integration.head], "To be verified")
            done = yield from run_list(
                ship, _up_to(each), commit=commit, tree=tree, iteration=each.evidence["iteration"], name="verify"
            )
            if done.interrupted:
                raise Interrupted("interrupted: the evidence was not repeated", "run the same command again")
            last = done.evidence[-1]
            each.exit, each.passed = last["exit"], last["passed"]
        tell(each)


def _up_to(repeated: Repeated) -> list[Check]:
    """The list of a command, up to the command: it can need what an earlier one builds."""
    wanted = check_of(repeated)
    found: list[Check] = []
    if repeated.evidence["kind"] != "dependency":
        for check in check_list.of_task(repeated.task):
            if check["command"] == wanted["command"]:
                return [*found, wanted]
            found.append(check)
    return [wanted]


def unrepeatable(integration: Integration, entry: Repeated) -> str:
    """The reason why a piece of evidence cannot be repeated; empty if it can."""
    tree = entry.evidence.get("tree", "")
    if not tree:
        return "it was shown on no tree of its own"
    found = integration.repository.attempt(["cat-file", "-e", f"{tree}^{{tree}}"])
    return "its tree is not in git any more" if found.code else ""
