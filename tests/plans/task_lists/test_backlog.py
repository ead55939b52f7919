"""Task files of Backlog.md: ids, statuses of the configuration, sections, and what is written back."""

from __future__ import annotations

from typing import Any

from support.quick_cases import all_of

from plans.task_lists.lists import NOW, SAMPLES, errors, kinds, needs, read_list, sample, unwritten, written
from sow.domain.plans.plan import Plan, PlanSource
from sow.plans import reader
from sow.plans.task_lists.progress import TaskProgress
from sow.plans.write_back import with_progress

SEARCH = "backlog/tasks/task-2 - Search-the-notes.md"
AROUND = {"config": sample("backlog/config.yml"), "completed/task-1 - Begin.md": ""}


def of_sample() -> Plan:
    names = sorted(path.name for path in (SAMPLES / "backlog/tasks").iterdir())
    paths = [f"backlog/tasks/{name}" for name in names]
    return reader.read([PlanSource(path, sample(path), neighbours=AROUND) for path in paths])


def of(*fields: str, body: str = "", name: str = "backlog/tasks/task-1 - A.md", **options: Any) -> Plan:
    header = {"id": "TASK-1", "title": "A", "status": "To Do"} | dict(field.split(": ", 1) for field in fields)
    text = "---\n" + "".join(f"{key}: {value}\n" for key, value in header.items()) + f"---\n{body}"
    return read_list(name, text, **options)


def test_the_sample_is_one_plan():
    """Dependencies cross files, one in completed/ is done, and the last status means completed."""
    plan = of_sample()
    assert errors(plan) == []
    assert plan.name == "Notes"
    assert set(plan.formats.values()) == {"Backlog.md"}
    assert needs(plan) == {"2": ["3"], "2.1": ["2"], "3": []}
    assert {task.id: task.status for task in plan.tasks} == {"2": "pending", "2.1": "in_progress", "3": "completed"}


def test_a_worker_gets_text_criteria_and_fields():
    """Sections become text without markers, criteria come from the file and the configuration."""
    task = of_sample().tasks[0]
    assert task.text == "## Description\n\nPeople find a note by a word."
    texts = [criterion.text for criterion in task.success_criteria]
    assert texts == ["`make test` passes", "A word in a title finds the note", "Docs are current"]
    assert all(not criterion.command for criterion in task.success_criteria)
    assert task.context == {"assignee": ["@sara"], "reporter": "@tom", "labels": ["search"], "priority": "high"}


def test_a_shell_command_is_shown():
    """onStatusChange of a file and of the configuration is a warning with its text."""
    plan = of("onStatusChange: rm -rf /", neighbours={"config": "onStatusChange: curl x | sh\n"})
    messages = [warning.message for warning in plan.warnings]
    assert len(messages) == 2
    assert "sow never runs it: rm -rf /" in messages[1]
    assert "sow never runs it: curl x | sh" in messages[0]


def test_ids_are_compared_without_case_zeros_and_prefix():
    """BACK-007.01 is 7.1 in every notation of a dependency."""
    first = of("id: back-007.01").tasks[0]
    assert first.number == "7.1"
    sources = [
        PlanSource("a.md", "---\nid: BACK-007\ntitle: A\nstatus: To Do\n---\n"),
        PlanSource("b.md", "---\nid: BACK-8\ntitle: B\nstatus: To Do\ndependencies: [back-7, '007']\n---\n"),
    ]
    assert needs(reader.read(sources)) == {"7": [], "8": ["7"]}


def test_two_files_with_one_id_are_an_error():
    """The error is the same among active tasks, and between active and completed ones."""
    sources = [PlanSource(name, "---\nid: TASK-01\ntitle: A\nstatus: To Do\n---\n") for name in ("a.md", "b.md")]
    assert "task 1 is also in a.md" in errors(reader.read(sources))[0]
    assert "is also in completed/" in errors(of(neighbours={"completed/task-1 - A.md": ""}))[0]


BAD = {
    "an unknown status": (["status: Lost"], "the status 'Lost' is unknown"),
    "a missing dependency": (["dependencies: [TASK-9]"], "depends on task 9, which was not given"),
    "a draft": (["dependencies: [DRAFT-9]"], "is not the id of a task"),
    "words": (["dependencies: [the search]"], "is not the id of a task"),
    "itself": (["dependencies: [TASK-1]"], "depends on itself"),
    "no title": (["title: ''"], "has no title"),
    "a dependency in a mapping": (["dependencies: {a: b}"], "must be a list"),
    "an alias": (["labels: *x"], "aliases"),
}


@all_of("name", BAD)
def test_a_bad_file_is_one_error(name: str):
    """An unreadable file is reported with line and hint."""
    fields, message = BAD[name]
    plan = of(*fields)
    assert message in errors(plan)[0]
    assert plan.errors[0].line
    assert plan.errors[0].hint


def test_a_broken_configuration_is_an_error():
    """Its statuses define what is completed, so there is no default."""
    assert "the configuration of Backlog.md cannot be read" in errors(of(neighbours={"config": "statuses: ["}))[0]


def test_a_draft_is_left_out():
    """A file with the id of a draft is left out with a warning that a run asks about."""
    plan = of("id: DRAFT-3")
    assert plan.tasks == []
    assert ("task", 2) in kinds(plan)


def test_names_with_an_at_sign_are_read():
    """`@name` is not YAML; an address in another field is not changed."""
    task = of("assignee: [@sara, @tom]", "reporter: @eve", "milestone: a@b").tasks[0]
    assert task.context == {"assignee": ["@sara", "@tom"], "reporter": "@eve", "milestone": "a@b"}


def test_unknown_fields_and_sections_reach_the_worker():
    """An unknown key is context with a warning, an unknown section stays in the text."""
    body = "\n## Ideas\n\n- [ ] maybe\n\n## Acceptance Criteria (Optional)\n\n- [ ] It works\nand stays so\n"
    plan = of("colour: red", body=body)
    assert plan.tasks[0].context == {"colour": "red"}
    assert kinds(plan) == [("note", 5)]
    assert plan.tasks[0].text == "## Ideas\n\n- [ ] maybe\n\n## Acceptance Criteria (Optional)\n\nand stays so"
    assert [criterion.text for criterion in plan.tasks[0].success_criteria] == ["It works"]


def test_a_completed_task_is_written_back():
    """Status, time, the criterion that a check proved and the summary change; CRLF and all else stay."""
    text = sample(SEARCH).replace("\n", "\r\n")
    progress = TaskProgress("completed", summary="Done --> well.\nTwice.", passed=frozenset({"make test"}))
    after, changes, _ = with_progress(PlanSource(SEARCH, text, neighbours=AROUND), {"2": progress}, NOW)
    assert changes == [("2", "To Do", "Done")]
    expected = text.replace("status: To Do", "status: Done").replace("2026-08-02 11:30", "2026-11-18 09:30")
    expected = expected.replace("- [ ] #1", "- [x] #1")
    expected = expected.replace("SUMMARY:BEGIN -->\r\n", "SUMMARY:BEGIN -->\r\nDone  well.\r\nTwice.\r\n")
    assert after == expected
    again = with_progress(PlanSource(SEARCH, after, neighbours=AROUND), {"2": progress}, NOW)
    assert again == (after, [], [])


def test_an_unproved_criterion_stays_open():
    """If no check with its command passed, its box stays empty."""
    after, _ = written(SEARCH, sample(SEARCH), {"2": "completed"}, neighbours=AROUND)
    assert "- [ ] #1 `make test` passes" in after


WORDS = [
    ("completed", "To Do → Done"),
    ("in_progress", "To Do → In Progress"),
    ("needs_review", "To Do → In Review"),
    ("paused", "To Do → In Review"),
    ("failed", "To Do → In Review"),
    ("pending", ""),
    ("abandoned", ""),
]


@all_of("status, change", WORDS)
def test_a_status_gets_the_word_of_the_configuration(status: str, change: str):
    """The names are configurable; an unknown status changes nothing."""
    _, changes = written(SEARCH, sample(SEARCH), {"2": status}, neighbours=AROUND)
    assert changes == ([f"2: {change}"] if change else [])


def test_a_status_of_a_person_stays():
    """A person wrote Done, and sow has not worked on the task since then."""
    text = sample(SEARCH).replace("status: To Do", "status: Done")
    assert written(SEARCH, text, {"2": "pending"}, neighbours=AROUND) == (text, [])


FOLDED = ["status: >-\n  To Do", "status: |\n  To Do", "status:\n  To Do", 'status: "To\n  Do"', "status: To\n  Do"]


@all_of("line", FOLDED)
def test_a_status_over_several_lines_stays(line: str):
    """The file stays, and the message says why."""
    text = f"---\nid: TASK-1\ntitle: A\n{line}\nupdated_date: 2026-01-01 00:00\n---\n"
    assert written("a.md", text, {"1": "completed"}) == (text, [])
    (message,) = unwritten("a.md", text, {"1": "completed"})
    assert (
        message == "a.md: the status of task 1 cannot be written: it is not on one line; write it by hand: status: Done"
    )
    assert unwritten("a.md", text, {"1": "pending"}) == []


def test_a_file_without_a_status_stays():
    """There is no line to replace, and the message says what to write."""
    text = "---\nid: TASK-1\ntitle: A\n---\n"
    assert written("a.md", text, {"1": "completed"}) == (text, [])
    assert "it has none; write it by hand: status: Done" in unwritten("a.md", text, {"1": "completed"})[0]


def test_an_empty_status_is_filled():
    """An empty status means the default, and its line is replaced."""
    text = "---\nid: TASK-1\ntitle: A\nstatus:\nupdated_date:\n---\n"
    after, changes = written("a.md", text, {"1": "completed"})
    assert changes == ["1: To Do → Done"]
    assert after == "---\nid: TASK-1\ntitle: A\nstatus: Done\nupdated_date: 2026-11-18 09:30\n---\n"


@all_of("old", ["'2025-01-01 10:00' # mine", '"2025-01-01 10:00"', "2025-01-01 10:00   # mine"])
def test_only_the_time_itself_changes(old: str):
    """Quotes and a comment after it stay."""
    text = f"---\nid: TASK-1\ntitle: A\nstatus: To Do\nupdated_date: {old}\n---\n"
    after, _ = written("a.md", text, {"1": "completed"})
    assert after == text.replace("To Do", "Done").replace("2025-01-01 10:00", "2026-11-18 09:30")


def test_a_time_over_several_lines_stays():
    """The status is written, and the time is left as it is."""
    text = "---\nid: TASK-1\ntitle: A\nstatus: To Do\nupdated_date: >-\n  2025-01-01\n---\n"
    assert written("a.md", text, {"1": "completed"})[0] == text.replace("To Do", "Done")


@all_of("line", ["status: To Do   # for now", 'status:   "To Do"  ', "status: 'To Do' # x"])
def test_only_the_word_of_a_status_changes(line: str):
    """Quotes, spaces and a comment after it stay."""
    text = f"---\nid: TASK-1\ntitle: A\n{line}\nupdated_date: 2026-01-01 00:00\n---\n"
    after = written("a.md", text, {"1": "completed"})[0]
    assert after == text.replace("To Do", "Done").replace("2026-01-01 00:00", "2026-11-18 09:30")


def test_quotes_of_a_status_stay_and_a_missing_time_is_added():
    """`'To Do'` becomes `'Done'`."""
    text = "---\nid: TASK-1\ntitle: A\nstatus: 'To Do'\n---\n"
    assert written("a.md", text, {"1": "completed"})[0] == (
        "---\nid: TASK-1\ntitle: A\nstatus: 'Done'\nupdated_date: '2026-11-18 09:30'\n---\n"
    )


def test_a_task_file_without_an_id_is_an_error():
    """Its name shows that it is a task, so it is not left out."""
    plan = read_list("backlog/tasks/task-1 - A.md", "---\ntitle: A\nstatus: To Do\n---\n")
    assert "'' is not an id of a task" in errors(plan)[0]
