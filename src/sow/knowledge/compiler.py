"""Chooses the few documents that fit one task, each with its reason, within a budget of tokens."""

from __future__ import annotations

import os

from sow.domain import size as sizes
from sow.domain.task import by_hand
from sow.domain.task_words import languages, telling, words
from sow.errors import SowError
from sow.knowledge import passage
from sow.knowledge.document import UPSTREAM, Choice, Document, Pick
from sow.knowledge.library import Library
from sow.knowledge.matches import Matches
from sow.knowledge.naming import Named
from sow.store.disk import Disk, read_text
from sow.store.repo_index import targets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sow.domain.shapes import Chosen, ProjectState, Task
    from sow.knowledge.text_index import TextIndex
    from sow.store.desk import Desk

MOST_PICKS = 12
MOST_OF_OWNER = 3  # documents of one sink or repository, so that a large one does not fill the list
SHARE = 0.4  # of the best score; documents that score less are about something else
SURE, NAMED, ABOUT_FILE = 3e6, 2e6, 1e6  # scores of certain documents; higher than every score by words
MOST_PATHS = 50
PARTS = 4  # an excerpt of a large document takes at most 1/PARTS of the budget


def compile_for(
    desk: Desk, project: ProjectState, task: Task, *, folder: str, budget: int, environment: Mapping[str, str]
) -> Choice:
    """Chooses documents for a task that is worked on in this folder."""
    library = Library(desk.home, folder, targets(environment))
    library.fill(project, task)
    given_paths = by_hand(task)
    documents = [document for document in library.documents if document.path not in given_paths]
    try:
        description = desk.home.read(desk.description_path)
    except FileNotFoundError:
        description = ""
    choice = choose(task, description, documents, _index(desk, documents), budget)
    choice.remarks = library.remarks
    return choice


def _index(desk: Desk, documents: list[Document]) -> TextIndex | None:
    """Opens the index of the documents' words; None if no document needs a search."""
    if all(document.kind == UPSTREAM for document in documents):
        return None
    from sow.knowledge.text_index import TextIndex  # imported here because most calls need no SQLite

    return TextIndex(desk.home, documents)


def choose(task: Task, description: str, documents: Sequence[Document], index: TextIndex | None, budget: int) -> Choice:
    """Returns the documents that the worker of this task should read."""
    picks = _certain(task, description, documents)
    if index is not None:
        try:
            picks += [*_about_files(task, index), *_relevant(task, description, index)]
            picks = [pick for pick in picks if pick.document.path not in index.unreadable]
        finally:
            index.close()
    best: dict[str, Pick] = {}
    for pick in sorted(picks, key=lambda pick: (-pick.score, pick.document.path)):
        best.setdefault(pick.document.path, pick)
    return _within(budget, list(best.values()), considered=len(documents))


def _certain(task: Task, description: str, documents: Sequence[Document]) -> list[Pick]:
    """Picks outputs of tasks that this one builds on, and documents that its text names."""
    text = "\n".join((task["name"], description, *task["criteria"]))
    named, task_words = Named(text), tuple(telling([text]))
    picks = []
    for document in documents:
        if document.sure:
            picks.append(Pick(document, SURE, document.sure))
        elif named.has(document):
            picks.append(Pick(document, NAMED, "the task names it", task_words))
    return picks


def _relevant(task: Task, description: str, index: TextIndex) -> list[Pick]:
    """Picks documents that share enough words with the task; rare words and words in headings count more."""
    files = task.get("files", [])
    task_words = telling([task["name"], task["name"], description, *task["criteria"]])
    matches = Matches(index, task_words, telling([task["name"]]), languages(files))
    scores = matches.scores()
    if not scores:
        return []
    best = max(scores.values())
    picks = []
    for number, score in scores.items():
        document = index.ids[number]
        if score >= SHARE * best:
            picks.append(Pick(document, score, matches.reason(number, document), tuple(matches.of(number))))
    return _few_of_each(picks)


def _about_files(task: Task, index: TextIndex) -> list[Pick]:
    """Picks documents that mention a file that the task writes according to its plan."""
    picks = []
    for path in task.get("files", [])[:MOST_PATHS]:
        numbers = index.having(path) if "/" in path else set()
        if len(numbers) <= MOST_OF_OWNER:  # if many documents mention a path, that says nothing
            picks += [
                Pick(index.ids[number], ABOUT_FILE, f"it speaks of {path}", tuple(words(path))) for number in numbers
            ]
    return picks


def _few_of_each(picks: list[Pick]) -> list[Pick]:
    """Limits the picks of each sink and repository; the repository's own documents have no limit."""
    counts: dict[str, int] = {}
    kept = []
    for pick in sorted(picks, key=lambda pick: (-pick.score, pick.document.path)):
        owner = f"{pick.document.kind} {pick.document.owner}"
        counts[owner] = counts.get(owner, 0) + 1
        if not pick.document.owner or counts[owner] <= MOST_OF_OWNER:
            kept.append(pick)
    return kept


def _within(budget: int, picks: list[Pick], *, considered: int) -> Choice:
    """Takes the best picks that fit the budget; of a document that is too large, its best excerpt."""
    chosen: list[Chosen] = []
    left_out: list[Chosen] = []
    left = total = budget * sizes.BYTES_PER_TOKEN
    for pick in picks:
        entry = _entry(pick, left, min(left, total // PARTS)) if len(chosen) < MOST_PICKS else None
        if entry is None:
            left_out.append(_described(pick))
            continue
        chosen.append(entry)
        left -= entry["size"]
    return Choice(budget, chosen, left_out, considered)


def _described(pick: Pick) -> Chosen:
    document = pick.document
    entry: Chosen = {"path": document.path, "kind": document.kind, "reason": pick.reason, "size": document.size}
    return entry


def _entry(pick: Pick, max_whole: int, max_size: int) -> Chosen | None:
    """Returns the whole document if it fits, else an excerpt of at most `max_size` bytes; None if there is none."""
    entry = _described(pick)
    if entry["size"] <= max_whole:
        return entry
    if pick.document.kind == UPSTREAM:
        return None
    try:
        text = read_text(Disk(), os.path.realpath(pick.document.place))
    except (OSError, SowError):  # deleted in the meantime
        return None
    excerpt = passage.best(text, pick.words, max_size)
    if excerpt is None:
        return None
    return {**entry, "size": excerpt.size, "lines": excerpt.lines}
