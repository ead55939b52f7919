"""Completion in three real shells."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Repo, fresh_environment
from support.quick_cases import few_of

from sow.cli.command import GROUPS
from sow.domain.task import FIELDS, TASK

# Each asks its shell what it would offer behind these words, the last of which is unfinished.
BASH = 'eval "$(sow completion bash)"; COMP_WORDS=(sow "$@"); COMP_CWORD=$#; _sow; printf "%s\\n" "${COMPREPLY[@]}"'
ZSH = """
compdef() { : }
compadd() { shift; print -l -- "$@" }
_files() { print -l -- *(N) }
eval "$(sow completion zsh)"
words=(sow "$@")
CURRENT=$#words
_sow
"""
FISH = "sow completion fish | source; complete -C (string join -- ' ' sow $argv)"
CALLS = {"bash": ("bash", "-c", BASH, "bash"), "zsh": ("zsh", "-f", "-c", ZSH, "zsh"), "fish": ("fish", "-c", FISH)}
SHELLS = sorted(CALLS)


def offered(repo: Repo, shell: str, *arguments: str) -> set[str]:
    """Returns what the shell offers; without that shell, the output that its script would get."""
    if shutil.which(shell) is None:
        call: tuple[str, ...] = ("sow", "completion", "words", "--", *arguments)
    else:
        call = (*CALLS[shell], *arguments)
    result = subprocess.run(call, cwd=repo.root, env=repo.environment, capture_output=True, text=True, timeout=300)
    assert (result.returncode, result.stderr) == (0, "")
    return {line.partition("\t")[0] for line in result.stdout.splitlines()} - {""}


def enrich(repo: Repo) -> Repo:
    """Adds two tasks, two phases and a question."""
    for name in ("First", "Second"):
        repo.ok("task", "create", "--name", name)
    repo.ok("phase", "add", "review", "--reason", "eyes", "--yes")
    for status in ("in_progress", "paused"):
        repo.ok("task", "set", "--id", "010", "status", status)
    return repo


@pytest.fixture(scope="module")
def rich_repo(tmp_path_factory: pytest.TempPathFactory, _project_template: Path) -> Repo:
    """A project that the tests of this file share, since completion changes nothing."""
    folder = tmp_path_factory.mktemp("completion")
    shutil.copytree(_project_template, folder / "repo", symlinks=True)
    return enrich(Repo(folder / "repo", fresh_environment(folder / "home")))


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_parses(bare_repo: Repo, shell: str):
    """Each shell accepts its script, which registers itself for sow."""
    script = bare_repo.ok("completion", shell).out
    assert "sow completion words --" in script
    assert {"bash": "complete -o default -F _sow sow", "zsh": "compdef _sow sow", "fish": "--command sow"}[
        shell
    ] in script
    if shutil.which(shell):
        result = subprocess.run([shell, "-n"], input=script, env=bare_repo.environment, capture_output=True, text=True)
        assert (result.returncode, result.stderr) == (0, "")


@few_of("shell", SHELLS, 6)
@few_of(
    ("words", "expected"),
    [
        (("",), set(GROUPS)),
        (("st",), {"start", "status"}),
        (("ta",), {"task"}),
        (("help", "ta"), {"task"}),
        (("help", "task", "s"), {"set", "show"}),
        (("run", "--executor", "sim"), {"simulated"}),
        (("task", "create", "--agent", "impl"), {"implementer"}),
        (("run", "--agent", "impl"), {"implementer"}),
        (("task", ""), {"create", "add", "list", "show", "set", "abandon"}),
        (("task", "a"), {"add", "abandon"}),
        (("task", "show", ""), {"010", "020"}),
        (("task", "set", "--id", ""), {"010", "020"}),
        (("task", "set", "--id", "02"), {"020"}),
        (("task", "set", "--id", "010", ""), set(FIELDS)),
        (("task", "set", "--id", "010", "status", ""), set(TASK.statuses)),
        (("task", "set", "010", ""), set(FIELDS)),
        (("task", "set", "010", "status", ""), set(TASK.statuses)),
        (("task", "set", "status", "n"), {"needs_review"}),
        (("task", "list", "--status", "p"), {"pending", "paused"}),
        (("task", "create", "--phase", ""), {"implementation", "review"}),
        (("task", "create", "--pri"), {"--priority"}),
        (("task", "create", "--priority", ""), {"low", "medium", "high"}),
        (("phase", "back", "r"), {"review"}),
        (("answer", ""), {"1"}),
        (("schema", "show", "task"), {"task", "task-description"}),
        (("status", "--"), {"--json", "--root", "--debug", "--quiet", "--verbose"}),
        (("status", "--json", "--"), {"--root", "--debug", "--quiet", "--verbose"}),
        (("completion", ""), {"bash", "zsh", "fish", "words"}),
    ],
    6,
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_words_are_completed(rich_repo: Repo, shell: str, words: tuple[str, ...], expected: set[str]):
    """Commands, options, tasks, phases, statuses and choices are offered where they fit."""
    assert offered(rich_repo, shell, *words) == expected


@pytest.mark.parametrize("words", [("nonsense", ""), ("task", "nonsense", ""), ("log", ""), ("status", "")])
def test_free_texts_are_not_completed(rich_repo: Repo, words: tuple[str, ...]):
    """If any word, or none, is allowed, nothing is offered."""
    assert rich_repo.ok("completion", "words", "--", *words).out.split() == []


@pytest.mark.parametrize("shell", SHELLS)
def test_files_are_completed(rich_repo: Repo, shell: str):
    """The shell offers files where sow has no words, as for `validate` and @FILE."""
    (rich_repo.root / "plan.md").write_text("")
    script = rich_repo.ok("completion", shell).out
    if shell == "bash":
        assert "-o default" in script
    elif shutil.which(shell) is None:
        assert {"zsh": "_files", "fish": "--condition"}[shell] in script
    else:
        assert "plan.md" in offered(rich_repo, shell, "validate", "pl")


@pytest.mark.parametrize("broken", ["no project", "no repository", "broken project", "other branch"])
def test_completion_is_silent_on_errors(repo: Repo, broken: str):
    """If the project cannot be read, completion offers no tasks and prints nothing."""
    enrich(repo)
    cwd = repo.root
    if broken == "no project":
        repo.ok("project", "delete", "--yes")
    if broken == "no repository":
        cwd = repo.root.parent / "home"
    if broken == "broken project":
        (repo.project / "state.yaml").write_text("[")
    if broken == "other branch":
        repo.git("switch", "-q", "-c", "feat/other")
    result = repo.ok("completion", "words", "--", "task", "show", "", cwd=cwd)
    assert (result.out.strip(), result.err) == ("", "")


def test_a_completion_script_takes_no_arguments(bare_repo: Repo):
    """`sow completion bash extra` is refused."""
    assert bare_repo.sow("completion", "bash", "extra").code == 2
    assert bare_repo.sow("completion", "tcsh").code == 2
