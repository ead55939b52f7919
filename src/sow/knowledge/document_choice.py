"""Chooses the few documents that fit one task, each with its reason, within a budget of tokens."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise

from sow.domain.documents.state import Chosen, ProjectState, Task
from sow.domain.task import MAY_FIT, user_references
from sow.domain.text import units as sizes
from sow.domain.text.keywords import keywords, words
from sow.errors import SowError
from sow.knowledge import excerpts
from sow.knowledge.document import ADR, UPSTREAM, ChosenDocuments, Document, RankedDocument
from sow.knowledge.language_guides import guides, languages, repository_languages
from sow.knowledge.library import Library
from sow.knowledge.ranking import MAY_FIT as MAY_FIT_EVIDENCE
from sow.knowledge.ranking import Matches
from sow.knowledge.text_index import TextIndex
from sow.store.files.disk import Disk, read_text
from sow.store.knowledge.index import link_targets
from sow.store.projects.task_folder import TaskFolder

MOST_CHOSEN = 12
MOST_MAY_FIT = 5  # documents that are named besides, for the worker to judge by their names
MOST_OF_OWNER = 3  # documents of one sink or repository, so that a large one does not fill the list
CERTAIN_SCORE, NAMED_SCORE, FILE_SCORE = 3e6, 2e6, 1e6  # scores of certain documents; higher than every score by words
FITS_SCORE = 1.0  # added to the evidence of a document about the subject
GUIDE_SCORE = 0.0  # a guide to the language comes after documents about the subject; below are those that may fit
MOST_PATHS = 50
EXCERPT_DIVISOR = 4  # an excerpt of a large document takes at most 1/PARTS of the budget


def choose_for_task(
    task_folder: TaskFolder,
    project: ProjectState,
    task: Task,
    *,
    folder: str,
    budget: int,
    environment: Mapping[str, str],
) -> ChosenDocuments:
    """Chooses documents for a task that is worked on in this folder."""
    library = Library(task_folder.home, folder, link_targets(environment))
    library.find_documents(project, task)
    given_paths = user_references(task)
    documents = [document for document in library.documents if document.path not in given_paths]
    try:
        description = task_folder.home.read(task_folder.description_path)
    except FileNotFoundError:
        description = ""
    index, written_in = _index(task_folder, documents), repository_languages(folder)
    choice = choose(task, description, documents, index, budget, written_in)
    choice.remarks = library.remarks
    return choice


def _index(folder: TaskFolder, documents: list[Document]) -> TextIndex | None:
    """Opens the index of the documents' words; None if no document needs a search."""
    if all(document.kind == UPSTREAM for document in documents):
        return None
    from sow.knowledge.text_index import TextIndex  # imported here because most calls need no SQLite

    return TextIndex(folder.home, documents)


def choose(
    task: Task,
    description: str,
    documents: Sequence[Document],
    index: TextIndex | None,
    budget: int,
    repository: Sequence[str] = (),
) -> ChosenDocuments:
    """Returns the documents that the worker of this task should read; `repository` names its languages."""
    ranked = choose_certain(task, description, documents, index, repository)
    if index is not None:
        try:
            ranked += _ranked_by_words(task, description, index)
            ranked = [entry for entry in ranked if entry.document.path not in index.unreadable]
        finally:
            index.close()
    best: dict[str, RankedDocument] = {}
    for entry in sorted(ranked, key=lambda entry: (-entry.score, entry.document.path)):
        best.setdefault(entry.document.path, entry)
    return _fit_budget(budget, list(best.values()), considered=len(documents))


def choose_certain(
    task: Task, description: str, documents: Sequence[Document], index: TextIndex | None, repository: Sequence[str] = ()
) -> list[RankedDocument]:
    """Returns the documents that are chosen for other reasons than shared words and subjects."""
    ranked = _required(task, description, documents)
    if index is not None:
        ranked += [*_ranked_by_files(task, index), *_language_guides(task, description, index, repository)]
    return ranked


def _required(task: Task, description: str, documents: Sequence[Document]) -> list[RankedDocument]:
    """Returns outputs of tasks that this one builds on, and documents that its text names."""
    text = "\n".join((task["name"], description, *task["criteria"]))
    named, task_words = NamesInText(text), tuple(keywords([text]))
    ranked = []
    for document in documents:
        if document.certain_reason:
            ranked.append(RankedDocument(document, CERTAIN_SCORE, document.certain_reason))
        elif named.names(document):
            ranked.append(RankedDocument(document, NAMED_SCORE, "the task names it", task_words))
    return ranked


def _ranked_by_words(task: Task, description: str, index: TextIndex) -> list[RankedDocument]:
    """Ranks documents that share words or subjects with the task: those that fit, and those that may fit."""
    text = "\n".join((description, *task["criteria"]))
    matches = Matches(index, task["name"], text, task.get("files", ())[:MOST_PATHS])
    ranked = []
    for number, evidence in matches.evidence().items():
        if evidence < MAY_FIT_EVIDENCE:
            continue
        document, fits = index.documents_by_id[number], evidence >= 0
        reason = f"{'' if fits else MAY_FIT}{matches.reason(number, document)}"
        shared = tuple(words(" ".join(matches.shared_words(number))))
        ranked.append(RankedDocument(document, evidence + (FITS_SCORE if fits else 0), reason, shared))
    return _limit_per_owner(ranked)


def _ranked_by_files(task: Task, index: TextIndex) -> list[RankedDocument]:
    """Returns documents that mention a file that the task writes according to its plan."""
    ranked = []
    for path in task.get("files", [])[:MOST_PATHS]:
        numbers = index.documents_with(path) if "/" in path else set()
        if len(numbers) <= MOST_OF_OWNER:  # if many documents mention a path, that says nothing
            ranked += [
                RankedDocument(index.documents_by_id[number], FILE_SCORE, f"it speaks of {path}", tuple(words(path)))
                for number in numbers
            ]
    return ranked


def _language_guides(task: Task, description: str, index: TextIndex, repository: Sequence[str]) -> list[RankedDocument]:
    """Returns guides to the languages of the task's files; without files, of the repository."""
    text = "\n".join((task["name"], description, *task["criteria"]))
    wanted = languages([*task.get("files", ()), *NamesInText(text).paths]) or repository
    task_words = tuple(keywords([text]))
    return [
        RankedDocument(document, GUIDE_SCORE, f"a guide to {language}, in which the task is written", task_words)
        for language, documents in (guides(index.headings(), wanted).items() if wanted else ())
        for document in documents
    ]


def _limit_per_owner(ranked: list[RankedDocument]) -> list[RankedDocument]:
    """Limits the documents of each sink and repository; the repository's own documents have no limit."""
    counts: dict[str, int] = {}
    kept = []
    for entry in sorted(ranked, key=lambda entry: (-entry.score, entry.document.path)):
        owner = f"{entry.document.kind} {entry.document.owner}"
        counts[owner] = counts.get(owner, 0) + 1
        if not entry.document.owner or counts[owner] <= MOST_OF_OWNER:
            kept.append(entry)
    return kept


def _fit_budget(budget: int, ranked: list[RankedDocument], *, considered: int) -> ChosenDocuments:
    """Takes the best documents that fit the budget; of a document that is too large, its best excerpt.

    Documents that only may fit take no room: the worker reads their names, and opens few of them.
    """
    chosen: list[Chosen] = []
    left_out: list[Chosen] = []
    left = total = budget * sizes.BYTES_PER_TOKEN
    for candidate in ranked:
        if candidate.score < GUIDE_SCORE:
            continue
        entry = _entry(candidate, left, min(left, total // EXCERPT_DIVISOR)) if len(chosen) < MOST_CHOSEN else None
        if entry is None:
            left_out.append(_whole_entry(candidate))
            continue
        chosen.append(entry)
        left -= entry["size"]
    may_fit = [_whole_entry(candidate) for candidate in ranked if candidate.score < GUIDE_SCORE][:MOST_MAY_FIT]
    return ChosenDocuments(budget=budget, chosen=[*chosen, *may_fit], left_out=left_out, considered=considered)


def _whole_entry(ranked: RankedDocument) -> Chosen:
    document = ranked.document
    return {"path": document.path, "kind": document.kind, "reason": ranked.reason, "size": document.size}


def _entry(ranked: RankedDocument, max_whole: int, max_size: int) -> Chosen | None:
    """Returns the whole document if it fits, else an excerpt of at most `max_size` bytes; None if there is none."""
    entry = _whole_entry(ranked)
    if entry["size"] <= max_whole:
        return entry
    if ranked.document.kind == UPSTREAM:
        return None
    try:
        text = read_text(Disk(), os.path.realpath(ranked.document.absolute_path))
    except (OSError, SowError):  # deleted in the meantime
        return None
    excerpt = excerpts.best_passage(text, ranked.shared_words, max_size)
    if excerpt is None:
        return None
    return {**entry, "size": excerpt.size, "lines": excerpt.lines}


IN_PATHS = frozenset("/._-+@")
COMMON_NAMES = ("readme.md", "index.md")  # names that many documents have


class NamesInText:
    """The paths and decision numbers in one text."""

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
        """Returns whether the text names the document: by its path, the end of its path, or its decision number."""
        parts = document.path.split("/")
        ends = ["/".join(parts[start:]) for start in range(len(parts))]
        if any(end in self.paths and end.lower() not in COMMON_NAMES for end in ends):
            return True
        number = parts[-1].partition("-")[0]
        return document.kind == ADR and number.isascii() and number.isdigit() and int(number) in self.numbers
