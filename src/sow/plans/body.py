"""The body of a task in Markdown: its fields are taken out of it, and the text stays whole."""

from __future__ import annotations

from sow.domain.plan import Criterion, kind_of
from sow.plans import fields, labels, lists
from sow.plans.dependencies import dependencies
from sow.plans.page import PLAIN
from sow.plans.words import looks_like_dependency

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sow.domain.plan import Plan, PlanTask
    from sow.plans.labels import Label, Slips
    from sow.plans.lists import Item
    from sow.plans.page import Page

VERIFICATION = {
    "command": "command",
    "verification command": "command",
    "verification": "command",
    "expected": "expected",
    "description": "description",
}


def read(plan: Plan, task: PlanTask, page: Page, start: int, end: int, slips: Slips) -> None:
    """Read the lines from start to end."""
    task.text = "\n".join(page.texts[start:end]).strip("\n")
    described = False
    index = start
    while index < end:
        text = page.texts[index]
        found = labels.in_line(text) if text and not page.kinds[index] else []
        if any(label.field for label in found):
            described = described or any(label.field not in labels.FACTS for label in found)
            if found[0].value and not described:
                task.facts_line = page.number(index)
            index = _fields(plan, task, page, index, end, found)
        else:
            described = described or _says_something(text)
            if page.kinds[index] == PLAIN and (":" in text or "**" in text):
                meant = slips.meant(text, found) or _other_words_for_depends(text, found)
                _warn_of_slip(plan, task, text, page.number(index), meant)
            index += 1
    kept = (text for at, text in enumerate(page.texts[start:end], start) if page.number(at) != task.status_line)
    task.brief = "\n".join(kept).strip("\n")
    task.whole = True
    if not described:
        what = f"task {task.number} has no description"
        plan.error(task.file, task.line, what, "say below its heading what is to be done")


def _says_something(text: str) -> bool:
    bare = text.strip()
    return bool(bare) and set(bare) not in ({"-"}, {"*"}, {"_"})


def _other_words_for_depends(text: str, found: list[Label]) -> str:
    """`Depends on`, where a line such as `**Blocked by**: Task 1` or `Requires: 2` says the same."""
    name, _, value = text.strip()[: labels.MAX_LABEL].partition(":")
    if found:
        name, value = found[0].name, found[0].value
    if not looks_like_dependency(name) or not any(letter.isdigit() for letter in value):
        return ""
    tasks, strange = dependencies(value, 0)
    return "Depends on" if tasks and not strange else ""


def _warn_of_slip(plan: Plan, task: PlanTask, text: str, line: int, meant: str) -> None:
    if meant:
        kind = kind_of(labels.field_of(meant))
        what = f"task {task.number}: {text.strip()!r:.60} is read as text"
        plan.warn(task.file, line, what, f"if it is the field, write: **{meant}**: …", kind=kind)


def _fields(plan: Plan, task: PlanTask, page: Page, index: int, end: int, found: list[Label]) -> int:
    """Set the fields of one line; the last may go on below it. Returns the index of the line behind them."""
    line = page.number(index)
    last = found[-1]
    index += 1
    items: list[Item] = []
    if last.field in LISTS and (not last.value or _list_follows(page, index, end, last)):
        index, items = lists.read(page, index, end)
    elif not last.value and index < end and lists.is_paragraph(page, index):
        what = f"task {task.number}: there is nothing behind {last.name!r:.60}; the next line is read as text"
        plan.warn(task.file, line, what, "write the value behind the label", kind=kind_of(last.field))
    for label in found:
        _set(plan, task, label, items if label is last else [], line)
    return index


def _list_follows(page: Page, index: int, end: int, label: Label) -> bool:
    """Whether the very next line is an entry; behind `**Depends on**: 1` it is a step of the work, and no field."""
    if label.field in labels.FACTS or index == end or page.kinds[index] != PLAIN:
        return False
    return bool(labels.marker(page.texts[index].strip()))


def _set(plan: Plan, task: PlanTask, label: Label, items: list[Item], line: int) -> None:
    """Put a field's value where it belongs."""
    if label.field in fields.SETTERS:
        fields.set_fact(plan, task, label.field, label.value, line)
    elif label.field in LISTS:
        heads = bool(items) and label.value.endswith(":")
        value = [lists.Item(label.value, line)] if label.value and not heads else []
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
    """One command for each line of code or entry; one that ends with a backslash goes on in the next line."""
    begun: list[str] = []
    for line in [*(line for item in items for line in _command_lines(item)), ""]:
        begun += filter(None, [line.removesuffix("\\").strip()])
        if begun and not line.endswith("\\"):
            task.test_commands.append(" ".join(begun))
            begun = []


def _command_lines(item: Item) -> list[str]:
    """Code without its comments and prompts; an entry with code below it is a remark on that."""
    if not item.code and not item.blocks:
        commands = _commands(item.text)
        return [*commands, *item.details] if commands[-1].endswith("\\") else commands
    code = [item.text.strip()] if item.code else item.blocks
    return [line.removeprefix("$ ") for line in code if not line.startswith("#")]


def _commands(text: str) -> list[str]:
    """What stands in backticks: all of `a`, `b` and `c`, and the first of `a` (it needs `b`); or else the whole."""
    parts = text.strip().split("`")
    if len(parts) < 3:
        return [text.strip()]
    between = " ".join(parts[::2]).replace(",", " ").split()
    return parts[1::2] if set(between) <= {"and", "&"} else [parts[1]]


def _commit_message(plan: Plan, task: PlanTask, items: list[Item]) -> None:
    task.commit["message"] = "\n".join(_unquoted(item.whole) for item in items).strip()


def _files_to_commit(plan: Plan, task: PlanTask, items: list[Item]) -> None:
    task.commit["files"] = [path for item in items for path in fields.paths(plan, task, item.text, item.line)]


def _texts_of(field: str) -> Callable[[Plan, PlanTask, list[Item]], None]:
    """A setter for a field that is a list of texts."""

    def add(plan: Plan, task: PlanTask, items: list[Item]) -> None:
        getattr(task, field).extend(_unquoted(item.whole) for item in items if item.text.strip())

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
    """A text in backticks, without them."""
    bare = text.strip()
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] == "`" and "`" not in bare[1:-1] else bare


def _criterion(item: Item) -> Criterion:
    """A criterion with the command that is indented below it; all else there belongs to its text."""
    texts = [_unquoted(item.text)]
    parts: dict[str, str] = {}
    waiting = ""  # a name whose value stands in the next line
    for detail in item.details:
        name, value = _named(detail)
        field = VERIFICATION.get(name.lower(), "")
        if waiting or field:
            parts[waiting or field] = _unquoted(detail if waiting else value)
        else:
            texts.append(detail)
        waiting = field if field and not value and not waiting else ""
    return Criterion("\n".join(texts), **parts)


def _named(detail: str) -> tuple[str, str]:
    """`Command: x`, also with a bold name."""
    bold = labels.bold_at(detail, 0)
    if bold:
        return bold[0], detail[bold[1] :].strip()
    name, _, value = detail.partition(":")
    return name.strip(), value.strip()
