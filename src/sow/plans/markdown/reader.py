"""Reads plans in Markdown (a title, frontmatter, a task below each heading `## Task N: name`), and edits a status.

Without such a heading, tasks are headings `Task N` of another level, else numbered headings, else a checklist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate

from sow.domain.plans.plan import MAX_TASKS, NOTE, Plan, PlanTask
from sow.domain.text.markdown_lines import CODE, PLAIN, MarkdownPage, frontmatter, heading
from sow.plans import values
from sow.plans.markdown import body
from sow.plans.markdown.body import LabelTypos, box, marker
from sow.plans.values import Edit, StatusRefusal, distance

Sections = list[tuple[int, "PlanTask | None"]]
Parsed = tuple[str, str, str]  # number, name and status of a task
Heading = tuple[int, int, str]  # its index, its level and its text
DASHES = ("-", "–", "—")
MOST_NAMED = 3
DONE = frozenset("✅✔☑")


def read(plan: Plan, text: str, file: str, *, in_folder: bool = False) -> str:
    """Adds the tasks of one file to the plan; returns the file's own name.

    In a folder, files with numbered headings or a checklist may be no plans, so only headings `Task N` count.
    """
    header, rest, first_line = frontmatter(text)
    name = ""
    if header.strip():
        from sow.plans import settings  # a plan without frontmatter does not load the YAML parser

        name = settings.read_frontmatter(plan, header, file, first_line=2)
    elif text.startswith("---\n"):
        message, kind = "the block that begins with --- is empty or never ends", NOTE if first_line > 1 else "unclosed"
        plan.warn(file, 1, message, "end the frontmatter with ---", kind=kind)
    page = MarkdownPage(rest, first_line)
    if page.unclosed:
        message = "a code fence or comment begins here and never ends: all below is read as text"
        plan.warn(file, page.unclosed, message, "close it", kind="unclosed")
    title, sections = _sections(plan, page, file, in_folder=in_folder)
    if len(sections) > MAX_TASKS:
        message = f"the file has more than {MAX_TASKS:,} sections"
        plan.error(file, page.number(sections[-1][0]), message, "split it into several plans")
        return title
    _read_sections(plan, page, sections, file)
    if not in_folder and all(task is None for _, task in sections):
        _warn_of_unnumbered(plan, page, file)
    return title or name


def _sections(plan: Plan, page: MarkdownPage, file: str, *, in_folder: bool) -> tuple[str, Sections]:
    """Returns the title, and each heading of the tasks' level or above with the task that it starts."""
    headings = [head for head in _headings(page) if not page.kinds[head[0]] or _warn_of_fenced(plan, page, file, head)]
    level, task_heads = _task_headings(headings, in_folder=in_folder)
    title = next((name for index, depth, name in headings if depth == 1 and index not in task_heads), "")
    if not level and not in_folder:
        sections = _checklist(page, file)
        if sections:
            return title, sections
    sections = []
    for index, depth, name in headings:
        if depth == level or 2 <= depth < (level or 3):
            sections.append((index, _task(plan, task_heads.get(index), file, page.number(index), "#" * depth)))
            if len(sections) > MAX_TASKS:
                break
        if index not in task_heads and _looks_like_a_task(name, depth):
            message = f"'{'#' * depth} {values.shortened(name)}' looks like a task but is read as text"
            plan.warn(file, page.number(index), message, _form(name, level), kind="task")
    return title, sections


def _headings(page: MarkdownPage) -> Iterator[Heading]:
    for index, text in enumerate(page.texts):
        if "#" in text[:4]:
            level, name = heading(text)
            if level:
                yield index, level, name


def _warn_of_fenced(plan: Plan, page: MarkdownPage, file: str, task_heading: Heading) -> bool:
    """Warns about the heading of a task in a code fence; returns False, because it is no heading."""
    index, level, name = task_heading
    if level == 2 and page.kinds[index] == CODE and _parsed(name):
        message = f"'## {values.shortened(name)}' is in a code fence and is read as text"
        plan.warn(file, page.number(index), message)
    return False


def _task_headings(headings: list[Heading], *, in_folder: bool) -> tuple[int, dict[int, Parsed]]:
    """Returns the level of the tasks' headings, 0 if there are none, and those headings with number and name."""
    for parse in (_parsed,) if in_folder else (_parsed, _numbered):
        parsed = {index: (level, head) for index, level, name in headings if (head := parse(name))}
        levels = {level for level, _ in parsed.values()} - ({1} if parse is _numbered else set())
        level = 2 if 2 in levels else min(levels, default=0)
        if level:
            return level, {index: head for index, (depth, head) in parsed.items() if depth == level}
    return 0, {}


def _parsed(text: str) -> Parsed | None:
    """Returns number, name and status of `Task 1: name`, `TASK-1: name`, `Task 1 - name` or `✅ Task 1: name`."""
    if text.startswith("**") and text.endswith("**"):
        text = text[2:-2]
    bare, status = _without_mark(text)
    rest = bare[4:].strip()
    if bare[:4].lower() != "task" or bare[4:5] not in (" ", "\t", "-", "#"):
        return None
    rest = rest[1:] if rest[:1] in ("-", "#") and rest[1:2].isdigit() else rest
    number, colon, name = rest.partition(":")
    if colon and values.is_id(number.strip()):
        return number.strip(), name.strip(), status
    head = _numbered(rest)
    return (*head[:2], status) if head else None


def _numbered(text: str) -> Parsed | None:
    """Returns number, name and status of `1. name`, `1) name` or `1 - name`."""
    bare, status = _without_mark(text)
    first, _, rest = bare.partition(" ")
    number, name = first.rstrip(".):"), rest.lstrip("-–— ")
    has_sign = number != first or rest.lstrip()[:1] in DASHES
    return (number, name, status) if has_sign and name and values.is_number(number) else None


def _without_mark(text: str) -> tuple[str, str]:
    """Returns a text without its check box or signs in front, and the status that they mean."""
    if text[:1] == "[" and text[2:4] == "] ":
        return text[4:].lstrip(), "completed" if text[1] in "xX" else "pending"
    size = next((place for place, sign in enumerate(text) if sign.isalnum() or "!" <= sign <= "~"), len(text))
    return text[size:], "pending" if DONE.isdisjoint(text[:size]) else "completed"


def _checklist(page: MarkdownPage, file: str) -> Sections:
    """Returns a section for each item `- [ ] name` that is not indented, and for the text after such items."""
    sections: Sections = []
    count = 0
    for index, text in enumerate(page.texts):
        if page.kinds[index] or text[:1] in ("", " ", "\t"):
            continue
        size = box(text)
        if size:
            count += 1
            bare, status = _without_mark(text[size - 4 :])
            number, name, _ = _parsed(bare) or (str(count), bare, "")
            task = PlanTask(number=values.normalized_id(number), name=name, file=file, line=page.number(index))
            task.status = status
            sections.append((index, task))
        elif sections and sections[-1][1] is not None:
            sections.append((index, None))
    return sections


def _form(text: str, level: int) -> str:
    """How to write the task that a text means, with its number."""
    parsed = _parsed(text)
    head = text.partition(":")[0]
    start = next((place for place, letter in enumerate(head) if letter.isdigit()), len(head))
    size = len(head) - start - len(head[start:].lstrip("0123456789."))
    number = parsed[0] if parsed else head[start : start + size].rstrip(".")
    return f"write it as: {'#' * (level or 2)} Task {values.normalized_id(number) if number else 'N'}: name"


def _looks_like_a_task(text: str, level: int) -> bool:
    """Returns whether a heading has another level, no colon or number, a typing error, or a bad number."""
    if level == 1 or _parsed(text) is not None:
        return _parsed(text) is not None
    bare = text.lstrip("*_[( ").lower()
    length = len(bare) - len(bare.lstrip("abcdefghijklmnopqrstuvwxyz"))
    word, rest = bare[:length], bare[length:]
    if word == "task":
        return rest.startswith(":") or any(character.isdigit() for character in rest[:20])
    number, colon, _ = rest.partition(":")
    return (
        distance(word, "task", 1) == 1 and bool(colon) and number.strip()[:1].isdigit() and values.is_id(number.strip())
    )


def _task(plan: Plan, parsed: Parsed | None, file: str, line: int, hashes: str) -> PlanTask | None:
    if parsed is None:
        return None
    number, name, status = parsed
    task = PlanTask(number=values.normalized_id(number), name=name, file=file, line=line)
    task.status = status
    if not name:
        message = f"task {task.number} has no name"
        plan.error(file, line, message, f"write it as: {hashes} Task {task.number}: name")
    return task


def _read_sections(plan: Plan, page: MarkdownPage, sections: Sections, file: str) -> None:
    """Reads every task; the other sections are the plan's prose."""
    slips = LabelTypos()
    ends = [index for index, _ in sections] + [len(page.texts)]
    prose = page.texts[: ends[0]]
    for (start, task), end in zip(sections, ends[1:], strict=True):
        if task is None:
            prose += page.texts[start:end]
        else:
            body.read(plan, task, page, start + 1, end, slips, described=bool(box(page.texts[start])))
            plan.tasks.append(task)
    _warn_of_unread(plan, page, file, {task.number for _, task in sections if task is not None})
    last = max((start for start, task in sections if task is not None), default=len(page.texts))
    named = {finding.line for finding in plan.findings if finding.file == file}
    for (start, _), end in zip(sections, ends[1:], strict=True):
        if start > last and page.number(start) not in named and heading(page.texts[start])[0]:
            _warn_of_prose(plan, page, file, start, end)
    plan.prose += [text] if (text := "\n".join(prose).strip()) else []


def _warn_of_prose(plan: Plan, page: MarkdownPage, file: str, start: int, end: int) -> None:
    """Warns about a section with text after the last task; numbered headings in it are probably tasks."""
    if any(text.strip(" \t-*_") for text in page.texts[start + 1 : end]):
        kind = "task" if any(heading(text)[1][:1].isdigit() for text in page.texts[start:end]) else NOTE
        what = f"{values.shortened(page.texts[start].strip())!r} belongs to no task, and no agent reads it"
        plan.warn(file, page.number(start), what, "put it below the heading of a task", kind=kind)


def _warn_of_unread(plan: Plan, page: MarkdownPage, file: str, numbers: set[str]) -> None:
    """Warns about lines that number a task in another form, if no task of the file has that number."""
    for index, text in enumerate(page.texts):
        if page.kinds[index] == PLAIN and text[:1] not in ("", " ", "\t"):
            number = _other_form(text)
            if number and values.normalized_id(number) not in numbers:
                what = f"{values.shortened(text)!r} looks like a task but is read as text"
                plan.warn(file, page.number(index), what, _form(number, 2), kind="task")


def _warn_of_unnumbered(plan: Plan, page: MarkdownPage, file: str) -> None:
    """In a file without tasks, names the first headings or list items, and how to write each as a task."""
    plain = [(index, text, *heading(text)) for index, text in enumerate(page.texts) if page.kinds[index] == PLAIN]
    level = min((depth for *_, depth, name in plain if depth > 1 and name.lower() != "tasks"), default=0)
    items = [(index, text, text[marker(text) :].strip()) for index, text, *_ in plain if marker(text)]
    lines = [(index, text, name) for index, text, depth, name in plain if depth == level] if level else items
    named = {finding.line for finding in plan.findings if finding.file == file}
    unnamed = [(index, text, name) for index, text, name in lines if name and page.number(index) not in named]
    for count, (index, text, name) in enumerate(unnamed[:MOST_NAMED], 1):
        form = f"write it as: {'#' * (level or 2)} Task {count}: {values.shortened(name)}"
        plan.warn(file, page.number(index), f"{values.shortened(text)!r} is not read as a task", form)


def _other_form(text: str) -> str:
    """Returns the number in `##Task 7: x`, `**Task 7: x**`, `- Task 7: x`, `Task 7: x`, `## Step 7: x`, `## 7. x`."""
    level, name = heading(text)
    if level:
        bare = name if level == 2 else ""
        is_candidate = bare[:1].isdigit() or bare[:4].lower() == "step"
    else:
        bare = text.lstrip("#") if text[:1] == "#" else text[marker(text) :].lstrip("*_ ")
        is_candidate = bare[:4].lower() == "task"
    if not is_candidate:
        return ""
    bare = bare if bare[:1].isdigit() else bare[4:].lstrip()  # after Task or Step
    size = len(bare) - len(bare.lstrip("0123456789."))
    number, next_character = bare[:size], bare[size : size + 1]
    has_name = next_character == ":" or (level == 2 and number.endswith(".") and next_character == " ")
    return number.rstrip(".") if has_name and number[:1].isdigit() else ""


# Signs of more than a status: another label, a comment, a table.
MORE = ("**", "<!--", "|")


def status_editor(text: str) -> Callable[[PlanTask, str], Edit]:
    """Returns a function that computes the edit for a task and a status word."""
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]

    def edit(task: PlanTask, word: str) -> Edit:
        size = body.box(lines[task.line - 1])
        if not task.status_line and size and word in ("pending", "completed"):
            place = starts[task.line - 1] + size - 3
            return place, place + 1, "x" if word == "completed" else " "
        if not task.status_line:
            fact = lines[task.last_field_line - 1] if task.last_field_line > task.line else "  **" * bool(size)
            return _new_line(fact, starts[task.last_field_line] - 1, word)
        start, end, new = _value(lines[task.status_line - 1], word)
        offset = starts[task.status_line - 1]
        return offset + start, offset + end, new

    return edit


def _new_line(fact: str, end: int, word: str) -> Edit:
    """Inserts a line after the last field, with its bullet or indentation."""
    prefix = fact[: max(fact.find("**"), 0)]
    return end, end, f"\n{prefix}**Status**: {word}"


def _value(line: str, word: str) -> Edit:
    """Replaces the value after `**Status**:` or `**Status:**`; a backslash for a line break is not part of it."""
    opening = line.find("**")
    closing = line.find("**", opening + 2)
    if opening < 0 or closing < 0:
        raise StatusRefusal("it has a heading of its own")
    label = closing + 2
    rest = line[label:].lstrip()
    if rest.startswith(":"):
        label = len(line) - len(rest) + 1
        rest = rest[1:]
    value = rest.strip().removesuffix("\\").rstrip()
    if not value:
        return label, label, f" {word}"
    if values.status(value) is None and any(mark in value.strip("*`_ ") for mark in MORE):
        raise StatusRefusal("its line has more than a status")
    start = line.index(value, label)
    return start, start + len(value), word
