"""What holds for a plan as a whole: agents, limits and quality control, and what its agents are to know."""

from __future__ import annotations

from sow.plans import fields
from sow.plans.mapping import Mapping
from sow.plans.nodes import BadYamlError, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.plan import Plan
    from sow.plans.nodes import Node

GROUP_KEYS = ("group_id", "id", "name")
HINT = "agents see it as plan context"
# Settings with fields of their own: the type of each field, or the fields of a mapping in it.
QUALITY_CONTROL = {
    "enabled": "flag",
    "retry_on_red": "count",
    "review_agent": "text",
    "agents": {"mode": "text", "explicit_list": "texts", "additional": "texts", "blocked": "texts"},
}
# What is no setting and reaches the agents as it is.
CONTEXT = {
    "planner_compliance": {"planner_version": "text", "strict_enforcement": "flag", "required_features": "texts"},
    "data_flow_registry": {"producers": "inner", "consumers": "inner", "documentation_targets": "inner"},
    "metadata": "inner",
    "description": "text",
    "version": "text",
}


def read_frontmatter(plan: Plan, text: str, file: str, *, first_line: int) -> str:
    """The settings in a Markdown file's frontmatter; returns the name that it gives."""
    try:
        root = Mapping(plan, file, parse(text, first_line))
    except BadYamlError as error:
        plan.error(file, error.line, error.message, error.hint)
        return ""
    name = root.text("name")
    read(root, root.inner("plan"))
    return name


def read(root: Mapping, inner: Mapping | None) -> None:
    """Read all that holds for the plan, from the top of a file and from the mappings in it, and say what is left."""
    for holder in (root.inner("sow"), root.inner("conductor"), inner, root):
        if holder is None:
            continue
        _set(holder)
        for key, shape in CONTEXT.items():
            if key in holder.node.value:
                _keep(holder, key, typed(holder, key, shape))
        for key, data in holder.left(HINT).items():
            _keep(holder, key, data)


def _set(holder: Mapping) -> None:
    """Set what this mapping says and nobody has said before."""
    plan = holder.plan
    agent = holder.text("default_agent")
    if agent and _is_first(holder, "default_agent", plan.default_agents.get(holder.file, agent) != agent):
        plan.default_agents.setdefault(holder.file, agent)
        plan.default_agent = plan.default_agent or agent
    most = holder.count("max_concurrency")
    if most and _is_first(holder, "max_concurrency", plan.max_concurrency not in (None, most)):
        plan.max_concurrency = most
    control = typed(holder, "quality_control", QUALITY_CONTROL)
    if control and _is_first(holder, "quality_control", bool(plan.quality_control) and plan.quality_control != control):
        plan.quality_control = control
    for each in holder.entries("protected"):
        text = holder.text_of(each, "protected")
        plan.protected += fields.patterns(plan, "", holder.file, text, each.line)
    for group in holder.entries("worktree_groups"):
        _group(holder, group)


def _is_first(holder: Mapping, key: str, differs: bool) -> bool:
    """Whether a setting counts; of several that differ the first does, and the others are said and kept as context."""
    node = holder.node.value[key]
    file, before = holder.plan.places.setdefault(key, (holder.file, node.line))
    if differs:
        what = f"{holder.path}{key} is left out: that of {file}:{before} counts"
        holder.plan.warn(holder.file, node.line, what, "keep one of the two")
        _keep(holder, f"{holder.path}{key}", node.data())
    return not differs


def typed(holder: Mapping, key: str, shape: Any) -> Any:
    """A field as its shape says: data of the right types, with the keys that nobody knows; None where it is wrong."""
    if key == "agents" and key in holder.node.value and isinstance(holder.node.value[key].value, list):
        return {"mode": "explicit", "explicit_list": holder.texts(key)}  # the short way to name them
    if shape == "inner":
        found = holder.inner(key)
        return found.node.data() if found is not None else None
    if isinstance(shape, str):
        return getattr(holder, shape)(key)
    inner = holder.inner(key)
    if inner is None:
        return None
    data = {name: typed(inner, name, each) for name, each in shape.items()}
    given = {name: value for name, value in data.items() if name in inner.node.value and value not in (None, "")}
    return {**given, **inner.left("it is kept as it is")}


def _group(holder: Mapping, node: Node) -> None:
    """A group of tasks that share a worktree: its name, or a mapping that has one."""
    ident = node.value
    if isinstance(ident, dict):
        group = holder.below(node, "worktree_groups")
        ident = group.text_of(group.first(GROUP_KEYS), GROUP_KEYS[0])
    if not ident or not isinstance(ident, str):
        holder.wrong(node, "worktree_groups", "a list of groups, each with a group_id", "- group_id: api")
        return
    holder.plan.worktree_groups.append(ident)
    data = node.data()
    if isinstance(data, dict) and str(data.get("execution_model", "")).strip().lower() == "parallel":
        holder.plan.parallel_groups.add(ident)
    holder.plan.context.setdefault("worktree_groups", []).append(data)


def _keep(holder: Mapping, key: str, data: Any) -> None:
    """Add to the context of the plan; what another file has said under that name stays beside it."""
    if data is not None:
        name = key if key not in holder.plan.context else f"{key} ({holder.file})"
        holder.plan.context[name] = data
