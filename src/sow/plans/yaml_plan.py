"""Plans in YAML: `name` and `tasks` at the top, or below `plan:`, with every key that real plans have."""

from __future__ import annotations

from sow.domain.plan import Criterion, Plan, PlanTask, Reference
from sow.plans import labels, words
from sow.plans.nodes import BadYamlError, Node, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBER_KEYS = ("number", "id", "task_number")
TEXT_KEYS = ("prompt", "description")
DEPENDENCY_KEYS = ("depends_on", "dependencies")
# Parts that the agent gets as they are.
CONTEXT_KEYS = (
    "test_first",
    "implementation",
    "verification",
    "commit",
    "completed_at",
    "code_quality",
    "runtime_metadata",
)
READ_KEYS = frozenset(
    {
        *NUMBER_KEYS,
        *TEXT_KEYS,
        *DEPENDENCY_KEYS,
        *CONTEXT_KEYS,
        "name",
        "files",
        "agent",
        "estimated_time",
        "status",
        "type",
        "worktree_group",
        "success_criteria",
        "integration_criteria",
        "test_commands",
    }
)
TOP_KEYS = frozenset(
    {
        "name",
        "tasks",
        "plan",
        "conductor",
        "sow",
        "planner_compliance",
        "data_flow_registry",
        "default_agent",
        "max_concurrency",
        "quality_control",
        "worktree_groups",
        "metadata",
        "version",
        "description",
    }
)


def read(plan: Plan, text: str, file: str) -> str:
    """Add the tasks of one file to the plan; returns the file's own name."""
    try:
        root = parse(text)
    except BadYamlError as error:
        plan.error(file, error.line, error.message, error.hint)
        return ""
    if not isinstance(root.value, dict):
        plan.error(file, root.line, "the file is not a mapping of fields", "begin it with name: and tasks:")
        return ""
    _settings(plan, root, file)
    inner = root.get("plan") or root
    tasks = inner.get("tasks")
    if tasks is not None and not isinstance(tasks.value, list):
        plan.error(file, tasks.line, "tasks must be a list", "write one entry with a dash for each task")
    for index, node in enumerate(tasks.value if tasks is not None and isinstance(tasks.value, list) else (), 1):
        task = _task(plan, node, file, index)
        if task is not None:
            plan.tasks.append(task)
    for key in root.value:
        if key not in TOP_KEYS:
            plan.warn(
                file, root.value[key].line, f"the key {key!r:.60} is not understood", "it is kept out of the tasks"
            )
    return _name(root, inner)


def _name(root: Node, inner: Node) -> str:
    metadata = inner.get("metadata") or root.get("metadata")
    for holder, key in ((root, "name"), (inner, "name"), (metadata, "feature_name"), (metadata, "name")):
        found = holder.get(key) if holder is not None else None
        if found is not None and isinstance(found.value, str):
            return found.value.strip()
    return ""


def read_settings(plan: Plan, text: str, file: str, *, first_line: int) -> None:
    """The settings in a Markdown file's frontmatter."""
    try:
        _settings(plan, parse(text, first_line), file)
    except BadYamlError as error:
        plan.error(file, error.line, error.message, error.hint)


def _settings(plan: Plan, root: Node, file: str) -> None:
    """What holds for the whole plan; of several files the first that says something counts."""
    for holder in (root.get("sow"), root.get("conductor"), root.get("plan"), root):
        if holder is None or not isinstance(holder.value, dict):
            continue
        agent = holder.get("default_agent")
        if agent is not None and not plan.default_agent:
            plan.default_agent = _text(plan, agent, file, "default_agent")
        most = holder.get("max_concurrency")
        if most is not None and plan.max_concurrency is None:
            plan.max_concurrency = _count(plan, most, file, "max_concurrency")
        control = holder.get("quality_control")
        if control is not None and not plan.quality_control:
            plan.quality_control = control.data() if isinstance(control.value, dict) else {}
        groups = holder.get("worktree_groups")
        for group in groups.value if groups is not None and isinstance(groups.value, list) else ():
            ident = group.get("group_id") or group.get("id") or group.get("name")
            plan.worktree_groups += [ident.value] if ident is not None and isinstance(ident.value, str) else []


def _task(plan: Plan, node: Node, file: str, index: int) -> PlanTask | None:
    if not isinstance(node.value, dict):
        plan.error(file, node.line, f"task {index} of the list is not a mapping", "give it number, name and prompt")
        return None
    number = _first(node, NUMBER_KEYS)
    name = node.get("name")
    if number is None or not isinstance(number.value, str):
        plan.error(file, node.line, f"task {index} of the list has no number", "give it a number: 1")
        return None
    task = PlanTask(number=words.plain_id(number.value), name="", file=file, line=node.line)
    if not words.is_id(task.number):
        plan.error(file, number.line, f"{number.value!r:.60} is not an id of a task", "use 1, 2.5 or integration-1")
    task.name = _text(plan, name, file, "name").strip() if name is not None else ""
    if not task.name:
        plan.error(file, name.line if name else node.line, f"task {task.number} has no name", "give it a name")
    text = _first(node, TEXT_KEYS)
    task.text = _text(plan, text, file, "prompt").strip("\n") if text is not None else ""
    if not task.text.strip():
        plan.error(
            file,
            text.line if text else node.line,
            f"task {task.number} has no prompt",
            "say in prompt or description what is to be done",
        )
    _facts(plan, task, node)
    _lists(plan, task, node)
    _context(plan, task, node)
    return task


def _first(node: Node, keys: tuple[str, ...]) -> Node | None:
    return next((found for key in keys if (found := node.get(key)) is not None), None)


def _facts(plan: Plan, task: PlanTask, node: Node) -> None:
    for key in DEPENDENCY_KEYS:
        found = node.get(key)
        if found is not None:
            _dependencies(plan, task, found)
    for key, setter in (("estimated_time", labels.set_estimate), ("status", labels.set_status)):
        found = node.get(key)
        if found is not None:
            setter(plan, task, _text(plan, found, task.file, key), found.line)
    for key in ("agent", "worktree_group"):
        found = node.get(key)
        if found is not None:
            setattr(task, key, _text(plan, found, task.file, key).strip())
    kind = node.get("type")
    task.type = _text(plan, kind, task.file, "type").strip().lower() if kind is not None else "regular"


def _dependencies(plan: Plan, task: PlanTask, node: Node) -> None:
    """Numbers, texts as in Markdown, and {file: F, task: N}."""
    entries = node.value if isinstance(node.value, list) else [node]
    for entry in entries:
        if isinstance(entry.value, str):
            labels.set_dependencies(plan, task, entry.value, entry.line)
            continue
        file, number = entry.get("file"), entry.get("task")
        if number is not None and isinstance(number.value, str):
            name = file.value if file is not None and isinstance(file.value, str) else ""
            task.references.append(Reference(words.plain_id(number.value), file=name, line=entry.line))
        else:
            plan.error(
                task.file,
                entry.line,
                f"task {task.number}: a dependency is not understood",
                "write a number, or {file: F, task: N}",
            )


def _lists(plan: Plan, task: PlanTask, node: Node) -> None:
    task.files = [
        text
        for found in _entries(plan, task, node, "files")
        for text in [_text(plan, found, task.file, "files")]
        if text
    ]
    task.test_commands = [
        _text(plan, each, task.file, "test_commands") for each in _entries(plan, task, node, "test_commands")
    ]
    task.success_criteria = [_criterion(plan, task, each) for each in _entries(plan, task, node, "success_criteria")]
    task.integration_criteria = [
        _criterion(plan, task, each) for each in _entries(plan, task, node, "integration_criteria")
    ]
    metadata = node.get("runtime_metadata")
    if metadata is not None:
        for key in ("dependency_checks", "documentation_targets", "prompt_blocks"):
            getattr(task, key).extend(_line_of(each) for each in _entries(plan, task, metadata, key))
    implementation = node.get("implementation")
    if implementation is not None and isinstance(implementation.value, dict):
        task.key_points = [_line_of(each) for each in _entries(plan, task, implementation, "key_points")]


def _entries(plan: Plan, task: PlanTask, node: Node, key: str) -> Iterator[Node]:
    found = node.get(key)
    if found is None:
        return
    if isinstance(found.value, list):
        yield from found.value
    elif isinstance(found.value, str):
        yield found
    else:
        plan.error(
            task.file, found.line, f"task {task.number}: {key} must be a list", "write one entry with a dash for each"
        )


def _line_of(node: Node) -> str:
    """An entry that may be a text or a mapping: the command, the content, or all of it on one line."""
    if isinstance(node.value, str):
        return node.value
    for key in ("command", "content", "point", "location"):
        found = node.get(key)
        if found is not None and isinstance(found.value, str):
            section = node.get("section")
            return f"{found.value} {section.value}" if key == "location" and section is not None else str(found.value)
    data = node.data()
    return "; ".join(f"{key}: {value}" for key, value in data.items()) if isinstance(data, dict) else str(data)


def _criterion(plan: Plan, task: PlanTask, node: Node) -> Criterion:
    if isinstance(node.value, str):
        return Criterion(node.value)
    text = node.get("criterion") or node.get("text")
    shown = node.get("verification")
    parts = {
        key: each.value
        for key in ("command", "expected", "description")
        if shown is not None and (each := shown.get(key)) is not None and isinstance(each.value, str)
    }
    if text is None or not isinstance(text.value, str):
        return Criterion(_line_of(node), **parts)
    return Criterion(text.value, **parts)


def _context(plan: Plan, task: PlanTask, node: Node) -> None:
    """Structured parts, and keys that nobody knows: the agent sees them all, and the second are named in a warning."""
    for key, value in node.value.items():
        if key in CONTEXT_KEYS or key not in READ_KEYS:
            task.context[key] = value.data()
        if key not in READ_KEYS:
            plan.warn(task.file, value.line, f"task {task.number}: the key {key!r:.60} is passed on as it is", "")
    commit = node.get("commit")
    if commit is not None and isinstance(commit.value, dict):
        task.commit = commit.data()


def _text(plan: Plan, node: Node | None, file: str, key: str) -> str:
    if node is None:
        return ""
    if isinstance(node.value, str):
        return node.value
    plan.error(file, node.line, f"{key} must be a text", f"write: {key}: some words")
    return ""


def _count(plan: Plan, node: Node, file: str, key: str) -> int | None:
    if (
        isinstance(node.value, str)
        and node.value.isascii()
        and node.value.isdigit()
        and 0 < int(node.value[:9]) <= 1000
    ):
        return int(node.value)
    plan.error(file, node.line, f"{key} must be a whole number from 1 to 1000", f"write: {key}: 4")
    return None
