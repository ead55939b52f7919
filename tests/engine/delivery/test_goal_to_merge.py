"""From one sentence to a merged request, with a failed check and two review comments."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import SOW
from support.delivery_scene import Follower, Scene
from support.quick_cases import few_of
from support.simulated_workers import wait_for

from sow.errors import Waiting

PLAN = """# Harbour

## Task 1: Add a crane
**Estimated time**: 10m

Build it in crane.txt.

**Verify**: `test -s crane.txt`
"""
LOG = """2026-11-19T10:00:02.0000000Z ##[group]Run sh ci.sh
2026-11-19T10:00:03.0000000Z crane.txt:1: error: a small crane lifts nothing
2026-11-19T10:00:03.0000000Z ##[error]Process completed with exit code 1.
"""


TRACE = """2026-11-19T10:00:01.000000Z 00O section_start:1795082401:step_script\r\x1b[0K\x1b[36;1mExecuting\x1b[0;m
2026-11-19T10:00:02.000000Z 00O \x1b[32;1m$ sh ci.sh\x1b[0;m
2026-11-19T10:00:03.000000Z 01O \x1b[31mcrane.txt:1: error: a small crane lifts nothing\x1b[0m
2026-11-19T10:00:03.000000Z 00O section_end:1795082403:step_script\r\x1b[0K
2026-11-19T10:00:03.000000Z 00O \x1b[31;1mERROR: Job failed: exit code 1
\x1b[0;m
"""


class Story:
    """A repository whose CI wants a big crane, and a colleague who comments on the first version."""

    log = LOG
    line_key, key = "line-{}", "issue-{}"

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.comments: list[int] = []
        server, plans = scene.server, scene.plans
        server.access["grace"] = "write"
        server.slow_checks = False
        server.ci = self.ci
        plans.act(
            "implementer",
            "if [ -f crane.txt ]; then echo big; else echo small; fi > crane.new; mv crane.new crane.txt\n",
        )
        plans.act("integrator", "echo 'Turn the wheel.' > HOWTO.txt\n")
        scene.repo.git("push", "-q", "origin", "HEAD:refs/heads/main")

    def ci(self, sha: str) -> list[dict[str, Any]]:
        """Returns the result of CI for a commit; with the first one come the comments."""
        server = self.scene.server
        if not self.comments:
            number = self.scene.pull["number"]
            self.comments.append(server.comment_on_line(number, "crane.txt", 1, "Is that enough?", author="grace"))
            self.comments.append(server.comment(number, "Please say how it is used.", author="grace"))
        if server.git("show", f"{sha}:crane.txt") == "big":
            return [{"name": "unit"}]
        return [{"name": "unit", "conclusion": "failure", "log": self.log}]

    def check(self) -> None:
        """Checks that the merged result has what CI and the colleague wanted, and that nothing was done twice."""
        scene, server = self.scene, self.scene.server
        assert server.git("show", "main:crane.txt") == "big"
        assert server.git("show", "main:HOWTO.txt") == "Turn the wheel."
        assert not [path for path in scene.pushed_files("main") if path.startswith(".sow/project")]
        assert (scene.pull["state"], scene.pull["merge_commit"]) == ("closed", server.branch_head("main"))
        assert scene.plans.statuses() == {"010": "completed", "020": "completed", "030": "completed"}
        handled = {entry["key"]: entry["tasks"] for entry in scene.delivery()["handled"]}
        line, general = self.line_key.format(self.comments[0]), self.key.format(self.comments[1])
        (check,) = handled.keys() - {line, general}
        assert handled[check] == handled[line] != handled[general]
        (owned,) = handled[check]
        assert scene.plans.task(owned)["follows"]["task"] == "010"
        (reply,) = [entry for entry in server.talk[scene.pull["number"]] if entry["id"] != self.comments[1]]
        assert reply["body"].startswith("Follow-up task ")
        assert "settled 3 findings." in reply["body"]
        assert scene.delivery()["own_comments"] == [self.key.format(reply["id"])]
        assert "020" in scene.pull["body"]
        assert len(server.calls("^PUT .*/merge$")) == 1
        assert len(server.calls("^POST .*/(pulls|merge_requests)$")) == 1


class GitLabStory(Story):
    """The same on GitLab."""

    log = TRACE
    line_key = key = "{}"


def test_findings_become_follow_up_tasks_whose_result_is_merged(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    """A failed check and two comments are settled by their owners, pushed, checked again and merged."""
    for name, value in scene.repo.environment.items():
        monkeypatch.setenv(name, value)
    story = Story(scene)
    (scene.repo.root / "plan.md").write_text(PLAN)
    assert scene.repo.sow("run", "plan.md", "--yes").code == 0
    assert scene.deliver().code == 0
    follower = Follower(scene, lambda: None, lambda: None)
    assert follower.follow("merge").state == "merged"
    assert "1 failed check and 2 comments: starting follow-up tasks" in follower.told
    story.check()


@few_of("method", ["merge", "squash"], 1)
def test_the_same_on_gitlab(gitlab_scene: Scene, monkeypatch: pytest.MonkeyPatch, method: str):
    """A failed job and two notes of a merge request are settled, pushed, checked again and merged with the sha."""
    scene = gitlab_scene
    for name, value in scene.repo.environment.items():
        monkeypatch.setenv(name, value)
    story = GitLabStory(scene)
    (scene.repo.root / "plan.md").write_text(PLAN)
    assert scene.repo.sow("run", "plan.md", "--yes").code == 0
    done = scene.deliver()
    assert done.code == 0, done
    assert "opened merge request" in done.out
    follower = Follower(scene, lambda: None, lambda: None)
    assert follower.follow(method).state == "merged"
    assert "1 failed check and 2 comments: starting follow-up tasks" in follower.told
    story.check()
    sent = [body for call, body in scene.server.sent if call.startswith("PUT") and call.endswith("/merge")]
    assert sent == [{"sha": scene.delivery()["merged_head"], "squash": method == "squash"}]
    text = (scene.repo.task_folder("020") / "description.md").read_text()
    assert "| $ sh ci.sh\n| crane.txt:1: error: a small crane lifts nothing\n| ERROR: Job failed" in text


CALLS = ["^POST .*/issues/\\d+/comments$", "^PUT .*/merge$", "^POST .*/pulls$"]


@few_of("call", CALLS, 0)
def test_after_a_kill_nothing_is_done_twice(scene: Scene, call: str, tmp_path: Path):
    """sow is killed after the forge did the request and before the reply; the same command ends the work."""
    story = Story(scene)
    (scene.repo.root / "plan.md").write_text(PLAN)
    assert scene.repo.sow("run", "plan.md", "--yes").code == 0
    released = scene.server.hangs[call] = threading.Event()
    command = [SOW, "deliver", "--watch", "--merge"]
    output = tmp_path / "output.txt"
    with output.open("w") as file:
        process = subprocess.Popen(command, cwd=scene.repo.root, env=scene.repo.environment, stdout=file)
        wait_for(lambda: scene.server.calls("^HANGS "), seconds=120)
        process.kill()
        process.wait()
    if call == CALLS[0]:
        shown = output.read_text().partition("starting follow-up tasks\n")[2]
        assert "task 030 Follow-up on task 010: 2 findings: completed GREEN" in shown, (
            "the follow-up tasks are shown live"
        )
    released.set()
    done = scene.deliver("--watch", "--merge")
    assert done.code == 0, done
    (reply,) = [item for item in scene.server.talk[scene.pull["number"]] if item["user"]["login"] == "ada"]
    assert f"issue-{reply['id']}" in scene.delivery()["own_comments"]
    story.check()


@pytest.mark.full
def test_a_follow_up_that_needs_a_person_ends_the_watch(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    """The request is a draft until the person decides; then the same command merges it."""
    for name, value in scene.repo.environment.items():
        monkeypatch.setenv(name, value)
    story = Story(scene)
    scene.plans.act("integrator", "true\n")
    (scene.repo.root / "plan.md").write_text(PLAN)
    assert scene.repo.sow("run", "plan.md", "--yes").code == 0
    assert scene.deliver().code == 0
    with pytest.raises(Waiting, match="changed nothing"):
        Follower(scene).follow("merge")
    assert scene.pull["draft"] is True
    assert scene.pull["state"] == "open"
    asking = [ident for ident, status in scene.plans.statuses().items() if status != "completed"]
    assert len(asking) == 1
    scene.repo.ok("task", "abandon", asking[0], "--reason", "the wheel is obvious")
    server, general = scene.server, story.comments[1]
    assert Follower(scene, *[lambda: None] * 3).follow("merge").state == "merged"
    assert server.git("show", "main:crane.txt") == "big"
    assert f"issue-{general}" in {entry["key"] for entry in scene.delivery()["handled"]}


@pytest.mark.full
def test_one_sentence_becomes_a_merged_request(scene: Scene):
    """`sow plan new`, `sow run` and `sow deliver --watch --merge`, and no step by hand."""
    planner = {"say": f"BEGIN PLAN {{nonce}}\n{PLAN}END PLAN {{nonce}}"}
    scene.plans.simulated("thinker", "planner", [planner])
    story = Story(scene)
    scene.repo.ok("plan", "new", "Add a crane", "--headless")
    (path,) = (scene.repo.root / "plans").glob("*.md")
    scene.repo.ok("run", str(path.relative_to(scene.repo.root)), "--yes")
    done = scene.deliver("--watch", "--merge")
    assert done.code == 0, done
    assert "is merged as" in done.out
    story.check()
