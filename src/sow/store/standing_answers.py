"""Standing answers: what the user said once and for all, by repository; in the user's own folder, and only there."""

from __future__ import annotations

import os

from sow.domain.wording import similar
from sow.errors import InvalidFile, SowError
from sow.store import user_file, yaml_text
from sow.store.disk import Disk, read_text
from sow.store.lock import Lock
from sow.system import clock
from sow.system.environment import user_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sow.store.home import Home

FIELDS = ("repository", "question", "answer", "since")
MOST = 1000
FORM = "answers: [{repository: /path/of/the/repository, question: …, answer: …, since: …}]"


class Standing:
    """One question of one repository, and its answer."""

    __slots__ = FIELDS

    def __init__(self, *, repository: str, question: str, answer: str, since: str) -> None:
        self.repository = repository
        self.question = question
        self.answer = answer
        self.since = since


class StandingAnswers:
    """The user's file of them, seen from one repository."""

    __slots__ = ("path", "repository")

    def __init__(self, home: Home, environment: Mapping[str, str]) -> None:
        self.path = f"{user_folder(environment, 'XDG_CONFIG_HOME', '.config')}/sow/answers.yaml"
        self.repository = os.path.realpath(home.checkout.common)  # which all worktrees share

    def listed(self) -> list[Standing]:
        """Those of this repository, oldest first; their places are their numbers."""
        return [each for each in self._all() if each.repository == self.repository]

    def find(self, question: str) -> Standing | None:
        """The answer to this question, if it was given before in the same words, or nearly the same."""
        return next((each for each in reversed(self.listed()) if similar(each.question, question)), None)

    def keep(self, question: str, answer: str) -> None:
        """Let an answer stand, instead of an earlier one to the same question."""
        folder = os.path.dirname(self.path)
        user_file.make_folders(folder)
        with Lock(folder):
            others = [
                each
                for each in self._all()
                if each.repository != self.repository or not similar(each.question, question)
            ]
            if len(others) >= MOST:
                raise SowError(f"{self.path} has {MOST} answers already", "forget some of them: sow answers forget 1")
            new = Standing(repository=self.repository, question=question, answer=answer, since=clock.now())
            self._write([*others, new])

    def forget(self, number: int) -> Standing:
        """Remove the one with this number; returns it."""
        here = self.listed()
        if not 1 <= number <= len(here):
            known = f"they have the numbers 1 to {len(here)}" if here else "this repository has none"
            raise SowError(f"there is no standing answer {number}", f"{known}: see 'sow answers'")
        gone = here[number - 1]
        with Lock(os.path.dirname(self.path)):
            same = (gone.repository, gone.question)
            self._write([each for each in self._all() if (each.repository, each.question) != same])
        return gone

    def _write(self, answers: list[Standing]) -> None:
        entries = [{field: getattr(each, field) for field in FIELDS} for each in answers]
        user_file.write(self.path, yaml_text.dump({"answers": entries}))

    def _all(self) -> list[Standing]:
        try:
            text = read_text(Disk(), os.path.realpath(self.path), yaml_text.MAX_BYTES)
        except FileNotFoundError:
            return []
        data = yaml_text.load(text, self.path) if text.strip() else {}
        return [Standing(**each) for each in _entries(data, self.path)]


def _entries(data: Any, path: str) -> list[dict[str, str]]:
    """The entries of a file that people may edit."""
    entries = data.get("answers", []) if isinstance(data, dict) else None
    if not isinstance(entries, list):
        raise InvalidFile(f"{path}: no list of answers", f"its form is {FORM}")
    for number, each in enumerate(entries, 1):
        good = isinstance(each, dict) and sorted(each) == sorted(FIELDS)
        if not good or not all(isinstance(value, str) for value in each.values()):
            raise InvalidFile(f"{path}: answer {number} is not as it should be", f"its form is {FORM}")
    return entries
