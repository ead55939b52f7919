"""Reads the fields in the Markdown body of a task: labels, and what follows them; the text itself stays complete."""

from __future__ import annotations

from collections.abc import Callable

from sow.domain.plans.plan import Criterion, Plan, PlanTask, kind_of
from sow.domain.text.markdown_lines import COMMENT, FENCE, PLAIN, MarkdownPage, heading
from sow.plans import fields
from sow.plans.values import WAITS_FOR, closest, dependencies, letters_of, looks_like_dependency, normalized_id

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


NONE = ("none", "empty", "no", "nothing", "not", "n/a")
INDENT = 2  # a line this much deeper than an entry belongs to it


class Item:
    """One entry: its text and line, the lines indented below it (code also in `blocks`), and whether it is code."""

    __slots__ = ("blocks", "code", "details", "line", "text")

    def __init__(self, text: str, line: int, *, code: bool = False) -> None:
        self.text = text
        self.line = line
        self.code = code
        self.details: list[str] = []
        self.blocks: list[str] = []

    @property
    def full_text(self) -> str:
        return "\n".join([self.text, *self.details])


def read_below(page: MarkdownPage, index: int, end: int) -> tuple[int, list[Item]]:
    """Returns the index of the first line after the entries, and the entries that start at a line."""
    start = index
    while start < end and _is_skipped(page, start):
        start += 1
    if start == end or _says_none(page.texts[start]):
        return index, []
    if page.kinds[start] == FENCE:
        return _fenced(page, start, end)
    if _is_entry(page.texts[start]):
        return _entries(page, start, end)
    if start == index and is_paragraph(page, start):
        return _paragraph(page, start, end)
    return index, []


def _is_skipped(page: MarkdownPage, index: int) -> bool:
    """Returns whether a line is empty, a comment, or a remark such as `(from the root)`."""
    bare = page.texts[index].strip()
    remark = bare[:1] == "(" and bare[-1:] == ")" and not _says_none(bare)
    return page.kinds[index] == COMMENT or not bare or remark


def _says_none(text: str) -> bool:
    """Returns whether a line such as `(none needed)` says that there is no list."""
    bare = text.strip()
    return bare[:1] == "(" and bare[1:].partition(" ")[0].strip(")").lower() in NONE


def begins_field(bare: str) -> bool:
    """Returns whether a line starts a field of its own."""
    return any(label.field for label in labels_in_line(bare))


def _is_entry(text: str) -> bool:
    bare = text.strip()
    return bool(marker(bare)) and not begins_field(bare)


def is_paragraph(page: MarkdownPage, index: int) -> bool:
    """Returns whether a line is plain text."""
    text = page.texts[index]
    bare = text.strip()
    if page.kinds[index] != PLAIN or not bare or bare.startswith(BOLD) or set(bare) <= set("-*_"):
        return False
    return not heading(text)[0] and not marker(bare)


def _fenced(page: MarkdownPage, index: int, end: int) -> tuple[int, list[Item]]:
    """Reads every line of one fence or of several in a row."""
    items = []
    while index < end and (page.kinds[index] != PLAIN or not page.texts[index].strip()):
        if page.kinds[index] not in (PLAIN, FENCE, COMMENT):
            items.append(Item(page.texts[index], page.number(index), code=True))
        index += 1
    return index, items


def _paragraph(page: MarkdownPage, index: int, end: int) -> tuple[int, list[Item]]:
    items = []
    while index < end and is_paragraph(page, index):
        items.append(Item(page.texts[index].strip(), page.number(index)))
        index += 1
    return index, items


def _entries(page: MarkdownPage, index: int, end: int) -> tuple[int, list[Item]]:
    """Reads entries of one depth, up to a label or a line that is neither indented nor an entry."""
    depth = _width(page.texts[index])
    items: list[Item] = []
    while index < end:
        text = page.texts[index]
        bare = text.strip()
        width = _width(text)
        if page.kinds[index] == FENCE:
            if width < depth + INDENT:
                break
            index = _block(page, index, end, items[-1])
        elif bare and page.kinds[index] == PLAIN:
            is_entry = _is_entry(text)
            if width < depth or (width < depth + INDENT and not is_entry) or begins_field(bare):
                break
            content = bare[marker(bare) :].strip()
            if width < depth + INDENT:
                items.append(Item(content, page.number(index)))
            else:
                items[-1].details.append(content)
        index += 1
    return index, items


def _block(page: MarkdownPage, index: int, end: int, item: Item) -> int:
    """Reads the fence that is indented below an entry; returns the index of its last line."""
    lines = []
    index += 1
    while index < end and page.kinds[index] != FENCE:
        lines.append(page.texts[index].strip())
        index += 1
    item.details.append("\n".join(lines))
    item.blocks += lines
    return index


def _width(text: str) -> int:
    """Returns the indentation of a line; a tab goes to the next multiple of four."""
    expanded = text.expandtabs(4) if "\t" in text else text
    return len(expanded) - len(expanded.lstrip())


VERIFICATION = {
    "command": "command",
    "verification command": "command",
    "verification": "command",
    "expected": "expected",
    "description": "description",
}
# Programs that start a command without backticks.
PROGRAMS = (
    "bash", "bats", "bazel", "bun", "bundle", "cargo", "cmake", "composer", "ctest", "deno", "docker", "dotnet",
    "eslint", "go", "gradle", "hatch", "jest", "just", "make", "mix", "mocha", "mvn", "mypy", "node", "nox", "npm",
    "npx", "phpunit", "pnpm", "poetry", "pytest", "python", "python3", "rake", "rspec", "ruff", "sbt", "sh", "sow",
    "swift", "tox", "tsc", "uv", "vitest", "yarn", "zig",
)  # fmt: skip
SENTENCES = ("make sure", "go through", "go to", "just ")  # starts of sentences that begin like a command
JOINS = frozenset({"and", "&"})  # words between commands in backticks
WAITS_FOR_TASK = ("depends on", "depend on", "blocked by", "requires", "needs", "waits for", "wait for", "after")


def read(
    plan: Plan, task: PlanTask, page: MarkdownPage, start: int, end: int, slips: LabelTypos, *, described: bool = False
) -> None:
    """Reads the lines from start to end; with `described` the task needs no text."""
    task.text = "\n".join(page.texts[start:end]).strip("\n")
    index = start
    while index < end:
        text = page.texts[index]
        line_labels = labels_in_line(text) if text and not page.kinds[index] else []
        means_tests = bool(line_labels) and normalized(line_labels[0].name) in TEST_LABELS
        checks = _check_items(page, index + 1, end, line_labels[0]) if means_tests else []
        no_command = next((item for item in checks if not _is_command(item)), None)
        if checks and no_command is None:
            line_labels[0].field = "test_commands"
        if any(label.field for label in line_labels):
            described = described or any(label.field not in METADATA_FIELDS for label in line_labels)
            if line_labels[0].value and not described:
                task.last_field_line = page.number(index)
            index = _fields(plan, task, page, index, end, line_labels)
        else:
            is_label = page.kinds[index] == PLAIN and (":" in text or "**" in text)
            tasks, is_clear = _near_dependencies(text, line_labels) if is_label else ("", False)
            if is_clear:
                fields.add_dependencies(plan, task, tasks, page.number(index))
            elif is_label:
                intended = slips.intended_label(text, line_labels) or ("Depends on" if tasks else "")
                if no_command:
                    _warn_of_lost_check(plan, task, no_command, page.number(index), len(checks))
                else:
                    intended = "Test commands" if means_tests else intended
                    _warn_of_slip(plan, task, text, page.number(index), intended)
            described = described or (not is_clear and _says_something(text))
            index += 1
    lines = (
        text for position, text in enumerate(page.texts[start:end], start) if page.number(position) != task.status_line
    )
    task.brief = "\n".join(lines).strip("\n")
    task.text_has_fields = True
    _warn_of_sentences(plan, task, page, start, end)
    if not described:
        message = f"task {task.number} has no description"
        plan.error(task.file, task.line, message, "say below its heading what is to be done")


def _says_something(text: str) -> bool:
    bare = text.strip()
    return bool(bare) and set(bare) not in ({"-"}, {"*"}, {"_"})


def _near_dependencies(text: str, line_labels: list[Label]) -> tuple[str, bool]:
    """Returns the value of a line such as `**Blocked by**: Task 1`, and whether it means tasks and nothing else."""
    bare = text.strip()
    bare = bare[marker(bare) :].lstrip()
    name, _, value = bare.partition(":")
    if line_labels:
        name, value = line_labels[0].name, line_labels[0].value
    value = value.strip("*_ \t")
    if len(name) > MAX_LABEL or not looks_like_dependency(name) or not any(map(str.isdigit, value)):
        return "", False
    tasks, unreadable = dependencies(value, 0)
    word = letters_of(name)
    is_clear = word in WAITS_FOR and (word.startswith("depend") or bare[:1] in ("*", "_"))
    if tasks and not unreadable:
        return value, is_clear
    means_tasks = word.startswith(("blocked", "depend", "wait")) or "task" in value.lower()
    return (value if means_tasks else ""), False


def _warn_of_slip(plan: Plan, task: PlanTask, text: str, line: int, intended: str) -> None:
    if intended:
        kind = kind_of(field_of(intended))
        message = f"task {task.number}: {text.strip()!r:.60} is read as text"
        plan.warn(task.file, line, message, f"if it is the field, write: **{intended}**: …", kind=kind)


def _warn_of_sentences(plan: Plan, task: PlanTask, page: MarkdownPage, start: int, end: int) -> None:
    """Warns about a sentence such as `Depends on task 1.` if no field names that task."""
    numbers = {task.number, *(reference.task for reference in task.dependency_references)}
    for index in range(start, end):
        before, word, after = page.texts[index].lower().partition(" task")
        digits = after.removeprefix("s").lstrip(" #-")
        number = digits[: len(digits) - len(digits.lstrip("0123456789"))]
        is_sentence = word and page.kinds[index] == PLAIN and before.endswith(WAITS_FOR_TASK)
        if is_sentence and number and normalized_id(number) not in numbers:
            _warn_of_slip(plan, task, page.texts[index], page.number(index), "Depends on")


def _check_items(page: MarkdownPage, index: int, end: int, label: Label) -> list[Item]:
    """Returns the entries of a label such as `**Verify**`: the list below it, or its value."""
    items = [] if label.value and not _list_follows(page, index, end, label) else read_below(page, index, end)[1]
    if label.value and not (items and label.value.endswith(":")):
        items.append(Item(label.value, 0))
    return items


def _is_command(item: Item) -> bool:
    """Returns whether an entry is code, has nothing but commands in backticks, or starts with a known program."""
    text = item.text
    if item.code or item.blocks or JOINS.issuperset(_outside_backticks(text)):
        return True
    return not text.lower().startswith(SENTENCES) and all(
        command.startswith("./") or command.partition(" ")[0] in PROGRAMS for command in _commands(text)
    )


def _warn_of_lost_check(plan: Plan, task: PlanTask, item: Item, line: int, count: int) -> None:
    lost = "this check" if count == 1 else "these checks"
    message = f"task {task.number}: {item.text.strip()!r:.60} is not recognized as a command, so {lost} will not run"
    plan.warn(task.file, item.line or line, message, "if it is a command, put it in backticks", kind="field")


def _fields(plan: Plan, task: PlanTask, page: MarkdownPage, index: int, end: int, line_labels: list[Label]) -> int:
    """Sets the fields of one line and of a list below it; returns the index of the next line."""
    line = page.number(index)
    last = line_labels[-1]
    index += 1
    items: list[Item] = []
    if last.field in LISTS and (not last.value or _list_follows(page, index, end, last)):
        index, items = read_below(page, index, end)
    elif not last.value and index < end and is_paragraph(page, index):
        message = f"task {task.number}: there is nothing behind {last.name!r:.60}; the next line is read as text"
        plan.warn(task.file, line, message, "write the value behind the label", kind=kind_of(last.field))
    for label in line_labels:
        _set(plan, task, label, items if label is last else [], line)
    return index


def _list_follows(page: MarkdownPage, index: int, end: int, label: Label) -> bool:
    """Returns whether the next line is an entry of the field; after `**Depends on**: 1` it is a step of the work."""
    if label.field in METADATA_FIELDS or index == end or page.kinds[index] != PLAIN:
        return False
    return bool(marker(page.texts[index].strip()))


def _set(plan: Plan, task: PlanTask, label: Label, items: list[Item], line: int) -> None:
    if label.field in fields.SETTERS:
        fields.set_fact(plan, task, label.field, label.value, line)
    elif label.field in LISTS:
        introduces_list = bool(items) and label.value.endswith(":")
        value = [Item(label.value, line)] if label.value and not introduces_list else []
        task.lines.setdefault(label.field, line)
        LISTS[label.field](plan, task, value + items)


def _files(plan: Plan, task: PlanTask, items: list[Item]) -> None:
    for item in items:
        fields.add_files(plan, task, item.text, item.line)


def _protected(plan: Plan, task: PlanTask, items: list[Item]) -> None:
    for item in items:
        task.protected += fields.patterns(plan, f"task {task.number}: ", task.file, item.text, item.line)


def _depends_on(plan: Plan, task: PlanTask, items: list[Item]) -> None:
    for item in items:
        fields.add_dependencies(plan, task, item.text, item.line)


def _success_criteria(plan: Plan, task: PlanTask, items: list[Item]) -> None:
    task.success_criteria += [_criterion(item) for item in items if item.text.strip()]


def _integration_criteria(plan: Plan, task: PlanTask, items: list[Item]) -> None:
    task.integration_criteria += [_criterion(item) for item in items if item.text.strip()]


def _test_commands(plan: Plan, task: PlanTask, items: list[Item]) -> None:
    """Reads one command per line of code or entry; a backslash at the end continues it on the next line."""
    parts: list[str] = []
    for line in [*(line for item in items for line in _command_lines(item)), ""]:
        parts += filter(None, [line.removesuffix("\\").strip()])
        if parts and not line.endswith("\\"):
            task.test_commands.append(" ".join(parts))
            parts = []


def _command_lines(item: Item) -> list[str]:
    """Returns code without comments and prompts; if code follows below an entry, its text is ignored."""
    if not item.code and not item.blocks:
        commands = _commands(item.text)
        return [*commands, *item.details] if commands[-1].endswith("\\") else commands
    code = [item.text.strip()] if item.code else item.blocks
    return [line.removeprefix("$ ") for line in code if not line.startswith("#")]


def _commands(text: str) -> list[str]:
    """Returns the text in backticks: all of `a`, `b` and `c`, only the first of `a` (it needs `b`), else the whole."""
    parts = text.strip().split("`")
    if len(parts) < 3:
        return [text.strip()]
    return parts[1::2] if JOINS.issuperset(_outside_backticks(text)) else [parts[1]]


def _outside_backticks(text: str) -> list[str]:
    """Returns the words outside of backticks, without commas; all words if nothing is in backticks."""
    parts = text.split("`")
    return " ".join(parts[::2] if len(parts) > 2 else parts).replace(",", " ").split()


def _commit_message(plan: Plan, task: PlanTask, items: list[Item]) -> None:
    task.commit["message"] = "\n".join(_unquoted(item.full_text) for item in items).strip()


def _files_to_commit(plan: Plan, task: PlanTask, items: list[Item]) -> None:
    task.commit["files"] = [path for item in items for path in fields.paths(plan, task, item.text, item.line)]


def _texts_of(field: str) -> Callable[[Plan, PlanTask, list[Item]], None]:
    """Returns a setter for a field that is a list of texts."""

    def add(plan: Plan, task: PlanTask, items: list[Item]) -> None:
        getattr(task, field).extend(_unquoted(item.full_text) for item in items if item.text.strip())

    return add


LISTS: dict[str, Callable[[Plan, PlanTask, list[Item]], None]] = {
    "files": _files,
    "depends_on": _depends_on,
    "protected": _protected,
    "success_criteria": _success_criteria,
    "structured_criteria": _success_criteria,
    "integration_criteria": _integration_criteria,
    "test_commands": _test_commands,
    "commit_message": _commit_message,
    "files_to_commit": _files_to_commit,
    "key_points": _texts_of("key_points"),
    "dependency_checks": _texts_of("dependency_checks"),
    "documentation_targets": _texts_of("documentation_targets"),
    "prompt_blocks": _texts_of("prompt_blocks"),
}


def _unquoted(text: str) -> str:
    bare = text.strip()
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] == "`" and "`" not in bare[1:-1] else bare


def _criterion(item: Item) -> Criterion:
    """Returns a criterion with the command that is indented below it; other lines belong to its text."""
    texts = [_unquoted(item.text)]
    parts: dict[str, str] = {}
    pending = ""  # a name whose value is on the next line
    for detail in item.details:
        name, value = _named(detail)
        field = VERIFICATION.get(name.lower(), "")
        if pending or field:
            parts[pending or field] = _unquoted(detail if pending else value)
        else:
            texts.append(detail)
        pending = field if field and not value and not pending else ""
    return Criterion("\n".join(texts), **parts)


def _named(detail: str) -> tuple[str, str]:
    """Splits `Command: x`, also with a bold name."""
    bold = bold_at(detail, 0)
    if bold:
        return bold[0], detail[bold[1] :].strip()
    name, _, value = detail.partition(":")
    return name.strip(), value.strip()
