"""Repeats the evidence of accepted results: each command on its tree, with the same setup and environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sow.domain.checks import task_checks
from sow.domain.documents.state import Check, Evidence, Task
from sow.engine.checks import final_checks
from sow.engine.checks.check_list import run_list
from sow.engine.checks.setup_plan import commit_reader
from sow.engine.runs.run_context import RunContext
from sow.errors import Interrupted
from sow.gitwork.integration_branch import Integration
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.system.process.steps import Steps

HOLDS, DIFFERS, SKIPPED = "holds", "differs", "left out"
OLDER = "it was made with another setup or environment"
RED_BEFORE = "its check list failed before the run began"


@dataclass
class RepeatedCheck:
    """One piece of evidence, and the result of the same command now."""

    task: Task
    evidence: Evidence
    exit: int | None = None
    passed: bool | None = None
    reason: str = ""  # why it was not repeated

    @property
    def verdict(self) -> str:
        if self.reason:
            return SKIPPED
        same = (self.exit, self.passed) == (self.evidence["exit"], self.evidence["passed"])
        return HOLDS if same else DIFFERS


def evidence_to_repeat(context: RunContext, integration: Integration, wanted: Sequence[str]) -> list[RepeatedCheck]:
    """Returns the evidence of the accepted results of the run's completed tasks, or of some of them.

    An earlier iteration is not part of the result, and a waived command is not run again. The same command on the same
    tree counts once for each setup and environment.
    """
    project = projects.load(context.home)
    merged = {merge["task"]: merge["iteration"] for merge in integration.merges}
    checks: dict[tuple[str, ...], RepeatedCheck] = {}
    for task in task_folder.load_readable_or_raise(context.home, project, wanted or context.folder.run["tasks"]):
        if task["status"] != "completed":
            continue
        own = {check["command"] for check in task.get("checks", ())}
        waived = task_checks.waived_commands(task)
        for evidence in task.get("evidence", ()):
            # A final check of another task, which this one broke, is repeated there.
            foreign = evidence["kind"] == "final" and evidence["command"] not in own
            is_old = evidence["iteration"] < merged.get(task["id"], task["iteration"])
            if foreign or evidence["command"] in waived or is_old:
                continue
            place = [evidence.get(key, "") for key in ("tree", "setup", "environment")]
            checks.setdefault((task["id"], evidence["command"], *place), RepeatedCheck(task, evidence))  # type: ignore[arg-type]
    _leave_out(context, integration, checks.values())
    return list(checks.values())


def _leave_out(context: RunContext, integration: Integration, entries: Iterable[RepeatedCheck]) -> None:
    """Gives a reason to all evidence that cannot be repeated on its tree with its setup."""
    setups: dict[str, str] = {}
    red = final_checks.failed_before(context)
    for entry in entries:
        tree = entry.evidence.get("tree", "")
        if not tree:
            entry.reason = "it belongs to no commit"
        elif integration.repository.run_git(["cat-file", "-e", f"{tree}^{{tree}}"]).code:
            entry.reason = "its tree is not in git any more"
        elif entry.evidence.get("list") in red:
            entry.reason = RED_BEFORE
        else:
            if tree not in setups:
                setups[tree] = context.setups.wanted(commit_reader(context.home.root, tree)).key
            if setups[tree] != entry.evidence.get("setup") or not entry.evidence.get("environment"):
                entry.reason = OLDER


def check_of(repeated: RepeatedCheck) -> Check:
    """Returns the command as the plan gave it, with the expected exit code."""
    command = repeated.evidence["command"]
    for check in repeated.task.get("checks", ()):
        if check["command"] == command:
            return check
    return {"kind": "test", "command": command}


def repeat(
    context: RunContext,
    integration: Integration,
    entries: Sequence[RepeatedCheck],
    tell: Callable[[RepeatedCheck], None],
) -> Steps[None]:
    """Runs the commands of each task again on each tree, in the order of the task's list."""
    groups: dict[tuple[str, ...], list[RepeatedCheck]] = {}
    for entry in entries:
        if entry.reason:
            tell(entry)
        else:
            place = (entry.task["id"], entry.evidence["tree"], entry.evidence["environment"])
            groups.setdefault(place, []).append(entry)
    for group in groups.values():
        yield from _repeat(context, integration, group)
        for entry in group:
            tell(entry)


def _repeat(context: RunContext, integration: Integration, group: Sequence[RepeatedCheck]) -> Steps[None]:
    order = [check["command"] for check in group[0].task.get("checks", ())]
    checks = [check_of(entry) for entry in group]
    checks.sort(key=lambda check: order.index(check["command"]) if check["command"] in order else len(order))
    was = group[0].evidence
    tree = was["tree"]
    commit = integration.repository.commit_tree(tree, [integration.head], "To be verified")
    done = yield from run_list(
        context,
        checks,
        commit=commit,
        tree=tree,
        iteration=was["iteration"],
        name="verify",
        environment_wanted=was["environment"],
    )
    if done.interrupted:
        raise Interrupted("interrupted: the evidence was not repeated to its end", "run the same command again")
    results = {evidence["command"]: evidence for evidence in done.evidence}
    for repeated in group:
        if done.is_elsewhere:
            repeated.reason = OLDER
        else:
            result = results[repeated.evidence["command"]]
            repeated.exit, repeated.passed = result["exit"], result["passed"]
