"""Pruning: what runs left is let go, where it is old and contained elsewhere, and never by itself."""

from __future__ import annotations

import os

from sow.engine.merging import Integration
from sow.engine.pins import KEEP
from sow.engine.place import Place
from sow.engine.refusal import Refused
from sow.engine.repository import Repository
from sow.engine.salvage import (
    BRANCH,
    HEADS,
    INTEGRATION,
    INTEGRATIONS,
    JUDGE,
    PIN,
    TASKS,
    Kept,
    kept_refs,
    parts_of,
    squashed,
    works_in,
)
from sow.engine.slots import remove_free
from sow.engine.worktrees import Worktrees
from sow.store.disk import list_folder
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from sow.store.home import Home

UNKNOWN_RUN = "unknown"  # of a worktree that stands on no branch of ours: only its pins would carry this name


class Pruned:
    """What a pruning let go, and what it kept, with the reason."""

    __slots__ = ("dropped", "kept")

    def __init__(self) -> None:
        self.dropped: list[str] = []
        self.kept: dict[str, str] = {}


def prune(
    home: Home, older_than: float, *, ended: Collection[str], unmerged: bool = False, dry_run: bool = False
) -> Pruned:
    """Let go of what is older than so many seconds and is contained in a branch or tag of the user's.

    Worktrees and branches of ended tasks go as well, where their work stays kept. What is contained nowhere else goes
    only with `unmerged`. A dry run lets nothing go, and says what would.
    """
    repository = Repository(home)
    with repository.held():
        limit = clock.epoch() - older_than
        pruning = _Pruning(repository, limit, frozenset(ended), unmerged=unmerged, dry_run=dry_run)
        pruning.task_worktrees()
        pruning.pins()
        pruning.branches()
        pruning.run_worktrees()
        pruning.slots()
    return pruning.done


def sweep(home: Home, ended: Collection[str]) -> Pruned:
    """Remove the worktrees of ended tasks that a killed run left, where they are clean and their work is pinned."""
    repository = Repository(home)
    with repository.held():
        pruning = _Pruning(repository, 0, frozenset(ended), unmerged=False, dry_run=False)
        pruning.task_worktrees()
    return pruning.done


def leftovers(home: Home, ended: Collection[str]) -> list[str]:
    """The worktrees of ended tasks and of their judges that are still there."""
    return [name for name in list_folder(f"{home.sow}/local/worktrees") if name.removesuffix(JUDGE) in ended]


class _Pruning:
    """One pruning: worktrees first, then pins, then the branches that are safe without them."""

    __slots__ = ("done", "dry_run", "ended", "limit", "repository", "unmerged")

    def __init__(
        self, repository: Repository, limit: float, ended: frozenset[str], *, unmerged: bool, dry_run: bool
    ) -> None:
        self.repository = repository
        self.limit = limit
        self.ended = ended
        self.unmerged = unmerged
        self.dry_run = dry_run
        self.done = Pruned()

    def run_worktrees(self) -> None:
        """Remove the integration worktrees of runs whose branch is gone."""
        for name in list_folder(f"{self.repository.home.sow}/local/worktrees"):
            run = name.removeprefix(INTEGRATION)
            ref = f"{INTEGRATIONS}{run}"
            gone = ref.removeprefix(HEADS) in self.done.dropped or not self.repository.find(ref)
            if run != name and gone:
                integration = Integration(self.repository.home, run, repository=self.repository)
                self._tell(name, None if self.dry_run else integration.remove())

    def slots(self) -> None:
        """Remove the checkouts in which checks ran, unless a process uses them."""
        gone, held = remove_free(self.repository, dry_run=self.dry_run)
        self.done.dropped += gone
        self.done.kept |= dict.fromkeys(held, "a check runs there")

    def task_worktrees(self) -> None:
        """Remove the worktrees of ended tasks and of their judges."""
        for name in leftovers(self.repository.home, self.ended):
            task = name.removesuffix(JUDGE)
            place = Place(self.repository, task)
            run = parts_of(place.branch())[0] or UNKNOWN_RUN
            worktrees = Worktrees(self.repository.home, run, repository=self.repository)
            if name.endswith(JUDGE) and not self.dry_run:
                worktrees.remove_judge(task)
            self._tell(name, worktrees.remove(task, dry_run=self.dry_run) if name == task else None)

    def _tell(self, name: str, refused: Refused | None) -> None:
        if refused:
            self.done.kept[name] = refused.reason
        else:
            self.done.dropped.append(name)

    def pins(self) -> None:
        """Drop the pins that are old, and not needed any more."""
        pins = [each for each in kept_refs(self.repository) if each.kind == PIN]
        free = self.repository.outside({each.commit for each in pins}, self._elsewhere())
        for each in pins:
            self._drop(each, self._young(each) or self._lonely(each, free))

    def branches(self) -> None:
        """Drop the branches of ended tasks, and of runs that are merged, where their commits stay reachable."""
        kept = self.repository.refs(KEEP)
        found = [each for each in kept_refs(self.repository) if each.kind == BRANCH]
        commits = {each.commit for each in found}
        merged, safe = (self.repository.outside(commits, [*self._elsewhere(), *more]) for more in ((), kept))
        for each in found:
            if each.task:
                open_task = "" if each.task in self.ended else f"task {each.task} has not ended"
                why = open_task or self._lonely(each, safe)
            else:
                why = self._lonely(each, merged)
            self._drop(each, self._young(each) or why or self._checked_out(each))

    def _elsewhere(self) -> list[str]:
        """The user's own refs, and the commits of workers that are merged there."""
        refs = self.repository.refs(HEADS, "refs/tags/", "refs/remotes/")
        own = [ref for ref in refs if not ref.startswith((TASKS, INTEGRATIONS))]
        return [*own, *works_in(self.repository, squashed(self.repository), own)]

    def _young(self, each: Kept) -> str:
        return "not old enough" if each.date > self.limit else ""

    def _lonely(self, each: Kept, free: set[str]) -> str:
        return "contained nowhere else" if each.commit in free and not self.unmerged else ""

    def _checked_out(self, each: Kept) -> str:
        where = self.repository.git("for-each-ref", "--format=%(worktreepath)", each.ref).strip()
        goes = self.dry_run and os.path.basename(where) in self.done.dropped
        return f"checked out in {where}" if where and not goes else ""

    def _drop(self, each: Kept, why_not: str) -> None:
        if why_not:
            self.done.kept[each.short] = why_not
        else:
            if not self.dry_run:
                self.repository.drop_ref(each.ref, each.commit)
            self.done.dropped.append(each.short)
