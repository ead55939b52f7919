"""Several texts → one checked plan."""

from __future__ import annotations

import posixpath

from sow.domain.plan import Plan
from sow.plans import checks, markdown, references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sow.domain.plan import Finding, Source

YAML_ENDINGS = (".yaml", ".yml")


def read(sources: Sequence[Source], *, agents: Collection[str] = (), findings: Sequence[Finding] = ()) -> Plan:
    """Read, join and check; all that is wrong is among the plan's findings, beside those that were there before."""
    plan = Plan()
    plan.files = [source.name for source in sources]
    plan.findings = list(findings)
    for source in sources:
        _read_one(plan, source)
    if not plan.tasks and not plan.errors:
        plan.error(plan.files[0] if plan.files else "plan", 0, "there are no tasks", "write one as: ## Task 1: name")
    plan.name = plan.name or (stem(plan.files[0]) if plan.files else "")
    _name_apart(plan)
    references.resolve(plan)
    checks.check(plan, agents)
    place = {file: index for index, file in enumerate(plan.files)}
    plan.findings.sort(key=lambda each: (place.get(each.file, -1), each.line))
    return plan


def _read_one(plan: Plan, source: Source) -> None:
    tasks, errors = len(plan.tasks), len(plan.errors)
    text = source.text.replace("\r\n", "\n").replace("\r", "\n")
    if source.name.lower().endswith(YAML_ENDINGS):
        from sow.plans import yaml_plan  # a plan in Markdown does not pay for the YAML parser

        name = yaml_plan.read(plan, text, source.name)
    else:
        name = markdown.read(plan, text, source.name)
    plan.name = plan.name or name
    if len(plan.tasks) > tasks or len(plan.errors) > errors:
        return
    if source.in_folder:
        plan.warn(source.name, 0, "there are no tasks in this file", "it is left out")
    else:
        plan.error(source.name, 0, "there are no tasks in this file", "write one as: ## Task 1: name")


def stem(file: str) -> str:
    """A file's name without its folder and its ending."""
    return posixpath.splitext(posixpath.basename(file))[0]


def _name_apart(plan: Plan) -> None:
    """The same number in two files: its file's name is put in front (`setup#2`), the whole path if need be."""
    files_of: dict[str, set[str]] = {}
    for task in plan.tasks:
        files_of.setdefault(task.number, set()).add(task.file)
    stems: dict[str, int] = {}
    for file in plan.files:
        stems[stem(file)] = stems.get(stem(file), 0) + 1
    for task in plan.tasks:
        if len(files_of[task.number]) > 1:
            short = stem(task.file)
            task.id = f"{short if stems[short] == 1 else task.file}#{task.number}"
