"""Sinks: installed from real repositories, pinned, updated, removed, and known in the next repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import SOW, Repo
from support.quick_cases import few_of

from knowledge.remotes import STYLE, Remote


def index(repo: Repo) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((repo.root / ".sow/sinks/index.json").read_text())
    return {sink["name"]: sink for sink in data["sinks"]}


def registry(repo: Repo) -> dict[str, Any]:
    path = Path(repo.environment["HOME"]) / ".config/sow/sinks/index.json"
    return {sink["name"]: sink for sink in json.loads(path.read_text())["sinks"]}


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def test_install_copies_one_folder(init_repo: Repo, remote: Remote) -> None:
    """`sow sinks install URL FOLDER/` keeps that folder's files and nothing else, not even git's."""
    output = init_repo.ok("sinks", "install", remote.url, "python-style/").out
    assert output.startswith("installed python-style (2 files, ")
    assert files(init_repo.root / ".sow/sinks") == {
        "index.json",
        "python-style/README.md",
        "python-style/deep/naming.md",
    }
    assert (init_repo.root / ".sow/sinks/python-style/README.md").read_text() == STYLE
    shown = init_repo.git("status", "--porcelain", "--untracked-files=all", "--", ".sow/sinks")
    assert shown == "?? .sow/sinks/index.json\n"


def test_an_entry_of_the_index_is_complete(init_repo: Repo, remote: Remote) -> None:
    """An entry has source, pin, digest, size, summary, when to use, tags and their author, and follows the schema."""
    entry = init_repo.ok("sinks", "install", remote.url, "python-style", "--json").json
    assert entry == index(init_repo)["python-style"]
    assert entry["source"] == {"url": remote.url, "path": "python-style", "ref": ""}
    assert (entry["pin"], entry["files"], len(entry["digest"])) == (remote.head, 2, 64)
    assert entry["size"] == sum(path.stat().st_size for path in (remote.root / "python-style").rglob("*.md"))
    assert (entry["summary"], entry["when_to_use"]) == ("How we write Python", "Any change to a .py file")
    assert (entry["tags"], entry["described_by"]) == (["python", "style"], "files")
    init_repo.ok("validate", ".sow/sinks/index.json")
    assert registry(init_repo)["python-style"] == entry


@pytest.mark.parametrize("form", ["path", "relative", "file", "bare"])
def test_local_repositories_are_sources(init_repo: Repo, remote: Remote, form: str) -> None:
    """A path, a relative one, a file:// URL and a bare repository are all accepted."""
    bare = remote.root.parent / "bare.git"
    remote.repo.git("clone", "-q", "--bare", ".", str(bare))
    url = {"path": remote.url, "relative": "../guides", "file": f"file://{remote.url}", "bare": str(bare)}[form]
    entry = init_repo.ok("sinks", "install", url, "api", "--json").json
    kept = {"relative": remote.url}.get(form, url)
    assert (entry["name"], entry["pin"], entry["source"]["url"]) == ("api", remote.head, kept)


def test_a_whole_repository_can_be_a_sink(init_repo: Repo, remote: Remote) -> None:
    """Without a folder all files are installed, under the repository's name."""
    init_repo.ok("sinks", "install", remote.url)
    assert files(init_repo.root / ".sow/sinks/guides") == {
        "python-style/README.md",
        "python-style/deep/naming.md",
        "api/rest.md",
    }


def test_check_changes_nothing(init_repo: Repo, remote: Remote) -> None:
    """`update --check` asks the remotes, shows both commits, and changes no file."""
    init_repo.ok("sinks", "install", remote.url, "python-style")
    init_repo.ok("sinks", "install", remote.url, "api", "--ref", "v1")
    before = index(init_repo)["python-style"]["pin"]
    remote.write("python-style/README.md", "# New\n")
    remote.commit()
    files_before = init_repo.snapshot()
    existing = {sink["name"]: sink for sink in init_repo.ok("sinks", "update", "--check", "--json").json["sinks"]}
    assert (existing["api"]["status"], existing["python-style"]["status"]) == ("current", "new")
    assert (existing["python-style"]["pin"], existing["python-style"]["available"]) == (before, remote.head)
    assert "sow sinks update python-style" in init_repo.ok("sinks", "update", "--check").out
    assert init_repo.snapshot() == files_before


def test_update_takes_all_or_some(init_repo: Repo, remote: Remote) -> None:
    """`update NAME` updates that one, `update` all of them; descriptions from files are read again."""
    init_repo.ok("sinks", "install", remote.url, "python-style")
    init_repo.ok("sinks", "install", remote.url, "api")
    remote.write("python-style/README.md", "# Other style\n\nOther words.\n")
    (remote.root / "python-style/deep/naming.md").unlink()
    remote.write("api/rest.md", "# Verbs\n")
    remote.commit()
    init_repo.ok("sinks", "update", "api")
    assert index(init_repo)["api"]["pin"] == remote.head != index(init_repo)["python-style"]["pin"]
    assert "updated" in init_repo.ok("sinks", "update").out
    entry = index(init_repo)["python-style"]
    assert (entry["pin"], entry["summary"], entry["files"]) == (remote.head, "Other style: Other words.", 1)
    assert files(init_repo.root / ".sow/sinks/python-style") == {"README.md"}
    assert init_repo.ok("sinks", "update", "--json").json["sinks"][0]["status"] == "current"


@pytest.mark.full
def test_pins(init_repo: Repo, remote: Remote) -> None:
    """A tag stays, a branch moves, a commit never moves; --ref changes that."""
    first = remote.head
    remote.repo.git("branch", "next")
    remote.write("api/rest.md", "# Second\n")
    second = remote.commit()
    for name, ref in (("tag", "v1"), ("branch", "next"), ("commit", first), ("main", "main")):
        init_repo.ok("sinks", "install", remote.url, "api", "--ref", ref, "--name", name)
    assert [index(init_repo)[name]["pin"] for name in ("tag", "branch", "commit", "main")] == [
        first,
        first,
        first,
        second,
    ]
    remote.repo.git("branch", "-f", "next", second)
    statuses = {
        sink["name"]: sink["status"] for sink in init_repo.ok("sinks", "update", "--check", "--json").json["sinks"]
    }
    assert statuses == {"tag": "current", "branch": "new", "commit": "pinned", "main": "current"}
    init_repo.ok("sinks", "update", "commit", "--ref", "main")
    assert (index(init_repo)["commit"]["pin"], index(init_repo)["commit"]["source"]["ref"]) == (second, "main")


def test_a_moved_tag_is_reported(init_repo: Repo, remote: Remote) -> None:
    """Somebody who moves a tag is found out: it is new."""
    init_repo.ok("sinks", "install", remote.url, "api", "--ref", "v1")
    remote.commit()
    remote.repo.git("tag", "-f", "v1")
    assert init_repo.ok("sinks", "update", "--check", "--json").json["sinks"][0]["status"] == "new"


@pytest.mark.full
def test_an_existing_name_is_refused(init_repo: Repo, remote: Remote) -> None:
    """A second sink of the same name, and a folder of that name, are refused; another name is accepted."""
    init_repo.ok("sinks", "install", remote.url, "api")
    result = init_repo.sow("sinks", "install", remote.url, "api")
    assert result.code == 2
    assert "there is a sink api already" in result.err
    init_repo.ok("sinks", "install", remote.url, "api", "--name", "api-too")
    (init_repo.root / ".sow/sinks/mine").mkdir()
    result = init_repo.sow("sinks", "install", remote.url, "api", "--name", "mine")
    assert result.code == 2
    assert "the index knows nothing of it" in result.err


@pytest.mark.full
def test_an_edited_sink_is_left_alone(init_repo: Repo, remote: Remote) -> None:
    """Changes of a person stay through update and removal, unless --force is given."""
    init_repo.ok("sinks", "install", remote.url, "api")
    page = init_repo.root / ".sow/sinks/api/rest.md"
    page.write_text("mine\n")
    assert init_repo.ok("sinks", "show", "api", "--json").json["edited"] is True
    result = init_repo.sow("sinks", "update")
    assert (result.code, page.read_text()) == (1, "mine\n")
    remote.write("api/rest.md", "# Theirs\n")
    remote.commit()
    assert init_repo.sow("sinks", "update").code == 1
    assert init_repo.sow("sinks", "remove", "api").code == 2
    assert page.read_text() == "mine\n"
    init_repo.ok("sinks", "update", "--force")
    assert page.read_text() == "# Theirs\n"


def test_a_deleted_sink_is_restored(init_repo: Repo, remote: Remote) -> None:
    """A deleted folder is reported as missing and installed again at its ref."""
    init_repo.ok("sinks", "install", remote.url, "api")
    shutil.rmtree(init_repo.root / ".sow/sinks/api")
    assert init_repo.ok("sinks", "update", "--check", "--json").json["sinks"][0]["status"] == "missing"
    assert init_repo.ok("sinks", "update", "--json").json["sinks"][0]["status"] == "restored"
    assert (init_repo.root / ".sow/sinks/api/rest.md").is_file()


@pytest.mark.full
def test_a_sink_is_known_in_the_next_repository(init_repo: Repo, remote: Remote, tmp_path: Path) -> None:
    """A known sink is installed elsewhere by its name, with a person's words."""
    init_repo.ok("sinks", "install", remote.url, "api", "--ref", "v1")
    init_repo.ok("sinks", "describe", "api", "--summary", "Our REST rules", "--tag", "rest")
    other = Repo(tmp_path / "other", init_repo.environment)
    other.root.mkdir()
    other.git("init", "-q")
    other.ok("init")
    entry = other.ok("sinks", "install", "api", "--json").json
    assert (entry["summary"], entry["tags"], entry["source"]["ref"]) == ("Our REST rules", ["rest"], "v1")
    assert "api" in other.ok("sinks", "list", "--known").out
    other.ok("sinks", "remove", "api", "--forget")
    assert registry(init_repo) == {}
    assert other.sow("sinks", "install", "api").code == 2


@pytest.mark.full
def test_two_sources_with_one_name_are_both_known(init_repo: Repo, remote: Remote, tmp_path: Path) -> None:
    """The user's registry keeps two sources with the same name apart."""
    init_repo.ok("sinks", "install", remote.url, "api")
    second = Remote(tmp_path / "second", init_repo.environment)
    second.write("api/x.md", "# Other\n")
    second.commit()
    init_repo.ok("sinks", "remove", "api")
    init_repo.ok("sinks", "install", second.url, "api")
    assert {name: value["source"]["url"] for name, value in registry(init_repo).items()} == {
        "api": remote.url,
        "api-2": second.url,
    }
    assert init_repo.ok("sinks", "update", "--check", "--json").json["sinks"][0]["status"] == "current"


@pytest.mark.full
def test_one_source_under_two_names_is_known_by_both(init_repo: Repo, remote: Remote) -> None:
    """A second installation of a folder under another name keeps the first name known."""
    init_repo.ok("sinks", "install", remote.url, "api", "--ref", "v1")
    init_repo.ok("sinks", "install", remote.url, "api", "--name", "api-now")
    for name in ("api", "api-now"):
        assert f"sow sinks install {name}\n" in init_repo.ok("sinks", "remove", name).out
    assert init_repo.ok("sinks", "install", "api", "--json").json["source"]["ref"] == "v1"
    assert init_repo.ok("sinks", "install", "api-now", "--json").json["source"]["ref"] == ""


def test_git_ignores_fetched_files(init_repo: Repo, remote: Remote) -> None:
    """A missing .sow/.gitignore is written, and one that does not ignore sinks or repositories is reported."""
    ignored = init_repo.root / ".sow/.gitignore"
    ignored.unlink()
    assert init_repo.ok("sinks", "install", remote.url, "api").err == ""
    assert "/sinks/" in ignored.read_text()
    ignored.write_text("/local/\n")
    errors = init_repo.ok("sinks", "install", remote.url, "api", "--name", "two").err
    assert errors == "note: git does not ignore .sow/sinks/two: add the line /sinks/ to .sow/.gitignore\n"
    assert "add the line /repos/" in init_repo.ok("repos", "add", str(remote.root)).err


def test_an_unknown_name_is_refused(init_repo: Repo, remote: Remote) -> None:
    """A mistyped name of a known sink is distinguished from a missing folder."""
    init_repo.ok("sinks", "install", remote.url, "api")
    result = init_repo.sow("sinks", "install", "apii")
    assert result.code == 2 and "no sink that you know by that name" in result.err and "did you mean api?" in result.err


def test_removal_deletes_files_and_entry(init_repo: Repo, remote: Remote) -> None:
    """After `remove` there is neither a folder nor an entry, and no leftover of the fetch."""
    init_repo.ok("sinks", "install", remote.url, "api")
    init_repo.ok("sinks", "remove", "api")
    assert files(init_repo.root / ".sow/sinks") == {"index.json"}
    assert index(init_repo) == {}
    assert os.listdir(init_repo.root / ".sow/local/fetching") == []


@pytest.mark.full
def test_an_unreachable_remote_stops_no_other(init_repo: Repo, remote: Remote, tmp_path: Path) -> None:
    """It is exit 1 with the reason, and the others are updated."""
    second = Remote(tmp_path / "second", init_repo.environment)
    second.write("docs/x.md", "# X\n")
    second.commit()
    init_repo.ok("sinks", "install", remote.url, "api")
    init_repo.ok("sinks", "install", second.url, "docs")
    shutil.rmtree(remote.root)
    second.write("docs/x.md", "# Y\n")
    second.commit()
    checked = init_repo.sow("sinks", "update", "--check")
    assert checked.code == 1
    assert f"there is no repository at {remote.url}" in checked.err
    result = init_repo.sow("sinks", "update", "--json")
    assert result.code == 1
    assert {sink["name"]: sink["status"] for sink in result.json["sinks"]} == {"api": "unreachable", "docs": "updated"}
    assert (init_repo.root / ".sow/sinks/api/rest.md").is_file()


def test_a_missing_ref_is_reported(init_repo: Repo, remote: Remote) -> None:
    """The error says that the source lacks the ref and names near ones, and the sink still follows its old one."""
    init_repo.ok("sinks", "install", remote.url, "api", "--ref", "v1")
    remote.repo.git("branch", "old-style")
    before = init_repo.snapshot()
    result = init_repo.sow("sinks", "update", "api", "--ref", "v11")
    assert (result.code, "unreachable" in result.out) == (1, False), result
    assert "api: no_ref" in result.out
    assert f"error: {remote.url} has no branch or tag 'v11'" in result.err
    assert (
        f"hint: give one that it has, such as v1, old-style, main; all of them: git ls-remote {remote.url}"
        in result.err
    )
    (existing,) = init_repo.sow("sinks", "update", "api", "--ref", "v11", "--json").json["sinks"]
    assert (existing["status"], existing["source"]["ref"]) == ("no_ref", "v1")
    assert init_repo.snapshot() == before


def test_a_deleted_branch_is_reported(init_repo: Repo, remote: Remote) -> None:
    """`update --check` says that the source has lost the ref, and names others if there are any."""
    remote.repo.git("branch", "draft")
    init_repo.ok("sinks", "install", remote.url, "api", "--ref", "draft")
    remote.repo.git("branch", "-D", "draft")
    (existing,) = init_repo.sow("sinks", "update", "--check", "--json").json["sinks"]
    assert (existing["status"], existing["problem"]) == ("no_ref", f"{remote.url} has no branch or tag 'draft'")
    for ref in ("heads/main", "tags/v1"):
        remote.repo.git("update-ref", "-d", f"refs/{ref}")
    bare = init_repo.sow("sinks", "update")
    assert (bare.code, f"hint: see what it has: git ls-remote {remote.url}" in bare.err) == (1, True), bare


def test_a_worker_may_not_change_sinks(task_repo: Repo, remote: Remote) -> None:
    """A worker reads sinks, and may not add or change any."""
    task_repo.ok("sinks", "install", remote.url, "api")
    for case in (("install", remote.url, "python-style"), ("update",), ("remove", "api")):
        result = task_repo.sow("sinks", *case, SOW_TASK="010", SOW_AGENT="implementer")
        assert result.code == 2
        assert "a worker may not" in result.err
    task_repo.ok("sinks", "show", "api", SOW_TASK="010", SOW_AGENT="implementer")


@pytest.mark.full
def test_a_description_during_an_update_is_kept(init_repo: Repo, remote: Remote, tmp_path: Path) -> None:
    """If a sink is described during its update, the update says so, and can be repeated."""
    flag, ssh = tmp_path / "wait", tmp_path / "ssh"
    ssh.write_text(f'#!/bin/sh\ntouch {flag}.called\nwhile [ -f {flag} ]; do sleep 0.05; done\nexec sh -c "$2"\n')
    ssh.chmod(0o755)
    init_repo.environment |= {"GIT_SSH_COMMAND": str(ssh), "GIT_SSH_VARIANT": "simple"}
    init_repo.ok("sinks", "install", f"there:{remote.url}", "api")
    remote.write("api/rest.md", "# Newer\n")
    remote.commit()
    called = Path(f"{flag}.called")
    called.unlink()
    flag.write_text("")
    update = subprocess.Popen(
        [SOW, "sinks", "update"], cwd=init_repo.root, env=init_repo.environment, stderr=subprocess.PIPE
    )
    while not called.exists():
        time.sleep(0.05)
    init_repo.ok("sinks", "describe", "api", "--summary", "Mine")
    flag.unlink()
    output = update.communicate(timeout=300)[1].decode()
    assert (update.returncode, "was changed by somebody else meanwhile" in output) == (1, True), output
    assert index(init_repo)["api"]["summary"] == "Mine"
    init_repo.ok("sinks", "update")
    assert (index(init_repo)["api"]["summary"], index(init_repo)["api"]["pin"]) == ("Mine", remote.head)


@pytest.mark.full
def test_parallel_installations_lose_nothing(init_repo: Repo, remote: Remote) -> None:
    """Parallel installations lose no entry, here and in the user's registry; of two with one name one is refused."""
    calls = [
        subprocess.Popen(
            [SOW, "sinks", "install", remote.url, "api", "--name", f"sink-{number // 2}", "--ref", "v1"],
            cwd=init_repo.root,
            env=init_repo.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(8)
    ]
    output = [call.communicate(timeout=300)[0] for call in calls]
    assert sorted(call.returncode for call in calls) == [0, 0, 0, 0, 2, 2, 2, 2], output
    assert sorted(index(init_repo)) == [f"sink-{number}" for number in range(4)]
    assert {name for name, value in index(init_repo).items() if not value["digest"]} == set()


ENTRY = {"name": "x", "source": {"url": "u", "path": "", "ref": ""}, "summary": "", "when_to_use": ""}


def written(*entries: dict[str, Any], version: str = "1.2.0", **options: Any) -> str:
    return json.dumps({"schema_version": version, "sinks": entries, **options})


BROKEN = {
    "no JSON": "{",
    "another form": "[]",
    "a field that nobody knows": written(more=1),
    "a name that is a path": written({**ENTRY, "name": "../x"}),
    "the same name twice": written(ENTRY, ENTRY),
    "a newer one": written(version="9.0.0"),
    "brackets": "[" * 50_000,
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_index_is_an_error(init_repo: Repo, remote: Remote, case: str) -> None:
    """Every command names the error in the index with its line, and changes nothing."""
    (init_repo.root / ".sow/sinks").mkdir(exist_ok=True)
    (init_repo.root / ".sow/sinks/index.json").write_text(BROKEN[case])
    before = init_repo.snapshot()
    for item in (("list",), ("show", "x"), ("update",), ("install", remote.url, "api"), ("remove", "x")):
        result = init_repo.sow("sinks", *item)
        assert result.code == 2, result
        assert "error: .sow/sinks/index.json" in result.err
        assert "\nhint: " in result.err
    assert init_repo.snapshot() == before


def test_leftovers_of_a_crash_are_removed(init_repo: Repo, remote: Remote) -> None:
    """The next installation removes leftovers of a killed one, which can be repeated."""
    left = init_repo.root / ".sow/local/fetching/1-dead/files"
    left.mkdir(parents=True)
    (left / "half.md").write_text("half")
    os.utime(left.parent, (0, 0))
    result = init_repo.sow("sinks", "install", remote.url, "api", SOW_TEST_KILL_AT="12")
    assert result.code == -9
    assert init_repo.sow("sinks", "list").code == 0
    (init_repo.root / ".sow/sinks/api").exists() and shutil.rmtree(init_repo.root / ".sow/sinks/api")
    init_repo.ok("sinks", "install", remote.url, "api")
    assert not left.exists()


@pytest.fixture
def clone(repo: Repo, remote: Remote, tmp_path: Path) -> Repo:
    """A colleague's fresh clone of a project with a sink and a task that refers to it."""
    repo.ok("sinks", "install", remote.url, "python-style/")
    repo.ok("task", "create", "--name", "Style", "--reference", ".sow/sinks/python-style/README.md")
    repo.ok("project", "save")
    home = tmp_path / "colleague"
    home.mkdir()
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    return Repo(tmp_path / "clone", {**repo.environment, "HOME": str(home)})


@pytest.mark.full
def test_a_fresh_clone_fetches_its_sinks_after_consent(clone: Repo, remote: Remote) -> None:
    """The committed index has the sources; nothing is fetched before the user agreed (B5)."""
    shown = clone.ok("task", "show", "010").out
    assert ".sow/sinks/python-style/README.md (missing: sow sinks install)" in shown
    findings = clone.sow("doctor", "--json").json["findings"]
    assert [finding["hint"] for finding in findings if "python-style is not on this machine" in finding["what"]] == [
        "fetch it: sow sinks install"
    ]
    waiting = clone.sow("sinks", "install")
    assert (waiting.code, "sow sinks install --yes" in waiting.err) == (4, True)
    assert f"from {remote.url}" in waiting.out
    assert not (clone.root / ".sow/sinks/python-style").exists()
    assert clone.ok("sinks", "install", "--yes").out.endswith("installed 1 sink\n")
    assert (clone.root / ".sow/sinks/python-style/README.md").read_text() == STYLE
    assert "(missing" not in clone.ok("task", "show", "010").out
    assert clone.git("status", "--porcelain") == ""
    assert clone.ok("sinks", "install").out == "all sinks of this repository are installed\n"
    assert "unchanged" in clone.ok("sinks", "update").out or "current" in clone.ok("sinks", "update").out


@few_of("words", [(), ("python-style",), ("--check",), ("--force", "--json")], 3)
def test_an_update_in_a_fresh_clone_fetches_nothing(clone: Repo, words: tuple[str, ...]) -> None:
    """In a fresh clone the sources have no consent: an update fetches nothing, and the list says so (B5)."""
    waiting = clone.sow("sinks", "update", *words)
    assert (waiting.code, "sow sinks install --yes" in waiting.err) == (4, True)
    assert not (clone.root / ".sow/sinks/python-style").exists()
    assert "not fetched" in clone.ok("sinks", "list").out
    assert clone.ok("sinks", "list", "--json").json["sinks"][0]["fetched"] is False
    clone.ok("sinks", "install", "--yes")
    assert "not fetched" not in clone.ok("sinks", "list").out
    clone.ok("sinks", "update", *words)


def test_other_files_than_in_the_index_are_not_installed(clone: Repo) -> None:
    """A wrong digest stops the installation, and nothing is left behind."""
    path = clone.root / ".sow/sinks/index.json"
    digest = index(clone)["python-style"]["digest"]
    path.write_text(path.read_text().replace(digest, "0" * len(digest)))
    refused = clone.sow("sinks", "install", "--yes")
    assert (refused.code, "not those that the index records" in refused.err) == (2, True)
    assert not (clone.root / ".sow/sinks/python-style").exists()


def test_init_lets_an_older_repository_commit_its_index(init_repo: Repo) -> None:
    """`sow init` changes the line of an older .gitignore, and keeps every other line."""
    ignored = init_repo.root / ".sow/.gitignore"
    ignored.write_text("/local/\n/sinks/\n# mine\n/repos/\n")
    assert ".sow/.gitignore" in init_repo.ok("init").out
    assert ignored.read_text() == "/local/\n/sinks/*\n!/sinks/index.json\n# mine\n/repos/\n"
