"""Reads `tasks.md` of spec-kit: a check box and an id per task, phases one after the other, `[P]` side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import accumulate

from sow.domain.plans.plan import DependencyReference, Plan, PlanSource, PlanTask
from sow.domain.text.markdown_lines import COMMENT, PLAIN, MarkdownPage, frontmatter, heading
from sow.plans.task_lists.progress import TaskProgress
from sow.plans.values import MAX_REFERENCES, Edit, shortened, without_line_numbers

BOX = re.compile(r"[ \t]*[-*] \[([ xX])\] ?")
IDENT = re.compile(r"(T\d{3,9}[a-z]?)(?!\w)[:.]?[ \t]*")  # T012a stands for a task that was inserted later
LABEL = re.compile(r"\[(P|US\d+)\][ \t]*")
DEPENDS = re.compile(r"\(depends on ([^()]{1,2000})\)", re.IGNORECASE)
TASK_ID = re.compile(r"\bT\d{3,9}[a-z]?\b")
UNCLEAR = re.compile(r"\d|[-–—…]|\b(?:to|through|all)\b")  # in a dependency beside the ids: a range, or another task
PATH = re.compile(r"[\w.@+()\[\]-]+(?:/[\w.@+()\[\]-]+)*\.[A-Za-z]\w{0,9}")
BEFORE_A_FILE = ("in", "to", "into", "at")
UNFILLED = ("TXXX", "[Entity", "[FEATURE NAME]")
LONGEST_PROSE = 4000  # every task of a phase gets the phase's text


class _SpecPhase:
    """A section: its heading, its text without tasks, and its tasks in groups that run one after the other."""

    def __init__(self, name: str, index: int) -> None:
        self.name = name
        self.index = index
        self.is_story = "user story" in name.lower()
        self.prose: list[str] = []
        self.boxes: list[tuple[int, str]] = []  # without an id: its line and text
        self.tasks: list[PlanTask] = []
        self.groups: list[list[PlanTask]] = []
        self.part = ""
        self.new_group = True

    def add(self, task: PlanTask, *, parallel: bool) -> None:
        """Adds a task: neighbours with [P] below one heading form a group, each other task is a group of its own."""
        if self.new_group or not parallel:
            self.groups.append([])
        self.groups[-1].append(task)
        self.tasks.append(task)
        self.new_group = not parallel


def read(plan: Plan, source: PlanSource, text: str) -> str:
    """Adds the tasks of a file to the plan; returns the name of the feature."""
    header, rest, first_line = frontmatter(text)
    if header.strip():
        plan.warn(source.name, 1, "the block between --- lines is not read", "move what a worker must know into a task")
    page = MarkdownPage(rest, first_line)
    if page.unclosed:
        message = "a code fence or comment begins here and never ends: all below is read as text"
        plan.warn(source.name, page.unclosed, message, "close it", kind="unclosed")
    title, phases = _phases(plan, source, page)
    _order(plan, source, phases)
    for phase in phases:
        _describe(plan, source, phase, page.number(phase.index))
        plan.tasks += phase.tasks
    return title


def _phases(plan: Plan, source: PlanSource, page: MarkdownPage) -> tuple[str, list[_SpecPhase]]:
    title = ""
    phases = [_SpecPhase("", 0)]
    task: PlanTask | None = None
    more: dict[str, list[str]] = {}  # the indented lines below each task
    for index, line in enumerate(page.texts):
        kind = page.kinds[index]
        level, name = heading(line) if kind == PLAIN else (0, "")
        if kind == PLAIN and any(mark in line for mark in UNFILLED) and (level or BOX.match(line)):
            message = f"{shortened(line.strip())!r} is a line of the unfilled template"
            plan.error(source.name, page.number(index), message, "let spec-kit write the tasks first: /speckit.tasks")
            task = None
        elif level == 1 and not title:
            title = name.partition(":")[2].strip() if name.lower().startswith("tasks:") else name
        elif level and level <= 2:
            phases.append(_SpecPhase(name, index))
            task = None
        elif level:
            phases[-1].part, phases[-1].new_group, task = name, True, None
        elif kind == PLAIN and (box := BOX.match(line)) and (task is None or _begins_task(line, box.end())):
            task = _task(plan, source, phases[-1], line, (box[1], box.end(), page.number(index)))
        elif task is not None and line[:1] in (" ", "\t") and line.strip() and kind != COMMENT:
            more.setdefault(task.number, []).append(line)
        elif kind != COMMENT:
            phases[-1].prose.append(line)
            task = task if not line.strip() else None
    for phase in phases:
        for phase_task in phase.tasks:
            phase_task.text = "\n".join([phase_task.text, *more.pop(phase_task.number, ())])
    return title, phases


def _begins_task(line: str, end: int) -> bool:
    """Returns whether a box is a task of its own; an indented one without an id is a step of the task above."""
    return line[0] not in " \t" or IDENT.match(line, end) is not None


def _task(plan: Plan, source: PlanSource, phase: _SpecPhase, line: str, place: tuple[str, int, int]) -> PlanTask | None:
    box, end, number = place
    ident = IDENT.match(line, end)
    if ident is None:
        phase.boxes.append((number, line.strip()))
        phase.prose.append(line)
        return None
    position = ident.end()
    labels = []
    while label := LABEL.match(line, position):
        labels.append(label[1])
        position = label.end()
    text = line[position:].strip()
    task = PlanTask(number=ident[1], name=text, file=source.name, line=number)
    task.status = "pending" if box == " " else "completed"
    task.text = f"{ident[1]} {text}"  # other tasks refer to the id
    task.lines["status"] = number
    task.context = {"story": story} if (story := ", ".join(label for label in labels if label != "P")) else {}
    if phase.part:
        task.context["part"] = phase.part
    if not text:
        plan.error(source.name, number, f"task {ident[1]} has no text", "say what is to be done")
    for match in DEPENDS.finditer(text):
        references = [DependencyReference(needed, line=number) for needed in TASK_ID.findall(match[1])]
        task.dependency_references += references
        if not references or UNCLEAR.search(TASK_ID.sub("", match[1])):
            message = f"task {ident[1]}: the dependency {match[1]!r:.80} is not understood completely"
            plan.warn(source.name, number, message, "write: (depends on T012, T013)", kind="dependency")
    task.files = _files(text)
    phase.add(task, parallel="P" in labels)
    return task


def _files(text: str) -> list[str]:
    """Returns the paths in a text: words with a folder and an ending, and file names in backticks or after `in`."""
    files: dict[str, None] = {}
    previous = ""
    for word in text.split():
        bare = word.strip("`,;:\"'*").rstrip(".")
        bare = bare[1:-1] if bare[:1] == "(" and bare[-1:] == ")" else bare
        bare = without_line_numbers(bare)
        is_file = "/" in bare or word[:1] == "`" or previous in BEFORE_A_FILE
        if is_file and len(bare) < 1000 and PATH.fullmatch(bare):
            files[bare] = None
        previous = word.lower()
    return list(files)


def _order(plan: Plan, source: PlanSource, phases: list[_SpecPhase]) -> None:
    """Lets each group wait for the one before; with parallel stories, each story waits for what is before them all."""
    before: list[PlanTask] = []
    base: list[PlanTask] = []
    ends: list[PlanTask] = []  # of the stories since the last other phase
    for phase in phases:
        side_by_side = source.parallel_stories and phase.is_story
        if side_by_side:
            base = base if ends else before
            before = base
        elif ends and phase.groups:
            before, ends = ends, []
        for group in phase.groups:
            plan.reference_count += len(group) * len(before)
            if plan.reference_count > MAX_REFERENCES:
                message = f"the order of the tasks needs more than {MAX_REFERENCES:,} dependencies"
                plan.error(source.name, group[0].line, message, "split the feature into several task lists")
                return
            for task in group:
                task.dependency_references += [DependencyReference(other.number, line=task.line) for other in before]
            # What comes next waits also for open tasks before a completed one, which itself waits for nothing any more.
            left = [task for task in before if task.status != "completed"]
            before = [*group, *(left if any(task.status == "completed" for task in group) else ())]
        if side_by_side and phase.groups:
            ends = ends + before


def _describe(plan: Plan, source: PlanSource, phase: _SpecPhase, line: int) -> None:
    """Gives the phase's text and the neighbouring documents to its tasks; warns about text that no task gets."""
    prose = "\n".join(phase.prose).strip(" \t\n-")
    if not phase.tasks:
        if prose:
            what = f"'## {shortened(phase.name)}' holds no tasks" if phase.name else "this text belongs to no phase"
            message = f"{what}, and no agent reads it"
            plan.warn(source.name, line, message, "put what a worker must know into a task or into plan.md")
        return
    for number, text in phase.boxes:
        message = f"{shortened(text)!r} looks like a task but has no id such as T012"
        plan.warn(source.name, number, message, "it is read as text of its phase", kind="task")
    if len(prose) > LONGEST_PROSE:
        message = f"the text of '## {shortened(phase.name)}' is cut after {LONGEST_PROSE:,} characters"
        plan.warn(source.name, line, message, "put the rest into a task or into plan.md")
        prose = prose[:LONGEST_PROSE]
    about = {"phase": "\n".join(filter(None, [phase.name, prose]))} if phase.name else {}
    documents = {"documents_to_read_first": sorted(source.neighbours)} if source.neighbours else {}
    for task in phase.tasks:
        task.context = {**task.context, **about, **documents}


def words(source: PlanSource, text: str) -> dict[str, str]:
    """Returns what the box of each task says."""
    plan = Plan()
    read(plan, source, text)
    return {task.number: "[ ]" if task.status == "pending" else "[X]" for task in plan.tasks}


def edits(
    source: PlanSource, text: str, progress: Mapping[str, TaskProgress], now: str
) -> tuple[list[Edit], dict[str, str], list[str]]:
    """Returns the edits that tick the box of each completed task, and the new words by task; each can be written."""
    plan = Plan()
    read(plan, source, text)
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    changes = []
    for task in plan.tasks:
        if task.status == "pending" and task.number in progress and progress[task.number].status == "completed":
            place = text.index("[", starts[task.line - 1]) + 1
            changes.append((place, place + 1, "X", task.number))
    return [change[:3] for change in changes], {change[3]: "[X]" for change in changes}, []
