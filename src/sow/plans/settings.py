"""Reads the settings of a plan (agents, limits, quality control) and the context for its agents."""

from __future__ import annotations

from typing import Any

from sow.domain import network
from sow.domain.plans.plan import APPROVAL, Plan
from sow.domain.text.yaml_nodes import BadYamlError, Node
from sow.plans import fields
from sow.plans.field_reader import FieldReader, parse

GROUP_KEYS = ("group_id", "id", "name")
HINT = "agents see it as plan context"
APPROVE = "read the plan; to approve it, delete this line"
# Settings with fields of their own: the type of each field, or the fields of a mapping in it.
QUALITY_CONTROL = {
    "enabled": "flag",
    "retry_on_red": "count",
    "review_agent": "text",
    "agents": {"mode": "text", "explicit_list": "texts", "additional": "texts", "blocked": "texts"},
}
# Data that is no setting; agents get it unchanged.
CONTEXT = {
    "planner_compliance": {"planner_version": "text", "strict_enforcement": "flag", "required_features": "texts"},
    "data_flow_registry": {"producers": "inner", "consumers": "inner", "documentation_targets": "inner"},
    "metadata": "inner",
    "description": "text",
    "version": "text",
}


def read_frontmatter(plan: Plan, text: str, file: str, *, first_line: int) -> str:
    """Reads the settings in a Markdown file's frontmatter; returns the name in it."""
    try:
        root = FieldReader(plan, file, parse(text, first_line))
    except BadYamlError as error:
        plan.error(file, error.line, error.message, error.hint)
        return ""
    name = root.text("name")
    read(root, root.inner("plan"))
    return name


def read(root: FieldReader, inner: FieldReader | None) -> None:
    """Reads the settings from the top of a file and the mappings in it; unknown keys become context."""
    for section in (root.inner("sow"), root.inner("conductor"), inner, root):
        if section is None:
            continue
        _set(section)
        for key, shape in CONTEXT.items():
            if key in section.node.value:
                _keep(section, key, typed(section, key, shape))
        for key, data in section.warn_unknown_keys(HINT).items():
            _keep(section, key, data)


def _set(section: FieldReader) -> None:
    """Sets what this mapping says, unless it was set before."""
    plan = section.plan
    agent = section.text("default_agent")
    if agent and _is_first(section, "default_agent", plan.default_agents.get(section.file, agent) != agent):
        plan.default_agents.setdefault(section.file, agent)
        plan.default_agent = plan.default_agent or agent
    limit = section.count("max_concurrency")
    if limit and _is_first(section, "max_concurrency", plan.max_concurrency not in (None, limit)):
        plan.max_concurrency = limit
    plan.network = _narrowest(section, "network", plan.network, network.MODES)
    plan.sandbox = _narrowest(section, "sandbox", plan.sandbox, network.SANDBOX_MODES)
    control = typed(section, "quality_control", QUALITY_CONTROL)
    if control and _is_first(
        section, "quality_control", bool(plan.quality_control) and plan.quality_control != control
    ):
        plan.quality_control = control
    plan.issues += section.texts("issues")
    reason = section.text("needs_approval")
    if reason:
        line = section.node.value["needs_approval"].line
        plan.warn(section.file, line, f"nobody approved this plan yet: {reason}", APPROVE, kind=APPROVAL)
    for node in section.entries("protected"):
        plan.protected += fields.patterns(plan, "", section.file, section.text_of(node, "protected"), node.line)
    for group in section.entries("worktree_groups"):
        _group(section, group)


def _is_first(section: FieldReader, key: str, differs: bool) -> bool:
    """Returns whether a setting counts; if several differ, the first does, and the others become context."""
    node = section.node.value[key]
    file, before = section.plan.setting_lines.setdefault(key, (section.file, node.line))
    if differs:
        message = f"{section.path}{key} is left out: that of {file}:{before} counts"
        section.plan.warn(section.file, node.line, message, "keep one of the two")
        _keep(section, f"{section.path}{key}", node.data())
    return not differs


def typed(section: FieldReader, key: str, shape: Any) -> Any:
    """Returns a field in its shape: data of the right types and unknown keys; None if the type is wrong."""
    if key == "agents" and key in section.node.value and isinstance(section.node.value[key].value, list):
        return {"mode": "explicit", "explicit_list": section.texts(key)}  # the short form
    if shape == "inner":
        field = section.inner(key)
        return field.node.data() if field is not None else None
    if isinstance(shape, str):
        return getattr(section, shape)(key)
    inner = section.inner(key)
    if inner is None:
        return None
    data = {name: typed(inner, name, field_shape) for name, field_shape in shape.items()}
    given = {name: value for name, value in data.items() if name in inner.node.value and value not in (None, "")}
    return {**given, **inner.warn_unknown_keys("it is kept as it is")}


def _group(section: FieldReader, node: Node) -> None:
    """Adds a group of tasks that share a worktree: its name, or a mapping that has one."""
    ident = node.value
    if isinstance(ident, dict):
        group = section.nested(node, "worktree_groups")
        ident = group.text_of(group.first(GROUP_KEYS), GROUP_KEYS[0])
    if not ident or not isinstance(ident, str):
        section.report_type(node, "worktree_groups", "a list of groups, each with a group_id", "- group_id: api")
        return
    section.plan.worktree_groups.append(ident)
    data = node.data()
    if isinstance(data, dict) and str(data.get("execution_model", "")).strip().lower() == "parallel":
        section.plan.parallel_groups.add(ident)
    section.plan.context.setdefault("worktree_groups", []).append(data)


def _keep(section: FieldReader, key: str, data: Any) -> None:
    """Adds data to the context of the plan, beside data that another file has under the same name."""
    if data is not None:
        while key in section.plan.context:
            key = f"{key} ({section.file})"
        section.plan.context[key] = data


def _narrowest(section: FieldReader, key: str, before: str, modes: tuple[str, ...]) -> str:
    """Returns the narrowest mode that was set so far, this section included."""
    wanted = section.text(key)
    if not wanted:
        return before
    if wanted not in modes:
        line = section.node.value[key].line
        section.plan.error(section.file, line, f"{key}: {wanted!r:.80} is none of {', '.join(modes)}", "leave it out")
        return before
    return network.narrower(before or wanted, wanted, modes)
