"""sow install and uninstall: sow's files are replaced or removed as a whole, and other files stay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Repo

from sow.agents import layer
from sow.domain.install import file_mark

RUN = ".claude/commands/sow/run.md"


def files(folder: Path) -> dict[str, str]:
    """Returns every file of a folder outside of git, with its text."""
    paths = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.relative_to(folder).parts]
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


def put(repo: Repo, path: str, text: str) -> Path:
    target = repo.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return target


@pytest.mark.parametrize("cli", sorted(layer.LAYERS))
def test_uninstall_removes_everything(bare_repo: Repo, cli: str) -> None:
    """install writes the layer and nothing else, a second call does nothing, and uninstall removes all of it."""
    bare_repo.ok("install", cli)
    assert files(bare_repo.root) == {piece.path: piece.text for piece in layer.layer(cli, user=False).pieces}
    assert bare_repo.ok("install", cli).out == f"nothing to do for {cli} in {bare_repo.root}\n"
    bare_repo.ok("uninstall", cli)
    assert [path.name for path in bare_repo.root.iterdir()] == [".git"]
    assert "nothing to do" in bare_repo.ok("uninstall", cli).out


@pytest.mark.parametrize("cli", sorted(layer.LAYERS))
def test_user_installs_into_the_home(bare_repo: Repo, cli: str, tmp_path: Path) -> None:
    """With --user the layer is written to the home and not to the repository, and needs no repository."""
    home = Path(bare_repo.environment["HOME"])
    bare_repo.ok("install", cli, "--user", cwd=tmp_path)
    assert files(home) == {piece.path: piece.text for piece in layer.layer(cli, user=True).pieces}
    assert files(bare_repo.root) == {}
    bare_repo.ok("uninstall", cli, "--user", cwd=tmp_path)
    assert files(home) == {}


def test_a_dry_run_changes_nothing(bare_repo: Repo) -> None:
    """--dry-run names every file that would be written, removed or kept aside."""
    out = bare_repo.ok("install", "claude", "--dry-run").out
    assert f"would write {RUN}\n" in out and files(bare_repo.root) == {}
    bare_repo.ok("install", "claude")
    put(bare_repo, RUN, (bare_repo.root / RUN).read_text() + "Mine.\n")
    before = files(bare_repo.root)
    assert (
        bare_repo.ok("install", "claude", "--dry-run").out == f"would replace {RUN}, and keep a copy of your changes\n"
    )
    assert f"would remove {RUN}" in bare_repo.ok("uninstall", "claude", "--dry-run").out
    assert files(bare_repo.root) == before


def test_an_upgrade_replaces_the_layer(bare_repo: Repo) -> None:
    """Files of an older version are replaced, and obsolete ones are deleted."""
    older = file_mark.add_mark("---\ndescription: old\n---\nOld words.\n", "0.1.0", file_mark.FRONTMATTER)
    put(bare_repo, RUN, older)
    gone = put(bare_repo, ".claude/commands/old/gone.md", older)
    out = bare_repo.ok("install", "claude").out
    assert f"replaced {RUN}\n" in out and "removed .claude/commands/old/gone.md\n" in out
    assert not gone.parent.exists() and "kept" not in " ".join(files(bare_repo.root))
    assert files(bare_repo.root) == {piece.path: piece.text for piece in layer.layer("claude", user=False).pieces}


def test_changes_of_the_user_are_kept_aside(bare_repo: Repo) -> None:
    """A changed file is kept under a name that no CLI reads, each time, and install says so."""
    bare_repo.ok("install", "claude")
    whole = (bare_repo.root / RUN).read_text()
    for number in (1, 2):
        put(bare_repo, RUN, f"{whole}Mine {number}.\n")
        result = bare_repo.ok("install", "claude")
        assert result.err == f"note: {RUN} had changes of yours; they are kept in {RUN}.kept-{number}\n"
        assert (bare_repo.root / RUN).read_text() == whole
        assert (bare_repo.root / f"{RUN}.kept-{number}").read_text() == f"{whole}Mine {number}.\n"
    put(bare_repo, RUN, f"{whole}Mine 3.\n")
    bare_repo.ok("uninstall", "claude")
    assert sorted(files(bare_repo.root)) == [f"{RUN}.kept-{number}" for number in (1, 2, 3)]


def test_files_without_a_mark_are_never_touched(bare_repo: Repo) -> None:
    """A file without sow's mark stays as it is, through install and uninstall."""
    mine = {
        RUN: "---\ndescription: mine\n---\nRun it my way.\n",
        ".claude/settings.json": '["not settings"]\n',
        ".claude/agents/painter.md": "---\nname: painter\ndescription: d\n---\nPaint.\n",
        ".claude/agents/implementer.md": layer.claude_agent(layer.STANDARD_AGENTS[1]).replace("sow-digest", "x"),
        "CLAUDE.md": "sow-version: 9\n",
    }
    for path, text in mine.items():
        put(bare_repo, path, text)
    err = bare_repo.ok("install", "claude").err
    assert f"note: {RUN} is not a file of sow, so it is unchanged\n" in err and "'sow hook settings'" in err
    after = files(bare_repo.root)
    assert {path: after[path] for path in mine} == mine
    bare_repo.ok("uninstall", "claude")
    assert files(bare_repo.root) == mine


@pytest.mark.parametrize("user", [[], ["--user"]])
@pytest.mark.parametrize(
    "text", ["{}\n", '{\n  "model": "opus",\n  "hooks": {\n    "Stop": [\n      1\n    ]\n  }\n}\n']
)
def test_settings_of_the_user_are_merged(bare_repo: Repo, user: list[str], text: str) -> None:
    """Hooks and rules are added to an existing file once, and uninstall restores each byte (B11)."""
    base = Path(bare_repo.environment["HOME"]) if user else bare_repo.root
    path = base / ".claude/settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert "would update .claude/settings.json\n" in bare_repo.ok("install", "claude", "--dry-run", *user).out
    result = bare_repo.ok("install", "claude", *user)
    assert "updated .claude/settings.json\n" in result.out and result.err == ""
    merged = json.loads(path.read_text())
    assert "sow-version" not in merged and merged["permissions"] == layer.settings()["permissions"]
    assert merged["hooks"].keys() == {"SessionStart", "PreToolUse", *json.loads(text).get("hooks", {})}
    assert "nothing to do" in bare_repo.ok("install", "claude", *user).out
    assert "is current" in bare_repo.sow("doctor").out
    assert "updated .claude/settings.json\n" in bare_repo.ok("uninstall", "claude", *user).out
    assert path.read_text() == text


@pytest.mark.parametrize("user", [[], ["--user"]])
def test_additions_to_installed_settings_stay(bare_repo: Repo, user: list[str]) -> None:
    """Claude Code writes a person's choices into the file that sow made: no upgrade or removal loses them."""
    base = Path(bare_repo.environment["HOME"]) if user else bare_repo.root
    bare_repo.ok("install", "claude", *user)
    path = base / ".claude/settings.json"
    ours = json.loads(path.read_text())
    mine = {"matcher": "Bash", "hooks": [{"type": "command", "command": "check-it"}]}
    hooks = {**ours["hooks"], "PreToolUse": [*ours["hooks"]["PreToolUse"], mine], "Stop": [mine]}
    grown = {**ours, "model": "opus", "hooks": hooks}
    path.write_text(json.dumps(grown, indent=2))
    assert "nothing to do" in bare_repo.ok("install", "claude", *user).out
    path.write_text(json.dumps({**grown, "sow-version": "0.1.0"}, indent=2))
    bare_repo.ok("install", "claude", *user)
    assert json.loads(path.read_text()) == grown
    bare_repo.ok("uninstall", "claude", *user)
    assert json.loads(path.read_text()) == {"model": "opus", "hooks": {"PreToolUse": [mine], "Stop": [mine]}}
    assert [path.name for path in path.parent.iterdir()] == ["settings.json"]


def test_a_role_without_marks_belongs_to_the_repository(bare_repo: Repo) -> None:
    """Without its two sow- lines an installed role is the repository's: it is read, and never replaced."""
    bare_repo.ok("init")
    bare_repo.ok("install", "claude")
    shown = {agent["name"]: agent["source"] for agent in bare_repo.ok("agent", "list", "--json").json["agents"]}
    assert set(shown.values()) == {"built-in"}
    path = bare_repo.root / ".claude/agents/implementer.md"
    path.write_text("".join(line for line in path.read_text().splitlines(True) if not line.startswith("sow-")))
    bare_repo.ok("install", "claude")
    shown = {agent["name"]: agent["source"] for agent in bare_repo.ok("agent", "list", "--json").json["agents"]}
    assert shown["implementer"] == "project" and "sow-version" not in path.read_text()


@pytest.mark.parametrize(("cli", "page"), [("codex", "AGENTS.md"), ("gemini", "GEMINI.md")])
def test_a_page_of_the_user_gets_a_block(bare_repo: Repo, cli: str, page: str) -> None:
    """Text around the block stays, the block is replaced in its place, and a changed one is kept aside."""
    path = put(bare_repo, page, "# Ours\n\nTabs, never spaces.\n")
    bare_repo.ok("install", cli)
    text = path.read_text()
    assert text.startswith("# Ours\n\nTabs, never spaces.\n\n<!-- sow-version: ")
    path.write_text(text.replace("system of work", "system of mine") + "\nLast words.\n")
    assert "they are kept in " in bare_repo.ok("install", cli).err
    assert path.read_text() == f"{text}\nLast words.\n"
    assert "system of mine" in (bare_repo.root / f"{page}.kept-1").read_text()
    bare_repo.ok("uninstall", cli)
    assert path.read_text() == "# Ours\n\nTabs, never spaces.\n\nLast words.\n"


@pytest.mark.parametrize("link", [".claude", ".claude/commands", ".claude/commands/project"])
def test_a_linked_folder_is_refused(bare_repo: Repo, tmp_path: Path, link: str) -> None:
    """A folder that is a link is refused before anything is written."""
    outside = tmp_path / "outside"
    outside.mkdir()
    target = bare_repo.root / link
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(outside)
    for verb in ("install", "uninstall"):
        result = bare_repo.sow(verb, "claude")
        assert result.code == 2 and link in result.err, result
    assert list(outside.iterdir()) == [] and files(bare_repo.root) == {}


def test_a_link_or_folder_in_place_of_a_file_stays(bare_repo: Repo, tmp_path: Path) -> None:
    """The link or folder and its target stay, and the rest is installed."""
    outside = tmp_path / "outside.md"
    outside.write_text(file_mark.add_mark("---\na: b\n---\n", "0.1.0", file_mark.FRONTMATTER))
    (bare_repo.root / ".claude/commands/sow").mkdir(parents=True)
    (bare_repo.root / RUN).symlink_to(outside)
    (bare_repo.root / ".claude/commands/sow/plan.md").mkdir()
    put(bare_repo, ".claude/commands/sow/inbox.md", "x").write_bytes(b"\xff\xfe")
    err = bare_repo.ok("install", "claude").err
    assert err.count("is not a file of sow") == 3
    assert (bare_repo.root / RUN).is_symlink() and "0.1.0" in outside.read_text()
    bare_repo.ok("uninstall", "claude")
    assert (bare_repo.root / RUN).is_symlink() and outside.exists()


def test_links_in_the_home_are_followed(bare_repo: Repo, tmp_path: Path) -> None:
    """If ~/.claude is a link, its target is written, and the link stays."""
    elsewhere = tmp_path / "dotfiles"
    elsewhere.mkdir()
    claude = Path(bare_repo.environment["HOME"], ".claude")
    claude.symlink_to(elsewhere)
    bare_repo.ok("install", "claude", "--user")
    assert claude.is_symlink() and (elsewhere / "protocols/orchestration_agent_contract.md").is_file()
    bare_repo.ok("uninstall", "claude", "--user")
    assert claude.is_symlink() and files(elsewhere) == {}


def test_json_lists_the_files(bare_repo: Repo) -> None:
    """The document names each file, what was done with it, and kept copies."""
    document = bare_repo.ok("install", "claude", "--json").json
    assert {file["act"] for file in document["files"]} == {"write"} and document["version"]
    put(bare_repo, RUN, (bare_repo.root / RUN).read_text() + "Mine.\n")
    (row,) = [file for file in bare_repo.ok("install", "claude", "--json").json["files"] if file["path"] == RUN]
    assert row == {"path": RUN, "act": "replace", "changed": True, "kept": f"{RUN}.kept-1"}


def test_a_worker_may_not_install(task_repo: Repo) -> None:
    """A worker may not change files that every agent obeys."""
    for verb in ("install", "uninstall"):
        result = task_repo.sow(verb, "claude", SOW_TASK="010", SOW_AGENT="implementer")
        assert result.code == 2 and "a worker may not" in result.err
    assert not (task_repo.root / ".claude").exists()


def test_user_without_a_home_is_refused(bare_repo: Repo) -> None:
    """--user without HOME is refused, and nothing is written."""
    result = bare_repo.sow("install", "claude", "--user", HOME="")
    assert result.code == 2 and "HOME is not set" in result.err and files(bare_repo.root) == {}


def test_doctor_warns_about_another_version_of_the_layer(repo: Repo) -> None:
    """A layer of another version, or a changed one, is a warning with the command; no layer is no finding."""

    def findings() -> dict[str, str]:
        messages = repo.sow("doctor", "--json").json["findings"]
        return {message["what"]: message["state"] for message in messages if "execution layer" in message["what"]}

    assert findings() == {}
    repo.ok("install", "claude")
    repo.ok("install", "codex", "--user")
    assert findings() == {
        "the execution layer for claude here is current": "ok",
        "the execution layer for codex in your home is current": "ok",
    }
    (repo.root / RUN).unlink()
    assert findings()["the execution layer for claude here is not current"] == "warning"
    assert "update it: sow install claude" in repo.sow("doctor").out
