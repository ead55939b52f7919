"""Makes and checks ids: of tasks (010, 020, …, with gaps for later ones), agents, notes, note sessions and branches."""

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
    """Returns whether the text has the form of a task id."""
    return (
        WIDTH <= len(text) <= MAX_DIGITS
        and text.isascii()
        and text.isdigit()
        and (len(text) == WIDTH or text[0] != "0")
    )


def is_member(text: str) -> bool:
    """Returns whether the text can be the name of a workflow's agent: a lowercase letter, then a-z, 0-9, _ and -."""
    letters = text.replace("_", "").replace("-", "")
    return (
        0 < len(text) <= MAX_MEMBER
        and text.isascii()
        and letters.isalnum()
        and text == text.lower()
        and "a" <= text[0] <= "z"
    )


def task_id(text: str) -> str:
    """Returns the task id for what a person typed: `10` is 010."""
    padded = text.zfill(WIDTH) if text.isascii() and text.isdigit() else text
    if not is_task_id(padded):
        raise SowError(
            f"{text!r} is not a task id", "a task id is three or more digits, such as 010; see 'sow task list'"
        )
    return padded


def next_id(used_ids: Iterable[str]) -> str:
    """Returns the id for a new last task: the next multiple of ten."""
    last = max((int(used_id) for used_id in used_ids), default=0)
    following = str((last // GAP + 1) * GAP).zfill(WIDTH)
    if not is_task_id(following):
        raise SowError(f"no id is free behind {last}", "put the task behind another one: sow task create --after ID …")
    return following


def id_after(anchor: str, used_ids: Iterable[str]) -> str:
    """Returns a free id between the anchor and the task that follows it."""
    numbers = {int(used_id) for used_id in used_ids}
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
    """Returns how a worker signs its log entries: implementer-3 is the third iteration."""
    return f"{role}-{iteration}"


def note_id(count: int) -> str:
    """Returns the id of the next note in a session that has `count` notes."""
    return f"note_{count + 1:03d}"


def _words(name: str) -> list[str]:
    return "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in name.lower()).split()


def note_session_id(name: str, epoch: int) -> str:
    """Returns a worker's task_id for its completion-drive session: {slug}_{unix_epoch_timestamp}."""
    return f"{'_'.join(_words(name))[:60] or 'task'}_{epoch}"


def is_session_id(text: str) -> bool:
    """Returns whether a text has the form of the id of a session of notes."""
    slug, _, epoch = text.rpartition("_")
    letters = slug.replace("_", "")
    is_slug = slug.isascii() and (not letters or letters.isalnum()) and slug == slug.lower()
    return bool(slug) and is_slug and 6 <= len(epoch) <= 12 and epoch.isascii() and epoch.isdigit()


def branch_slug(name: str) -> str:
    """Returns a name as part of a branch name: `Add a login` becomes add-a-login."""
    return "-".join(_words(name))[:60].strip("-")
