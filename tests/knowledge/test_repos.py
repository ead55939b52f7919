"""Linked repositories: cloned or linked, with a purpose and hints."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo

from knowledge.remotes import Remote


@pytest.fixture
def service(tmp_path: Path, environment: dict[str, str]) -> Remote:
    """A repository with code and documents."""
    made = Remote(tmp_path / "auth-service", environment)
    made.write("README.md", "# Auth service\n\nIssues tokens.\n")
    made.write("docs/tokens.md", "# Tokens\n")
    made.write("src/main.py", "print('auth')\n")
    made.commit("one")
    return made


def entry(repo: Repo, name: str) -> dict[str, Any]:
    repos = json.loads((repo.root / ".sow/repos/index.json").read_text())["repos"]
    return next(repo for repo in repos if repo["name"] == name)


def test_a_url_is_cloned(init_repo: Repo, service: Remote) -> None:
    """A URL becomes a checkout of one commit, with purpose and hints read from its files."""
    init_repo.ok("repos", "add", f"file://{service.url}")
    existing = entry(init_repo, "auth-service")
    assert (existing["mode"], existing["pin"], existing["files"]) == ("clone", service.head, 3)
    assert existing["purpose"] == "Auth service: Issues tokens."
    assert existing["hints"] == [
        {"path": "README.md", "about": "Auth service"},
        {"path": "docs", "about": "documents"},
    ]
    place = init_repo.root / ".sow/repos/auth-service"
    assert (place / "src/main.py").read_text() == "print('auth')\n"
    clone = Repo(place, init_repo.environment)
    assert clone.git("rev-list", "--count", "HEAD").strip() == "1"
    assert clone.git("status", "--porcelain") == ""
    init_repo.ok("validate", ".sow/repos/index.json")


def test_a_path_is_linked(init_repo: Repo, service: Remote) -> None:
    """A path becomes a link to that checkout, which is always current and survives the removal."""
    init_repo.ok(
        "repos", "add", "../auth-service", "--purpose", "Tokens come from there", "--hint", "src/main.py: the server"
    )
    place = init_repo.root / ".sow/repos/auth-service"
    assert os.readlink(place) == service.url
    existing = entry(init_repo, "auth-service")
    assert (existing["mode"], existing["purpose"]) == ("symlink", "Tokens come from there")
    assert existing["hints"] == [{"path": "src/main.py", "about": "the server"}]
    assert init_repo.ok("repos", "update", "--check", "--json").json["repos"][0]["status"] == "linked"
    assert init_repo.ok("repos", "update").out.startswith("auth-service: linked")
    assert "--ref has no effect" in init_repo.sow("repos", "update", "auth-service", "--ref", "v1").err
    init_repo.ok("repos", "remove", "auth-service")
    assert not os.path.lexists(place)
    assert (service.root / "src/main.py").is_file()


def test_a_path_can_be_cloned(init_repo: Repo, service: Remote) -> None:
    """--clone copies a repository of this machine, at a ref if one is given."""
    service.repo.git("tag", "v1")
    service.write("src/main.py", "print('new')\n")
    service.commit()
    init_repo.ok("repos", "add", service.url, "--clone", "--ref", "v1", "--name", "auth")
    assert (init_repo.root / ".sow/repos/auth/src/main.py").read_text() == "print('auth')\n"


def test_update_replaces_the_checkout(init_repo: Repo, service: Remote) -> None:
    """`update` fetches the new commit, keeps a person's words, and leaves a changed checkout alone."""
    init_repo.ok("repos", "add", service.url, "--clone", "--purpose", "mine")
    service.write("src/main.py", "print('new')\n")
    service.commit()
    assert init_repo.ok("repos", "update", "--check", "--json").json["repos"][0]["status"] == "new"
    init_repo.ok("repos", "update")
    place = init_repo.root / ".sow/repos/auth-service/src/main.py"
    assert place.read_text() == "print('new')\n"
    existing = entry(init_repo, "auth-service")
    assert (existing["pin"], existing["purpose"]) == (service.head, "mine")
    place.write_text("edited\n")
    assert init_repo.sow("repos", "update").code == 1
    assert place.read_text() == "edited\n"
    assert init_repo.sow("repos", "remove", "auth-service").code == 2
    init_repo.ok("repos", "remove", "auth-service", "--force")


def test_a_person_describes_a_repository(init_repo: Repo, service: Remote) -> None:
    """`describe` gives other words, which stay."""
    init_repo.ok("repos", "add", service.url)
    init_repo.ok(
        "repos", "describe", "auth-service", "--purpose", "Why", "--hint", "docs: all about tokens", "--tag", "auth"
    )
    shown = init_repo.ok("repos", "show", "auth-service").out
    assert "purpose: Why" in shown
    assert "look at: docs (all about tokens)" in shown
    assert entry(init_repo, "auth-service")["tags"] == ["auth"]


def test_a_hint_is_added_to_the_others(init_repo: Repo, service: Remote) -> None:
    """`describe --hint` keeps the other hints, and replaces the text of an existing path (B9)."""
    init_repo.ok("repos", "add", service.url)
    before = {hint["path"]: hint["about"] for hint in entry(init_repo, "auth-service")["hints"]}
    assert before
    init_repo.ok("repos", "describe", "auth-service", "--hint", "src/tokens.py: makes tokens")
    init_repo.ok("repos", "describe", "auth-service", "--hint", f"{next(iter(before))}: read this")
    after = {hint["path"]: hint["about"] for hint in entry(init_repo, "auth-service")["hints"]}
    assert after == {**before, next(iter(before)): "read this", "src/tokens.py": "makes tokens"}


def test_links_and_filters_of_a_hostile_repository(init_repo: Repo, service: Remote, tmp_path: Path) -> None:
    """A link in a clone is a plain file, no filter or hook runs, and no submodule is fetched."""
    service.write(".gitattributes", "* filter=evil ident\n")
    service.write(".gitmodules", f'[submodule "x"]\n\tpath = x\n\turl = {service.url}\n')
    service.link("secret", "/etc/passwd")
    service.repo.git("add", "-A")
    service.repo.git("update-index", "--add", "--cacheinfo", f"160000,{service.head},x")
    service.repo.git("commit", "-q", "-m", "hostile")
    owned = tmp_path / "owned"
    for kind in ("clean", "smudge", "process"):
        init_repo.git("config", "--global", f"filter.evil.{kind}", f"touch {owned}")
    template = tmp_path / "template/hooks"
    template.mkdir(parents=True)
    (template / "post-checkout").write_text(f"#!/bin/sh\ntouch {owned}\n")
    (template / "post-checkout").chmod(0o755)
    init_repo.git("config", "--global", "init.templateDir", str(template.parent))
    result = init_repo.ok("repos", "add", f"file://{service.url}")
    place = init_repo.root / ".sow/repos/auth-service"
    assert not owned.exists()
    assert not (place / "secret").is_symlink()
    assert (place / "secret").read_text() == "/etc/passwd"
    assert list((place / "x").iterdir()) == []
    assert "x: another repository, left out" in result.err
    assert not (place / ".git/hooks").exists()


def test_a_repository_is_not_linked_into_itself(init_repo: Repo, tmp_path: Path) -> None:
    """This repository, and one that contains it, are refused."""
    init_repo.git("init", "-q", str(tmp_path))
    for path in (".", str(tmp_path)):
        result = init_repo.sow("repos", "add", path)
        assert result.code == 2
        assert "is this repository itself, or contains it" in result.err


def test_a_folder_in_place_of_a_link_is_not_deleted(init_repo: Repo, service: Remote) -> None:
    """If a real folder replaced the link, `remove` keeps it and says so."""
    init_repo.ok("repos", "add", service.url)
    place = init_repo.root / ".sow/repos/auth-service"
    place.unlink()
    place.mkdir()
    (place / "mine.txt").write_text("mine")
    assert init_repo.sow("repos", "remove", "auth-service").code == 2
    assert (place / "mine.txt").is_file()
