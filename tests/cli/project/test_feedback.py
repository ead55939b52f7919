"""sow feedback: text for the next iteration of a task."""

from __future__ import annotations

import pytest
from conftest import Repo


def test_feedback_is_numbered_and_signed(task_repo: Repo):
    """Each piece of feedback is a file with its author and its iteration."""
    assert task_repo.ok("feedback", "add", "010", "Too slow").out.startswith(
        ".sow/project/phases/implementation/tasks/010/feedback/001.md"
    )
    task_repo.ok("feedback", "add", "10", "-", stdin=b"Still\n\ntoo slow\n", SOW_AGENT="orchestrator")
    document = task_repo.ok("feedback", "list", "010", "--json").json
    assert document["task"] == "010"
    assert [(entry["number"], entry["by"], entry["iteration"], entry["text"]) for entry in document["feedback"]] == [
        ("001", "ada", "1", "Too slow"),
        ("002", "orchestrator", "1", "Still\n\ntoo slow"),
    ]
    assert sorted(path.name for path in (task_repo.task_folder("010") / "feedback").iterdir()) == ["001.md", "002.md"]


def test_repeated_feedback_is_stored_once(task_repo: Repo):
    """The same text again, as after a crash, stays one file; by another author or after others it is new."""
    speakers = ("orchestrator", "orchestrator", "ada", "orchestrator")
    for speaker in speakers:
        task_repo.ok("feedback", "add", "010", "Too slow", SOW_AGENT="orchestrator" if speaker != "ada" else "")
    feedback = task_repo.ok("feedback", "list", "010", "--json").json["feedback"]
    assert [item["by"] for item in feedback] == ["orchestrator", "ada", "orchestrator"]


def test_an_unreadable_feedback_file_does_not_stop_the_next(task_repo: Repo):
    """The next feedback gets a number after an unreadable file."""
    folder = task_repo.task_folder("010") / "feedback"
    folder.mkdir(exist_ok=True)
    (folder / "001.md").write_bytes(b"\xff\xfe")
    assert "feedback/002.md" in task_repo.ok("feedback", "add", "010", "Too slow").out


def test_feedback_alone_changes_no_status(task_repo: Repo):
    """After feedback on a task in review, the output says how to send the task back."""
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    result = task_repo.ok("feedback", "add", "010", "Passwords are logged")
    last = "no worker reads it yet; send the task back: sow task set 010 status in_progress"
    assert result.out.splitlines()[-1] == last
    assert task_repo.task("010")["status"] == "needs_review"


def test_feedback_on_a_question_waits_for_the_answer(task_repo: Repo):
    """A paused task's worker gets the feedback with the answer, and the last line says how to answer."""
    task_repo.ok("task", "set", "--id", "010", "status", "paused", "--reason", "Which port?")
    result = task_repo.ok("feedback", "add", "010", "Too slow")
    assert result.out.splitlines()[-1] == 'it reaches the worker with the answer: sow answer 1 "…"'


def test_the_list_for_people(task_repo: Repo):
    """A person reads each piece with its author, and is told when there is none."""
    assert task_repo.ok("feedback", "list", "010").out == "no feedback\n"
    task_repo.ok("feedback", "add", "010", "Too slow")
    shown = task_repo.ok("feedback", "list", "010").out
    assert "by ada, on iteration 1\nToo slow\n" in shown


def test_handwritten_feedback_is_read(task_repo: Repo):
    """A file without sow's header is read as plain text, and the next number comes after it."""
    folder = task_repo.task_folder("010") / "feedback"
    folder.mkdir()
    (folder / "007.md").write_text("Use RS256.\n")
    assert task_repo.ok("feedback", "list", "010", "--json").json["feedback"][0]["text"] == "Use RS256."
    assert "008.md" in task_repo.ok("feedback", "add", "010", "More").out


def test_a_worker_reads_its_own_feedback(task_repo: Repo):
    """Without an id a worker sees the feedback on its own task, and it cannot add any."""
    task_repo.ok("feedback", "add", "010", "Too slow")
    marks = {"SOW_TASK": "010", "SOW_AGENT": "implementer"}
    assert len(task_repo.ok("feedback", "list", "--json", **marks).json["feedback"]) == 1
    assert task_repo.sow("feedback", "add", "010", "Well done", **marks).code == 2


@pytest.mark.parametrize("status", ["completed", "abandoned"])
def test_an_ended_task_takes_no_feedback(task_repo: Repo, status: str):
    """Feedback on an ended task is refused, with the hint to create a new task."""
    if status == "completed":
        task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
        task_repo.ok("approve", "010")
    else:
        task_repo.ok("task", "abandon", "010", "--reason", "no")
    result = task_repo.sow("feedback", "add", "010", "One more thing")
    assert result.code == 2
    assert f"task 010 is {status}" in result.err
    if status == "completed":
        assert "sow task create … --depends-on 010" in result.err
    assert not (task_repo.task_folder("010") / "feedback").exists()


def test_comments_on_lines_are_one_feedback(task_repo: Repo):
    """Each text after --at belongs to that line; the worker reads file, number and the line's text."""
    (task_repo.root / "app.py").write_text("import os\n\n\ndef load():\n    return os.environ\n")
    texts = ("Good so far.", "Read one name only.\n### Not a section", "Not needed")
    added = ("feedback", "add", "010", texts[0], "--at", "app.py:5", texts[1], "--at=./app.py:1", texts[2])
    task_repo.ok(*added)
    task_repo.ok(*added)
    (entry,) = task_repo.ok("feedback", "list", "010", "--json").json["feedback"]
    assert [(comment["file"], comment["line"], comment["quote"], comment["text"]) for comment in entry["comments"]] == [
        ("app.py", 5, "return os.environ", "Read one name only.\n ### Not a section"),
        ("app.py", 1, "import os", "Not needed"),
    ]
    assert entry["text"].startswith("Good so far.\n\n### app.py:5\n\n> return os.environ\n\nRead one name")
    assert entry["tree"] == ""  # the file is in no commit of the task
    shown = task_repo.ok("task", "show", "010").out
    assert "### app.py:5" in shown and "> return os.environ" in shown


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--at", "app.py:9", "x"], "app.py has 1 line, and no line 9"),
        (["--at", "app.py:0", "x"], "is not a line of a file"),
        (["--at", "app.py", "x"], "is not a line of a file"),
        (["--at", "../app.py:1", "x"], "leaves the repository"),
        (["--at", "gone.py:1", "x"], "there is no file gone.py"),
        (["--at", "app.py:1", "x", "y", "z"], "the number of texts (3) does not fit"),
        (["--at", "app.py:1", "--tree", "f" * 40, "x"], "there is no tree"),
        (["two", "words"], "unexpected argument 'words'"),
    ],
)
def test_a_comment_on_a_missing_line_is_refused(task_repo: Repo, words: list[str], error: str):
    """A place that does not exist is refused with its reason, and no feedback is written."""
    (task_repo.root / "app.py").write_text("import os\n")
    result = task_repo.sow("feedback", "add", "010", *words)
    assert (result.code, error in result.err) == (2, True), result.err
    assert task_repo.ok("feedback", "list", "010").out == "no feedback\n"
