"""Splits a command of a plan into words, or recognizes that it needs a shell."""

from __future__ import annotations

# Outside of quotes these have a meaning for a shell only.
SHELL_SIGNS = frozenset("|&;<>()$`*?[]{}~#\n!")
# Inside double quotes these still have it.
QUOTED_SIGNS = frozenset("$`")
# Characters of commands that have no special meaning in the rules of any agent CLI.
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._-+=@%/")
BUILT_INS = frozenset({"cd", "export", "source", ".", "set", "unset", "alias", "eval", "exec", "ulimit", "if", "for"})
BUILT_INS |= {"while", "until", "case", "function", "time", "then", "do", "done", "fi", "trap", "wait", "return"}


def split_words(text: str) -> list[str] | None:
    """Returns the words of a command, or None if it needs a shell or has an unclosed quote."""
    parts: list[str] = []
    word: list[str] = []
    quote = ""
    begun = escaped = False
    for letter in text.strip():
        if escaped:
            word.append(letter)
            escaped = False
        elif quote:
            if letter == quote:
                quote = ""
            elif quote == '"' and letter in QUOTED_SIGNS:
                return None
            elif quote == '"' and letter == "\\":
                escaped = True
            else:
                word.append(letter)
        elif letter == "\\":
            begun = escaped = True
        elif letter in "'\"":
            quote, begun = letter, True
        elif letter in " \t":
            if begun:
                parts.append("".join(word))
                word, begun = [], False
        elif letter in SHELL_SIGNS:
            return None
        else:
            word.append(letter)
            begun = True
    if quote or escaped:
        return None
    if begun:
        parts.append("".join(word))
    return parts if parts and not _assigns(parts[0]) and parts[0] not in BUILT_INS else None


def is_plain(text: str) -> bool:
    """Returns whether a command can be named in the rules of an agent CLI: a program on PATH, and plain words."""
    return PLAIN.issuperset(text) and text[:1].isalnum() and split_words(text) is not None


def _assigns(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.replace("_", "").isalnum() and not name[:1].isdigit()


def expected_exit_code(expected: str) -> int:
    """Returns the exit code that `expected` asks for, such as `exit code 1` or `exit 2`; any other text means 0."""
    parts = expected.lower().replace(":", " ").split()
    for index, second in enumerate(parts[1:]):
        first = parts[index]
        if first in ("exit", "code", "status") and second.strip(".,").isdigit() and len(second) < 5:
            return int(second.strip(".,"))
    return 0


def program(text: str) -> str:
    """Returns the program that a command starts: its first word that assigns no variable, also for a shell command."""
    parts = split_words(text) or text.split()
    return next((part for part in parts if not _assigns(part)), "".join(parts[:1]))
