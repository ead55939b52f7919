"""The integration branch of a run: finished work is merged there, one task at a time, after its checks passed.

The run's own record (`run.head` and `run.merges` in its state) says what is merged. The branch shows it to people and
workers. A branch that somebody moved is set back to the record, and commit messages are never read.
"""

from __future__ import annotations

import os

from sow.engine import furnishing
from sow.engine.differences import changed_paths
from sow.engine.finishing import Finished, fast_forward
from sow.engine.pins import Pins
from sow.engine.place import EnvironmentProblem, Place
from sow.engine.refusal import Refused
from sow.engine.repository import STATE, Repository, is_below
from sow.engine.standing import stand
from sow.engine.worktrees import run_name
from sow.errors import Failed, SowError
from sow.system import clock, git, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from sow.domain.shapes import DroppedMerge, RunMerge
    from sow.store.home import Home
    from sow.store.runs import RunFolder

TRAILER = "Sow-Task"
FOREIGN = "foreign"  # the name of pins of commits that somebody else put on the branch


class Merge:
    """One attempt: the merged commit, or the paths that conflict and git's messages about them."""

    __slots__ = ("commit", "conflicts", "messages", "parent", "tree")

    def __init__(
        self,
        *,
        commit: str = "",
        tree: str = "",
        parent: str = "",
        conflicts: tuple[str, ...] = (),
        messages: tuple[str, ...] = (),
    ) -> None:
        self.commit = commit
        self.tree = tree
        self.parent = parent  # the head that it was made on
        self.conflicts = conflicts
        self.messages = messages


class Integration:
    """The branch sow/int/<run> with its worktree, and the record of what was merged."""

    __slots__ = ("branch", "moved", "pins", "record", "ref", "repository", "run")

    def __init__(
        self, home: Home, run: str, *, repository: Repository | None = None, record: RunFolder | None = None
    ) -> None:
        self.run = run_name(run)
        self.repository = repository or Repository(home)
        self.record = record  # without it, the worktree can only be removed
        self.branch = f"sow/int/{run}"
        self.ref = f"refs/heads/{self.branch}"
        self.pins = Pins(self.repository, run, "integration")
        self.moved: list[dict[str, str]] = []  # moves of the branch by somebody else that were undone, not yet told

    def _place(self) -> Place:
        return Place(self.repository, f"integration-{self.run}")

    def _record(self) -> RunFolder:
        if self.record is None:
            raise SowError(f"run {self.run} has no record here", "see 'sow runs list'")
        return self.record

    @property
    def path(self) -> str:
        """The folder in which checks run."""
        return f"{self.repository.home.sow}/local/worktrees/integration-{self.run}"

    @property
    def base(self) -> str:
        """The commit from which the run began."""
        found = self.pins.get("base")
        if not found:
            raise SowError(f"run {self.run} has no integration branch yet", "begin it with the run's first commit")
        return found

    @property
    def head(self) -> str:
        """The last commit that passed its checks, as the run recorded it."""
        found = self._record().run.get("head", "")
        if not found:
            raise EnvironmentProblem(f"the branch {self.branch} is gone", "'sow run' makes it again")
        return found

    @property
    def merges(self) -> list[RunMerge]:
        """What the run merged, oldest first."""
        return self._record().run.get("merges", [])

    @property
    def squashes(self) -> bool:
        """Whether a merge is one commit with one parent."""
        return self._record().run["settings"].get("history", "squash") == "squash"

    def begin(self, base: str) -> str:
        """Create the branch and its worktree, or reuse those that exist; returns the folder."""
        with self.repository.held():
            start = self.pins.get("base") or self.repository.commit_of(base)
            self.pins.pin("base", start)
            record = self._record()
            if not record.run.get("head"):  # a new run, or one that an older sow began
                record.run["head"] = self.pins.get("head") or start
                record.save()
            self.guard(after_crash=True)
            self.pins.replace("head", self.head)
            place = self._place()
            stand(place, "", self.head)
            if not place.is_ready:
                self._show(place, self.head)
        return place.path

    def guard(self, *, after_crash: bool = False) -> None:
        """Set the branch back to the recorded head if it is elsewhere; foreign commits are pinned and listed.

        The record is written before the branch moves, and the pin of the head after that. After a crash in between,
        the branch stands where the pin does: that is no foreign move. Neither is a branch that is missing.
        """
        with self.repository.held():
            head, found = self.head, self.repository.find(self.ref)
            if found == head:
                return
            own = not found or (after_crash and found in (self.pins.get("head"), *self.repository.parents(head)[:1]))
            if not own:
                pin = "" if self.repository.is_ancestor(found, head) else self.pins.pin_beside(FOREIGN, found)
                self.moved.append({"branch": self.branch, "found": found, "restored": head, "pin": pin})
            self.repository.set_ref(self.ref, head, found, why="as recorded")

    def merged(self) -> dict[tuple[str, int], str]:
        """Task and iteration of every recorded merge, and the commit that was merged."""
        return {(each["task"], each["iteration"]): each["work"] for each in self.merges}

    def try_merge(self, task: str, iteration: int, commit: str, message: str) -> Merge:
        """Merge a task's commit into the head on no branch, or list the conflicts."""
        text = f"{message.strip() or f'Merge task {task}'}\n\n{TRAILER}: {task}/{iteration}"
        with self.repository.held():
            head, commit = self.head, self.repository.commit_of(commit)
            tree, conflicts = self._merged_tree(self._known(task), self._with_state(commit, head), f"task {task}")
            if conflicts is not None:
                return conflicts
            if self.squashes and tree == self.repository.tree_of(head):
                return Merge(commit=head, tree=tree, parent=head)  # no change, so no commit
            parents = [head] if self.squashes else [head, commit]
            return Merge(commit=self.repository.commit_tree(tree, parents, text), tree=tree, parent=head)

    def bring_in(self, commit: str) -> Merge:
        """Merge the user's new commits into the head in the same way; the user's state files win."""
        with self.repository.held():
            head, commit = self.head, self.repository.commit_of(commit)
            if self.repository.is_ancestor(commit, head):
                return Merge(commit=head, tree=self.repository.tree_of(head), parent=head)
            tree, conflicts = self._merged_tree(self._with_state(head, commit), commit, "your branch")
            if conflicts is not None:
                return conflicts
            message = "Merge the user's commits into the run"
            return Merge(commit=self.repository.commit_tree(tree, [head, commit], message), tree=tree, parent=head)

    def _known(self, task: str) -> str:
        """The head, as a commit that also has the task's earlier work in its ancestry.

        A squashed merge does not contain the worker's commits. Without this, the next iteration on top of them would
        conflict with its own earlier changes. For the same reason it has merges that were taken out: work that was
        begun on top of them does not bring them back.
        """
        head = self.head
        works = list(dict.fromkeys(each["work"] for each in self.merges if each["task"] == task))
        works += self._dropped_for(task)
        known = self.repository.only_commits(works) if works else []
        free = [each for each in known if not self.repository.is_ancestor(each, head)]
        return self.repository.commit_tree(self.repository.tree_of(head), [head, *free], "Merged") if free else head

    def _dropped_for(self, task: str) -> list[str]:
        """Heads with merges that were taken out; for a task of which one was, the commit before that merge."""
        dropped = self._record().run.get("dropped", [])
        found = {each["head"]: each["head"] for each in dropped}
        found.update({each["head"]: each["parent"] for each in dropped if each["task"] == task})
        return list(found.values())

    def drop(self, tasks: Collection[str], delivered: str) -> dict[str, tuple[str, ...]]:
        """Take the merges of some tasks out: make the later ones again, on the head before the first of them.

        Merges that are on the user's branch stay. A later merge that conflicts now is taken out too; returns the
        tasks of such merges, with the paths. Commits of the user that came in are brought in again later.
        """
        with self.repository.held():
            old, merges = self.head, self.merges
            gone = [each["task"] in tasks and not self._has(delivered, each) for each in merges]
            if True not in gone:
                return {}
            first = gone.index(True)
            head, kept = merges[first]["parent"], merges[:first]
            out: dict[str, DroppedMerge] = {}
            conflicts: dict[str, tuple[str, ...]] = {}
            for each in merges[first:]:
                task = each["task"]
                made = None if task in out or task in tasks else self._merge_again(each, head)
                if made is not None and not made.conflicts:
                    kept = [*kept, {**each, "commit": made.commit, "parent": head, "tree": made.tree}]
                    head = made.commit
                    continue
                out.setdefault(task, {"task": task, "head": old, "parent": each["parent"], "at": clock.now()})
                if made is not None:
                    conflicts[task] = made.conflicts
            record = self._record().run
            record["dropped"] = [*record.get("dropped", []), *out.values()]
            self._advance(head, old, kept)
        return conflicts

    def _has(self, branch: str, merge: RunMerge) -> bool:
        return bool(branch) and self.repository.is_ancestor(merge["commit"], branch)

    def _merge_again(self, merge: RunMerge, head: str) -> Merge:
        """Make the change of a recorded merge on another head."""
        repository = self.repository
        before = repository.commit_tree(repository.tree_of(merge["parent"]), [], "Before")
        ours = repository.commit_tree(repository.tree_of(head), [before], "Ours")
        theirs = repository.commit_tree(merge["tree"], [before], "Theirs")
        tree, conflicts = self._merged_tree(ours, theirs, f"task {merge['task']}")
        if conflicts is not None:
            return conflicts
        if self.squashes and tree == repository.tree_of(head):
            return Merge(commit=head, tree=tree, parent=head)
        text = repository.git("log", "-1", "--format=%B", merge["commit"])
        parents = [head, *repository.parents(merge["commit"])[1:]]
        return Merge(commit=repository.commit_tree(tree, parents, text), tree=tree, parent=head)

    def base_of(self, task: str, branch: str) -> str:
        """The commit from which a task's branch differs: its last common commit with what is merged."""
        with self.repository.held():
            return self.repository.git("merge-base", branch, self._known(task)).strip()

    def _merged_tree(self, ours: str, theirs: str, name: str) -> tuple[str, Merge | None]:
        """The tree of both commits, or the conflicts between them."""
        place = self._place()
        stand(place, "", self.head)
        done = place.attempt(["merge-tree", "--write-tree", "-z", "--messages", ours, theirs])
        if done.code not in (0, 1):
            raise git.failure(["merge-tree"], done)
        tree, conflicts, messages = _told(done.out)
        if not done.code:
            return tree, None
        named = tuple(each.replace(ours, "the integration branch").replace(theirs, name) for each in messages)
        return "", Merge(conflicts=conflicts, messages=named)

    def _with_state(self, commit: str, source: str) -> str:
        """The commit, or one on top of it, with the state files of another one: state is saved, never merged."""
        index = self.repository.scratch("merge")
        self.repository.git("read-tree", commit, index=index)
        entries = self.repository.entries(source, *STATE)
        if not self.repository.put_entries(entries, index=index, where=lambda path: is_below(path, STATE)):
            return commit
        found = self.repository.git("write-tree", index=index).strip()
        return self.repository.commit_tree(found, [commit], "With the state of the run")

    def show(self, commit: str) -> str:
        """Check a commit out in the integration worktree, so that checks can run there; returns the folder."""
        with self.repository.held():
            commit = self.repository.commit_of(commit)
            place = self._place()
            stand(place, "", commit)
            self._show(place, commit)
        return place.path

    def _show(self, place: Place, commit: str) -> None:
        """Let the worktree stand on a commit, without what earlier checks left there; ignored files stay."""
        place.unlock()
        place.git("update-ref", "--no-deref", "HEAD", commit)
        place.fill(commit)
        place.clean(spare=furnishing.furniture(place))

    def take(self, merge: Merge, *, task: str, iteration: int, work: str) -> None:
        """Record the merge of a task, and move the branch to it."""
        entry: RunMerge = {
            "task": task,
            "iteration": iteration,
            "work": work,
            "commit": merge.commit,
            "parent": merge.parent,
            "tree": merge.tree,
            "at": clock.now(),
        }
        self._advance(merge.commit, merge.parent, [*self.merges, entry])

    def advance(self, commit: str, expected_old: str) -> None:
        """Record a new head that is no merge of a task, such as the user's commits, and move the branch to it."""
        self._advance(commit, expected_old, self.merges)

    def _advance(self, commit: str, expected_old: str, merges: list[RunMerge]) -> None:
        """Write the record first, then the branch: after a crash in between, `begin` moves the branch."""
        with self.repository.held():
            self._refuse_checked_out()
            if self.head != expected_old:
                raise Failed(f"{self.branch} has moved meanwhile", "merge again from where it is now")
            self.guard()
            record = self._record()
            record.run["head"] = commit
            record.run["merges"] = merges
            record.save()
            if commit != expected_old:
                self.repository.set_ref(self.ref, commit, expected_old, why="checked")
                self.pins.replace("head", commit)

    def _refuse_checked_out(self) -> None:
        """A branch that moves under a checkout of the user would make its files look changed."""
        where = self.repository.git("for-each-ref", "--format=%(worktreepath)", self.ref).strip()
        if where:
            raise EnvironmentProblem(
                f"{self.branch} is checked out in {where}", "switch that checkout to another branch, and run again"
            )

    def save_state(self, message: str) -> str:
        """Commit the home's state files on the integration branch; returns the head, new or old.

        A state commit at the head that the user's branch does not have yet is replaced: a run makes one at most.
        The commit is made with an index of our own, so what the user has staged is not part of it.
        """
        with self.repository.held(), self.repository.home.lock():
            head = self.head
            index = self.repository.scratch("state")
            self.repository.git("read-tree", head, index=index)
            there = [path for path in STATE if self._can_save(path, head)]
            if there:
                self.repository.git("add", "--all", "--sparse", "--", *there, index=index)
            found = self.repository.git("write-tree", index=index).strip()
        if found == self.repository.tree_of(head):
            return head
        commit = self.repository.commit_tree(found, [self._before_state(head)], message.strip())
        self.advance(commit, head)
        return commit

    def _before_state(self, head: str) -> str:
        """The head, or its parent if the head only saved state and is on no branch of the user's."""
        parents = self.repository.parents(head)
        merges = {each["commit"] for each in self.merges}
        if len(parents) != 1 or head in merges or head == self.base:
            return head
        if not all(is_below(path, STATE) for path in changed_paths(self.repository, parents[0], head)):
            return head
        delivered = self.repository.refs("refs/heads/")
        others = [commit for ref, commit in delivered.items() if not ref.startswith("refs/heads/sow/int/")]
        return head if head not in self.repository.outside([head], others) else parents[0]

    def _can_save(self, path: str, head: str) -> bool:
        """Whether a folder of the state is there, or was saved before, and the user has not told git to ignore it."""
        there = os.path.lexists(f"{self.repository.home.root}/{path}") or bool(self.repository.entries(head, path))
        return there and bool(self.repository.attempt(["check-ignore", "--quiet", "--", path]).code)

    def finish(self, branch: str) -> Finished | Refused:
        """Fast-forward the user's checkout of a branch to the head; or say why not, with nothing changed."""
        with self.repository.held():
            return fast_forward(self.repository, branch, self.head)

    def remove(self, *, busy: Callable[[str], Mapping[int, str]] = tree.working_in) -> Refused | None:
        """Remove the integration worktree, in which nobody works and nothing is anybody's; the branch stays."""
        with self.repository.held():
            place = self._place()
            for pid, name in busy(place.path).items():
                return Refused(f"process {pid} ({name}) works in {place.path}", "end it, and try again")
            if place.record or os.path.lexists(place.path):
                stand(place, "", self.repository.commit_of("HEAD"))
                furnishing.clear(place)
                self.repository.git("worktree", "remove", "--force", "--force", "--", place.path)
        return None


def _told(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """What `git merge-tree -z` says: the tree, the paths that conflict, and messages about them."""
    tree, _, rest = text.partition("\0")
    listed, _, told = rest.partition("\0\0") if not rest.startswith("\0") else ("", "", rest[1:])
    conflicts = dict.fromkeys(entry.partition("\t")[2] for entry in listed.split("\0") if entry)
    words, messages = iter(told.split("\0")), []
    for count in words:
        if not count.isdigit():
            break
        for _ in range(int(count) + 1):  # the paths, and the kind
            next(words, "")
        message = next(words, "").strip()
        if message.startswith("CONFLICT"):
            messages.append(message)
    return tree, tuple(conflicts), tuple(messages)
