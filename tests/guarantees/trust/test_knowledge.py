"""S9 for knowledge: a repository cannot make sow fetch or read what the user did not ask for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo
from knowledge.remotes import Remote, guides
from support.call_server import Caller
from support.quick_cases import few_of


@pytest.fixture
def remote(bare_repo: Repo, tmp_path: Path) -> Remote:
    bare_repo.ok("init")
    return guides(tmp_path, bare_repo.environment)


def commit_index(repo: Repo, kind: str, **entry: Any) -> None:
    """Writes an index as a repository's author would commit it."""
    folder = repo.root / ".sow" / kind
    folder.mkdir(exist_ok=True)
    fields = {"summary": "", "when_to_use": ""} if kind == "sinks" else {"purpose": "", "hints": [], "mode": "clone"}
    document = {"name": "evil", **fields, **entry}
    (folder / "index.json").write_text(json.dumps({"schema_version": "1.2.0", kind: [document]}))


@pytest.mark.parametrize("kind", ["sinks", "repos"])
@few_of("url", ["REMOTE", "ext::touch owned", "--upload-pack=touch owned", "https://127.0.0.1:1/x", "."], 4)
def test_a_committed_index_fetches_nothing(
    bare_repo: Repo, remote: Remote, kind: str, url: str, tmp_path: Path
) -> None:
    """A source that only the repository names is not contacted, and the call says so; git does not even start."""
    source = {"url": url.replace("REMOTE", remote.url), "ref": "", **({"path": ""} if kind == "sinks" else {})}
    commit_index(bare_repo, kind, source=source)
    before = bare_repo.snapshot()
    with Caller() as caller:
        for item in (["update"], ["update", "--check"], ["update", "--force", "evil"]):
            answer = caller.call(kind, *item, cwd=bare_repo.root, environment=bare_repo.environment)
            assert answer.code == 1, answer
            assert answer.started == []
            assert "error: " in answer.err
    assert bare_repo.snapshot() == before
    assert not list(tmp_path.rglob("owned"))


def test_a_source_of_the_users_registry_is_fetched(bare_repo: Repo, remote: Remote) -> None:
    """The refusals above are because of the user's registry: a source in it is updated."""
    bare_repo.ok("sinks", "install", remote.url, "api")
    shutil.rmtree(bare_repo.root / ".sow/sinks/api")
    assert bare_repo.ok("sinks", "update", "--json").json["sinks"][0]["status"] == "restored"


def test_removal_follows_no_committed_link(bare_repo: Repo, remote: Remote, tmp_path: Path) -> None:
    """Removing a sink that a repository committed as a link removes the link, and not its target."""
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").write_text("mine")
    commit_index(bare_repo, "repos", source={"url": str(tmp_path / "precious"), "ref": ""}, mode="symlink")
    (bare_repo.root / ".sow/repos/evil").symlink_to(tmp_path / "precious")
    bare_repo.ok("repos", "remove", "evil")
    assert (tmp_path / "precious/file").read_text() == "mine"


def test_settings_of_the_repository_have_no_effect(bare_repo: Repo, remote: Remote, tmp_path: Path) -> None:
    """Limits are the user's, and git's settings of this checkout change neither the address nor the program."""
    evil = Remote(tmp_path / "evil", bare_repo.environment)
    evil.write("api/rest.md", "# Evil\n")
    evil.commit()
    for case in (
        (f"url.{evil.url}.insteadOf", remote.url),
        ("core.sshCommand", f"touch {tmp_path}/owned"),
        ("core.fsmonitor", f"touch {tmp_path}/owned"),
        ("core.hooksPath", str(tmp_path)),
        ("credential.helper", f"!touch {tmp_path}/owned"),
        ("uploadpack.packObjectsHook", f"touch {tmp_path}/owned"),
    ):
        bare_repo.git("config", *case)
    settings = bare_repo.root / ".sow/config.yaml"
    settings.write_text(settings.read_text() + "knowledge: {sink_mb: 100000}\n")
    bare_repo.ok("sinks", "install", remote.url, "api")
    assert (bare_repo.root / ".sow/sinks/api/rest.md").read_text().startswith("# REST standards")
    assert not (tmp_path / "owned").exists()


def test_hooks_and_settings_of_a_source_do_not_run(bare_repo: Repo, remote: Remote, tmp_path: Path) -> None:
    """A local repository that is fetched from runs none of its own hooks and programs."""
    for name in ("post-checkout", "pre-auto-gc", "reference-transaction", "post-upload-pack"):
        hook = remote.root / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/owned\n")
        hook.chmod(0o755)
    remote.repo.git("config", "uploadpack.packObjectsHook", f"touch {tmp_path}/owned; exec")
    remote.repo.git("config", "core.fsmonitor", f"touch {tmp_path}/owned")
    (tmp_path / "owned").unlink(missing_ok=True)
    bare_repo.ok("sinks", "install", remote.url, "api")
    bare_repo.ok("repos", "add", remote.url, "--clone")
    assert not (tmp_path / "owned").exists()
