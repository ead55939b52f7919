"""Comments on lines of a task's changes: from the page to the worker's prompt, and to the next iteration's changes."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Repo
from support.dashboard_data import facts_of
from support.plan_repo import PlanRepo

FIRST = "printf 'import os\\n\\ndef load():\\n    return os.environ\\n\\ndef save():\\n    pass\\n' > app.py\n"
SECOND = "printf 'import os\\nimport sys\\n\\ndef load():\\n    return {}\\n\\ndef save():\\n    pass\\n' > app.py\n"
COMMENTS = [
    {"file": "app.py", "line": 4, "text": "@etc: read one name only"},
    {"file": "app.py", "line": 7, "text": "-"},
]


def places(diff: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (
            comment["file"],
            comment["line"],
            comment["quote"],
            comment["text"],
            comment["shown_file"],
            comment["shown_line"],
        )
        for comment in diff["comments"]
    ]


def test_comments_reach_the_worker_and_the_next_changes(plan_repo: PlanRepo):
    """Several comments and a text are one feedback. The worker's prompt has each with its file, line and quoted line;
    the next changes show a comment where its line is now, and one whose line changed without a place."""
    plan_repo.act("implementer-010-1", FIRST)
    plan_repo.act("implementer-010-2", SECOND)
    plan_repo.judge("010", "RED", "GREEN")
    plan_repo.plan("First")
    assert plan_repo.run("--retries", "0").code == 4
    facts = facts_of(plan_repo.repo)
    diff = facts.diff("010", "", "", "")
    body = {"task": "010", "tree": diff["tree"], "text": "@Almost", "comments": COMMENTS}
    status, messages = facts.act("feedback", body)
    assert status == 200, messages
    entry = plan_repo.repo.task("010")["feedback"][-1]
    assert (entry["tree"], len(entry["comments"]), entry["text"].startswith("@Almost\n\n### ")) == (
        diff["tree"], 2, True,
    )  # fmt: skip
    here = [("app.py", 4, "return os.environ", COMMENTS[0]["text"]), ("app.py", 7, "pass", "-")]
    assert places(facts.diff("010", "", "", "")) == [(*here[0], "app.py", 4), (*here[1], "app.py", 7)]
    plan_repo.repo.ok("answer", "1", "As I commented")
    assert plan_repo.run().code == 0
    prompt = plan_repo.prompt("010", 2)
    assert "@Almost" in prompt
    assert "### app.py:4\n\n> return os.environ\n\n@etc: read one name only" in prompt
    assert places(facts.diff("010", "", "", "")) == [(*here[0], "app.py", None), (*here[1], "app.py", 8)]
    assert places(facts.diff("010", "1", "", "")) == [(*here[0], "app.py", 4), (*here[1], "app.py", 7)]
    assert "app.py:4" in plan_repo.repo.ok("runs", "report").out


def test_work_goes_back_with_comments_alone(task_repo: Repo):
    """Comments are enough to send work back; the next iteration begins with them."""
    (task_repo.root / "app.py").write_text("import os\n")
    task_repo.git("add", "app.py")
    task_repo.git("commit", "-q", "-m", "app")
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    comments = [{"file": "app.py", "line": 1, "text": "--not needed"}]
    tree = task_repo.git("rev-parse", "HEAD^{tree}").strip()
    body = {"task": "010", "tree": tree, "text": "", "comments": comments}
    status, messages = facts_of(task_repo).act("send-back", body)
    assert status == 200, messages
    task = task_repo.task("010")
    assert (task["status"], task["iteration"]) == ("in_progress", 2)
    assert task["feedback"][0]["text"] == "### app.py:1\n\n> import os\n\n--not needed"


@pytest.mark.parametrize(
    "comments",
    [
        "all",
        [{"file": "app.py", "line": "1", "text": "x"}],
        [{"file": "app.py", "line": True, "text": "x"}],
        [{"file": "../app.py", "line": 1, "text": "x"}],
        [{"file": "app.py", "line": 9, "text": "x"}],
        [{"file": "app.py", "line": 1, "text": ""}],
        [{"file": "app.py", "line": 1, "text": "x"}] * 101,
    ],
)
def test_bad_comments_leave_nothing(task_repo: Repo, comments: Any):
    """Comments in another form, or on a missing line, are refused together."""
    (task_repo.root / "app.py").write_text("import os\n")
    task_repo.git("add", "app.py")
    task_repo.git("commit", "-q", "-m", "app")
    tree = task_repo.git("rev-parse", "HEAD^{tree}").strip()
    status, _ = facts_of(task_repo).act("feedback", {"task": "010", "tree": tree, "comments": comments})
    assert status == 422
    assert task_repo.task("010")["feedback"] == []
