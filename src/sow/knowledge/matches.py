"""Which words of a task are in which documents, how much each of them tells, and what that makes of a document."""

from __future__ import annotations

import math

from sow.domain.task_words import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.knowledge.document import Document
    from sow.knowledge.text_index import TextIndex

MOST_NAMED = 4  # words in a reason
ENOUGH = 2.1  # shared words, counted in the rarest there can be: one alone is a chance
BACKGROUND = 20  # documents about other things, so that a small library about one thing is not about nothing
IN_HEAD = 1.5  # what a word in a document's name or headings counts
GENERAL = ("readme", "index", "glossary")  # pages that speak of everything
GENERAL_SHARE = 0.5


class Matches:
    """What every document shares with a task."""

    __slots__ = ("found", "head", "index", "languages", "most", "own", "title", "weights")

    def __init__(self, index: TextIndex, told: Sequence[str], title: Sequence[str], languages: Sequence[str]) -> None:
        self.index = index
        self.title = title
        self.languages = [word for word in languages if word not in told]
        self.found = _different({word: index.frequencies(word) for word in (*told, *self.languages)})
        self.head = {word: index.having(word, in_head=True) for word in self.found}
        self.own = {word: index.having(word) for word in self.found}
        self.most = _weight(1, index.count)
        self.weights = {word: _weight(len(have), index.count) for word, have in self.found.items()}

    def scores(self) -> dict[int, float]:
        """BM25 of every document that shares enough; words of the task's name count twice."""
        total: dict[int, float] = {}
        for word, have in self.found.items():
            weight = self.weights[word] * (2 if word in self.title else 1)
            for number, frequency in have.items():
                total[number] = total.get(number, 0.0) + weight * frequency
        return {number: score * self._share(number) for number, score in total.items() if self._is_enough(number)}

    def _share(self, number: int) -> float:
        stem = self.index.ids[number].stem.lower()
        return GENERAL_SHARE if stem in GENERAL else 1.0

    def _is_enough(self, number: int) -> bool:
        """Whether the match is more than a chance: several words, or all that the document is named by."""
        shared = self.of(number)
        if not any(number in self.own[word] for word in shared):
            return False  # what is said about the whole sink is true of its other documents too
        strength = sum(self.weights[word] * (IN_HEAD if number in self.head[word] else 1) for word in shared)
        return (len(shared) > 1 and strength >= ENOUGH * self.most) or self._is_named(number, shared)

    def _is_named(self, number: int, shared: Sequence[str]) -> bool:
        """Whether the task says every word of the document's name: uploads.md, and customers upload something."""
        name = [word for word in words(self.index.ids[number].stem) if not word.isdigit()]
        if not name or name[0] in GENERAL:
            return False
        return all(any(_alike(each, word) for word in shared) for each in name)

    def of(self, number: int) -> list[str]:
        """The words that a document shares with the task, those of its name and its headings first."""
        shared = [word for word, have in self.found.items() if number in have and word not in self.languages]
        return sorted(shared, key=lambda word: (number not in self.head[word], -self.weights[word]))

    def reason(self, number: int, document: Document) -> str:
        """Why a document was chosen, in words of the task only: nobody else's text gets into a prompt this way."""
        shared = self.of(number)
        spoken = {word for tag in document.tags for word in words(tag)}
        tagged = [word for word in shared if word in spoken][:MOST_NAMED]
        rest = [word for word in shared if word not in tagged][:MOST_NAMED]
        said = [f"tagged {', '.join(tagged)}"] if tagged else []
        said += [f"about {', '.join(rest)}"] if rest else []
        return "; ".join(said)


def _different(found: dict[str, dict[int, float]]) -> dict[str, dict[int, float]]:
    """The words that are somewhere; of forms of one word, which are in the same documents equally often, the first."""
    kept: dict[str, dict[int, float]] = {}
    for word, have in found.items():
        if have and not any(have == other and word[:3] == known[:3] for known, other in kept.items()):
            kept[word] = have
    return kept


def _weight(have: int, count: int) -> float:
    """How much a word tells that so many of all documents have; a few more are thought to be there without it."""
    return math.log(1 + (count + BACKGROUND - have + 0.5) / (have + 0.5))


def _alike(one: str, two: str) -> bool:
    """Whether two words are forms of one: upload and uploads."""
    short, long = sorted((one, two), key=len)
    return long.startswith(short.removesuffix("s")) and len(long) - len(short) <= 2
