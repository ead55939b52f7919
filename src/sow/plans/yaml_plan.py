"""Reads plans in YAML: `name` and `tasks` at the top or below `plan:`."""

from __future__ import annotations

from sow.domain.plans.plan import Criterion, DependencyReference, Plan, PlanTask
from sow.domain.text.yaml_nodes import BadYamlError, Node
from sow.plans import fields, settings, values
from sow.plans.field_reader import FieldReader, parse

NUMBER_KEYS = ("number", "id", "task_number")
TEXT_KEYS = ("prompt", "description")
DEPENDENCY_KEYS = ("depends_on", "dependencies")
# Parts that the agent gets unchanged.
CONTEXT_KEYS = ("test_first", "implementation", "verification", "commit", "completed_at", "code_quality")
RUNTIME_KEYS = ("dependency_checks", "documentation_targets", "prompt_blocks")
CRITERION_KEYS = ("criterion", "text")
LINE_KEYS = (("command",), ("content",), ("point",), ("location", "section"))
VERIFICATION_KEYS = ("command", "expected", "description")
HINT = "the agent sees it as plan context"


def read(plan: Plan, text: str, file: str) -> str:
    """Adds the tasks of one file to the plan; returns the file's own name."""
    try:
        root = FieldReader(plan, file, parse(text))
    except BadYamlError as error:
        plan.error(file, error.line, error.message, error.hint)
        return ""
    inner = root.inner("plan")
    name = _name(root, inner)
    for section in (inner, root):
        tasks = section.node_of("tasks") if section is not None else None
        if tasks is None or section is None:
            continue
        if not isinstance(tasks.value, list):
            section.report_type(tasks, "tasks", "a list", "one entry with a dash for each task")
            continue
        for index, node in enumerate(tasks.value, 1):
            _add_task(plan, file, node, index)
    settings.read(root, inner)
    return name


def _name(root: FieldReader, inner: FieldReader | None) -> str:
    """Returns the first name that the plan or its metadata has."""
    names = [section.text("name") for section in (root, inner) if section is not None]
    for section in (inner, root):
        metadata = section.node.value.get("metadata") if section is not None else None
        for key in ("feature_name", "name"):
            node = metadata.value.get(key) if metadata is not None and isinstance(metadata.value, dict) else None
            names += [node.value] if node is not None and isinstance(node.value, str) else []
    return next((name.strip() for name in names if name.strip()), "")


def _add_task(plan: Plan, file: str, node: Node, index: int) -> None:
    if not isinstance(node.value, dict):
        message = f"task {index} of the list is not a mapping"
        plan.error(file, node.line, message, "give it number, name and prompt")
        return
    entry = FieldReader(plan, file, node, f"task {index} of the list: ")
    number = entry.first(NUMBER_KEYS)
    if number is None:
        plan.error(file, node.line, f"task {index} of the list has no number", "give it a number: 1")
        return
    if not isinstance(number.value, str):
        entry.report_type(number, "number", "a number or a word", "number: 1")
        return
    ident = values.normalized_id(number.value)
    if not values.is_id(ident):
        plan.error(file, number.line, f"{ident!r:.60} is not an id of a task", "use 1, 2.5 or integration-1")
        return
    entry.owner = f"task {ident}: "
    task = PlanTask(number=ident, name="", file=file, line=node.line)
    task.lines = {key: value.line for key, value in node.value.items()}
    task.name = _required(entry, task, ("name",), "give it a name")
    task.text = _required(entry, task, TEXT_KEYS, "say in prompt or description what is to be done")
    _facts(entry, task)
    _lists(entry, task)
    _context(entry, task)
    plan.tasks.append(task)


def _required(entry: FieldReader, task: PlanTask, keys: tuple[str, ...], hint: str) -> str:
    """Returns the texts under these keys, joined; reports an error if there is none or a type is wrong."""
    nodes = [(key, node) for key in keys if (node := entry.node_of(key)) is not None]
    texts = [entry.text_of(node, key).strip("\n") for key, node in nodes]
    if not any(text.strip() for text in texts) and all(isinstance(node.value, str) for _, node in nodes):
        line = nodes[0][1].line if nodes else task.line
        entry.plan.error(task.file, line, f"task {task.number} has no {keys[0]}", hint)
    return "\n\n".join(text for text in texts if text.strip())


def _facts(entry: FieldReader, task: PlanTask) -> None:
    for key in DEPENDENCY_KEYS:
        node = entry.node_of(key)
        if node is not None:
            _dependencies(entry, task, node)
    for key, setter in fields.SETTERS.items():
        value = entry.node_of(key)
        if value is not None and (text := entry.text_of(value, key)):
            setter(entry.plan, task, text, value.line)


def _dependencies(entry: FieldReader, task: PlanTask, node: Node) -> None:
    """Adds dependencies: numbers, texts as in Markdown, and {file: F, task: N}."""
    for entry_node in node.value if isinstance(node.value, list) else [node]:
        if isinstance(entry_node.value, str):
            fields.add_dependencies(entry.plan, task, entry_node.value, entry_node.line)
        elif isinstance(entry_node.value, dict):
            _reference(task, entry.nested(entry_node, "depends_on"))
        elif entry_node.value is not None:
            entry.report_type(entry_node, "a dependency", "a number, a text or a mapping", "1, or {file: F, task: N}")


def _reference(task: PlanTask, mapping: FieldReader) -> None:
    file, number = mapping.text("file").strip(), mapping.node_of("task")
    ident = values.normalized_id(mapping.text_of(number, "task"))
    if values.is_id(ident):
        task.dependency_references.append(DependencyReference(ident, file=file, line=mapping.node.line))
    elif number is None or isinstance(number.value, str):
        mapping.report_type(number or mapping.node, "task", "the id of a task", "{file: F, task: N}")
    unknown = mapping.warn_unknown_keys(HINT)
    if unknown:
        task.context.setdefault("dependencies", []).append({"task": ident, **unknown})


def _lists(entry: FieldReader, task: PlanTask) -> None:
    for node in entry.entries("files"):
        fields.add_files(entry.plan, task, entry.text_of(node, "files"), node.line)
    for node in entry.entries("protected"):
        text = entry.text_of(node, "protected")
        task.protected += fields.patterns(entry.plan, entry.owner, task.file, text, node.line)
    for node in entry.entries("test_commands"):
        command = _command(entry, task, node).strip()
        task.test_commands += [command] if command else []
    for key in ("success_criteria", "integration_criteria"):
        criteria = [_criterion(entry, task, node, key) for node in entry.entries(key)]
        getattr(task, key).extend(criterion for criterion in criteria if criterion.text)
    metadata = entry.inner("runtime_metadata")
    if metadata is not None:
        for key in RUNTIME_KEYS:
            getattr(task, key).extend(_line_of(node) for node in metadata.entries(key))
        task.context["runtime_metadata"] = metadata.node.data()
        metadata.warn_unknown_keys(HINT)


def _command(entry: FieldReader, task: PlanTask, node: Node) -> str:
    if not isinstance(node.value, dict):
        return entry.text_of(node, "test_commands")
    task.context.setdefault("test_commands", []).append(node.data())
    mapping = entry.nested(node, "test_commands")
    command = mapping.node_of("command")
    if command is None:
        mapping.report_type(node, "command", "there", "command: the command line")
    return mapping.text_of(command, "command")


def _criterion(entry: FieldReader, task: PlanTask, node: Node, key: str) -> Criterion:
    """Reads a text, or {criterion, verification: {command, expected, description}}."""
    if not isinstance(node.value, dict):
        return Criterion(entry.text_of(node, key).strip())
    mapping = entry.nested(node, key)
    text = mapping.text_of(mapping.first(CRITERION_KEYS), CRITERION_KEYS[0]).strip()
    verification = mapping.inner("verification")
    parts = {name: verification.text(name).strip() for name in VERIFICATION_KEYS} if verification is not None else {}
    unknown = {
        **mapping.warn_unknown_keys(HINT),
        **(verification.warn_unknown_keys(HINT) if verification is not None else {}),
    }
    if unknown:
        task.context.setdefault(key, []).append(node.data())
    return Criterion(text or _line_of(node), **parts)


def _line_of(node: Node) -> str:
    """Returns an entry as one line: its text, its command, its content, or all its fields."""
    data = node.data()
    if not isinstance(data, dict):
        return str(data)
    for keys in LINE_KEYS:
        if isinstance(data.get(keys[0]), str):
            return " ".join(str(data[key]) for key in keys if key in data)
    return "; ".join(f"{key}: {value}" for key, value in data.items())


def _context(entry: FieldReader, task: PlanTask) -> None:
    """Adds structured parts and unknown keys to the agent's context; warns about the unknown ones."""
    for key in CONTEXT_KEYS:
        node = entry.node_of(key)
        if node is not None:
            task.context[key] = node.data()
        if node is not None and key == "implementation" and isinstance(node.value, dict):
            task.key_points += [_line_of(point) for point in entry.nested(node, key).entries("key_points")]
    commit = task.context.get("commit")
    task.commit = commit if isinstance(commit, dict) else {"message": commit} if commit else {}
    task.context.update(entry.warn_unknown_keys(HINT))
