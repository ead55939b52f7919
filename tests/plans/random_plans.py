"""Random plans, written in all supported forms."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml
from hypothesis import strategies as st

WORDS = st.lists(st.text("abcdefghijklmnopqrstuvwxyzABCXYZ0189äß", min_size=1, max_size=8), min_size=1, max_size=5).map(
    " ".join
)
PATHS = st.from_regex(r"[a-z][a-z0-9_]{0,5}(/[a-z][a-z0-9_-]{0,5}){0,2}\.(py|md|tsx)", fullmatch=True)
AGENTS = st.sampled_from(["", "implementer", "python-dev", "qa_2"])
COMMANDS = st.from_regex(
    r"[a-z]{2,8}( (-{1,2}[a-z]{1,6}|[a-z./*]{1,8}|'[a-z :#]{0,6}'|&&|\|)){0,3} [a-z]{1,4}", fullmatch=True
)
STATUSES = {
    "pending": ("pending", "TODO", "Not started"),
    "in_progress": ("in-progress", "In Progress", "in_progress"),
    "completed": ("completed", "COMPLETE", "✅ COMPLETE", "Done"),
    "failed": ("failed", "❌ failed"),
    "skipped": ("skipped", "Skipped (not needed)"),
}

NOISE = (
    "**Approach**: as you like\n",
    "For example:\n```md\n**Agent**: nobody\n## Title\n```\n",
    "Steps:\n- [x] a step\n",
    "<!-- not yet\n**Agent**: nobody\n-->\n",
)


@dataclass(kw_only=True)
class Criterion:
    """A criterion with its verification."""

    text: str
    verification: dict[str, str] = field(default_factory=dict)

    @property
    def document(self) -> Any:
        return {"criterion": self.text, "verification": self.verification} if self.verification else self.text


@dataclass(kw_only=True)
class Task:
    """One task as it is meant."""

    number: str
    name: str
    text: str
    depends_on: list[str]
    files: list[str]
    minutes: int | None
    agent: str
    status: str
    criteria: list[Criterion]
    integration: list[Criterion]
    commands: list[str]

    @property
    def type(self) -> str:
        return "integration" if self.integration and self.depends_on else "regular"


@st.composite
def numbers(draw: st.DrawFn) -> list[str]:
    """Generates different ids of all kinds, in the order of the plan."""
    whole = [str(number) for number in range(1, draw(st.integers(2, 6)))]
    others = draw(
        st.lists(
            st.sampled_from(["2.5", "10.1", "integration-1", "integration-2", "setup", "v1.0_b"]),
            unique=True,
            max_size=2,
        )
    )
    return list(draw(st.permutations(whole + others)))


@st.composite
def criteria(draw: st.DrawFn) -> Criterion:
    parts = {"command": COMMANDS, "expected": WORDS, "description": WORDS}
    chosen = draw(st.sets(st.sampled_from(list(parts))))
    return Criterion(text=draw(WORDS), verification={key: draw(parts[key]) for key in parts if key in chosen})


@st.composite
def plans(draw: st.DrawFn) -> list[Task]:
    """Generates tasks whose dependencies have no circle, in any order."""
    names = draw(numbers())
    ranks = draw(st.permutations(names))
    some = st.lists(criteria(), max_size=2)
    return [
        Task(
            number=name,
            name=draw(WORDS),
            text=draw(WORDS),
            depends_on=_some_of(draw, ranks[: ranks.index(name)], names),
            files=draw(st.lists(PATHS, max_size=3, unique=True)),
            minutes=draw(st.none() | st.integers(1, 3000)),
            agent=draw(AGENTS),
            status=draw(st.sampled_from(list(STATUSES))),
            criteria=draw(some),
            integration=draw(some),
            commands=draw(st.lists(COMMANDS, max_size=3)),
        )
        for name in names
    ]


def _some_of(draw: st.DrawFn, before: list[str], order: list[str]) -> list[str]:
    chosen = draw(st.sets(st.sampled_from(before), max_size=4)) if before else set()
    return sorted(chosen, key=order.index)


class PlanWriter:
    """Chooses one of several forms each time."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def one(self, *forms: Any) -> Any:
        return self.draw(st.sampled_from(forms))

    def chance(self) -> bool:
        return bool(self.draw(st.booleans()))


@st.composite
def markdown(draw: st.DrawFn, tasks: list[Task]) -> str:
    """Returns the plan in Markdown."""
    writer = PlanWriter(draw)
    parts = [
        writer.one("# The plan\n\n", "# The plan\n\nSome words.\n\n## Tasks 1-5: all of them\n\n", "# The plan #\n")
    ]
    return "".join([*parts, *(_markdown_task(writer, task) for task in tasks)])


def _markdown_task(writer: PlanWriter, task: Task) -> str:
    number = f"0{task.number}" if task.number.isdigit() and writer.chance() else task.number
    heading = writer.one(
        "## Task {}: {}", "## TASK {}: {}", "##  task {} : {}  ##", "  ## Task {}: {}", "## **Task {}: {}**"
    )
    facts = [
        _field(
            writer, ("Depends on", "Dependencies", "DEPENDS ON", "depends_on"), _dependencies(writer, task.depends_on)
        ),
        _field(writer, ("Files", "File(s)", "file"), _files(writer, task.files)),
        _field(writer, ("Status", "STATUS"), writer.one(*STATUSES[task.status])),
    ]
    if task.minutes is not None:
        facts.append(_field(writer, ("Estimated time", "estimate"), _duration(writer, task.minutes)))
    if task.agent:
        facts.append(_field(writer, ("Agent", "agents"), writer.one(task.agent, f"`{task.agent}`")))
    if task.type != "regular":
        facts.append(_field(writer, ("Type", "TYPE"), task.type))
    facts = list(writer.draw(st.permutations(facts)))
    lists = [
        _criteria(writer, ("Success Criteria", "structured criteria"), task.criteria),
        _criteria(writer, ("Integration Criteria", "Integration criterion"), task.integration),
        _commands(writer, task.commands),
        writer.one("", *NOISE),
    ]
    blank = writer.one("", "\n")
    body = "\n".join(writer.draw(st.permutations([item for item in lists if item])))
    return f"{heading.format(number, task.name)}\n{blank}{''.join(facts)}\n{task.text}\n\n{body}\n"


def _label(writer: PlanWriter, names: tuple[str, ...]) -> str:
    form = writer.one("**{}**:", "**{}:**", "**{}** :", "__{}__:", "**{}:**:")
    return str(form.format(writer.one(*names)))


def _field(writer: PlanWriter, names: tuple[str, ...], value: str | list[str]) -> str:
    """Returns a label with its value after it, or with a list below."""
    lead = writer.one("", "- ", "* ")
    if isinstance(value, str):
        return f"{lead}{_label(writer, names)} {value}\n"
    indent = "  " if lead else writer.one("", "  ")
    bullets = "".join(f"{indent}{_bullet(writer, number)} {value}\n" for number, value in enumerate(value, 1))
    return f"{lead}{_label(writer, names)}\n{bullets}"


def _bullet(writer: PlanWriter, number: int) -> str:
    return str(writer.one("-", "*", f"{number}.", "- [ ]"))


def _dependencies(writer: PlanWriter, numbers: list[str]) -> str | list[str]:
    if not numbers:
        return str(writer.one("None", "none", "N/A", "None (can start at once)", "—"))
    if len(numbers) > 1 and numbers == [str(int(numbers[0]) + n) for n in range(len(numbers)) if numbers[0].isdigit()]:
        text = writer.one("", "{}-{}", "Tasks {}-{}", "{} to {}", "{}–{}").format(numbers[0], numbers[-1])
        if text:
            return str(text)
    named = [
        str(writer.one("{}", "Task {}", "Task {} (a remark, of course)", "`{}`", "#{}", "Task #{}")).format(number)
        for number in numbers
    ]
    if writer.chance():
        return named
    text = ", ".join(named[:-1])
    return f"{text}{writer.one(', ', ' and ', '; ', ' & ')}{named[-1]}" if text else named[-1]


def _files(writer: PlanWriter, files: list[str]) -> str | list[str]:
    if not files:
        return str(writer.one("None", "n/a"))
    shown = [str(writer.one("{}", "`{}`", "`{}` (new, small)", "{} (new)", "`{}:3-9`")).format(file) for file in files]
    return shown if writer.chance() else ", ".join(shown)


def _duration(writer: PlanWriter, minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    forms = [f"{minutes}m", f"{minutes} minutes", f"~{minutes} min", f"{hours}h {rest}m", f"{hours}h{rest}m"]
    forms += [f"{hours} hours, {rest} mins (about)", f"{minutes * 60}s"]
    forms += [f"{hours}.5h"] if rest == 30 else [f"{hours}h"] if not rest else []
    return str(writer.one(*forms))


def _criteria(writer: PlanWriter, names: tuple[str, ...], found: list[Criterion]) -> str:
    if not found:
        return ""
    lines = [f"{_label(writer, names)}\n"]
    for number, each in enumerate(found, 1):
        mark = _bullet(writer, number)
        lines.append(f"{mark} {each.text}\n")
        for key, value in each.verification.items():
            lead = writer.one("- ", "* ", "")
            shown = f"`{value}`" if key == "command" and writer.chance() else value
            name = writer.one(key.capitalize(), key, f"**{key.capitalize()}**", key.upper())
            lines.append(f"   {lead}{name}: {shown}\n")
    return "".join(lines)


def _commands(writer: PlanWriter, commands: list[str]) -> str:
    if not commands:
        return ""
    label = writer.one(_label(writer, ("Test Commands", "test command")), "### Test Commands", "### Test commands:")
    if writer.chance():
        mark = writer.one("```", "~~~", "````")
        lines = [
            line for command in commands for line in ([command] if writer.chance() else ["# a comment", f"$ {command}"])
        ]
        return "\n".join([label, f"{mark}bash", *lines, mark, ""])
    return "\n".join([label, *(f"{_bullet(writer, n)} `{command}`" for n, command in enumerate(commands, 1)), ""])


WRITERS: tuple[Callable[[Any], str], ...] = (
    lambda data: yaml.safe_dump(data, sort_keys=False, allow_unicode=True),
    lambda data: yaml.safe_dump(data, sort_keys=False, default_flow_style=True, allow_unicode=True, width=60),
    lambda data: yaml.safe_dump(data, sort_keys=True, allow_unicode=True, indent=6),
    lambda data: json.dumps(data, indent=2, ensure_ascii=False),
    lambda data: json.dumps(data),
)


@st.composite
def yaml_text(draw: st.DrawFn, tasks: list[Task]) -> str:
    """Returns the plan in YAML."""
    writer = PlanWriter(draw)
    result = [_yaml_task(writer, task) for task in tasks]
    data = writer.one(
        {"name": "The plan", "tasks": result},
        {"plan": {"metadata": {"feature_name": "The plan"}, "tasks": result}},
        {"conductor": {"max_concurrency": 3}, "plan": {"name": "The plan", "tasks": result}},
    )
    return str(writer.one(*WRITERS)(data))


def _yaml_task(writer: PlanWriter, task: Task) -> dict[str, Any]:
    number: Any = int(task.number) if task.number.isdigit() and writer.chance() else task.number
    fields: dict[str, Any] = {
        writer.one("number", "id", "task_number"): number,
        "name": task.name,
        writer.one("prompt", "description"): task.text,
        "status": writer.one(*STATUSES[task.status]),
        "success_criteria": [_yaml_criterion(writer, item) for item in task.criteria],
        "integration_criteria": [_yaml_criterion(writer, item) for item in task.integration],
        "test_commands": task.commands[0] if len(task.commands) == 1 and writer.chance() else task.commands,
        "files": ", ".join(task.files) if task.files and writer.chance() else task.files,
    }
    depends_on = [writer.one(depend, f"Task {depend}", {"task": depend}) for depend in task.depends_on]
    text = ", ".join(task.depends_on) or "None"
    fields[writer.one("depends_on", "dependencies")] = writer.one(depends_on, depends_on, text)
    fields.update({"estimated_time": _duration(writer, task.minutes)} if task.minutes is not None else {})
    fields.update({"agent": task.agent} if task.agent else {})
    fields.update({"type": task.type} if task.type != "regular" else {})
    return {key: value for key, value in fields.items() if value != [] or writer.chance()}


def _yaml_criterion(writer: PlanWriter, criterion: Criterion) -> Any:
    return criterion.document if criterion.verification or writer.chance() else {"criterion": criterion.text}
