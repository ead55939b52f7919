"""The seal of a repository's git settings: what it copies, when it is reused, and how changes are undone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Repo
from support.paths import ROOT
from support.worktree_repo import home_at

from sow.store import git_watch
from sow.store.files.checkout_home import Home
from sow.system import git

ODD = ("plain", ' two  spaces"quotes" ; # ', "back\\slash", "line\nend", "tab\t", "träne", "", "-x")


@pytest.fixture
def home(bare_repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home checkout whose user is the test's."""
    for name, value in bare_repo.environment.items():
        monkeypatch.setenv(name, value)
    return home_at(bare_repo.root)


def listed(home: Home) -> list[str]:
    return git.run(["config", "--list", "-z"], cwd=home.root).split("\0")


def test_all_settings_are_copied(bare_repo: Repo, home: Home) -> None:
    """Values of any kind, keys without one, subsections, includes and the user's own file are in the copy."""
    for number, value in enumerate(ODD):
        bare_repo.git("config", "--add", "odd.value", value)
        bare_repo.git("config", "--global", f'odd.sub "{number}\\.x.value', value)
    with (bare_repo.root / ".git/config").open("a") as file:
        file.write("[bare]\n\tkey\n")
    (bare_repo.root / ".git/more").write_text("[inner]\n\tvalue = 1\n")
    bare_repo.git("config", "include.path", "more")
    before = [line for line in listed(home) if line.startswith(("odd.", "bare.key", "inner."))]
    with git_watch.sealed_repository(home):
        inside = listed(home)
        bare_repo.git("config", "odd.later", "1")
        assert "odd.later\n1" not in listed(home)
    assert [line for line in inside if line.startswith(("odd.", "bare.key", "inner."))] == before
    assert not [line for line in inside if line.startswith("include.")]
    assert "odd.later\n1" not in listed(home)  # until the user decides
    git_watch.accept_changes(home)
    assert "odd.later\n1" in listed(home)


def test_lists_and_includes_outside_the_repository(bare_repo: Repo, home: Home) -> None:
    """The user's own attributes, excludes and a missing include are copied, and changes are reported."""
    user = Path(bare_repo.environment["HOME"], ".config/git")
    user.mkdir(parents=True)
    (user / "ignore").write_text("*.log\n")
    bare_repo.git("config", "--global", "include.path", "~/later")
    (bare_repo.root / "x.log").write_text("")
    (bare_repo.root / "x.txt").write_text("")
    with git_watch.sealed_repository(home):
        (user / "ignore").write_text("*.txt\n")
        (user / "attributes").write_text("* -diff\n")
        assert git.run(["ls-files", "--others", "--exclude-standard"], cwd=home.root) == "x.txt\n"
        assert "diff: unspecified" in git.run(["check-attr", "diff", "x.txt"], cwd=home.root)
        assert [line.rpartition("/")[2] for line in git_watch.new_changes(home)] == [
            "attributes was added",
            "ignore was changed",
        ]
        (user.parent.parent / "later").write_text("[odd]\n\tvalue = 1\n")
        (line,) = git_watch.new_changes(home)
        assert "odd.value" in line
    git_watch.accept_changes(home)


def test_a_broken_seal_is_made_again(bare_repo: Repo, home: Home) -> None:
    """A seal that a power loss cut off does not count."""
    seal = git_watch.seal_repository(home)
    git.ACTIVE_SEALS.clear()
    (Path(seal.folder) / "seal.json").write_text('{"picture": ')
    assert git.find_seal(home.root) is None
    with git_watch.sealed_repository(home):
        assert json.loads((Path(seal.folder) / "seal.json").read_text())["root"] == home.root


def test_a_new_repository_at_the_same_path(bare_repo: Repo, home: Home) -> None:
    """The seal of a killed run does not count for another repository in its place."""
    git_watch.seal_repository(home)
    git.ACTIVE_SEALS.clear()
    shutil.copytree(bare_repo.root / ".git", bare_repo.root / "other")
    shutil.rmtree(bare_repo.root / ".git")
    (bare_repo.root / "other").rename(bare_repo.root / ".git")
    bare_repo.git("config", "odd.value", "1")
    assert git.find_seal(home.root) is None
    assert git_watch.open_changes(home) == []
    with git_watch.sealed_repository(home):
        assert "odd.value\n1" in listed(home)


def test_without_a_user_folder_the_seal_is_in_the_git_folder(
    bare_repo: Repo, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the user's folder cannot be written, the seal is in the git folder."""
    (bare_repo.root / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(bare_repo.root / "file"))
    with git_watch.sealed_repository(home):
        bare_repo.git("config", "odd.value", "1")
        assert "odd.value\n1" not in listed(home)
        bare_repo.git("config", "--unset", "odd.value")
    assert not (bare_repo.root / ".git/sow/sealed").exists()


def test_everything_is_undone(bare_repo: Repo, home: Home) -> None:
    """Settings, hooks, lists and replace refs are restored; removed parts are kept."""
    hooks = bare_repo.root / ".git/hooks"
    (hooks / "pre-push").write_text("mine\n")
    (hooks / "pre-push").chmod(0o755)
    bare_repo.git("config", "--add", "odd.list", "a")
    bare_repo.git("config", "--add", "odd.list", "b")
    bare_repo.git("config", "odd.value", "old")
    seal = git_watch.seal_repository(home)
    before = seal.recorded_state
    (hooks / "pre-push").write_text("theirs\n")
    (hooks / "pre-commit").write_text("theirs\n")
    (bare_repo.root / ".git/info/attributes").write_text("* -diff\n")
    bare_repo.git("config", "--add", "odd.list", "c")
    bare_repo.git("config", "odd.value", "new")
    bare_repo.git("config", "--global", "odd.mine", "new")
    bare_repo.git("config", "branch.main.vscode-merge-base", "origin/main")
    bare_repo.git("config", "branch.main.pushRemote", "elsewhere")
    bare_repo.git(
        "replace", bare_repo.git("hash-object", "-w", "-t", "tree", "/dev/null").strip(), _blob(bare_repo), "-f"
    )
    lines = git_watch.new_changes(home)
    assert len(lines) == 8, lines
    assert git_watch.new_changes(home) == []
    assert git_watch.undo(home) == []
    now = git_watch._git_state(home.checkout)
    assert now["files"] == before["files"]
    assert os.stat(hooks / "pre-push").st_mode & 0o777 == 0o755
    assert sorted(map(str, now["settings"])) == sorted(
        [
            *map(str, before["settings"]),
            str([f"{home.root}/.git/config", "branch.main.vscode-merge-base", "origin/main"]),
        ]
    )
    assert now["replaced"] == {}
    kept = sorted(path.name for path in (bare_repo.root / ".git/sow/removed").rglob("*") if path.is_file())
    assert kept == ["attributes", "pre-commit", "pre-push"]


def _blob(repo: Repo) -> str:
    return repo.git("rev-parse", "HEAD^{tree}").strip()


def test_a_broken_config_is_undone(bare_repo: Repo, home: Home) -> None:
    """Settings that git cannot read do not stop sow's calls, are reported, and are restored as a file."""
    config = bare_repo.root / ".git/config"
    text = config.read_text()
    git_watch.seal_repository(home)
    config.write_text(f"{text}[broken\n")
    assert git.run(["rev-parse", "HEAD"], cwd=home.root)
    (line,) = git_watch.new_changes(home)
    assert "cannot be read any more" in line
    assert git_watch.undo(home) == []
    assert config.read_text() == text


def test_a_partial_clone_fetches_missing_objects(bare_repo: Repo, home: Home, tmp_path: Path) -> None:
    """In the user's own partial clone missing objects are fetched; a promise that appears later does not count."""
    (bare_repo.root / "file.txt").write_text("content\n")
    bare_repo.git("add", "file.txt")
    bare_repo.git("commit", "-q", "-m", "file")
    bare_repo.git("config", "uploadpack.allowFilter", "true")
    bare_repo.git("config", "uploadpack.allowAnySHA1InWant", "true")
    for name in ("own", "planted"):
        url = f"file://{bare_repo.root}"
        bare_repo.git("clone", "-q", "--no-checkout", "--filter=blob:none", url, str(tmp_path / name))
    texts = ["cat-file", "blob", "HEAD:file.txt"]
    own = home_at(tmp_path / "own")
    with git_watch.sealed_repository(own):
        assert git.run(texts, cwd=own.root) == "content\n"
    planted = home_at(tmp_path / "planted")
    config = tmp_path / "planted/.git/config"
    text = config.read_text()
    config.write_text(text.replace("promisor = true", "").replace("partialclonefilter = blob:none", ""))
    with git_watch.sealed_repository(planted):
        config.write_text(text)
        assert git.run_unchecked(texts, cwd=planted.root).code != 0
    git_watch.accept_changes(planted)
    assert git.run(texts, cwd=planted.root) == "content\n"


def sealed_folder(home: Home) -> Path:
    return Path(git.ACTIVE_SEALS[home.root].folder)


@pytest.mark.parametrize("ends_first", [0, 1])
def test_worktrees_share_a_seal_until_the_last_run_ends(
    bare_repo: Repo, home: Home, tmp_path: Path, ends_first: int
) -> None:
    """The end of a run leaves the seal that a run in another worktree of the repository uses."""
    bare_repo.git("worktree", "add", "-q", "-b", "feat/linked", str(tmp_path / "linked"))
    homes = [home, home_at(tmp_path / "linked")]
    runs = [git_watch.sealed_repository(home) for home in homes]
    for run in runs:
        run.__enter__()
    folder = sealed_folder(home)
    assert sealed_folder(homes[1]) == folder
    runs[ends_first].__exit__(None, None, None)
    rest = 1 - ends_first
    assert sealed_folder(homes[rest]) == folder
    assert (folder / "seal.json").exists()
    runs[rest].__exit__(None, None, None)
    assert not folder.exists()


def test_the_next_run_removes_the_seal_of_a_killed_one(bare_repo: Repo, home: Home) -> None:
    """A killed process holds nothing, so the next run uses its seal and removes it at the end."""
    code = "import os, sys; from sow.store import git_watch; from support.worktree_repo import home_at\n"
    code += "from pathlib import Path; git_watch.sealed_repository(home_at(Path(sys.argv[1]))).__enter__()\n"
    code += "os.kill(os.getpid(), 9)"
    paths = f"{ROOT / 'tests'}:{bare_repo.environment['PYTHONPATH']}"
    environment = {**bare_repo.environment, "PYTHONPATH": paths}
    assert subprocess.run([sys.executable, "-c", code, str(bare_repo.root)], env=environment).returncode == -9
    with git_watch.sealed_repository(home):
        folder = sealed_folder(home)
        assert (folder / "seal.json").exists()
    assert not folder.exists()
