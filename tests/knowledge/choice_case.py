"""One task among documents of a test, and the documents chosen for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from knowledge.labelled_set import home_at, shelve, task_of, write
from sow.domain.documents.state import Chosen
from sow.domain.task import MAY_FIT
from sow.knowledge.document import ChosenDocuments
from sow.knowledge.document_choice import choose
from sow.knowledge.library import Library
from sow.knowledge.text_index import TextIndex

FILLER = {
    "designs/bees.md": "# Bees\nHives are inspected in spring.\n",
    "designs/tides.md": "# Tides\nThe moon pulls the water twice a day.\n",
    "designs/bread.md": "# Bread\nSourdough rests overnight.\n",
    "designs/kites.md": "# Kites\nA tail keeps it steady in gusts.\n",
}


def library_of(root: Path, *, linked: tuple[str, ...] = ()) -> Library:
    library = Library(home_at(root), str(root), linked)
    library.find_documents({"phases": []}, task_of(1, {"name": "n"}))  # type: ignore[typeddict-item]
    return library


def chosen(
    root: Path, name: str, description: str = "", *, budget: int = 8000, repository: tuple[str, ...] = (), **fields: Any
) -> ChosenDocuments:
    """Returns the choice for a task with this name and text."""
    library = library_of(root)
    index = TextIndex(home_at(root), library.documents)
    return choose(task_of(1, {"name": name, **fields}), description, library.documents, index, budget, repository)


def to_read(choice: ChosenDocuments) -> list[Chosen]:
    """Returns the documents that the worker should read, without the possible ones."""
    return [item for item in choice.chosen if not item["reason"].startswith(MAY_FIT)]


def paths(choice: ChosenDocuments) -> list[str]:
    return [file["path"] for file in to_read(choice)]


def only(choice: ChosenDocuments) -> Chosen:
    (result,) = to_read(choice)
    return result


def put(root: Path, **knowledge: str) -> None:
    """Writes documents of the repository besides a few about other subjects."""
    shelve(root, {"knowledge": FILLER})
    write(root / ".sow" / "knowledge", {name.replace("__", "/") + ".md": text for name, text in knowledge.items()})
