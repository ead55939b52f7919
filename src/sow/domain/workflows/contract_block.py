"""Writes marked blocks at the end of an agent's instructions, and replaces each block as a whole."""

from __future__ import annotations

START = "<!-- sow: the agent contract; everything between these two marks is written by sow -->"
END = "<!-- sow: end of the agent contract -->"
ASKED = "<!-- sow: what the crew asks now; everything between these two marks is written by sow -->"
ASKED_END = "<!-- sow: end of what the crew asks now -->"


def remove_blocks(text: str) -> str:
    """Returns the instructions without the blocks of sow."""
    return _cut(_cut(text, START, END), ASKED, ASKED_END)


def set_contract(text: str, contract: str) -> str:
    """Returns the instructions with this contract at their end, in place of an earlier one."""
    return f"{_cut(text, START, END)}\n{START}\n\n{contract.strip()}\n\n{END}\n"


def set_questions(text: str, questions: str) -> str:
    """Returns the instructions with these questions at their end, in place of earlier ones, and without a contract."""
    return f"{remove_blocks(text)}\n{ASKED}\n\n{questions.strip()}\n\n{ASKED_END}\n".lstrip("\n")


def _cut(text: str, start: str, end: str) -> str:
    """Returns the text without the lines between two marks, or without all after the start if there is no end mark."""
    kept: list[str] = []
    inside = False
    for line in text.replace("\r\n", "\n").split("\n"):
        mark = line.strip()
        if mark == start:
            inside = True
        elif mark == end:
            inside = False
        elif not inside:
            kept.append(line)
    return "\n".join(kept).rstrip() + "\n"
