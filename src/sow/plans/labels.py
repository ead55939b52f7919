"""The fields of a task in Markdown: bold labels, with their value on the same line or in the list below."""

from __future__ import annotations

from sow.domain.plan import Criterion, Plan, PlanTask
from sow.plans import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.plans.markdown import Line

# label in lower case, without a plural s → field
LABELS = {
    "file(s)": "files",
    "file": "files",
    "depends on": "depends_on",
    "dependency": "depends_on",
    "dependencie": "depends_on",
    "estimated time": "estimated_time",
    "estimate": "estimated_time",
    "agent": "agent",
    "statu": "status",
    "type": "type",
    "worktreegroup": "worktree_group",
    "worktree group": "worktree_group",
    "success criteria": "success_criteria",
    "success criterion": "success_criteria",
    "integration criteria": "integration_criteria",
    "integration criterion": "integration_criteria",
    "structured criteria": "structured_criteria",
    "test command": "test_commands",
    "key point": "key_points",
    "runtime metadata": "runtime_metadata",
    "dependency check": "dependency_checks",
    "documentation target": "documentation_targets",
    "prompt block": "prompt_blocks",
    "commit message": "commit_message",
    "files to commit": "files_to_commit",
    "file to commit": "files_to_commit",
}
# Facts about a task that are no description of it: a task that has only these has no text.
FACTS = frozenset({"files", "depends_on", "estimated_time", "agent", "status", "type", "worktree_group"})
LISTS = frozenset(
    {
        "files",
        "depends_on",
        "success_criteria",
        "integration_criteria",
        "structured_criteria",
        "test_commands",
        "key_points",
        "dependency_checks",
        "documentation_targets",
        "prompt_blocks",
        "files_to_commit",
    }
)
VERIFICATION = {
    "command": "command",
    "verification command": "command",
    "expected": "expected",
    "description": "description",
}


class Item:
    """One entry of a list, with the lines that are indented below it."""

    __slots__ = ("details", "line", "text")

    def __init__(self, text: str, line: int) -> None:
        self.text = text
        self.line = line
        self.details: list[str] = []


def read(plan: Plan, task: PlanTask, lines: list[Line]) -> None:
    """Take the fields out of a task's lines; the text stays whole."""
    task.text = "\n".join(line.text for line in lines).strip("\n")
    task.whole = True
    described = False
    index = 0
    while index < len(lines):
        field, value = _label(plan, task, lines[index])
        if not field:
            described = described or _says_something(lines[index])
            index += 1
            continue
        described = described or field not in FACTS
        start = lines[index].number
        index += 1
        items: list[Item] = []
        if field in LISTS and not value:
            index, items = _list(lines, index)
        if value and not described:
            task.facts_line = start
        _set(plan, task, field, value, items, start)
    kept = (line.text for line in lines if line.number != task.status_line)
    task.brief = "\n".join(kept).strip("\n")
    if not described:
        plan.error(
            task.file, task.line, f"task {task.number} has no description", "say below its heading what is to be done"
        )


def _says_something(line: Line) -> bool:
    bare = line.text.strip()
    return bool(bare) and set(bare) not in ({"-"}, {"*"}, {"_"})


def _label(plan: Plan, task: PlanTask, line: Line) -> tuple[str, str]:
    """The field that a line begins, and what follows on it: `**Label**: x`, `**Label:** x`, `### Label:`."""
    if line.fenced:
        return "", ""
    bare = line.text.strip().removeprefix("- ").removeprefix("* ").lstrip()
    if bare.startswith(("### ", "#### ")):
        name = bare.lstrip("#").strip()
        return (LABELS.get(_singular(name.rstrip(":")), ""), "") if name.endswith(":") else ("", "")
    if not bare.startswith("**"):
        return "", ""
    name, closed, rest = bare[2:].partition("**")
    rest = rest.lstrip()
    if not closed or not (name.endswith(":") or rest.startswith(":")):
        return "", ""
    label = _singular(name.rstrip(":"))
    if label not in LABELS:
        _suggest(plan, task, name.rstrip(":"), line.number)
        return "", ""
    return LABELS[label], rest.removeprefix(":").strip()


def _singular(name: str) -> str:
    lowered = " ".join(name.strip().lower().split())
    return lowered if lowered in LABELS else lowered.removesuffix("s")


def _suggest(plan: Plan, task: PlanTask, name: str, line: int) -> None:
    """A label that is nearly a known one is probably a slip; any other is the author's own."""
    from difflib import get_close_matches

    near = get_close_matches(_singular(name), LABELS, n=1, cutoff=0.85)
    if near and name.lower() not in ("test file", "test files", "files to read"):
        plan.warn(task.file, line, f"the label **{name}** is read as text", f"did you mean **{near[0].capitalize()}**?")


def _list(lines: list[Line], index: int) -> tuple[int, list[Item]]:
    """The list below a label: bullets, numbers or a fence; it ends at the first line that is none of these."""
    items: list[Item] = []
    while index < len(lines):
        line = lines[index]
        bare = line.text.strip()
        marker = _marker(bare)
        if line.fenced:
            if not bare.startswith(("```", "~~~")):
                items += [Item(bare, line.number)] if bare and not bare.startswith("#") else []
        elif marker and not _is_label(bare, marker):
            indented = items and line.text[:1] in (" ", "\t") and _inner(line.text, items)
            if indented:
                items[-1].details.append(bare[marker:].strip())
            else:
                items.append(Item(bare[marker:].strip(), line.number))
        elif bare and items and line.text[:1] in (" ", "\t"):
            items[-1].details.append(bare)
        elif bare and not (bare.startswith("(") and not items):
            break
        index += 1
    return index, items


def _is_label(bare: str, marker: int) -> bool:
    rest = bare[marker:].lstrip()
    return rest.startswith("**") and _singular(rest[2:].partition("**")[0].rstrip(":")) in LABELS


def _inner(text: str, items: list[Item]) -> bool:
    return len(text) - len(text.lstrip()) >= 2 and bool(items)


def _marker(bare: str) -> int:
    """How long the mark of a list entry is: `- `, `* `, `+ `, `1. `, `1) `, with a box behind it."""
    if bare[:2] in ("- ", "* ", "+ "):
        box = bare[2:6]
        return 6 if len(box) == 4 and box[0] == "[" and box[2:] == "] " else 2
    digits = len(bare) - len(bare.lstrip("0123456789"))
    return digits + 2 if 0 < digits < 5 and bare[digits : digits + 2] in (". ", ") ") else 0


def _set(plan: Plan, task: PlanTask, field: str, value: str, items: list[Item], line: int) -> None:
    """Put a field's value where it belongs."""
    texts = [_unquoted(item.text) for item in items] or ([_unquoted(value)] if value else [])
    if field == "files":
        task.files += [
            path for text in ([value] if value else [item.text for item in items]) for path in words.paths(text)
        ]
    elif field == "depends_on":
        set_dependencies(plan, task, value or ", ".join(item.text for item in items), line)
    elif field == "estimated_time":
        set_estimate(plan, task, value, line)
    elif field == "agent":
        task.agent = "" if value.strip("`* ").lower() in words.NOTHING else value.strip("`* ").split(" ")[0]
    elif field == "status":
        set_status(plan, task, value, line)
    elif field == "type":
        task.type = value.strip("`* ").lower() or "regular"
    elif field == "worktree_group":
        task.worktree_group = value.strip("`* ")
    elif field in ("success_criteria", "structured_criteria"):
        task.success_criteria += [_criterion(item) for item in items] or [Criterion(text) for text in texts]
    elif field == "integration_criteria":
        task.integration_criteria += [_criterion(item) for item in items] or [Criterion(text) for text in texts]
    elif field == "commit_message":
        task.commit["message"] = _unquoted(value)
    elif field == "files_to_commit":
        task.commit["files"] = [path for text in texts for path in words.paths(text)]
    elif field != "runtime_metadata":
        getattr(task, field).extend(texts)


def _unquoted(text: str) -> str:
    """A command or a message in backticks, without them."""
    bare = text.strip()
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] == "`" and "`" not in bare[1:-1] else bare


def _criterion(item: Item) -> Criterion:
    """A criterion with the command that is indented below it."""
    found = Criterion(item.text)
    for detail in item.details:
        name, colon, value = detail.lstrip("-* ").partition(":")
        field = VERIFICATION.get(name.strip(" *").lower())
        if colon and field:
            setattr(found, field, _unquoted(value))
        else:
            found.text += f"\n{detail}"
    return found


def set_dependencies(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    """The tasks that come first."""
    found, strange = words.dependencies(value, line)
    task.references += found
    for each in strange:
        plan.warn(
            task.file,
            line,
            f"task {task.number}: the dependency {each!r:.80} is not understood",
            "write: Task 1, Task 2, or None",
        )


def set_estimate(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    """How long the task is thought to take."""
    task.estimated_minutes = words.minutes(value)
    if task.estimated_minutes is None and value.strip().lower() not in words.NOTHING:
        plan.warn(task.file, line, f"task {task.number}: {value!r:.60} is not a duration", "write: 30m, 1h 15m, 2 days")


def set_status(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    """Where the task stands."""
    task.status_line = line
    known = words.status(value)
    if known is None:
        plan.warn(
            task.file,
            line,
            f"task {task.number}: the status {value!r:.60} is read as pending",
            "write: pending, in-progress, completed, failed or skipped",
        )
    else:
        task.status = known
