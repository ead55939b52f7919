"""The lines of a Markdown text, each told apart: plain, in a code fence, or in a comment."""

from __future__ import annotations

PLAIN, CODE, FENCE, COMMENT = range(4)  # a FENCE line begins or ends what is CODE
# By the first letter of what opens them: the lines within, and those that open and close.
WITHIN = {"`": CODE, "~": CODE, "<": COMMENT}
AROUND = {"`": FENCE, "~": FENCE, "<": COMMENT}
OPENERS = ("```", "~~~")
COMMENT_START, COMMENT_END = "<!--", "-->"
DEEPEST_HEADING = 3  # spaces; with more of them Markdown has no heading


class Page:
    """All lines, their kinds, and the number of the first; `unclosed` is where a fence or comment never ends."""

    __slots__ = ("first", "kinds", "texts", "unclosed")

    def __init__(self, text: str, first: int) -> None:
        self.first = first
        self.texts = text.split("\n")
        self.kinds = bytearray(len(self.texts))
        self.unclosed = self._tell_apart()

    def _tell_apart(self) -> int:
        """Mark the lines that are not plain; returns the line of an opener that has no end, or 0."""
        opener = ""
        opened = 0
        for index, text in enumerate(self.texts):
            bare = text.lstrip()
            if opener and not _closes(bare, opener):
                self.kinds[index] = WITHIN[opener[0]]
            elif opener:
                self.kinds[index] = AROUND[opener[0]]
                opener = ""
            elif bare[:1] in WITHIN and (opener := _opener(bare)):
                self.kinds[index] = AROUND[opener[0]]
                opened = index
        return self.number(opened) if opener else 0

    def number(self, index: int) -> int:
        """The line number of the line with this index."""
        return self.first + index


def _opener(bare: str) -> str:
    """The fence or comment that a line begins; code in one line is none, and neither is a comment in one line."""
    if bare.startswith(COMMENT_START):
        return "" if COMMENT_END in bare else COMMENT_START
    if not bare.startswith(OPENERS):
        return ""
    rest = bare.lstrip(bare[0])
    return "" if bare[0] == "`" and "`" in rest else bare[: len(bare) - len(rest)]


def _closes(bare: str, opener: str) -> bool:
    if opener == COMMENT_START:
        return COMMENT_END in bare
    return bare.startswith(opener) and not bare.strip(opener[0] + " \t")


def heading(text: str) -> tuple[int, str]:
    """The level and the words of a heading; level 0 is no heading."""
    bare = text.lstrip(" ")
    if bare[:1] != "#" or len(text) - len(bare) > DEEPEST_HEADING:
        return 0, ""
    words = bare.lstrip("#")
    level = len(bare) - len(words)
    if level > 6 or words[:1] not in (" ", "\t", ""):
        return 0, ""
    name = words.strip()
    closing = name.rstrip("#")
    return level, (closing.rstrip() if closing[-1:] in (" ", "\t", "") else name)
