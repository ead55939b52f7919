"""Reads a task file of Backlog.md: a YAML block with the fields, and sections with criteria between markers.

Its `onStatusChange` is a shell command of Backlog.md. sow shows it and never runs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sow.domain.plans.plan import Criterion, DependencyReference, Plan, PlanSource, PlanTask
from sow.domain.text.markdown_lines import frontmatter, heading
from sow.domain.text.yaml_nodes import BadYamlError, Node
from sow.plans import values
from sow.plans.field_reader import FieldReader, parse
from sow.plans.task_lists.progress import TaskProgress
from sow.plans.values import Edit, shortened

IDENT = re.compile(r"(?:([A-Za-z]+)-)?(\d{1,9}(?:\.\d{1,9}){0,8})")
AT_NAME = re.compile(r"(?<![\w\"'@.])(@[\w.-]+)")  # not valid YAML without quotes
AT_LINE = re.compile(r"[ ]*(?:assignee|reporter):|[ ]*- @")
ITEM = re.compile(r"[ \t]*[-*] \[([ xX])\] (?:#(\d+) )?(.*)")
STATUSES = ("To Do", "In Progress", "Done")  # the default; the last one means finished
CONTEXT = (
    *("assignee", "reporter", "due_date", "labels", "milestone", "references", "documentation", "modified_files"),
    *("parent_task_id", "subtasks", "priority", "type"),
)
BOOKKEEPING = ("created_date", "updated_date", "ordinal")
CRITERIA = ("acceptance criteria", "definition of done")
HOOK = "onStatusChange"
CONFIG = "config"  # names of neighbours: the configuration's text, and the files in completed/
COMPLETED = "completed/"
MOST_SENTENCES = 50  # of the configured definition of done, which every task gets
SUMMARY = ("<!-- SECTION:FINAL_SUMMARY:BEGIN -->", "<!-- SECTION:FINAL_SUMMARY:END -->")


class _BacklogConfig:
    """The settings that decide what a status means."""

    def __init__(self, plan: Plan, source: PlanSource) -> None:
        try:
            root = parse(source.neighbours.get(CONFIG, ""))
        except BadYamlError as error:
            message = f"the configuration of Backlog.md cannot be read: line {error.line}: {error.message}"
            plan.error(source.name, 0, message, error.hint)
            root = Node({}, 1)
        fields = FieldReader(plan, source.name, root, "the configuration of Backlog.md: ")
        self.statuses = fields.texts("statuses") or [*STATUSES]
        self.default = fields.text("default_status") or self.statuses[0]
        self.name = fields.text("project_name")
        self.sentences = fields.texts("definition_of_done")[:MOST_SENTENCES]
        if next(iter(plan.formats), source.name) == source.name:  # once for all files
            _show_hook(plan, source, fields, 0)

    def meaning(self, word: str) -> str:
        """Returns the plan's status for a word, or an empty text for an unknown one."""
        names = [status.lower() for status in self.statuses]
        if word.lower() not in names:
            return ""
        place = names.index(word.lower())
        return "completed" if place == len(names) - 1 else "in_progress" if place else "pending"

    def word(self, status: str, before: str) -> str:
        """Returns the word for a status of the project; the word before stays if there is no place for it."""
        if status == "completed":
            return self.statuses[-1]
        between = self.statuses[1:-1]
        if status in ("pending", "abandoned") or not between:
            return before
        waits = next((word for word in between if "review" in word.lower()), "")
        if status != "in_progress" and waits:
            return waits
        return before if self.meaning(before) == "in_progress" and before != waits else between[0]


def _show_hook(plan: Plan, source: PlanSource, fields: FieldReader, line: int) -> None:
    command = fields.text(HOOK)
    if command:
        message = f"{fields.owner}{HOOK} is a shell command of Backlog.md, and sow never runs it: {shortened(command)}"
        plan.warn(source.name, line or fields.node.line, message, "run it yourself if it is needed")


def normalized(ident: str) -> str:
    """Returns an id for comparison, without prefix and leading zeros: TASK-012.1 is 12.1; "" if it is none."""
    match = IDENT.fullmatch(ident.strip())
    if match is None or (match[1] or "").lower() == "draft":
        return ""
    return ".".join(part.lstrip("0") or "0" for part in match[2].split("."))


def read(plan: Plan, source: PlanSource, text: str) -> str:
    """Adds the task of one file to the plan; returns the name of the project."""
    config = _BacklogConfig(plan, source)
    header, body, _ = frontmatter(text)
    try:
        fields = FieldReader(plan, source.name, parse(_with_quoted_names(header), 2))
    except BadYamlError as error:
        plan.error(source.name, error.line, error.message, error.hint)
        return config.name
    ident = fields.text("id")
    if ident.lower().startswith("draft-"):
        plan.warn(source.name, 2, f"{shortened(ident)} is a draft: it is left out", "promote it first", kind="task")
        return config.name
    number = normalized(ident)
    if not number:
        plan.error(source.name, 2, f"{ident!r:.60} is not an id of a task", "write: id: TASK-12")
        return config.name
    task = PlanTask(number=number, name=fields.text("title").strip(), file=source.name, line=1)
    task.lines = {key: node.line for key, node in fields.node.value.items()}
    fields.owner = f"task {number}: "
    if not task.name:
        plan.error(source.name, task.line_of("title"), f"task {number} has no title", "give it a title")
    _set_status(plan, source, fields, task, config)
    _depend(plan, source, fields, task)
    _show_hook(plan, source, fields, task.line_of(HOOK))
    for key in (*CONTEXT, *BOOKKEEPING):
        if (node := fields.node_of(key)) is not None and key in CONTEXT and node.value not in ([], ""):
            task.context[key] = node.data()
    task.context.update(fields.warn_unknown_keys("the worker sees it as context"))
    task.text, criteria = _sections(body)
    task.success_criteria = [Criterion(sentence) for sentence in dict.fromkeys([*criteria, *config.sentences])]
    plan.tasks.append(task)
    return config.name or "backlog"


def _with_quoted_names(header: str) -> str:
    """Quotes names such as @sara, which YAML forbids."""
    lines = header.split("\n")
    return "\n".join(AT_NAME.sub(r'"\1"', line) if AT_LINE.match(line) else line for line in lines)


def _set_status(plan: Plan, source: PlanSource, fields: FieldReader, task: PlanTask, config: _BacklogConfig) -> None:
    word = fields.text("status").strip() or config.default
    task.status = config.meaning(word)
    if not task.status:
        message = f"task {task.number}: the status {word!r:.60} is unknown"
        names = ", ".join(shortened(status) for status in config.statuses)
        plan.error(source.name, task.line_of("status"), message, f"a status is one of: {names}")
        task.status = "pending"
    if f"/{source.name}".rsplit("/", 2)[-2] == COMPLETED[:-1]:
        task.status = "completed"


def _depend(plan: Plan, source: PlanSource, fields: FieldReader, task: PlanTask) -> None:
    """Adds the dependencies; one on a task in completed/ is met."""
    done = {normalized(name.removeprefix(COMPLETED).partition(" ")[0]) for name in source.neighbours}
    if task.number in done and task.status != "completed":
        message = f"task {task.number} is also in {COMPLETED}"
        plan.error(source.name, task.line_of("id"), message, "give one of the two files another id, or remove one")
    for node in fields.entries("dependencies"):
        text = fields.text_of(node, "dependencies")
        number = normalized(text)
        if not number:
            hint = "a draft is not work: promote it" if text.lower().startswith("draft-") else "write: TASK-12"
            message = f"task {task.number}: the dependency {text!r:.60} is not the id of a task"
            plan.error(source.name, node.line, message, hint)
        elif number not in done:
            task.dependency_references.append(DependencyReference(number, line=node.line))


def _lines(text: str) -> Iterator[tuple[int, str, re.Match[str] | None]]:
    """Yields each line with its position, and as a match if it is a criterion."""
    position, section = 0, ""
    for line in text.split("\n"):
        level, name = heading(line)
        section = name.lower().partition(" (")[0] if level else section
        yield position, line, ITEM.fullmatch(line) if section in CRITERIA else None
        position += len(line) + 1


def _sections(body: str) -> tuple[str, list[str]]:
    """Returns the text without markers, criteria and sections in which nothing is left, and the criteria."""
    parts: list[list[str]] = [[""]]  # each begins with its heading
    criteria: list[str] = []
    for _, line, item in _lines(body):
        bare = line.strip()
        if heading(line)[0] == 2:
            parts.append([line])
        elif item is not None:
            criteria += filter(None, [item[3].strip()])
        elif not (bare.startswith("<!--") and bare.endswith((":BEGIN -->", ":END -->"))):
            parts[-1].append(line)
    full = [part for part in parts if any(line.strip() for line in part[1:])]
    return "\n\n".join("\n".join(part).strip("\n") for part in full), criteria


def words(source: PlanSource, text: str) -> dict[str, str]:
    """Returns the status of the file's task, as written."""
    plan = Plan()
    config = _BacklogConfig(plan, source)
    read(plan, source, text)
    return {task.number: _header(source, text).text("status").strip() or config.default for task in plan.tasks}


def _header(source: PlanSource, text: str) -> FieldReader:
    return FieldReader(Plan(), source.name, parse(_with_quoted_names(frontmatter(text)[0]), 2))


def _value_edit(text: str, fields: FieldReader, key: str, new: str) -> list[Edit]:
    """Returns the edit of a value in the YAML block; its quotes and comment stay. None if it is not on one line."""
    position = text.find("\n") + 1
    for line in frontmatter(text)[0].split("\n"):
        if line.startswith(f"{key}:"):
            value = line[len(key) + 1 :].lstrip()
            start = position + len(line) - len(value)
            quote = value[:1] if value[:1] in ("'", '"') else ""
            end = value.find(quote, 1) if quote else value.find(" #")
            value = value[len(quote) : end if end >= 0 else len(value)].rstrip()
            start += len(quote)
            space = " " if text[start - 1] == ":" else ""
            is_whole = value.strip() == fields.text(key).strip()
            return [(start, start + len(value), space + new)] if is_whole else []
        position += len(line) + 1
    return []


def edits(
    source: PlanSource, text: str, progress: Mapping[str, TaskProgress], now: str
) -> tuple[list[Edit], dict[str, str], list[str]]:
    """Returns the edits of status, time, proved criteria and summary, the new word, and why it cannot be written."""
    statuses = words(source, text)
    number, word = next(iter(statuses.items()), ("", ""))
    if number not in progress:
        return [], {}, []
    config, made, fields = _BacklogConfig(Plan(), source), progress[number], _header(source, text)
    wanted = config.word(made.status, word)
    changes: list[Edit] = []
    is_new = wanted.lower() != word.lower()
    if is_new:
        changes = _value_edit(text, fields, "status", wanted)
        if not changes:
            reason = "it is not on one line" if "status" in fields.node.value else "it has none"
            return [], {}, [values.not_written(source.name, number, reason, f"status: {wanted}")]
        if made.status == "completed" and made.summary:
            changes += _summary_edit(text, made.summary)
    changes += _ticks(text, made.passed)
    if changes:
        changes += _time_edit(text, fields, now)
    return changes, {number: wanted} if is_new else {}, []


def _time_edit(text: str, fields: FieldReader, now: str) -> list[Edit]:
    """Replaces updated_date, or inserts it after the status; a value over several lines stays."""
    value = f"{now[:10]} {now[11:16]}"
    if "updated_date" in fields.node.value:
        return _value_edit(text, fields, "updated_date", value)
    ends = [text.find("\n", end) for _, end, _ in _value_edit(text, fields, "status", "")]
    return [(end, end, f"\nupdated_date: '{value}'") for end in ends]


def _ticks(text: str, passed: frozenset[str]) -> list[Edit]:
    """Ticks each open criterion that quotes a command that passed."""
    return [
        (position + item.start(1), position + item.end(1), "x")
        for position, _, item in _lines(text)
        if item is not None and item[1] == " " and not passed.isdisjoint(item[3].split("`")[1::2])
    ]


def _summary_edit(text: str, summary: str) -> list[Edit]:
    """Inserts a summary at the end of the final summary, between its markers; without markers there is no place."""
    begin, end = text.find(SUMMARY[0]), text.find(SUMMARY[1])
    if not 0 <= begin < end:
        return []
    inner = text[begin + len(SUMMARY[0]) : end]
    place = begin + len(SUMMARY[0]) + len(inner.rstrip())
    safe = summary.replace("<!--", "").replace("-->", "").strip()
    return [(place, end, f"\n\n{safe}\n" if inner.strip() else f"\n{safe}\n")]
