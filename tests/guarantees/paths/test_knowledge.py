"""S3 for knowledge: nothing outside of .sow is written or deleted, whatever links an attacker places."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from conftest import Repo
from knowledge.remotes import Remote, guides
from support.quick_cases import few_of

from guarantees.folder_snapshot import Picture

PLACES = [
    ".sow/sinks",
    ".sow/sinks/index.json",
    ".sow/sinks/api",
    ".sow/sinks/other",
    ".sow/repos",
    ".sow/repos/index.json",
    ".sow/repos/clone",
    ".sow/local",
    ".sow/local/fetching",
    ".sow/local/describing",
]
COMMANDS = [
    ("sinks", "install", "REMOTE", "python-style", "--name", "other"),
    ("sinks", "update"),
    ("sinks", "update", "--force"),
    ("sinks", "describe", "api", "--summary", "words"),
    ("sinks", "remove", "api"),
    ("sinks", "remove", "api", "--force"),
    ("repos", "add", "REMOTE", "--clone", "--name", "second"),
    ("repos", "update", "--force"),
    ("repos", "remove", "clone", "--force"),
]


@pytest.fixture
def remote(bare_repo: Repo, tmp_path: Path) -> Remote:
    """A source with a new commit, and a checkout with the old one."""
    made = guides(tmp_path, bare_repo.environment)
    bare_repo.ok("init")
    bare_repo.ok("sinks", "install", made.url, "api")
    bare_repo.ok("repos", "add", made.url, "--clone", "--name", "clone")
    made.write("api/rest.md", "# Newer\n")
    made.commit()
    (tmp_path / "outside").mkdir()
    return made


@few_of("there", ["a copy", "something empty", "nothing"], 2)
@few_of("place", PLACES, 2)
def test_a_link_is_not_followed(bare_repo: Repo, remote: Remote, tmp_path: Path, place: str, there: str) -> None:
    """With a link in place of any file of sow, no command writes or deletes behind it, and none crashes."""
    path, target = bare_repo.root / place, tmp_path / "outside/target"
    if os.path.lexists(path):
        path.rename(target)
    if there != "a copy":
        shutil.rmtree(target, ignore_errors=True) if target.is_dir() else target.unlink(missing_ok=True)
    if there == "something empty" or (there == "a copy" and not target.exists()):
        target.write_text("") if place.endswith(".json") else target.mkdir()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    outside, source = Picture(tmp_path / "outside", locks=True), Picture(remote.root)
    for command in COMMANDS:
        arguments = [remote.url if word == "REMOTE" else word for word in command]
        result = bare_repo.sow(*arguments)
        assert result.code in (0, 1, 2), (arguments, result)
        assert "Traceback" not in result.err
        assert outside.changes() == [], arguments
    assert source.changes() == []


@few_of("name", ["..", "../x", "/tmp/x", ".", "a/b", "~", "%2e%2e", "index.json", ".git"], 3)
def test_a_name_is_no_path(bare_repo: Repo, remote: Remote, tmp_path: Path, name: str) -> None:
    """A path in place of a name is refused, and nothing is made, moved or removed."""
    before = Picture(tmp_path)
    for case in (
        ("sinks", "install", remote.url, "api", f"--name={name}"),
        ("sinks", "remove", "--force", "--", name),
        ("sinks", "update", "--force", "--", name),
        ("repos", "add", remote.url, f"--name={name}"),
        ("repos", "remove", "--force", "--", name),
    ):
        assert bare_repo.sow(*case).code == 2, case
    assert before.changes() == []


@pytest.mark.parametrize("name", ["../../outside", "..", "/tmp"])
def test_a_name_in_the_index_is_no_path(bare_repo: Repo, remote: Remote, tmp_path: Path, name: str) -> None:
    """An edited index that names another folder is refused before that folder is touched."""
    index = bare_repo.root / ".sow/sinks/index.json"
    index.write_text(index.read_text().replace('"name": "api"', f'"name": "{name}"'))
    before = Picture(tmp_path)
    for case in (("sinks", "remove", "--force", "--", name), ("sinks", "update", "--force")):
        assert bare_repo.sow(*case).code == 2
    assert before.changes() == []
