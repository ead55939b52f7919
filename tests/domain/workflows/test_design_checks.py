"""The checks of a design: each mistake is found by its rule, with its line and a hint."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import crew_design
from support.crew_design import FILE, INSTRUCTIONS, findings, places, plan
from support.quick_cases import all_of

from sow.domain.workflows import file_checks
from sow.domain.workflows.crew_plan import Member, WorkflowPlan, is_task_id, normalized_path, own_path

ARCHITECT = """\
  - name: architect_agent
    role: solution_architect
    agent: solution-architect
    task_id: decide_1727539999
    verifier: api_verifier
verifiers:
"""
# What is replaced by what, and the complaints that follow: the line in the plan, and the rule.
MISTAKES = {
    "a circle": ("dependencies: []", "dependencies: [frontend_agent]", "8 dependency-cycle, 32 group-order"),
    "on itself": ("dependencies: []", "dependencies: [database_agent]", "8 dependency-self"),
    "no such agent": ("dependencies: []", "dependencies: [datbase_agent]", "8 dependency-unknown"),
    "a verifier as a dependency": ("dependencies: []", "dependencies: [api_verifier]", "8 dependency-unknown"),
    "no verifier": ("    verifier: database_verifier\n", "", "5 verifier-missing, 27 verifier-mismatch"),
    "an unknown verifier": ("- name: api_verifier", "- name: other", "16 verifier-unknown, 23 verifier-unknown"),
    "a worker as a verifier": (
        "verifier: database_verifier", "verifier: api_agent", "9 verifier-unknown, 28 verifier-mismatch",
    ),
    "verifies itself": (
        "verifier: database_verifier", "verifier: database_agent", "9 verifier-self, 28 verifier-mismatch",
    ),
    "verifies another": (
        "verifies: [database_agent]", "verifies: [api_agent]", "28 verifier-mismatch, 28 verifier-mismatch",
    ),
    "a verifier of itself": (
        "verifies: [database_agent]", "verifies: [database_agent, database_verifier]", "28 verifier-self",
    ),
    "a task id twice": ("user_pages_1727539300", "user_endpoints_1727539284", "21 task-id-duplicate"),
    "the workflow's task id": ("implement_user_management", "user_pages_1727539300", "21 task-id-duplicate"),
    "a task id without its time": ("create_user_table_1727539200", "create_user_table", "7 task-id-format"),
    "a task id with a dash": ("create_user_table_1727539200", "create-user_1727539200", "7 task-id-format"),
    "no task id": ("    task_id: create_user_table_1727539200\n", "", "5 task-id-missing"),
    "an input that nobody writes": ("api_agent/task_output/contract", "api_agent/task_output/c", "24 input-unwritten"),
    "an input of nobody": ("agents/api_agent/task_output", "agents/ui/task_output", "24 input-unwritten"),
    "an input that is not there": ("docs/api.md", "docs/other.md", "17 input-unwritten"),
    "an input outside": ("docs/api.md", "../secrets", "17 input-path"),
    "an absolute input": ("docs/api.md", "/etc/passwd", "17 input-path"),
    "an input of a stranger": ("[api_agent]\n    ver", "[database_agent]\n    ver", "24 input-not-dependency"),
    "no outputs": ("    outputs: [src/pages.js]\n", "", "20 output-missing"),
    "an output in another folder": ("[src/pages.js]", "[agents/api_agent/task_output/x.md]", "25 output-foreign"),
    "an output among the state": ("[src/pages.js]", "[.sow/project/state.yaml]", "25 output-foreign"),
    "an output outside": ("[src/pages.js]", "[../pages.js]", "25 output-path"),
    "an output that is no file": ("[src/pages.js]", "[task_output]", "25 output-path"),
    "no criteria": ('    criteria: ["tests/test_api.py passes"]\n', "", "13 criteria-missing"),
    "an unknown agent type": ("agent: implementer", "agent: database-specialist", "6 agent-unknown"),
    "an unknown type of a verifier": ("    agent: verifier\n", "    agent: judge\n", "30 agent-unknown"),
    "a reserved name": (
        "- name: api_verifier", "- name: archival_agent", "16 verifier-unknown, 23 verifier-unknown, 30 name-reserved",
    ),
    "a bad name": ("name: frontend_agent", "name: Front End", "20 name-form, 32 group-missing, 32 group-unknown"),
    "a name twice": (
        "name: api_verifier", "name: database_verifier", "16 verifier-unknown, 23 verifier-unknown, 30 name-duplicate",
    ),
    "an agent in no group": ("  - frontend_agent\n", "", "32 group-missing"),
    "an agent in two groups": ("  - [api_agent]", "  - [api_agent, database_agent]", "32 group-twice"),
    "a verifier in a group": ("  - [api_agent]", "  - [api_agent, api_verifier]", "32 group-unknown"),
    "groups in the wrong order": (
        "  - database_agent\n  - [api_agent]", "  - api_agent\n  - [database_agent]", "32 group-order",
    ),
    "side by side": ("  - database_agent\n  - [api_agent]", "  - [database_agent, api_agent]", "32 group-order"),
    "no escalation": ("## Escalation\n", "## Other\n", "37 escalation-section"),
    "an empty escalation": (crew_design.PROSE.split("\n")[6], "", "42 escalation-section"),
    "an escalation in code only": ("## Escalation\n", "```\n## Escalation\n```\n", "37 escalation-section"),
    "no validation": ("## Validation checkpoints\n", "## Other\n", "37 validation-section"),
    "a handoff without a checkpoint": (
        "Each handoff is checked by its verifier", "api_agent: its tests run", "39 validation-handoff",
    ),
    "no word about handoffs": (
        "Each handoff is checked", "The code is checked", "39 validation-handoff, 39 validation-handoff",
    ),
    "a workflow that is no name": ("workflow: user_management", "workflow: User Management", "1 workflow-name"),
}  # fmt: skip


def at(complaints: list[str]) -> list[str]:
    return sorted(complaint.replace(f"{FILE}:", "").replace(FILE, "0") for complaint in complaints)


def test_a_good_design_has_no_finding():
    """A design that has all it needs gets no complaint, and no warning either."""
    assert findings(plan()) == []


@all_of("name", MISTAKES)
def test_each_mistake_is_found(name):
    """Each mistake is found by its rule at its line and causes no other error; every finding has a hint."""
    old, new, expected = MISTAKES[name]
    result = findings(plan((old, new)))
    assert at([place for place in places(result) if place.startswith(FILE)]) == sorted(expected.split(", "))
    assert all(finding.hint and finding.text.isprintable() for finding in result)


def test_a_circle_of_files_is_found():
    """Two agents that read each other's files are an error, whatever their dependencies say."""
    edits = (
        ("    outputs: [task_output/schema.sql]", "    inputs: [src/api.py]\n    outputs: [task_output/schema.sql]"),
    )
    result = findings(plan(*edits))
    assert "file-cycle" in {finding.rule for finding in result}
    assert "input-not-dependency" in {finding.rule for finding in result}


def test_one_file_of_two_parallel_agents_is_found():
    """Two agents that may work in parallel must not write one file; in sequence they may."""
    both = ("outputs: [src/pages.js]", "outputs: [src/pages.js, src/api.py]")
    assert "output-shared" not in {finding.rule for finding in findings(plan(both))}
    beside = (
        ("dependencies: [api_agent]", "dependencies: [database_agent]"),
        ("    inputs: [agents/api_agent/task_output/contract.json]\n", ""),
        ("  - [api_agent]\n  - frontend_agent", "  - [api_agent, frontend_agent]"),
    )
    (shared,) = (finding for finding in findings(plan(both, *beside)) if finding.rule == "output-shared")
    assert "src/api.py" in shared.text


def test_a_folder_and_its_files_match():
    """An input below a written folder is written, and so is a folder with a written file."""
    folder = ("outputs: [task_output/schema.sql]", "outputs: [task_output/sql/]")
    below = (
        "agents/database_agent/task_output/schema.sql",
        "orchestration/agents/database_agent/task_output/sql/a.sql",
    )
    messages: dict[str, str | None] = {
        "database_agent": crew_design.instructions("database_agent", (), ("task_output/sql",)),
        "api_agent": (INSTRUCTIONS["api_agent"] or "").replace("schema.sql", "sql/a.sql"),
    }
    assert places(findings(plan(folder, below), messages)) == []
    whole = ("agents/database_agent/task_output/schema.sql", "./agents/database_agent//task_output")
    messages = {"api_agent": (INSTRUCTIONS["api_agent"] or "").replace("task_output/schema.sql", "task_output")}
    assert places(findings(plan(whole), messages)) == []


def test_inputs_of_the_repository_are_returned():
    """An input that no agent writes must exist; the caller gets the list."""
    assert file_checks.repository_inputs(plan()) == ["docs/api.md"]
    assert findings(plan(), existing=None) == []


def test_a_missing_agent_type_is_reported_with_its_specification():
    """A specified type is missing until it exists; one without a prompt is not specified."""
    expected = ("agent: implementer", "agent: database-specialist")
    spec = "required_agents:\n  - name: database-specialist\n    description: Designs tables\n    prompt: You design.\n"
    (missing,) = findings(plan(expected, ("groups:\n", f"{spec}groups:\n")))
    command = "sow agent new database-specialist --from-workflow"
    assert (missing.rule, missing.hint.split(": ")[1]) == ("agent-missing", command)
    half = spec.replace("    prompt: You design.\n", "")
    rules = [finding.rule for finding in findings(plan(expected, ("groups:\n", f"{half}groups:\n")))]
    assert sorted(rules) == ["agent-missing", "agent-specification"]


def test_an_architect_on_call_needs_no_place_in_the_order():
    """A solution architect on call is in no group and has no outputs; a second one is refused."""
    assert findings(plan(("verifiers:\n", ARCHITECT))) == []
    second = ARCHITECT.replace("architect_agent", "other_agent").replace("decide_1", "other_1")
    twice = plan(("verifiers:\n", ARCHITECT), ("verifiers:\n", second))
    assert [finding.rule for finding in findings(twice)] == ["architect-second"]


WITHOUT = {
    "missing": (None, "instructions-missing"),
    "empty": (" \n\n", "instructions-empty"),
    "no outputs": ("## Output Requirements\n", "instructions-section"),
    "no inputs": ("## Input Requirements\n", "instructions-section"),
    "no criteria": ("## Success Criteria\n", "instructions-section"),
    "no completion drive": ("## Completion Drive\n", "instructions-section"),
    "nothing below a heading": ("Write down what you assume.\n", "instructions-section"),
    "an input not named": ("- docs/api.md\n", "instructions-input"),
    "an output not named": ("- src/api.py\n", "instructions-output"),
}


@all_of("name", WITHOUT)
def test_incomplete_instructions_are_found(name):
    """Instructions without a section, a file of the plan, or any text are an error with their path."""
    taken, rule = WITHOUT[name]
    good = INSTRUCTIONS["api_agent"] or ""
    text = taken if taken is None or not taken.strip() else good.replace(taken, "")
    (complaint,) = findings(plan(), {"api_agent": text})
    assert (complaint.file, complaint.rule) == ("agents/api_agent/agent_instructions.md", rule)


def test_instructions_with_an_unplanned_file_are_found():
    """A file of another folder that is no input of the plan is an error at that line."""
    good = INSTRUCTIONS["frontend_agent"] or ""
    wrong = good.replace("- agents/api", "- `agents/database_agent/task_output/schema.sql`.\n- agents/api")
    (complaint,) = findings(plan(), {"frontend_agent": wrong})
    assert (complaint.location, complaint.rule) == (
        "agents/frontend_agent/agent_instructions.md:4",
        "instructions-path",
    )


def test_an_agent_without_inputs_needs_no_section_on_them():
    """The section on inputs is required only for agents with inputs."""
    instructions = crew_design.instructions("database_agent", (), ("task_output/schema.sql",))
    without = instructions.replace("## Input Requirements\n- nothing\n", "")
    assert findings(plan(), {"database_agent": without}) == []


def test_doubtful_parts_are_warnings():
    """A criterion without a measure, an idle verifier, and a file without a format are warnings."""
    edits = (
        ("tests/test_api.py passes", "works well"),
        ("[src/pages.js]", "[src/pages]"),
        ("  - name: api_verifier\n", "  - name: idle_verifier\n  - name: api_verifier\n"),
        ("the user", "somebody"),
        ("fails goes back", "is wrong comes again"),
    )
    messages = {"frontend_agent": (INSTRUCTIONS["frontend_agent"] or "").replace("src/pages.js", "src/pages")}
    result = findings(plan(*edits), dict(messages))
    assert places(result) == []
    assert sorted(finding.rule for finding in result) == [
        "criteria-vague", "escalation-user", "output-format", "validation-failure", "verifier-idle",
    ]  # fmt: skip


@pytest.mark.parametrize("ident", ["a_172753", "create_user_table_1727539200", "a_b_1_999999999999", "__172753"])
def test_a_valid_task_id(ident):
    """{slug}_{unix_epoch_timestamp} is a task id."""
    assert is_task_id(ident)


@all_of("ident", ["", "1727539200", "_1727539200", "a_12345", "a_1234567890123", "A_1727539200",
                                   "a-b_1727539200", "a_17275392OO", "a_²727539200", "ä_1727539200", "a 1727539200",
                                   "a" * 115 + "_172753"])  # fmt: skip
def test_an_invalid_task_id(ident):
    """Anything else is none."""
    assert not is_task_id(ident)


@given(st.text(alphabet=string.ascii_lowercase + "/._", max_size=40))
def test_paths_are_normalised(path):
    """A normal path stays as it is, and an output is relative to its own folder."""
    assert normalized_path(normalized_path(path)) == normalized_path(path)
    assert own_path("a", own_path("a", path)) == own_path("a", path)


NAMES = ["a", "b", "c", "d"]


@st.composite
def crews(draw):
    """Generates a plan of four agents with any dependencies, groups and files."""
    some = st.lists(st.sampled_from([*NAMES, "nobody"]), max_size=3)
    paths = st.lists(
        st.sampled_from(["x.md", "task_output/y.md", "agents/a/task_output/y.md", "src", "src/z.py"]), max_size=3
    )
    crew = WorkflowPlan()
    crew.members = [
        Member(
            name, task_id=f"t_{at}00000", verifier="v", dependencies=draw(some), inputs=draw(paths), outputs=draw(paths)
        )
        for at, name in enumerate(NAMES, 1)
    ]
    crew.order = draw(st.lists(some, max_size=4))
    crew.groups_line = 1 if crew.order else 0
    return crew


@given(crews())
def test_a_crew_without_findings_about_its_order_can_finish(crew):
    """Without a finding about the order, every agent can start after its dependencies."""
    rules = {finding.rule for finding in crew_checks_of(crew)}
    if not any(rule.startswith(("dependency", "group")) for rule in rules):
        needs, done = crew.waits_for(), set()
        for _ in NAMES:
            done |= {name for name in NAMES if set(needs[name]) <= done}
        assert done == set(NAMES)


def crew_checks_of(crew: WorkflowPlan):
    return findings(crew, dict.fromkeys(NAMES))


@given(crews())
def test_an_input_without_findings_is_written_before_it_is_read(crew):
    """Without a finding about files, each file of another agent is written by an earlier one."""
    if any(finding.rule.startswith(("input", "output-foreign", "dependency")) for finding in crew_checks_of(crew)):
        return
    for member in crew.members:
        if "agents/a/task_output/y.md" in member.inputs and member.name != "a":
            assert "a" in _before(crew, member.name)


def _before(crew: WorkflowPlan, name: str) -> set[str]:
    needs, result, waiting = crew.needs(), set(), [name]
    while waiting:
        for need in needs[waiting.pop()]:
            if need not in result:
                result.add(need)
                waiting.append(need)
    return result
