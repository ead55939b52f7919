"""S5: the time to read any text is linear in its size."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable

import pytest
from support.quick_cases import few_of

from guarantees.oversized_plans import PLAN_MARKDOWN, PLAN_YAML
from guarantees.oversized_task_lists import LISTS
from guarantees.oversized_texts import JSON, YAML, Make, numbered, pattern
from sow.domain.plans.plan import PlanSource
from sow.errors import SowError
from sow.plans.reader import read as read_plan
from sow.plans.task_lists.progress import TaskProgress
from sow.plans.write_back import with_progress
from sow.store import file_kinds
from sow.store.files import state_file
from sow.store.files.checkout_home import Home
from sow.store.formats import json_text, yaml_text
from sow.store.projects import log
from sow.store.projects import project as projects
from sow.store.validators.task import validate
from sow.system.checkout import Checkout
from sow.system.terminal import escape_control, escape_line

KIB = 1 << 10
FLOOR = 0.003  # seconds; below this a clock measures the machine, not the reader
TRIES = 3
PER_STEP = 10.0  # a step is four times the size: a linear reader takes four times as long, a quadratic one sixteen

HEAD = "### 2026-01-31T09:00:00Z · a-1 · note · info\n\n"
LOGS: dict[str, Make] = {
    "empty lines in an entry": pattern("\n", before=HEAD, after="end\n"),
    "empty lines at the end": pattern("\n", before=f"{HEAD}text"),
    "heads": pattern(HEAD),
    "broken heads": pattern("### x\n", before=HEAD),
    "files": pattern("- a\n", before=HEAD),
    "files and a text": pattern("- a\n", before=HEAD, after="\ntext\n"),
    "almost files": pattern("- a\n", before=HEAD, after="x\n\ntext\n"),
    "backslashes": pattern("\\", before=HEAD),
    "lines of backslashes": pattern("\\\\\\### x\n", before=HEAD),
    "dots": pattern(" · ", before="### 2026-01-31T09:00:00Z"),
    "one long line": pattern("x", before=HEAD),
    "entries": pattern(f"\n{HEAD}- a.py\n- b.py\n\nSome words\n\nand more\n"),
}
MEMORIES: dict[str, Make] = {
    "heads": pattern("## "),
    "lines of heads": pattern("## x\n\ntext\n"),
    "empty lines": pattern("\n", before="## x\n"),
    "backslashes": pattern("\\", before="## x\n\n"),
}
FEEDBACK: dict[str, Make] = {
    "facts": pattern("- a: b\n", before="# Feedback 001\n\n"),
    "empty lines": pattern("\n", before="# Feedback 001\n\n- by: a\n"),
    "colons": pattern(": ", before="# Feedback 001\n\n- by"),
    "titles": pattern("# Feedback 001\n\n"),
}
TEXTS: dict[str, Make] = {
    "escapes": pattern("\x1b[31m"),
    "white space": pattern(" \t\n"),
    "turned text": pattern("\u202e"),
    "words": pattern("a "),
}
OUR_LAYOUT: dict[str, Make] = {
    "criteria": pattern("    - It works\n", before='schema_version: "1.2.0"\ntask:\n  criteria:\n'),
    "dependencies": numbered('    - "#"\n', before='schema_version: "1.2.0"\ntask:\n  depends_on:\n'),
    "unknown fields": numbered("k#: 1\n", before='schema_version: "1.2.0"\n'),
    "a long text": pattern("x", before='schema_version: "1.2.0"\ntask:\n  name: '),
}


def grown(make: Make, size: int) -> str:
    """Returns the pattern at about this size, never cut: half a unit at its end may be refused sooner."""
    unit = max((len(make(200)) - len(make(100))) // 100, 1)
    count = max(size - len(make(0)), 0) // unit
    while len(text := make(count)) > size and count:  # numbers have more digits later
        count = count * size // len(text) * 99 // 100
    return text


def once(read: Callable[[str], object], text: str) -> float:
    """Measures the reader's own time, without a garbage collection of other tests' objects."""
    gc.disable()
    try:
        start = time.process_time()
        with contextlib.suppress(SowError):
            read(text)
        return time.process_time() - start
    finally:
        gc.enable()


def check_linear(read: Callable[[str], object], make: Make) -> None:
    """Checks that one of several measurements is linear: a busy machine is slow by chance, a slow reader always."""
    slow: list[str] = []
    while len(slow) < TRIES and (output := slowness(read, make)):
        slow.append(output)
    assert len(slow) < TRIES, slow


def slowness(read: Callable[[str], object], make: Make) -> str:
    """Grows the text from 16 KiB to 1 MiB; returns what took longer than linear time."""
    size = 16 * KIB
    allowed = max(FLOOR, min(once(read, grown(make, size)) for _ in range(3)))
    while size < 1024 * KIB:
        size *= 4
        allowed *= PER_STEP
        taken = once(read, grown(make, size))
        if taken > allowed:
            return f"{size >> 10} KiB took {taken:.3f} s, at most {allowed:.3f} s would be in proportion"
    return ""


# A ladder of lines grows with the square of its height, and laughs are as short as they come.
FLAT = [name for name in YAML if name != "laughs" and not name.startswith("steps")]


@few_of("name", FLAT, 3)
def test_yaml_is_read_in_linear_time(name):
    """Twice the YAML takes about twice the time, up to the limit of a state file."""
    check_linear(lambda text: yaml_text.load(text, "f.yaml"), YAML[name])


@few_of("name", OUR_LAYOUT, 2)
def test_a_state_is_checked_in_linear_time(name):
    """Twice the state takes about twice the time to read and to validate."""
    check_linear(lambda text: state_file.parse(text, "f.yaml", validate), OUR_LAYOUT[name])


@few_of("name", PLAN_MARKDOWN, 1)
def test_a_plan_in_markdown_is_read_in_linear_time(name):
    """Twice the Markdown takes about twice the time to read, to resolve and to check."""
    check_linear(lambda text: read_plan([PlanSource("plan.md", text)]), PLAN_MARKDOWN[name])


@few_of("name", [*FLAT, *PLAN_YAML], 3)
def test_a_plan_in_yaml_is_read_in_linear_time(name):
    """Twice the YAML takes about twice the time to read, to resolve and to check."""
    check_linear(lambda text: read_plan([PlanSource("plan.yaml", text)]), {**YAML, **PLAN_YAML}[name])


@few_of("name", LISTS, 2)
def test_a_task_list_of_another_tool_is_read_in_linear_time(name):
    """Twice the list takes about twice the time to read, to order and to check."""
    file, make = LISTS[name]
    check_linear(lambda text: read_plan([PlanSource(file, text)]), make)


WRITTEN = ("tasks", "subtasks", "criteria", "spaces in a status", "remarks", "markers")


@few_of("name", [name for name in LISTS if name.partition(": ")[2] in WRITTEN], 1)
def test_statuses_are_written_into_a_task_list_in_linear_time(name):
    """Twice the list takes about twice the time to write every status."""
    file, make = LISTS[name]

    def write(text: str) -> None:
        source = PlanSource(file, text)
        numbers = [task.number for task in read_plan([source]).tasks]
        with_progress(source, {number: TaskProgress("completed") for number in numbers}, "2026-11-18T09:30:00Z")

    check_linear(write, make)


@few_of("name", JSON, 2)
def test_json_is_read_in_linear_time(name):
    """Twice the JSON takes about twice the time."""
    check_linear(lambda text: json_text.load(text, "f.json"), JSON[name])


@few_of("name", LOGS, 2)
def test_a_log_is_read_in_linear_time(name):
    """Twice the log takes about twice the time to read and to validate."""
    check_linear(log.parse, LOGS[name])
    check_linear(lambda text: log.validate_text(text, "log.md"), LOGS[name])


@few_of("name", LOGS, 2)
def test_a_text_is_rendered_in_linear_time(name):
    """Twice the text takes about twice the time to write into a log."""
    entry = {"timestamp": "2026-01-31T09:00:00Z", "agent": "a", "action": "a", "result": "b", "files": []}
    check_linear(lambda text: log.render({**entry, "text": text}), LOGS[name])


@pytest.mark.parametrize("name", MEMORIES)
def test_memories_are_read_in_linear_time(tmp_path, name):
    """Twice the memories take about twice the time."""
    (tmp_path / ".sow" / "project" / "context").mkdir(parents=True)
    home = Home(Checkout(root=str(tmp_path), git="", common=""))

    def read(text: str) -> None:
        (tmp_path / ".sow" / "project" / "context" / "memories.md").write_text(text)
        projects.read_memories(home)

    check_linear(read, MEMORIES[name])


@pytest.mark.parametrize("name", FEEDBACK)
def test_feedback_is_read_in_linear_time(name):
    """Twice the feedback takes about twice the time."""
    check_linear(log._split, FEEDBACK[name])


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_escaped_in_linear_time(name):
    """Twice the text takes about twice the time to show."""
    check_linear(escape_control, TEXTS[name])
    check_linear(escape_line, TEXTS[name])


def test_a_description_is_read_in_linear_time(tmp_path):
    """Twice the description takes about twice the time to validate."""
    path = tmp_path / "description.md"

    def read(text: str) -> None:
        path.write_text(text)
        file_kinds.validate_file(str(path), "description.md", "")

    check_linear(read, pattern("\n# x", before="# Title\n"))


def test_a_quadratic_reader_is_found():
    """The measurement fails for a reader that scans the text once for every few of its letters."""

    def read(text: str) -> None:
        for _ in range(len(text) // 4):
            text.count("x")

    with pytest.raises(AssertionError, match="in proportion"):
        check_linear(read, pattern("a"))
