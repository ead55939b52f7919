"""Reads the files of a plan into one checked plan, and writes the descriptions of its tasks for their workers."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from types import ModuleType

from sow.domain.plans import graph
from sow.domain.plans.plan import (
    JSON_ENDING,
    MAX_FINDINGS,
    MAX_TASKS,
    TYPES,
    Plan,
    PlanFinding,
    PlanSource,
    PlanTask,
    file_and_tag,
)
from sow.plans import values
from sow.plans.markdown import reader
from sow.plans.values import is_number, nearest, shortened, stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MODES = ("auto", "explicit", "mixed", "intelligent")
INSTEAD = "; the default role is used"
REVIEWERS = ("explicit_list", "additional", "blocked")


def check_plan(plan: Plan, agents: Collection[str]) -> None:
    """Checks each task and the whole plan, and orders tasks that overlap."""
    check_numbers(plan)
    for task in plan.tasks:
        _type(plan, task)
        task.protected = list(dict.fromkeys((*plan.protected, *task.protected)))
    _groups(plan)
    if agents:
        _Agents(plan, agents).check()
    _review_mode(plan)
    _cycles(plan)
    if not plan.counts[True]:
        _order_overlaps(plan)


def check_numbers(plan: Plan) -> None:
    """Checks that each number is there once and above 0."""
    seen: dict[str, PlanTask] = {}
    for task in plan.tasks:
        first = seen.setdefault(task.id, task)
        if first is not task:
            message = f"task {task.number} is there twice: also in line {first.line}"
            plan.error(task.file, task.line, message, "give one of them another number")
        if is_number(task.number) and not task.number.strip("0."):
            plan.error(task.file, task.line, f"task {task.number}: a number must be above 0", "begin with 1")


def _type(plan: Plan, task: PlanTask) -> None:
    if task.type not in TYPES:
        message = f"task {task.id}: the type {task.type!r:.40} is read as regular"
        plan.warn(task.file, task.line_of("type"), message, "a type is one of: " + ", ".join(TYPES))
        task.type = "regular"
    if task.type == "integration" and not task.dependency_references:
        message = f"task {task.id} integrates, but depends on nothing"
        plan.error(task.file, task.line_of("type"), message, "name the tasks that it integrates")


def _groups(plan: Plan) -> None:
    """Warns about a task whose group is not among the groups that the plan names."""
    groups = dict.fromkeys(plan.worktree_groups)
    for task in plan.tasks if groups else ():
        if task.worktree_group and task.worktree_group not in groups:
            near = nearest(task.worktree_group, groups) if plan.use_suggestion() else ""
            names = ", ".join(shortened(name) for name in plan.worktree_groups[:12])
            hint = f"did you mean {shortened(near)}?" if near else f"the groups are: {names}"
            message = f"task {task.id}: there is no worktree group {task.worktree_group!r:.60}"
            plan.warn(task.file, task.line_of("worktree_group"), message, hint, kind="group")


class _Agents:
    """The known agents. An unknown agent is only a warning: the default agent does its work."""

    def __init__(self, plan: Plan, agents: Collection[str]) -> None:
        self.plan = plan
        self.names = agents
        self.hints: dict[str, str] = {}

    def check(self) -> None:
        """Warns about unknown agents and replaces them by the default agent."""
        plan = self.plan
        if plan.default_agent:
            file, line = plan.setting_lines["default_agent"]
            if not self._is_known(plan.default_agent, file, line, "default_agent: ", "; the usual one is used"):
                plan.default_agent = ""
        for task in plan.tasks:
            if task.agent and not self._is_known(task.agent, task.file, task.line_of("agent"), f"task {task.id}: "):
                default = "" if plan.default_agent else plan.default_agents.get(task.file, "")
                task.agent = default if default in self.names else ""
        self._check_reviewers()

    def _check_reviewers(self) -> None:
        file, line = self.plan.setting_lines.get("quality_control", ("", 0))
        control = self.plan.quality_control
        names = [name for key in REVIEWERS for name in control.get("agents", {}).get(key, ())]
        for name in filter(None, [control.get("review_agent"), *names]):
            self._is_known(name, file, line, "quality_control: ", "")

    def _is_known(self, name: str, file: str, line: int, whose: str, instead: str = INSTEAD) -> bool:
        if name in self.names:
            return True
        if name not in self.hints:
            near = nearest(name, self.names) if self.plan.use_suggestion() else ""
            self.hints[name] = f"did you mean {near}?" if near else "see 'sow agent list'"
        message = f"{whose}there is no role {name!r:.60}{instead}"
        self.plan.warn(file, line, message, self.hints[name], kind="agent")
        return False


def _review_mode(plan: Plan) -> None:
    mode = plan.quality_control.get("agents", {}).get("mode", MODES[0])
    if mode not in MODES:
        file, line = plan.setting_lines["quality_control"]
        plan.warn(file, line, f"quality_control: {mode!r:.60} is no mode", "a mode is one of: " + ", ".join(MODES))


def _cycles(plan: Plan) -> None:
    tasks = {task.id: task for task in plan.tasks}
    for circle in graph.cycles({task.id: task.depends_on for task in plan.tasks}):
        first = tasks[circle[0]]
        path = circle if len(circle) <= 20 else [*circle[:10], "…", *circle[-9:]]
        message = f"a cycle of dependencies: {' → '.join(path)}"
        plan.error(first.file, first.line_of("depends_on"), message, "remove one of these dependencies")


def _order_overlaps(plan: Plan) -> None:
    """Makes the later of two tasks wait if both write the same file or share a group."""
    needs = plan.needs()
    writers = [(file, tasks) for file, tasks in _writers(plan).items() if len(tasks) > 1]
    shared = writers + [("", tasks) for tasks in _members(plan).values() if len(tasks) > 1]
    level = {task: number for number, wave in enumerate(graph.waves(needs)) for task in wave}
    before = graph.ancestor_bits(needs) if shared else {}
    order = {task: index for index, task in enumerate(needs)}
    waits: dict[str, dict[str, None]] = {task: {} for task in needs}
    for file, tasks in shared:
        for first, second in pairwise(sorted(tasks, key=lambda task: level[task.id])):
            if first.id in waits[second.id] or before[second.id] >> order[first.id] & 1:
                continue
            waits[second.id][first.id] = None
            if not file:
                second.group_dependencies.append(first.id)
            elif level[first.id] == level[second.id]:
                message = (
                    f"tasks {first.id} and {second.id} both write {shortened(file)}: {second.id} waits for {first.id}"
                )
                plan.warn(second.file, second.line_of("files"), message)
    for task in plan.tasks:
        task.implied_dependencies = list(waits[task.id])


def _members(plan: Plan) -> dict[str, list[PlanTask]]:
    """Returns the tasks of each group that shares a worktree one after the other."""
    tasks_of: dict[str, list[PlanTask]] = {}
    for task in plan.tasks:
        if task.worktree_group and task.worktree_group not in plan.parallel_groups:
            tasks_of.setdefault(task.worktree_group, []).append(task)
    return tasks_of


def _writers(plan: Plan) -> dict[str, list[PlanTask]]:
    tasks_of: dict[str, list[PlanTask]] = {}
    for task in plan.tasks:
        for file in dict.fromkeys(posixpath.normpath(path) for path in task.files):
            tasks_of.setdefault(file, []).append(task)
    return tasks_of


MAX_DEPTH = 20


def task_description(plan: Plan, task: PlanTask) -> str:
    """Returns the Markdown of a task's description.md."""
    parts = [f"# {task.name}", (task.brief if task.text_has_fields else task.text).strip()]
    if not task.text_has_fields:  # in Markdown the fields are part of the text; from YAML they are added here
        parts += _fields(task)
        parts += [f"## {_title(name)}\n\n{_rendered(value)}" for name, value in task.context.items()]
    hidden = (
        plan.protected if task.text_has_fields else task.protected
    )  # in Markdown the task's own patterns are in its text
    parts.append(_section("Protected paths: do not change them", [f"`{pattern}`" for pattern in hidden]))
    if plan.context:
        parts.append("## Plan context\n\n" + _rendered(plan.context))
    return "\n\n".join(part for part in parts if part) + "\n"


def _fields(task: PlanTask) -> Iterator[str]:
    yield _section("Files", [f"`{path}`" for path in task.files])
    yield _section("Success criteria", [_criterion(criterion) for criterion in task.success_criteria])
    yield _section("Integration criteria", [_criterion(criterion) for criterion in task.integration_criteria])
    yield _section("Test commands", [f"`{command}`" for command in task.test_commands])


def _section(title: str, entries: list[str]) -> str:
    return f"## {title}\n\n" + "\n".join(f"- {entry}" for entry in entries) if entries else ""


def _criterion(criterion: Any) -> str:
    command = f" (`{criterion.command}`)" if criterion.command else ""
    return f"{criterion.text}{command}"


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _rendered(value: Any, depth: int = 0) -> str:
    """Returns data as nested bullets; a text of several lines stays one block."""
    indent = "  " * min(depth, MAX_DEPTH)
    if isinstance(value, dict):
        return "\n".join(f"{indent}- {_title(str(key))}:{_nested(item, depth)}" for key, item in value.items())
    if isinstance(value, list):
        return "\n".join(f"{indent}-{_nested(item, depth)}" for item in value)
    return "" if value is None else str(value)


def _nested(value: Any, depth: int) -> str:
    if isinstance(value, (dict, list)):
        return "\n" + _rendered(value, depth + 1) if value else ""
    text = "" if value is None else str(value).rstrip("\n")
    if "\n" not in text:
        return f" {text}" if text else ""
    indent = "  " * min(depth + 1, MAX_DEPTH)
    return "".join(f"\n{indent}{line}".rstrip(" ") for line in text.split("\n"))


SPEC_KIT, TASK_MASTER, BACKLOG = "spec-kit", "Task Master", "Backlog.md"
BOXES = ("- [ ] T", "- [x] T", "- [X] T", "* [ ] T", "* [x] T", "* [X] T")


def format_of(name: str, text: str) -> str:
    """Returns the name of the tool that wrote a file, or an empty text for a plan of sow."""
    file, _ = file_and_tag(name)
    if file.lower().endswith(JSON_ENDING):
        return TASK_MASTER
    if not file.lower().endswith((".md", ".markdown")):
        return ""
    folder, _, base = f"/{file}".rpartition("/")
    if text.startswith("---") and (
        (folder.endswith("/tasks") and " - " in base) or _is_backlog(text[: text.find("\n---", 3) + 1])
    ):
        return BACKLOG
    is_tasks_file = file.rpartition("/")[2].lower() == "tasks.md"
    if "] T" in text and (is_tasks_file or "\n## Phase " in text) and _is_spec_kit(text):
        return SPEC_KIT
    return ""


def _is_backlog(header: str) -> bool:
    """Returns whether a YAML block has a title and an id such as TASK-12."""
    fields = {
        key: value.strip(" '\"") for key, colon, value in (row.partition(":") for row in header.split("\n")) if colon
    }
    prefix, dash, number = fields.get("id", "").partition("-")
    return "title" in fields and prefix.isalpha() and bool(dash) and number[:1].isdigit()


def _is_spec_kit(text: str) -> bool:
    """Returns whether a text has boxes with ids such as T012, and no heading of a task of sow."""
    has_box = False
    for line in text.split("\n"):
        bare = line.lstrip()
        name = bare.lstrip("# ").lower() if bare.startswith("#") else ""
        if name.startswith(("task ", "task-")) and name[5:6].isdigit():
            return False
        has_box = has_box or (bare.startswith(BOXES) and (bare[7:10].isdigit() or bare[7:10] == "XXX"))
    return has_box


def module_of(name: str) -> ModuleType:
    """Returns the module of a format; a plan of sow loads none of them."""
    if name == SPEC_KIT:
        from sow.plans.task_lists import spec_kit

        return spec_kit
    if name == TASK_MASTER:
        from sow.plans.task_lists import task_master

        return task_master
    from sow.plans.task_lists import backlog

    return backlog


def read_task_list(plan: Plan, source: PlanSource, text: str, tool: str) -> str:
    """Adds the tasks of one file to the plan; returns the plan's name, or an empty text."""
    plan.formats[source.name] = tool
    name: str = module_of(tool).read(plan, source, text)
    return name


def check_together(plan: Plan) -> None:
    """Checks what only all files of Backlog.md together show: each id is there once, and dependencies were given."""
    first: dict[str, str] = {}
    tasks = [task for task in plan.tasks if plan.formats.get(task.file) == BACKLOG]
    for task in tasks:
        if first.setdefault(task.number, task.file) != task.file:
            message = f"task {task.number} is also in {first[task.number]}"
            plan.error(task.file, task.line_of("id"), message, "give one of the two files another id")
    for task in tasks:
        for reference in task.dependency_references:
            if reference.task not in first:
                message = f"task {task.number} depends on task {reference.task}, which was not given"
                hint = "give the folder of all task files; --task of sow run chooses among them"
                plan.error(task.file, reference.line, message, hint)
        task.dependency_references = [reference for reference in task.dependency_references if reference.task in first]


YAML_ENDINGS = (".yaml", ".yml")
MAX_LINES = 400_000  # of all files together
FORM = "write one as: ## Task 1: name"
YAML_FORM = "write them below tasks:, each with number, name and prompt"


def read(sources: Sequence[PlanSource], *, agents: Collection[str] = (), findings: Sequence[PlanFinding] = ()) -> Plan:
    """Reads, joins and checks the files; adds all problems to the plan's findings, after the given ones."""
    plan = Plan()
    plan.files = [source.name for source in sources]
    for finding in findings:
        plan.add(finding)
    if not _read_all(plan, sources):
        return plan
    check_together(plan)
    if not plan.tasks and not plan.counts[True]:
        plan.error(plan.files[0] if plan.files else "plan", 0, "there are no tasks", FORM)
    plan.name = plan.name or (stem(plan.files[0]) if plan.files else "")
    _disambiguate_ids(plan)
    _give_default_agents(plan)
    values.resolve(plan)
    check_plan(plan, agents)
    _sort_findings(plan)
    return plan


def _read_all(plan: Plan, sources: Sequence[PlanSource]) -> bool:
    """Reads the files in order; returns False if the plan is too large, and nothing more is done with it."""
    lines = 0
    for source in sources:
        text = source.text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        lines += text.count("\n")
        if lines > MAX_LINES:
            plan.error(source.name, 0, f"the plan has more than {MAX_LINES:,} lines", "split it into several plans")
            return False
        _read_one(plan, source, text)
        if len(plan.tasks) > MAX_TASKS:
            plan.error(source.name, 0, f"the plan has more than {MAX_TASKS:,} tasks", "split it into several plans")
            return False
    return True


def _read_one(plan: Plan, source: PlanSource, text: str) -> None:
    tasks, errors = len(plan.tasks), plan.counts[True]
    tool = format_of(source.name, text)
    if tool:
        name = read_task_list(plan, source, text, tool)
        plan.name = plan.name or name
        return
    if source.name.lower().endswith(YAML_ENDINGS):
        from sow.plans import yaml_plan  # a Markdown plan does not load the YAML parser

        name = yaml_plan.read(plan, text, source.name)
    else:
        name = reader.read(plan, text, source.name, in_folder=source.in_folder)
    plan.name = plan.name or name
    if len(plan.tasks) > tasks or plan.counts[True] > errors:
        return
    if source.in_folder:
        plan.warn(source.name, 0, "there are no tasks in this file", "it is left out")
    else:
        form = YAML_FORM if source.name.lower().endswith(YAML_ENDINGS) else FORM
        plan.error(source.name, 0, "there are no tasks in this file", form)


def _disambiguate_ids(plan: Plan) -> None:
    """Prefixes a number that occurs in two files with the file's name (`setup#2`), or its path if names collide."""
    files_of: dict[str, set[str]] = {}
    for task in plan.tasks:
        files_of.setdefault(task.number, set()).add(task.file)
    stems: dict[str, int] = {}
    for file in plan.files:
        stems[stem(file)] = stems.get(stem(file), 0) + 1
    for task in plan.tasks:
        if len(files_of[task.number]) > 1:
            name = stem(task.file)
            task.id = f"{name if stems[name] == 1 else task.file}#{task.number}"


def _give_default_agents(plan: Plan) -> None:
    """Gives the tasks of several files the default agent of their own file; no file's default counts in another."""
    if len(plan.files) > 1:
        plan.default_agent = ""
        for task in plan.tasks:
            task.agent = task.agent or plan.default_agents.get(task.file, "")


def _sort_findings(plan: Plan) -> None:
    """Sorts findings by file and line, and adds the number of those beyond the limit."""
    position = {file: index for index, file in enumerate(plan.files)}
    plan.findings.sort(key=lambda finding: (position.get(finding.file, -1), finding.line))
    for error, kind in ((True, "errors"), (False, "warnings")):
        more = plan.counts[error] - MAX_FINDINGS
        if more > 0:
            file = plan.files[0] if plan.files else "plan"
            text = f"there are {more:,} more {kind}"
            plan.findings.append(PlanFinding(file, 0, text, hint="fix these first", error=error, kind="more"))
