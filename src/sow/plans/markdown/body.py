"""Reads the fields in the Markdown body of a task; the text itself stays complete."""

from __future__ import annotations

from sow.domain.plans.plan import Criterion, kind_of
from sow.plans import fields
from sow.plans.dependencies import dependencies
from sow.plans.markdown import bullet_lists, field_labels
from sow.plans.markdown.lines import PLAIN
from sow.plans.values import looks_like_dependency

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sow.domain.plans.plan import Plan, PlanTask
    from sow.plans.markdown.bullet_lists import Item
    from sow.plans.markdown.field_labels import Label, LabelTypos
    from sow.plans.markdown.lines import MarkdownPage

VERIFICATION = {
    "command": "command",
    "verification command": "command",
    "verification": "command",
    "expected": "expected",
    "description": "description",
}


def read(plan: Plan, task: PlanTask, page: MarkdownPage, start: int, end: int, slips: LabelTypos) -> None:
    """Reads the lines from start to end."""
    task.text = "\n".join(page.texts[start:end]).strip("\n")
    described = False
    index = start
    while index < end:
        text = page.texts[index]
        line_labels = field_labels.labels_in_line(text) if text and not page.kinds[index] else []
        if any(label.field for label in line_labels):
            described = described or any(label.field not in field_labels.METADATA_FIELDS for label in line_labels)
            if line_labels[0].value and not described:
                task.last_field_line = page.number(index)
            index = _fields(plan, task, page, index, end, line_labels)
        else:
            described = described or _says_something(text)
            if page.kinds[index] == PLAIN and (":" in text or "**" in text):
                intended = slips.intended_label(text, line_labels) or _dependency_label(text, line_labels)
                _warn_of_slip(plan, task, text, page.number(index), intended)
            index += 1
    lines = (
        text for position, text in enumerate(page.texts[start:end], start) if page.number(position) != task.status_line
    )
    task.brief = "\n".join(lines).strip("\n")
    task.text_has_fields = True
    if not described:
        message = f"task {task.number} has no description"
        plan.error(task.file, task.line, message, "say below its heading what is to be done")


def _says_something(text: str) -> bool:
    bare = text.strip()
    return bool(bare) and set(bare) not in ({"-"}, {"*"}, {"_"})


def _dependency_label(text: str, line_labels: list[Label]) -> str:
    """Returns `Depends on` if a line such as `**Blocked by**: Task 1` or `Requires: 2` means the same."""
    name, _, value = text.strip()[: field_labels.MAX_LABEL].partition(":")
    if line_labels:
        name, value = line_labels[0].name, line_labels[0].value
    if not looks_like_dependency(name) or not any(character.isdigit() for character in value):
        return ""
    tasks, unreadable = dependencies(value, 0)
    return "Depends on" if tasks and not unreadable else ""


def _warn_of_slip(plan: Plan, task: PlanTask, text: str, line: int, intended: str) -> None:
    if intended:
        kind = kind_of(field_labels.field_of(intended))
        message = f"task {task.number}: {text.strip()!r:.60} is read as text"
        plan.warn(task.file, line, message, f"if it is the field, write: **{intended}**: …", kind=kind)


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
