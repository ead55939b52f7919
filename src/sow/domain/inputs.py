"""Checks what a person or an agent typed (texts, paths, patterns, names and ids), and makes ids."""

from __future__ import annotations

from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_PATTERN = 1000
LONGEST_BRANCH = 200
NEVER_IN_BRANCH = frozenset(" ~^:?*[\\")


def folders_above(path: str) -> list[str]:
    """Returns every folder above a path, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def pattern_problem(pattern: str) -> str:
    """Returns why a text is not a pattern of protected paths, or '' if it is one."""
    if not pattern.strip() or len(pattern) > LONGEST_PATTERN or not pattern.isprintable():
        return "is empty, too long or not printable"
    if pattern.startswith(("/", "!", "~")) or "\\" in pattern:
        return "is no path below the repository's root"
    parts = pattern.rstrip("/").split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "has an empty part, '.' or '..'"
    if any("**" in part and part != "**" for part in parts):
        return "has '**' beside other letters"
    if any(not _closed(part) for part in parts):
        return "has a bracket that is never closed"
    return ""


def _closed(part: str) -> bool:
    start = part.find("[")
    while start >= 0:
        end = part.find("]", start + 2)
        if end < 0:
            return False
        start = part.find("[", end)
    return True


def is_branch_name(text: str) -> bool:
    """Returns whether git accepts a text as the name of a branch and as nothing else."""
    if not 0 < len(text) <= LONGEST_BRANCH or not text.isprintable() or NEVER_IN_BRANCH.intersection(text):
        return False
    if text.startswith("-") or text.endswith(".") or ".." in text or "@{" in text or text in ("@", "HEAD"):
        return False
    return all(part and not part.startswith(".") and not part.endswith(".lock") for part in text.split("/"))


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


def checked_path(value: str, label: str) -> str:
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


def checked_word(value: str, label: str) -> str:
    """Returns one word, such as modified_file, or raises SowError."""
    if not is_word(value):
        raise SowError(f"{label} {value!r} is not one word", "use letters, digits and _ . : -, such as: modified_file")
    return value


def _decodable(value: str, label: str) -> None:
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise SowError(f"{label} is not UTF-8", "send the text as UTF-8")
    if "\0" in value:
        raise SowError(f"{label} has a NUL byte", "send plain text")
