"""Labelled sets: a library on disk, tasks, and the documents that are chosen for each of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from sow.domain.task import MAY_FIT
from sow.knowledge.document_choice import choose
from sow.knowledge.library import Library
from sow.knowledge.text_index import TextIndex
from sow.store.files.checkout_home import Home
from sow.store.formats import VERSION
from sow.system.checkout import Checkout

SETS = Path(__file__).parent / "labelled_sets"
HELD_OUT = (
    "newsroom",
    "taxoffice",
    "arcade",
    "theatre",
    "insurer",
    "grid",
    "dairy",
    "observatory",
)  # the weights were not fitted to them
SOURCE = "https://git.example.org/shop.git"


class Outcome(NamedTuple):
    """The choice for one task, and the wanted choice."""

    name: str
    chosen: set[str]
    wanted: set[str]
    may_fit: set[str]


def shelve(root: Path, library: dict[str, Any], hints: dict[str, str] | None = None) -> None:
    """Writes a library below the .sow folder of a repository, as `sow sinks install` and `sow repos add` would.

    The hints say when each document is needed: those of sinks are in the index, others in the document itself.
    """
    sow, hints = root / ".sow", hints or {}
    for key, source in (("sinks", {"url": SOURCE, "path": "", "ref": ""}), ("repos", {"url": SOURCE, "ref": ""})):
        entries = []
        for entry in library.get(key, []):
            write(sow / key / entry["name"], entry["files"])
            folder = f"{key}/{entry['name']}/"
            about = [
                {"path": path.removeprefix(folder), "about": hints[path]} for path in hints if path.startswith(folder)
            ]
            entry = {**entry, **({"hints": about} if about else {})}
            values = {name: value for name, value in entry.items() if name != "files"}
            entries.append({**values, "source": source, **({"mode": "clone"} if key == "repos" else {})})
        if entries:
            write(sow / key, {"index.json": json.dumps({"schema_version": VERSION, key: entries})})
    documents = library.get("knowledge", {})
    write(
        sow / "knowledge", {name: _with_hint(text, hints.get(f"knowledge/{name}")) for name, text in documents.items()}
    )


def _with_hint(text: str, hint: str | None) -> str:
    return f"---\n{yaml.safe_dump({'when_to_use': hint})}---\n{text}" if hint else text


def load(name: str) -> tuple[dict[str, Any], dict[str, str], list[dict[str, Any]]]:
    """Returns the library of a set, its hints if there are any, and its tasks."""
    library, hints, tasks = (SETS / f"{name}_{part}.yaml" for part in ("library", "hints", "tasks"))
    known_hints = yaml.safe_load(hints.read_text()) if hints.is_file() else {}
    return yaml.safe_load(library.read_text()), known_hints, yaml.safe_load(tasks.read_text())


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def home_at(root: Path) -> Home:
    """Returns a folder as a checkout; git needs only the folder."""
    (root / ".git").mkdir(exist_ok=True)
    return Home(Checkout(root=str(root), git=f"{root}/.git", common=f"{root}/.git"))


def task_of(number: int, given: dict[str, Any]) -> Any:
    """Returns a task with the fields that the choice reads."""
    return {"id": f"{number:02d}0", "name": given["name"], "criteria": [], "references": [], "depends_on": [], **given}


def outcomes(root: Path, name: str, *, with_hints: bool = False, budget: int = 8000) -> list[Outcome]:
    """Returns the choice for every task of the set of this name."""
    written, hints, tasks = load(name)
    shelve(root, written, hints if with_hints else {})
    result = []
    for number, given in enumerate(tasks, 1):
        task = task_of(number, given)
        library = Library(home_at(root), str(root))
        library.find_documents({}, task)  # type: ignore[typeddict-item]
        assert library.remarks == []
        index = TextIndex(home_at(root), library.documents)
        choice = choose(task, given["description"], library.documents, index, budget)
        reasons = {file["path"].removeprefix(".sow/"): file["reason"] for file in choice.chosen}
        may_fit = {path for path, reason in reasons.items() if reason.startswith(MAY_FIT)}
        result.append(Outcome(given["name"], reasons.keys() - may_fit, set(given["wanted"]), may_fit))
    return result


def precision(results: list[Outcome]) -> float:
    """Returns the share of chosen documents that are wanted."""
    return sum(len(result.chosen & result.wanted) for result in results) / max(
        1, sum(len(result.chosen) for result in results)
    )


def recall(results: list[Outcome]) -> float:
    """Returns the share of wanted documents that are chosen."""
    return sum(len(result.chosen & result.wanted) for result in results) / sum(len(result.wanted) for result in results)


def within_reach(results: list[Outcome]) -> float:
    """Returns the share of wanted documents that are chosen or named as possible."""
    return sum(len((result.chosen | result.may_fit) & result.wanted) for result in results) / sum(
        len(result.wanted) for result in results
    )
