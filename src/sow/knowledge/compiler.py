"""The context compiler: of all documents the few that fit one task, each with its reason, within a budget."""

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
SHARE = 0.4  # of the best score: what scores less is about something else
SURE, NAMED, ABOUT_FILE = 3e6, 2e6, 1e6  # above every score by words
MOST_PATHS = 50
PARTS = 4  # a part of a large document takes at most this share of the budget


def compile_for(
    desk: Desk, project: ProjectState, task: Task, *, folder: str, budget: int, environment: Mapping[str, str]
) -> Choice:
    """Choose among all documents that there are for a task that is worked on in this folder."""
    library = Library(desk.home, folder, targets(environment))
    library.fill(project, task)
    given = by_hand(task)
    documents = [each for each in library.documents if each.path not in given]
    try:
        description = desk.home.read(desk.description_path)
    except FileNotFoundError:
        description = ""
    choice = choose(task, description, documents, _index(desk, documents), budget)
    choice.remarks = library.remarks
    return choice


def _index(desk: Desk, documents: list[Document]) -> TextIndex | None:
    """The words of the documents; where none is to be searched, nothing is opened."""
    if all(each.kind == UPSTREAM for each in documents):
        return None
    from sow.knowledge.text_index import TextIndex  # here, because SQLite is not loaded for nothing

    return TextIndex(desk.home, documents)


def choose(task: Task, description: str, documents: Sequence[Document], index: TextIndex | None, budget: int) -> Choice:
    """The documents that a worker on this task should read."""
    picks = _certain(task, description, documents)
    if index is not None:
        try:
            picks += [*_about_files(task, index), *_relevant(task, description, index)]
            picks = [each for each in picks if each.document.path not in index.unreadable]
        finally:
            index.close()
    best: dict[str, Pick] = {}
    for pick in sorted(picks, key=lambda each: (-each.score, each.document.path)):
        best.setdefault(pick.document.path, pick)
    return _within(budget, list(best.values()), considered=len(documents))


def _certain(task: Task, description: str, documents: Sequence[Document]) -> list[Pick]:
    """What belongs to the task whatever its words are: outputs that it builds on, and what its text names."""
    text = "\n".join((task["name"], description, *task["criteria"]))
    named, told = Named(text), tuple(telling([text]))
    found = []
    for document in documents:
        if document.sure:
            found.append(Pick(document, SURE, document.sure))
        elif named.has(document):
            found.append(Pick(document, NAMED, "the task names it", told))
    return found


def _relevant(task: Task, description: str, index: TextIndex) -> list[Pick]:
    """What shares enough of the task's words, weighed by how rare they are and where they stand."""
    files = task.get("files", [])
    told = telling([task["name"], task["name"], description, *task["criteria"]])
    matches = Matches(index, told, telling([task["name"]]), languages(files))
    scores = matches.scores()
    if not scores:
        return []
    best = max(scores.values())
    found = []
    for number, score in scores.items():
        document = index.ids[number]
        if score >= SHARE * best:
            found.append(Pick(document, score, matches.reason(number, document), tuple(matches.of(number))))
    return _few_of_each(found)


def _about_files(task: Task, index: TextIndex) -> list[Pick]:
    """What speaks of a file that the plan says the task writes."""
    found = []
    for path in task.get("files", [])[:MOST_PATHS]:
        have = index.having(path) if "/" in path else set()
        if len(have) <= MOST_OF_OWNER:  # what many speak of tells nothing
            found += [Pick(index.ids[each], ABOUT_FILE, f"it speaks of {path}", tuple(words(path))) for each in have]
    return found


def _few_of_each(picks: list[Pick]) -> list[Pick]:
    """The best of every sink and repository; the repository's own documents have no such limit."""
    counts: dict[str, int] = {}
    found = []
    for pick in sorted(picks, key=lambda each: (-each.score, each.document.path)):
        owner = f"{pick.document.kind} {pick.document.owner}"
        counts[owner] = counts.get(owner, 0) + 1
        if not pick.document.owner or counts[owner] <= MOST_OF_OWNER:
            found.append(pick)
    return found


def _within(budget: int, picks: list[Pick], *, considered: int) -> Choice:
    """As many as there is room for, the best first; of one that is too large, its best part."""
    chosen: list[Chosen] = []
    left_out: list[Chosen] = []
    room = whole = budget * sizes.BYTES_PER_TOKEN
    for pick in picks:
        entry = _entry(pick, room, min(room, whole // PARTS)) if len(chosen) < MOST_PICKS else None
        if entry is None:
            left_out.append(_described(pick))
            continue
        chosen.append(entry)
        room -= entry["size"]
    return Choice(budget, chosen, left_out, considered)


def _described(pick: Pick) -> Chosen:
    document = pick.document
    entry: Chosen = {"path": document.path, "kind": document.kind, "reason": pick.reason, "size": document.size}
    return entry


def _entry(pick: Pick, room: int, most: int) -> Chosen | None:
    """The document as a whole where there is room for it, else at `most` so much of it; nothing where that fails."""
    entry = _described(pick)
    if entry["size"] <= room:
        return entry
    if pick.document.kind == UPSTREAM:
        return None
    try:
        text = read_text(Disk(), os.path.realpath(pick.document.place))
    except (OSError, SowError):  # gone meanwhile
        return None
    part = passage.best(text, pick.words, most)
    if part is None:
        return None
    return {**entry, "size": part.size, "lines": part.lines}
