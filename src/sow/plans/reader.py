"""Reads the files of a plan into one checked plan."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sow.domain.plans.plan import MAX_FINDINGS, MAX_TASKS, Plan, PlanFinding, PlanSource
from sow.plans import checks, dependencies
from sow.plans.dependencies import stem
from sow.plans.markdown import reader
from sow.plans.task_lists import formats

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
    formats.check_together(plan)
    if not plan.tasks and not plan.counts[True]:
        plan.error(plan.files[0] if plan.files else "plan", 0, "there are no tasks", FORM)
    plan.name = plan.name or (stem(plan.files[0]) if plan.files else "")
    _disambiguate_ids(plan)
    _give_default_agents(plan)
    dependencies.resolve(plan)
    checks.check(plan, agents)
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
    tool = formats.format_of(source.name, text)
    if tool:
        name = formats.read(plan, source, text, tool)
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
