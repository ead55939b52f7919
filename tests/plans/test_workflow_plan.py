"""The reader of a workflow's plan: what it accepts, what it refuses with which line, and its digests."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st
from support.crew_design import FILE, HEAD, PROSE, TEXT, plan
from support.quick_cases import all_of

from sow.domain.workflows import design_checks
from sow.domain.workflows.crew_plan import TIMEOUT
from sow.plans import workflow_plan
from sow.plans.workflow_plan import MAX_TEXT, read

HOSTILE = {
    "no text": ("", 1),
    "no frontmatter": ("# A plan\n", 1),
    "an empty frontmatter": ("---\n---\n", 1),
    "a frontmatter without an end": (f"---\n{HEAD}", 1),
    "no mapping": ("---\n- a\n---\n", 2),
    "an anchor": ("---\nworkflow: &a x\n---\n", 2),
    "an alias": ("---\nworkflow: x\ntask_id: *a\n---\n", 3),
    "a tag": ("---\nworkflow: !!python/object:os.system x\n---\n", 2),
    "a key twice": ("---\nworkflow: x\nworkflow: y\n---\n", 3),
    "a merge key": ("---\nworkflow: x\n<<: {task_id: y}\n---\n", 3),
    "two documents": ("---\nworkflow: x\n--- # more\ntask_id: y\n---\n", 4),
    "brackets": ("---\nagents: " + "[" * 5000 + "\n---\n", 2),
    "a million braces": ("---\na: " + "{a: " * 100_000 + "\n---\n", 2),
    "half a character": ("---\nworkflow: \ud800\n---\n", 2),
    "a NUL": ("---\nworkflow: x\0\n---\n", 2),
    "a NUL in the prose": (TEXT + "\0", TEXT.count("\n") + 1),
    "an invisible line break": ("---\nworkflow: x\u2028\n---\n", 2),
    "agents that are no list": ("---\nworkflow: x\ntask_id: y\nagents: one\n---\n", 4),
    "an agent that is no mapping": ("---\nworkflow: x\ntask_id: y\nagents:\n  - one\n---\n", 5),
    "an agent without a name": ("---\nworkflow: x\ntask_id: y\nagents:\n  - task_id: a_172753\n---\n", 5),
    "a name that is a list": ("---\nworkflow: x\ntask_id: y\nagents:\n  - name: [a]\n---\n", 5),
    "a control character": ('---\nworkflow: x\ntask_id: y\nagents:\n  - name: "a\\e[31m"\n---\n', 5),
    "too many agents": ("---\nworkflow: x\ntask_id: y\nagents:\n" + "  - name: a\n" * 201 + "---\n", 4),
    "too long a list": (
        "---\nworkflow: x\ntask_id: y\nagents:\n  - name: a\n    inputs: [" + "a, " * 101 + "a]\n---\n",
        6,
    ),
    "too long": ("---\nworkflow: x\n---\n" + "a" * MAX_TEXT, 0),
    "no agents": ("---\nworkflow: x\ntask_id: y\n---\n", 1),
    "no workflow": (f"---\n{HEAD}---\n".replace("workflow: user_management\n", ""), 1),
    "a role that is none": (TEXT.replace("    agent: implementer\n", "    role: boss\n"), 6),
    "a mistyped key": (TEXT.replace("    dependencies: []", "    dependancies: []"), 8),
    "a time-out of nothing": (TEXT.replace("90m", "0m"), 12),
    "a time-out of a month": (TEXT.replace("90m", "30 days"), 12),
    "a time-out of words": (TEXT.replace("90m", "soon"), 12),
    "a group that is a mapping": (TEXT.replace("  - [api_agent]", "  - {api_agent: 1}"), 34),
    "groups that are a mapping": (TEXT.replace("groups:", "groups:\n  a: b\n\nx:"), 32),
    "an empty name in a group": (TEXT.replace("  - [api_agent]", "  - [api_agent, ' ']"), 34),
}


def test_a_plan_is_read_completely():
    """All fields of the frontmatter are read with their lines, and the prose below."""
    result = plan()
    assert (result.complaints, result.name, result.task_id) == ([], "user_management", "implement_user_management")
    assert [member.name for member in result.members] == ["database_agent", "api_agent", "frontend_agent"]
    first, second, _ = result.members
    assert (first.agent, first.kind, first.task_id, first.verifier) == (
        "implementer", "doer", "create_user_table_1727539200", "database_verifier",
    )  # fmt: skip
    assert (first.timeout, second.timeout, first.line, first.line_of("outputs")) == (5400.0, TIMEOUT, 5, 10)
    assert second.inputs == ["agents/database_agent/task_output/schema.sql", "docs/api.md"]
    assert (second.outputs, second.dependencies) == (["src/api.py", "task_output/contract.json"], ["database_agent"])
    assert [(verifier.name, verifier.agent, verifier.verifies) for verifier in result.verifiers] == [
        ("database_verifier", "verifier", ["database_agent"]), ("api_verifier", "verifier", []),
    ]  # fmt: skip
    assert result.order == [["database_agent"], ["api_agent"], ["frontend_agent"]]
    assert (result.prose, result.prose_line) == (PROSE, 37)


@all_of("name", HOSTILE)
def test_an_invalid_plan_is_refused_with_its_line(name):
    """Every broken, hostile or huge text is an error with its line and a hint, within half a second."""
    text, line = HOSTILE[name]
    start = time.process_time()
    result = read(text)
    assert time.process_time() - start < 0.5
    assert line in [error.line for error in result.errors]
    assert all(
        complaint.file == FILE and complaint.hint and complaint.text.isprintable() for complaint in result.complaints
    )


def test_an_unknown_key_is_a_remark():
    """An unknown key that is near to no known one is a remark, and the plan is valid."""
    (remark,) = plan(("    timeout: 90m", "    mood: good")).complaints
    assert (remark.error, remark.line) == (False, 12)


def test_without_groups_agents_work_in_sequence():
    """A plan without groups has one agent in each, after its dependencies."""
    without = TEXT.replace("groups:\n  - database_agent\n  - [api_agent]\n  - frontend_agent\n", "")
    swapped = without.replace("dependencies: []", "dependencies: [frontend_agent]").replace(
        "dependencies: [database_agent]", "dependencies: []"
    )
    assert read(without).order == [["database_agent"], ["api_agent"], ["frontend_agent"]]
    assert read(swapped).order == [["api_agent"], ["frontend_agent"], ["database_agent"]]


def test_line_ends_and_a_byte_order_mark_do_not_matter():
    """Line ends of other systems and a byte order mark are no other plan."""
    other = read("\ufeff" + TEXT.replace("\n", "\r\n"))
    assert (other.digest, other.sections) == (plan().digest, plan().sections)


def test_layout_and_comments_change_no_digest():
    """Comments, quotes, the order of keys and of dependencies change no digest."""
    other = plan(
        ("    agent: implementer\n    task_id: create_user_table_1727539200\n",
         "    task_id: 'create_user_table_1727539200'  # new\n    agent: implementer\n"),
        ("[agents/database_agent/task_output/schema.sql, docs/api.md]",
         "[docs/api.md, ./agents/database_agent/task_output/schema.sql]"),
    )  # fmt: skip
    assert (other.digest, other.sections) == (plan().digest, plan().sections)


CHANGES = {
    "an output": ("[src/pages.js]", "[src/page.js]", {"frontend_agent"}),
    "a criterion": ("0 failures", "1 failure", {"frontend_agent"}),
    "a time-out": ("90m", "91m", {"database_agent"}),
    "a dependency": ("dependencies: [api_agent]", "dependencies: [database_agent]", {"frontend_agent"}),
    "the agent type of a verifier": ("    agent: verifier\n", "    agent: judge\n", {"api_agent", "frontend_agent"}),
    "the group before": ("  - database_agent\n  - [api_agent]", "  - [api_agent]\n  - database_agent",
                         {"database_agent", "api_agent", "frontend_agent"}),
    "the prose": ("the user", "the person", set()),
    "the workflow's id": ("implement_user", "build_user", set()),
}  # fmt: skip


@all_of("name", CHANGES)
def test_a_change_affects_the_digest_of_its_sections(name):
    """The whole digest changes with every change, the digest of a section only if it concerns that agent."""
    old, new, concerned = CHANGES[name]
    before, after = plan(), plan((old, new))
    assert before.digest != after.digest
    assert {section for section in before.sections if before.sections[section] != after.sections[section]} == concerned


def test_a_new_agent_changes_no_other_section():
    """An agent that is added beside the last one changes no other agent's section."""
    more = HEAD[HEAD.index("  - name: frontend_agent") : HEAD.index("verifiers:")].replace(
        "frontend_agent", "docs_agent"
    )
    after = plan(
        ("verifiers:\n", f"{more}verifiers:\n"), ("  - frontend_agent\n", "  - [frontend_agent, docs_agent]\n")
    )
    assert {name: digest for name, digest in after.sections.items() if name != "docs_agent"} == plan().sections


PARTS = [
    "\n", "\n  ", "\n    ", "---\n", "...\n", "workflow: ", "task_id: ", "agents:", "verifiers:", "groups:", "- ",
    "required_agents:", "name: ", "agent: ", "role: ", "dependencies: ", "verifier: ", "verifies: ", "inputs: ",
    "outputs: ", "criteria: ", "timeout: ", "a", "b", "doer", "60m", "task_output/x", "agents/a/task_output/x", "../x",
    "a_172753", "[", "]", "{", "}", ", ", ": ", "'", '"', "&a ", "*a", "!!str ", "<<: ", "~", "null", "#", "\t", "\0",
    "## Escalation\n", "## Validation\n", "```\n", "> ", "\u2028", "\ufeff", "\ud800", "²", "\x1b",
]  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=60).map("".join), st.booleans())
def test_any_text_is_a_plan_or_an_error(text, framed):
    """Any text has errors, or agents with names and digests; and it can be checked."""
    result = read(f"---\n{text}\n---\n{text}" if framed else text)
    lines = result.prose_line + result.prose.count("\n") + text.count("\n") + 2
    assert result.errors or (result.members and len(result.digest) == 64)
    findings = design_checks.findings(
        result, {member.name: text for member in result.members}, {"implementer"}, existing=set()
    )
    for finding in findings:
        assert (
            0 <= finding.line <= lines + 2
            and finding.text.isprintable()
            and finding.hint.isprintable()
            and finding.hint
        )
        assert finding.document()["rule"]


@given(st.integers(0, len(TEXT)), st.integers(0, 40), st.text(max_size=5))
def test_a_damaged_plan_is_no_crash(at, cut, put):
    """A good plan with a hole or a strange text is read or refused, and its digest follows what was read."""
    damaged = TEXT[:at] + put + TEXT[at + cut :]
    result = read(damaged)
    assert result.errors or set(result.sections) == {member.name for member in result.members}
    assert read(damaged).digest == result.digest


def test_reading_and_checking_a_large_plan_is_quick():
    """Two hundred agents with all their files, each of which reads those of all others before, take less than 2 s."""
    rows = []
    for at in range(200):
        inputs = ", ".join(f"agents/a{other}/task_output/x.md" for other in range(max(0, at - 90), at))
        needs = ", ".join(f"a{other}" for other in range(max(0, at - 90), at))
        rows.append(
            f"  - name: a{at}\n    task_id: t{at}_172753\n    verifier: v\n    dependencies: [{needs}]\n"
            f"    inputs: [{inputs}]\n    outputs: [task_output/x.md]\n    criteria: [all tests pass]\n"
        )
    text = "---\nworkflow: x\ntask_id: y\nagents:\n" + "".join(rows) + "verifiers:\n  - name: v\n---\n" + PROSE
    start = time.process_time()
    result = read(text)
    messages = {member.name: "\n".join(["# a", *member.inputs, *member.outputs]) for member in result.members}
    complaints = design_checks.findings(result, messages, {"implementer", "verifier"})
    assert time.process_time() - start < 2
    assert {complaint.rule for complaint in complaints} == {"instructions-section"}


def test_errors_have_the_callers_file_name():
    """Complaints name the file as the caller does."""
    assert {complaint.file for complaint in workflow_plan.read("", "orchestration/plan.md").complaints} == {
        "orchestration/plan.md"
    }
