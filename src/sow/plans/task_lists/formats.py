"""Recognises the task list of another tool by its name and text, and hands it to the module of its format."""

from __future__ import annotations

from types import ModuleType

from sow.domain.plans.plan import JSON_ENDING, Plan, PlanSource, file_and_tag

SPEC_KIT, TASK_MASTER, BACKLOG = "spec-kit", "Task Master", "Backlog.md"
BOXES = ("- [ ] T", "- [x] T", "- [X] T", "* [ ] T", "* [x] T", "* [X] T")


def format_of(name: str, text: str) -> str:
    """Returns the name of the tool that wrote a file, or an empty text for a plan of sow."""
    file, _ = file_and_tag(name)
    if file.lower().endswith(JSON_ENDING):
        return TASK_MASTER
    if not file.lower().endswith((".md", ".markdown")):
        return ""
    folder, _, base = f"/{file}".rpartition("/")
    if text.startswith("---") and (
        (folder.endswith("/tasks") and " - " in base) or _is_backlog(text[: text.find("\n---", 3) + 1])
    ):
        return BACKLOG
    is_tasks_file = file.rpartition("/")[2].lower() == "tasks.md"
    if "] T" in text and (is_tasks_file or "\n## Phase " in text) and _is_spec_kit(text):
        return SPEC_KIT
    return ""


def _is_backlog(header: str) -> bool:
    """Returns whether a YAML block has a title and an id such as TASK-12."""
    fields = {
        key: value.strip(" '\"") for key, colon, value in (row.partition(":") for row in header.split("\n")) if colon
    }
    prefix, dash, number = fields.get("id", "").partition("-")
    return "title" in fields and prefix.isalpha() and bool(dash) and number[:1].isdigit()


def _is_spec_kit(text: str) -> bool:
    """Returns whether a text has boxes with ids such as T012, and no heading of a task of sow."""
    has_box = False
    for line in text.split("\n"):
        bare = line.lstrip()
        name = bare.lstrip("# ").lower() if bare.startswith("#") else ""
        if name.startswith(("task ", "task-")) and name[5:6].isdigit():
            return False
        has_box = has_box or (bare.startswith(BOXES) and (bare[7:10].isdigit() or bare[7:10] == "XXX"))
    return has_box


def module_of(name: str) -> ModuleType:
    """Returns the module of a format; a plan of sow loads none of them."""
    if name == SPEC_KIT:
        from sow.plans.task_lists import spec_kit

        return spec_kit
    if name == TASK_MASTER:
        from sow.plans.task_lists import task_master

        return task_master
    from sow.plans.task_lists import backlog

    return backlog


def read(plan: Plan, source: PlanSource, text: str, tool: str) -> str:
    """Adds the tasks of one file to the plan; returns the plan's name, or an empty text."""
    plan.formats[source.name] = tool
    name: str = module_of(tool).read(plan, source, text)
    return name


def check_together(plan: Plan) -> None:
    """Checks what only all files of Backlog.md together show: each id is there once, and dependencies were given."""
    first: dict[str, str] = {}
    tasks = [task for task in plan.tasks if plan.formats.get(task.file) == BACKLOG]
    for task in tasks:
        if first.setdefault(task.number, task.file) != task.file:
            message = f"task {task.number} is also in {first[task.number]}"
            plan.error(task.file, task.line_of("id"), message, "give one of the two files another id")
    for task in tasks:
        for reference in task.dependency_references:
            if reference.task not in first:
                message = f"task {task.number} depends on task {reference.task}, which was not given"
                hint = "give the folder of all task files; --task of sow run chooses among them"
                plan.error(task.file, reference.line, message, hint)
        task.dependency_references = [reference for reference in task.dependency_references if reference.task in first]
