"""sow start and continue: the orchestrator's prompt, and its CLI on the user's terminal."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo

# An agent CLI that a person has opened: it does what it is told first, and calls sow as the orchestrator.
OPENED = """#!{python}
import os, shlex, subprocess, sys
print("opened with:", sys.argv[1:])
told = subprocess.run(shlex.split(sys.argv[-1].split(": ", 1)[1]), capture_output=True, text=True, check=True).stdout
assert told.startswith("# Orchestrator"), told
assert os.environ["SOW_AGENT"] == "orchestrator"
print(told)
assert input("shall I? ") == "yes"
subprocess.run(["sow", "task", "create", "--name", "Store users", "--agent", "implementer"], check=True)
refused = subprocess.run(["sow", "start", "more"], capture_output=True, text=True)
assert refused.returncode == 2, refused
sys.exit({code})
"""


def cli(repo: Repo, folder: Path, *, code: int = 0, name: str = "claude") -> str:
    """A PATH on which the CLI is such a program."""
    (folder / "bin").mkdir()
    program = folder / "bin" / name
    program.write_text(OPENED.format(python=sys.executable, code=code))
    program.chmod(0o755)
    return f"{folder}/bin:{repo.environment['PATH']}"


def fenced(prompt: str) -> list[str]:
    """Returns the commands that begin a new project."""
    return [line.strip() for line in prompt.splitlines() if line.startswith("   ") and line.strip()]


def test_the_prompt_of_a_new_goal_has_the_commands(bare_repo: Repo) -> None:
    """The prompt has the role, the goal and commands that work as printed; --print writes nothing."""
    out = bare_repo.ok("start", "Add a login; don't $(touch x)", "--phases", "design,implement", "--print").out
    assert out.startswith("# Orchestrator\n") and "> Add a login; don't $(touch x)\n" in out
    assert "`sow task create`" in out and "There is no project on this branch yet." in out
    assert not (bare_repo.root / ".sow").exists() and bare_repo.git("branch", "--show-current") == "main\n"
    for line in fenced(out):
        subprocess.run(shlex.split(line), cwd=bare_repo.root, env=bare_repo.environment, check=True)
    shown = bare_repo.ok("project", "show", "--json").json
    assert shown["branch"] == "sow/add-a-login-don-t-touch-x" and shown["name"] == "Add a login; don't $(touch x)"
    assert [phase["name"] for phase in shown["phases"]] == ["design", "implementation"]


@pytest.mark.parametrize(
    ("goal", "name", "description"),
    [
        ("Add a login", "Add a login", ""),
        ("Add a login\n\nwith tokens that 'rotate'", "Add a login", "with tokens that 'rotate'"),
        ("@@ada wants it\n@bob too", "@ada wants it", "@bob too"),
        ("A" * 150, "A" * 100, "A" * 150),
    ],
)
def test_the_description_does_not_repeat_the_name(bare_repo: Repo, goal: str, name: str, description: str) -> None:
    """The name is the goal's first line, and the description has the rest (B25)."""
    for line in fenced(bare_repo.ok("start", goal, "--print").out):
        subprocess.run(shlex.split(line), cwd=bare_repo.root, env=bare_repo.environment, check=True)
    shown = bare_repo.ok("project", "show", "--json").json
    assert (shown["name"], shown["description"]) == (name, description)


def test_the_branch_can_be_named(bare_repo: Repo) -> None:
    """--branch names the branch that the prompt makes; on a feature branch without it none is made."""
    assert "git switch -c feat/login\n" in bare_repo.ok("start", "Login", "--branch", "feat/login", "--print").out
    bare_repo.git("switch", "-q", "-c", "feat/x")
    assert "git switch" not in bare_repo.ok("start", "Login", "--print").out


def test_an_interrupted_project_is_continued_from_disk(task_repo: Repo) -> None:
    """The prompt has the steps of a recovery: state, log, branch, next action, context, worker."""
    task_repo.ok("project", "remember", "We use RS256")
    out = task_repo.ok("continue", "--print").out
    assert "- Decided: We use RS256" in out
    steps = [line for line in out.splitlines() if line[:2] in {f"{number}." for number in range(1, 7)}]
    for step, word in zip(
        steps[-6:], ("status`", "log --list`", "git branch", "next action", "task show", "agent spawn"), strict=True
    ):
        assert word in step, step
    assert "Project: Add authentication\n" in out
    assert "It belongs to branch feat/auth, which is checked out" in out
    assert "`sow agent spawn implementer 010`" in out and "full path" not in out


def test_sow_is_called_by_path_if_path_finds_another(task_repo: Repo) -> None:
    """Rules of agent CLIs allow the bare name, so the full path is used only if the name finds another sow."""
    out = task_repo.ok("continue", "--print", PATH="/usr/bin:/bin").out
    assert "`sow " not in out and "Call sow by its full path: /" in out


def test_continue_checks_the_branch_first(task_repo: Repo) -> None:
    """On another branch there is no prompt, but the command that switches back."""
    task_repo.git("switch", "-q", "-c", "other")
    result = task_repo.sow("continue", "--print")
    assert result.code == 2 and result.out == "" and "belongs to branch feat/auth" in result.err


def test_continue_without_a_project_names_start(bare_repo: Repo) -> None:
    """The hint names `sow start`."""
    bare_repo.ok("init")
    result = bare_repo.sow("continue", "--print")
    assert result.code == 2 and "sow start" in result.err


def test_continue_works_for_a_workflow_without_a_project(bare_repo: Repo) -> None:
    """The prompt leads to its next step."""
    bare_repo.git("switch", "-q", "-c", "feat/x")
    bare_repo.ok("workflow", "new", "accounts")
    out = bare_repo.ok("continue", "--print").out
    assert "A workflow is under way: accounts" in out and "workflow status`" in out


def test_a_second_project_is_not_started(repo: Repo) -> None:
    """A branch has one project: the hint is to continue it."""
    for more in ([], ["--print"]):
        result = repo.sow("start", "Another", *more)
        assert result.code == 2 and "one project per branch" in result.err and "sow continue" in result.err


def test_the_user_may_define_an_orchestrator(task_repo: Repo) -> None:
    """Its text comes from the user's home, and never from the repository."""
    text = "---\nname: orchestrator\ndescription: d\n---\nYou are {}.\n"
    for root, who in ((task_repo.root, "theirs"), (Path(task_repo.environment["HOME"]), "mine")):
        (root / ".claude/agents").mkdir(parents=True)
        (root / ".claude/agents/orchestrator.md").write_text(text.format(who))
    out = task_repo.ok("continue", "--print").out
    assert out.startswith("You are mine.\n\n## Where you are\n") and "theirs" not in out


@pytest.mark.parametrize("words", [["start", "Login"], ["continue"]])
def test_start_without_a_terminal_names_print(task_repo: Repo, words: list[str]) -> None:
    """Without a terminal the hint names --print, and nothing is made."""
    repo = task_repo
    if words[0] == "start":
        repo.ok("cleanup", "--yes")
    result = repo.sow(*words)
    assert result.code == 2 and "not an interactive terminal" in result.err and "--print" in result.err
    assert words[0] == "continue" or not repo.project.exists()


def test_start_opens_the_orchestrator(bare_repo: Repo, tmp_path: Path, on_terminal: Any) -> None:
    """Branch, folder and project are made, and the CLI is opened with its prompt and may plan."""
    path = cli(bare_repo, tmp_path)
    screen = on_terminal(bare_repo, "start", "Add a login", "--phases", "design", PATH=path)
    code, shown = screen.until("shall I?").type(b"yes\n").end()
    assert code == 0, shown
    assert "switched to the new branch sow/add-a-login" in shown and "Run this command, and do what it prints" in shown
    assert "Project: Add a login" in shown and "What it is for" not in shown
    state = bare_repo.ok("status", "--json").json
    assert (state["project"]["branch"], state["counts"]) == ("sow/add-a-login", {"pending": 1})


def test_continue_opens_the_orchestrator(task_repo: Repo, tmp_path: Path, on_terminal: Any) -> None:
    """continue opens the same CLI, and says how it ended."""
    path = cli(task_repo, tmp_path, code=3)
    code, shown = on_terminal(task_repo, "continue", PATH=path).until("shall I?").type(b"yes\n").end()
    assert code == 1 and "claude ended with exit code 3" in shown


@pytest.mark.full
def test_the_bound_cli_is_opened(task_repo: Repo, tmp_path: Path, on_terminal: Any) -> None:
    """The CLI that is bound to the orchestrator is opened, with its flag for a first prompt."""
    path = cli(task_repo, tmp_path, name="gemini")
    screen = on_terminal(task_repo, "continue", PATH=path, SOW_AGENTS_ORCHESTRATOR="gemini")
    code, shown = screen.until("shall I?").type(b"yes\n").end()
    assert code == 0 and "opened with: ['--prompt-interactive', " in shown


def test_an_executor_without_an_interactive_form_is_refused(bare_repo: Repo, on_terminal: Any) -> None:
    """It is refused before a branch or a project is made."""
    code, shown = on_terminal(bare_repo, "start", "Login", "--executor", "simulated").end()
    assert code == 2 and "cannot be opened" in shown and "--print" in shown
    assert not (bare_repo.root / ".sow").exists() and bare_repo.git("branch", "--show-current") == "main\n"


def test_a_missing_program_is_reported_first(bare_repo: Repo, on_terminal: Any) -> None:
    """The error names the program before anything is made."""
    code, shown = on_terminal(bare_repo, "start", "Login", "--executor", "codex").end()
    assert code == 2 and "codex" in shown and not (bare_repo.root / ".sow").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["", "--print"], "the goal"),
        (["  ", "--print"], "the goal"),
        (["\u202e\u2066", "--print"], "the goal"),
        (["Login", "--branch", "main", "--print"], "'main'"),
        (["Login", "--branch=-x", "--print"], "'-x'"),
        (["Login", "--branch", "a..b", "--print"], "'a..b'"),
        (["Login", "--phases", "design,design", "--print"], "given twice"),
        (["Login", "--phases", "De Sign", "--print"], "'De Sign'"),
        (["@missing.md", "--print"], "missing.md"),
    ],
)
def test_bad_arguments_make_nothing(bare_repo: Repo, words: list[str], said: str) -> None:
    """A bad goal, branch or phase is named, and nothing is made."""
    result = bare_repo.sow("start", *words)
    assert result.code == 2 and said in result.err, result
    assert not (bare_repo.root / ".sow").exists()


def test_a_worker_may_not_open_the_orchestrator(task_repo: Repo) -> None:
    """A worker may only read the prompt."""
    result = task_repo.sow("continue", SOW_TASK="010", SOW_AGENT="implementer")
    assert result.code == 2 and "may not open the orchestrator" in result.err
