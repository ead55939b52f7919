"""Repeats the evidence of accepted results: each command on its tree, with the same setup and environment."""

from __future__ import annotations

from sow.engine import final_checks
from sow.engine.check_list import run_list
from sow.engine.setup_plan import reader_at
from sow.errors import Interrupted
from sow.store import desk as desks
from sow.store import project as projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sow.domain.shapes import Check, Evidence, Task
    from sow.engine.merging import Integration
    from sow.engine.ship import Ship
    from sow.engine.steps import Steps

HOLDS, DIFFERS, LEFT_OUT = "holds", "differs", "left out"
OLDER = "it was made with another setup or environment"
RED_BEFORE = "its check list failed before the run began"


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


def recorded(ship: Ship, integration: Integration, wanted: Sequence[str]) -> list[Repeated]:
    """The evidence of the accepted results of the run's completed tasks, or of some of them.

    An earlier iteration is not part of the result, and a waived command is not run again. The same command on the same
    tree counts once for each setup and environment.
    """
    project = projects.load(ship.home)
    merged = {each["task"]: each["iteration"] for each in integration.merges}
    found: dict[tuple[str, ...], Repeated] = {}
    for task in desks.load_some(ship.home, project, wanted or ship.folder.run["tasks"]):
        if task["status"] != "completed":
            continue
        own = {check["command"] for check in task.get("checks", ())}
        waived = {each["command"] for each in task.get("waivers", ())}
        for each in task.get("evidence", ()):
            # A final check of another task, which this one broke, is repeated there.
            foreign = each["kind"] == "final" and each["command"] not in own
            if foreign or each["command"] in waived or each["iteration"] < merged.get(task["id"], task["iteration"]):
                continue
            place = [each.get(key, "") for key in ("tree", "setup", "environment")]
            found.setdefault((task["id"], each["command"], *place), Repeated(task, each))  # type: ignore[arg-type]
    _leave_out(ship, integration, found.values())
    return list(found.values())


def _leave_out(ship: Ship, integration: Integration, entries: Iterable[Repeated]) -> None:
    """Give a reason to all evidence that cannot be repeated on its tree with its setup."""
    setups: dict[str, str] = {}
    red = final_checks.failed_before(ship)
    for each in entries:
        tree = each.evidence.get("tree", "")
        if not tree:
            each.reason = "it was shown on no tree of its own"
        elif integration.repository.attempt(["cat-file", "-e", f"{tree}^{{tree}}"]).code:
            each.reason = "its tree is not in git any more"
        elif each.evidence.get("list") in red:
            each.reason = RED_BEFORE
        else:
            if tree not in setups:
                setups[tree] = ship.setups.wanted(reader_at(ship.home.root, tree)).key
            if setups[tree] != each.evidence.get("setup") or not each.evidence.get("environment"):
                each.reason = OLDER


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
    groups: dict[tuple[str, ...], list[Repeated]] = {}
    for each in entries:
        if each.reason:
            tell(each)
        else:
            place = (each.task["id"], each.evidence["tree"], each.evidence["environment"])
            groups.setdefault(place, []).append(each)
    for group in groups.values():
        yield from _repeat(ship, integration, group)
        for each in group:
            tell(each)


def _repeat(ship: Ship, integration: Integration, group: Sequence[Repeated]) -> Steps[None]:
    order = [check["command"] for check in group[0].task.get("checks", ())]
    checks = [check_of(entry) for entry in group]
    checks.sort(key=lambda check: order.index(check["command"]) if check["command"] in order else len(order))
    was = group[0].evidence
    tree = was["tree"]
    commit = integration.repository.commit_tree(tree, [integration.head], "To be verified")
    done = yield from run_list(
        ship,
        checks,
        commit=commit,
        tree=tree,
        iteration=was["iteration"],
        name="verify",
        environment_wanted=was["environment"],
    )
    if done.interrupted:
        raise Interrupted("interrupted: the evidence was not repeated to its end", "run the same command again")
    results = {each["command"]: each for each in done.evidence}
    for each in group:
        if done.is_elsewhere:
            each.reason = OLDER
        else:
            found = results[each.evidence["command"]]
            each.exit, each.passed = found["exit"], found["passed"]
