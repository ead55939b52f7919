"""tasks.json of Task Master: tags, subtasks, doubtful dependencies, and statuses that are written back."""

from __future__ import annotations

import json
from typing import Any

from support.quick_cases import all_of

from plans.task_lists.lists import (
    TASK_MASTER,
    changed_lines,
    errors,
    kinds,
    needs,
    read_list,
    refusal,
    sample,
    unwritten,
    written,
)
from sow.domain.plans.plan import file_and_tag

AUTH = f"{TASK_MASTER}#auth"


def of(*tasks: dict[str, Any], **options: Any):
    usual = {"title": "T", "status": "pending", "dependencies": []}
    return read_list("tasks.json", json.dumps({"tasks": [{**usual, **task} for task in tasks]}, **options))


def test_the_sample_is_read_by_tag():
    """Subtasks are the work of their parent; dependencies are numbers or texts; ids belong to a tag."""
    plan = read_list(AUTH, sample(TASK_MASTER))
    assert errors(plan) == []
    assert plan.name == "auth"
    assert needs(plan) == {"1": [], "2.1": ["1"], "2.2": ["2.1"], "2.3": ["2.1", "2.2"], "3": ["2.3"], "4": ["3"]}
    assert {task.id: task.status for task in plan.tasks} == {
        "1": "completed",
        "2.1": "completed",
        "2.2": "pending",
        "2.3": "pending",
        "3": "pending",
        "4": "skipped",
    }
    assert kinds(plan) == [("note", 32), ("note", 34), ("dependency", 36), ("status", 41)]
    assert [task.id for task in read_list(f"{TASK_MASTER}#master", sample(TASK_MASTER)).tasks] == ["1", "2"]


def test_a_worker_gets_all_fields():
    """Details and parents are text, the test strategy is a criterion, files to create are the task's files."""
    tasks = {task.id: task for task in read_list(AUTH, sample(TASK_MASTER)).tasks}
    assert tasks["1"].text == "Keep users in a table.\n\nUse SQLite."
    assert [criterion.document() for criterion in tasks["1"].success_criteria] == ["Insert a user and read it."]
    assert tasks["1"].test_commands == []
    assert "Sessions end after a day." in tasks["2.2"].context["part_of_task"]
    assert tasks["3"].files == ["src/logout.py"]
    assert [file["path"] for file in tasks["3"].context["relevantFiles"]] == ["src/logout.py", "src/session.py"]


def test_a_bare_number_in_a_subtask():
    """Below 100 it is a sibling, from 100 a task, and a text is doubtful."""
    subtasks = [
        {"id": 1, "title": "a", "dependencies": []},
        {"id": 2, "title": "b", "dependencies": [1, 100]},
        {"id": 3, "title": "c", "dependencies": ["1", "7"]},
    ]
    plan = of({"id": 5, "subtasks": subtasks}, {"id": 7}, {"id": 100})
    assert needs(plan) == {"5.1": [], "5.2": ["5.1", "100"], "5.3": ["5.1", "7"], "7": [], "100": []}
    assert [kind for kind, _ in kinds(plan)].count("dependency") == 2


def test_a_missing_sibling_and_the_own_parent():
    """A missing sibling is an error; a dependency on the own parent would be a circle and is left out."""
    missing = of({"id": 5, "subtasks": [{"id": 1, "title": "a", "dependencies": [9]}]})
    assert "depends on task 5.9, which does not exist" in errors(missing)[0]
    plan = of({"id": 500, "subtasks": [{"id": 1, "title": "a", "dependencies": [500]}]})
    assert errors(plan) == []
    assert "dependency" in [kind for kind, _ in kinds(plan)]


def test_the_parent_decides_about_its_subtasks():
    """A pending subtask of a completed parent is read as completed, and a run asks."""
    plan = of({"id": 5, "status": "done", "subtasks": [{"id": 1, "title": "a", "status": "pending"}]})
    assert [task.status for task in plan.tasks] == ["completed"]
    assert "status" in [kind for kind, _ in kinds(plan)]


def test_a_task_that_waits_for_a_deferred_one_is_asked_about():
    """A deferred task is left out, so its dependents would not wait: a run asks."""
    plan = of({"id": 1, "status": "deferred"}, {"id": 2, "dependencies": [1]})
    assert [kind for kind, _ in kinds(plan)] == ["status", "dependency"]
    parent = {"id": 1, "status": "blocked", "subtasks": [{"id": 1, "title": "a"}]}
    message = "task 2 depends on 1.1, which is blocked: it does not wait"
    assert message in [warning.message for warning in of(parent, {"id": 2, "dependencies": [1]}).warnings]


BAD = {
    "no JSON": ("{", "this is not JSON: Expecting property name"),
    "a list": ("[]", "is not a task list"),
    "no tasks": ('{"name": "x"}', "there is no tag"),
    "tasks of another type": ('{"tasks": {}}', "is not a task list"),
    "an unknown status": ('{"tasks": [{"id": 1, "title": "x", "status": "lost"}]}', "the status 'lost' is unknown"),
    "an id of a server": ('{"tasks": [{"id": "HAM-1", "title": "x"}]}', "HAM-1 lives on a server"),
    "an odd id": ('{"tasks": [{"id": "a b", "title": "x"}]}', "has no number as its id"),
    "one id twice": ('{"tasks": [{"id": 1, "title": "x"}, {"id": "1", "title": "y"}]}', "task 1 is there twice"),
    "an id of a parent": (
        '{"tasks": [{"id": 1, "title": "x", "subtasks": [{"id": 1, "title": "z"}]}, {"id": 1, "title": "y"}]}',
        "task 1 is there twice: also in line 1",
    ),
    "no title": ('{"tasks": [{"id": 1}]}', "task 1 has no title"),
    "a task that is a text": ('{"tasks": ["x"]}', "is not an object"),
    "a subtask that is a text": ('{"tasks": [{"id": 1, "title": "x", "subtasks": ["y"]}]}', "is not an object"),
    "a key twice": ('{"tasks": [], "tasks": []}', "is here a second time"),
    "too deep": ('{"tasks": ' + "[" * 200 + "]" * 200 + "}", "nested deeper than 60 levels"),
    "half a character": ('{"tasks": [{"id": 1, "title": "\\ud83d"}]}', "half a character"),
    "more text": ('{"tasks": []} x', "this is not JSON: Extra data"),
    "a number without end": ('{"tasks": ' + "1" * 5000 + "}", "too large or too deep"),
    "no end of depth": ('{"tasks": ' + "[" * 100_000, "too large or too deep"),
    "NaN": ('{"tasks": [{"id": NaN, "title": "x"}]}', "has no number as its id"),
    "a dependency of words": ('{"tasks": [{"id": 1, "title": "x", "dependencies": ["the one"]}]}', "is not understood"),
    "nothing": ('{"tasks": []}', "there are no tasks"),
}


@all_of("name", BAD)
def test_a_bad_list_is_one_error(name: str):
    """An unreadable list is reported with its file and a hint."""
    text, message = BAD[name]
    plan = read_list("tasks.json", text)
    assert message in errors(plan)[0]
    assert plan.errors[0].hint


def test_a_character_outside_the_plane_is_read():
    """Emoji are read as characters and as two escapes."""
    assert of({"id": 1, "title": "🎯"}, ensure_ascii=True).tasks[0].name == "🎯"


def test_only_statuses_are_written():
    """Only status values and updatedAt change: order, spaces, unknown keys and the other tag stay; a parent follows."""
    text = sample(TASK_MASTER)
    statuses = {"1": "completed", "2.1": "completed", "2.2": "completed", "2.3": "needs_review", "3": "paused"}
    after, changes = written(AUTH, text, statuses)
    assert changes == ["2.2: pending → done", "2.3: pending → review", "3: pending → review"]
    assert len(changed_lines(text, after)) == 3
    expected = json.loads(text)
    tasks = expected["auth"]["tasks"]
    tasks[1]["subtasks"][1]["status"], tasks[1]["subtasks"][2]["status"] = "done", "review"
    tasks[2]["status"] = "review"
    assert json.loads(after) == expected
    done, changes = written(AUTH, after, {**statuses, "2.3": "completed"})
    assert changes == ["2.3: review → done", "2: in-progress → done"]
    assert json.loads(done)["auth"]["tasks"][1]["updatedAt"] == "2026-11-18T09:30:00.000Z"
    assert written(AUTH, done, {**statuses, "2.3": "completed"}) == (done, [])


def test_a_synonym_of_a_status_stays():
    """completed is not rewritten to done, and deferred not to cancelled."""
    text = '{"tasks": [{"id": 1, "title": "a", "status": "completed"}, {"id": 2, "title": "b", "status": "deferred"}]}'
    assert written("tasks.json", text, {"1": "completed", "2": "abandoned"}) == (text, [])


def test_an_import_takes_no_status_back():
    """A task in progress is imported as pending and stays in progress; a deferred task's subtask is not cancelled."""
    subtasks = '"subtasks": [{"id": 1, "title": "c", "status": "pending"}]'
    text = f"""{{"tasks": [{{"id": 1, "title": "a", "status": "in-progress"}},
        {{"id": 2, "title": "b", "status": "deferred", {subtasks}}}]}}"""
    assert written("tasks.json", text, {"1": "pending", "2.1": "abandoned"}) == (text, [])


@all_of("word", ["deferred", "blocked", "cancelled", "done", "review", "in-progress", "Pending"])
def test_a_status_of_a_person_stays(word: str):
    """A person chose it, and sow has not worked on the task since then."""
    text = json.dumps({"tasks": [{"id": 1, "title": "a", "status": word}]})
    assert written("tasks.json", text, {"1": "pending"}) == (text, [])


@all_of("word", ["deferred", "blocked", "cancelled", "completed"])
def test_an_ended_parent_keeps_its_status(word: str):
    """A person cancelled the parent; its last subtask is done, and the parent stays cancelled."""
    subtasks = [{"id": 1, "title": "b", "status": "pending"}]
    text = json.dumps({"tasks": [{"id": 1, "title": "a", "status": word, "subtasks": subtasks}]})
    after, changes = written("tasks.json", text, {"1.1": "completed"})
    assert changes == ["1.1: pending → done"]
    assert json.loads(after)["tasks"][0]["status"] == word


@all_of("missing", [{}, {"status": None}])
def test_a_task_without_a_status_does_not_stop_the_others(missing: dict[str, None]):
    """There is no value to replace: the message says what to write, and the other tasks get their status."""
    tasks = [{"id": 1, "title": "a", "status": "pending"}, {"id": 2, "title": "b"} | missing]
    text = json.dumps({"tasks": tasks})
    statuses = {"1": "completed", "2": "completed"}
    assert written("tasks.json", text, statuses) == (text.replace('"pending"', '"done"'), ["1: pending → done"])
    (message,) = unwritten("tasks.json", text, statuses)
    assert message == (
        'tasks.json: the status of task 2 cannot be written: it has none; write it by hand: "status": "done"'
    )


def test_a_parent_waits_for_a_subtask_without_a_status():
    """In the file that subtask is still open."""
    subtasks = [{"id": 1, "title": "b", "status": "pending"}, {"id": 2, "title": "c"}]
    text = json.dumps({"tasks": [{"id": 1, "title": "a", "status": "pending", "subtasks": subtasks}]})
    assert written("tasks.json", text, {"1.1": "completed", "1.2": "completed"})[1] == ["1.1: pending → done"]


@all_of(
    "name, expected",
    [
        ("a/tasks.json#auth", ("a/tasks.json", "auth")),
        ("a/tasks.json", ("a/tasks.json", "")),
        ("notes#2.md", ("notes#2.md", "")),
        ("a.json#b/c.md", ("a.json#b/c.md", "")),
    ],
)
def test_a_tag_belongs_to_a_json_name(name: str, expected: tuple[str, str]):
    """Only after a name in .json."""
    assert file_and_tag(name) == expected


def test_a_list_that_broke_meanwhile_is_refused():
    """An unreadable file gets no status, and the error has the line."""
    assert refusal("tasks.json", '{"tasks": [', {"1": "completed"}).startswith("tasks.json:1: ")
    assert "the status 'lost' is unknown" in refusal("tasks.json", BAD["an unknown status"][0], {"1": "completed"})
