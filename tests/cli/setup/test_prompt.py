"""sow prompt: the packaged prompts, for a person and for a worker."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sow.agents import briefing

if TYPE_CHECKING:
    from conftest import Repo

# A worker that knows nothing and does what it reads: the first command of its prompt, every command of what that
# prints, and at last the status that the text names. PATH leads nowhere, as in CLIs that replace it.
OBEDIENT = """#!{python}
import json, os, re, shlex, subprocess, sys
os.environ["PATH"] = "/nonexistent"

def run(line):
    done = subprocess.run(shlex.split(line), capture_output=True, text=True, check=True)
    with open({ledger!r}, "a") as file:
        file.write(" ".join(shlex.split(line)[1:]) + "\\n")
    return done.stdout

def fenced(text):
    return [line for part in text.split("```bash\\n")[1:] for line in part.split("```")[0].splitlines()]

base = run(fenced(sys.stdin.read())[0])
for line in fenced(base):
    run(line)
run(re.search("`([^`]* status needs_review)`", base)[1])
session = sys.argv[sys.argv.index("--session-id") + 1]
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": "ok", "session_id": session}}))
"""


def test_a_prompt_is_printed_as_it_is_packaged(repo: Repo) -> None:
    """`sow prompt guidance/implementer/base` prints that file, and nothing else."""
    result = repo.ok("prompt", "guidance/implementer/base")
    assert result.out == briefing.load_template("guidance/implementer/base") and result.err == ""


def test_a_worker_reads_its_own_task_and_the_full_path_of_sow(task_repo: Repo) -> None:
    """With SOW_TASK the commands have the full path of sow, since some agent CLIs replace PATH."""
    out = task_repo.ok("prompt", "guidance/implementer/base", SOW_TASK="010").out
    line = next(line for line in out.split("\n") if line.endswith("task show 010"))
    sow = line.removesuffix(" task show 010")
    assert Path(sow).is_absolute() and Path(sow).name == "sow" and Path(sow).is_file()
    assert "`sow " not in out and briefing.TASK not in out


def test_a_prompt_can_be_read_anywhere(tmp_path: Path, bare_repo: Repo) -> None:
    """Prompts need no project, no repository and no home."""
    (tmp_path / "empty").mkdir()
    assert bare_repo.ok("prompt", "templates/reviewer", cwd=tmp_path / "empty", HOME="").out.startswith("# Reviewer")


def test_the_list_has_every_prompt_with_its_title(repo: Repo) -> None:
    """`--list` shows the names that the command accepts, with their titles; `--json` is one document."""
    listed = repo.ok("prompt", "--list").out.split("\n")
    assert listed[0].split() == ["PROMPT", "WHAT", "IT", "IS"]
    assert [line.split()[0] for line in listed[1:-1]] == briefing.template_names()
    result = repo.ok("prompt", "--list", "--json").json["prompts"]
    assert [entry["name"] for entry in result] == briefing.template_names()
    assert {"name": "templates/implementer", "title": "Implementer"} in result
    assert all(item["title"] for item in result)


def test_a_folder_limits_the_list(repo: Repo) -> None:
    """With a folder's name only the prompts below it are listed."""
    prompts = repo.ok("prompt", "guidance/orchestrator", "--list", "--json").json["prompts"]
    assert [prompt["name"].rsplit("/", 1)[1] for prompt in prompts] == [
        "base",
        "phases",
        "recovery",
        "review",
        "workers",
    ]


def test_one_prompt_as_json(repo: Repo) -> None:
    """`--json` gives the name, the title and the text."""
    document = repo.ok("prompt", "guidance/planner/plan-format", "--json").json
    assert document["title"] == "The format of a plan"
    assert document["text"] == briefing.load_template("guidance/planner/plan-format")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (
            ["guidance/implementor/base"],
            "failed to load prompt guidance/implementor/base: it does not exist",
            "guidance/implementer/base?",
        ),
        (["template/reviewer"], "failed to load prompt", "did you mean templates/reviewer?"),
        (["zzz"], "failed to load prompt zzz", "sow prompt --list"),
        (["../../../etc/passwd"], "failed to load prompt", "hint:"),
        (["guidance/implementer/base.md"], "failed to load prompt", "did you mean guidance/implementer/base?"),
        (["zzz", "--list"], "failed to load prompt zzz", "sow prompt --list"),
        ([], "NAME is missing", "guidance/implementer/base"),
        (["a", "b"], "unexpected argument", "usage:"),
    ],
)
def test_a_wrong_name_gets_the_nearest(repo: Repo, words: list[str], message: str, hint: str) -> None:
    """Exit 2 with one error that has the name, and one hint with the nearest name."""
    result = repo.sow("prompt", *words)
    assert result.code == 2 and result.out == ""
    assert result.err.startswith("error: ") and message in result.err.split("\n")[0]
    assert hint in result.err.split("\n", 1)[1]


def test_an_invalid_task_id_is_refused(repo: Repo) -> None:
    """An invalid SOW_TASK never becomes part of a command that a worker runs."""
    result = repo.sow("prompt", "guidance/implementer/base", SOW_TASK="x; rm -rf /")
    assert result.code == 2 and result.out == ""


def test_names_are_completed(repo: Repo) -> None:
    """The shell offers the prompts that begin with what is typed."""
    offered = repo.ok("completion", "words", "--", "prompt", "guidance/common/").out.split()
    assert offered == [name for name in briefing.template_names() if name.startswith("guidance/common/")]


def test_a_worker_can_start_from_its_prompt_alone(repo: Repo, tmp_path: Path) -> None:
    """From the prompt a worker finds its guidance, its task and the end of its turn, without a PATH."""
    ledger = tmp_path / "ledger"
    (tmp_path / "bin").mkdir()
    claude = tmp_path / "bin/claude"
    claude.write_text(OBEDIENT.format(python=sys.executable, ledger=str(ledger)))
    claude.chmod(0o755)
    repo.ok("task", "create", "--name", "Add login", "--agent", "implementer")
    result = repo.ok("agent", "spawn", "implementer", "010", PATH=f"{tmp_path}/bin:{repo.environment['PATH']}")
    assert result.out.endswith("task 010: status is needs_review\n")
    done = ledger.read_text().splitlines()
    assert done[:2] == ["prompt guidance/implementer/base", "task show 010"]
    assert "prompt guidance/implementer/tdd" in done and "prompt guidance/common/notes" in done
    assert done[-1] == "task set --id 010 status needs_review"
