"""The checks of the final tree: what is delivered passes the check lists of every task that is merged.

Each distinct list runs once on the final tree. A list that fails twice was broken by one of the merges since it last
passed: a search over the recorded merges finds which. That task is sent back with the output. Its merge stays where it
is, and its worker goes on from the integration head, so other tasks' merges are not touched.
"""

from __future__ import annotations

from sow.domain import check_list
from sow.domain.stage import FINAL, failed_finally
from sow.engine.check_list import run_list
from sow.engine.merging import Merge
from sow.engine.place import EnvironmentProblem
from sow.errors import Interrupted, SowError
from sow.store import desk as desks
from sow.store import project as projects
from sow.store import run_acts
from sow.store.restoring import Elsewhere, refuse_elsewhere
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sow.domain.shapes import Check, Evidence, FinalCheck, RunMerge, Task
    from sow.engine.check_list import ListRun
    from sow.engine.job import TaskJob
    from sow.engine.merging import Integration
    from sow.engine.ship import Ship
    from sow.engine.steps import Steps
    from sow.store.desk import Desk

    Lists = Mapping[str, tuple[list[Check], list[str]]]

CHOICES = (
    'Answer "send back" to give it to its worker again (other words reach the worker as advice),\n'
    '"waive" to do without this check from now on, or "stop" to give the task up: its merge is taken out.'
)
FOR_THE_WORKER = "Your worktree has everything merged so far. Fix this check without breaking the other tasks."
NOTHING, AGAIN, INTERRUPTED = "", "again", "interrupted"
BEFORE, USER = "before", "user"  # why a list fails: it failed before the run, or since commits of the user came in
GIVEN_UP = ("failed", "abandoned")
MERGE = "git merge"
MOST_PATHS = 5
FLAKY = "is flaky"
CHANGED = "fails now on a tree where it passed before, so something outside of git changed"


class Point:
    """One state of the integration branch: its commit, its tree, and the merge that made it."""

    __slots__ = ("commit", "merge", "tree")

    def __init__(self, commit: str, tree: str, merge: RunMerge | None = None) -> None:
        self.commit = commit
        self.tree = tree
        self.merge = merge  # none: the base, or commits of the user


class Broken:
    """A list that fails on the final tree, and the reason as far as it is known."""

    __slots__ = ("asked", "by", "done", "owners", "unreliable")

    def __init__(
        self, owners: list[str], done: ListRun, *, by: Point | None = None, unreliable: str = "", asked: str = ""
    ) -> None:
        self.owners = owners  # the tasks that have this list
        self.done = done
        self.by = by
        self.unreliable = unreliable  # FLAKY or CHANGED: no merge is at fault
        self.asked = asked  # the task that carries the question about an unreliable list

    @property
    def failed(self) -> Evidence:
        """The first command that failed."""
        return next(each for each in self.done.evidence if not each["passed"])

    @property
    def command(self) -> str:
        return self.failed["command"]

    @property
    def task(self) -> str:
        """The task whose merge broke it, or the one that carries the question; '' is nobody."""
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


class Final:
    """The result of all lists on one tree."""

    __slots__ = ("broken", "interrupted", "problem")

    def __init__(
        self, *, broken: Broken | None = None, interrupted: bool = False, problem: SowError | None = None
    ) -> None:
        self.broken = broken
        self.interrupted = interrupted
        self.problem = problem  # why the lists could not run on this machine


def merged_tasks(ship: Ship) -> list[Task]:
    """The completed tasks that this run merged, and those that an earlier run of the project merged."""
    integration = _integration(ship)
    here = {each["task"] for each in integration.merges}
    project = projects.load(ship.home)
    return [
        task
        for _, task in desks.load_all(ship.home, project)[0]
        if task["status"] == "completed"
        and (task["id"] in here or any(each["kind"] == "merge" for each in task.get("evidence", ())))
    ]


def commands(ship: Ship) -> list[str]:
    """The commands that the final checks can run."""
    checks = [check for task in merged_tasks(ship) for check in check_list.of_task(task)]
    return list(dict.fromkeys(check["command"] for check in checks))


def missing(ship: Ship, tree: str) -> dict[str, tuple[list[Check], list[str]]]:
    """The distinct lists of merged tasks that did not pass on this tree in this process."""
    found = check_list.distinct(merged_tasks(ship))
    return {digest: each for digest, each in found.items() if (tree, digest) not in ship.proven}


def broken_by(ship: Ship, task: Task) -> list[tuple[list[Check], list[str]]]:
    """The lists of merged tasks that this task broke on a final tree: they must pass before it is merged again."""
    evidence = task.get("evidence", ())
    broken = {each.get("list") for each in evidence if each["kind"] == "final" and not each["passed"]}
    if not broken or ship.isolation is None or ship.settings.get("final_checks", "on") == "off":
        return []
    broken.discard(check_list.digest(check_list.of_task(task)))
    return [each for digest, each in check_list.distinct(merged_tasks(ship)).items() if digest in broken]


def _sent_back(ship: Ship) -> list[Task]:
    """The tasks that were merged, were sent back by a final check, and are not completed."""
    here = {each["task"] for each in _integration(ship).merges}
    tasks = desks.load_some(ship.home, projects.load(ship.home), here)
    return [task for task in tasks if task["status"] != "completed" and failed_finally(task) is not None]


def open_again(ship: Ship) -> Task | None:
    """A task that was merged and sent back, and can still be completed: the final tree is known to be bad."""
    return next((task for task in _sent_back(ship) if task["status"] not in GIVEN_UP), None)


def drop_given_up(ship: Ship) -> None:
    """Take the merges of tasks out that were sent back and then failed or were abandoned.

    A task whose merge conflicts without them is asked about: its merge is taken out too.
    """
    integration = _integration(ship)
    given_up = [task["id"] for task in _sent_back(ship) if task["status"] in GIVEN_UP]
    if not given_up:
        return
    theirs = integration.repository.find(f"refs/heads/{ship.folder.run['branch']}")
    conflicts = integration.drop(given_up, theirs)
    ship.judged.clear()
    project = projects.load(ship.home)
    for ident, paths in conflicts.items():
        desk = desks.find(ship.home, project, ident)
        why = f"{', '.join(given_up)} was given up, and without it the merge of task {ident} conflicts"
        where = f"Task {why} in {', '.join(paths[:MOST_PATHS])}. Its merge was taken out too."
        way = f"Merge the branch {integration.branch} into yours, and make your work fit without task {given_up[0]}."
        run_acts.keep_output(ship.checks_folder(ident), MERGE, f"{where}\n{way}")
        number = run_acts.ask(desk, project, f"task {why}", found=f"{where}\n\n{way}", evidence=[_conflict(desk)])
        ship.tell("question", task=ident, number=number, text=f"task {why}")


def _conflict(desk: Desk) -> Evidence:
    facts = {"exit": 1, "passed": False, "seconds": 0, "output": "0" * 64, "at": clock.now()}
    return {"kind": "merge", "command": MERGE, "iteration": desk.iteration, **facts}  # type: ignore[typeddict-item]


def check(ship: Ship, target: Merge) -> Steps[Final]:
    """Run the lists that are missing on a commit, several at once; find out what broke the first that fails."""
    if target.tree in ship.judged:
        return ship.judged[target.tree]
    try:
        verdict = yield from _check(ship, target)
    except EnvironmentProblem as problem:  # no task is at fault, and nothing is delivered unchecked
        verdict = Final(problem=problem)
    if not verdict.interrupted:
        ship.judged[target.tree] = verdict
    return verdict


def _check(ship: Ship, target: Merge) -> Steps[Final]:
    lists = missing(ship, target.tree)
    results = yield from _run_all(ship, lists, target)
    if results is None:
        return Final(interrupted=True)
    for digest, (checks, owners) in lists.items():
        done = results[digest]
        _record(ship, digest, owners, target.tree, done)
        if done.passed:
            _prove(ship, digest, owners, target.tree, done)
            continue
        found = yield from _explain(ship, digest, checks, owners, target, done)
        if found.interrupted or found.broken is not None:
            return found
    return Final()


def repeat(ship: Ship, wanted: Sequence[str]) -> Steps[list[tuple[list[str], ListRun]]]:
    """Run the lists of merged tasks, or of some of them, on the integration head; the tasks of each and its result."""
    integration = _integration(ship)
    tasks = [task for task in merged_tasks(ship) if not wanted or task["id"] in wanted]
    lists = check_list.distinct(tasks) if integration.merges else {}
    head = integration.head
    target = Merge(commit=head, tree=integration.repository.tree_of(head), parent=head)
    results = yield from _run_all(ship, lists, target)
    if results is None:
        raise Interrupted("interrupted: the checks of the final tree were not ended", "run the same command again")
    return [(owners, results[digest]) for digest, (_, owners) in lists.items()]


def settle(ship: Ship) -> Steps[str]:
    """Check what would be delivered now; send the task back that broke it, or ask about it.

    Returns AGAIN where a task changed, so that the run goes on, and INTERRUPTED where a person stopped it.
    """
    if ship.isolation is None or ship.settings.get("final_checks", "on") == "off":
        return NOTHING
    try:
        refuse_elsewhere(ship.home, ship.folder.run["branch"])
    except Elsewhere:
        return NOTHING
    ship.guard_branch()
    before = len(ship.folder.run.get("dropped", ()))
    drop_given_up(ship)
    done = AGAIN if len(ship.folder.run.get("dropped", ())) > before else NOTHING
    target = _target(ship)
    if done or target is None or open_again(ship) is not None:
        return done
    found = yield from check(ship, target)
    if found.interrupted:
        return INTERRUPTED
    return _act(ship, found.broken) if found.broken is not None else NOTHING


def waive(job: TaskJob, task: Task) -> None:
    """Do without the command that failed, in every task that has it.

    The task that broke it is completed again, or handed in if its last work is not merged yet.
    """
    failed = failed_finally(task)
    if failed is not None:
        answered = task["questions"][-1]
        for desk, each in desks.load_all(job.ship.home, job.project)[0]:
            if any(known["command"] == failed["command"] for known in each.get("checks", ())):
                words = {"by": answered["answered_by"], "reason": answered["answer"]}
                run_acts.waive(desk, job.project, failed["command"], **words)
        job.ship.judged.clear()
        job.ship.tell("waived", task=job.id, command=failed["command"], by=answered["answered_by"])
    work = task["work"]
    if _integration(job.ship).merged().get((job.id, work["iteration"])) == work["commit"]:
        run_acts.complete(job.desk, job.project, seconds=0)
    else:
        run_acts.hand_in(job.desk, job.project)


def _integration(ship: Ship) -> Integration:
    if ship.isolation is None:
        raise SowError(f"run {ship.folder.id} works in one folder", "it has no integration branch: see 'git status'")
    return ship.isolation.integration


def _target(ship: Ship) -> Merge | None:
    """What the user's branch would become; nothing where it has all of it, is gone or conflicts."""
    integration = _integration(ship)
    repository = integration.repository
    theirs = repository.find(f"refs/heads/{ship.folder.run['branch']}")
    if not theirs or repository.is_ancestor(integration.head, theirs):
        return None
    if not repository.are_related(integration.head, theirs):
        return None
    tried = integration.bring_in(theirs)
    return None if tried.conflicts else tried


def _run_all(ship: Ship, lists: Lists, target: Merge) -> Steps[dict[str, ListRun] | None]:
    """Run lists side by side, as many as the user allows; nothing where a person stopped it."""
    waiting = list(lists.items())
    running: dict[str, Steps[ListRun]] = {}
    done: dict[str, ListRun] = {}
    word = ""
    most = max(int(ship.config.setting("checks", "parallel")), 1)
    try:
        while waiting or running:
            while waiting and len(running) < most:
                digest, (checks, _) = waiting.pop(0)
                _step(ship, f"checks the final tree: {checks[0]['command']}")
                running[digest] = _run(ship, digest, checks, target.commit, target.tree)
                _advance(digest, running, done, None)
            for digest in list(running):
                _advance(digest, running, done, word)
            if any(each.interrupted for each in done.values()):
                return None
            word = (yield) if running else ""
    finally:
        for steps in running.values():
            steps.close()
    return done


def _step(ship: Ship, text: str) -> None:
    """Tell what the final checks do now: that is no work on a task."""
    ship.tell("final_step", text=text[:120])


def _advance(digest: str, running: dict[str, Steps[ListRun]], done: dict[str, ListRun], word: str | None) -> None:
    try:
        if word is None:
            next(running[digest])
        else:
            running[digest].send(word)
    except StopIteration as end:
        done[digest] = end.value
        del running[digest]


def _run(ship: Ship, digest: str, checks: list[Check], commit: str, tree: str) -> Steps[ListRun]:
    """Run a list with a setup that is built again: a list that ran before may have changed what the setup made."""
    name = f"final-{digest[:12]}"
    return run_list(ship, checks, commit=commit, tree=tree, iteration=1, name=name, kind="final", fresh=True)


def _record(ship: Ship, digest: str, owners: list[str], tree: str, done: ListRun) -> None:
    """Write the result into the run's state and journal."""
    entry: FinalCheck = {"list": digest, "tree": tree, "passed": done.passed, "at": clock.now(), "tasks": owners}
    failed = next((each for each in done.evidence if not each["passed"]), None)
    if failed is not None:
        entry["command"] = failed["command"]
    run = ship.folder.run
    others = [each for each in run.get("final", []) if (each["list"], each["tree"]) != (digest, tree)]
    run["final"] = [*others, entry]
    ship.folder.save()
    seconds = round(sum(each["seconds"] for each in done.evidence), 3)
    shown = failed or done.evidence[0]
    facts = {"command": shown["command"], "exit": shown["exit"], "tasks": owners, "tree": tree, "seconds": seconds}
    ship.tell("final_check", passed=done.passed, **facts)


def _note_cause(ship: Ship, digest: str, tree: str, cause: str) -> None:
    """Record why a list fails if no task is at fault: the report says so."""
    for each in ship.folder.run.get("final", []):
        if (each["list"], each["tree"]) == (digest, tree):
            each["cause"] = cause
    ship.folder.save()


def failed_before(ship: Ship) -> set[str]:
    """The lists that fail on the last tree of this run and failed before it began."""
    last = {each["list"]: each for each in ship.folder.run.get("final", ())}
    return {digest for digest, each in last.items() if each.get("cause") == BEFORE}


def _prove(ship: Ship, digest: str, owners: list[str], tree: str, done: ListRun) -> None:
    ship.proven.add((tree, digest))
    project = projects.load(ship.home)
    for owner in owners:
        run_acts.add_final(desks.find(ship.home, project, owner), project, done.evidence)


def _explain(
    ship: Ship, digest: str, checks: list[Check], owners: list[str], target: Merge, first: ListRun
) -> Steps[Final]:
    """Run a failed list once more, then search the merge that broke it."""
    again = yield from _run(ship, digest, checks, target.commit, target.tree)
    if again.interrupted:
        return Final(interrupted=True)
    if again.passed:
        return Final(broken=Broken(owners, first, unreliable=FLAKY, asked=_asked(ship, owners)))
    points = _points(ship, target)
    merged = [number for number, each in enumerate(points) if each.merge and each.merge["task"] in owners]
    low, high = max(merged, default=0), len(points) - 1
    if not merged:  # of an earlier run: it may have failed before this one began
        before = yield from _run(ship, digest, checks, points[0].commit, points[0].tree)
        if before.interrupted:
            return Final(interrupted=True)
        if not before.passed:
            _note_cause(ship, digest, target.tree, BEFORE)
            return Final()
    else:  # the search needs a point where the list passes now
        passes = False
        if points[low].tree != target.tree:
            tried = yield from _run(ship, digest, checks, points[low].commit, points[low].tree)
            if tried.interrupted:
                return Final(interrupted=True)
            passes = tried.passed
        if not passes:
            return Final(broken=Broken(owners, first, unreliable=CHANGED, asked=_asked(ship, owners)))
    while high - low > 1:
        middle = (low + high) // 2
        _step(ship, f"searches the merge that broke `{checks[0]['command']}`: {high - low} left")
        tried = yield from _run(ship, digest, checks, points[middle].commit, points[middle].tree)
        if tried.interrupted:
            return Final(interrupted=True)
        low, high = (middle, high) if tried.passed else (low, middle)
    if points[high].merge is None:
        _note_cause(ship, digest, target.tree, USER)
    return Final(broken=Broken(owners, first, by=points[high]))


def _asked(ship: Ship, owners: list[str]) -> str:
    """The task that carries a question about a list: one that has it, if this run merged one, else its last merge.

    A question on a task of another run would not hold up this one.
    """
    completed = {task["id"] for task in merged_tasks(ship)}
    here = [each["task"] for each in _integration(ship).merges if each["task"] in completed]
    return next((each for each in owners if each in here), here[-1] if here else "")


def _points(ship: Ship, target: Merge) -> list[Point]:
    """Every state that the integration branch had, from the base to what would be delivered."""
    integration = _integration(ship)
    repository = integration.repository
    base = integration.base
    points = [Point(base, repository.tree_of(base))]
    for merge in integration.merges:
        if merge["parent"] != points[-1].commit:  # commits of the user came in between
            points.append(Point(merge["parent"], repository.tree_of(merge["parent"])))
        points.append(Point(merge["commit"], merge["tree"], merge))
    for commit in (integration.head, target.commit):
        if commit != points[-1].commit:
            points.append(Point(commit, repository.tree_of(commit)))
    return points


def _act(ship: Ship, broken: Broken) -> str:
    """Send the breaking task back, or ask about it where that needs a person."""
    project = projects.load(ship.home)
    known = {task["id"]: (desk, task) for desk, task in desks.load_all(ship.home, project)[0]}
    if broken.task not in known or known[broken.task][1]["status"] != "completed":
        return NOTHING  # commits of the user, or a task that was given up: nothing is delivered, and that is said
    desk, task = known[broken.task]
    failed = [each for each in broken.done.evidence if not each["passed"]]
    for each in failed:
        tail = broken.done.tails.get(each["command"], "")
        run_acts.keep_output(ship.checks_folder(task["id"]), each["command"], tail)
    text = _feedback(broken)
    why = _why_ask(ship, broken, task, {ident: each for ident, (_, each) in known.items()})
    ship.judged.clear()
    if why:
        asked = f"{FINAL}{broken.reason}{why}"
        number = run_acts.ask(desk, project, asked, found=text, outcome=CHOICES, evidence=failed)
        ship.tell("question", task=task["id"], number=number, text=asked)
    else:
        run_acts.reopen(desk, project, text, failed)
        ship.tell("sent_back", task=task["id"], iteration=task["iteration"], reason=broken.reason)
    return AGAIN


def _why_ask(ship: Ship, broken: Broken, task: Task, known: Mapping[str, Task]) -> str:
    """Why a person decides and not the run; '' is that the task can be sent back."""
    if broken.unreliable:
        return ": it failed, then passed on the same commit" if broken.unreliable == FLAKY else "; repair that first"
    needed = _needs(task["id"], known) & set(broken.owners)
    if needed:
        return f" ({task['id']} depends on {min(needed)})"
    if task.get("retry_count", 0) >= ship.settings["retries"]:
        return "; no retries left"
    return ""


def _needs(ident: str, known: Mapping[str, Task]) -> set[str]:
    """Every task that a task depends on, near and far."""
    found: set[str] = set()
    waiting = [ident]
    while waiting:
        task = known.get(waiting.pop())
        new = set(task["depends_on"]) - found if task is not None else set()
        found |= new
        waiting += new
    return found - {ident}


def _feedback(broken: Broken) -> str:
    # A question shows a person all lines but the first, so the words for the worker are there.
    lines = [f"{FINAL}{broken.reason}. {FOR_THE_WORKER}"]
    for each in broken.done.evidence:
        if not each["passed"]:
            said = broken.done.tails.get(each["command"], "").splitlines()
            lines += [
                "",
                f"`{each['command']}` failed (exit {each['exit']}):",
                *(f"{run_acts.OUTPUT}{line}" for line in said),
            ]
    return "\n".join(lines)[: run_acts.MOST_FEEDBACK]
