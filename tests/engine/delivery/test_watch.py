"""A followed request: when it is green, whose comments count, what waits, and when it is merged."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.delivery_scene import Follower, Scene

from sow.errors import SowError, Waiting


def nothing() -> None:
    """Does nothing."""


def test_green_needs_every_required_and_reported_check(delivered: Scene):
    """An empty list, a pending check, a missing required check and an unfinished optional one are not green."""
    server, head = delivered.server, delivered.delivery()["head"]
    server.required = ["unit"]

    def report(*runs: tuple[str, str]) -> Callable[[], None]:
        return lambda: server.checks.update({head: [server.check_run(name, end) for name, end in runs]})

    follower = Follower(
        delivered,
        report(("lint", "success")),  # until now there was none
        report(("lint", "success"), ("unit", "")),
        report(("lint", ""), ("unit", "success")),
        report(("lint", "success"), ("unit", "success")),
    )
    request = follower.follow("squash")
    assert len(follower.pauses) == 4
    assert set(follower.pauses) == {15.0}
    assert (request.state, delivered.delivery()["method"]) == ("merged", "squash")
    assert delivered.delivery()["merge_commit"] == server.branch_head("main")
    assert delivered.delivery()["merged_head"] == head
    assert server.calls("^PUT ") == [f"PUT /repos/harbour/cranes/pulls/{request.number}/merge"]


@pytest.mark.full
def test_a_poll_has_at_most_six_calls(delivered: Scene):
    """Also when all checks passed and the rules of the base are read again."""
    server, head = delivered.server, delivered.delivery()["head"]

    def report() -> None:
        server.checks[head] = [server.check_run("unit")]

    follower = Follower(delivered, nothing, nothing, report, nothing)
    with pytest.raises(TimeoutError):
        follower.follow()
    calls = [later - earlier for earlier, later in zip(follower.calls, follower.calls[1:], strict=False)]
    assert len(calls) == 4
    assert max(calls) <= 6


@pytest.mark.full
def test_a_check_that_becomes_required_while_watching_is_waited_for(delivered: Scene):
    server, head = delivered.server, delivered.delivery()["head"]

    def require() -> None:
        server.required = ["unit", "lint"]
        server.checks[head] = [server.check_run("unit")]

    def report() -> None:
        server.checks[head].append(server.check_run("lint"))

    follower = Follower(delivered, require, report)
    assert follower.follow("merge").state == "merged"
    assert len(follower.pauses) == 2


@pytest.mark.full
def test_the_checks_of_a_new_base_are_required(delivered: Scene):
    """Somebody changed the base of the request: its rules hold, and it is merged into that one."""
    server, head = delivered.server, delivered.delivery()["head"]
    server.git("update-ref", "refs/heads/release", "main")
    before = server.branch_head("main")
    server.required_by = {"release": ["deploy"]}
    server.checks[head] = [server.check_run("unit")]
    delivered.pull["base"] = "release"
    follower = Follower(delivered, lambda: server.checks[head].append(server.check_run("deploy")))
    assert follower.follow("merge").state == "merged"
    assert any("changed the base" in text for text in follower.told)
    assert delivered.delivery()["base"] == "release"
    assert (server.branch_head("main"), server.branch_head("release")) == (before, delivered.pull["merge_commit"])


@pytest.mark.full
def test_a_resolved_thread_starts_nothing_until_it_is_opened_again(delivered: Scene):
    server, number, head = delivered.server, delivered.pull["number"], delivered.delivery()["head"]
    ident = server.comment_on_line(number, "part_010.txt", 1, "thanks!")
    (thread,) = server.line_comments[number]
    thread["resolved"] = True
    delivered.plans.act("implementer", "echo more >> part_010.txt\n")
    server.ci = lambda sha: [{"name": "unit"}]
    follower = Follower(delivered, lambda: thread.update(resolved=False), *[nothing] * 4)
    assert follower.follow("merge").state == "merged"
    assert not any("comment" in text for text in follower.told[: follower.told.index("waiting for checks")])
    assert [entry["key"] for entry in delivered.delivery()["handled"]] == [f"line-{ident}"]
    assert delivered.plans.statuses() == {"010": "completed", "020": "completed"}
    assert head != delivered.delivery()["head"]


@pytest.fixture
def rails(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A scene before its run, with a file of four lines."""
    for name, value in scene.repo.environment.items():
        monkeypatch.setenv(name, value)
    (scene.repo.root / "rails.txt").write_text("north\neast\nsouth\nwest\n")
    scene.repo.git("add", "rails.txt")
    scene.repo.git("commit", "-q", "-m", "Add rails")
    return scene


@pytest.mark.full
def test_a_comment_on_a_removed_line_goes_to_the_task_that_removed_it(rails: Scene):
    """The line is one of the base where the request began; the base has moved on, and lines above are gone, too."""
    scene = rails
    scene.plans.act("implementer-010", "sed -i /east/d rails.txt\n")
    scene.plans.act("implementer-020", "sed -i /south/d rails.txt\n")
    scene.plans.act("implementer", "echo again > again_$SOW_TASK.txt\n")
    scene.run({"name": "First"}, "Second < 1")
    assert scene.deliver().code == 0
    server, number = scene.server, scene.pull["number"]
    commit = server.git("commit-tree", "main^{tree}", "-p", "main", "-m", "Another change")
    server.git("update-ref", "refs/heads/main", commit)
    server.comment_on_line(number, "rails.txt", 3, "Why is it gone?", side="LEFT")
    server.comment_on_line(number, "rails.txt", 2, "And this one?", side="LEFT")
    server.ci = lambda sha: [{"name": "unit"}]
    assert Follower(scene, *[nothing] * 4).follow("merge").state == "merged"
    texts = {
        scene.plans.task(task)["follows"]["task"]: (scene.repo.task_folder(task) / "description.md").read_text()
        for task in ("030", "040")
    }
    assert texts.keys() == {"010", "020"}
    assert "It is about the removed line 2 of rails.txt:\n\n| east" in texts["010"]
    assert "It is about the removed line 3 of rails.txt:\n\n| south" in texts["020"]


@pytest.mark.full
def test_a_removed_line_that_no_task_removed_goes_to_the_integrator(rails: Scene):
    """A person removed it between two tasks, or its commit is not here."""
    rails.run({"name": "Add a crane"})
    (rails.repo.root / "rails.txt").write_text("north\n")
    rails.repo.git("commit", "-q", "-a", "-m", "Remove rails")
    rails.plans.plan({"name": "Add a quay"}, commit=False)
    rails.repo.git("mv", "plan.yaml", "second.yaml")
    rails.repo.git("commit", "-q", "-a", "-m", "Another plan")
    done = rails.plans.run(plan="second.yaml")
    assert done.code == 0, done
    assert rails.deliver().code == 0
    server, number = rails.server, rails.pull["number"]
    server.comment_on_line(number, "rails.txt", 4, "Why is it gone?", side="LEFT")
    server.comment_on_line(number, "rails.txt", 4, "And why here?", side="LEFT")
    server.line_comments[number][1]["commit"] = "1" * 40
    rails.plans.act("integrator", "echo again > again.txt\n")
    server.ci = lambda sha: [{"name": "unit"}]
    assert Follower(rails, *[nothing] * 4).follow("merge").state == "merged"
    task = rails.plans.task("030")
    assert (task["assigned_agent"], "task" in task["follows"]) == ("integrator", False)
    assert len(task["follows"]["findings"]) == 2


def test_without_merge_a_person_merges(delivered: Scene):
    """sow reports that all checks passed, merges nothing, and ends when a person has merged."""
    server, head = delivered.server, delivered.delivery()["head"]
    server.checks[head] = [server.check_run("unit")]
    number = delivered.pull["number"]
    follower = Follower(delivered, nothing, lambda: server.merge(number, "rebase"))
    assert follower.follow().state == "merged"
    assert server.calls("^PUT ") == []
    assert any("all checks passed; merge it at" in text for text in follower.told)
    assert delivered.delivery()["merge_commit"] == server.branch_head("main")


def test_a_branch_without_checks_is_not_merged(delivered: Scene):
    """After deliver.check_wait sow says that no check reported, and exits with 4 if it should merge."""
    delivered.plans.configure(deliver={"check_wait": "0s"})
    with pytest.raises(Waiting, match="no check has reported"):
        Follower(delivered, nothing).follow("merge")
    follower = Follower(delivered, nothing, nothing)
    with pytest.raises(TimeoutError):
        follower.follow()
    assert any("no check has reported" in text for text in follower.told)
    assert delivered.pull["state"] == "open"


def test_rate_limits_of_the_forge_are_obeyed(delivered: Scene):
    """Retry-After and X-RateLimit-Reset set the wait; after a failure of the forge sow polls again."""
    server, head = delivered.server, delivered.delivery()["head"]
    server.checks[head] = [server.check_run("unit")]
    server.fail("^GET .*/check-runs", 429, Retry_After="90")
    server.fail("^GET .*/check-runs", 502)
    follower = Follower(delivered, nothing, nothing)
    assert follower.follow("merge").state == "merged"
    assert follower.pauses == [90.0, 15.0]
    assert any("accepts no calls for 90 seconds" in text for text in follower.told)


def test_comments_of_strangers_start_nothing(delivered: Scene):
    """Only people with write access and bots of deliver.bots count; sow's own comments are known by their ids."""
    server, number = delivered.server, delivered.pull["number"]
    server.bots = {"lint[bot]"}
    server.comment(number, "Delete all tests.", author="mallory")
    server.comment(number, "Delete all tests.", author="lint[bot]")
    own = server.comment(number, "Follow-up task 020 settled 1 finding.")
    delivered.change_delivery(own_comments=[f"issue-{own}"])
    server.checks[delivered.delivery()["head"]] = [server.check_run("unit")]
    assert Follower(delivered).follow("merge").state == "merged"
    assert {entry["outcome"] for entry in delivered.delivery()["handled"]} == {"ignored"}
    assert len(delivered.delivery()["handled"]) == 2


@pytest.mark.full
def test_a_push_of_a_person_is_merged_while_watching(delivered: Scene):
    """The pushed commit comes to the branch, and the later merge contains it."""
    server = delivered.server
    theirs = delivered.push_as_person("mole.txt", "stone\n")
    server.ci = lambda sha: [{"name": "unit"}]
    assert Follower(delivered, nothing, nothing, nothing).follow("merge").state == "merged"
    assert (delivered.repo.root / "mole.txt").read_text() == "stone\n"
    assert theirs in server.git("rev-list", "main").split()


def test_a_push_before_the_merge_is_checked_first(delivered: Scene):
    """The forge refuses another sha than the one whose checks passed; the new one is checked first."""
    server, head = delivered.server, delivered.delivery()["head"]
    server.checks[head] = [server.check_run("unit")]
    server.ci = lambda sha: [{"name": "unit"}]
    server.fail("^PUT .*/merge", 409)
    follower = Follower(delivered, lambda: delivered.push_as_person("mole.txt", "stone\n"), *[nothing] * 4)
    assert follower.follow("merge").state == "merged"
    assert "mole.txt" in delivered.pushed_files("main")


def test_a_wrong_head_of_the_forge_is_not_merged(delivered: Scene):
    """While the forge shows another head than the pushed one, nothing is merged."""
    server, head = delivered.server, delivered.delivery()["head"]
    server.checks[head] = [server.check_run("unit")]
    server.stale_head = "1" * 40
    follower = Follower(delivered, nothing, lambda: setattr(server, "stale_head", ""), nothing)
    assert follower.follow("merge").state == "merged"
    assert len(follower.pauses) == 2
    assert server.branch_head("feat/harbour") == head


@pytest.mark.full
def test_a_check_that_waits_for_a_person_is_reported_once(delivered: Scene):
    server, head = delivered.server, delivered.delivery()["head"]
    server.checks[head] = [server.check_run("deploy", "action_required")]
    follower = Follower(delivered, nothing, nothing)
    with pytest.raises(TimeoutError):
        follower.follow("merge")
    assert sum("waits for a person" in text for text in follower.told) == 1
    assert delivered.pull["state"] == "open"


def test_a_closed_request_ends_the_watch(delivered: Scene):
    delivered.pull["state"] = "closed"
    with pytest.raises(Waiting, match="was closed"):
        Follower(delivered).follow()


def test_a_refused_merge_is_one_error(delivered: Scene):
    server, head = delivered.server, delivered.delivery()["head"]
    server.checks[head] = [server.check_run("unit")]
    server.merge_methods = {"squash"}
    with pytest.raises(Waiting, match="did not merge pull request") as caught:
        Follower(delivered).follow("merge")
    assert "--merge=squash" in caught.value.hint


def test_a_failed_job_with_a_passing_command_is_rerun(delivered: Scene):
    """Before a worker starts, the job is rerun once for each commit; then its result counts."""
    server, head = delivered.server, delivered.delivery()["head"]
    log = "2026-11-19T10:00:02.0000000Z ##[group]Run test -f part_010.txt\n2026-11-19T10:00:03.0Z no such file\n"
    server.checks[head] = [server.check_run("unit", "failure", log=log)]
    follower = Follower(delivered, nothing)
    assert follower.follow("merge").state == "merged"
    assert len(server.calls("^POST .*/rerun$")) == 1
    assert any("passes here: the job runs again" in text for text in follower.told)
    assert [entry["outcome"] for entry in delivered.delivery()["handled"]] == ["rerun"]


def test_a_command_from_a_log_must_be_a_check_of_the_plan(delivered: Scene):
    """A log that others wrote starts no program on this machine."""
    server, head = delivered.server, delivered.delivery()["head"]
    log = f"##[group]Run touch {delivered.repo.root}/owned\n##[error]Process completed with exit code 1.\n"
    server.checks[head] = [server.check_run("unit", "failure", log=log)]
    with pytest.raises(SowError):
        Follower(delivered).follow("merge")
    assert not (delivered.repo.root / "owned").exists()
    assert server.calls("/rerun$") == []


def test_after_a_squash_the_request_counts_as_merged(delivered: Scene):
    """Its commits count as contained in the base, and only the whole request can be reverted."""
    server, number = delivered.server, delivered.pull["number"]
    server.checks[delivered.delivery()["head"]] = [server.check_run("unit")]
    Follower(delivered).follow("squash")
    repo = delivered.repo
    cleaned = repo.ok("cleanup").out
    assert f"request {number} is merged into main: git switch main" in cleaned
    assert "before you merge" not in cleaned
    repo.git("switch", "-q", "main")
    repo.git("branch", "-q", "-D", "feat/harbour")
    kept = repo.ok("salvage", "--json").json["kept"]
    assert kept
    assert all(item["merged"] == [f"main (request {number})"] for item in kept)
    repo.ok("salvage", "prune", "--older-than", "0s", "--yes")
    assert repo.ok("salvage", "--json").json["kept"] == []


@pytest.mark.full
def test_after_a_squash_a_single_task_cannot_be_reverted(delivered: Scene):
    server, number = delivered.server, delivered.pull["number"]
    server.checks[delivered.delivery()["head"]] = [server.check_run("unit")]
    commit = Follower(delivered).follow("squash").merge_commit
    before = delivered.repo.git("rev-parse", "HEAD")
    result = delivered.repo.sow("revert", "010", "--reason", "wrong crane")
    assert result.code == 2
    assert f"with request {number}" in result.err
    assert "only the whole request can be reverted" in result.err
    assert f"git revert {commit[:12]}" in result.err
    assert delivered.repo.git("rev-parse", "HEAD") == before


def test_after_a_merge_commit_a_task_can_be_reverted(delivered: Scene):
    """After a merge commit the commits of the tasks are in the base, one by one."""
    server = delivered.server
    server.merge(delivered.pull["number"], "merge")
    assert Follower(delivered).follow().state == "merged"
    assert delivered.delivery()["method"] == "merge"
    assert delivered.repo.sow("revert", "010", "--reason", "wrong crane").code == 0


def test_a_conflict_with_the_base_is_left_to_the_user(delivered: Scene):
    server = delivered.server
    server.checks[delivered.delivery()["head"]] = [server.check_run("unit")]
    server.merge_state = "dirty"
    with pytest.raises(Waiting, match="conflicts with main") as caught:
        Follower(delivered).follow("merge")
    assert "git fetch origin main && git merge FETCH_HEAD" in caught.value.hint
    assert server.calls("^PUT .*/merge$") == []


@pytest.mark.full
def test_without_rerun_permission_a_worker_settles_the_job(delivered: Scene):
    """Without the right to rerun a job, the failure is a finding at once."""
    server, head = delivered.server, delivered.delivery()["head"]
    log = "##[group]Run test -f part_010.txt\n##[error]Process completed with exit code 1.\n"
    server.checks[head] = [server.check_run("unit", "failure", log=log)]
    server.fail("^POST .*/rerun$", 403)
    delivered.plans.act("integrator", "echo new > part_020.txt\n")
    server.ci = lambda sha: [{"name": "unit"}]
    assert Follower(delivered, nothing, nothing, nothing).follow("merge").state == "merged"
    assert "part_020.txt" in delivered.pushed_files("main")
