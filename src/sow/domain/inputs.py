"""Checks text that a person or an agent typed: a line, a longer text, a path, a role or a word."""

from __future__ import annotations

from sow.errors import SowError

MAX_TEXT = 1 << 20
LOWER = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")
WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-")
BREAKS = "\u2028\u2029"


def is_line(text: str) -> bool:
    """Returns whether a text is one line without control characters."""
    return text.isprintable() or not any(
        letter < " " or "\x7f" <= letter <= "\x9f" or letter in BREAKS for letter in text
    )


def _is_lower_name(text: str, limit: int) -> bool:
    return 0 < len(text) <= limit and LOWER.issuperset(text) and text[0] not in "_-"


def is_phase_name(text: str) -> bool:
    """Returns whether a text can be the name of a phase, which is also the name of a folder."""
    return _is_lower_name(text, 40)


def is_role_name(text: str) -> bool:
    """Returns whether a text can be the name of a role."""
    return _is_lower_name(text, 64)


def is_word(text: str) -> bool:
    """Returns whether a text is one word, for an action or a result."""
    return 0 < len(text) <= 64 and WORD.issuperset(text) and text[0] not in "_.:-"


def is_tokens(text: str) -> bool:
    """Returns whether a text is a number of tokens, such as 12000 or 8k."""
    digits = text.removesuffix("k")
    return digits.isascii() and digits.isdigit() and digits[0] != "0" and len(digits) <= 7


def checked_line(value: str, label: str, limit: int = 200) -> str:
    """Returns one line, such as a name, a reason or a purpose, or raises SowError."""
    stripped = value.strip()
    _decodable(stripped, label)
    if not stripped:
        raise SowError(f"{label} is empty", "give it a few words")
    if len(stripped) > limit:
        raise SowError(f"{label} is {len(stripped)} characters long", f"use at most {limit}")
    if not is_line(stripped):
        raise SowError(f"{label} has a line break or a control character", "write it on one line, in plain characters")
    return stripped


def one_line(value: str) -> str:
    """Escapes line breaks and other characters that are not printable."""
    if value.isprintable():
        return value
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in value
    )


def printable_line(value: str) -> str:
    """Returns a text on one line. Line breaks and other characters that are not printable become spaces."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in value).split())


def plain_path(value: str) -> str:
    """Returns a path without `.`, doubled slashes and a slash at either end."""
    return "/".join(part for part in value.split("/") if part not in ("", "."))


def checked_text(value: str, label: str, limit: int = MAX_TEXT) -> str:
    """Returns a longer text, or raises SowError. Control characters are escaped when it is written."""
    _decodable(value, label)
    if not value.strip():
        raise SowError(f"{label} is empty", "give it a few words")
    if len(value) > limit:
        raise SowError(f"{label} is {len(value)} characters long", f"use at most {limit}, and put the rest into a file")
    return value


def role_name(value: str, label: str = "agent") -> str:
    """Returns the name of an agent's role, or raises SowError."""
    if not is_role_name(value):
        raise SowError(f"{label} {value!r} is not a name of a role", "use a-z, 0-9, - and _, such as: implementer")
    return value


def path(value: str, label: str) -> str:
    """Returns a path below the repository's root, or raises SowError."""
    checked = checked_line(value, label, 1000)
    parts = [part for part in checked.split("/") if part not in ("", ".")] or ["."]
    # The normalized path is checked, because ./-x would become a flag.
    if checked[0] == "/" or parts[0][0] in "~-" or parts[0][1:2] == ":" or ".." in parts or "\\" in checked:
        raise SowError(
            f"{label} {value!r} leaves the repository", "give a path below the repository's root, such as docs/api.md"
        )
    return "/".join(parts)


def is_model(value: str) -> bool:
    """Returns whether this can be a model's name on a command line: one word that is not a flag."""
    return value.isprintable() and len(value.split()) == 1 and value == value.strip() and not value.startswith("-")


def word(value: str, label: str) -> str:
    """Returns one word, such as modified_file, or raises SowError."""
    if not is_word(value):
        raise SowError(f"{label} {value!r} is not one word", "use letters, digits and _ . : -, such as: modified_file")
    return value


def _decodable(value: str, label: str) -> None:
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise SowError(f"{label} is not UTF-8", "send the text as UTF-8")
    if "\0" in value:
        raise SowError(f"{label} has a NUL byte", "send plain text")
