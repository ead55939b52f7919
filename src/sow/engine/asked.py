"""Records a worktree when a run asks about its merge, to tell later whether a person changed it."""

from __future__ import annotations

from sow.engine.gathering import Gathering
from sow.engine.place import Place
from sow.store import sessions
from sow.system import linked, plain_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import Task
    from sow.engine.repository import Repository
    from sow.store.desk import Desk

MARK = "sow-asked"
MERGE = "merge"
CONFLICT = b"<<<<<<< "  # starts a line where git left a conflict


def remember(repository: Repository, folder: Desk, task: Task) -> None:
    """Record the current state of a task's worktree and the number of turns so far."""
    with repository.held():
        worktree = Place(repository, folder.id)
        if worktree.is_ready:
            linked.write(f"{worktree.record}/{MARK}", f"{_since(folder, task)} {_look(worktree)}\n")


def has_changed(repository: Repository, folder: Desk, task: Task) -> bool:
    """Whether a person has changed the work since then and resolved all conflicts."""
    worktree = Place(repository, folder.id)
    mark = linked.line(f"{worktree.record}/{MARK}") if worktree.is_ready else ""
    since = _since(folder, task) if mark else ""
    if not mark.startswith(f"{since} "):
        return False
    with repository.held():
        return _is_resolved(worktree) and mark != f"{since} {_look(worktree)}"


def conclude(repository: Repository, task: str) -> None:
    """Commit a merge that a person has resolved but not committed, because collecting would abort it."""
    with repository.held():
        worktree = Place(repository, task)
        if not linked.under_way(worktree.record) or not _is_resolved(worktree):
            return
        head, merge_head = worktree.head(), worktree.git("rev-parse", "--verify", "MERGE_HEAD").strip()
        tree = Gathering(worktree, base=head, head=head).tree()
        commit = repository.commit_tree(tree, [head, merge_head], "Merge, resolved by a person")
        worktree.git("update-ref", "-m", "sow: merge resolved", "HEAD", commit)
        worktree.git("merge", "--quit")
        worktree.git("read-tree", commit)


def _since(folder: Desk, task: Task) -> str:
    """Return what no person changes: the work that was asked about and the number of turns."""
    turns = sum(len(record.session["turns"]) for record in sessions.records(folder))
    return f"{task['work']['commit'] if 'work' in task else ''} {turns}"


def _look(worktree: Place) -> str:
    """Return the commit under the files and the tree of the files."""
    head = worktree.head()
    return f"{head} {Gathering(worktree, base=head, head=head).tree()}" if head else ""


def _is_resolved(worktree: Place) -> bool:
    """Whether nothing is under way, or only a merge without remaining conflicts."""
    if not set(linked.under_way(worktree.record).values()) <= {MERGE}:
        return False
    entries = worktree.git("ls-files", "--unmerged", "-z").split("\0")
    return not any(_has_two_sides(f"{worktree.path}/{entry.partition(chr(9))[2]}") for entry in entries if entry)


def _has_two_sides(path: str) -> bool:
    try:
        descriptor = plain_file.open_to_read(path)
    except OSError:
        return False
    with open(descriptor, "rb") as file:
        return any(line.startswith(CONFLICT) for line in file)
