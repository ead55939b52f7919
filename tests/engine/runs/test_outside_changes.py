"""Changes by users and agents during a run: each has a defined result, and no work is lost."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo, Result
from support.plan_crash_scene import BRANCH, GatedScene, PlanCrashScene, template
from support.quick_cases import few_of
from support.simulated_workers import wait_for

from sow.engine.runs.run_context import MeasuredBudget

Stage = Callable[..., GatedScene]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Makes scenes whose workers wait at a gate, and ends them."""
    (tmp_path / "source").mkdir()
    source = template(tmp_path / "source")
    made: list[GatedScene] = []

    def make(**steps: Any) -> GatedScene:
        made.append(GatedScene(tmp_path / f"scene-{len(made)}", source, **steps))
        return made[-1]

    yield make
    for scene in made:
        scene.leave()


def statuses(scene: PlanCrashScene) -> set[str]:
    return {task["status"] for task in scene.states().values()}


def parts(scene: PlanCrashScene, branch: str = BRANCH) -> list[str]:
    """Returns the files of the plan that are on a branch."""
    return [name for name in scene.repo.git("ls-tree", "--name-only", branch).split() if name.startswith("part_")]


def assert_done(scene: PlanCrashScene) -> None:
    """Checks that every task is completed and on the branch, and that nothing is left behind."""
    assert statuses(scene) == {"completed"}
    assert parts(scene) == ["part_010.txt", "part_020.txt", "part_030.txt"]
    assert scene.complaints() == []
    assert scene.starts() == {"010": 1, "020": 1, "030": 1}


def remarks(scene: PlanCrashScene) -> str:
    """Returns all remarks in the journal of the last run."""
    return "".join(path.read_text() for path in scene.repo.root.glob(".sow/local/runs/*/journal.jsonl"))


@pytest.mark.full
def test_stash(stage: Stage) -> None:
    """`git stash -u` removes the state: it is restored, the run ends well, and the stash is the user's."""
    scene = stage()
    process = scene.begin()
    # Its exit code tells nothing: what comes back at once is in the way of its removal of folders.
    text = ["git", "stash", "--include-untracked"]
    subprocess.run(text, cwd=scene.repo.root, env=scene.repo.environment, capture_output=True)
    assert scene.open(process) == 0
    assert_done(scene)
    stashed = scene.repo.git("stash", "show", "--include-untracked", "--name-only")
    assert {"other.txt", "untracked.txt", "staged.txt"} <= set(stashed.split())
    assert "restored" in remarks(scene)


@pytest.mark.full
def test_older_state(stage: Stage) -> None:
    """State that git sets back to an older commit is not used: completed work is not repeated."""
    scene = stage()
    process = scene.begin()
    scene.repo.ok("project", "save")
    scene.repo.ok("task", "set", "--id", "010", "priority", "high")
    scene.repo.git("checkout", "--", ".sow/project")
    assert scene.open(process) == 0
    assert_done(scene)
    assert scene.states()["010"]["priority"] == "high"


@pytest.mark.full
def test_clean(stage: Stage) -> None:
    """`git clean -fdx` deletes all of .sow but the worktrees: the run continues and ends well."""
    scene = stage()
    process = scene.begin()
    # Its exit code tells nothing: what comes back at once is in its way.
    subprocess.run(["git", "clean", "-fdx"], cwd=scene.repo.root, env=scene.repo.environment, capture_output=True)
    assert not (scene.repo.root / "untracked.txt").exists()
    assert scene.open(process) == 0
    assert_done(scene)


@pytest.mark.full
def test_clean_while_a_check_runs(stage: Stage) -> None:
    """`git clean -fdx` deletes the output of a running check: the run continues and ends well."""
    scene = stage()
    plan = scene.repo.root / "plan.md"
    slow = f"sh -c 'until [ -e {scene.gate}.2 ]; do sleep 0.1; done'"
    plan.write_text(plan.read_text().replace("test -f part_010.txt", slow))
    scene.repo.git("commit", "-q", "-m", "a slow check", "--", "plan.md")
    process = scene.begin()
    wait_for(lambda: list(scene.repo.root.glob(".sow/local/runs/*/checks/*/*.out")))
    subprocess.run(["git", "clean", "-fdx"], cwd=scene.repo.root, env=scene.repo.environment, capture_output=True)
    Path(f"{scene.gate}.2").touch()
    assert scene.open(process) == 0
    assert statuses(scene) == {"completed"}


@pytest.mark.full
def test_clean_after_a_crash(stage: Stage) -> None:
    """After a kill and a clean the same command continues the same run from the copies in the git folder."""
    scene = stage()
    process = scene.begin()
    name = next((scene.repo.root / ".sow/local/runs").iterdir()).name
    process.kill()
    process.wait(300)
    scene.gate.touch()
    wait_for(lambda: not scene.alive())
    scene.repo.git("clean", "-fdx")
    again = scene.run()
    assert again.code == 0, again
    assert statuses(scene) == {"completed"}
    assert [path.name for path in (scene.repo.root / ".sow/local/runs").iterdir()] == [name]


@few_of("words", [("switch", "-q", "-c", "elsewhere"), ("switch", "-q", "--detach")], 1, ids=" ".join)
def test_switch(stage: Stage, words: tuple[str, ...]) -> None:
    """While another branch is checked out the run waits with exit 4 and says so; on its own branch it continues."""
    scene = stage()
    process = scene.begin()
    before = scene.states()
    scene.repo.git(*words)
    assert process.wait(300) == 4
    assert f"the run belongs to {BRANCH}" in scene.log.read_text()
    assert scene.states() == before
    assert not scene.alive()
    assert scene.run().code != 0
    scene.repo.git("switch", "-q", BRANCH)
    scene.gate.touch()
    again = scene.run()
    assert again.code == 0, again
    assert statuses(scene) == {"completed"}


@pytest.mark.full
def test_commit(stage: Stage) -> None:
    """Commits of the user during the run are merged with its work, and the branch has both."""
    scene = stage()
    process = scene.begin()
    (scene.repo.root / "mine.txt").write_text("mine\n")
    scene.repo.git("add", "mine.txt")
    scene.repo.git("commit", "-q", "-m", "mine", "--", "mine.txt")
    assert scene.open(process) == 0
    assert_done(scene)
    assert scene.repo.git("show", f"{BRANCH}:mine.txt") == "mine\n"
    assert scene.repo.git("status", "--porcelain", "--", "other.txt", "staged.txt").split("\n")[0] == " M other.txt"


@pytest.mark.full
def test_branch_deleted(stage: Stage) -> None:
    """A deleted integration branch is restored at its place, and the run ends well and removes it."""
    scene = stage()
    process = scene.begin()
    branch = scene.repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads/sow/int/").strip()
    scene.repo.git("branch", "-q", "-D", branch)
    assert scene.open(process) == 0
    assert_done(scene)
    assert scene.repo.git("for-each-ref", f"refs/heads/{branch}") == ""


@pytest.mark.full
def test_branch_renamed(stage: Stage) -> None:
    """The run stops and names the command that adopts the project; after it the same run ends well (B13)."""
    scene = stage()
    process = scene.begin()
    scene.repo.git("branch", "-m", "feat/renamed")
    assert scene.open(process) == 4
    refused = start(scene)
    assert (refused.code, "sow project adopt" in refused.err) == (2, True)
    scene.repo.ok("project", "adopt")
    assert start(scene).code == 0
    assert statuses(scene) == {"completed"}
    assert len(scene.repo.ok("runs", "list", "--json").json["runs"]) == 1


@pytest.mark.full
def test_worktree_deleted(stage: Stage) -> None:
    """A worktree that was removed by hand is made again, and the loss is reported."""
    scene = stage()
    process = scene.begin()
    shutil.rmtree(scene.repo.root / ".sow/local/worktrees/010")
    assert scene.open(process) == 0
    assert statuses(scene) == {"completed"}
    assert "its worktree was removed: it is made again" in remarks(scene)
    assert scene.complaints() == []


def start(scene: PlanCrashScene) -> Result:
    scene.folder.parent.joinpath(f"{scene.folder.name}.gate").touch()
    return scene.run()


def test_detached(stage: Stage) -> None:
    """A run with a detached HEAD is refused, and the hint says how to get a branch."""
    scene = stage()
    scene.repo.git("switch", "-q", "--detach")
    refused = start(scene)
    assert (refused.code, "HEAD is detached" in refused.err) == (2, True)
    assert "git switch -c" in refused.err


def test_no_commit(stage: Stage, tmp_path: Path) -> None:
    """A repository without a commit is refused, and the hint makes the first one."""
    scene = stage()
    shutil.rmtree(scene.repo.root / ".git")
    scene.repo.git("init", "-q", "-b", "feat/new")
    refused = start(scene)
    assert (refused.code, "has no commit yet" in refused.err) == (2, True)


@pytest.mark.full
def test_merge_in_progress(stage: Stage) -> None:
    """A merge of the user stays as it is: the run works, and delivers when the merge is done."""
    scene = stage()
    repo = scene.repo
    repo.git("stash", "-q", "--include-untracked")
    repo.git("switch", "-q", "-c", "theirs")
    (repo.root / "README.md").write_text("theirs\n")
    repo.git("commit", "-q", "-a", "-m", "theirs")
    repo.git("switch", "-q", BRANCH)
    repo.git("merge", "-q", "--no-commit", "--no-ff", "theirs")
    waits = start(scene)
    assert waits.code == 4, waits
    assert "merge is under way" in waits.err
    assert (repo.root / ".git/MERGE_HEAD").exists()
    assert parts(scene) == []
    repo.git("commit", "-q", "-m", "merged")
    again = scene.run()
    assert again.code == 0, again
    assert_done(scene)


@pytest.mark.full
def test_submodule(stage: Stage, tmp_path: Path) -> None:
    """A submodule of the user keeps its files and commit."""
    scene = stage()
    inner = tmp_path / "inner"
    inner.mkdir()
    other = Repo(inner, scene.repo.environment)
    other.git("init", "-q", "-b", "main")
    (inner / "file.txt").write_text("inner\n")
    other.git("add", ".")
    other.git("commit", "-q", "-m", "inner")
    scene.repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "inner")
    scene.repo.git("commit", "-q", "-m", "with a submodule", "--", "inner", ".gitmodules")
    (scene.repo.root / "inner/file.txt").write_text("changed there\n")
    ended = start(scene)
    assert ended.code == 0, ended
    assert_done(scene)
    assert (scene.repo.root / "inner/file.txt").read_text() == "changed there\n"


def shell(script: str) -> dict[str, Any]:
    return {"run": ["sh", "-c", script]}


MISCHIEF = {
    "rebases": "git commit -q --allow-empty -m 'Part one' && git rebase -q --root --exec true",
    "switches": "git switch -q -c side-{task} && git commit -q --allow-empty -m 'Part on the side'",
    "deletes .git": "rm -f .git",
    "resets": "git commit -q --allow-empty -m 'Part lost?' && git reset -q --hard HEAD~1",
    "leaves a merge": "git switch -q -c m-{task} && git commit -q --allow-empty -m 'Part m' && git switch -q - "
    "&& git merge -q --no-ff --no-commit m-{task}",
}


@few_of("name", MISCHIEF, 1)
def test_agent_in_its_worktree(stage: Stage, name: str) -> None:
    """Whatever git commands an agent runs in its own worktree, its files are merged and its commits are kept."""
    scene = stage(before=[shell(MISCHIEF[name])])
    ended = start(scene)
    assert ended.code == 0, ended
    assert_done(scene)


def test_agent_edits_foreign_state(stage: Stage) -> None:
    """An agent's edit in the state of another task is undone and reported."""
    path = ".sow/project/phases/implementation/tasks/020/state.yaml"
    scene = stage(before=[shell(f"sed -i s/pending/completed/ $SOW_ROOT/{path}")])
    ended = start(scene)
    assert ended.code == 0, ended
    assert_done(scene)
    output = remarks(scene)
    assert '"restored"' in output or "task 020: its state file was edited by hand" in output


@pytest.mark.full
def test_agent_writes_outside(stage: Stage) -> None:
    """A file that an agent writes into the home checkout is reported in the remarks, and stays."""
    scene = stage(before=[shell("echo x > $SOW_ROOT/stray-{task}.txt")])
    ended = start(scene)
    assert ended.code == 0, ended
    assert statuses(scene) == {"completed"}
    assert (scene.repo.root / "stray-010.txt").exists()
    assert "files of the home checkout changed: " in remarks(scene)
    assert "stray-010.txt" in remarks(scene)


@pytest.mark.full
def test_agent_completes_itself_before_a_crash(stage: Stage) -> None:
    """An agent that writes `completed` into its own state while the run is killed is still reviewed."""
    path = "$SOW_DESK/state.yaml"
    edit = 's/^  status: in_progress/  status: completed\\n  completed_at: "2026-01-31T09:00:00Z"/; /session_id/d'
    scene = stage(before=[shell(f"sed -i '{edit}' {path}"), shell("touch $SOW_DESK/edited")])
    process = scene.begin()
    wait_for(
        lambda: (
            (scene.repo.task_folder("010") / "edited").exists() and (scene.repo.task_folder("030") / "edited").exists()
        )
    )
    process.kill()
    process.wait(300)
    assert statuses(scene) == {"completed", "pending"}
    scene.gate.touch()
    again = scene.run()
    assert again.code == 0, again
    assert statuses(scene) == {"completed"}
    assert all(task["reviews"] for task in scene.states().values())
    assert parts(scene) == ["part_010.txt", "part_020.txt", "part_030.txt"]


@pytest.mark.full
def test_check_of_a_killed_run(stage: Stage) -> None:
    """A command of the plan that was running when sow was killed is ended by the next call."""
    scene = stage()
    plan = scene.repo.root / "plan.md"
    slow = f"sh -c 'until [ -e {scene.gate}.2 ]; do sleep 0.1; done'"
    plan.write_text(plan.read_text().replace("test -f part_010.txt", slow))
    scene.repo.git("commit", "-q", "-m", "a slow check", "--", "plan.md")
    process = scene.begin()
    scene.gate.touch()
    wait_for(lambda: list(scene.repo.root.glob(".sow/local/runs/*/checks/*/*.mark")))
    wait_for(scene.alive)
    process.kill()
    process.wait(300)
    left = wait_for(scene.alive)
    again = scene.start()
    wait_for(lambda: not set(left) & set(scene.alive()))
    Path(f"{scene.gate}.2").touch()
    assert again.wait(300) == 0
    assert statuses(scene) == {"completed"}
    assert scene.complaints() == []


@pytest.mark.parametrize("jump", [-(10**9), 0, 10**9])
def test_clock_jumps(jump: int) -> None:
    """The duration of a run is measured with a steady clock: a jump of the system clock changes nothing."""
    now = time.time() + jump
    assert MeasuredBudget(max_seconds=3600, begun=time.monotonic()).stop_reason(now) == ""
    assert "3600 seconds" in MeasuredBudget(max_seconds=3600, begun=time.monotonic() - 3601).stop_reason(now)
