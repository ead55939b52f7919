"""A command as a plan writes it: words, or a text that only a shell understands."""

from __future__ import annotations

# Outside of quotes these mean something to a shell and nothing to a program.
SHELL_SIGNS = frozenset("|&;<>()$`*?[]{}~#\n!")
# Inside double quotes these still do.
QUOTED_SIGNS = frozenset("$`")
# Letters of commands that mean nothing in any CLI's rules, whatever the signs are in which those are written.
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._-+=@%/")
BUILT_INS = frozenset({"cd", "export", "source", ".", "set", "unset", "alias", "eval", "exec", "ulimit", "if", "for"})
BUILT_INS |= {"while", "until", "case", "function", "time", "then", "do", "done", "fi", "trap", "wait", "return"}


def words(text: str) -> list[str] | None:
    """The words of a command that needs no shell; None when it needs one, or when a quote is never closed."""
    found: list[str] = []
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
                found.append("".join(word))
                word, begun = [], False
        elif letter in SHELL_SIGNS:
            return None
        else:
            word.append(letter)
            begun = True
    if quote or escaped:
        return None
    if begun:
        found.append("".join(word))
    return found if found and not _for_a_shell(found[0]) else None


def is_plain(text: str) -> bool:
    """Whether a command can be named in the rules of an agent CLI: a program that PATH finds, and plain words."""
    return PLAIN.issuperset(text) and text[:1].isalnum() and words(text) is not None


def _for_a_shell(first: str) -> bool:
    """Whether a command begins with a word of the shell's own, or with a variable for what follows."""
    name, equals, _ = first.partition("=")
    assigns = bool(equals) and name.replace("_", "").isalnum() and not name[:1].isdigit()
    return assigns or first in BUILT_INS


def wanted_exit(expected: str) -> int:
    """The exit code that `expected` asks for: `exit code 1`, `exit 2`; any other words ask for 0."""
    parts = expected.lower().replace(":", " ").split()
    for at, second in enumerate(parts[1:]):
        first = parts[at]
        if first in ("exit", "code", "status") and second.strip(".,").isdigit() and len(second) < 5:
            return int(second.strip(".,"))
    return 0


def program(text: str) -> str:
    """The program that a command starts: its first word, also of a text for a shell."""
    found = words(text)
    return found[0] if found else (text.split() or [""])[0]
