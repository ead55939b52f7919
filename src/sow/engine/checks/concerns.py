"""Records concerns about collected work: changes that weaken its proof, and checks in which too few tests ran.

It also runs each check list once on the base commit of a run, before any result of that list is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sow.domain.checks import protected_paths, task_checks, test_counts
from sow.domain.checks.protected_paths import PathChange
from sow.domain.documents.state import Baseline, Check, Evidence, Task, TestCounts
from sow.domain.network import ALL
from sow.domain.runs.stages import PROTECTED
from sow.engine.checks import check_list
from sow.engine.checks.check_list import CheckListResult, failed_evidence, run_list
from sow.errors import SowError
from sow.gitwork.collect import CollectedWork
from sow.gitwork.repository import Repository
from sow.store.projects import task_updates
from sow.system import clock, git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.engine.runs.run_context import RunContext
    from sow.engine.runs.task_job import TaskJob
    from sow.system.process.steps import Steps

STATUSES = {"A": "added", "D": "deleted"}
NO_BLOB = ("120000", "160000")  # modes of links and submodules, which have no text to compare
AFTER = ("merge", "final")  # kinds of evidence that belong to merged trees
MOST_READ = 100  # number of files whose contents are compared
LARGEST = 1 << 20  # bytes of one file
UNCHECKED = "protected paths cannot be checked without worktrees: "
WAY = "Undo these changes. If the task cannot be done without them, ask for permission."


def record_change_concerns(job: TaskJob, task: Task, collected: CollectedWork) -> None:
    """Records what a reviewer must know about the changed paths, and fails work that changes a protected one.

    Call it before the work is recorded: after a crash it runs again.
    """
    isolation = job.context.isolation
    if isolation is None:
        return
    changed = _changes(isolation.worktrees.repository, collected.base, collected.commit)
    description = job.folder.home.read(job.folder.description_path)
    for text in protected_paths.concerns(changed, task=task, description=description):
        job.concern("protected", text)
    broken = protected_paths.violations(changed, task.get("protected", ()))
    if broken:
        _fail(job, task, collected, broken)


def record_unchecked_paths(job: TaskJob, task: Task) -> None:
    """Records that nobody can tell what a task changed in a folder that all tasks share."""
    if job.context.isolation is None and task.get("protected"):
        job.concern("protected", UNCHECKED + ", ".join(task["protected"]))


def record_test_concerns(job: TaskJob, task: Task, evidence: Sequence[Evidence]) -> Steps[bool]:
    """Records that too few tests ran in a list that passed; to be called before its last evidence is recorded.

    Returns False if a person stopped it.
    """
    checks = {check["command"] for check in task_checks.checks_of(task)}
    latest = {
        entry["command"]: entry
        for entry in [*task.get("evidence", ()), *evidence]
        if entry["iteration"] == task["iteration"] and entry["kind"] not in AFTER and entry["command"] in checks
    }
    if not all(entry["passed"] for entry in latest.values()):
        return True
    base = _known_counts(job, task)
    if base is not None and test_counts.count_problem(list(latest.values()), base):
        # Tasks that were merged earlier may have removed tests, so the count is compared with this task's own base.
        own_base = _own_base(job, task)
        if own_base is not None:
            result = yield from run_on_base(job.context, task_checks.checks_of(task), *own_base)
            if result.interrupted:
                return False
            base = test_counts.total(entry.get("tests") for entry in result.evidence)
    text = test_counts.count_problem(list(latest.values()), base)
    if text:
        job.concern("tests", text)
    counts = [entry["tests"] for entry in latest.values() if "tests" in entry]
    if base is not None and len(counts) == 1:  # the baseline has one count for the whole list
        counts[0]["base"] = base["ran"]
    return True


def _known_counts(job: TaskJob, task: Task) -> TestCounts | None:
    """Returns the test counts of the task's list on the base commit of the run."""
    digest = task_checks.digest(task_checks.checks_of(task))
    baselines = job.context.folder.run.get("baselines", ())
    return next(
        (baseline["tests"] for baseline in baselines if baseline["list"] == digest and "tests" in baseline), None
    )


def _own_base(job: TaskJob, task: Task) -> tuple[str, str] | None:
    """Returns the commit on which the task began, before any merge of its own, and its tree; None: the run's base."""
    isolation = job.context.isolation
    if isolation is None:
        return None
    integration = isolation.integration
    parents = [merge["parent"] for merge in integration.merges if merge["task"] == task["id"]]
    commit = parents[0] if parents else task["work"]["base"]
    tree = integration.repository.tree_of(commit)
    return None if tree == integration.repository.tree_of(integration.base) else (commit, tree)


def _fail(job: TaskJob, task: Task, collected: CollectedWork, broken: Sequence[PathChange]) -> None:
    """Records the violation like a failed check, with the paths as its output."""
    paths = [change.label for change in broken]
    lines = [f"protected: {', '.join(task.get('protected', ()))}", *paths[:MOST_READ], WAY]
    evidence = failed_evidence("criterion", PROTECTED, task["iteration"])
    evidence["tree"] = collected.tree
    task_updates.save_output(job.context.checks_folder(job.id), PROTECTED, "\n".join(lines))
    task_updates.add_evidence(job.folder, job.project, [evidence])
    facts = {"kind": "criterion", "command": f"{PROTECTED}: {protected_paths.join_paths(paths)}", "exit": 1}
    job.context.journal("check", task=job.id, **facts, seconds=0, passed=False, iteration=task["iteration"])


def _changes(repository: Repository, base: str, commit: str) -> list[PathChange]:
    """Returns every path that differs, with its contents if they matter."""
    fields = repository.git("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", base, commit).split("\0")
    changes = []
    remaining = MOST_READ
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, letter = head.lstrip(":").split(" ")
        change = PathChange(path, STATUSES.get(letter[:1], "modified"))
        if remaining and protected_paths.needs_text(path) and old_mode not in NO_BLOB and new_mode not in NO_BLOB:
            remaining -= 1
            change.before = _text(repository, old) if change.status != "added" else None
            change.after = _text(repository, new) if change.status != "deleted" else None
        changes.append(change)
    return changes


def _text(repository: Repository, blob: str) -> str:
    return git.read(["cat-file", "blob", blob], cwd=repository.home.root, limit=LARGEST)[0]


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
            if not (done.passed or done.interrupted) and check_list.may_need_network(context):
                online = yield from run_on_base(context, checks, base, tree, network=ALL)
                if online.interrupted:
                    return
                if online.passed:
                    raise check_list.network_question(context, checks)
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
