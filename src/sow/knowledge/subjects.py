"""Finds the subjects that a text is about, also where two texts use different words for the same."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterator

from sow.domain.text.keywords import COMMON, words

TABLE = f"{os.path.dirname(__file__)}/subjects.txt"
EVERYDAY, PHRASE = 0.7, 1.4  # weights of a word that nearly every text uses, and of a phrase
SUFFIXES = (
    ("ied", ("y",)), ("ed", ("", "e")), ("ing", ("", "e")), ("ly", ("",)), ("iness", ("y",)), ("ness", ("",)),
    ("ment", ("",)), ("ation", ("e", "ate", "")), ("ion", ("e", "")), ("al", ("", "e")), ("able", ("", "e")),
    ("er", ("", "e")), ("or", ("", "e")), ("ity", ("", "e")), ("ful", ("",)), ("ance", ("",)), ("ence", ("",)),
    ("ship", ("",)),
)  # endings of derived words, with what the other word may have instead  # fmt: skip
LONGER = ("ed", "ing", "ation", "ion", "ment", "ness", "al")  # endings that a word of the table may have instead
Found = dict[int, dict[str, bool]]  # by the number of each subject: its terms in a text, and whether they name it


class Subjects:
    """The table of subjects."""

    def __init__(self, text: str) -> None:
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        self.everyday = {*COMMON, *(word for line in lines if line.startswith("~") for word in line[1:].split())}
        subjects = [
            [[term.split() for term in part.split(",")] for part in line.split("|")]
            for line in lines
            if not line.startswith("~")
        ]
        self.ordinary = {number for number, parts in enumerate(subjects) if len(parts) == 1}
        self.by_word: dict[str, dict[int, bool]] = {}
        self.phrases: dict[str, list[tuple[list[str], int, bool]]] = {}  # by their first words
        self._forms: dict[str, str] = {}
        entries = [
            (term, number, is_name)
            for number, parts in enumerate(subjects)
            for is_name, terms in zip((True, False), parts, strict=False)
            for term in terms
        ]
        for term, number, is_name in entries:
            if len(term) == 1:
                self.by_word.setdefault(singular(term[0]), {}).setdefault(number, is_name)
        self._beginnings = {word[:3] for word in self.by_word}  # no other word has a form in the table
        for term, number, is_name in entries:
            if len(term) > 1:
                phrase = [self.known_form(word) for word in term]
                self.phrases.setdefault(phrase[0], []).append((phrase, number, is_name))

    def known_form(self, word: str) -> str:
        """Returns the form of a word that the table has, such as `delete` for `deleted`; else its singular."""
        if word not in self._forms:
            short = singular(word)
            forms = _forms(short) if short[:3] in self._beginnings else ()
            self._forms[word] = next((form for form in forms if form in self.by_word), short)
        return self._forms[word]

    def find(self, text: str) -> Found:
        """Returns the subjects of a text. One other word may be between two words of a phrase."""
        text_words = [self.known_form(word) for word in words(text)]
        terms_by_subject: Found = {}
        for place, word in enumerate(text_words):
            for number, is_name in self.by_word.get(word, {}).items():
                terms_by_subject.setdefault(number, {})[word] = is_name
            for phrase, number, is_name in self.phrases.get(word, ()):
                if _follows(text_words, place, phrase):
                    terms_by_subject.setdefault(number, {})[" ".join(phrase)] = is_name
        return terms_by_subject

    def weight(self, term: str) -> float:
        """Returns how much a term tells about a text: a phrase more than a word with many meanings."""
        if " " in term:
            return 1.0 if COMMON.issuperset(term.split()) else PHRASE
        return self.rarity(term) / math.sqrt(max(1, len(self.by_word.get(term, ()))))

    def rarity(self, word: str) -> float:
        """Returns 1, or less for a word that nearly every text uses."""
        return EVERYDAY if word in self.everyday or word.removesuffix("s") in self.everyday else 1.0


@functools.cache
def table_text() -> str:
    """Returns the file with the table that is part of sow."""
    with open(TABLE, encoding="utf-8") as file:
        return file.read()


@functools.cache
def table() -> Subjects:
    """Returns the table that is part of sow."""
    return Subjects(table_text())


@functools.lru_cache(maxsize=64)
def find(text: str) -> Found:
    """Returns the subjects of a text; documents of one sink have the same description."""
    return table().find(text)


def singular(word: str) -> str:
    """Returns a noun without its plural ending."""
    if word.endswith("ies") and len(word) > 5:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word


def _forms(word: str) -> Iterator[str]:
    """Yields a word and words from which it may be derived, or which may be derived from it."""
    yield word
    for suffix, others in SUFFIXES:
        base = word.removesuffix(suffix)
        if len(base) >= 3 and base != word:
            if len(base) > 3 and base[-1] == base[-2]:
                yield base[:-1]
            yield from (base + other for other in others)
    if len(word) > 3:
        yield from (base + suffix for suffix in LONGER for base in (word, word.removesuffix("e")))


def _follows(text_words: list[str], place: int, phrase: list[str]) -> bool:
    for part in phrase[1:]:
        step = next((step for step in (1, 2) if text_words[place + step : place + step + 1] == [part]), 0)
        if not step:
            return False
        place += step
    return True
