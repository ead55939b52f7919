"""What sow writes into an agent's instructions: marked blocks at the end, each of which is replaced as a whole."""

from __future__ import annotations

START = "<!-- sow: the agent contract; everything between these two marks is written by sow -->"
END = "<!-- sow: end of the agent contract -->"
ASKED = "<!-- sow: what the crew asks now; everything between these two marks is written by sow -->"
ASKED_END = "<!-- sow: end of what the crew asks now -->"


def without(text: str) -> str:
    """What the architect wrote: the instructions with every such block taken out."""
    return _cut(_cut(text, START, END), ASKED, ASKED_END)


def put(text: str, contract: str) -> str:
    """The instructions with this contract at their end, and no other; putting it twice changes nothing."""
    return f"{_cut(text, START, END)}\n{START}\n\n{contract.strip()}\n\n{END}\n"


def ask(text: str, questions: str) -> str:
    """The instructions with these questions behind them, in the place of earlier ones; the contract comes after it."""
    return f"{without(text)}\n{ASKED}\n\n{questions.strip()}\n\n{ASKED_END}\n".lstrip("\n")


def _cut(text: str, start: str, end: str) -> str:
    """The text without what is between two marks; without an end, all that follows."""
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
