"""The checks of the final tree: what is delivered passes the check lists of every task that is merged.

Each distinct list runs once on the final tree. A list that fails twice was broken by one of the merges since it last
passed: a search over the recorded merges finds which. That task is sent back with the output. Its merge stays where it
is, and its worker continues from the integration head, so other tasks' merges are not touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sow.domain.checks import task_checks
from sow.domain.documents.state import Check, Evidence, FinalCheck, RunMerge, Task
from sow.domain.runs.stages import FINAL, last_failed_final_check
from sow.engine.checks.check_list import CheckListResult, failed_evidence, run_list
from sow.errors import Interrupted, SowError
from sow.gitwork.integration_branch import Integration, Merge
from sow.gitwork.worktree import EnvironmentProblem
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.projects import task_updates
from sow.store.projects.project import WrongBranch
from sow.store.projects.restore import check_branch
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.engine.runs.run_context import RunContext
    from sow.engine.runs.task_job import TaskJob
    from sow.system.process.steps import Steps
Lists = Mapping[str, tuple[list[Check], list[str]]]

CHOICES = (
    'Answer "send back" to give it to its worker again (other words reach the worker as advice),\n'
    '"waive" to do without this check from now on, or "stop" to give the task up: its merge is taken out.'
)
FOR_THE_WORKER = "Your worktree has everything merged so far. Fix this check without breaking the other tasks."
NOTHING, AGAIN, STOP = "", "again", "stop"
BEFORE, USER = "before", "user"  # why a list fails: it failed before the run, or since commits of the user came in
GIVEN_UP = ("failed", "abandoned")
MERGE = "git merge"
MOST_PATHS = 5
FLAKY = "is flaky"
CHANGED = "fails now on a tree where it passed before, so something outside of git changed"


@dataclass(frozen=True)
class IntegrationPoint:
    """One state of the integration branch: its commit, its tree, and the merge that made it."""

    commit: str
    tree: str
    merge: RunMerge | None = None  # none: the base, or commits of the user


@dataclass(frozen=True)
class BrokenList:
    """A list that fails on the final tree, and the reason as far as it is known."""

    owners: list[str]  # the tasks that have this list
    done: CheckListResult
    by: IntegrationPoint | None = None
    unreliable: str = ""  # FLAKY or CHANGED: no merge is at fault
    asked: str = ""  # the task that has the question about an unreliable list

    @property
    def failed(self) -> Evidence:
        """The first command that failed."""
        return next(evidence for evidence in self.done.evidence if not evidence["passed"])

    @property
    def command(self) -> str:
        return self.failed["command"]

    @property
    def task(self) -> str:
        """The task whose merge broke it, or the one that has the question; "" if there is none."""
        if self.unreliable:
            return self.asked
        return self.by.merge["task"] if self.by is not None and self.by.merge is not None else ""

    @property
    def reason(self) -> str:
        owner = f"`{self.command}` of task {self.owners[0]}"
        if self.unreliable:
            return f"{owner} {self.unreliable}"
        if self.task:
            return f"{owner} fails on the final tree since task {self.task} was merged"
        return f"{owner} fails on the final tree"


@dataclass(frozen=True)
class FinalResult:
    """The result of all lists on one tree."""

    broken: BrokenList | None = None
    interrupted: bool = False
    problem: SowError | None = None  # why the lists could not run on this machine


def merged_tasks(context: RunContext) -> list[Task]:
    """Returns the completed tasks that this run merged, and those that an earlier run of the project merged."""
    merged = {merge["task"] for merge in _integration(context).merges}
    project = projects.load(context.home)
    return [
        task
        for _, task in task_folders.load_readable(context.home, project)[0]
        if task["status"] == "completed"
        and (task["id"] in merged or any(evidence["kind"] == "merge" for evidence in task.get("evidence", ())))
    ]


def commands(context: RunContext) -> list[str]:
    """Returns the commands that the final checks can run."""
    checks = [check for task in merged_tasks(context) for check in task_checks.checks_of(task)]
    return list(dict.fromkeys(check["command"] for check in checks))


def missing(context: RunContext, tree: str) -> dict[str, tuple[list[Check], list[str]]]:
    """Returns the distinct lists of merged tasks that did not pass on this tree in this process."""
    lists = task_checks.by_digest(merged_tasks(context))
    return {digest: entry for digest, entry in lists.items() if (tree, digest) not in context.passed_lists}


def broken_by(context: RunContext, task: Task) -> list[tuple[list[Check], list[str]]]:
    """Returns the lists that this task broke on a final tree: they must pass before it is merged again."""
    evidence = task.get("evidence", ())
    broken = {result.get("list") for result in evidence if result["kind"] == "final" and not result["passed"]}
    if not broken or context.isolation is None or context.settings.get("final_checks", "on") == "off":
        return []
    broken.discard(task_checks.digest(task_checks.checks_of(task)))
    return [entry for digest, entry in task_checks.by_digest(merged_tasks(context)).items() if digest in broken]


def _sent_back(context: RunContext) -> list[Task]:
    """Returns the tasks that were merged, were sent back by a final check, and are not completed."""
    here = {merge["task"] for merge in _integration(context).merges}
    tasks = task_folders.load_readable_or_raise(context.home, projects.load(context.home), here)
    return [task for task in tasks if task["status"] != "completed" and last_failed_final_check(task) is not None]


def open_again(context: RunContext) -> Task | None:
    """Returns a task that was merged and sent back, and can still be completed: the final tree is known to be bad."""
    return next((task for task in _sent_back(context) if task["status"] not in GIVEN_UP), None)


def drop_given_up(context: RunContext) -> None:
    """Removes the merges of tasks that were sent back and then failed or were abandoned.

    A task whose merge conflicts without them becomes a question: its merge is removed too.
    """
    integration = _integration(context)
    given_up = [task["id"] for task in _sent_back(context) if task["status"] in GIVEN_UP]
    if not given_up:
        return
    theirs = integration.repository.find_commit(f"refs/heads/{context.folder.run['branch']}")
    conflicts = integration.drop(given_up, theirs)
    context.final_results.clear()
    project = projects.load(context.home)
    for ident, paths in conflicts.items():
        folder = task_folders.find(context.home, project, ident)
        why = f"{', '.join(given_up)} was abandoned, and without it the merge of task {ident} conflicts"
        where = f"Task {why} in {', '.join(paths[:MOST_PATHS])}. Its merge was taken out too."
        way = f"Merge the branch {integration.branch} into yours, and make your work fit without task {given_up[0]}."
        task_updates.save_output(context.checks_folder(ident), MERGE, f"{where}\n{way}")
        number = task_updates.ask(
            folder,
            project,
            f"task {why}",
            findings=f"{where}\n\n{way}",
            evidence=[failed_evidence("merge", MERGE, folder.iteration)],
        )
        context.journal("question", task=ident, number=number, text=f"task {why}")


def check(context: RunContext, target: Merge) -> Steps[FinalResult]:
    """Runs the lists that are missing on a commit, several at once; finds out what broke the first that fails."""
    if target.tree in context.final_results:
        return context.final_results[target.tree]
    try:
        verdict = yield from _check(context, target)
    except Interrupted:
        return FinalResult(interrupted=True)
    except EnvironmentProblem as problem:  # no task is at fault, and nothing is delivered unchecked
        verdict = FinalResult(problem=problem)
    context.final_results[target.tree] = verdict
    return verdict


def _check(context: RunContext, target: Merge) -> Steps[FinalResult]:
    lists = missing(context, target.tree)
    results = yield from _run_all(context, lists, target)
    for digest, (checks, owners) in lists.items():
        done = results[digest]
        _record(context, digest, owners, target.tree, done)
        if done.passed:
            _prove(context, digest, owners, target.tree, done)
            continue
        result = yield from _explain(context, digest, checks, owners, target, done)
        if result.broken is not None:
            return result
    return FinalResult()


def repeat(context: RunContext, wanted: Sequence[str]) -> Steps[list[tuple[list[str], CheckListResult]]]:
    """Runs the lists of merged tasks, or of some of them, on the integration head; the tasks of each and its result."""
    integration = _integration(context)
    tasks = [task for task in merged_tasks(context) if not wanted or task["id"] in wanted]
    lists = task_checks.by_digest(tasks) if integration.merges else {}
    head = integration.head
    target = Merge(commit=head, tree=integration.repository.tree_of(head), parent=head)
    results = yield from _run_all(context, lists, target)
    return [(owners, results[digest]) for digest, (_, owners) in lists.items()]


def check_delivery(context: RunContext) -> Steps[str]:
    """Checks what would be delivered now; sends the task back that broke it, or asks about it.

    Returns AGAIN if a task changed, so that the run continues, and STOP if a person stopped it.
    """
    if context.isolation is None or context.settings.get("final_checks", "on") == "off":
        return NOTHING
    try:
        check_branch(context.home, context.folder.run["branch"])
    except WrongBranch:
        return NOTHING
    context.reset_moved_branch()
    before = len(context.folder.run.get("dropped", ()))
    drop_given_up(context)
    done = AGAIN if len(context.folder.run.get("dropped", ())) > before else NOTHING
    target = _target(context)
    if done or target is None or open_again(context) is not None:
        return done
    result = yield from check(context, target)
    if result.interrupted:
        return STOP
    return _act(context, result.broken) if result.broken is not None else NOTHING


def waive(job: TaskJob, task: Task) -> None:
    """Does without the commands that failed, in every task that has them.

    The task that broke them is completed again, or handed in if its last work is not merged yet.
    """
    answered, last = task["questions"][-1], last_failed_final_check(task)
    failed = [
        evidence["command"]
        for evidence in task.get("evidence", ())
        if last is not None
        and evidence["iteration"] == last["iteration"]
        and evidence["kind"] == "final"
        and not evidence["passed"]
    ]
    reason = answered["answer"].strip()[len("waive") :].lstrip(" :,.")
    task_updates.waive(job.context.home, job.project, failed, by=answered["answered_by"], reason=reason)
    job.context.final_results.clear()
    for command in dict.fromkeys(failed):
        job.context.journal("waived", task=job.id, command=command, by=answered["answered_by"])
    work = task["work"]
    if _integration(job.context).merged_work().get((job.id, work["iteration"])) == work["commit"]:
        task_updates.complete(job.folder, job.project, seconds=0)
    else:
        task_updates.resubmit(job.folder, job.project)


def _integration(context: RunContext) -> Integration:
    if context.isolation is None:
        raise SowError(f"run {context.folder.id} works in one folder", "it has no integration branch: see 'git status'")
    return context.isolation.integration


def _target(context: RunContext) -> Merge | None:
    """Returns what the user's branch would become, or None if it has all of it, is gone or conflicts."""
    integration = _integration(context)
    repository = integration.repository
    theirs = repository.find_commit(f"refs/heads/{context.folder.run['branch']}")
    head = integration.head
    if not theirs or repository.is_ancestor(head, theirs) or not repository.merge_base(head, theirs):
        return None
    tried = integration.merge_user_commits(theirs)
    return None if tried.conflicts else tried


def _run_all(context: RunContext, lists: Lists, target: Merge) -> Steps[dict[str, CheckListResult]]:
    """Runs lists side by side, as many as the user allows; raises Interrupted if a person stopped it."""
    waiting = list(lists.items())
    running: dict[str, Steps[CheckListResult]] = {}
    done: dict[str, CheckListResult] = {}
    word = ""
    most = max(int(context.config.setting("checks", "parallel")), 1)
    try:
        while waiting or running:
            begun = list(running)
            while waiting and len(running) < most:
                digest, (checks, _) = waiting.pop(0)
                _step(context, f"checks the final tree: {checks[0]['command']}")
                running[digest] = _run(context, digest, checks, target.commit, target.tree)
            for digest, steps in list(running.items()):
                try:
                    steps.send(word) if digest in begun else next(steps)
                except StopIteration as end:
                    done[digest] = end.value
                    del running[digest]
            word = (yield) if running else ""
    finally:
        for steps in running.values():
            steps.close()
    return done


def _step(context: RunContext, text: str) -> None:
    """Reports what the final checks do now; it is no work on a task."""
    context.journal("final_step", text=text[:120])


def _run(context: RunContext, digest: str, checks: list[Check], commit: str, tree: str) -> Steps[CheckListResult]:
    """Runs a list with a setup that is built again: a list that ran before may have changed what the setup made."""
    done = yield from run_list(
        context, checks, commit=commit, tree=tree, iteration=1, name=f"final-{digest[:12]}", kind="final", fresh=True
    )
    if done.interrupted:
        raise Interrupted("interrupted: the checks of the final tree were not ended", "run the same command again")
    return done


def _record(context: RunContext, digest: str, owners: list[str], tree: str, done: CheckListResult) -> None:
    entry: FinalCheck = {"list": digest, "tree": tree, "passed": done.passed, "at": clock.now(), "tasks": owners}
    failed = next((evidence for evidence in done.evidence if not evidence["passed"]), None)
    if failed is not None:
        entry["command"] = failed["command"]
    run = context.folder.run
    others = [entry for entry in run.get("final", []) if (entry["list"], entry["tree"]) != (digest, tree)]
    run["final"] = [*others, entry]
    context.folder.save()
    seconds = round(sum(evidence["seconds"] for evidence in done.evidence), 3)
    shown = failed or done.evidence[0]
    facts = {"command": shown["command"], "exit": shown["exit"], "tasks": owners, "tree": tree, "seconds": seconds}
    context.journal("final_check", passed=done.passed, **facts)


def _note_cause(context: RunContext, digest: str, tree: str, cause: str) -> None:
    """Records why a list fails if no task is at fault: the report says so."""
    for entry in context.folder.run.get("final", []):
        if (entry["list"], entry["tree"]) == (digest, tree):
            entry["cause"] = cause
    context.folder.save()


def failed_before(context: RunContext) -> set[str]:
    """Returns the lists that fail on the last tree of this run and failed before it began."""
    last = {entry["list"]: entry for entry in context.folder.run.get("final", ())}
    return {digest for digest, entry in last.items() if entry.get("cause") == BEFORE}


def _prove(context: RunContext, digest: str, owners: list[str], tree: str, done: CheckListResult) -> None:
    context.passed_lists.add((tree, digest))
    project = projects.load(context.home)
    for owner in owners:
        task_updates.add_final_evidence(task_folders.find(context.home, project, owner), project, done.evidence)


def _explain(
    context: RunContext, digest: str, checks: list[Check], owners: list[str], target: Merge, first: CheckListResult
) -> Steps[FinalResult]:
    """Runs a failed list once more, then searches the merge that broke it."""
    again = yield from _run(context, digest, checks, target.commit, target.tree)
    if again.passed:
        return FinalResult(broken=BrokenList(owners, first, unreliable=FLAKY, asked=_asked(context, owners)))
    points = _points(context, target)
    merged = [number for number, point in enumerate(points) if point.merge and point.merge["task"] in owners]
    low, high = max(merged, default=0), len(points) - 1
    if not merged:  # of an earlier run: it may have failed before this one began
        before = yield from _run(context, digest, checks, points[0].commit, points[0].tree)
        if not before.passed:
            _note_cause(context, digest, target.tree, BEFORE)
            return FinalResult()
    else:  # the search needs a point where the list passes now
        passes = False
        if points[low].tree != target.tree:
            tried = yield from _run(context, digest, checks, points[low].commit, points[low].tree)
            passes = tried.passed
        if not passes:
            return FinalResult(broken=BrokenList(owners, first, unreliable=CHANGED, asked=_asked(context, owners)))
    while high - low > 1:
        middle = (low + high) // 2
        _step(context, f"searches the merge that broke `{checks[0]['command']}`: {high - low} left")
        tried = yield from _run(context, digest, checks, points[middle].commit, points[middle].tree)
        low, high = (middle, high) if tried.passed else (low, middle)
    if points[high].merge is None:
        _note_cause(context, digest, target.tree, USER)
    return FinalResult(broken=BrokenList(owners, first, by=points[high]))


def _asked(context: RunContext, owners: list[str]) -> str:
    """Returns the task for a question about a list: one that has it, if this run merged one, else its last merge.

    A question on a task of another run would not hold up this one.
    """
    completed = {task["id"] for task in merged_tasks(context)}
    here = [merge["task"] for merge in _integration(context).merges if merge["task"] in completed]
    return next((owner for owner in owners if owner in here), here[-1] if here else "")


def _points(context: RunContext, target: Merge) -> list[IntegrationPoint]:
    """Returns every state that the integration branch had, from the base to what would be delivered."""
    integration = _integration(context)
    repository = integration.repository
    base = integration.base
    points = [IntegrationPoint(base, repository.tree_of(base))]
    for merge in integration.merges:
        if merge["parent"] != points[-1].commit:  # commits of the user came in between
            points.append(IntegrationPoint(merge["parent"], repository.tree_of(merge["parent"])))
        points.append(IntegrationPoint(merge["commit"], merge["tree"], merge))
    for commit in (integration.head, target.commit):
        if commit != points[-1].commit:
            points.append(IntegrationPoint(commit, repository.tree_of(commit)))
    return points


def _act(context: RunContext, broken: BrokenList) -> str:
    """Sends the breaking task back, or asks about it where that needs a person."""
    project = projects.load(context.home)
    readable = {task["id"]: (folder, task) for folder, task in task_folders.load_readable(context.home, project)[0]}
    if broken.task not in readable or readable[broken.task][1]["status"] != "completed":
        return NOTHING  # for commits of the user or an abandoned task, the reason is reported and nothing is delivered
    folder, task = readable[broken.task]
    failed = [evidence for evidence in broken.done.evidence if not evidence["passed"]]
    for check in failed:
        tail = broken.done.tails.get(check["command"], "")
        task_updates.save_output(context.checks_folder(task["id"]), check["command"], tail)
    text = _feedback(broken)
    why = _why_ask(context, broken, task, {ident: other for ident, (_, other) in readable.items()})
    context.final_results.clear()
    if why:
        asked = f"{FINAL}{broken.reason}{why}"
        number = task_updates.ask(folder, project, asked, findings=text, outcome=CHOICES, evidence=failed)
        context.journal("question", task=task["id"], number=number, text=asked)
    else:
        task_updates.reopen(folder, project, text, failed)
        context.journal("sent_back", task=task["id"], iteration=task["iteration"], reason=broken.reason)
    return AGAIN


def _why_ask(context: RunContext, broken: BrokenList, task: Task, tasks: Mapping[str, Task]) -> str:
    """Returns why a person has to decide, or "" if the task can be sent back."""
    if broken.unreliable:
        return ": it failed, then passed on the same commit" if broken.unreliable == FLAKY else "; repair that first"
    needed = _needs(task["id"], tasks) & set(broken.owners)
    if needed:
        return f" ({task['id']} depends on {min(needed)})"
    if task.get("retry_count", 0) >= context.settings["retries"]:
        return "; no retries left"
    return ""


def _needs(ident: str, tasks: Mapping[str, Task]) -> set[str]:
    """Returns every task that a task depends on, directly or through others."""
    needed: set[str] = set()
    waiting = [ident]
    while waiting:
        task = tasks.get(waiting.pop())
        new = set(task["depends_on"]) - needed if task is not None else set()
        needed |= new
        waiting += new
    return needed - {ident}


def _feedback(broken: BrokenList) -> str:
    # A question shows a person all lines but the first, so the words for the worker are there.
    lines = [f"{FINAL}{broken.reason}. {FOR_THE_WORKER}"]
    for evidence in broken.done.evidence:
        if not evidence["passed"]:
            output = broken.done.tails.get(evidence["command"], "")
            lines += ["", *task_updates.failed_check_lines(evidence, output)]
    return "\n".join(lines)[: task_updates.MOST_FEEDBACK]
