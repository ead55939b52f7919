"""A worker gets exactly the documents that were chosen for its task, at readable paths."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Repo
from knowledge.choice_case import FILLER
from knowledge.labelled_set import shelve, write
from support.plan_repo import PlanRepo
from support.simulated_workers import WorkerRepo

TOKENS = "# Token rotation\nRefresh tokens rotate at each use; a replayed token revokes the whole family.\n"
HEAD = "Read these first."
NAME = "Rotate refresh tokens that are replayed"
SINK = {"name": "auth", "summary": "Login", "when_to_use": "For tokens", "tags": ["tokens"]}

# A worker that reads what its task refers to, and keeps what it has read.
READER = """
import json, pathlib, subprocess, sys
shown = json.loads(subprocess.run([sys.argv[1], "task", "show", "--json"], capture_output=True).stdout)
texts = {path: pathlib.Path(path).read_text() for path in shown["references"]}
pathlib.Path("read.json").write_text(json.dumps(texts))
"""


def shelf(root: Path) -> None:
    """Documents of every kind, two of them about the task."""
    sink = {**SINK, "files": {"refresh.md": TOKENS, "b.md": "# Bread\n", "c.md": "# Coal\n", "d.md": "# Dust\n"}}
    shelve(root, {"knowledge": {**FILLER, "designs/tokens.md": TOKENS}, "sinks": [sink]})


def named(prompt: str) -> list[str]:
    """Returns the paths that a prompt names as references."""
    _, result, rest = prompt.partition(HEAD)
    lines = rest.split("\n\n")[0].splitlines()[1:] if result else []
    return [line.removeprefix("- ").split(" (")[0] for line in lines]


@pytest.fixture
def reader(repo: Repo, tmp_path: Path) -> WorkerRepo:
    """A simulated worker that reads its references, and the pending task 010."""
    repo.ok("task", "create", "--name", NAME)
    shelf(repo.root)
    worker = WorkerRepo(repo, tmp_path)
    write(tmp_path, {"reader.py": READER})
    sow = str(Path(sys.executable).parent / "sow")
    run = [sys.executable, str(tmp_path / "reader.py"), sow]
    worker.scenario([{"run": run}, {"status": "needs_review"}])
    return worker


def chosen(worker: WorkerRepo) -> list[str]:
    return [file["path"] for file in yaml.safe_load(worker.repo.state("010"))["task"]["context"]]


def test_a_worker_gets_exactly_what_was_chosen(reader: WorkerRepo) -> None:
    """The prompt, the state and the worker's reads have the documents that 'sow context' chose."""
    paths = [reference["path"] for reference in reader.repo.ok("context", "010", "--json").json["references"]]
    assert sorted(paths) == [".sow/knowledge/designs/tokens.md", ".sow/sinks/auth/refresh.md"]
    assert reader.spawn().code == 0
    prompt = reader.transcript(1, "prompt").read_text()
    assert named(prompt) == [f"{reader.repo.root}/{path}" for path in paths]
    assert chosen(reader) == paths
    assert json.loads((reader.repo.root / "read.json").read_text()) == dict.fromkeys(paths, TOKENS)


def test_possible_documents_are_a_list_of_their_own(reader: WorkerRepo) -> None:
    """The prompt lists fitting and possible documents apart; the worker may open both."""
    write(reader.repo.root / ".sow/knowledge", {"designs/login.md": "# Login\nTokens are rotated.\n"})
    assert reader.spawn().code == 0
    prompt = reader.transcript(1, "prompt").read_text()
    path = ".sow/knowledge/designs/login.md"
    assert f"{reader.repo.root}/{path}" not in named(prompt)
    _, result, may_fit = prompt.partition("These documents may fit too.")
    assert (bool(result), f"- {reader.repo.root}/{path} (" in may_fit, "may fit: " in may_fit) == (True, True, False)
    assert path in json.loads((reader.repo.root / "read.json").read_text())


def test_a_spawn_chooses_by_default(reader: WorkerRepo) -> None:
    """Without an earlier choice, the spawn makes the one that 'sow context' would make."""
    before = reader.repo.ok("context", "010", "--dry-run", "--json").json["references"]
    reader.spawn()
    assert chosen(reader) == [file["path"] for file in before] != []
    prompt = reader.transcript(1, "prompt").read_text()
    assert f"({before[0]['size']} B; {before[0]['kind']}: {before[0]['reason']})" in prompt


def test_an_earlier_choice_stays(reader: WorkerRepo) -> None:
    """An earlier choice with another budget is what the worker gets."""
    reader.repo.ok("context", "010", "--budget", "30")
    expected = chosen(reader)
    assert len(expected) == 1
    reader.spawn()
    assert chosen(reader) == expected
    assert len(named(reader.transcript(1, "prompt").read_text())) == 1


@pytest.mark.full
def test_a_choice_of_a_removed_sink_is_repeated(reader: WorkerRepo) -> None:
    """If a chosen sink was removed, the spawn chooses again, and says so."""
    reader.repo.ok("context", "010")
    (reader.repo.root / ".sow/sinks/auth/refresh.md").unlink()
    result = reader.spawn()
    assert result.code == 0
    assert ".sow/sinks/auth/refresh.md is gone, so the references of task 010 were chosen anew" in result.err
    assert chosen(reader) == [".sow/knowledge/designs/tokens.md"]
    assert named(reader.transcript(1, "prompt").read_text()) == [f"{reader.repo.root}/{chosen(reader)[0]}"]


@pytest.mark.full
def test_an_empty_choice_stays(reader: WorkerRepo) -> None:
    """If the choice of documents is empty, a spawn does not choose again."""
    reader.repo.ok("context", "010", "--budget", "1")
    reader.spawn()
    assert chosen(reader) == []
    assert HEAD not in reader.transcript(1, "prompt").read_text()


@pytest.mark.full
def test_the_choice_can_be_switched_off(reader: WorkerRepo) -> None:
    """With context.enabled false nothing is chosen, and documents given by hand are still named."""
    path = Path(reader.repo.environment["HOME"], ".config", "sow", "config.yaml")
    write(path.parent, {path.name: "context: {enabled: false}\n"})
    write(reader.repo.root, {"docs/api.md": "# Api\n"})
    reader.repo.ok("task", "create", "--name", NAME, "--reference", "docs/api.md")
    reader.repo.ok("agent", "spawn", "implementer", "020")
    prompt = next((reader.repo.root / ".sow/local/sessions/020").rglob("*.prompt")).read_text()
    assert f"{HEAD} " in prompt
    assert named(prompt) == ["docs/api.md"]
    assert "context" not in yaml.safe_load(reader.repo.state("020"))["task"]
    assert not (reader.repo.root / ".git/sow/context.sqlite").exists()


def test_without_documents_no_index_is_made(worker: WorkerRepo) -> None:
    """In a repository without documents nothing is written."""
    assert worker.spawn().code == 0
    assert not (worker.repo.root / ".git/sow/context.sqlite").exists()
    assert "context:" not in worker.repo.state("010")


def test_a_broken_index_stops_no_worker(reader: WorkerRepo) -> None:
    """A broken index of sinks is a remark of the turn, and the worker gets everything else."""
    write(reader.repo.root / ".sow/sinks", {"index.json": "{"})
    result = reader.spawn()
    assert result.code == 0
    assert ".sow/sinks/index.json" in result.err
    assert chosen(reader) == [".sow/knowledge/designs/tokens.md"]


def test_a_worker_cannot_choose_for_itself(reader: WorkerRepo) -> None:
    """References that a worker writes into its state are restored."""
    state = str(reader.repo.task_folder("010") / "state.yaml")
    edit = ["sed", "-i", "-z", "s/references:.*questions/references: [x]\\n  questions/", state]
    reader.scenario([{"status": "needs_review"}, {"run": edit}])
    reader.spawn()
    task = yaml.safe_load(reader.repo.state("010"))["task"]
    assert task["references"] == chosen(reader) != []


def plan(plan_repo: PlanRepo) -> None:
    plan_repo.plan({"name": "Types of tokens", "files": ["types.txt"]}, {"name": NAME, "depends_on": [1]})


@pytest.mark.full
def test_a_worktree_reads_references_of_the_home_checkout(plan_repo: PlanRepo) -> None:
    """In its worktree a worker reads sinks of the home checkout, and outputs of the previous task."""
    shelf(plan_repo.repo.root)
    plan_repo.repo.git("add", "-f", ".sow/knowledge")
    plan_repo.repo.git("commit", "-q", "-m", "Knowledge")
    plan(plan_repo)
    plan_repo.act("implementer", 'echo typed > types.txt; echo "by $SOW_TASK" > "part_$SOW_TASK.txt"\n')
    listed = f"sed -n 's/^- \\([^ ]*\\) (.*/\\1/p' {plan_repo.folder}/implementer-020-1.prompt"
    script = f"for each in $({listed}); do cat $each >> {plan_repo.folder}/seen; done\necho done > part.txt\n"
    plan_repo.act("implementer-020", script)
    assert plan_repo.run().code == 0
    context: list[dict[str, Any]] = plan_repo.task("020")["context"]
    assert [file["path"] for file in context] == [
        "types.txt",
        ".sow/sinks/auth/refresh.md",
        ".sow/knowledge/designs/tokens.md",
    ]
    paths = named(plan_repo.prompt("020"))
    cwd = (plan_repo.folder / "implementer-020-1.cwd").read_text().strip()
    assert paths == [
        "types.txt",
        f"{plan_repo.repo.root}/.sow/sinks/auth/refresh.md",
        f"{cwd}/.sow/knowledge/designs/tokens.md",
    ]
    assert (plan_repo.folder / "seen").read_text() == f"typed\n{TOKENS}{TOKENS}"
