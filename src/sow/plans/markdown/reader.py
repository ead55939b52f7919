"""Reads plans in Markdown: a title, frontmatter, and a task below each heading `## Task N: name`."""

from __future__ import annotations

from sow.domain.plans.plan import MAX_TASKS, NOTE, PlanTask
from sow.plans import values
from sow.plans.markdown import body
from sow.plans.markdown.field_labels import LabelTypos, marker
from sow.plans.markdown.lines import CODE, PLAIN, MarkdownPage, heading
from sow.plans.typo_hints import distance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sow.domain.plans.plan import Plan

Sections = list[tuple[int, "PlanTask | None"]]


def read(plan: Plan, text: str, file: str) -> str:
    """Adds the tasks of one file to the plan; returns the file's own name."""
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
    title, sections = _sections(plan, page, file)
    if len(sections) > MAX_TASKS:
        message = f"the file has more than {MAX_TASKS:,} sections"
        plan.error(file, page.number(sections[-1][0]), message, "split it into several plans")
        return title
    _read_sections(plan, page, sections, file)
    return title or name


def frontmatter(text: str) -> tuple[str, str, int]:
    """Returns the block between two --- lines at the start, the rest, and the line number of the rest."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return "", text, 1
    for index, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return "\n".join(lines[1:index]), "\n".join(lines[index + 1 :]), index + 2
    return "", text, 1


def _sections(plan: Plan, page: MarkdownPage, file: str) -> tuple[str, Sections]:
    """Returns the title, and each second-level heading with the task that it starts."""
    title = ""
    sections: Sections = []
    for index, level, name in _headings(page):
        line = page.number(index)
        if page.kinds[index]:
            if level == 2 and page.kinds[index] == CODE and _number_and_name(name):
                plan.warn(file, line, f"'## {values.shortened(name)}' stands in a code fence and is read as text")
            continue
        title = title or (name if level == 1 else "")
        task = _task(plan, name, file, line) if level == 2 else None
        if level == 2:
            sections.append((index, task))
            if len(sections) > MAX_TASKS:
                break
        if task is None and _looks_like_a_task(name, level):
            plan.warn(
                file,
                line,
                f"'{'#' * level} {values.shortened(name)}' looks like a task but is read as text",
                _form(name),
                kind="task",
            )
    return title, sections


def _headings(page: MarkdownPage) -> Iterator[tuple[int, int, str]]:
    for index, text in enumerate(page.texts):
        if "#" in text[:4]:
            level, name = heading(text)
            if level:
                yield index, level, name


def _number_and_name(text: str) -> tuple[str, str] | None:
    """Returns number and name of a heading `Task 1: name`; `Tasks 1-5: …` is prose."""
    if text.startswith("**") and text.endswith("**"):
        text = text[2:-2]
    first, rest = _first_word(text)
    number, colon, name = rest.partition(":")
    number = number.strip()
    return (number, name.strip()) if first == "task" and colon and values.is_id(number) else None


def _form(text: str) -> str:
    """How to write the task that a text means, with its number."""
    found = _number_and_name(text)
    head = text.partition(":")[0]
    start = next((place for place, letter in enumerate(head) if letter.isdigit()), len(head))
    size = len(head) - start - len(head[start:].lstrip("0123456789."))
    number = found[0] if found else head[start : start + size].rstrip(".")
    return f"write it as: ## Task {values.normalized_id(number) if number else 'N'}: name"


def _first_word(text: str) -> tuple[str, str]:
    first, *rest = text.split(None, 1) or [""]
    return first.lower(), "".join(rest)


def _looks_like_a_task(text: str, level: int) -> bool:
    """Returns whether a heading has another level, no colon or number, a typing error, or a bad number."""
    if level == 1 or _number_and_name(text) is not None:
        return level != 2 and _number_and_name(text) is not None
    bare = text.lstrip("*_[( ").lower()
    length = len(bare) - len(bare.lstrip("abcdefghijklmnopqrstuvwxyz"))
    word, rest = bare[:length], bare[length:]
    if word == "task":
        return rest.startswith(":") or any(character.isdigit() for character in rest[:20])
    number, colon, _ = rest.partition(":")
    return (
        distance(word, "task", 1) == 1 and bool(colon) and number.strip()[:1].isdigit() and values.is_id(number.strip())
    )


def _task(plan: Plan, text: str, file: str, line: int) -> PlanTask | None:
    parts = _number_and_name(text)
    if parts is None:
        return None
    task = PlanTask(number=values.normalized_id(parts[0]), name=parts[1], file=file, line=line)
    if not task.name:
        plan.error(file, line, f"task {task.number} has no name", _form(text))
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
            body.read(plan, task, page, start + 1, end, slips)
            plan.tasks.append(task)
    _warn_of_unread(plan, page, file, {task.number for _, task in sections if task is not None})
    plan.prose += [text] if (text := "\n".join(prose).strip()) else []


def _warn_of_unread(plan: Plan, page: MarkdownPage, file: str, numbers: set[str]) -> None:
    """Warns about lines that number a task in another form, if no task of the file has that number."""
    for index, text in enumerate(page.texts):
        if page.kinds[index] == PLAIN and text[:1] not in ("", " ", "\t"):
            number = _other_form(text)
            if number and values.normalized_id(number) not in numbers:
                what = f"{values.shortened(text)!r} looks like a task but is read as text"
                plan.warn(file, page.number(index), what, _form(number), kind="task")


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
