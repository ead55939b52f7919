"""Extracts the words that tell what a task is about, without words that every task has."""

from __future__ import annotations

from collections.abc import Iterable

# Words that do not tell what a text is about: frequent words of English and of tasks.
STOP_WORDS = """
a about above across add added adr adrs after again all allow already also always an and another any anything are as
at away back be because become been before begin behind being below best better between both build but by call called
can cannot case change changed changes check code come could create created current default do does done down during
each easy either else empty end ensure even ever every everybody everything example existing few file files first fix
follow following for from full further get give given go good handle has have having help here how however if
implement implementation implemented in include including index inside instead into introduce is it its itself js just
keep kept know large last later least less let lib like line list little long look made main make many may maybe md
means might mode more most move much must name need needed needs never new next no nobody none nor not nothing now
number of off often on once one only onto open or other our out over own part parts pass people person persons place
please point possible project properly provide put py quite rather read ready really refactor related remove replace
required result return right run same say see set several shall should show shown side simple since single small so
some somebody something src still stop such sure take task tasks than that the their them then there these they thing
things this those through time to together too true ts two under unless until up update updated us use used user users
uses using value values very via want wants was way we well were what whatever when where whether which while who
whole why will with within without work working works would write written yes yet you your zero
"""
COMMON = frozenset(STOP_WORDS.split())
MOST = 80


def words(text: str) -> list[str]:
    """Returns the words of a text in lowercase. Names such as parsePlan or parse_plan also count as their parts."""
    letters = "".join(letter if letter.isalnum() else " " for letter in text)
    result = []
    for word in letters.split():
        parts = _camel_case_parts(word)
        result += [word.lower()] if len(parts) == 1 else [word.lower(), *(part.lower() for part in parts)]
    return result


def _camel_case_parts(word: str) -> list[str]:
    """Splits `parsePlan` into parse and Plan. A word in one case is one part."""
    starts = [0]
    for index in range(1, len(word)):
        if word[index].isupper() and word[index - 1].islower():
            starts.append(index)
    return [word[start:end] for start, end in zip(starts, [*starts[1:], len(word)], strict=True)]


def keywords(texts: Iterable[str]) -> list[str]:
    """Returns the words that distinguish documents, the most frequent first."""
    counts: dict[str, int] = {}
    for text in texts:
        for word in words(text):
            if len(word) > 1 and not word.isdigit() and COMMON.isdisjoint((word, word.removesuffix("s"))):
                counts[word] = counts.get(word, 0) + 1
    ordered = sorted(counts, key=lambda word: -counts[word])  # stable: words with equal counts keep their order
    return ordered[:MOST]


SUFFIXES = (
    "ations", "ation", "ates", "ate", "ings", "ing", "ions", "ion", "ments", "ment", "iers", "ier", "ers", "er", "ies",
    "ied", "ed", "es", "al", "s", "y", "e",
)  # fmt: skip


def stem(word: str) -> str:
    """Returns the beginning that forms of one word share: `uploads`, `uploading` and `upload` have the same stem."""
    suffix = next((end for end in SUFFIXES if word.endswith(end) and len(word) - len(end) >= 3), "")
    short = word.removesuffix(suffix)
    return short[:-1] if len(short) > 3 and short[-1] == short[-2] else short
