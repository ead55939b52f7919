"""Feedback on a task: numbered Markdown files on its desk, which the next iteration reads."""

from __future__ import annotations

from sow.errors import SowError
from sow.store.disk import MAX_READ, list_folder, make_folders
from sow.system.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.desk import Desk


def numbers(desk: Desk) -> list[int]:
    """The numbers of the feedback files, in order."""
    names = list_folder(desk.feedback_folder)
    return sorted(
        int(name[:-3]) for name in names if name.endswith(".md") and name[:-3].isascii() and name[:-3].isdigit()
    )


def path(desk: Desk, number: int) -> str:
    return f"{desk.feedback_folder}/{number:03d}.md"


def add(desk: Desk, text: str, *, by: str, iteration: int, now: str) -> str:
    """Write the next feedback file, and say where it is; the same words again, after a crash, are the same file."""
    words = harmless(desk.home.struck(text)).strip()
    number = max(numbers(desk), default=0)
    if not number or not _is_said(desk, number, by=harmless(by), iteration=iteration, text=words):
        number += 1
    head = f"# Feedback {number:03d}\n\n- by: {harmless(by)}\n- at: {now}\n- on iteration: {iteration}\n"
    page = f"{head}\n{words}\n"
    if len(page.encode()) > MAX_READ:
        raise SowError("the feedback is too long to be read back", "put most of it into a file, and name that file")
    make_folders(desk.home.disk, desk.folder, ("feedback",))
    desk.home.replace(path(desk, number), page)
    return desk.home.relative(path(desk, number))


def _is_said(desk: Desk, number: int, *, by: str, iteration: int, text: str) -> bool:
    """Whether a feedback file has just these words of the same speaker on the same iteration."""
    try:
        facts, said = _split(desk.home.read(path(desk, number)))
    except SowError:  # not one of ours, then
        return False
    return said == text and facts.get("by") == by and facts.get("on iteration") == str(iteration)


def read(desk: Desk) -> list[dict[str, str]]:
    """Every feedback with its number, head and text."""
    found = []
    for number in numbers(desk):
        facts, text = _split(desk.home.read(path(desk, number)))
        found.append(
            {
                "number": f"{number:03d}",
                "by": facts.get("by", ""),
                "at": facts.get("at", ""),
                "iteration": facts.get("on iteration", ""),
                "text": text,
            }
        )
    return found


def is_about(desk: Desk, text: str, iteration: int) -> bool:
    """Whether this very text was said about an iteration."""
    wanted = (str(iteration), harmless(desk.home.struck(text)).strip())
    return any((each["iteration"], each["text"]) == wanted for each in read(desk))


def _split(text: str) -> tuple[dict[str, str], str]:
    """The facts in the head and the text below; a file that a person wrote by hand is all text."""
    head, _, body = text.partition("\n\n")
    facts_block, _, rest = body.partition("\n\n")
    lines = facts_block.splitlines()
    if not head.startswith("# Feedback ") or not all(line.startswith("- ") and ": " in line for line in lines):
        return {}, text.strip()
    facts = dict(line[2:].split(": ", 1) for line in lines)
    return facts, rest.strip()
