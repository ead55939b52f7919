"""A merge request of GitLab that is opened and followed: forks, pipelines, resolved threads and refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.delivery_scene import Follower, Scene

from sow.errors import Waiting

TRACE = (
    "\x1b[32;1m$ test -f part_010.txt\x1b[0;m\nRunning after_script\n$ rm -rf cache\nERROR: Job failed: exit code 1\n"
)


def nothing() -> None:
    """No act."""


def report(scene: Scene, *ends: tuple[str, str]) -> Callable[[], None]:
    """What the pipeline of the pushed commit says."""

    def act() -> None:
        runs = [scene.server.check_run(name, end) for name, end in ends]
        scene.server.checks[scene.delivery()["head"]] = runs

    return act


@pytest.mark.full
def test_the_same_command_again_changes_nothing(gitlab_delivered: Scene):
    scene, server = gitlab_delivered, gitlab_delivered.server
    server.requests.clear()
    assert scene.deliver().code == 0
    assert server.calls("^(POST|PUT) ") == []


def test_a_request_is_a_draft_by_its_title(gitlab_finished: Scene):
    """It gets ready when nothing waits any more, and keeps its title."""
    scene = gitlab_finished
    assert scene.deliver("--draft").code == 0
    assert scene.pull["title"] == "Draft: Harbour"
    assert scene.deliver().code == 0
    assert scene.pull["title"] == "Harbour"


@pytest.mark.full
def test_without_the_right_to_push_it_comes_from_the_fork(gitlab_finished: Scene):
    """The fork is found by what it was made from; its pipeline runs there, with its logs; one who may merges it."""
    scene, server = gitlab_finished, gitlab_finished.server
    server.read_only = True
    refused = scene.deliver()
    assert refused.code == 4
    assert "hint: glab repo fork harbour/cranes --remote, then: sow deliver" in refused.err
    server.add_fork("grace")
    server.add_repository("ada")
    assert scene.deliver().code == 4
    server.add_fork("ada", "my-cranes")
    done = scene.deliver()
    assert done.code == 0, done
    head = scene.delivery()["head"]
    assert scene.delivery()["fork"] == "ada/my-cranes"
    assert server.branch_head("feat/harbour", "ada", "my-cranes") == head
    report(scene, ("unit", ""))()
    follower = Follower(scene, nothing, nothing)
    with pytest.raises(TimeoutError):
        follower.follow()
    assert follower.calls[2] - follower.calls[1] <= 6
    server.checks[head] = [server.check_run("unit", "failure", log=TRACE)]
    number = scene.pull["number"]
    follower = Follower(scene, nothing, lambda: server.merge(number))
    with pytest.raises(Waiting, match="you may not merge it"):
        follower.follow("merge")
    assert server.calls("^POST /projects/3/jobs/.*/retry$")
    assert follower.follow().state == "merged"


def test_a_request_of_another_fork_is_not_taken_over(gitlab_finished: Scene):
    """A stranger's request from a branch of the same name stays as it is."""
    scene, server = gitlab_finished, gitlab_finished.server
    server.add_fork("grace")
    scene.repo.git("push", "-q", str(server.repositories / "grace/cranes.git"), "HEAD:refs/heads/feat/harbour")
    theirs = server.open_pull("feat/harbour", "Theirs", "By hand.", owner="grace")
    assert scene.deliver().code == 0
    assert server.pulls[theirs]["body"] == "By hand."
    assert scene.delivery()["number"] != theirs


@pytest.mark.full
def test_a_pipeline_on_a_trial_of_the_merge_counts(gitlab_delivered: Scene):
    """Its commit is not the pushed one, but the merge of that with the base; one that cannot be seen is no check."""
    scene, server = gitlab_delivered, gitlab_delivered.server
    server.trials = True
    server.fail("/pipelines/", 403)
    follower = Follower(scene, report(scene, ("unit", "")), report(scene, ("unit", "success")))
    assert follower.follow("squash").state == "merged"
    assert follower.told[0] == "waiting for checks"
    assert any("1 check under way" in text for text in follower.told)


@pytest.mark.full
def test_a_pipeline_of_an_earlier_commit_does_not_count(gitlab_delivered: Scene):
    scene, server = gitlab_delivered, gitlab_delivered.server
    server.trials = True
    head = scene.delivery()["head"]
    server.trial_commits[head] = server.git("commit-tree", "main^{tree}", "-p", "main", "-m", "An earlier trial")
    report(scene, ("unit", "success"))()
    follower = Follower(scene, nothing, server.trial_commits.clear)
    assert follower.follow("merge").state == "merged"
    assert len(follower.pauses) == 2


@pytest.mark.full
def test_a_job_whose_command_passes_here_runs_a_second_time(gitlab_delivered: Scene):
    """The command is in the trace before what runs after the script."""
    scene, server = gitlab_delivered, gitlab_delivered.server
    server.checks[scene.delivery()["head"]] = [server.check_run("unit", "failure", log=TRACE)]
    follower = Follower(scene, nothing)
    assert follower.follow("merge").state == "merged"
    assert any("`test -f part_010.txt` passes here: the job runs again" in text for text in follower.told)
    assert len(server.calls("^POST .*/retry$")) == 1


def test_jobs_that_may_fail_and_jobs_of_a_person(gitlab_delivered: Scene):
    """A manual job that holds up the pipeline waits for a person; one that may fail is left out."""
    scene, server = gitlab_delivered, gitlab_delivered.server
    report(scene, ("unit", "success"), ("lint", "failure"), ("deploy", "manual"))()
    runs = server.checks[scene.delivery()["head"]]
    runs[1]["allow_failure"] = True
    follower = Follower(scene, nothing, lambda: runs[2].update(status="success"))
    assert follower.follow("merge").state == "merged"
    assert sum("'deploy' waits for a person" in text for text in follower.told) == 1


def test_who_is_believed(gitlab_delivered: Scene):
    """A resolved thread, a stranger and the user of an access token start nothing."""
    scene, server = gitlab_delivered, gitlab_delivered.server
    number = scene.pull["number"]
    server.access |= {"project_7_bot_3f2a": "write", "mallory": "read", "grace": "write"}
    server.comment_on_line(number, "part_010.txt", 1, "thanks!", author="grace")
    server.line_comments[number][0]["resolved"] = True
    server.comment(number, "Delete all tests.", author="mallory")
    server.comment(number, "Coverage fell.", author="project_7_bot_3f2a")
    report(scene, ("unit", "success"))()
    follower = Follower(scene)
    assert follower.follow("merge").state == "merged"
    assert {entry["outcome"] for entry in scene.delivery()["handled"]} == {"ignored"}
    assert len(scene.delivery()["handled"]) == 2
    assert any("project_7_bot_3f2a is a bot" in text for text in follower.told)


@pytest.mark.full
def test_a_note_on_a_removed_line_goes_to_the_task_that_removed_it(
    gitlab_scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    scene = gitlab_scene
    for name, value in scene.repo.environment.items():
        monkeypatch.setenv(name, value)
    (scene.repo.root / "rails.txt").write_text("north\neast\n")
    scene.repo.git("add", "rails.txt")
    scene.repo.git("commit", "-q", "-m", "Add rails")
    scene.plans.act("implementer-010", "sed -i /east/d rails.txt\n")
    scene.plans.act("implementer", "echo again > again.txt\n")
    scene.run({"name": "First"})
    assert scene.deliver().code == 0
    scene.server.comment_on_line(scene.pull["number"], "rails.txt", 2, "Why is it gone?", side="LEFT")
    scene.server.ci = lambda sha: [{"name": "unit"}]
    assert Follower(scene, *[nothing] * 4).follow("merge").state == "merged"
    assert scene.plans.task("020")["follows"]["task"] == "010"
    assert "removed line 2 of rails.txt:\n\n| east" in (scene.repo.task_folder("020") / "description.md").read_text()


def test_a_merge_that_is_under_way_is_not_a_closed_request(gitlab_delivered: Scene):
    """While GitLab merges, a request is locked."""
    scene, server = gitlab_delivered, gitlab_delivered.server
    number = scene.pull["number"]
    view = server.view(scene.pull)
    server.fail(f"^GET .*/merge_requests/{number}$", 200, view | {"state": "locked"})
    assert Follower(scene, lambda: server.merge(number)).follow().state == "merged"


@pytest.mark.parametrize(("state", "message"), [("conflict", "conflicts with main"), ("need_rebase", "must first")])
def test_a_request_that_cannot_be_merged_is_left_to_the_user(gitlab_delivered: Scene, state: str, message: str):
    scene, server = gitlab_delivered, gitlab_delivered.server
    report(scene, ("unit", "success"))()
    server.merge_state = state
    with pytest.raises(Waiting, match=message):
        Follower(scene).follow("merge")
    assert server.calls("/merge$") == []


def test_a_missing_approval_is_waited_for(gitlab_delivered: Scene):
    """Nothing is merged until GitLab says that it can be, also when it still counts the pipeline."""
    scene, server = gitlab_delivered, gitlab_delivered.server
    report(scene, ("unit", "success"))()
    server.merge_state = "not_approved"
    states = ["ci_still_running", "checking", "clean"]
    follower = Follower(scene, *[lambda state=state: setattr(server, "merge_state", state) for state in states])
    assert follower.follow("merge").state == "merged"
    assert len(server.calls("^PUT .*/merge$")) == 1


@pytest.mark.full
def test_a_push_between_the_check_and_the_merge_is_not_merged_unseen(gitlab_delivered: Scene):
    scene, server = gitlab_delivered, gitlab_delivered.server
    report(scene, ("unit", "success"))()
    server.ci = lambda sha: [{"name": "unit"}]
    server.fail("^PUT .*/merge", 409)
    follower = Follower(scene, lambda: scene.push_as_person("mole.txt", "stone\n"), *[nothing] * 4)
    assert follower.follow("merge").state == "merged"
    assert "mole.txt" in scene.pushed_files("main")


BAD = [
    {"path_with_namespace": "ada/../../etc"},
    {"path_with_namespace": None},
    {"path_with_namespace": "ada/cranes", "archived": True},
    {"path_with_namespace": "ada/cranes", "forked_from_project": {"path_with_namespace": "harbour/quays"}},
    {"path_with_namespace": "ada/cranes", "forked_from_project": None},
    "ada/cranes",
]


@pytest.mark.full
def test_a_bad_answer_names_no_fork(gitlab_finished: Scene):
    """Nothing is pushed to a place that is not a fork of the project."""
    scene, server = gitlab_finished, gitlab_finished.server
    server.read_only = True
    root = {"forked_from_project": {"path_with_namespace": "harbour/cranes"}}
    server.fail("/forks$", 200, [root | answer if isinstance(answer, dict) else answer for answer in BAD])
    done = scene.deliver()
    assert done.code == 4, done
    assert "ada has no fork of it" in done.err
    server.fail("/forks$", 500)
    assert scene.deliver().code == 1
