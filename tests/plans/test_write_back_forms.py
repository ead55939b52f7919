"""In every form of a plan, writing a status back changes only its own place."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.samples import PLAN_STATUSES

from sow.domain.plans.plan import PlanSource
from sow.errors import SowError
from sow.plans import reader
from sow.plans.write_back import with_statuses

MEANINGS = {
    "pending": "pending", "TODO": "pending", "in-progress": "in_progress", "In Progress": "in_progress",
    "completed": "completed", "COMPLETE": "completed", "failed": "failed", "skipped": "skipped",
    "blocked": "pending", "": "pending",
}  # fmt: skip
PICTURES = ("", "✅ ", "❌ ")


class Value(NamedTuple):
    """A line with a status: the text before it, the status, and the text after it."""

    before: str
    text: str
    behind: str
    quote: str = ""

    @property
    def line(self) -> str:
        return f"{self.before}{self.quote}{self.text}{self.quote}{self.behind}"

    def changed(self, word: str) -> str:
        return f"{self.before}{'' if self.text or self.quote else ' '}{self.quote}{word}{self.quote}{self.behind}"


class Gap(NamedTuple):
    """A place for a status: a line of its own, or before the end of the existing line."""

    before: str
    quote: str = ""
    end: str = ""


Part = str | Value | Gap


class Written(NamedTuple):
    """One task: its number, its status, and its lines."""

    number: str
    status: str
    parts: list[Part]


class Plan(NamedTuple):
    """A plan file in the making."""

    file: str
    head: list[str]
    tasks: list[Written]
    endings: list[str]
    open_end: bool
    mark: str

    def text(self, statuses: dict[str, str]) -> str:
        """Returns the file with these statuses."""
        lines = [[line, self._ending(index)] for index, line in enumerate(self.head)]
        count = len(lines)
        for task in self.tasks:
            status = statuses.get(task.number, task.status)
            word = "" if status == task.status else status.replace("_", "-")
            for part in task.parts:
                if isinstance(part, Gap):
                    self._fill(lines, part, word)
                    continue
                line = part if isinstance(part, str) else part.changed(word) if word else part.line
                lines.append([line, self._ending(count)])
                count += 1
        if self.open_end:
            lines[-1][1] = ""
        return self.mark + "".join(line + ending for line, ending in lines)

    def _ending(self, index: int) -> str:
        return self.endings[index % len(self.endings)]

    def _fill(self, lines: list[list[str]], gap: Gap, word: str) -> None:
        if word and not gap.end:
            lines.append([gap.before + word, lines[-1][1]])
        elif word:
            lines[-1][0] = lines[-1][0].removesuffix(gap.end) + gap.before + word + gap.quote + gap.end


NAMES = st.sampled_from(["One", "Ünï 😀", "a \u2028 b", "x: y", "tab\there "])
WORDS = st.sampled_from(
    ["Do it.", "**Note**: x", "- [x] step", "status: failed", "é\u00a0ß", "Some  words  ", "> quote"]
)
LEADS = ("", "- ", "* ")
INDENTED = (*LEADS, "  - ", "\t")  # what is indented below a list belongs to its entries
FENCE = ["```md", "## Task 9: no", "**Status**: completed", "```"]


@st.composite
def label(draw: st.DrawFn, name: str, leads: tuple[str, ...]) -> str:
    """Returns a bold label up to its value."""
    name = draw(st.sampled_from([name, name.lower(), name.upper()]))
    lead = draw(st.sampled_from(leads))
    return lead + draw(st.sampled_from([f"**{name}**:", f"**{name}:**", f"**{name}** :"]))


@st.composite
def fact(draw: st.DrawFn, leads: tuple[str, ...]) -> list[Part]:
    """Returns a leading field, with a gap where a status could follow."""
    name, value = draw(
        st.sampled_from([("Agent", "tester"), ("Estimated time", "30m"), ("Depends on", "None"), ("File", "`a.py`")])
    )
    if name == "File" and leads == LEADS:
        return ["**Files**:", "- `a.py`", "- `b.py`", ""]
    start = draw(label(name, leads))
    return [f"{start} {value}", Gap(start[: start.index("**")] + "**Status**: "), *draw(st.sampled_from([[], [""]]))]


@st.composite
def markdown_task(draw: st.DrawFn, number: str) -> Written:
    """Returns a task in Markdown: fields, perhaps a status, and text."""
    leads = draw(st.sampled_from([LEADS, INDENTED]))
    facts: list[Part] = [Gap("**Status**: ")]
    for item in draw(st.lists(fact(leads), max_size=3)):
        facts += item
    body: list[Part] = [*draw(st.lists(WORDS, max_size=3)), *draw(st.sampled_from([[], FENCE])), ""]
    rest: list[Part] = draw(st.sampled_from([[], [""], ["", ""]])) + body
    heading = f"## Task {number}: {draw(NAMES)}"
    if draw(st.booleans()):
        last = max(index for index, part in enumerate(facts) if isinstance(part, Gap))
        kept = [part for index, part in enumerate(facts) if index == last or not isinstance(part, Gap)]
        return Written(number, "pending", [heading, *kept, *rest])
    word = draw(st.sampled_from(sorted(MEANINGS)))
    picture = draw(st.sampled_from(PICTURES)) if word else ""
    before = draw(label("Status", leads)) + (draw(st.sampled_from([" ", "  ", "\t"])) if word else "")
    value = Value(before, picture + word, draw(st.sampled_from(["", "  ", "\\"])))
    parts = [*(part for part in facts if not isinstance(part, Gap)), *rest]
    places = [index for index, part in enumerate(parts) if part not in FENCE[1:]]
    place = draw(st.sampled_from(places))
    return Written(number, MEANINGS[word], [heading, *parts[:place], value, *parts[place:]])


SCALARS = st.sampled_from(
    [
        Value("    status: ", "pending", "  # c: d"),
        Value("    status:  ", "COMPLETE", ""),
        Value("    status: ", "In Progress", " ", '"'),
        Value("    status: ", "failed", " # 'x'", "'"),
        Value('    "status": ', "✅ COMPLETE", "", '"'),
        Value("    status:", "", ""),
        Value("    status:", "", " # none"),
        Value("    status: ", "", "", '"'),
    ]
)
BLOCKS = st.sampled_from(
    [["    status: |", Value("      ", "pending", "")], ["    status: >- # c", Value("     ", "completed", ""), ""]]
)
MORE = st.sampled_from(
    ["    agent: 'é😀'", "    files: [a, b] # c", "    # status: failed", "    test_commands:\n    - make", ""]
)
KEYS = st.sampled_from(["number", "id", "task_number"])


def meaning(parts: list[Part]) -> str:
    text = next(part.text for part in parts if isinstance(part, Value))
    return MEANINGS[text.removeprefix("✅ ")]


@st.composite
def block_task(draw: st.DrawFn, number: str) -> Written:
    """Returns a task in YAML's block style."""
    start: list[Part] = [f"  - {draw(KEYS)}: {number} # n", "    name: 'Ünï: 😀'"]
    more: list[Part] = [
        "    prompt: >",
        "      status: x",
        "",
        "      y",
        *draw(st.lists(MORE, max_size=3, unique=True)),
    ]
    form = draw(st.sampled_from(["none", "scalar", "block"]))
    if form == "none":
        return Written(number, "pending", [*start, Gap("    status: "), *more])
    value: list[Part] = [draw(SCALARS)] if form == "scalar" else draw(BLOCKS)
    parts = [*start, *value, *more] if draw(st.booleans()) else [*start, *more, *value]
    return Written(number, meaning(value), parts)


@st.composite
def flow_task(draw: st.DrawFn, number: str) -> Written:
    """Returns a task in braces."""
    quote = draw(st.sampled_from(["", '"', "'"]))
    name, prompt = (
        f"{quote}{key}{quote}: {quote}{value}{quote}" for key, value in (("name", "ü😀"), ("prompt", "x y"))
    )
    start = f"  - {{{quote}id{quote}: {number}, {name}, {prompt}"
    end = draw(st.sampled_from(["}", " }", ",} # c", " # c, d", ", # e"]))
    closing: list[Part] = [] if "}" in end else ["  }"]
    if draw(st.booleans()):
        gap = Gap(f", {quote}status{quote}: {quote}", quote, end)
        return Written(number, "pending", [start + end, gap, *closing])
    word = draw(st.sampled_from(["pending", "COMPLETE", "failed", "in-progress"]))
    return Written(number, MEANINGS[word], [Value(f"{start}, {quote}status{quote}: ", word, end, quote), *closing])


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Generates a plan file of random forms."""
    numbers = draw(st.lists(st.sampled_from(["1", "2", "7", "2.5", "integration-1"]), min_size=1, unique=True))
    endings = draw(st.sampled_from([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"], ["\r\n", "\r\n", "\n"]]))
    around = (endings, draw(st.booleans()), draw(st.sampled_from(["", "\ufeff"])))
    if draw(st.booleans()):
        heads = [["# Plan", ""], ["---", "sow:", "  default_agent: a", "---", "# Plan", "**Status**: pending"], ["# P"]]
        return Plan("a.md", draw(st.sampled_from(heads)), [draw(markdown_task(number)) for number in numbers], *around)
    heads = [["tasks:"], ["plan:", "  metadata: {status: pending}", "  tasks:"], ["name: 'ü'", "tasks: # all"]]
    tasks = [draw(st.one_of(block_task(number), flow_task(number))) for number in numbers]
    return Plan("a.yaml", draw(st.sampled_from(heads)), tasks, *around)


def wanted(plan: Plan) -> st.SearchStrategy[dict[str, str]]:
    """Generates statuses for some of its tasks."""
    some = st.fixed_dictionaries({}, optional={task.number: st.sampled_from(PLAN_STATUSES) for task in plan.tasks})
    return st.one_of(st.fixed_dictionaries({task.number: st.sampled_from(PLAN_STATUSES) for task in plan.tasks}), some)


@given(st.data())
def test_only_the_place_of_a_status_changes(data: st.DataObject):
    """For any form of plan and any statuses, the result is the same file with other words in these places."""
    plan = data.draw(plans())
    statuses = data.draw(wanted(plan))
    old, new = plan.text({}), plan.text(statuses)
    assert with_statuses(old, plan.file, statuses) == new
    result = {
        task.number: task.status for task in reader.read([PlanSource(plan.file, new.removeprefix("\ufeff"))]).tasks
    }
    assert result == {task.number: statuses.get(task.number, task.status) for task in plan.tasks}
    assert with_statuses(new, plan.file, statuses) == new


@pytest.mark.full
@given(st.data())
def test_statuses_can_be_written_one_by_one(data: st.DataObject):
    """One call for all tasks, and one call for each, have the same result."""
    plan = data.draw(plans())
    statuses = data.draw(wanted(plan))
    text = plan.text({})
    for number, status in statuses.items():
        text = with_statuses(text, plan.file, {number: status})
    assert text == with_statuses(plan.text({}), plan.file, statuses)


ODD = st.sampled_from(
    [
        "## Task 1: A", "## Task 2: B", "**Status**:", "**Status** pending", "**Status:**", "**Status**: ** : x",
        "### Status:", "- **Agent**: a", "**Files**:", "- a", "  **Status**: failed", "```", "~~~~", "---", "status: x",
        "**Status**: <!-- pending", "**Status**: `", "* * **Status**: pending", "\u2028", "\x85", "\x00", "\\",
        "tasks:", "- number: 1", "- {number: 2, status}", "  name: A", "  prompt: x", "  status: [", "  status: |",
        "   ", "{", "}", "? id", ": 1",
    ]
)  # fmt: skip


@given(st.lists(ODD, max_size=14), st.sampled_from(["a.md", "a.yaml"]), st.sampled_from(["\n", "\r\n", "\r"]))
def test_odd_texts_are_written_or_refused(lines: list[str], file: str, ending: str):
    """For any text the result has the wanted statuses and the rest unchanged, or there is an error with a hint."""
    text = ending.join(lines)
    try:
        new = with_statuses(text, file, {"1": "completed"})
    except SowError as error:
        assert file in error.message
        return
    read = {task.number: task.status for task in reader.read([PlanSource(file, new)]).tasks}
    assert read["1"] == "completed"
    assert len([line for line in new.split(ending) if line not in lines]) <= 1
