"""Stores saved answers, which reply to all questions like them, per repository in the user's own folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sow.domain.text.similar_text import similar
from sow.errors import InvalidFile, SowError
from sow.store.files import user_file
from sow.store.files.checkout_home import Home
from sow.store.files.disk import Disk, Lock, read_text
from sow.store.formats import yaml_text
from sow.system import clock
from sow.system.environment import user_folder

FIELDS = ("repository", "question", "answer", "since")
MOST = 1000
FORM = "answers: [{repository: /path/of/the/repository, question: …, answer: …, since: …}]"


@dataclass(frozen=True)
class SavedAnswer:
    """One question of one repository, and its saved answer."""

    repository: str
    question: str
    answer: str
    since: str


class SavedAnswers:
    """The user's file of saved answers, for one repository."""

    def __init__(self, home: Home, environment: Mapping[str, str]) -> None:
        self.path = f"{user_folder(environment, 'XDG_CONFIG_HOME', '.config')}/sow/answers.yaml"
        self.repository = os.path.realpath(home.checkout.common)  # shared by all worktrees

    def all_answers(self) -> list[SavedAnswer]:
        """Returns the saved answers of this repository, oldest first; a position is a number."""
        return [saved for saved in self._all() if saved.repository == self.repository]

    def find(self, question: str) -> SavedAnswer | None:
        """Returns the saved answer to this question, if it was asked before in the same or nearly the same words."""
        return next((saved for saved in reversed(self.all_answers()) if similar(saved.question, question)), None)

    def keep(self, question: str, answer: str) -> None:
        """Saves an answer; replaces an earlier one to the same question."""
        folder = os.path.dirname(self.path)
        user_file.make_folders(folder)
        with Lock(folder):
            remaining = [
                saved
                for saved in self._all()
                if saved.repository != self.repository or not similar(saved.question, question)
            ]
            if len(remaining) >= MOST:
                raise SowError(f"{self.path} has {MOST} answers already", "forget some of them: sow answers forget 1")
            new = SavedAnswer(repository=self.repository, question=question, answer=answer, since=clock.now())
            self._write([*remaining, new])

    def forget(self, number: int) -> SavedAnswer:
        """Deletes the saved answer with this number; returns it."""
        listed = self.all_answers()
        if not 1 <= number <= len(listed):
            numbers = f"they have the numbers 1 to {len(listed)}" if listed else "this repository has none"
            raise SowError(f"there is no saved answer {number}", f"{numbers}: see 'sow answers'")
        forgotten = listed[number - 1]
        with Lock(os.path.dirname(self.path)):
            key = (forgotten.repository, forgotten.question)
            self._write([saved for saved in self._all() if (saved.repository, saved.question) != key])
        return forgotten

    def _write(self, answers: list[SavedAnswer]) -> None:
        entries = [{field: getattr(saved, field) for field in FIELDS} for saved in answers]
        user_file.write(self.path, yaml_text.dump({"answers": entries}))

    def _all(self) -> list[SavedAnswer]:
        try:
            text = read_text(Disk(), os.path.realpath(self.path), yaml_text.MAX_BYTES)
        except FileNotFoundError:
            return []
        data = yaml_text.load(text, self.path) if text.strip() else {}
        return [SavedAnswer(**entry) for entry in _entries(data, self.path)]


def _entries(data: Any, path: str) -> list[dict[str, str]]:
    """Checks and returns the entries of a file that people may edit."""
    entries = data.get("answers", []) if isinstance(data, dict) else None
    if not isinstance(entries, list):
        raise InvalidFile(f"{path}: no list of answers", f"its form is {FORM}")
    for number, entry in enumerate(entries, 1):
        has_fields = isinstance(entry, dict) and sorted(entry) == sorted(FIELDS)
        if not has_fields or not all(isinstance(value, str) for value in entry.values()):
            raise InvalidFile(f"{path}: answer {number} is not as it should be", f"its form is {FORM}")
    return entries
