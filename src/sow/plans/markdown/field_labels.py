"""Finds the labels of a task's fields in Markdown: bold, in any case, singular or plural, with a colon."""

from __future__ import annotations

from sow.domain.text.markdown_lines import heading
from sow.plans.typo_hints import closest

LABELS = {
    "files": ("Files", "File(s)"),
    "depends_on": ("Depends on", "Dependencies", "Dependency"),
    "estimated_time": ("Estimated time", "Estimate"),
    "agent": ("Agent", "Assignee", "Assigned to", "Owner"),
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
# Fields that do not describe the task: a task with only these has no description.
METADATA_FIELDS = frozenset(
    {"files", "depends_on", "estimated_time", "agent", "status", "type", "worktree_group", "allow_empty", "protected"}
)
TEST_LABELS = frozenset({"test", "verify", "check"})  # mean test commands if nothing but commands follows them
BOLD = ("**", "__")
MAX_LABEL = 60
MAX_IN_LINE = 20
MAX_EDITS = 2
MAX_SLIPS = 500  # names that are compared with all labels
BETWEEN = " \t|,;·•/"  # characters between two labels on one line
STARTS = frozenset("*_#-+•0123456789")


def normalized(name: str) -> str:
    """Returns a label for comparison: in lower case, without plural."""
    return " ".join(word.removesuffix("(s)").removesuffix("s") for word in name.lower().replace("_", " ").split())


# Contains the usual spelling too, so that it is found at once.
FIELDS = {form(name): field for field, names in LABELS.items() for name in names for form in (normalized, str.lower)}
NAMES = {normalized(name): name for names in LABELS.values() for name in names}


class Label:
    """A label in a line: its field (empty if unknown) and the value after it."""

    __slots__ = ("field", "name", "value")

    def __init__(self, name: str, value: str) -> None:
        self.field = field_of(name)
        self.name = name
        self.value = value.strip().removesuffix("\\").rstrip()


def field_of(name: str) -> str:
    """Returns the field of a label, or ""; `Success Criteria (all of them)` is one too."""
    return (
        FIELDS.get(name.lower()) or FIELDS.get(normalized(name)) or FIELDS.get(normalized(name.partition(" (")[0]), "")
    )


def marker(bare: str) -> int:
    """Returns the length of a list marker (`- `, `* `, `+ `, `1. `, `1) `) and its check box; 0 if there is none."""
    if bare[:1] in ("-", "*", "+", "•") and bare[1:2] in (" ", "\t"):
        size = 2
    else:
        digits = len(bare) - len(bare.lstrip("0123456789"))
        size = digits + 2 if 0 < digits < 5 and bare[digits : digits + 2] in (". ", ") ") else 0
    return size + 4 if size and bare[size : size + 1] == "[" and bare[size + 2 : size + 4] == "] " else size


def box(line: str) -> int:
    """Returns the length of a list marker with a check box, such as `- [ ] `; 0 if there is no box."""
    size = marker(line)
    return size if line[:size].endswith("] ") else 0


def labels_in_line(text: str) -> list[Label]:
    """Returns the labels of a line that starts with one; a heading such as `### Test commands` counts for lists."""
    bare = text.strip()
    if bare[:1] not in STARTS:
        return []
    bare = bare[marker(bare) :].lstrip()
    if bare[:1] == "#":
        level, name = heading(bare)
        label = Label(name.rstrip(": "), "")
        return (
            [label] if level > 2 and label.field and (name.endswith(":") or label.field not in METADATA_FIELDS) else []
        )
    return _bold(bare) if bare[:2] in BOLD else []


def _bold(bare: str) -> list[Label]:
    """Returns all labels of a line; after the first, only known ones count."""
    first = bold_at(bare, 0)
    if first is None:
        return []
    line_labels = []
    name, end = first
    position = bare.find("**", end)
    for _ in range(MAX_IN_LINE):
        next_label = bold_at(bare, position) if position >= 0 else None
        if next_label is not None and field_of(next_label[0]):
            line_labels.append(Label(name, bare[end:position].rstrip(BETWEEN)))
            name, end = next_label
        position = bare.find("**", max(end, position + 2)) if position >= 0 else position
    return [*line_labels, Label(name, bare[end:])]


def bold_at(text: str, start: int) -> tuple[str, int] | None:
    """Returns the bold label that starts at this index, and the index of its value; a label has a colon."""
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


class LabelTypos:
    """Finds lines with an almost correct label: mistyped, without a colon, or not bold; looks up each name once."""

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}

    def intended_label(self, text: str, line_labels: list[Label]) -> str:
        """Returns the label that was probably meant on a line with these unknown labels, or with none."""
        if line_labels:
            return self._near(normalized(line_labels[0].name))
        bare = text.strip()
        bold = bare[marker(bare) :].lstrip() if bare[:1] in STARTS else ""
        if bold[:2] in BOLD:
            name, _, _ = bold[2 : 2 + MAX_LABEL].partition(bold[:2])
            field = field_of(name)
        else:
            name, colon, _ = bare[:MAX_LABEL].partition(":")
            field = field_of(name) if colon else ""
            field = field if field in METADATA_FIELDS else ""
        return LABELS[field][0] if field else ""

    def _near(self, name: str) -> str:
        if name not in self.seen and len(self.seen) < MAX_SLIPS:
            self.seen[name] = NAMES.get(closest(name, NAMES, MAX_EDITS), "")
        return self.seen.get(name, "")
