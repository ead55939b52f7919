"""The labels of a task's fields in Markdown: bold, in any case, singular or plural, the colon inside or outside."""

from __future__ import annotations

from sow.plans.near import closest
from sow.plans.page import heading

LABELS = {
    "files": ("Files", "File(s)"),
    "depends_on": ("Depends on", "Dependencies", "Dependency"),
    "estimated_time": ("Estimated time", "Estimate"),
    "agent": ("Agent",),
    "status": ("Status",),
    "type": ("Type",),
    "worktree_group": ("Worktree group", "WorktreeGroup"),
    "allow_empty": ("Allow empty", "Allow no changes"),
    "protected": ("Protected", "Protected paths"),
    "success_criteria": ("Success criteria", "Success criterion"),
    "integration_criteria": ("Integration criteria", "Integration criterion"),
    "structured_criteria": ("Structured criteria", "Structured criterion"),
    "test_commands": ("Test commands",),
    "key_points": ("Key points",),
    "runtime_metadata": ("Runtime metadata",),
    "dependency_checks": ("Dependency checks",),
    "documentation_targets": ("Documentation targets",),
    "prompt_blocks": ("Prompt blocks",),
    "commit_message": ("Commit message",),
    "files_to_commit": ("Files to commit",),
}
# Facts about a task that are no description of it: a task that has only these has no text.
FACTS = frozenset(
    {"files", "depends_on", "estimated_time", "agent", "status", "type", "worktree_group", "allow_empty", "protected"}
)
BOLD = ("**", "__")
MAX_LABEL = 60
MAX_IN_LINE = 20
MAX_EDITS = 2
MAX_SLIPS = 500  # names that are compared with all labels
BETWEEN = " \t|,;·•/"  # what stands between two labels of one line
STARTS = frozenset("*_#-+•0123456789")


def normal(name: str) -> str:
    """A label as it is compared: in lower case, without any plural."""
    return " ".join(word.removesuffix("(s)").removesuffix("s") for word in name.lower().replace("_", " ").split())


# The usual spelling is there as it is, so that it is found at once.
FIELDS = {form(name): field for field, names in LABELS.items() for name in names for form in (normal, str.lower)}
NAMES = {normal(name): name for names in LABELS.values() for name in names}


class Label:
    """A label in a line: its field, or none where nobody knows it, and what follows it."""

    __slots__ = ("field", "name", "value")

    def __init__(self, name: str, value: str) -> None:
        self.field = field_of(name)
        self.name = name
        self.value = value.strip().removesuffix("\\").rstrip()


def field_of(name: str) -> str:
    """The field that a label stands for; `Success Criteria (all of them)` is one too."""
    return FIELDS.get(name.lower()) or FIELDS.get(normal(name)) or FIELDS.get(normal(name.partition(" (")[0]), "")


def marker(bare: str) -> int:
    """How long the mark of a list entry is: `- `, `* `, `+ `, `1. `, `1) `, with a box behind it; 0 is no mark."""
    if bare[:1] in ("-", "*", "+", "•") and bare[1:2] in (" ", "\t"):
        size = 2
    else:
        digits = len(bare) - len(bare.lstrip("0123456789"))
        size = digits + 2 if 0 < digits < 5 and bare[digits : digits + 2] in (". ", ") ") else 0
    return size + 4 if size and bare[size : size + 1] == "[" and bare[size + 2 : size + 4] == "] " else size


def in_line(text: str) -> list[Label]:
    """The labels of a line that begins with one; a heading `### Test commands` counts, too, for what is a list."""
    bare = text.strip()
    if bare[:1] not in STARTS:
        return []
    bare = bare[marker(bare) :].lstrip()
    if bare[:1] == "#":
        level, name = heading(bare)
        label = Label(name.rstrip(": "), "")
        return [label] if level > 2 and label.field and (name.endswith(":") or label.field not in FACTS) else []
    return _bold(bare) if bare[:2] in BOLD else []


def _bold(bare: str) -> list[Label]:
    """One label after the other; what follows the first is searched for known ones only."""
    first = bold_at(bare, 0)
    if first is None:
        return []
    found = []
    name, end = first
    here = bare.find("**", end)
    for _ in range(MAX_IN_LINE):
        following = bold_at(bare, here) if here >= 0 else None
        if following is not None and field_of(following[0]):
            found.append(Label(name, bare[end:here].rstrip(BETWEEN)))
            name, end = following
        here = bare.find("**", max(end, here + 2)) if here >= 0 else here
    return [*found, Label(name, bare[end:])]


def bold_at(text: str, start: int) -> tuple[str, int] | None:
    """The bold label that begins at this place, and where its value begins; a label has a colon."""
    mark = text[start : start + 2]
    close = text.find(mark, start + 2, start + 2 + MAX_LABEL) if mark in BOLD else -1
    if close < 0:
        return None
    name, end = text[start + 2 : close].strip(), close + 2
    if name.endswith(":"):
        return name.rstrip(" :"), end + text.startswith(":", end)
    rest = text[end : end + MAX_LABEL]
    bare = rest.lstrip()
    if bare.startswith("("):
        bare = bare.partition(")")[2].lstrip()
    return (name, end + len(rest) - len(bare) + 1) if bare.startswith(":") else None


class Slips:
    """Lines that nearly have a label: mistyped, without its colon, or not bold. Each name is looked up once."""

    __slots__ = ("seen",)

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}

    def meant(self, text: str, found: list[Label]) -> str:
        """The label that was probably meant in a line with these unknown labels, or with none."""
        if found:
            return self._near(normal(found[0].name))
        bare = text.strip()
        bold = bare[marker(bare) :].lstrip() if bare[:1] in STARTS else ""
        if bold[:2] in BOLD:
            name, _, _ = bold[2 : 2 + MAX_LABEL].partition(bold[:2])
            field = field_of(name)
        else:
            name, colon, _ = bare[:MAX_LABEL].partition(":")
            field = field_of(name) if colon else ""
            field = field if field in FACTS else ""
        return LABELS[field][0] if field else ""

    def _near(self, name: str) -> str:
        if name not in self.seen and len(self.seen) < MAX_SLIPS:
            self.seen[name] = NAMES.get(closest(name, NAMES, MAX_EDITS), "")
        return self.seen.get(name, "")
