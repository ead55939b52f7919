"""Runs each check list once on the base commit of a run, before any result of that list is judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sow.domain.checks import task_checks
from sow.domain.documents.state import Baseline, Check, Task
from sow.domain.network import ALL
from sow.engine.checks import check_network
from sow.engine.checks.check_list import CheckListResult, run_list
from sow.errors import SowError
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.engine.runs.run_context import RunContext
    from sow.system.process.child_process import Steps

NAME = "baseline"  # name of the folder that keeps the output


@dataclass(frozen=True)
class Baselines:
    """The lists that run now on the base commit, and those that this machine cannot run."""

    running: set[str] = field(default_factory=set)
    problems: dict[str, SowError] = field(default_factory=dict)

    def run_in_background(self, context: RunContext, tasks: Iterable[Task]) -> Steps[None]:
        """Runs the lists of some tasks on the base commit while workers are busy; a problem is kept for its task."""
        for digest, (checks, _) in task_checks.by_digest(tasks).items():
            if not self._is_wanted(context, digest) or digest in self.running:
                continue
            try:
                yield from self._run(context, checks, digest)
            except SowError as problem:
                self.problems[digest] = problem
                context.journal("baseline", list=digest, passed=False, problem=problem.message)

    def wait_for(self, context: RunContext, checks: Sequence[Check]) -> Steps[None]:
        """Waits until a list has its result on the base commit; raises what this machine lacks for it."""
        digest = task_checks.digest(checks)
        if not checks or not self._is_wanted(context, digest):
            return
        while digest in self.running:
            if (yield):
                return
        problem = self.problems.pop(digest, None)  # after the answer the list is tried again
        if problem is not None:
            raise problem
        if self._is_wanted(context, digest):
            yield from self._run(context, checks, digest)

    def forget(self, context: RunContext, checks: Sequence[Check]) -> None:
        """Forgets the result of a list that this machine cannot run: after the answer it runs on the base again."""
        digest, run = task_checks.digest(checks), context.folder.run
        left = [entry for entry in run.get("baselines", ()) if entry["list"] != digest]
        if len(left) != len(run.get("baselines", ())):
            run["baselines"] = left
            context.folder.save()

    def _is_wanted(self, context: RunContext, digest: str) -> bool:
        if context.isolation is None or context.settings.get("baseline", "on") == "off":
            return False
        return all(entry["list"] != digest for entry in context.folder.run.get("baselines", ()))

    def _run(self, context: RunContext, checks: Sequence[Check], digest: str) -> Steps[None]:
        if context.isolation is None:
            return
        self.running.add(digest)
        try:
            base = context.isolation.integration.base
            tree = context.isolation.integration.repository.tree_of(base)
            done = yield from run_on_base(context, checks, base, tree)
            if not (done.passed or done.interrupted) and check_network.may_need_network(context):
                online = yield from run_on_base(context, checks, base, tree, network=ALL)
                if online.interrupted:
                    return
                if online.passed:
                    raise check_network.question(context, checks)
        finally:
            self.running.discard(digest)
        if not done.interrupted:
            _write(context, digest, tree, done)


def run_on_base(
    context: RunContext, checks: Sequence[Check], commit: str, tree: str, *, network: str = ""
) -> Steps[CheckListResult]:
    """Runs a list on a commit that work begins with."""
    return run_list(context, checks, commit=commit, tree=tree, iteration=1, name=NAME, on_base=True, network=network)


def _write(context: RunContext, digest: str, tree: str, done: CheckListResult) -> None:
    entry: Baseline = {"list": digest, "tree": tree, "passed": done.passed, "at": clock.now()}
    failed = next((evidence for evidence in done.evidence if not evidence["passed"]), None)
    if failed is not None:
        entry["command"], entry["exit"] = failed["command"], failed["exit"]
    counts = [evidence["tests"] for evidence in done.evidence if "tests" in evidence]
    if counts:
        entry["tests"] = {"ran": sum(count["ran"] for count in counts)}
    run = context.folder.run
    run["baselines"] = [*run.get("baselines", []), entry]
    context.folder.save()
    context.journal("baseline", **entry)
