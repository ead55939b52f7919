"""What a person or an agent may type: one line, a text, a path, a role; all else is refused with the reason."""

from __future__ import annotations

from sow.errors import SowError

MAX_TEXT = 1 << 20


def line(value: str, what: str, limit: int = 200) -> str:
    """One line: a name, a reason, a purpose."""
    stripped = value.strip()
    _decodable(stripped, what)
    if not stripped:
        raise SowError(f"{what} is empty", "give it a few words")
    if len(stripped) > limit:
        raise SowError(f"{what} is {len(stripped)} characters long", f"use at most {limit}")
    if any(letter < " " or "\x7f" <= letter <= "\x9f" or letter in "\u2028\u2029" for letter in stripped):
        raise SowError(f"{what} has a line break or a control character", "write it on one line, in plain characters")
    return stripped


def one_line(value: str) -> str:
    """Any text on one line: a line break or another character that cannot be seen becomes its escape, such as \\n."""
    if value.isprintable():
        return value
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in value)


def text(value: str, what: str, limit: int = MAX_TEXT) -> str:
    """A longer text; control characters are made harmless where it is written."""
    _decodable(value, what)
    if not value.strip():
        raise SowError(f"{what} is empty", "give it a few words")
    if len(value) > limit:
        raise SowError(f"{what} is {len(value)} characters long", f"use at most {limit}, and put the rest into a file")
    return value


def role(value: str, what: str = "agent") -> str:
    """The name of an agent's role."""
    letters = value.replace("-", "").replace("_", "")
    if not (
        letters.isascii() and letters.isalnum() and value == value.lower() and value[0].isalnum() and len(value) <= 64
    ):
        raise SowError(f"{what} {value!r} is not a name of a role", "use a-z, 0-9, - and _, such as: implementer")
    return value


def path(value: str, what: str) -> str:
    """A path below the repository's root."""
    checked = line(value, what, 1000)
    parts = [part for part in checked.split("/") if part not in ("", ".")] or ["."]
    # The plain path is looked at, not the typed one: ./-x would come out as a flag.
    if checked[0] == "/" or parts[0][0] in "~-" or parts[0][1:2] == ":" or ".." in parts or "\\" in checked:
        raise SowError(
            f"{what} {value!r} leaves the repository", "give a path below the repository's root, such as docs/api.md"
        )
    return "/".join(parts)


def is_model(value: str) -> bool:
    """Whether this can be the name of a model, which reaches a command line: one plain word that is no flag."""
    return value.isprintable() and len(value.split()) == 1 and value == value.strip() and not value.startswith("-")


def word(value: str, what: str) -> str:
    """One word, such as modified_file."""
    letters = value
    for mark in "_.:-":
        letters = letters.replace(mark, "")
    if not (letters.isascii() and letters.isalnum() and value[0].isalnum() and len(value) <= 64):
        raise SowError(f"{what} {value!r} is not one word", "use letters, digits and _ . : -, such as: modified_file")
    return value


def _decodable(value: str, what: str) -> None:
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise SowError(f"{what} is not UTF-8", "send the text as UTF-8")
    if "\0" in value:
        raise SowError(f"{what} has a NUL byte", "send plain text")
