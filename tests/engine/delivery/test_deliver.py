"""`sow deliver` with the real gh and git against a forge of the test."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.delivery_scene import Scene
from support.forge_server import TOKEN
from support.plan_repo import WORK
from support.quick_cases import few_of


def test_a_run_becomes_a_pull_request(finished: Scene):
    """The branch is pushed without state files, and the request describes the work, with evidence and reviews."""
    finished.repo.ok("project", "save")
    done = finished.deliver()
    assert done.code == 0, done
    assert finished.pull["title"] == "Harbour"
    assert finished.pull["draft"] is False
    body = finished.pull["body"]
    assert "**1 (010)** Add a crane: completed, GREEN" in body
    assert "- test -f part\\_010.txt: passed (exit 0) on tree" in body
    assert "1 (010): GREEN by quality-control" in body
    files = finished.pushed_files()
    assert "part_010.txt" in files
    assert not [path for path in files if path.startswith(".sow/project")]
    assert ".sow/project/state.yaml" in finished.repo.git("ls-tree", "-r", "--name-only", "HEAD").split()
    assert finished.repo.git("status", "--porcelain") == ""


def test_the_same_command_again_changes_nothing(delivered: Scene):
    head = delivered.server.branch_head("feat/harbour")
    delivered.server.requests.clear()
    done = delivered.deliver("--json")
    assert done.code == 0, done
    assert done.json["number"] == delivered.pull["number"]
    assert delivered.server.branch_head("feat/harbour") == head
    assert delivered.server.calls("^(POST|PATCH|PUT) /repos") == []


def test_a_pull_of_the_pushed_commit_is_explained(finished: Scene):
    """After `git pull` the state files are gone: no command starts a new project, and the hint restores them."""
    finished.repo.ok("project", "save")
    assert finished.deliver().code == 0
    finished.repo.git("pull", "-q", "--ff-only", "origin", "feat/harbour")
    for command in (
        ("status",),
        ("task", "list"),
        ("deliver",),
        ("run", "plan.yaml", "--yes"),
        ("project", "new", "B"),
    ):
        result = finished.repo.sow(*command)
        assert (result.code, "was pulled" in result.err) == (2, True), result
    hint = finished.repo.sow("status").err.split("restore them: ")[1].split()
    finished.repo.git(*hint[1:])
    assert finished.repo.ok("status", "--json").json["counts"] == {"completed": 1}
    finished.repo.ok("project", "save")
    assert finished.deliver().code == 0
    assert not [path for path in finished.pushed_files() if path.startswith(".sow/project")]


def test_new_commits_are_pushed_and_peoples_text_stays(finished: Scene):
    """Each delivery is a fast-forward; a person's text in the request is kept, and the rest is updated."""
    finished.repo.ok("project", "save")
    assert finished.deliver().code == 0
    first = finished.server.branch_head("feat/harbour")
    finished.pull["body"] = f"Please look at the crane.\n\n{finished.pull['body']}"
    finished.repo.git("commit", "-q", "--allow-empty", "-m", "Nothing")
    assert finished.deliver().code == 0
    assert finished.server.branch_head("feat/harbour") == first
    (finished.repo.root / "quay.txt").write_text("stone\n")
    finished.repo.git("add", "quay.txt")
    assert "1 changed file not committed, and not delivered" in finished.deliver().out
    finished.repo.git("commit", "-q", "-m", "Add a quay")
    assert finished.deliver().code == 0
    second = finished.server.branch_head("feat/harbour")
    assert first in finished.server.git("rev-list", second).split()
    assert "quay.txt" in finished.pushed_files()
    assert finished.pull["body"].startswith("Please look at the crane.\n\n<!-- sow")
    assert finished.pull["body"].count("<!-- sow: end -->") == 1


def test_the_request_is_a_draft_while_work_is_open(scene: Scene):
    """Open questions make it a draft that names them; afterwards it is ready."""
    scene.run({"name": "Add a crane"}, {"name": "Paint it"})
    scene.repo.ok("task", "create", "--name", "Add a bell")
    assert scene.deliver().code == 0
    assert scene.pull["draft"] is False  # a task outside of the run is not part of the request
    scene.repo.ok("task", "set", "--id", "030", "status", "in_progress")
    scene.repo.ok("task", "set", "--id", "030", "status", "needs_review")
    done = scene.deliver()
    assert done.code == 0, done
    assert scene.pull["draft"] is True
    assert "## What waits\n\n- task 030:" in scene.pull["body"]
    scene.repo.ok("task", "abandon", "030", "--reason", "no bell")
    assert scene.deliver().code == 0
    assert scene.pull["draft"] is False


def test_a_push_of_a_person_is_merged_and_never_overwritten(finished: Scene):
    """The pushed commit comes to the user's branch, whose state files stay, and the next push contains it."""
    finished.repo.ok("project", "save")
    assert finished.deliver().code == 0
    theirs = finished.push_as_person("mole.txt", "stone\n")
    done = finished.deliver()
    assert done.code == 0, done
    assert (finished.repo.root / "mole.txt").read_text() == "stone\n"
    assert ".sow/project/state.yaml" in finished.repo.git("ls-tree", "-r", "--name-only", "HEAD").split()
    assert finished.repo.git("status", "--porcelain") == ""
    assert theirs in finished.server.git("rev-list", "feat/harbour").split()
    assert not [path for path in finished.pushed_files() if path.startswith(".sow/project")]


def test_a_conflicting_push_is_left_to_the_user(finished: Scene):
    """Nothing moves; the hint's commands solve it, and the state files stay."""
    finished.repo.ok("project", "save")
    assert finished.deliver().code == 0
    theirs = finished.push_as_person("part_010.txt", "theirs\n")
    (finished.repo.root / "part_010.txt").write_text("ours\n")
    finished.repo.git("commit", "-q", "-a", "-m", "Ours")
    head = finished.repo.git("rev-parse", "HEAD")
    done = finished.deliver()
    assert (done.code, finished.repo.git("rev-parse", "HEAD")) == (4, head)
    assert "conflicts with your branch in part_010.txt" in done.err
    assert finished.server.branch_head("feat/harbour") == theirs
    ref = done.err.partition("git merge ")[2].partition(",")[0]
    finished.repo.git("merge", "-q", "-X", "ours", ref)
    assert finished.deliver().code == 0
    assert theirs in finished.server.git("rev-list", "feat/harbour").split()
    assert finished.server.git("show", "feat/harbour:part_010.txt") == "ours"
    assert not [path for path in finished.pushed_files() if path.startswith(".sow/project")]


def test_the_next_step_after_a_run_is_its_request(finished: Scene):
    """Only with a remote whose name shows its forge: status, help and summary name the delivery before the cleanup."""

    def steps() -> list[str]:
        status = finished.repo.ok("status", "--json").json["next"]["command"]
        return [
            status,
            *[step["command"] for step in finished.repo.ok("runs", "show", "--format", "json").json["next"]][1:],
        ]

    assert steps() == ["sow cleanup"] * 2  # nobody knows what is at 127.0.0.1
    finished.repo.git("remote", "add", "up", "git@gitlab.example.org:harbour/cranes.git")
    assert steps() == ["sow deliver --remote up"] * 2
    assert "sow deliver --remote up" in finished.repo.ok().out
    finished.repo.git("remote", "rename", "origin", "here")
    finished.repo.git("remote", "add", "origin", "https://github.com/harbour/cranes")
    assert steps() == ["sow deliver"] * 2
    assert "before you clean up" in finished.repo.ok("runs", "show").out
    finished.repo.git("remote", "remove", "origin")
    finished.repo.git("remote", "rename", "here", "origin")
    assert finished.deliver().code == 0
    assert steps() == ["sow deliver watch"] * 2
    finished.change_delivery(state="merged")
    assert steps() == ["sow cleanup"] * 2
    assert "is merged: clean up" in finished.repo.ok("status").out


@pytest.mark.full
def test_another_remote_is_named_and_kept(finished: Scene):
    """Without an origin the hint names the other remote, and later calls use the remote of the request."""
    finished.repo.git("remote", "rename", "origin", "up")
    done = finished.deliver()
    assert done.code == 2
    assert "hint: sow deliver --remote up\n" in done.err
    assert finished.deliver("--remote", "up").code == 0
    again = finished.deliver()
    assert again.code == 0, again


def test_a_host_without_a_login_is_not_taken_for_github(finished: Scene):
    finished.repo.git("remote", "set-url", "origin", "https://code.example.org/harbour/cranes.git")
    done = finished.deliver()
    assert done.code == 4
    assert "code.example.org is on no GitHub or GitLab that gh or glab is logged in to" in done.err
    assert "if it is a GitLab: glab auth login --hostname code.example.org" in done.err


def test_a_method_after_a_space_names_the_right_form(scene: Scene):
    done = scene.deliver("--watch", "--merge", "squash")
    assert done.code == 2
    assert "hint: --merge=squash\n" in done.err


@few_of("new_project", [False, True], 1)
def test_after_a_cleanup_the_hint_restores_the_project(finished: Scene, new_project: bool):
    """A project that was cleaned up too early is restored by the command of the hint, and is delivered."""
    finished.repo.ok("project", "save")
    finished.repo.ok("cleanup", "--commit")
    if new_project:
        finished.repo.ok("project", "new", "Harbour")
    done = finished.deliver()
    assert done.code == 2
    assert "the project of feat/harbour was removed by sow cleanup; deliver before you clean up" in done.err
    for command in done.err.partition("bring it back: ")[2].partition(", then")[0].split(" && "):
        words = command.split()
        assert words[0] in ("mv", "sow")
        if words[0] == "sow":
            finished.repo.ok(*words[1:])
        else:
            os.rename(finished.repo.root / words[1], finished.repo.root / words[2])
    done = finished.deliver()
    assert done.code == 0, done
    assert "**1 (010)** Add a crane: completed" in finished.pull["body"]


def test_after_a_cleanup_without_a_copy_the_hint_is_to_push_by_hand(finished: Scene):
    finished.repo.ok("cleanup")
    shutil.rmtree(finished.repo.root / ".sow/local/removed")
    done = finished.deliver()
    assert done.code == 2
    assert "git push -u origin feat/harbour, then open the request by hand" in done.err


@pytest.mark.full
def test_another_branch_names_the_branch_of_the_result(finished: Scene):
    """The hint switches to the branch with the last run's result."""
    finished.repo.ok("project", "save")
    finished.repo.git("switch", "-q", "main")
    done = finished.deliver()
    assert done.code == 2
    assert "main has no project; the result of the last run is on feat/harbour" in done.err
    assert "git switch feat/harbour, then run the same command again" in done.err
    finished.repo.git("switch", "-q", "feat/harbour")
    assert finished.deliver().code == 0


@few_of("after", ["before the push", "before the request"], 1)
def test_a_killed_delivery_can_be_repeated(finished: Scene, after: str):
    """Nothing is pushed or opened twice, at whatever step the first call was killed."""
    if after == "before the push":
        finished.server.read_only = True
    else:
        finished.server.fail("^POST /repos/[^/]+/[^/]+/pulls$", 502)
    assert finished.deliver().code != 0
    finished.server.read_only = False
    assert finished.deliver().code == 0
    assert len(finished.server.pulls) == 1
    assert finished.delivery()["head"] == finished.server.branch_head("feat/harbour")
    assert finished.delivery()["number"] == finished.pull["number"]


@few_of("name", ["cranes", "my-cranes"], 1)
def test_without_push_permission_the_fork_is_used(finished: Scene, name: str):
    """The fork is found on the forge, also with another name, and needs no remote; without one, the hint makes it."""
    finished.server.read_only = True
    refused = finished.deliver()
    assert refused.code == 4
    assert "you may not push to harbour/cranes, and ada has no fork of it" in refused.err
    assert "hint: gh repo fork harbour/cranes --remote --remote-name fork, then: sow deliver" in refused.err
    finished.server.add_fork("ada", name)
    done = finished.deliver()
    assert done.code == 0, done
    assert (finished.pull["owner"], finished.pull["name"]) == ("ada", name)
    assert finished.server.branch_head("feat/harbour") == ""
    assert finished.server.branch_head("feat/harbour", "ada", name) == finished.delivery()["head"]
    assert finished.delivery()["fork"] == f"ada/{name}"
    (finished.repo.root / "quay.txt").write_text("stone\n")
    finished.repo.git("add", "quay.txt")
    finished.repo.git("commit", "-q", "-m", "Add a quay")
    assert finished.deliver().code == 0
    assert len(finished.server.pulls) == 1
    assert finished.server.branch_head("feat/harbour", "ada", name) == finished.delivery()["head"]


def test_the_remote_of_a_fork_is_used(finished: Scene):
    """A remote can have a URL with which the user can push, such as one of ssh; another repository does not count."""
    finished.server.read_only = True
    finished.server.add_fork("ada")
    finished.server.add_repository("ada", "notes")
    finished.repo.git("remote", "add", "notes", finished.server.url("ada", "notes"))
    finished.repo.git("remote", "add", "mine", finished.server.url("ada"))
    finished.repo.git("config", "remote.mine.push", "+refs/heads/*:refs/heads/*")
    done = finished.deliver()
    assert done.code == 0, done
    assert finished.repo.git("rev-parse", "refs/remotes/mine/feat/harbour").strip() == finished.delivery()["head"]
    assert finished.server.git("for-each-ref", owner="ada", name="notes") == ""


@pytest.mark.full
def test_a_fork_that_refuses_the_push_is_one_error_without_a_password(finished: Scene):
    """The hint has the URL of the fork; the password of the remote's URL is not in it."""
    finished.server.read_only = True
    finished.server.add_fork("ada")
    hook = finished.server.repositories / "ada/cranes.git/hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho 'error: GH006: Protected branch update failed.' >&2\nexit 1\n")
    hook.chmod(0o755)
    finished.repo.git("remote", "set-url", "origin", finished.server.url().replace("https://", "https://ada:hunter2@"))
    done = finished.deliver()
    assert done.code == 4, done
    assert f"hint: let somebody push who may: git push {finished.server.url('ada')} " in done.err
    assert "hunter2" not in done.err


def test_a_forge_that_does_not_answer_about_forks_changes_nothing(finished: Scene):
    finished.server.read_only = True
    finished.server.fail("/forks$", 502)
    done = finished.deliver()
    assert done.code == 1, done
    assert finished.server.pulls == {}
    assert not [run for run in finished.plans.runs() if "delivery" in run]


def test_a_merged_request_is_finished(delivered: Scene):
    commit = delivered.server.merge(delivered.pull["number"], "squash")
    done = delivered.deliver()
    assert (done.code, delivered.delivery()["state"], delivered.delivery()["merge_commit"]) == (0, "merged", commit)
    assert "is merged" in done.out


@few_of("method", ["merge", "squash"], 1)
def test_after_a_merge_that_sow_did_not_see_nothing_is_left_to_do(finished: Scene, method: str):
    """Once the user has fetched the base, status and cleanup know that the request is merged."""
    finished.repo.ok("project", "save")
    assert finished.deliver().code == 0
    finished.repo.git("remote", "add", "forge", "git@gitlab.example.org:harbour/cranes.git")  # a name that is known
    step = "sow deliver watch"
    assert finished.repo.ok("status", "--json").json["next"]["command"] == step
    finished.server.git("update-ref", "refs/heads/main", finished.server.git(
        "commit-tree", "main^{tree}", "-p", "main", "-m", "Another change"))  # fmt: skip
    finished.repo.git("fetch", "-q", "origin")
    assert finished.repo.ok("status", "--json").json["next"]["command"] == step
    number = finished.pull["number"]
    finished.server.merge(number, method)
    assert finished.repo.ok("status", "--json").json["next"]["command"] == step
    finished.repo.git("fetch", "-q", "origin")
    assert finished.repo.ok("status", "--json").json["next"]["command"] == "sow cleanup"
    assert f"request {number} is merged into main: git switch main" in finished.repo.ok("cleanup").out


def test_a_closed_request_is_not_opened_again(delivered: Scene):
    delivered.pull["state"] = "closed"
    done = delivered.deliver()
    assert done.code == 4
    assert f"pull request {delivered.pull['number']} was closed" in done.err


def test_bad_input_changes_nothing(scene: Scene):
    """Each wrong call has one error, one hint and exit 2 or 4, and sends nothing to the forge."""
    scene.repo.git("push", "-q", "origin", "HEAD:refs/heads/main")
    empty = scene.deliver()
    assert (empty.code, empty.err.count("hint: ")) == (2, 1)
    scene.run()
    for arguments, code, message in (
        (("--base", "trunk"), 2, "there is no branch 'trunk' on origin"),
        (("--base", "feat/harbour"), 2, "is the branch that the request would change"),
        (("--remote", "upstream"), 2, "no remote 'upstream'; there is origin"),
        (("nope",), 2, "there is no run 'nope'"),
    ):
        done = scene.deliver(*arguments)
        assert (done.code, message in done.err) == (code, True), done
        assert done.err.count("error: ") == 1
        assert done.err.count("hint: ") == 1
    scene.repo.git("update-ref", "refs/heads/other", "HEAD")
    scene.repo.git("push", "-q", "origin", "HEAD:refs/heads/same")
    done = scene.deliver("--base", "same")
    assert (done.code, "has nothing that same does not have" in done.err) == (2, True), done
    token = scene.repo.environment.pop("GH_ENTERPRISE_TOKEN")
    done = scene.deliver()
    assert (done.code, f"gh auth login --hostname {scene.server.host}" in done.err) == (4, True), done
    scene.repo.environment["GH_ENTERPRISE_TOKEN"] = token
    assert scene.server.pulls == {}
    assert scene.server.branch_head("feat/harbour") == ""


def test_a_worker_may_not_deliver(scene: Scene):
    """A worker is refused, and its environment has no token of the forge."""
    script = 'env > "$HOME/worker-env"\nsow deliver > "$HOME/worker-out" 2>&1\necho $? >> "$HOME/worker-out"\n'
    scene.plans.act("implementer", script + WORK)
    scene.repo.environment |= {"GH_TOKEN": TOKEN, "GITHUB_TOKEN": TOKEN, "GITLAB_TOKEN": TOKEN}
    scene.run()
    home = Path(scene.repo.environment["HOME"])
    assert TOKEN not in (home / "worker-env").read_text()
    text = (home / "worker-out").read_text()
    assert text.endswith(("\n2\n", "\n4\n"))
    assert "deliver" in text
    assert scene.server.pulls == {}


def test_the_request_closes_the_issues_of_its_plans(scene: Scene):
    """Issues of the same repository are linked by number, those of another one by URL."""
    here, there = scene.server.add_issue("Add a crane"), f"https://{scene.server.host}/harbour/quays/issues/3"
    url = f"https://{scene.server.host}/harbour/cranes/issues/{here}"
    scene.run({"name": "Add a crane"}, issues=[url, there, "https://elsewhere.example/a/b/issues/1"])
    assert scene.deliver().code == 0
    assert f"\nCloses #{here}\nCloses {there}\n<!-- sow: end -->" in scene.pull["body"]
    assert "elsewhere" not in scene.pull["body"]


def test_the_journal_has_every_step(delivered: Scene):
    assert [entry["event"] for entry in delivered.plans.journal("request_pushed", "request_opened")] == [
        "request_pushed",
        "request_opened",
    ]


def test_a_protected_branch_is_an_error(finished: Scene):
    """The refusal of the forge is one error with a command; nothing is opened, and the next call continues."""
    hook = finished.server.repositories / "harbour/cranes.git/hooks/pre-receive"
    hook.write_text(
        "#!/bin/sh\necho 'error: GH006: Protected branch update failed for refs/heads/feat/harbour.' >&2\nexit 1\n"
    )
    hook.chmod(0o755)
    done = finished.deliver()
    assert done.code == 4
    assert "the forge protects feat/harbour: remote: error: GH006: Protected branch update failed" in done.err
    assert "hint: let somebody push who may: git push origin " in done.err
    assert finished.server.pulls == {}
    hook.unlink()
    assert finished.deliver().code == 0


def test_an_existing_request_is_used(finished: Scene):
    """The title and text of a request that the user opened stay, and sow adds its section; another base is an error."""
    finished.repo.git("push", "-q", "origin", "HEAD:refs/heads/feat/harbour", "HEAD~1:refs/heads/release")
    finished.server.open_pull("feat/harbour", "Cranes", "By hand.")
    done = finished.deliver("--base", "release")
    assert (done.code, "is for main" in done.err) == (2, True), done
    assert finished.deliver().code == 0
    assert finished.pull["title"] == "Cranes"
    assert finished.pull["body"].startswith("By hand.\n\n<!-- sow")
    assert finished.delivery()["number"] == finished.pull["number"]
