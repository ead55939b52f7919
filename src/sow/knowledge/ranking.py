"""Scores documents by the words and subjects that they share with a task."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable, Mapping

from sow.domain.text.keywords import COMMON, keywords, stem, words
from sow.knowledge.document import Document
from sow.knowledge.subjects import table
from sow.knowledge.text_index import TextIndex

MOST_NAMED = 4  # words named in a reason
LEAST_SHARE = 0.1  # words that count less than this part of the best one are not named
BACKGROUND = 15  # documents about other things that are assumed, so that in a small library shared words still count
IN_NAME, IN_PATH = 1.5, 0.7  # factors for a word of the task's name, and for one that only its files have
IN_HEAD, OF_OWNER = 1.75, 0.3  # factors for a word in a document's title or headings, or only in its owner's words
FIELDS = (2.0, 1.5, 0.5, 0.2)  # factors for a subject in the title, the headings, the text, and the owner's words
MEANT_IN_TASK, MEANT_IN_DOCUMENT = 0.7, 0.5  # factors for a term that means a subject without naming it
MEANT_IN_BOTH = 0.75  # factor if neither the task nor the document names the subject
ORDINARY = 0.9  # factor for a subject of ordinary language
SAME_WORD = 0.3  # factor for a subject by a word that is shared anyway
COUNTED_BEFORE = 0.25  # factor for a subject by a word of the task that led to another subject
NEXT_TERM, MOST_TERMS = 0.6, 4  # factor for each further term of one subject
CODE = 0.5  # factor for subjects of source files, of which only names are known
# Evidence that a document is about the task; it is chosen at 0, and may fit at MAY_FIT. Fitted to labelled tasks with
# tools/fit_document_choice.py.
WEIGHTS, BIAS = (2.22, 3.68, 1.45), 8.21  # of the features
MAY_FIT = -5.0
WHOLE_TITLE, TITLE_IN_NAME = 1.0, 0.8  # score if the task's text, and its name, has all words of a document's title
MEANT_IN_TITLE = 0.8  # factor for a word of the title that names a subject that the task means by a phrase
GENERAL, GENERAL_FACTOR = ("readme", "index", "glossary"), 0.6  # pages that mention everything
# Words in the paths of most repositories.
PATH_WORDS = """
api app apps asset assets cmd com common component components controller core db handler handlers include init internal
java kotlin lib libs main model models module modules net org page pages pkg public resources routes scripts server
service services spec specs src static test tests util utils view views web www
"""


class Matches:
    """What each document shares with a task."""

    def __init__(self, index: TextIndex, name: str, text: str, paths: Iterable[str] = ()) -> None:
        self.index = index
        name_words, task_words = keywords([name]), keywords([name, name, text])
        usual = PATH_WORDS.split()
        path_words = keywords(path.rpartition(".")[0] for path in paths)
        factors = {word: IN_PATH for word in path_words if len(word) > 2 and word not in usual}
        factors |= {word: (IN_NAME if word in name_words else 1.0) for word in task_words}
        self.shares = _without_variants({word: index.frequencies(word) for word in factors})
        rarity = {word: _rarity(len(scores), index.count) for word, scores in self.shares.items()}
        self.weights = {word: rarity[word] * factors[word] * table().rarity(word) for word in rarity}
        self.stems = {stem(word): rarity[word] for word in sorted(rarity, key=rarity.__getitem__)}
        in_name = set(map(stem, name_words))
        self.name_stems = {stem: value for stem, value in self.stems.items() if stem in in_name}
        self.meant, self.meant_in_name = _meant(name, text), _meant(name, "")
        self.labels: dict[int, list[tuple[float, str]]] = {}  # by document: how much each word or phrase counts
        self.subjects = _task_subjects(name, text, " . ".join(factors))
        self.own_words = {table().known_form(word): word for word in (*factors, *words(text), *words(name))}

    def evidence(self) -> dict[int, float]:
        """Returns how sure it is that each document is about the task."""
        return {
            number: sum(map(operator.mul, WEIGHTS, features)) - BIAS for number, features in self.features().items()
        }

    def features(self) -> dict[int, tuple[float, float, float]]:
        """Returns for each document the root of its score, its share of the best score, and the part of its title."""
        totals = self._by_words()
        for number, score in self._by_subjects().items():
            totals[number] = totals.get(number, 0.0) + score
        titles = {number: self._title(number) for number in totals}
        for number, (in_text, in_name) in titles.items():
            totals[number] += WHOLE_TITLE * in_text + TITLE_IN_NAME * in_name
            if self.index.documents_by_id[number].stem.lower() in GENERAL:
                totals[number] *= GENERAL_FACTOR
        best = max(totals.values(), default=0.0) or 1.0
        return {number: (math.sqrt(score), score / best, titles[number][0]) for number, score in totals.items()}

    def _by_words(self) -> dict[int, float]:
        totals: dict[int, float] = {}
        for word, scores in self.shares.items():
            heads, own = self.index.documents_with(word, in_head=True), self.index.documents_with(word)
            for number, frequency in scores.items():
                factor = min(1.3, frequency) if number in own else OF_OWNER
                value = self.weights[word] * (IN_HEAD if number in heads else factor)
                self._add(totals, number, value, word)
        return totals

    def _by_subjects(self) -> dict[int, float]:
        """Returns the score of each document by subjects; a word of the task counts mostly for its best subject."""
        subjects_by_document = self.index.subjects()
        shared = {
            number: {subject: terms for subject, terms in subjects.items() if subject in self.subjects}
            for number, subjects in subjects_by_document.items()
        }
        having: dict[int, float] = {}
        for subjects in shared.values():
            for subject, terms in subjects.items():
                having[subject] = having.get(subject, 0.0) + min(1.0, max(map(_in_document, terms, terms.values())))
        totals: dict[int, float] = {}
        for number, subjects in shared.items():
            factor = CODE if self.index.documents_by_id[number].is_code else 1.0
            values = {
                subject: factor
                * _rarity(having[subject], len(subjects_by_document))
                * self._shared_subject(subject, terms)
                for subject, terms in subjects.items()
            }
            counted: set[str] = set()
            for subject in sorted(values, key=lambda subject: (-values[subject], subject)):
                by_term = self.subjects[subject]
                value = values[subject] * (1.0 if by_term.keys() - counted else COUNTED_BEFORE)
                counted |= by_term.keys()
                term = max(by_term, key=lambda term: by_term[term][0])
                self._add(totals, number, value, " ".join(self.own_words[word] for word in term.split()))
        return totals

    def _shared_subject(self, subject: int, terms: Mapping[str, tuple[int, bool]]) -> float:
        by_term = self.subjects[subject]
        value = _sum(weight for weight, _ in by_term.values()) * _sum(map(_in_document, terms, terms.values()))
        value *= ORDINARY if subject in table().ordinary else 1.0
        if not any(is_name for _, is_name in (*by_term.values(), *terms.values())):
            value *= MEANT_IN_BOTH
        return value * (SAME_WORD if by_term.keys() <= terms.keys() or terms.keys() <= by_term.keys() else 1.0)

    def _title(self, number: int) -> tuple[float, float]:
        """Returns the part of a document's title that the task's text has, and the part that its name has."""
        document = self.index.documents_by_id[number]
        titles = () if document.stem.lower() in GENERAL else (document.stem, *self.index.titles(number, document))
        in_text = max((_covered(title, self.stems, self.meant) for title in titles), default=0.0)
        in_name = max((_covered(title, self.name_stems, self.meant_in_name) for title in titles), default=0.0)
        return in_text, in_name

    def _add(self, totals: dict[int, float], number: int, value: float, label: str) -> None:
        totals[number] = totals.get(number, 0.0) + value
        self.labels.setdefault(number, []).append((value, label))

    def shared_words(self, number: int) -> list[str]:
        """Returns words and phrases of the task that led to a document, the best first."""
        labels = sorted(self.labels[number], key=lambda entry: -entry[0])
        shared: list[str] = []
        named: set[str] = set()
        for value, label in labels:
            if value > LEAST_SHARE * labels[0][0] and not named.issuperset(label.split()):
                shared.append(label)
                named.update(label.split())
        return shared

    def reason(self, number: int, document: Document) -> str:
        """Returns why a document was chosen, in words of the task only, so that no foreign text gets into a prompt."""
        shared = self.shared_words(number)
        tag_words = {word for tag in document.tags for word in words(tag)}
        tagged = [word for word in dict.fromkeys(" ".join(shared).split()) if word in tag_words][:MOST_NAMED]
        rest = [word for word in shared if word not in tagged][:MOST_NAMED]
        parts = [f"tagged {', '.join(tagged)}"] if tagged else []
        parts += [f"about {', '.join(rest)}"] if rest else []
        return "; ".join(parts)


def _task_subjects(name: str, text: str, task_words: str) -> dict[int, dict[str, tuple[float, bool]]]:
    """Returns the subjects of a task: the weight of each term, and whether it names the subject."""
    terms_by_subject: dict[int, dict[str, tuple[float, bool]]] = {}
    for part, factor in ((task_words, IN_PATH), (text, 1.0), (name, IN_NAME)):
        for subject, terms in table().find(part).items():
            for term, is_name in terms.items():
                weight = factor * (1.0 if is_name else MEANT_IN_TASK) * table().weight(term)
                terms_by_subject.setdefault(subject, {})[term] = (weight, is_name)
    return terms_by_subject


def _in_document(term: str, place: tuple[int, bool]) -> float:
    """Returns the weight of a term by its field, and whether it names the subject."""
    field, is_name = place
    return FIELDS[field] * (1.0 if is_name else MEANT_IN_DOCUMENT) * table().weight(term)


def _sum(weights: Iterable[float]) -> float:
    """Returns the sum of the best weights; each further one counts less."""
    best = sorted(weights, reverse=True)[:MOST_TERMS]
    return sum(weight * NEXT_TERM**place for place, weight in enumerate(best))


def _without_variants(scores_by_word: dict[str, dict[int, float]]) -> dict[str, dict[int, float]]:
    """Drops words that no document has, and all but the first of words with the same stem and scores."""
    kept: dict[str, dict[int, float]] = {}
    for word, scores in scores_by_word.items():
        if scores and not any(
            scores == earlier_scores and word[:3] == earlier[:3] for earlier, earlier_scores in kept.items()
        ):
            kept[word] = scores
    return kept


def _meant(name: str, text: str) -> set[int]:
    """Returns the subjects that a task means by a phrase, such as "page by page"; a single word can mean many."""
    subjects = table().find(f"{name}\n{text}")
    return {subject for subject, terms in subjects.items() if any(" " in term for term in terms)} - table().ordinary


def _covered(title: str, stems: Mapping[str, float], meant: Collection[int]) -> float:
    """Returns the part of a title's words that the task has or means; frequent words count less."""
    title_words = [word for word in words(title) if not word.isdigit() and word not in COMMON]
    values = {table().known_form(word): stems.get(stem(word), 0.0) * table().rarity(word) for word in title_words}
    for subject, terms in table().find(title).items():
        for word in (word for term, is_name in terms.items() if is_name for word in term.split()):
            if word in values and subject in meant:
                values[word] = max(values[word], MEANT_IN_TITLE)
    return sum(values.values()) / len(values) if values else 0.0


def _rarity(having: float, count: int) -> float:
    """Returns the weight of a word that `having` of `count` documents contain; 1 if only one contains it."""
    return _surprise(having, count) / _surprise(1, count)


def _surprise(having: float, count: int) -> float:
    return math.log(1 + max(count + BACKGROUND - having + 0.5, 0.5) / (having + 0.5))
