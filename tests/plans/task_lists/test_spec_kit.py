"""tasks.md of spec-kit: phases, [P], check boxes, and lines that are no task."""

from __future__ import annotations

from support.quick_cases import all_of

from plans.task_lists.lists import (
    SPEC_KIT,
    changed_lines,
    errors,
    kinds,
    needs,
    read_list,
    refusal,
    sample,
    written,
)

HEAD = "# Tasks: X\n\n## Phase 1: Setup\n\n"


def of(*lines: str, **options: object):
    return read_list("specs/001-x/tasks.md", HEAD + "\n".join(lines) + "\n", **options)


def test_the_sample_is_read_phase_by_phase():
    """Ids, names, statuses and the order of a real-looking file; comments and fenced lines have no tasks."""
    plan = read_list(SPEC_KIT, sample(SPEC_KIT))
    assert errors(plan) == []
    assert plan.formats == {SPEC_KIT: "spec-kit"}
    assert plan.name == "Photo Albums"
    assert [task.id for task in plan.tasks] == [f"T{number:03}" for number in (*range(1, 14), 42)]
    assert [task.id for task in plan.tasks if task.status == "completed"] == ["T001"]
    assert needs(plan) == {
        "T001": [],
        "T002": ["T001"],
        "T003": ["T002"],
        "T004": ["T002"],
        "T005": ["T003", "T004"],
        "T006": ["T005"],
        "T007": ["T005"],
        "T008": ["T006", "T007"],
        "T009": ["T006", "T007"],
        "T010": ["T008", "T009"],
        "T011": ["T010"],
        "T012": ["T011"],
        "T013": ["T012"],
        "T042": ["T013"],
    }


def test_stories_can_run_in_parallel():
    """With the option each story waits for everything before all stories, and the next phase for all stories."""
    plan = read_list(SPEC_KIT, sample(SPEC_KIT), parallel_stories=True)
    assert needs(plan)["T011"] == ["T005"]
    assert needs(plan)["T012"] == ["T011", "T008"]  # both write src/models/album.py
    assert needs(plan)["T013"] == ["T010", "T012"]


def test_a_ticked_task_does_not_break_the_order():
    """A task waits for all open tasks of earlier phases, also with a completed task between them."""
    text = """# Tasks: Notes
## Phase 1: Setup
- [ ] T001 Make the folder
- [X] T002 Make the readme
## Phase 2: Core
- [X] T003 [P] Make the model
- [ ] T004 [P] Make the store
## Phase 3: Polish
- [ ] T005 Write the guide
"""
    expected = needs(read_list(SPEC_KIT, text))
    assert "T001" in expected["T004"]
    assert {"T001", "T004"} <= set(expected["T005"])


def test_a_worker_gets_the_phase_and_the_documents():
    """The goal and test of a phase, the story, the group and neighbouring documents are context of a task."""
    plan = read_list(SPEC_KIT, sample(SPEC_KIT), neighbours={"001-x/plan.md": "", "001-x/spec.md": ""})
    task = next(task for task in plan.tasks if task.id == "T010")
    assert task.text.endswith("(depends on T008, T009)\n  and keep the order of the photos")
    assert task.files == ["src/services/grouping.py"]
    assert task.context["story"] == "US1"
    assert task.context["part"] == "Implementation for User Story 1"
    assert "**Independent Test**: Import ten photos" in task.context["phase"]
    assert task.context["documents_to_read_first"] == ["001-x/plan.md", "001-x/spec.md"]


def test_text_outside_tasks_is_named():
    """Sections without tasks, the YAML block and the text before the first phase are warnings with their lines."""
    text = sample(SPEC_KIT)
    plan = read_list(SPEC_KIT, text)
    messages = {warning.line: warning.message for warning in plan.warnings}
    lines = text.split("\n")
    for start in ("---", "## Format", "## Dependencies", "## Parallel Example"):
        line = next(number for number, line in enumerate(lines, 1) if line.startswith(start))
        assert "no agent reads it" in messages[line] or "is not read" in messages[line]
    assert any("belongs to no phase" in message for message in messages.values())


def test_every_line_of_a_phase_reaches_a_task():
    """Each line of the sample is in a task, in a task's context, or in the range of a warning."""
    text = sample(SPEC_KIT)
    plan = read_list(SPEC_KIT, text, neighbours={})
    shown = "\n".join(f"{task.name}\n{task.text}\n{task.context}" for task in plan.tasks)
    body = text.partition("## Phase 1")[2].partition("## Dependencies")[0]
    for line in body.split("\n")[1:]:
        bare = line.strip().lstrip("#").strip(" -")
        texts = bare.rpartition("] ")[2] if bare.startswith("[") else bare
        assert texts in shown, line


@all_of("line", ["- [ ] TXXX [P] Documentation updates in docs/", "- [ ] T012 Create [Entity1] model in src/models/"])
def test_an_unfilled_template_is_refused(line: str):
    """Placeholders of the template are an error, and never a task."""
    plan = of("- [ ] T001 One", line)
    assert [error.line for error in plan.errors] == [6]
    assert "unfilled template" in plan.errors[0].message


def test_brackets_of_a_path_are_no_placeholder():
    """app/[id]/page.tsx is a file."""
    plan = of("- [ ] T001 Show it in app/[id]/page.tsx")
    assert errors(plan) == []
    assert plan.tasks[0].files == ["app/[id]/page.tsx"]


def test_a_box_without_an_id_is_asked_about():
    """A check box without an id may be a task, so a run asks."""
    plan = of("- [ ] T001 One", "- [ ] Write the docs", "- [ ] T12 Two digits")
    assert kinds(plan) == [("task", 6), ("task", 7)]
    assert [task.id for task in plan.tasks] == ["T001"]
    assert "Write the docs" in plan.tasks[0].context["phase"]
    assert kinds(of("- [ ] T001 One", "## Checklist", "- [ ] It builds")) == [("note", 6)]


def test_ids_are_unique_and_references_exist():
    """A repeated id, an unknown dependency and a circle are errors with their lines."""
    assert "T001 is there twice" in errors(of("- [ ] T001 One", "- [ ] T001 Two"))[0]
    assert "depends on task T099, which does not exist" in errors(of("- [ ] T001 One (depends on T099)"))[0]
    assert "a cycle" in errors(of("- [ ] T001 One (depends on T002)", "- [ ] T002 Two"))[0]
    assert kinds(of("- [ ] T001 One (depends on the tests)")) == [("dependency", 5)]
    assert kinds(of("- [ ] T001 A", "- [ ] T002 B", "- [ ] T003 C (depends on T001-T002)")) == [("dependency", 7)]


def test_an_inserted_task_has_a_letter():
    """T012a is an id, as a task and as a dependency; further words are a remark."""
    plan = of("- [ ] T001 A", "- [X] T001a [P] B", "- [ ] T002 C (depends on T001a failing)")
    assert kinds(plan) == []
    assert needs(plan) == {"T001": [], "T001a": ["T001"], "T002": ["T001a", "T001"]}
    after, _ = written("tasks.md", HEAD + "- [ ] T001a A\n", {"T001a": "completed"})
    assert after == HEAD + "- [X] T001a A\n"


def test_an_indented_box_is_a_step():
    """Steps below a task belong to its text; an indented task is a task."""
    plan = of("- [ ] T001 One", "  - [ ] a step", "  - [ ] T002 Two")
    assert kinds(plan) == []
    assert [task.text for task in plan.tasks] == ["T001 One\n  - [ ] a step", "T002 Two"]


def test_many_parallel_tasks_are_limited():
    """Two groups of which each task waits for all of the other are refused, and not built."""
    lines = [f"- [ ] T{number:04} [P] Do it" for number in range(1, 1501)]
    plan = of(*lines[:750], "### Next", *lines[750:])
    assert any("more than 200,000 dependencies" in error for error in errors(plan))


def test_only_a_box_is_written():
    """A completed task is ticked; other statuses are not written, a ticked box stays, and CRLF stays CRLF."""
    text = sample(SPEC_KIT).replace("\n", "\r\n")
    statuses = {"T001": "pending", "T002": "completed", "T003": "failed", "T010": "completed"}
    after, changes = written(SPEC_KIT, text, statuses)
    assert changes == ["T002: [ ] → [X]", "T010: [ ] → [X]"]
    assert [line[:10] for line in changed_lines(text, after)] == ["- [X] T002", "- [X] T010"]
    assert after.replace("[X] T002", "[ ] T002").replace("[X] T010", "[ ] T010") == text
    assert written(SPEC_KIT, after, statuses) == (after, [])


def test_a_repeated_id_gets_no_status():
    """It is unknown which of the two was completed."""
    text = HEAD + "- [ ] T001 One\n- [ ] T001 Two\n"
    assert "T001 is there twice" in refusal("tasks.md", text, {"T001": "completed"})
