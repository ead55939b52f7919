"""Task ids have three digits and gaps (010, 020, …), so that a task can be put between two others."""

from __future__ import annotations

from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

GAP = 10
WIDTH = 3
MAX_DIGITS = 9
MAX_MEMBER = 63


def is_task_id(text: str) -> bool:
    """Whether the text has the form of a task id."""
    return (
        WIDTH <= len(text) <= MAX_DIGITS
        and text.isascii()
        and text.isdigit()
        and (len(text) == WIDTH or text[0] != "0")
    )


def is_member(text: str) -> bool:
    """Whether the text can be the name of a workflow's agent: a small letter, then letters, digits, _ and -."""
    rest = text.replace("_", "").replace("-", "")
    return (
        0 < len(text) <= MAX_MEMBER
        and text.isascii()
        and rest.isalnum()
        and text == text.lower()
        and "a" <= text[0] <= "z"
    )


def task_id(text: str) -> str:
    """The id that a person meant: `10` is 010."""
    padded = text.zfill(WIDTH) if text.isascii() and text.isdigit() else text
    if not is_task_id(padded):
        raise SowError(
            f"{text!r} is not a task id", "a task id is three or more digits, such as 010; see 'sow task list'"
        )
    return padded


def next_id(taken: Iterable[str]) -> str:
    """The id for a new last task: the next multiple of ten."""
    last = max((int(each) for each in taken), default=0)
    following = str((last // GAP + 1) * GAP).zfill(WIDTH)
    if not is_task_id(following):
        raise SowError(f"no id is free behind {last}", "put the task behind another one: sow task create --after ID …")
    return following


def id_after(anchor: str, taken: Iterable[str]) -> str:
    """A free id between the anchor and the task that follows it."""
    numbers = {int(each) for each in taken}
    start = int(anchor)
    if start not in numbers:
        raise SowError(f"there is no task {anchor} to come after", "see 'sow task list' for the ids")
    limit = (start // GAP + 1) * GAP
    for number in range(start + 1, limit):
        if number not in numbers:
            return str(number).zfill(WIDTH)
    raise SowError(
        f"no id is free between {anchor} and {str(limit).zfill(WIDTH)}",
        "leave out --after, and order the tasks with --depends-on",
    )


def agent_id(role: str, iteration: int) -> str:
    """How a worker signs its log entries: implementer-3 is the third attempt."""
    return f"{role}-{iteration}"


def note_id(count: int) -> str:
    """The id of the note after `count` others of the same session."""
    return f"note_{count + 1:03d}"


def _words(name: str) -> list[str]:
    return "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in name.lower()).split()


def slug(name: str, epoch: int) -> str:
    """A worker's task_id for its completion-drive session: {slug}_{unix_epoch_timestamp}."""
    return f"{'_'.join(_words(name))[:60] or 'task'}_{epoch}"


def slug_of(name: str) -> str:
    """A name as part of a branch's name: `Add a login` is add-a-login."""
    return "-".join(_words(name))[:60].strip("-")
