"""A reviewer's answer as Markdown: which lines are its own words, and which are quoted, code or hidden."""

from __future__ import annotations

# After one of these a line may not be seen by a reader, or not as the answer's own words.
HIDING = ("<!--", "<pre", "<code", "<blockquote", "<details", "<script", "<style", "<template", "<textarea", "<xmp")
TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Line:
    """One line without the spaces at its end, where it starts, and what holds it: a fence, a quote or nothing."""

    __slots__ = ("inside", "start", "text")

    def __init__(self, text: str, start: int, inside: str) -> None:
        self.text = text
        self.start = start
        self.inside = inside


class Fence:
    """A fenced block: its marks, the word behind them, and where its content begins and ends."""

    __slots__ = ("end", "mark", "start", "word")

    def __init__(self, mark: str, word: str, start: int) -> None:
        self.mark = mark
        self.word = word
        self.start = start
        self.end = -1


class Passage:
    """A surveyed text."""

    __slots__ = ("fences", "lines", "text")

    def __init__(self, text: str, lines: list[Line], fences: list[Fence]) -> None:
        self.text = text
        self.lines = lines
        self.fences = fences

    def block(self, at: int) -> tuple[int, int]:
        """The bounds of the JSON block around a place: a fence marked json, or lines from `{` to the closing `}`."""
        for fence in self.fences:
            if fence.start <= at < fence.end:
                return (fence.start, fence.end) if fence.word.lower() == "json" else (0, 0)
        starts = [line.start for line in self.lines if line.start <= at and not line.inside and line.text[:1] == "{"]
        return (starts[-1], self._closing(starts[-1])) if starts else (0, 0)

    def _closing(self, start: int) -> int:
        """Where the object that begins here ends, if nothing follows on that line; else its own beginning."""
        import json

        try:
            _, end = json.JSONDecoder().raw_decode(self.text, start)
        except (ValueError, RecursionError):
            return start
        rest = self.text[end:].partition("\n")[0]
        return start if rest.strip() else end

    def hides(self, at: int) -> bool:
        """Whether something before this place can hide what follows, or any character turns the text about."""
        before = self.text[:at].casefold()
        if any(tag in before for tag in HIDING):
            return True
        return any((letter < " " and letter not in "\n\t\r") or "\x7f" <= letter <= "\x9f" for letter in self.text) or (
            not TURNING.isdisjoint(self.text)
        )

    def around(self, at: int) -> tuple[str, str]:
        """The lines before and after one that could belong to its sentence; a blank line and a heading do not."""
        before = self.lines[at - 1].text if at else ""
        before = "" if before.startswith("#") else before
        after = self.lines[at + 1].text if at + 1 < len(self.lines) else ""
        return before, after


def survey(text: str) -> Passage:
    """Tell own words from fenced and quoted ones; a quote goes on until a blank line, as Markdown has it."""
    lines: list[Line] = []
    fences: list[Fence] = []
    fence: Fence | None = None
    quoted = False
    at = 0
    for raw in text.split("\n"):
        line = raw.rstrip(" \t\r")
        mark, word = _mark(line)
        if fence is not None:
            inside = "fence"
            if not word and mark.startswith(fence.mark):
                fence.end = at
                fence = None
        elif mark:
            inside = "fence"
            fence = Fence(mark, word.partition(" ")[0], at + len(raw) + 1)
            fences.append(fence)
        else:
            quoted = bool(line) and (quoted or line.lstrip(" ")[0] == ">")
            inside = "quote" if quoted else ""
        lines.append(Line(line, at, inside))
        at += len(raw) + 1
    if fence is not None:
        fence.end = len(text)
    return Passage(text, lines, fences)


def _mark(line: str) -> tuple[str, str]:
    """The marks of a fence and what stands behind them, if the line opens or closes one."""
    bare = line.lstrip(" ")
    letter = bare[:1]
    if letter not in ("`", "~") or len(line) - len(bare) > 3:
        return "", ""
    word = bare.lstrip(letter)
    mark = bare[: len(bare) - len(word)]
    return (mark, word.strip()) if len(mark) >= 3 and not (letter == "`" and "`" in word) else ("", "")
