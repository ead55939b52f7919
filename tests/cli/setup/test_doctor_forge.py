"""The findings of `sow doctor` about the program of the forge."""

from __future__ import annotations

import sys
from pathlib import Path

from conftest import Repo
from support.forge_server import ForgeServer


def findings(repo: Repo, word: str) -> list[tuple[str, str]]:
    """Returns the state and hint of each finding that contains a word."""
    result = repo.sow("doctor", "--json").json["findings"]
    return [(finding["state"], finding["hint"]) for finding in result if word in finding["what"]]


def test_doctor_says_whether_gh_is_ready(repo: Repo, server: ForgeServer, tmp_path: Path):
    """Without a forge remote doctor prints nothing; then the forge is unknown; then gh is ready."""
    assert findings(repo, "logged in") == []
    repo.git("remote", "add", "origin", server.url())
    environment = server.environment(tmp_path)
    token = environment.pop("GH_ENTERPRISE_TOKEN")
    repo.environment |= environment
    logins = [f"{program} auth login --hostname {server.host}" for program in ("gh", "glab")]
    hint = f"if it is a GitHub: {logins[0]}; if it is a GitLab: {logins[1]}"
    assert findings(repo, f"{server.host} is on no GitHub or GitLab") == [("ok", hint)]
    repo.git("remote", "set-url", "origin", "https://github.com/harbour/cranes.git")
    assert findings(repo, "is not logged in to") == [("warning", "gh auth login --hostname github.com")]
    repo.git("remote", "set-url", "origin", server.url())
    repo.environment["GH_ENTERPRISE_TOKEN"] = token
    assert findings(repo, f"is logged in to {server.host}") == [("ok", "")]


def test_doctor_warns_about_an_old_gh(repo: Repo, tmp_path: Path):
    """gh 2.23 sends the token along if a job's log is on another host."""
    old = tmp_path / "bin" / "gh"
    old.parent.mkdir()
    old.write_text(
        f"#!{sys.executable}\nimport sys\nif '--version' in sys.argv: print('gh version 2.23.0 (2023-02-08)')\n"
    )
    old.chmod(0o755)
    repo.environment["PATH"] = f"{old.parent}:{repo.environment['PATH']}"
    repo.git("remote", "add", "origin", "https://github.com/harbour/cranes.git")
    assert findings(repo, "gh 2.23.0 is old") == [("warning", "install a newer gh from https://cli.github.com")]
