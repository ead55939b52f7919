"""Calls of git: time limits, no prompts, no interruption in the middle, and counted for crash tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Repo
from support.simulated_workers import wait_for

from sow.errors import SystemFailure
from sow.system import git
from sow.system.clock import VARIABLE

CALL = "import sys; from sow.system import git; print(git.run(sys.argv[1:], cwd='.'))"


@pytest.fixture(autouse=True)
def _at_home(bare_repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets sow's calls see only the test's settings for git."""
    for name, value in bare_repo.environment.items():
        monkeypatch.setenv(name, value)


def call(repo: Repo, *arguments: str, code: str = CALL, **variables: str) -> subprocess.Popen[str]:
    """Calls sow's git functions in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=repo.root,
        env={**repo.environment, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_names_are_complete(bare_repo: Repo) -> None:
    """Carriage returns and line ends in names are returned as git has them."""
    for name in ("a\rb", "c\r\nd", "e\nf"):
        (bare_repo.root / name).touch()
    listed = git.run(["ls-files", "--others", "-z"], cwd=str(bare_repo.root))
    assert sorted(listed.split("\0")[:-1]) == ["a\rb", "c\r\nd", "e\nf"]


def test_input_and_index(bare_repo: Repo, tmp_path: Path) -> None:
    """A command takes input and another index than the checkout's, which stays as it is."""
    root, index = str(bare_repo.root), str(tmp_path / "index")
    oid = git.run(["hash-object", "-w", "--stdin"], cwd=root, input="träne\n").strip()
    git.run(["update-index", "-z", "--index-info"], cwd=root, input=f"100644 {oid}\tträne\0", index=index)
    assert git.run(["ls-files", "-z"], cwd=root, index=index) == "träne\0"
    assert git.run(["ls-files"], cwd=root) == ""


def test_a_failure_has_gits_reason(bare_repo: Repo) -> None:
    """The error has git's reason, also after a warning."""
    with pytest.raises(SystemFailure, match="git rev-parse failed: Needed a single revision"):
        git.run(["rev-parse", "--verify", "nowhere"], cwd=str(bare_repo.root))
    done = git.GitResult(code=128, out="", err="warning: odd\nhint: try\nerror: first\nfatal: the reason\n")
    assert done.message == "the reason"
    assert git.GitResult(code=3, out="", err="").message == "exit 3"
    assert git.GitResult(code=-9, out="", err="").message == "ended by SIGKILL (killed)"


def test_one_git_answers_many_questions(bare_repo: Repo) -> None:
    """Names are looked up as they are now; what does not exist has no id, and a git that was killed has no answer."""
    root = str(bare_repo.root)
    reader = git.ObjectReader(root)
    try:
        assert reader.find("later^{commit}") == reader.find("no such name") == reader.find("a\nb") == ("", "")
        tree = git.run(["mktree"], cwd=root).strip()
        commit = git.run(["commit-tree", tree, "-m", "first"], cwd=root).strip()
        git.run(["update-ref", "refs/heads/later", commit], cwd=root)
        assert reader.find("later^{commit}") == (commit, "commit")
        assert reader.find("later^{tree}") == (tree, "tree")
        assert reader.content(commit).endswith(b"first\n")
        with pytest.raises(SystemFailure, match="the object none cannot be read"):
            reader.content("none")
        reader._process.kill()
        reader._process.wait()
        assert reader.find("HEAD") is None
        with pytest.raises(SystemFailure, match=r"cat-file ended too early|cannot be read"):
            reader.content(commit)
    finally:
        reader.close()


def test_a_missing_folder(bare_repo: Repo, tmp_path: Path) -> None:
    """A missing folder is an error that names it, and is not taken for a missing git."""
    with pytest.raises(SystemFailure, match=r"nowhere is gone"):
        git.run(["status"], cwd=str(tmp_path / "nowhere"))


def test_reading_stops_at_the_limit(bare_repo: Repo) -> None:
    """Endless output is read up to the limit, the program is ended, and the result says that it was cut."""
    (bare_repo.root / "large.txt").write_text("x" * 5_000_000)
    bare_repo.git("add", "large.txt")
    text, whole = git.read(["cat-file", "blob", ":large.txt"], cwd=str(bare_repo.root), limit=1000)
    assert (text, whole) == ("x" * 1000, False)
    text, whole = git.read(["cat-file", "blob", ":large.txt"], cwd=str(bare_repo.root), limit=5_000_000)
    assert (len(text), whole) == (5_000_000, True)


def test_a_hanging_git_is_ended(bare_repo: Repo, tmp_path: Path) -> None:
    """It is ended with its children, and the error names the command."""
    pid = tmp_path / "pid"
    alias = f"alias.hang=!echo $$ > {pid}; sleep 600"
    for seconds in (2, 20, 120):  # a busy machine may need longer to get as far as that
        with pytest.raises(SystemFailure, match=f"git hang did not end within {seconds} seconds"):
            git.run(["hang"], cwd=str(bare_repo.root), options=["-c", alias], timeout=seconds)
        if pid.exists() and pid.read_text():
            break
    wait_for(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists())


def test_ctrl_c_lets_git_end(bare_repo: Repo, tmp_path: Path) -> None:
    """Ctrl-C does not interrupt git; sow ends after it."""
    ready, done = tmp_path / "ready", tmp_path / "done"
    os.mkfifo(tmp_path / "go")
    bare_repo.git("config", "alias.slow", f"!touch {ready}; read line < {tmp_path}/go; touch {done}")
    process = call(bare_repo, "slow")
    wait_for(ready.exists)
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.2)
    assert process.poll() is None
    assert not done.exists()
    (tmp_path / "go").write_text("on\n")
    _, err = process.communicate(timeout=300)
    assert "KeyboardInterrupt" in err
    assert done.exists()


def test_variables_of_git_are_not_passed(bare_repo: Repo, tmp_path: Path) -> None:
    """Variables that name another repository, index or form of paths are removed."""
    other = str(tmp_path / "other")
    names = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
    process = call(bare_repo, "rev-parse", "--show-toplevel", **dict.fromkeys(names, other))
    assert process.communicate(timeout=300)[0].strip() == str(bare_repo.root)
    (bare_repo.root / "a.txt").touch()
    process = call(bare_repo, "ls-files", "--others", "--", ":(top)*.txt", GIT_LITERAL_PATHSPECS="1")
    assert process.communicate(timeout=300)[0].strip() == "a.txt"


def test_git_starts_no_background_work(bare_repo: Repo) -> None:
    """A call of sow starts neither a clean-up nor a watcher of git."""
    bare_repo.git("config", "gc.auto", "1")
    bare_repo.git("config", "core.fsmonitor", "true")
    for name in ("gc.auto", "maintenance.auto", "core.fsmonitor"):
        assert git.run(["config", name], cwd=str(bare_repo.root)).strip() in ("0", "false")


def test_the_boundary(bare_repo: Repo) -> None:
    """A process dies at the given boundary, before the call behind it; other numbers do nothing."""
    code = "from sow.system import git\nfor n in range(3): git.run(['branch', f'b{n}'], cwd='.')"
    process = call(bare_repo, code=code, **{VARIABLE: "3"})
    process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL
    assert bare_repo.git("branch", "--list", "b*").split() == ["b0", "b1"]
    process = call(bare_repo, code=code.replace("f'b", "f'c"), **{VARIABLE: "4"})
    process.communicate(timeout=300)
    assert process.returncode == 0
