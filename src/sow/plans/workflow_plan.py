"""Reads a workflow's coordination plan: YAML frontmatter with the crew, prose below it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

from sow.domain.plans import graph
from sow.domain.plans.plan import Plan
from sow.domain.text.markdown_lines import frontmatter
from sow.domain.text.yaml_nodes import BadYamlError, Node
from sow.domain.workflows import crew_plan
from sow.domain.workflows.crew_plan import DesignProblem, Member, RequiredAgent, Verifier, WorkflowPlan
from sow.plans import values
from sow.plans.field_reader import FieldReader, parse

MAX_TEXT = 1 << 20  # characters
MAX_LIST = 100  # entries of one field
MAX_LINE = 2000  # characters of one entry
MIN_TIMEOUT, MAX_TIMEOUT = 1.0, 7 * 24 * 3600.0  # seconds
FORM = "begin the file with --- and the fields workflow, task_id, agents and verifiers, and end those with ---"
HINT = "it is not read"
ADVICE = "did you mean "


def read(text: str, file: str = crew_plan.PLAN_FILE) -> WorkflowPlan:
    """Reads a plan; problems of its form are among its complaints."""
    plan = WorkflowPlan(file)
    normalized = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if len(normalized) > MAX_TEXT:
        _complain(plan, 0, "size", f"the plan has more than {MAX_TEXT:,} characters", "move prose into other files")
        return plan
    _refuse_broken(plan, normalized)
    header, plan.prose, plan.prose_line = frontmatter(normalized)
    if not header.strip():
        _complain(plan, 1, "form", "the plan has no frontmatter, or one that never ends", FORM)
        return plan
    _read_head(plan, header)
    _order(plan)
    set_digests(plan, {})
    plan.complaints.sort(key=lambda complaint: complaint.line)
    return plan


def _complain(plan: WorkflowPlan, line: int, rule: str, text: str, hint: str) -> None:
    plan.complaints.append(DesignProblem(plan.file, line, rule, text, hint))


def _refuse_broken(plan: WorkflowPlan, text: str) -> None:
    """Complains about characters that are not text."""
    index = next((i for i, character in enumerate(text) if character == "\0" or "\ud800" <= character <= "\udfff"), -1)
    if index >= 0:
        line = text.count("\n", 0, index) + 1
        _complain(plan, line, "form", "a character that is no text", "save the file as UTF-8 without NUL bytes")


def _read_head(plan: WorkflowPlan, header: str) -> None:
    """Reads the fields; findings of the mapping become complaints of the plan."""
    collector = Plan()
    try:
        root = FieldReader(collector, plan.file, parse(header, 2))
    except BadYamlError as error:
        _complain(plan, error.line, "form", error.message, error.hint)
        return
    plan.name = _line(root, "workflow")
    plan.task_id = _line(root, "task_id")
    for key in ("workflow", "task_id"):
        if root.node_of(key) is None:
            collector.error(plan.file, 1, f"the plan has no {key}", f"write: {key}: user_management")
    _each(root, "agents", lambda entry, name: plan.members.append(_member(entry, name)))
    _each(root, "verifiers", lambda entry, name: plan.verifiers.append(_checker(entry, name)))
    _each(root, "required_agents", lambda entry, name: plan.required.append(_required(entry, name)))
    _groups(plan, root)
    root.warn_unknown_keys(HINT)
    if not plan.members and not collector.errors:
        collector.error(plan.file, 1, "the plan has no agents", "write them below agents:, each with a name")
    # A mistyped key would silently drop a dependency or a verifier, so it is an error.
    plan.complaints += [
        DesignProblem(
            problem.file,
            problem.line,
            "form",
            problem.message,
            problem.hint,
            error=problem.error or ADVICE in problem.hint,
        )
        for problem in collector.findings
    ]


def _each(root: FieldReader, key: str, add: Callable[[FieldReader, str], None]) -> None:
    """Reads a list of mappings with a name, and warns about unknown keys in them."""
    field = root.node_of(key)
    if field is None:
        return
    if not isinstance(field.value, list):
        root.report_type(field, key, "a list", f"{key}: with one dash for each entry")
        return
    if len(field.value) > crew_plan.MAX_MEMBERS:
        root.report_type(field, key, f"a list of at most {crew_plan.MAX_MEMBERS} entries", "several workflows")
        return
    for number, node in enumerate(field.value, 1):
        if not isinstance(node.value, dict):
            root.report_type(node, f"{key}[{number}]", "a mapping", "- name: database_agent")
            continue
        entry = FieldReader(root.plan, root.file, node, f"{key}[{number}]: ")
        name = _line(entry, "name")
        if name:
            entry.owner = f"{name:.63}: "
            add(entry, name)
            entry.warn_unknown_keys(HINT)
        elif entry.node_of("name") is None:
            root.plan.error(root.file, node.line, f"{key}[{number}] has no name", "write: name: database_agent")


def _line(entry: FieldReader, key: str) -> str:
    """Returns a text on one line, of limited length."""
    node = entry.node_of(key)
    text = entry.text_of(node, key).strip()
    if node is not None and isinstance(node.value, str) and not text:
        entry.report_type(node, key, "a text that is not empty", f"{key}: some words")
    if node is None or _is_line(text):
        return text
    entry.report_type(node, key, f"one line of at most {MAX_LINE:,} characters", f"{key}: some words")
    return ""


def _is_line(text: str) -> bool:
    return len(text) <= MAX_LINE and not any(character < " " or "\x7f" <= character <= "\x9f" for character in text)


def _lines(entry: FieldReader, key: str) -> list[str]:
    """Returns a list of such lines."""
    nodes = entry.entries(key)
    if len(nodes) > MAX_LIST:
        entry.report_type(nodes[0], key, f"a list of at most {MAX_LIST} entries", "several agents")
        return []
    texts = [(node, entry.text_of(node, key).strip()) for node in nodes]
    for node, text in texts:
        if isinstance(node.value, str) and not (text and _is_line(text)):
            entry.report_type(node, key, "a list of single lines", f"{key}: [one, two]")
    return [text for _, text in texts if text and _is_line(text)]


def _member(entry: FieldReader, name: str) -> Member:
    kind = _line(entry, "role") or crew_plan.DOER
    if kind not in crew_plan.KINDS:
        entry.report_type(entry.node.value["role"], "role", " or ".join(crew_plan.KINDS), "role: doer")
        kind = crew_plan.DOER
    member = Member(
        name,
        agent=_line(entry, "agent"),
        kind=kind,
        task_id=_line(entry, "task_id"),
        dependencies=_lines(entry, "dependencies"),
        verifier=_line(entry, "verifier"),
        inputs=[crew_plan.normalized_path(path) for path in _lines(entry, "inputs")],
        outputs=[crew_plan.own_path(name, path) for path in _lines(entry, "outputs")],
        criteria=_lines(entry, "criteria"),
        timeout=_timeout(entry),
        line=entry.node.line,
    )
    member.lines = {key: node.line for key, node in entry.node.value.items()}
    return member


def _timeout(entry: FieldReader) -> float:
    """Returns the timeout in seconds; it is written as `60m`, `1h 30m` or `90s`."""
    node = entry.node_of("timeout")
    if node is None:
        return crew_plan.TIMEOUT
    minutes = values.minutes(node.value) if isinstance(node.value, str) else None
    if minutes is None or not MIN_TIMEOUT <= minutes * 60 <= MAX_TIMEOUT:
        entry.report_type(node, "timeout", "a duration from 1s to 7d", "timeout: 60m")
        return crew_plan.TIMEOUT
    return minutes * 60


def _checker(entry: FieldReader, name: str) -> Verifier:
    return Verifier(
        name, agent=_line(entry, "agent") or "verifier", verifies=_lines(entry, "verifies"), line=entry.node.line
    )


def _required(entry: FieldReader, name: str) -> RequiredAgent:
    return RequiredAgent(
        name,
        description=_line(entry, "description"),
        capabilities=_multiline_text(entry, "capabilities"),
        prompt=_multiline_text(entry, "prompt"),
        line=entry.node.line,
    )


def _multiline_text(entry: FieldReader, key: str) -> str:
    """Returns a text of any length; each entry of a list becomes one line."""
    return "\n".join(text.strip() for node in entry.entries(key) if (text := entry.text_of(node, key)).strip())


def _groups(plan: WorkflowPlan, root: FieldReader) -> None:
    """Reads the sequence: each entry is a name, or a list of names that work at the same time."""
    field = root.node_of("groups")
    if field is None:
        return
    plan.groups_line = field.line
    for node in root.entries("groups"):
        inner = node.value if isinstance(node.value, list) else [node]
        names = [_name_in_group(root, inner_node) for inner_node in inner]
        plan.order.append([name for name in names if name])


def _name_in_group(root: FieldReader, node: Node) -> str:
    if isinstance(node.value, str) and _is_line(node.value) and node.value.strip():
        return node.value.strip()
    root.report_type(
        node, "groups", "a list of names and lists of names", "groups: [database_agent, [api_agent, ui_agent]]"
    )
    return ""


def _order(plan: WorkflowPlan) -> None:
    """Orders agents one by one by dependencies if there are no groups; leaves out architects that no agent needs."""
    if plan.groups_line:
        return
    needs = plan.needs()
    needed = {name for names in needs.values() for name in names}
    on_call = {
        member.name for member in plan.members if member.kind == crew_plan.ARCHITECT and member.name not in needed
    }
    order = graph.ready_order(needs, dict.fromkeys(needs, 1.0)) if not graph.cycles(needs) else list(needs)
    plan.order = [[name] for name in order if name not in on_call]


def set_digests(plan: WorkflowPlan, instructions: dict[str, str | None]) -> None:
    """Sets a digest of each member and of the plan, instructions included; layout and comments do not count."""
    for member in plan.members:
        texts = [_instruction_lines(instructions, name) for name in (member.name, member.verifier)]
        plan.sections[member.name] = _digest([_section(plan, member), texts])
    whole = {
        "workflow": plan.name,
        "task_id": plan.task_id,
        "sections": plan.sections,
        "order": plan.order,
        "verifiers": [
            [verifier.name, verifier.agent, verifier.verifies, _instruction_lines(instructions, verifier.name)]
            for verifier in plan.verifiers
        ],
        "required": [
            [required.name, required.description, required.capabilities, required.prompt] for required in plan.required
        ],
        "prose": _lines_of(plan.prose),
    }
    plan.digest = _digest(whole)


def _instruction_lines(instructions: dict[str, str | None], name: str) -> list[str]:
    return _lines_of(instructions.get(name) or "")


def _lines_of(text: str) -> list[str]:
    """Returns the lines of a text without trailing blanks, which do not count."""
    return [line.rstrip() for line in text.strip().split("\n")]


def _section(plan: WorkflowPlan, member: Member) -> dict[str, object]:
    """Returns a member's entry with its verifier and the group before it."""
    checker = plan.checker(member.verifier)
    index = next((i for i, group in enumerate(plan.order) if member.name in group), 0)
    return {
        "name": member.name,
        "agent": member.agent,
        "kind": member.kind,
        "task_id": member.task_id,
        "dependencies": sorted(member.dependencies),
        "verifier": [member.verifier, checker.agent if checker is not None else ""],
        "inputs": sorted(member.inputs),
        "outputs": sorted(member.outputs),
        "criteria": member.criteria,
        "timeout": member.timeout,
        "after": sorted(plan.order[index - 1]) if index and plan.groups_line else [],
    }


def _digest(document: object) -> str:
    canonical = json.dumps(document, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
