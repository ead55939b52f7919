"""Scores documents by the words that they share with a task."""

from __future__ import annotations

import math

from sow.domain.text.keywords import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.knowledge.document import Document
    from sow.knowledge.text_index import TextIndex

MOST_NAMED = 4  # words named in a reason
MIN_STRENGTH = 2.1  # shared words, counted in the rarest possible; a single shared word can be chance
BACKGROUND = 20  # documents about other things that are assumed, so that in a small library shared words still count
IN_HEAD = 1.5  # factor for a word in a document's name or headings
GENERAL = ("readme", "index", "glossary")  # stems of pages that mention everything
GENERAL_SHARE = 0.5


class Matches:
    """The words that each document shares with a task."""

    __slots__ = (
        "head_by_word", "index", "languages", "max_weight", "own_by_word", "scores_by_word", "title", "weights",
    )  # fmt: skip

    def __init__(
        self, index: TextIndex, task_words: Sequence[str], title: Sequence[str], languages: Sequence[str]
    ) -> None:
        self.index = index
        self.title = title
        self.languages = [word for word in languages if word not in task_words]
        self.scores_by_word = _without_variants(
            {word: index.frequencies(word) for word in (*task_words, *self.languages)}
        )
        self.head_by_word = {word: index.documents_with(word, in_head=True) for word in self.scores_by_word}
        self.own_by_word = {word: index.documents_with(word) for word in self.scores_by_word}
        self.max_weight = _weight(1, index.count)
        self.weights = {word: _weight(len(scores), index.count) for word, scores in self.scores_by_word.items()}

    def scores(self) -> dict[int, float]:
        """Returns the BM25 score of every document that shares enough words; words of the task's name count twice."""
        total: dict[int, float] = {}
        for word, scores in self.scores_by_word.items():
            weight = self.weights[word] * (2 if word in self.title else 1)
            for number, frequency in scores.items():
                total[number] = total.get(number, 0.0) + weight * frequency
        return {number: score * self._share(number) for number, score in total.items() if self._is_enough(number)}

    def _share(self, number: int) -> float:
        return GENERAL_SHARE if self.index.documents_by_id[number].stem.lower() in GENERAL else 1.0

    def _is_enough(self, number: int) -> bool:
        """True if the match is more than chance: several words, or all words of the document's name."""
        shared = self.shared_words(number)
        if not any(number in self.own_by_word[word] for word in shared):
            return False  # the words are about the whole sink, so they say nothing about this document
        strength = sum(self.weights[word] * (IN_HEAD if number in self.head_by_word[word] else 1) for word in shared)
        return (len(shared) > 1 and strength >= MIN_STRENGTH * self.max_weight) or self._is_named(number, shared)

    def _is_named(self, number: int, shared: Sequence[str]) -> bool:
        """True if the task has every word of the document's name, such as uploads.md and "customers upload"."""
        name = [word for word in words(self.index.documents_by_id[number].stem) if not word.isdigit()]
        if not name or name[0] in GENERAL:
            return False
        return all(any(_is_same_word(part, word) for word in shared) for part in name)

    def shared_words(self, number: int) -> list[str]:
        """Returns the words that a document shares with the task, first those in its name and headings."""
        shared = [
            word for word, scores in self.scores_by_word.items() if number in scores and word not in self.languages
        ]
        return sorted(shared, key=lambda word: (number not in self.head_by_word[word], -self.weights[word]))

    def reason(self, number: int, document: Document) -> str:
        """Returns why a document was chosen, in words of the task only, so that no foreign text gets into a prompt."""
        shared = self.shared_words(number)
        tag_words = {word for tag in document.tags for word in words(tag)}
        tagged = [word for word in shared if word in tag_words][:MOST_NAMED]
        rest = [word for word in shared if word not in tagged][:MOST_NAMED]
        parts = [f"tagged {', '.join(tagged)}"] if tagged else []
        parts += [f"about {', '.join(rest)}"] if rest else []
        return "; ".join(parts)


def _without_variants(scores_by_word: dict[str, dict[int, float]]) -> dict[str, dict[int, float]]:
    """Drops words that no document has, and all but the first of words with the same stem and scores."""
    kept: dict[str, dict[int, float]] = {}
    for word, scores in scores_by_word.items():
        if scores and not any(
            scores == earlier_scores and word[:3] == earlier[:3] for earlier, earlier_scores in kept.items()
        ):
            kept[word] = scores
    return kept


def _weight(having: int, count: int) -> float:
    """Returns the weight of a word that `having` of `count` documents contain."""
    return math.log(1 + (count + BACKGROUND - having + 0.5) / (having + 0.5))


def _is_same_word(first: str, second: str) -> bool:
    """True if two words are forms of one word, such as upload and uploads."""
    short, long = sorted((first, second), key=len)
    return long.startswith(short.removesuffix("s")) and len(long) - len(short) <= 2
