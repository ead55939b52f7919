"""The data of a plan: its tasks, dependencies and settings, and the tasks of a project that they become."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from sow.domain import inputs
from sow.domain.inputs import printable_line
from sow.domain.task import DEFAULT_AGENT, ENDED_STATUSES
from sow.domain.text.units import cut_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.documents.state import Check, Task

JSON_ENDING = ".json"
TYPES = ("regular", "component", "integration")
MAX_TASKS = 20_000
MAX_SUGGESTIONS = 20  # The search for the nearest of many names is slow.
MAX_FINDINGS = 1000  # of each kind; a file can have a million findings, and nobody reads more
NOTE = "note"  # a warning that changes neither order nor scope
# The other kinds of warnings: sow did not understand something that could change which tasks run, their order, their
# agents or their checks. A run asks before it starts.
APPROVAL = "approval"  # the plan was made from the words of somebody who may not decide what is done here
CONFIRMED_KINDS = frozenset({"dependency", "task", "field", "agent", "status", "group", "unclosed", "more", APPROVAL})
# The fields of a task and the keys of a plan that decide this.
RUN_FIELDS = frozenset(
    {
        *("depends_on", "dependencies", "files", "worktree_group", "worktree_groups", "group_id", "execution_model"),
        *("tasks", "status", "agent", "default_agent", "quality_control"),
        *("test_commands", "dependency_checks", "success_criteria", "integration_criteria", "structured_criteria"),
        *("runtime_metadata", "verification", "command", "protected", "allow_empty"),
    }
)


def kind_of(field: str) -> str:
    """Returns the kind of the warning about a field that was not understood."""
    if field in ("depends_on", "dependencies"):
        return "dependency"
    return "field" if field in RUN_FIELDS else NOTE


class PlanSource:
    """One plan file: its name as the user gave it, its text, and whether it was found in a folder."""

    __slots__ = ("in_folder", "name", "neighbours", "parallel_stories", "text")

    def __init__(
        self,
        name: str,
        text: str,
        *,
        in_folder: bool = False,
        neighbours: Mapping[str, str] | None = None,
        parallel_stories: bool = False,
    ) -> None:
        self.name = name
        self.text = text
        self.in_folder = in_folder
        self.neighbours = neighbours or {}  # of another tool's task list: files beside it, some with their text
        self.parallel_stories = parallel_stories  # of spec-kit: whether the phases of stories run side by side


def file_and_tag(name: str) -> tuple[str, str]:
    """Returns the path and the tag of a task list in JSON: `tasks.json#auth` is the tag auth of tasks.json."""
    file, separator, tag = name.rpartition("#")
    is_tag = bool(separator) and file.lower().endswith(JSON_ENDING) and "/" not in tag
    return (file, tag) if is_tag else (name, "")


class PlanFinding:
    """An error or a warning about a line of a plan. An error stops the import or run."""

    __slots__ = ("error", "file", "hint", "kind", "line", "message")

    def __init__(
        self, file: str, line: int, message: str, *, hint: str = "", error: bool = False, kind: str = NOTE
    ) -> None:
        self.file = file
        self.line = line
        self.message = message
        self.hint = hint
        self.error = error
        self.kind = "error" if error else kind

    @property
    def needs_confirmation(self) -> bool:
        """Returns whether a run asks the user about it before it starts."""
        return self.kind in CONFIRMED_KINDS

    @property
    def location(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class Criterion:
    """A condition for accepting a task, and the command that checks it, if there is one."""

    __slots__ = ("command", "description", "expected", "text")

    def __init__(self, text: str, *, command: str = "", expected: str = "", description: str = "") -> None:
        self.text = text
        self.command = command
        self.expected = expected
        self.description = description

    def document(self) -> Any:
        """Returns the criterion as JSON: a text, or an object if the plan says how to verify it."""
        fields = {"command": self.command, "expected": self.expected, "description": self.description}
        verification = {key: value for key, value in fields.items() if value}
        return {"criterion": self.text, "verification": verification} if verification else self.text


class DependencyReference:
    """A dependency as written: a task of this file, or of a named file."""

    __slots__ = ("file", "line", "task")

    def __init__(self, task: str, *, file: str = "", line: int = 0) -> None:
        self.task = task
        self.file = file
        self.line = line


class PlanTask:
    """One task of a plan."""

    __slots__ = (
        "agent", "allow_empty", "brief", "commit", "context", "dependency_checks", "dependency_references",
        "depends_on", "documentation_targets", "estimated_minutes", "file", "files", "group_dependencies", "id",
        "implied_dependencies", "integration_criteria", "key_points", "last_field_line", "line", "lines", "name",
        "number", "prompt_blocks", "protected", "status", "success_criteria", "test_commands", "text",
        "text_has_fields", "type", "worktree_group",
    )  # fmt: skip

    def __init__(self, *, number: str, name: str, file: str, line: int) -> None:
        self.number = number  # as the file has it
        self.id = number  # unique in the plan: `setup#2` if two files have a task 2
        self.name = name
        self.file = file
        self.line = line
        self.lines: dict[str, int] = {}  # the line of each field
        self.text = ""
        self.brief = ""  # in Markdown: the text without its status, which is not part of the work
        self.text_has_fields = False  # whether the text contains the fields too, as it does in Markdown
        self.files: list[str] = []
        self.dependency_references: list[DependencyReference] = []
        self.depends_on: list[str] = []
        self.implied_dependencies: list[str] = []  # tasks that come first because of a shared file or worktree group
        self.group_dependencies: list[str] = []  # those of them in the same worktree group
        self.agent = ""
        self.status = "pending"
        self.last_field_line = line  # in Markdown: the last line of the fields; a status is inserted after it
        self.estimated_minutes: float | None = None
        self.type = "regular"
        self.worktree_group = ""
        self.allow_empty = False  # whether a result without changes is accepted
        self.protected: list[str] = []  # patterns of paths that it must not change, including those of the plan
        self.success_criteria: list[Criterion] = []
        self.integration_criteria: list[Criterion] = []
        self.test_commands: list[str] = []
        self.key_points: list[str] = []
        self.dependency_checks: list[str] = []
        self.documentation_targets: list[str] = []
        self.prompt_blocks: list[str] = []
        self.commit: dict[str, Any] = {}
        self.context: dict[str, Any] = {}  # structured parts and unknown keys, which the agent sees as plan context

    def line_of(self, field: str) -> int:
        """Returns the line of a field, or of the task if it does not have that field."""
        return self.lines.get(field, self.line)

    @property
    def status_line(self) -> int:
        return self.lines.get("status", 0)

    def document(self) -> dict[str, Any]:
        """Returns the task as JSON."""
        return {
            "id": self.id,
            "number": self.number,
            "name": self.name,
            "file": self.file,
            "line": self.line,
            "depends_on": self.depends_on,
            "waits_for_files_of": [
                task_id for task_id in self.implied_dependencies if task_id not in self.group_dependencies
            ],
            "waits_for_group_of": self.group_dependencies,
            "files": self.files,
            "agent": self.agent,
            "status": self.status,
            "estimated_minutes": self.estimated_minutes,
            "type": self.type,
            "worktree_group": self.worktree_group or None,
            "allow_empty": self.allow_empty or None,
            "protected": self.protected,
            "success_criteria": [criterion.document() for criterion in self.success_criteria],
            "integration_criteria": [criterion.document() for criterion in self.integration_criteria],
            "test_commands": self.test_commands,
            "key_points": self.key_points,
            "dependency_checks": self.dependency_checks,
            "documentation_targets": self.documentation_targets,
            "prompt_blocks": self.prompt_blocks,
            "commit": self.commit or None,
            "context": self.context or None,
            "text": self.text,
        }


class Plan:
    """All tasks of the given files, in file order."""

    def __init__(self) -> None:
        self.name = ""
        self.files: list[str] = []
        self.formats: dict[str, str] = {}  # the tool of each file that another tool wrote
        self.tasks: list[PlanTask] = []
        self.default_agent = ""
        self.default_agents: dict[str, str] = {}  # of each file that has its own
        self.max_concurrency: int | None = None
        self.network = ""  # the widest network that agents may have
        self.sandbox = ""  # the widest mode of the sandbox
        self.quality_control: dict[str, Any] = {}
        self.protected: list[str] = []  # patterns of paths that no task may change
        self.issues: list[str] = []  # the URLs of the issues that it resolves
        self.worktree_groups: list[str] = []
        self.parallel_groups: set[str] = set()  # groups whose tasks may run side by side
        self.prose: list[str] = []  # the text of each file outside its tasks
        self.context: dict[str, Any] = {}  # keys of the whole plan that are not settings; agents see them
        self.setting_lines: dict[str, tuple[str, int]] = {}  # file and line of each setting
        self.reference_count = 0
        self.suggestions_left = MAX_SUGGESTIONS
        self.findings: list[PlanFinding] = []
        self.counts = {True: 0, False: 0}  # errors and warnings, including those over the limit

    def error(self, file: str, line: int, message: str, hint: str) -> None:
        self.add(PlanFinding(file, line, message, hint=hint, error=True))

    def warn(self, file: str, line: int, message: str, hint: str = "", *, kind: str = NOTE) -> None:
        self.add(PlanFinding(file, line, message, hint=hint, kind=kind))

    def add(self, finding: PlanFinding) -> None:
        """Keeps a finding, or only counts it if there are too many."""
        self.counts[finding.error] += 1
        if self.counts[finding.error] <= MAX_FINDINGS:
            self.findings.append(finding)

    def use_suggestion(self) -> bool:
        """Returns whether one more similar name may be searched for."""
        self.suggestions_left -= 1
        return self.suggestions_left >= 0

    def needs(self) -> dict[str, list[str]]:
        """Returns for each task all tasks that come first, from the plan and from shared files and groups."""
        return {task.id: [*task.depends_on, *task.implied_dependencies] for task in self.tasks}

    @property
    def errors(self) -> list[PlanFinding]:
        return [finding for finding in self.findings if finding.error]

    @property
    def warnings(self) -> list[PlanFinding]:
        return [finding for finding in self.findings if not finding.error]


# The fields of a task that its plan decides. All others belong to the project.
FIELDS = (
    "name", "assigned_agent", "depends_on", "after", "criteria", "files", "checks", "protected", "estimated_minutes",
    "type", "worktree_group", "allow_empty",
)  # fmt: skip
LONGEST_NAME = 200
LONGEST_TEXT = 4000
LONGEST_PATH = 1000
SKIPPED = "skipped in the plan"
GONE = "no longer in the plan"


class PlannedTask:
    """A task as its plan describes it: its id, its fields, its description, and the digest of both."""

    def __init__(self, task: PlanTask, ident: str, fields: dict[str, Any], *, plan: str, description: str) -> None:
        self.id = ident
        self.source_plan = plan
        self.source_id = task.number
        self.fields = fields
        self.description = description
        self.status = task.status
        self.digest = ""


class Difference:
    """The change that an import would make to one task: kind is new, changed, gone, ended or same."""

    def __init__(self, kind: str, task: str, *, number: str, name: str, wanted: PlannedTask | None = None) -> None:
        self.kind = kind
        self.task = task
        self.number = number
        self.name = name
        self.wanted = wanted
        self.fields: list[tuple[str, str, str]] = []  # field, before, after


def agent_of(task: PlanTask, plan: Plan, roles: Collection[str]) -> str:
    """Returns the role that works on a task: its own, the plan's default, or sow's default, whichever exists."""
    return next((name for name in (task.agent, plan.default_agent) if name in roles), DEFAULT_AGENT)


def assign_ids(tasks: Sequence[PlanTask], existing: Mapping[str, str], used_ids: Iterable[str]) -> dict[str, str]:
    """Returns an id for each task of a plan: its existing id, N×10 if free (2.5 → 025), else the next free id."""
    numbers = {task.id: existing[task.id] for task in tasks if task.id in existing}
    used = {*used_ids, *numbers.values()}
    unnumbered = []
    for task in tasks:
        preferred = _id_from_number(task.number)
        if task.id in numbers:
            continue
        if preferred and preferred not in used:
            numbers[task.id] = preferred
            used.add(preferred)
        else:
            unnumbered.append(task)
    for task in unnumbered:
        numbers[task.id] = inputs.next_id(used)
        used.add(numbers[task.id])
    return numbers


def _id_from_number(number: str) -> str:
    """Returns the id of task N: ten times its number, if that is a whole number, else an empty text."""
    whole, _, part = number.partition(".")
    if not (whole.isascii() and whole.isdigit() and len(whole) < 8) or (part and part not in "0123456789"):
        return ""
    value = str(int(whole) * inputs.GAP + int(part or "0")).zfill(inputs.WIDTH)
    return value if inputs.is_task_id(value) and int(value) > 0 else ""


def task_fields(task: PlanTask, numbers: Mapping[str, str], *, agent: str, skipped: Collection[str]) -> dict[str, Any]:
    """Returns the fields of a task from the plan, in the form of the project's state."""
    values: dict[str, Any] = {
        "name": cut_to(LONGEST_NAME, printable_line(task.name)),
        "assigned_agent": agent,
        "depends_on": [numbers[dependency] for dependency in task.depends_on if dependency not in skipped],
        "after": [numbers[dependency] for dependency in task.implied_dependencies if dependency not in skipped],
        "criteria": _texts(criterion.text for criterion in [*task.success_criteria, *task.integration_criteria]),
        "files": [cut_to(LONGEST_PATH, printable_line(path)) for path in task.files if path.strip()],
        "checks": checks_of(task),
        "protected": list(task.protected),
        "estimated_minutes": _without_zero_fraction(task.estimated_minutes),
        "type": task.type if task.type != "regular" else "",
        "worktree_group": cut_to(LONGEST_NAME, printable_line(task.worktree_group)),
        "allow_empty": task.allow_empty,
    }
    return {key: value for key, value in values.items() if value or key in ("name", "depends_on", "criteria")}


def _without_zero_fraction(minutes: float | None) -> float | None:
    """Returns 45 rather than 45.0, as a person would write it."""
    return minutes if minutes is None or minutes != int(minutes) else int(minutes)


def checks_of(task: PlanTask) -> list[Check]:
    """Returns the commands of a task, in the order in which they are run."""
    checks: list[Check] = [{"kind": "dependency", "command": command} for command in _texts(task.dependency_checks)]
    checks += [{"kind": "test", "command": command} for command in _texts(task.test_commands)]
    for kind, criteria in (("criterion", task.success_criteria), ("integration", task.integration_criteria)):
        checks += [_check(kind, criterion) for criterion in criteria if criterion.command.strip()]
    return checks


def _check(kind: str, criterion: Criterion) -> Check:
    check: Check = {"kind": kind, "command": criterion.command.strip()[:LONGEST_TEXT]}
    if criterion.expected.strip():
        check["expected"] = cut_to(LONGEST_TEXT, criterion.expected.strip())
    if criterion.text.strip():
        check["criterion"] = cut_to(LONGEST_TEXT, criterion.text.strip())
    return check


def _texts(values: Iterable[str]) -> list[str]:
    return [cut_to(LONGEST_TEXT, value.strip()) for value in values if value.strip()]


def compare(wanted: Sequence[PlannedTask], tasks: Sequence[Task], plans: Collection[str]) -> list[Difference]:
    """Returns the changes of an import in plan order. Tasks that are no longer in these plans come last."""
    existing = {(task["source"]["plan"], task["source"]["id"]): task for task in tasks if "source" in task}
    differences = []
    for target in wanted:
        task = existing.pop((target.source_plan, target.source_id), None)
        differences.append(_difference(target, task))
    for (plan, source_id), task in existing.items():
        if plan in plans and task["status"] not in ENDED_STATUSES:
            differences.append(Difference("gone", task["id"], number=source_id, name=task["name"]))
    return differences


def _difference(wanted: PlannedTask, task: Task | None) -> Difference:
    kind = "new"
    if task is not None:
        kind = "same" if _is_same(wanted, task) else "ended" if task["status"] in ENDED_STATUSES else "changed"
    difference = Difference(kind, wanted.id, number=wanted.source_id, name=wanted.fields["name"], wanted=wanted)
    if task is not None and kind != "same":
        difference.fields = [
            (field, _shown(task.get(field)), _shown(wanted.fields.get(field)))
            for field in FIELDS
            if (task.get(field) or None) != (wanted.fields.get(field) or None)
        ] or [("description", "", "")]
    return difference


def _is_same(wanted: PlannedTask, task: Task) -> bool:
    """Returns whether a task matches its plan. Stored checks are compared too: a digest in a file proves nothing."""
    same = task["source"]["digest"] == wanted.digest
    return same and (task.get("checks") or []) == (wanted.fields.get("checks") or [])


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(item["command"] if isinstance(item, dict) else str(item) for item in value) or "nothing"
    return "nothing" if value in (None, "") else str(value)
