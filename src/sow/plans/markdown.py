"""Plans in Markdown: `## Task N: name` headings, bold labels, fences, lists. One pass over the lines."""

from __future__ import annotations

from sow.domain.plan import Plan, PlanTask
from sow.plans import labels, words

FENCES = ("```", "~~~")


class Line:
    """One line of a task with what was seen around it."""

    __slots__ = ("fenced", "number", "text")

    def __init__(self, number: int, text: str, *, fenced: bool) -> None:
        self.number = number
        self.text = text
        self.fenced = fenced


def lines_of(text: str, first: int) -> list[Line]:
    """The lines, each told whether it stands in a code fence; the fence's own lines count as fenced."""
    found = []
    fence = ""
    for number, line in enumerate(text.split("\n"), first):
        bare = line.lstrip()
        mark = _fence(bare)
        if fence:
            found.append(Line(number, line, fenced=True))
            if mark.startswith(fence) and not bare.strip(fence[0] + " \t"):
                fence = ""
        else:
            found.append(Line(number, line, fenced=bool(mark)))
            fence = mark
    return found


def _fence(bare: str) -> str:
    if not bare.startswith(FENCES):
        return ""
    return bare[: len(bare) - len(bare.lstrip(bare[0]))]


def read(plan: Plan, text: str, file: str) -> str:
    """Add the tasks of one file to the plan; returns the file's own name."""
    head, body, first = frontmatter(text)
    if head:
        from sow.plans import yaml_plan

        yaml_plan.read_settings(plan, head, file, first_line=2)
    name = ""
    tasks: list[tuple[PlanTask, list[Line]]] = []
    inside = False
    for line in lines_of(body, first):
        heading = "" if line.fenced else line.text
        if heading.startswith("# ") and not name:
            name = heading[2:].strip()
        elif heading.startswith("## "):
            task = _task(plan, heading[3:].strip(), file, line.number)
            inside = task is not None
            if task is not None:
                tasks.append((task, []))
                continue
        if inside:
            tasks[-1][1].append(line)
    for task, lines in tasks:
        labels.read(plan, task, lines)
    plan.tasks += [task for task, _ in tasks]
    return name


def frontmatter(text: str) -> tuple[str, str, int]:
    """The leading block between two --- lines, the rest, and the number of the rest's first line."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return "", text, 1
    for index, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return "\n".join(lines[1:index]), "\n".join(lines[index + 1 :]), index + 2
    return "", text, 1


def _task(plan: Plan, heading: str, file: str, line: int) -> PlanTask | None:
    """The task that a second-level heading begins; `Tasks 1-5: …` is prose."""
    first, _, rest = heading.partition(" ")
    if first.lower() != "task":
        return None
    number, colon, name = rest.partition(":")
    number = number.strip()
    if not colon or not words.is_id(number):
        if number[:1].isdigit():
            plan.warn(
                file, line, f"'## {heading}' looks like a task but is read as text", "write it as: ## Task 1: name"
            )
        return None
    task = PlanTask(number=words.plain_id(number), name=name.strip(), file=file, line=line)
    if not task.name:
        plan.error(file, line, f"task {task.number} has no name", "write it as: ## Task 1: name")
    return task
