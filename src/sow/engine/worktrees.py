"""The worktrees of a run: one for each task at a fixed path, and one for whoever judges it."""

from __future__ import annotations

import os

from sow.domain.agent_files import is_agent_file
from sow.domain.ids import is_task_id
from sow.engine import differences, furnishing
from sow.engine.collecting import Collected, Collecting, collect
from sow.engine.home_look import HomeLook
from sow.engine.permissions import loosen
from sow.engine.pins import KEEP, Pins, commits_in
from sow.engine.place import SET_UP, Place
from sow.engine.refusal import Refused
from sow.engine.repository import Repository
from sow.engine.standing import stand
from sow.errors import SowError
from sow.system import linked, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from sow.store.home import Home

AGAIN = "sow-again"  # while a worktree is made anew
SHOWN = "sow-shown"  # what a judge was given to see, which is no work of anybody
FOUND = "found"  # the name of pins of what lay in a worktree before this run took it


class Worktrees:
    """Every worktree of one run. All that a worker ever commits stays reachable."""

    __slots__ = ("repository", "run")

    def __init__(self, home: Home, run: str, *, repository: Repository | None = None) -> None:
        self.run = run_name(run)
        self.repository = repository or Repository(home)

    def path(self, task: str) -> str:
        """The folder of a task's worktree, whether it is there or not."""
        return f"{self.repository.home.sow}/local/worktrees/{_name(task)}"

    def branch(self, task: str) -> str:
        """The branch of a task in this run."""
        return f"sow/task/{self.run}/{_name(task)}"

    def has_branch(self, task: str) -> bool:
        """Whether this run has begun with a task."""
        return bool(self.repository.find(self._ref(task)))

    def _ref(self, task: str) -> str:
        return f"refs/heads/{self.branch(task)}"

    def _pins(self, task: str) -> Pins:
        return Pins(self.repository, self.run, _name(task))

    def prepare(self, task: str, base: str, *, fresh: bool = False) -> str:
        """The worktree of a task on its branch: made at the base, or taken as it is.

        With `fresh` what lies there is pinned, and the worktree starts from the base again, unless it is at the base.
        """
        with self.repository.held():
            base = self.repository.commit_of(base)
            place = Place(self.repository, _name(task))
            if fresh and not place.record and not os.path.lexists(place.path):
                self._move_branch(task, base)
            self._stand(place, task, base)
            if place.is_ready and self._starts_again(place, task, base, fresh=fresh):
                self._start_again(place, task, base)
            elif not place.is_ready:
                self._give_branch(place, task, base)
                place.fill(place.head())
            elif not linked.under_way(place.record):
                self._take(place, task, base)
        return place.path

    def _move_branch(self, task: str, base: str) -> None:
        """Let the branch of a task whose worktree is gone start from the base again; its commits are pinned."""
        ref = self._ref(task)
        old = self.repository.find(ref)
        if old and old != base:
            self._pins(task).pin_found(FOUND, [old], apart=[base])
            self.repository.set_ref(ref, base, old, why="started again")

    def _stand(self, place: Place, task: str, base: str) -> list[str]:
        """Let the place be there; the branch is made first where the place is new."""
        ref = self._ref(task)
        if not place.record and not self.repository.find(ref):
            self.repository.set_ref(ref, base, "", why="started")
        return stand(place, ref, base)

    def _give_branch(self, place: Place, task: str, base: str) -> None:
        """Let HEAD of a worktree in which nobody worked yet stand on the task's branch."""
        ref = self._ref(task)
        if not self.repository.find(ref):
            self.repository.set_ref(ref, place.head() or base, "", why="started")
        if place.branch() != ref:
            self._pins(task).pin_found(FOUND, commits_in(place, ref), apart=[base])
            place.git("symbolic-ref", "-m", "sow: prepared", "HEAD", ref)

    def _take(self, place: Place, task: str, base: str) -> None:
        """Let the branch follow to where the files are: on another run's branch, on no branch, or on a lost one."""
        ref, head = self._ref(task), place.head()
        if head and place.branch() == ref:
            return
        work = self._secured(place, task, base)
        self.repository.set_ref(ref, work.head, why="taken over")
        place.git("symbolic-ref", "-m", "sow: taken over", "HEAD", ref)

    def pin(self, task: str, base: str) -> None:
        """Pin what was committed in a worktree that is not collected now: nobody may ever come back to it."""
        with self.repository.held():
            place = Place(self.repository, _name(task))
            if place.is_ready:
                self._found(place, task, base).pin()

    def _found(self, place: Place, task: str, base: str) -> Collecting:
        return Collecting(place, self._pins(task), name=FOUND, branch=self._ref(task), base=base)

    def _secured(self, place: Place, task: str, base: str) -> Collecting:
        """All that was ever committed in a worktree is pinned, and nothing is under way there."""
        work = self._found(place, task, base)
        work.secure()
        return work

    def _starts_again(self, place: Place, task: str, base: str, *, fresh: bool) -> bool:
        """Whether a worktree is to be made anew: that was begun, or it is wanted and somebody was here before."""
        if os.path.exists(f"{place.record}/{AGAIN}"):
            return True
        at_base = place.head() == base and place.branch() == self._ref(task) and not linked.under_way(place.record)
        return fresh and not (at_base and not place.dirt(furnishing.furniture(place)))

    def _start_again(self, place: Place, task: str, base: str) -> None:
        """Pin what lies in a worktree, and give it the base's files; begun once, it is done to the end."""
        mark, ref = f"{place.record}/{AGAIN}", self._ref(task)
        if not os.path.exists(mark):
            self._secured(place, task, base).snapshot()
            linked.write(mark, base)
        self.repository.set_ref(ref, base, why="started again")
        place.git("symbolic-ref", "-m", "sow: started again", "HEAD", ref)
        place.fill(base)
        place.clean(spare=furnishing.furniture(place), ignored=True)
        linked.remove(f"{place.record}/{SET_UP}")
        linked.remove(mark)

    def furnish(self, task: str, settings: Mapping[str, Any]) -> list[list[str]]:
        """Link and copy ignored files into a worktree; returns the set-up commands that are still to be run there."""
        with self.repository.held():
            return furnishing.furnish(Place(self.repository, _name(task)), settings)

    def furnished(self, task: str, settings: Mapping[str, Any]) -> None:
        """Remember that the set-up commands were run."""
        with self.repository.held():
            furnishing.furnished(Place(self.repository, _name(task)), settings)

    def collect(self, task: str, iteration: int, message: str, base: str) -> Collected:
        """What a worker left becomes one commit on the task's branch, and all that it made is pinned."""
        with self.repository.held():
            base = self.repository.commit_of(base)
            place = Place(self.repository, _name(task))
            remarks = self._stand(place, task, base)
            if not place.is_ready:
                place.fill(place.head() or self.repository.find(self._ref(task)) or base)
            collected = collect(
                place, self._pins(task), name=str(iteration), branch=self._ref(task), base=base, message=message
            )
            collected.remarks[:0] = remarks
        return collected

    def drop_branches(self) -> None:
        """Remove the branches of a run that is over: their commits are pinned first, and worktrees keep theirs."""
        with self.repository.held():
            own = f"refs/heads/sow/int/{self.run}"
            for ref, commit in self.repository.refs(f"refs/heads/sow/task/{self.run}/", own).items():
                if not self._is_user_checkout(ref):
                    task = "" if ref == own else ref.rpartition("/")[2]
                    self._let_go(ref, commit, task)

    def _is_user_checkout(self, ref: str) -> bool:
        """Whether a branch of ours is checked out in a worktree that is none of ours."""
        where = self.repository.git("for-each-ref", "--format=%(worktreepath)", ref).strip()
        return bool(where) and not where.startswith(f"{self.repository.home.sow}/local/worktrees/")

    def _let_go(self, ref: str, commit: str, task: str) -> None:
        pins = Pins(self.repository, self.run, task or "integration")
        if task and is_task_id(task):
            place = Place(self.repository, task)
            if place.is_ready and place.branch() == ref:
                pins.pin_found(FOUND, commits_in(place, ref), apart=[])
                place.git("update-ref", "--no-deref", "-m", "sow: the run is over", "HEAD", commit)
        pins.pin_found(FOUND, [commit], apart=[])
        self.repository.drop_ref(ref, commit)

    def look_home(self) -> HomeLook:
        """The user's checkout at this moment: `look.changes_since(earlier)` says what is different."""
        return HomeLook(self.repository)

    def diff(self, base: str, commit: str, limit: int) -> str:
        """The difference between two commits as a patch of at most so many bytes."""
        return differences.diff(self.repository, base, commit, limit)

    def changed_paths(self, base: str, commit: str) -> list[str]:
        """Every path that differs between two commits."""
        return differences.changed_paths(self.repository, base, commit)

    def judge(self, task: str, commit: str, base: str) -> str:
        """A checkout of a commit, made anew, whose agent files are those of the base."""
        with self.repository.held():
            self.remove_judge(task)
            commit, base = self.repository.commit_of(commit), self.repository.commit_of(base)
            place = Place(self.repository, _judge(task))
            shown = self._with_agent_files(commit, base)
            stand(place, "", shown)
            linked.write(f"{place.record}/{SHOWN}", shown)
            place.fill(shown)
        return place.path

    def _with_agent_files(self, commit: str, base: str) -> str:
        """The commit, or one on top of it in which the agent files are those of the base."""
        index = self.repository.scratch("judge")
        self.repository.git("read-tree", commit, index=index)
        listed = [entry for entry in self.repository.entries(base) if is_agent_file(entry.partition("\t")[2])]
        if not self.repository.put_entries(listed, index=index, where=is_agent_file):
            return commit
        found = self.repository.git("write-tree", index=index).strip()
        return self.repository.commit_tree(found, [commit], "For review, with the agent files of the base")

    def remove_judge(self, task: str) -> None:
        """Remove the checkout of whoever judged a task; a commit made there is pinned."""
        with self.repository.held():
            place = Place(self.repository, _judge(task))
            if not place.record and not os.path.lexists(place.path):
                return
            stand(place, "", self.repository.commit_of("HEAD"))
            shown = self.repository.only_commits([linked.line(f"{place.record}/{SHOWN}") or "none"])
            apart = [*shown, *self.repository.refs("refs/heads/", KEEP).values()]
            self._pins(task).pin_found("review", commits_in(place, self._ref(task)), apart=apart)
            loosen(place.path)
            self.repository.git("worktree", "remove", "--force", "--force", "--", place.path)

    def remove(
        self, task: str, *, busy: Callable[[str], Mapping[int, str]] = tree.working_in, dry_run: bool = False
    ) -> Refused | None:
        """Remove a worktree whose work is pinned, that is clean and in which nobody works; or say why not."""
        with self.repository.held():
            place = Place(self.repository, _name(task))
            if not place.record:
                return _unknown(place) if os.path.lexists(place.path) else None
            refused = self._reason_to_keep(place, task, busy)
            if refused or dry_run:
                return refused
            if os.path.isdir(place.path):
                furnishing.clear(place)
            # Without --force git looks for changes itself, with the filters of the moment; we have looked with ours.
            done = self.repository.attempt(["worktree", "remove", "--force", "--", place.path])
            if done.code:
                return Refused(f"git does not remove worktree {task}: {done.words}", "see 'git worktree list'")
        return None

    def _reason_to_keep(self, place: Place, task: str, busy: Callable[[str], Mapping[int, str]]) -> Refused | None:
        refs = self.repository.refs(KEEP, "refs/heads/", "refs/tags/", "refs/remotes/")
        apart = [commit for name, commit in refs.items() if not name.startswith("refs/heads/sow/task/")]
        free = self.repository.heads_of(commits_in(place, self._ref(task)), apart=apart)
        if free:
            return Refused(f"commit {free[0][:12]} of task {task} is not pinned", "collect the task's work first")
        if not os.path.isdir(place.path):
            return None
        for pid, name in busy(place.path).items():
            return Refused(f"process {pid} ({name}) works in {place.path}", "end it, and try again")
        if os.path.exists(f"{place.record}/locked"):
            return Refused(f"worktree {task} is locked", f"git worktree unlock {place.path}")
        dirty = place.dirt(furnishing.furniture(place))
        if dirty:
            return Refused(f"worktree {task} has work that is not committed: {dirty[0]}", f"look at {place.path}")
        own = ["submodules"] if os.path.isdir(f"{place.record}/modules") else place.repositories()
        if own:
            return Refused(f"worktree {task} has a repository of its own: {own[0]}", f"look at {place.path}")
        return None


def run_name(run: str) -> str:
    """A run's id, which becomes part of names of branches and folders."""
    if not run or len(run) > 64 or not all(part.isascii() and part.isalnum() for part in run.split("-")):
        raise SowError(f"{run!r} is not the id of a run", "see 'sow runs list'")
    return run


def _name(task: str) -> str:
    if not is_task_id(task):
        raise SowError(f"{task!r} is not a task id", "see 'sow task list'")
    return task


def _judge(task: str) -> str:
    return f"{_name(task)}-review"


def _unknown(place: Place) -> Refused:
    return Refused(f"{place.path} is no worktree that git knows", "look at it, and move it away")
