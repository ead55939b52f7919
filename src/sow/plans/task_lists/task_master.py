"""Reads `tasks.json` of Task Master: tasks of one tag, and subtasks, which are the work of their parent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sow.domain.plans.plan import Criterion, DependencyReference, Plan, PlanSource, PlanTask, file_and_tag
from sow.domain.text.units import counted
from sow.domain.text.yaml_nodes import BadYamlError, Node
from sow.plans import values
from sow.plans.field_reader import FieldReader
from sow.plans.task_lists import json_nodes
from sow.plans.task_lists.json_nodes import JsonNode
from sow.plans.task_lists.progress import TaskProgress
from sow.plans.values import MAX_REFERENCES, Edit, shortened

STATUSES = {
    "pending": "pending",
    "in-progress": "in_progress",
    "review": "in_progress",
    "done": "completed",
    "completed": "completed",
    "deferred": "skipped",
    "cancelled": "skipped",
    "blocked": "skipped",
}
PUT_OFF = ("deferred", "blocked")
# status of a task of the project → status in Task Master, where `review` means that a person must look
WORDS = {
    "in_progress": "in-progress",
    "needs_review": "review",
    "paused": "review",
    "failed": "review",
    "completed": "done",
    "abandoned": "cancelled",
}
# Keys that are no context of the worker: parts of its text, of the order, and bookkeeping.
OWN_KEYS = frozenset(
    {
        *("id", "title", "description", "details", "status", "testStrategy", "acceptanceCriteria"),
        *("dependencies", "subtasks", "recommendedSubtasks", "expansionPrompt", "updatedAt", "createdAt"),
        *("previousStatus", "parentId"),
    }
)
CONTEXT = frozenset(
    {
        *("priority", "complexity", "scopeBoundaries", "implementationApproach", "technicalConstraints"),
        "relevantFiles",
    }
)
SIBLINGS_BELOW = 100  # a bare number below this is a sibling of the subtask, above it a task
LONGEST_PARENT = 4000  # characters of a parent's text, which each of its subtasks gets
NO_LIST = 'give a tasks.json of Task Master: {"master": {"tasks": […]}}'


def read(plan: Plan, source: PlanSource, text: str) -> str:
    """Adds the tasks of one tag to the plan; returns the tag's name."""
    try:
        root = json_nodes.parse(text)
    except BadYamlError as error:
        plan.error(source.name, error.line, error.message, error.hint)
        return ""
    tag = file_and_tag(source.name)[1]
    tasks = _task_nodes(plan, source.name, root, tag)
    if tasks is not None:
        _TagReader(plan, source.name).read(tasks)
    return tag


def is_tagged(data: object) -> bool:
    """Returns whether a document has tags: any top key besides `tasks` and `metadata`."""
    return isinstance(data, dict) and bool(data.keys() - {"tasks", "metadata"})


def _task_nodes(plan: Plan, file: str, root: JsonNode, tag: str) -> list[Node] | None:
    """Returns the task nodes of a tag; reports what is missing."""
    if not isinstance(root.value, dict):
        plan.error(file, root.line, "this JSON is not a task list", NO_LIST)
        return None
    section: Node = root
    if is_tagged(root.value):
        section = root.value.get(tag, root)
        if section is root:
            names = ", ".join(shortened(name) for name in list(root.value)[:12])
            plan.error(file, root.line, f"there is no tag {tag!r:.60}", f"choose one with --tag: {names}")
            return None
    elif tag not in ("", "master"):
        plan.error(file, root.line, "this file has no tags", "leave --tag out")
        return None
    tasks = section.value.get("tasks") if isinstance(section.value, dict) else None
    if tasks is None or not isinstance(tasks.value, list):
        plan.error(file, section.line, "this JSON is not a task list", NO_LIST)
        return None
    return tasks.value


class _TagReader:
    """The tasks of one tag while they are read."""

    def __init__(self, plan: Plan, file: str) -> None:
        self.plan = plan
        self.file = file
        self.tasks: dict[str, PlanTask] = {}
        self.lines: dict[str, int] = {}  # of each id
        self.parents: dict[str, list[PlanTask]] = {}  # the subtasks of each task that has some
        self.waits: list[tuple[list[PlanTask], str, FieldReader]] = []  # tasks, their parent, and their entry
        self.put_off: dict[str, str] = {}
        self.unknown_keys: dict[str, int] = {}
        self.subtask_count = 0

    def read(self, nodes: list[Node]) -> None:
        for index, node in enumerate(nodes, 1):
            self._add(node, index)
        for tasks, parent, entry in sorted(self.waits, key=lambda wait: not wait[1]):  # first inside the parents
            self._depend(tasks, parent, entry)
        self._say_what_was_read()
        self.plan.tasks += self.tasks.values()

    def _entry(self, node: Node, place: str) -> tuple[FieldReader, str] | None:
        """Returns an entry and its id; reports one without."""
        if not isinstance(node.value, dict):
            self.plan.error(self.file, node.line, f"{place} is not an object", 'write: {"id": 1, "title": "…"}')
            return None
        entry = FieldReader(self.plan, self.file, node, f"{place}: ")
        ident = entry.text("id").strip()
        if values.is_id(ident) and "-" in ident and not ident[0].isdigit():
            hint = "export the tasks into a tasks.json first"
            self.plan.error(self.file, node.line, f"task {ident} lives on a server, not in this file", hint)
            return None
        if not values.is_number(ident) or len(ident) > values.MAX_ID:
            self.plan.error(self.file, node.line, f"{place} has no number as its id", '"id": 1')
            return None
        return entry, values.normalized_id(ident)

    def _add(self, node: Node, index: int) -> None:
        parsed = self._entry(node, f"task {index} of the list")
        if parsed is None:
            return
        entry, ident = parsed
        subtasks = entry.entries("subtasks")
        task, word = self._task(entry, ident)
        self._check_id(task)
        if not subtasks:
            self.tasks[ident] = task
            self.waits.append(([task], "", entry))
            return
        about = self._parent_text(task)
        children = []
        for number, child in enumerate(subtasks, 1):
            made = self._subtask(child, (ident, number), about)
            if made is None:
                continue
            if word in ("done", "completed", "cancelled", *PUT_OFF) and made.status not in ("completed", "skipped"):
                message = f"task {made.number} is {made.status}, but its parent {ident} is {word}: the parent counts"
                self.plan.warn(
                    self.file, made.line, message, "run task-master set-status for one of them", kind="status"
                )
                made.status = STATUSES[word]
                if word in PUT_OFF:
                    self.put_off[made.number] = word
            children.append(made)
        self.parents[ident] = children
        self.waits.append((children, "", entry))

    def _subtask(self, node: Node, place: tuple[str, int], about: dict[str, str]) -> PlanTask | None:
        parent, number = place
        parsed = self._entry(node, f"subtask {number} of task {parent}")
        if parsed is None:
            return None
        entry, ident = parsed
        task, _ = self._task(entry, ident if ident.startswith(f"{parent}.") else f"{parent}.{ident}")
        task.context = {**about, **task.context}
        self.subtask_count += 1
        for deeper in entry.entries("subtasks"):
            message = f"task {task.number} has subtasks of its own, which are not read"
            self.plan.warn(self.file, deeper.line, message, "one level is read", kind="task")
            break
        self._check_id(task)
        self.tasks[task.number] = task
        self.waits.append(([task], parent, entry))
        return task

    def _check_id(self, task: PlanTask) -> None:
        first = self.lines.setdefault(task.number, task.line)
        if task.number in self.tasks or task.number in self.parents:
            message = f"task {task.number} is there twice: also in line {first}"
            self.plan.error(self.file, task.line, message, "give one of them another id")

    def _task(self, entry: FieldReader, ident: str) -> tuple[PlanTask, str]:
        """Returns a task with its own fields, and its status as written."""
        entry.owner = f"task {ident}: "
        task = PlanTask(number=ident, name=entry.text("title").strip(), file=self.file, line=entry.node.line)
        task.lines = {key: node.line for key, node in entry.node.value.items()}
        if not task.name:
            self.plan.error(self.file, task.line, f"task {ident} has no title", "give it a title")
        details = [entry.text("description"), entry.text("details")]
        task.text = "\n\n".join(text.strip("\n") for text in details if text.strip())
        task.success_criteria = [Criterion(text.strip()) for text in entry.texts("acceptanceCriteria") if text.strip()]
        if strategy := entry.text("testStrategy").strip():
            task.success_criteria.append(Criterion(strategy))
        task.context = {
            key: node.data() for key, node in entry.node.value.items() if key not in OWN_KEYS and node.value
        }
        for key in task.context:
            if key not in CONTEXT:
                self.unknown_keys.setdefault(key, task.lines[key])
        files = task.context.get("relevantFiles")
        for file in files if isinstance(files, list) else ():  # those that are only referred to are not the task's own
            if isinstance(file, dict) and file.get("action") in ("create", "modify") and file.get("path"):
                task.files.append(str(file["path"]))
        return task, self._set_status(entry, task)

    def _set_status(self, entry: FieldReader, task: PlanTask) -> str:
        word = (entry.text("status") or "pending").strip().lower()
        line = task.line_of("status")
        task.status = STATUSES.get(word, "pending")
        if word not in STATUSES:
            message = f"task {task.number}: the status {word!r:.60} is unknown"
            self.plan.error(self.file, line, message, f"a status is one of: {', '.join(STATUSES)}")
        elif word in PUT_OFF:
            self.put_off[task.number] = word
            message = f"task {task.number} is {word}: it is left out"
            self.plan.warn(self.file, line, message, "to include it: pending", kind="status")
        elif word == "review":
            message = f"task {task.number} waits for a person's review: it is read as unfinished"
            self.plan.warn(self.file, line, message, "finish the review first: done", kind="status")
        return word

    def _parent_text(self, parent: PlanTask) -> dict[str, str]:
        criteria = [f"- {criterion.text}" for criterion in parent.success_criteria]
        text = "\n\n".join(filter(None, [parent.name, parent.text, "\n".join(criteria)]))
        if len(text) > LONGEST_PARENT:
            message = f"the text of task {parent.number} is cut after {LONGEST_PARENT:,} characters for its subtasks"
            self.plan.warn(self.file, parent.line, message, "put the rest into the subtasks")
        return {"part_of_task": f"{parent.number} {text[:LONGEST_PARENT]}"}

    def _depend(self, tasks: list[PlanTask], parent: str, entry: FieldReader) -> None:
        """Adds the dependencies of an entry; those of a parent count for its subtasks that wait for no other."""
        own = {task.number for task in tasks}
        first = [task for task in tasks if own.isdisjoint(ref.task for ref in task.dependency_references)] or tasks
        for node in entry.entries("dependencies"):
            number = node.value.strip() if isinstance(node.value, str) else ""
            if not values.is_number(number):
                message = f"{entry.owner}the dependency {node.data()!r:.60} is not understood"
                self.plan.error(self.file, node.line, message, "write the id of a task: 3, or 5.1 for a subtask")
                continue
            number = self._meant(values.normalized_id(number), parent, node, entry)
            if parent and number == parent:
                message = f"{entry.owner}it depends on its own parent {parent}, which is left out"
                self.plan.warn(self.file, node.line, message, "remove that dependency", kind="dependency")
                continue
            for target in self._last_of(number):
                self._refer(first, target, node.line)

    def _meant(self, number: str, parent: str, node: Node, entry: FieldReader) -> str:
        """Returns the task that a dependency means: in a subtask, a bare number below 100 is a sibling."""
        if not parent or "." in number:
            return number
        sibling = f"{parent}.{number}"
        if not getattr(node, "quoted", False):
            return sibling if int(number[:9]) < SIBLINGS_BELOW else number
        chosen = sibling if sibling in self.tasks else number
        message = f'{entry.owner}the dependency "{shortened(number)}" is doubtful: read as task {shortened(chosen)}'
        self.plan.warn(
            self.file, node.line, message, f'write "{parent}.{number}", or the number of a task', kind="dependency"
        )
        return chosen

    def _last_of(self, number: str) -> list[str]:
        """Returns the task, or of a parent those of its subtasks for which no sibling waits."""
        children = self.parents.get(number)
        if children is None:
            return [number]
        needed = {reference.task for child in children for reference in child.dependency_references}
        numbers = [child.number for child in children]
        return [number for number in numbers if number not in needed] or numbers

    def _refer(self, tasks: list[PlanTask], target: str, line: int) -> None:
        self.plan.reference_count += len(tasks)
        if self.plan.reference_count > MAX_REFERENCES:
            if self.plan.reference_count - len(tasks) <= MAX_REFERENCES:
                message = f"with these the plan has more than {MAX_REFERENCES:,} dependencies"
                self.plan.error(self.file, line, message, "depend on the last tasks of a group only")
            return
        for task in tasks:
            task.dependency_references.append(DependencyReference(target, line=line))
            if target in self.put_off and task.status not in ("completed", "skipped"):
                message = f"task {task.number} depends on {target}, which is {self.put_off[target]}: it does not wait"
                self.plan.warn(self.file, line, message, "leave it out too, or do both", kind="dependency")

    def _say_what_was_read(self) -> None:
        for key, line in self.unknown_keys.items():
            self.plan.warn(self.file, line, f"the key {key!r:.60} is not known", "the worker sees it as context")
        if self.parents:
            line = min(child.line for children in self.parents.values() for child in children) if self.tasks else 0
            parents, subtasks = counted(len(self.parents), "task"), counted(self.subtask_count, "subtask")
            message = f"instead of {parents} with subtasks, their {subtasks} are read"
            self.plan.warn(self.file, line, message, "each subtask gets the text of its parent as context")


def _places(source: PlanSource, text: str) -> Iterator[tuple[str, dict[str, JsonNode], list[str], str]]:
    """Yields each subtask and task of the tag: its number, fields, the numbers of its subtasks, its parent's status."""
    for node in _task_nodes(Plan(), source.name, json_nodes.parse(text), file_and_tag(source.name)[1]) or ():
        fields = node.value
        ident = values.normalized_id(str(fields["id"].value))
        children = fields["subtasks"].value if isinstance(_value(fields, "subtasks"), list) else ()
        numbers = []
        for child in children:
            own = values.normalized_id(str(child.value["id"].value))
            numbers.append(own if own.startswith(f"{ident}.") else f"{ident}.{own}")
            yield numbers[-1], child.value, [], _word(fields)
        yield ident, fields, numbers, ""


def _value(fields: Mapping[str, Node], key: str) -> Any:
    return fields[key].value if key in fields else None


def _word(fields: Mapping[str, Node]) -> str:
    return str(_value(fields, "status") or "pending").strip().lower()


def words(source: PlanSource, text: str) -> dict[str, str]:
    """Returns the status of each task and subtask, as written."""
    return {number: str(_value(fields, "status") or "pending") for number, fields, _, _ in _places(source, text)}


def edits(
    source: PlanSource, text: str, progress: Mapping[str, TaskProgress], now: str
) -> tuple[list[Edit], dict[str, str], list[str]]:
    """Returns the edits of statuses and times, the new words, and what cannot be written.

    A parent is done when its subtasks are.
    """
    changes: list[Edit] = []
    new: dict[str, str] = {}
    unwritten: list[str] = []
    ended: dict[str, bool] = {}
    for number, fields, children, parent in _places(source, text):
        word = wanted = _word(fields)
        if number in progress and not children:
            wanted = _wanted(word, parent, progress[number].status)
        elif not new.keys().isdisjoint(children) and all(ended[child] for child in children):
            wanted = word if STATUSES.get(word) in ("completed", "skipped") else "done"
        if wanted != word and not isinstance(_value(fields, "status"), str):
            unwritten.append(values.not_written(source.name, number, "it has none", f'"status": "{wanted}"'))
            wanted = word
        ended[number] = STATUSES.get(wanted) in ("completed", "skipped")
        if wanted == word:
            continue
        new[number] = wanted
        changes.append((fields["status"].start, fields["status"].end, f'"{wanted}"'))
        if isinstance(_value(fields, "updatedAt"), str):
            changes.append((fields["updatedAt"].start, fields["updatedAt"].end, f'"{now[:19]}.000Z"'))
    return changes, new, unwritten


def _wanted(word: str, parent: str, status: str) -> str:
    """Returns the new word; one that means the same stays, and so does the word of a task that sow never began."""
    wanted = WORDS.get(status, word)  # of a pending task, the word is a person's
    stays = wanted in ("done", "cancelled") and STATUSES.get(word) == STATUSES[wanted]
    return word if stays or (wanted == "cancelled" and parent in PUT_OFF) else wanted
