"""What a run would do with the tasks of its plan, by how each stands: begin it, go on with it, or leave it alone."""

from __future__ import annotations

from sow.domain.decide import STANDINGS, Board, Job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sow.domain.plan import PlanTask

STANDS = {**STANDINGS, "skipped": "abandoned"}  # a plan's own word for it
WHY = {"asking": "asks a question: sow inbox", "failed": "failed, and is not tried again by itself"}


class Outlook:
    """The tasks that would be worked on, those of them that have begun, and why others of the run would not."""

    __slots__ = ("goes_on", "left_alone", "needs")

    def __init__(self, tasks: Sequence[PlanTask], chosen: Collection[str], *, skipped: Collection[str]) -> None:
        """Which of them are chosen; for what the plan itself skips nobody waits."""
        statuses = {task.id: task.status for task in tasks if task.id not in skipped}
        jobs = [
            Job(task.id, needs=_needs(task, chosen, statuses), status=STANDS.get(task.status, "waiting"))
            for task in tasks
            if task.id in chosen
        ]
        board = Board(jobs, slots=1)
        blocked = board.blocked()
        standing = board.statuses()
        self.left_alone = {
            ident: blocked.get(ident) or WHY[status]
            for ident, status in standing.items()
            if ident in blocked or status in WHY
        }
        open_ones = [job for job in jobs if standing[job.id] == "waiting" and job.id not in blocked]
        names = {job.id for job in open_ones}
        self.needs = {job.id: [each for each in job.needs if each in names] for job in open_ones}
        self.goes_on = [task.id for task in tasks if task.id in names and task.status != "pending"]


def _needs(task: PlanTask, chosen: Collection[str], statuses: Mapping[str, str]) -> list[str]:
    """What a task waits for: all that it depends on and is not done, and of what merely goes before it, this run's."""
    before = [each for each in task.depends_on if each in chosen or statuses.get(each) != "completed"]
    before += [each for each in task.implied if each in chosen]
    return [each for each in before if each in statuses]
