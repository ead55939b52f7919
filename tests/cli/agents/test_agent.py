"""sow agent list, show and validate: the available roles, and errors in files that define roles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sow.agents import briefing
from sow.agents.registry import AgentRegistry

if TYPE_CHECKING:
    from conftest import Repo

GOOD = "---\nname: swiftdev\ndescription: Swift code\ntools: [Read, Edit]\n---\n\nWrite Swift.\n"
FULL = "---\nname: swiftdev\ndescription: Swift code\nmodel: opus\ncolor: blue\n---\n\nWrite Swift.\n"


def define(folder: Path, name: str, text: str) -> Path:
    path = folder / ".claude/agents" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_list_has_every_role_and_its_executor(repo: Repo) -> None:
    """One line per built-in role, with its executor, where it comes from and what it does."""
    lines = repo.ok("agent", "list").out.split("\n")
    assert lines[0].split() == ["ROLE", "EXECUTOR", "FROM", "DESCRIPTION"]
    assert [line.split()[0] for line in lines[1:-1]] == AgentRegistry().names()
    assert all(line.split()[1:3] == ["claude-code", "built-in"] for line in lines[1:-1])


def test_the_list_as_json(repo: Repo) -> None:
    """A stable document, and nothing else on stdout."""
    define(repo.root, "swiftdev.md", FULL)
    document = repo.ok("agent", "list", "--json", SOW_AGENTS_SWIFTDEV="codex").json
    agent = next(agent for agent in document["agents"] if agent["name"] == "swiftdev")
    assert agent == {
        "name": "swiftdev",
        "description": "Swift code",
        "capabilities": "",
        "tools": [],
        "source": "project",
        "path": str(repo.root / ".claude/agents/swiftdev.md"),
        "ignored": ["color", "model"],
        "executor": "codex",
        "executor_origin": "from environment: SOW_AGENTS_SWIFTDEV",
    }
    assert document["warnings"] == []


def test_the_folders_of_the_config_are_read(repo: Repo) -> None:
    """A plan's role is found in a folder that the user's settings name (C18)."""
    home = Path(repo.environment["HOME"])
    path = define(home / "team", "swiftdev.md", GOOD)
    (home / ".config/sow").mkdir(parents=True, exist_ok=True)
    (home / ".config/sow/config.yaml").write_text('agents:\n  directories: ["~/team/.claude/agents"]\n')
    document = repo.ok("agent", "show", "swiftdev", "--json").json
    assert (document["source"], document["path"]) == ("user", str(path))
    (repo.root / "plan.md").write_text("## Task 1: a\n**Agent**: swiftdev\n\nx\n")
    assert "swiftdev" not in repo.ok("plan", "validate", "plan.md").err


def test_a_bad_file_is_a_warning_in_the_list(repo: Repo) -> None:
    """The list is complete and the exit code 0; the warning is on stderr and in the JSON document."""
    path = define(repo.root, "bad.md", "no frontmatter\n")
    result = repo.ok("agent", "list")
    assert result.err == f"warning: {path}: there is no frontmatter\n"
    assert "implementer" in result.out
    assert repo.ok("agent", "list", "--json").json["warnings"] == [f"{path}: there is no frontmatter"]


def test_control_bytes_in_role_files_do_not_reach_the_terminal(repo: Repo) -> None:
    """Control bytes in descriptions, texts and file names are made visible or dropped."""
    define(repo.root, "a.md", '---\nname: a\ndescription: "red \\e[31m"\n---\nwords \x1b[2J\x07\n')
    define(repo.root, "b\x1b[31m.md", "none\n")
    for item in (["list"], ["show", "a"], ["validate"], ["validate", ".claude/agents/b\x1b[31m.md"]):
        result = repo.sow("agent", *item)
        assert "\x1b" not in result.out + result.err and "\x07" not in result.out + result.err
        assert result.out + result.err


def test_roles_are_listed_outside_a_project(tmp_path: Path, bare_repo: Repo) -> None:
    """Neither a .sow folder nor a repository is needed; a repository's files count without one too."""
    define(bare_repo.root, "swiftdev.md", GOOD)
    below = bare_repo.root / "src"
    below.mkdir()
    assert "swiftdev" in bare_repo.ok("agent", "list", cwd=below).out
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    out = bare_repo.ok("agent", "list", cwd=elsewhere).out
    assert "implementer" in out and "swiftdev" not in out


def test_a_root_without_a_folder_is_an_error(repo: Repo) -> None:
    """A named root that does not exist is an error and is not ignored."""
    assert repo.sow("--root", "/nowhere", "agent", "list").code == 2


def test_show_prints_the_role_and_its_text(repo: Repo) -> None:
    """A built-in role is shown with its template, its executor and the origin of the binding."""
    out = repo.ok("agent", "show", "implementer").out
    assert "claude-code (default)" in out and "Must be able to" in out
    assert out.endswith(briefing.load_template("templates/implementer"))
    document = repo.ok("agent", "show", "implementer", "--json").json
    assert (
        document["prompt"] == briefing.load_template("templates/implementer")
        and document["executor_origin"] == "default"
    )


def test_show_names_the_file_of_a_role_and_its_ignored_keys(repo: Repo) -> None:
    """The path, the words and the keys without effect of a role from a file."""
    path = define(repo.root, "swiftdev.md", FULL)
    out = repo.ok("agent", "show", "swiftdev").out
    assert str(path) in out and "color, model" in out and out.endswith("\nWrite Swift.\n")


def test_show_of_an_unknown_role(repo: Repo) -> None:
    """The error names the unknown role, and the hint the nearest name."""
    result = repo.sow("agent", "show", "implementor")
    assert (result.code, result.err) == (2, "error: unknown agent: implementor\nhint: did you mean implementer?\n")


def test_validate_without_files_checks_all_of_them(repo: Repo) -> None:
    """Warnings and remarks are shown, and a bad file does not change the exit code."""
    define(repo.root, "bad.md", "none\n")
    define(repo.root, "swiftdev.md", FULL)
    define(repo.root, "reviewer.md", GOOD.replace("swiftdev", "reviewer"))
    result = repo.ok("agent", "validate")
    assert result.err.count("warning: ") == 2 and "bad.md" in result.err and "judges" in result.err
    assert "fields without effect: color, model" in result.out
    assert result.out.endswith("20 agents, 2 warnings\n")
    document = repo.ok("agent", "validate", "--json").json
    assert document["valid"] is False and len(document["warnings"]) == 2 and len(document["remarks"]) == 1


def test_validate_in_a_clean_repository(repo: Repo) -> None:
    """A clean repository has no findings, and validate says so."""
    result = repo.ok("agent", "validate")
    assert (result.out, result.err) == ("19 agents, 0 warnings\n", "")


def test_validate_of_named_files(repo: Repo) -> None:
    """A good file is exit 0 with the agent's name; a bad one is exit 2 with the line and a hint."""
    define(repo.root, "good.md", GOOD)
    define(repo.root, "bad.md", GOOD.replace("swiftdev", "Swift Dev"))
    good = repo.ok("agent", "validate", ".claude/agents/good.md")
    assert good.out == ".claude/agents/good.md: agent swiftdev\n"
    bad = repo.sow("agent", "validate", ".claude/agents/bad.md", ".claude/agents/good.md")
    assert bad.code == 2 and bad.out == good.out
    assert bad.err == (
        "error: .claude/agents/bad.md: name: must be lower case with hyphens, not 'Swift Dev'\nhint: name: my-agent\n"
    )
    result = repo.sow("agent", "validate", "--json", ".claude/agents/bad.md", ".claude/agents/good.md")
    assert result.code == 2 and result.json["valid"] is False
    assert [file["agent"] for file in result.json["files"]] == [None, "swiftdev"]


def test_validate_names_every_bad_file(repo: Repo) -> None:
    """Two bad files are two errors, each with its hint."""
    define(repo.root, "one.md", "x\n")
    result = repo.sow("agent", "validate", ".claude/agents/one.md", "two.md")
    assert result.code == 2
    assert [line.split(":")[0] for line in result.err.splitlines()] == ["error", "hint", "error", "hint"]
    assert "one.md: there is no frontmatter" in result.err and "two.md: there is no such file" in result.err


def test_validate_recognises_installed_files(repo: Repo) -> None:
    """A file that sow installed is neither an agent nor an error."""
    define(repo.root, "ours.md", "---\nname: implementer\ndescription: d\nsow-version: 1.0.0\n---\nwords\n")
    assert "written by sow install" in repo.ok("agent", "validate", ".claude/agents/ours.md").out


@pytest.mark.parametrize(
    ("words", "offered"), [(["agent", "show", "impl"], "implementer"), (["agent", "spawn", "sw"], "swiftdev")]
)
def test_roles_are_completed(repo: Repo, words: list[str], offered: str) -> None:
    """The shell offers built-in roles and those in files."""
    define(repo.root, "swiftdev.md", GOOD)
    assert repo.ok("completion", "words", "--", *words).out.split() == [offered]


def test_executors_are_completed(repo: Repo) -> None:
    """The shell offers the executors that can be named."""
    offered = repo.ok("completion", "words", "--", "agent", "spawn", "implementer", "010", "--executor", "clau").out
    assert offered.split() == ["claude-code"]


def broken(repo: Repo) -> dict[str, str]:
    """Returns a repository with every kind of bad file, and the expected reports."""
    folder = define(repo.root, "good.md", GOOD).parent
    define(repo.root, "again.md", GOOD)
    define(repo.root, "big.md", GOOD + "x" * (5 << 20))
    define(repo.root, "plain.md", "words\n")
    define(repo.root, "reviewer.md", GOOD.replace("swiftdev", "reviewer"))
    define(repo.root, "quote.md", '---\nname: q\ndescription: "open\n---\nwords\n')
    (folder / "binary.md").write_bytes(bytes(range(256)))
    (folder / "loop.md").symlink_to(folder / "loop.md")
    (folder / "04-loop").symlink_to(folder)
    return {
        "big.md": "larger than",
        "binary.md": "binary.md:2: not UTF-8",
        "loop.md": "it is a link that leads nowhere",
        "plain.md": "there is no frontmatter",
        "quote.md": "quote.md:4: ",
        "good.md": "agent swiftdev is defined in",
        "reviewer.md": "reviewer judges, so a repository may not define it",
    }


def test_each_broken_file_is_one_warning(repo: Repo) -> None:
    """list and validate report each bad file once, with its path and the reason, and show all good ones."""
    expected = broken(repo)
    listed = repo.ok("agent", "list", "--json").json
    checked = repo.ok("agent", "validate", "--json").json
    assert "swiftdev" in [agent["name"] for agent in listed["agents"]] and checked["valid"] is False
    assert listed["warnings"] == checked["warnings"]
    assert len(listed["warnings"]) == len(expected)
    for name, reason in expected.items():
        (output,) = [
            warning for warning in listed["warnings"] if warning.startswith(f"{repo.root}/.claude/agents/{name}")
        ]
        assert reason in output and output.count(f"/{name}") == 1, output
    assert len(repo.ok("agent", "list").err.splitlines()) == len(expected)


def test_a_named_file_is_reported_by_the_given_name(repo: Repo) -> None:
    """Each file is checked on its own: its errors, or why a good file does not count in this repository."""
    broken(repo)
    names = [f".claude/agents/{name}.md" for name in ("binary", "big", "loop", "plain", "quote", "good", "reviewer")]
    result = repo.sow("agent", "validate", "--json", *names)
    assert result.code == 2
    for name, each in zip(names, result.json["files"], strict=True):
        assert each["file"] == name and (each["error"] or each["remark"]).startswith(name)
        assert (each["hint"] is None) is (each["error"] is None)
    remarks = [file["remark"] for file in result.json["files"][-2:]]
    assert "agent swiftdev; it is not used: agent swiftdev is defined in" in remarks[0]
    assert "agent reviewer; it is not used: reviewer judges" in remarks[1]
    folder = repo.sow("agent", "validate", ".claude/agents")
    assert (folder.code, folder.err.splitlines()[0]) == (2, "error: .claude/agents is a folder")


@pytest.mark.parametrize("words", [("show",), ("spawn",)])
def test_the_hint_for_a_role_with_a_broken_file_names_the_error(repo: Repo, words: tuple[str, ...]) -> None:
    """The hint says what is wrong with the file of that name."""
    broken(repo)
    repo.ok("task", "create", "--name", "One")
    result = repo.sow("agent", *words, "plain", *(["010"] if words == ("spawn",) else []))
    assert result.code == 2 and result.err.splitlines() == [
        "error: unknown agent: plain",
        f"hint: {repo.root}/.claude/agents/plain.md: there is no frontmatter",
    ]


def test_packaged_prompts_do_not_depend_on_role_files(repo: Repo) -> None:
    """The packaged prompts are the same in a repository with broken files."""
    before = repo.ok("prompt", "--list", "--json").json
    broken(repo)
    result = repo.ok("prompt", "--list", "--json")
    assert (result.json, result.err) == (before, "")
