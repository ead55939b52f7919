"""Reads the fields in the Markdown body of a task; the text itself stays complete."""

from __future__ import annotations

from collections.abc import Callable

from sow.domain.plans.plan import Criterion, Plan, PlanTask, kind_of
from sow.domain.text.markdown_lines import PLAIN, MarkdownPage
from sow.plans import fields
from sow.plans.dependencies import dependencies
from sow.plans.markdown import bullet_lists, field_labels
from sow.plans.markdown.bullet_lists import Item
from sow.plans.markdown.field_labels import Label, LabelTypos
from sow.plans.values import WAITS_FOR, letters_of, looks_like_dependency, normalized_id

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
WAITS_FOR_TASK = ("depends on", "depend on", "blocked by", "requires", "needs", "waits for", "wait for", "after")


def read(
    plan: Plan, task: PlanTask, page: MarkdownPage, start: int, end: int, slips: LabelTypos, *, described: bool = False
) -> None:
    """Reads the lines from start to end; with `described` the task needs no text."""
    task.text = "\n".join(page.texts[start:end]).strip("\n")
    index = start
    while index < end:
        text = page.texts[index]
        line_labels = field_labels.labels_in_line(text) if text and not page.kinds[index] else []
        means_tests = bool(line_labels) and field_labels.normalized(line_labels[0].name) in field_labels.TEST_LABELS
        if means_tests and _only_commands(page, index + 1, end, line_labels[0]):
            line_labels[0].field = "test_commands"
        if any(label.field for label in line_labels):
            described = described or any(label.field not in field_labels.METADATA_FIELDS for label in line_labels)
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
    bare = bare[field_labels.marker(bare) :].lstrip()
    name, _, value = bare.partition(":")
    if line_labels:
        name, value = line_labels[0].name, line_labels[0].value
    value = value.strip("*_ \t")
    if len(name) > field_labels.MAX_LABEL or not looks_like_dependency(name) or not any(map(str.isdigit, value)):
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
        kind = kind_of(field_labels.field_of(intended))
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


def _only_commands(page: MarkdownPage, index: int, end: int, label: Label) -> bool:
    """Returns whether commands, and nothing else, follow a label such as `**Verify**`."""
    items = [] if label.value and not _list_follows(page, index, end, label) else bullet_lists.read(page, index, end)[1]
    if label.value and not (items and label.value.endswith(":")):
        items.append(bullet_lists.Item(label.value, 0))
    return bool(items) and all(item.code or item.blocks or _is_command(item.text) for item in items)


def _is_command(text: str) -> bool:
    """Returns whether a text, or each part of it in backticks, starts with a program."""
    return not text.lower().startswith(SENTENCES) and all(
        command.startswith("./") or command.partition(" ")[0] in PROGRAMS for command in _commands(text)
    )


def _fields(plan: Plan, task: PlanTask, page: MarkdownPage, index: int, end: int, line_labels: list[Label]) -> int:
    """Sets the fields of one line and of a list below it; returns the index of the next line."""
    line = page.number(index)
    last = line_labels[-1]
    index += 1
    items: list[Item] = []
    if last.field in LISTS and (not last.value or _list_follows(page, index, end, last)):
        index, items = bullet_lists.read(page, index, end)
    elif not last.value and index < end and bullet_lists.is_paragraph(page, index):
        message = f"task {task.number}: there is nothing behind {last.name!r:.60}; the next line is read as text"
        plan.warn(task.file, line, message, "write the value behind the label", kind=kind_of(last.field))
    for label in line_labels:
        _set(plan, task, label, items if label is last else [], line)
    return index


def _list_follows(page: MarkdownPage, index: int, end: int, label: Label) -> bool:
    """Returns whether the next line is an entry of the field; after `**Depends on**: 1` it is a step of the work."""
    if label.field in field_labels.METADATA_FIELDS or index == end or page.kinds[index] != PLAIN:
        return False
    return bool(field_labels.marker(page.texts[index].strip()))


def _set(plan: Plan, task: PlanTask, label: Label, items: list[Item], line: int) -> None:
    if label.field in fields.SETTERS:
        fields.set_fact(plan, task, label.field, label.value, line)
    elif label.field in LISTS:
        introduces_list = bool(items) and label.value.endswith(":")
        value = [bullet_lists.Item(label.value, line)] if label.value and not introduces_list else []
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
    between = " ".join(parts[::2]).replace(",", " ").split()
    return parts[1::2] if set(between) <= {"and", "&"} else [parts[1]]


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
    bold = field_labels.bold_at(detail, 0)
    if bold:
        return bold[0], detail[bold[1] :].strip()
    name, _, value = detail.partition(":")
    return name.strip(), value.strip()
