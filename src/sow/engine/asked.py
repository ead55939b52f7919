"""What a worktree held when the run asked about its merge: what differs later, with no turn since, a person did."""

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
CONFLICT = b"<<<<<<< "  # so begins a line where git left two sides


def remember(repository: Repository, desk: Desk, task: Task) -> None:
    """Write down how a task's worktree looks, and since which turn."""
    with repository.held():
        place = Place(repository, desk.id)
        if place.is_ready:
            linked.write(f"{place.record}/{MARK}", f"{_since(desk, task)} {_look(place)}\n")


def has_changed(repository: Repository, desk: Desk, task: Task) -> bool:
    """Whether a person has changed the work since then, and nothing in it waits to be resolved."""
    place = Place(repository, desk.id)
    known = linked.line(f"{place.record}/{MARK}") if place.is_ready else ""
    since = _since(desk, task) if known else ""
    if not known.startswith(f"{since} "):
        return False
    with repository.held():
        return _is_resolved(place) and known != f"{since} {_look(place)}"


def conclude(repository: Repository, task: str) -> None:
    """Commit a merge that a person has resolved and not committed: collecting would take it back."""
    with repository.held():
        place = Place(repository, task)
        if not linked.under_way(place.record) or not _is_resolved(place):
            return
        head, other = place.head(), place.git("rev-parse", "--verify", "MERGE_HEAD").strip()
        tree = Gathering(place, base=head, head=head).tree()
        commit = repository.commit_tree(tree, [head, other], "Merge, resolved by a person")
        place.git("update-ref", "-m", "sow: merge resolved", "HEAD", commit)
        place.git("merge", "--quit")
        place.git("read-tree", commit)


def _since(desk: Desk, task: Task) -> str:
    """What no person changes: the work that was asked about, and the turns so far."""
    turns = sum(len(record.session["turns"]) for record in sessions.records(desk))
    return f"{task['work']['commit'] if 'work' in task else ''} {turns}"


def _look(place: Place) -> str:
    """The commit under the files, and the files."""
    head = place.head()
    return f"{head} {Gathering(place, base=head, head=head).tree()}" if head else ""


def _is_resolved(place: Place) -> bool:
    """Whether nothing is under way, or a merge in which no file has two sides any more."""
    if not set(linked.under_way(place.record).values()) <= {MERGE}:
        return False
    listed = place.git("ls-files", "--unmerged", "-z").split("\0")
    return not any(_has_two_sides(f"{place.path}/{entry.partition(chr(9))[2]}") for entry in listed if entry)


def _has_two_sides(path: str) -> bool:
    try:
        descriptor = plain_file.open_to_read(path)
    except OSError:
        return False
    with open(descriptor, "rb") as file:
        return any(line.startswith(CONFLICT) for line in file)
