"""Any text gives a plan or an error, without a crash."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st
from support.quick_cases import all_of

from plans.plan_text import FIXTURES
from sow.domain.plans import graph
from sow.domain.plans.plan import Plan, PlanSource
from sow.plans.reader import read

NAMES = st.sampled_from(["plan.md", "plan.yaml", "plan.yml", "PLAN.YAML", "plan", "a/b.markdown"])
MARKDOWN = [
    "\n", "\n\n", "# P\n", "## Task 1: a\n", "## Task 2: b\n", "## Task integration-1: c\n", "## Tasks\n",
    "### Files:\n", "**Depends on**: ", "**Depends on:**\n", "**Files**: ", "**Files**:\n", "**Agent**: ",
    "**Status**: ", "**Type**: ", "**Estimated time**: ", "**Success Criteria**:\n", "**Structured Criteria**:\n",
    "**Test Commands**:\n", "**Runtime Metadata**:\n", "**Key Points**:\n", "**Commit message**: ",
    "**Files to commit**:\n", "**", "__", "```", "~~~", "````", "<!--", "-->", "---\n", "- ", "  - ", "1. ", "\t",
    "    ", "`", "(", ")", "1", "2", "1-3", "Task 1", "None", "a.py", ", ", " and ", "file:p.md:task:1", "setup.md:2",
    "#", ":", "²", "é", "\0", "\x1b", "\u2028", "\ufeff", "x\n", "30m", "✅", "Command: ", "\\\n", "[x] ",
    "conductor:\n", "  default_agent: a\n", "...\n",
]  # fmt: skip
YAML = [
    "\n", "\n  ", "\n    ", "\n      ", "name: ", "tasks:", "plan:", "- ", "number: ", "id: ", "prompt: ",
    "description: ", "depends_on: ", "files: ", "agent: ", "status: ", "type: ", "estimated_time: ",
    "success_criteria: ", "test_commands: ", "runtime_metadata: ", "implementation: ", "key_points: ", "commit: ",
    "criterion: ", "verification: ", "command: ", "file: ", "task: ", "conductor: ", "quality_control: ", "agents: ",
    "worktree_groups: ", "planner_compliance: ", "data_flow_registry: ", "max_concurrency: ", "[", "]", "{", "}",
    ", ", ": ", "? ", "| ", ">\n", "'", '"', "&a ", "*a", "!!str ", "<<: ", "~", "null", "1", "2", "0x10", "no", "a",
    "---\n", "...\n", "#", "\t", "\0", "²", "\u2028", "\ufeff", "%YAML 1.2\n",
]  # fmt: skip
FILES = sorted(str(path.relative_to(FIXTURES)) for path in FIXTURES.rglob("*.[my]*"))


def check(plan: Plan, sources: list[PlanSource]) -> None:
    """Checks that a plan is valid or has findings: each with a place and a short message, an error with a hint."""
    lines = {source.name: source.text.count("\n") + source.text.count("\r") + 1 for source in sources}
    assert plan.tasks or plan.errors
    for finding in plan.findings:
        assert 0 <= finding.line <= lines[finding.file]
        assert finding.message.isprintable() and finding.hint.isprintable()
        assert len(finding.message) + len(finding.hint) < 2500
        assert finding.hint or not finding.error
    json.dumps([task.document() for task in plan.tasks])
    json.dumps([plan.context, plan.quality_control, plan.prose])
    if not plan.errors:
        needs = plan.needs()
        assert sum(map(len, graph.waves(needs))) == len(plan.tasks)
        graph.critical_path(needs, dict.fromkeys(needs, 1.0))


def check_text(name: str, text: str) -> None:
    sources = [PlanSource(name, text)]
    check(read(sources, agents=("implementer", "dev")), sources)


@given(NAMES, st.text())
@example("plan.yaml", "\ud800")
@example("plan.yaml", "tasks: [{id: ², name: a, prompt: b}]")
@example("plan.yaml", "max_concurrency: 000000001" + "0" * 5000)
@example("plan.md", "## Task 1: a\n**Depends on**: 1-" + "9" * 5000)
@example("plan.md", "## Task 1: a\n**Depends on**: ²-³\n**Estimated time**: ²h\n")
def test_any_text(name: str, text: str):
    """Any text, with any name, is read or refused."""
    check_text(name, text)


@given(NAMES, st.binary(), st.sampled_from(["replace", "surrogateescape", "backslashreplace"]))
def test_any_bytes(name: str, data: bytes, errors: str):
    """Bytes that are no text are read or refused."""
    check_text(name, data.decode("utf-8", errors))


@given(st.lists(st.sampled_from(MARKDOWN), max_size=60).map("".join))
def test_any_mixture_of_markdown(text: str):
    """Any mixture of the parts of a Markdown plan is read or refused."""
    check_text("plan.md", "## Task 1: a\n" + text)
    check_text("plan.md", text)


@given(st.lists(st.sampled_from(YAML), max_size=60).map("".join))
def test_any_mixture_of_yaml(text: str):
    """Any mixture of the parts of a YAML plan is read or refused."""
    check_text("plan.yaml", "tasks:\n  - number: 1\n    name: a\n    prompt: b\n    " + text)
    check_text("plan.yaml", text)
    check_text("plan.md", f"---\n{text}\n---\n## Task 1: a\nx\n")


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, str]:
    """Generates a good plan with a few parts removed, doubled, moved or replaced."""
    name = draw(st.sampled_from(FILES))
    text = (FIXTURES / name).read_text()
    for _ in range(draw(st.integers(1, 4))):
        first, last = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        last = min(last, first + 60)
        piece = draw(st.sampled_from(["", text[first:last] * 2, *MARKDOWN, *YAML]) | st.text(max_size=4))
        text = text[:first] + piece + text[last:]
    return name, text


@given(damaged())
def test_any_damage_to_a_good_plan(case: tuple[str, str]):
    """A damaged plan is read or refused."""
    check_text(*case)


@given(st.lists(damaged(), min_size=2, max_size=3))
def test_any_damage_to_several_files(cases: list[tuple[str, str]]):
    """Several damaged files together are read or refused."""
    sources = [PlanSource(name, text) for name, text in cases]
    if len({source.name for source in sources}) == len(sources):
        check(read(sources), sources)


@all_of("name", FILES)
def test_every_beginning_of_a_plan(name: str):
    """A file that ends anywhere is read or refused."""
    text = (FIXTURES / name).read_text()
    for end in range(0, len(text), max(1, len(text) // 100)):
        check_text(name, text[:end])
