"""The integration branch of a run: what passed is merged there, one at a time, and checked before the branch moves."""

from __future__ import annotations

import os

from sow.domain.ids import is_task_id
from sow.engine import furnishing
from sow.engine.finishing import Finished, fast_forward
from sow.engine.pins import Pins
from sow.engine.place import EnvironmentProblem, Place
from sow.engine.refusal import Refused
from sow.engine.repository import STATE, Repository, is_below
from sow.engine.standing import stand
from sow.engine.worktrees import run_name
from sow.errors import Failed, SowError
from sow.system import git, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sow.store.home import Home

TRAILER = "Sow-Task"
SAVED = "Sow-State: saved"
MERGED = f"--format=%H%x00%P%x00%(trailers:key={TRAILER},valueonly,separator=%x2C)%x00"


class Merge:
    """One try: the commit that came of it, or the paths that conflict and what git says about them."""

    __slots__ = ("commit", "conflicts", "messages", "tree")

    def __init__(
        self, *, commit: str = "", tree: str = "", conflicts: tuple[str, ...] = (), messages: tuple[str, ...] = ()
    ) -> None:
        self.commit = commit
        self.tree = tree
        self.conflicts = conflicts
        self.messages = messages


class Integration:
    """The branch sow/int/<run>, which only ever holds what was checked, and its worktree, where checks run."""

    __slots__ = ("branch", "pins", "ref", "repository", "run")

    def __init__(self, home: Home, run: str, *, repository: Repository | None = None) -> None:
        self.run = run_name(run)
        self.repository = repository or Repository(home)
        self.branch = f"sow/int/{run}"
        self.ref = f"refs/heads/{self.branch}"
        self.pins = Pins(self.repository, run, "integration")

    def _place(self) -> Place:
        return Place(self.repository, f"integration-{self.run}")

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
        """The last commit that was checked; a branch that somebody deleted comes back where it was."""
        found = self.repository.find(self.ref)
        if not found:
            found = self.pins.get("head")
            if not found:
                raise EnvironmentProblem(f"the branch {self.branch} is gone", "'sow run' makes it again")
            self.repository.set_ref(self.ref, found, "", why="brought back")
        return found

    def begin(self, base: str) -> str:
        """Make the branch and its worktree, or take those that are there; returns the folder.

        A branch that somebody deleted comes back where it was.
        """
        with self.repository.held():
            start = self.pins.get("base") or self.repository.commit_of(base)
            self.pins.pin("base", start)
            if not self.repository.find(self.ref):
                self.repository.set_ref(self.ref, self.pins.get("head") or start, "", why="begun")
            self.pins.replace("head", self.head)
            place = self._place()
            stand(place, "", self.head)
            if not place.is_ready:
                self._show(place, self.head)
        return place.path

    def merged(self) -> dict[tuple[str, int], str]:
        """What has been merged, as git tells it: task and iteration, and the commit that was merged."""
        log = self.repository.git(
            "log", "--no-show-signature", "--first-parent", MERGED, f"{self.base}..{self.head}", "--"
        )
        found = {}
        for line in log.split("\0\n"):
            words = line.split("\0")
            if len(words) != 3:
                continue
            parents, (task, _, iteration) = words[1].split(), words[2].strip().partition("/")
            if is_task_id(task) and iteration.isascii() and iteration.isdigit():
                found[task, int(iteration)] = parents[-1]  # git writes one parent where the head itself was merged
        return found

    def try_merge(self, task: str, iteration: int, commit: str, message: str) -> Merge:
        """The head with a task's commit, on no branch yet; or the conflicts."""
        subject = message.strip() or f"Merge task {task}"
        return self._merge(commit, f"{subject}\n\n{TRAILER}: {task}/{iteration}", f"task {task}")

    def bring_in(self, commit: str) -> Merge:
        """The head with new commits of the user, in the same way."""
        commit = self.repository.commit_of(commit)
        if self.repository.is_ancestor(commit, self.head):
            return Merge(commit=self.head, tree=self.repository.tree_of(self.head))
        return self._merge(commit, "Merge the user's commits into the run", "your branch")

    def _merge(self, commit: str, message: str, name: str) -> Merge:
        with self.repository.held():
            head, commit = self.head, self.repository.commit_of(commit)
            place = self._place()
            stand(place, "", head)
            done = place.attempt(
                ["merge-tree", "--write-tree", "-z", "--messages", head, self._with_state(commit, head)]
            )
            if done.code not in (0, 1):
                raise git.failure(["merge-tree"], done)
            found, conflicts, messages = _told(done.out)
            if done.code:
                return Merge(conflicts=conflicts, messages=tuple(_named(each, head, commit, name) for each in messages))
            return Merge(commit=self.repository.commit_tree(found, [head, commit], message), tree=found)

    def _with_state(self, commit: str, head: str) -> str:
        """The commit, or one on top of it, with the state's files of the head: the state is saved, never merged."""
        index = self.repository.scratch("merge")
        self.repository.git("read-tree", commit, index=index)
        entries = self.repository.entries(head, *STATE)
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

    def advance(self, commit: str, expected_old: str) -> None:
        """Move the branch to a commit that was checked, if it still stands where it was."""
        with self.repository.held():
            self._refuse_checked_out()
            if self.repository.find(self.ref) != expected_old:
                raise Failed(f"{self.branch} has moved meanwhile", "merge again from where it is now")
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
        """The state of the home as one commit on the integration branch; returns the head, new or old.

        It goes through an index of ours: what the user has staged is not seen.
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
        commit = self.repository.commit_tree(found, [head], f"{message.strip()}\n\n{SAVED}")
        self.advance(commit, head)
        return commit

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


def _named(message: str, head: str, commit: str, name: str) -> str:
    return message.replace(head, "the integration branch").replace(commit, name)
