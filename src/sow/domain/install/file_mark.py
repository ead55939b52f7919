"""Writes and reads the mark in an installed file: its version, and a digest that shows whether somebody changed it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

VERSION = "sow-version"
DIGEST = "sow-digest"
END = "<!-- sow: end -->"
MARK_CHARACTERS = ' \t\r\n"#<!->,'  # characters around a mark in one of the formats
FRONTMATTER, PAGE, HASHES, JSON = "frontmatter", "page", "hashes", "json"
LINES = {
    FRONTMATTER: "{key}: {value}\n",
    PAGE: "<!-- {key}: {value} -->\n",
    HASHES: "# {key}: {value}\n",
    JSON: '  "{key}": "{value}",\n',
}


@dataclass(frozen=True)
class Mark:
    """The version in a file's mark, and whether the file is unchanged."""

    version: str
    intact: bool


def add_mark(text: str, version: str, style: str) -> str:
    """Returns the text with its mark: in the frontmatter, in JSON after the first bracket, else at the start or end."""
    position = {FRONTMATTER: text.find("\n---\n", 3) + 1, PAGE: len(text), HASHES: 0, JSON: 2}[style]
    line = LINES[style]
    head, tail = text[:position] + line.format(key=VERSION, value=version), text[position:]
    return head + line.format(key=DIGEST, value=digest(head + tail)) + tail


def read(text: str) -> Mark | None:
    """Returns the mark of a text, or None if it is missing or incomplete."""
    lines = text.replace("\r\n", "\n").split("\n")
    for number in range(1, len(lines)):
        version, stored = _value(lines[number - 1], VERSION), _value(lines[number], DIGEST)
        if version and stored:
            unmarked = "\n".join(lines[:number] + lines[number + 1 :])
            return Mark(version=version, intact=digest(unmarked) == stored)
    return None


def digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _value(line: str, key: str) -> str:
    """Returns the value of a line `key: value` in any of the formats, or an empty text."""
    name, colon, value = line.partition(":")
    return value.strip(MARK_CHARACTERS) if colon and name.strip(MARK_CHARACTERS) == key else ""


def block(text: str, version: str) -> str:
    """Returns sow's block for a user's page: a mark, the text, and an end line."""
    body = f"{text.strip()}\n"
    head = LINES[PAGE]
    return head.format(key=VERSION, value=version) + head.format(key=DIGEST, value=digest(body)) + body + END + "\n"


def split_page(page: str) -> tuple[str, str, str]:
    """Splits a page into the text before sow's block, the block, and the text after it."""
    lines = page.splitlines(keepends=True)
    for start in range(len(lines) - 1):
        if _value(lines[start], VERSION) and _value(lines[start + 1], DIGEST):
            for end in range(start + 2, len(lines)):
                if lines[end].strip() == END:
                    return "".join(lines[:start]), "".join(lines[start : end + 1]), "".join(lines[end + 1 :])
    return page, "", ""


def replace_block(page: str, ours: str) -> str:
    """Returns a page with this block in place of the old one, or at its end. An empty block removes the old one."""
    before, old, after = split_page(page)
    if old:
        return before + ours + after if ours else _joined(before.rstrip("\n"), after.lstrip("\n"))
    return _joined(before.rstrip("\n"), ours) if ours else page


def _joined(before: str, after: str) -> str:
    return f"{before}\n\n{after}" if before and after else f"{before}\n" if before else after


def block_is_intact(text: str) -> bool:
    """Returns whether the text of sow's block is unchanged."""
    lines = text.replace("\r\n", "\n").splitlines(keepends=True)
    return digest("".join(lines[2:-1])) == _value(lines[1], DIGEST)
