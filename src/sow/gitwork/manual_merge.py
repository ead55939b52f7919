"""Records a worktree when a run asks about its merge, to tell later whether a person changed it."""

from __future__ import annotations

from sow.domain.documents.state import Task
from sow.gitwork.collect import WorktreeIndex
from sow.gitwork.repository import Repository
from sow.gitwork.worktree import Worktree
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import sessions
from sow.system import git_worktree_files, plain_file

MARK = "sow-asked"
MERGE = "merge"
CONFLICT = b"<<<<<<< "  # starts a line where git left a conflict


def record_worktree(repository: Repository, folder: TaskFolder, task: Task) -> None:
    """Record the current state of a task's worktree and the number of turns so far."""
    with repository.locked():
        worktree = Worktree(repository, folder.id)
        if worktree.is_ready:
            git_worktree_files.write(
                f"{worktree.git_dir}/{MARK}", f"{_work_and_turns(folder, task)} {_worktree_state(worktree)}\n"
            )


def changed_by_person(repository: Repository, folder: TaskFolder, task: Task) -> bool:
    """Whether a person has changed the work since then and resolved all conflicts."""
    worktree = Worktree(repository, folder.id)
    mark = git_worktree_files.first_line(f"{worktree.git_dir}/{MARK}") if worktree.is_ready else ""
    since = _work_and_turns(folder, task) if mark else ""
    if not mark.startswith(f"{since} "):
        return False
    with repository.locked():
        return _is_resolved(worktree) and mark != f"{since} {_worktree_state(worktree)}"


def commit_resolved_merge(repository: Repository, task: str) -> None:
    """Commit a merge that a person has resolved but not committed, because collecting would abort it."""
    with repository.locked():
        worktree = Worktree(repository, task)
        if not git_worktree_files.unfinished_operations(worktree.git_dir) or not _is_resolved(worktree):
            return
        head, merge_head = worktree.head(), worktree.git("rev-parse", "--verify", "MERGE_HEAD").strip()
        tree = WorktreeIndex(worktree, base=head, head=head).tree()
        commit = repository.commit_tree(tree, [head, merge_head], "Merge, resolved by a person")
        worktree.git("update-ref", "-m", "sow: merge resolved", "HEAD", commit)
        worktree.git("merge", "--quit")
        worktree.git("read-tree", commit)


def _work_and_turns(folder: TaskFolder, task: Task) -> str:
    """Return what no person changes: the work that was asked about and the number of turns."""
    turns = sum(len(record.session["turns"]) for record in sessions.records(folder))
    return f"{task['work']['commit'] if 'work' in task else ''} {turns}"


def _worktree_state(worktree: Worktree) -> str:
    """Return the commit under the files and the tree of the files."""
    head = worktree.head()
    return f"{head} {WorktreeIndex(worktree, base=head, head=head).tree()}" if head else ""


def _is_resolved(worktree: Worktree) -> bool:
    """Whether nothing is under way, or only a merge without remaining conflicts."""
    if not set(git_worktree_files.unfinished_operations(worktree.git_dir).values()) <= {MERGE}:
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
