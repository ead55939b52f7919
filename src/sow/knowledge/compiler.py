"""Chooses the few documents that fit one task, each with its reason, within a budget of tokens."""

from __future__ import annotations

import os
from itertools import pairwise

from sow.domain.task import user_references
from sow.domain.text import units as sizes
from sow.domain.text.keywords import keywords, languages, words
from sow.errors import SowError
from sow.knowledge import excerpts
from sow.knowledge.document import ADR, UPSTREAM, Choice, Document, Pick
from sow.knowledge.library import Library
from sow.knowledge.ranking import Matches
from sow.store.files.disk import Disk, read_text
from sow.store.knowledge.repo_index import targets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sow.domain.documents.state import Chosen, ProjectState, Task
    from sow.knowledge.document import Document
    from sow.knowledge.text_index import TextIndex
    from sow.store.projects.task_folder import TaskFolder

MOST_PICKS = 12
MOST_OF_OWNER = 3  # documents of one sink or repository, so that a large one does not fill the list
MIN_SCORE_SHARE = 0.4  # of the best score; documents that score less are about something else
CERTAIN_SCORE, NAMED_SCORE, FILE_SCORE = 3e6, 2e6, 1e6  # scores of certain documents; higher than every score by words
MOST_PATHS = 50
EXCERPT_DIVISOR = 4  # an excerpt of a large document takes at most 1/PARTS of the budget


def compile_for(
    task_folder: TaskFolder,
    project: ProjectState,
    task: Task,
    *,
    folder: str,
    budget: int,
    environment: Mapping[str, str],
) -> Choice:
    """Chooses documents for a task that is worked on in this folder."""
    library = Library(task_folder.home, folder, targets(environment))
    library.find_documents(project, task)
    given_paths = user_references(task)
    documents = [document for document in library.documents if document.path not in given_paths]
    try:
        description = task_folder.home.read(task_folder.description_path)
    except FileNotFoundError:
        description = ""
    choice = choose(task, description, documents, _index(task_folder, documents), budget)
    choice.remarks = library.remarks
    return choice


def _index(folder: TaskFolder, documents: list[Document]) -> TextIndex | None:
    """Opens the index of the documents' words; None if no document needs a search."""
    if all(document.kind == UPSTREAM for document in documents):
        return None
    from sow.knowledge.text_index import TextIndex  # imported here because most calls need no SQLite

    return TextIndex(folder.home, documents)


def choose(task: Task, description: str, documents: Sequence[Document], index: TextIndex | None, budget: int) -> Choice:
    """Returns the documents that the worker of this task should read."""
    picks = _required_picks(task, description, documents)
    if index is not None:
        try:
            picks += [*_picks_by_files(task, index), *_picks_by_words(task, description, index)]
            picks = [pick for pick in picks if pick.document.path not in index.unreadable]
        finally:
            index.close()
    best: dict[str, Pick] = {}
    for pick in sorted(picks, key=lambda pick: (-pick.score, pick.document.path)):
        best.setdefault(pick.document.path, pick)
    return _fit_budget(budget, list(best.values()), considered=len(documents))


def _required_picks(task: Task, description: str, documents: Sequence[Document]) -> list[Pick]:
    """Picks outputs of tasks that this one builds on, and documents that its text names."""
    text = "\n".join((task["name"], description, *task["criteria"]))
    named, task_words = NamesInText(text), tuple(keywords([text]))
    picks = []
    for document in documents:
        if document.certain_reason:
            picks.append(Pick(document, CERTAIN_SCORE, document.certain_reason))
        elif named.names(document):
            picks.append(Pick(document, NAMED_SCORE, "the task names it", task_words))
    return picks


def _picks_by_words(task: Task, description: str, index: TextIndex) -> list[Pick]:
    """Picks documents that share enough words with the task; rare words and words in headings count more."""
    files = task.get("files", [])
    task_words = keywords([task["name"], task["name"], description, *task["criteria"]])
    matches = Matches(index, task_words, keywords([task["name"]]), languages(files))
    scores = matches.scores()
    if not scores:
        return []
    best = max(scores.values())
    picks = []
    for number, score in scores.items():
        document = index.documents_by_id[number]
        if score >= MIN_SCORE_SHARE * best:
            picks.append(Pick(document, score, matches.reason(number, document), tuple(matches.shared_words(number))))
    return _limit_per_owner(picks)


def _picks_by_files(task: Task, index: TextIndex) -> list[Pick]:
    """Picks documents that mention a file that the task writes according to its plan."""
    picks = []
    for path in task.get("files", [])[:MOST_PATHS]:
        numbers = index.documents_with(path) if "/" in path else set()
        if len(numbers) <= MOST_OF_OWNER:  # if many documents mention a path, that says nothing
            picks += [
                Pick(index.documents_by_id[number], FILE_SCORE, f"it speaks of {path}", tuple(words(path)))
                for number in numbers
            ]
    return picks


def _limit_per_owner(picks: list[Pick]) -> list[Pick]:
    """Limits the picks of each sink and repository; the repository's own documents have no limit."""
    counts: dict[str, int] = {}
    kept = []
    for pick in sorted(picks, key=lambda pick: (-pick.score, pick.document.path)):
        owner = f"{pick.document.kind} {pick.document.owner}"
        counts[owner] = counts.get(owner, 0) + 1
        if not pick.document.owner or counts[owner] <= MOST_OF_OWNER:
            kept.append(pick)
    return kept


def _fit_budget(budget: int, picks: list[Pick], *, considered: int) -> Choice:
    """Takes the best picks that fit the budget; of a document that is too large, its best excerpt."""
    chosen: list[Chosen] = []
    left_out: list[Chosen] = []
    left = total = budget * sizes.BYTES_PER_TOKEN
    for pick in picks:
        entry = _entry(pick, left, min(left, total // EXCERPT_DIVISOR)) if len(chosen) < MOST_PICKS else None
        if entry is None:
            left_out.append(_whole_entry(pick))
            continue
        chosen.append(entry)
        left -= entry["size"]
    return Choice(budget, chosen, left_out, considered)


def _whole_entry(pick: Pick) -> Chosen:
    document = pick.document
    entry: Chosen = {"path": document.path, "kind": document.kind, "reason": pick.reason, "size": document.size}
    return entry


def _entry(pick: Pick, max_whole: int, max_size: int) -> Chosen | None:
    """Returns the whole document if it fits, else an excerpt of at most `max_size` bytes; None if there is none."""
    entry = _whole_entry(pick)
    if entry["size"] <= max_whole:
        return entry
    if pick.document.kind == UPSTREAM:
        return None
    try:
        text = read_text(Disk(), os.path.realpath(pick.document.absolute_path))
    except (OSError, SowError):  # deleted in the meantime
        return None
    excerpt = excerpts.best_passage(text, pick.shared_words, max_size)
    if excerpt is None:
        return None
    return {**entry, "size": excerpt.size, "lines": excerpt.lines}


IN_PATHS = frozenset("/._-+@")
COMMON_NAMES = ("readme.md", "index.md")  # names that many documents have


class NamesInText:
    """The paths and decision numbers in one text."""

    __slots__ = ("numbers", "paths")

    def __init__(self, text: str) -> None:
        letters = "".join(letter if letter.isalnum() or letter in IN_PATHS else " " for letter in text)
        self.paths = {word.rstrip(".").removeprefix("./") for word in letters.split()}
        text_words = words(text)
        self.numbers = {
            int(second)
            for first, second in pairwise(text_words)
            if first == "adr" and second.isascii() and second.isdigit()
        }

    def names(self, document: Document) -> bool:
        """True if the text names the document: by its path, the end of its path, or its decision number."""
        parts = document.path.split("/")
        ends = ["/".join(parts[start:]) for start in range(len(parts))]
        if any(end in self.paths and end.lower() not in COMMON_NAMES for end in ends):
            return True
        number = parts[-1].partition("-")[0]
        return document.kind == ADR and number.isascii() and number.isdigit() and int(number) in self.numbers
