"""sow context: which documents are chosen for a task, why, and what is recorded."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import SOW, Repo
from knowledge.choice_case import FILLER
from knowledge.labelled_set import shelve, write

TOKENS = "# Token rotation\nRefresh tokens rotate at each use; a replayed token revokes the whole family.\n"
DOCUMENT = ".sow/knowledge/designs/tokens.md"
WORKER = {"SOW_TASK": "010", "SOW_AGENT": "implementer"}


@pytest.fixture
def library(repo: Repo) -> Repo:
    """A repository with a few documents, one of which fits the pending task 010."""
    shelve(repo.root, {"knowledge": {**FILLER, "designs/tokens.md": TOKENS}})
    arguments = ("--name", "Rotate refresh tokens", "--description", "A replayed token must be refused.")
    repo.ok("task", "create", *arguments, "--reference", "docs/api.md")
    return repo


def state(repo: Repo, task: str = "010") -> Any:
    return yaml.safe_load(repo.state(task))["task"]


def test_the_choice_is_shown_and_stored(library: Repo) -> None:
    """Kind, size, path and reason are shown; the task refers to the chosen documents besides its earlier ones."""
    result = library.ok("context", "010")
    first, head, given, row, last, *_ = result.out.splitlines()
    assert first == "1 of 5 documents, about 24 of 8000 tokens"
    assert head.split() == ["KIND", "SIZE", "DOCUMENT", "REASON"]
    assert given.split(maxsplit=2) == ["given", "docs/api.md", "given with the task"]
    assert row.split(maxsplit=4)[:4] == ["knowledge", "95", "B", DOCUMENT]
    assert last == "task 010 now refers to them; see: sow task show 010"
    task = state(library)
    assert task["references"] == ["docs/api.md", DOCUMENT]
    assert [file["path"] for file in task["context"]] == [DOCUMENT]
    assert DOCUMENT in library.ok("task", "show", "010").out
    library.ok("validate", str(library.task_folder("010") / "state.yaml"))


def test_possible_documents_are_shown_apart(library: Repo) -> None:
    """They have their own count and take no tokens."""
    write(library.root / ".sow/knowledge", {"designs/login.md": "# Login\nA family logs in with one token.\n"})
    first, *rows = library.ok("context", "010").out.splitlines()
    assert first == "1 of 6 documents and 1 that may fit, about 24 of 8000 tokens"
    assert "may fit: about " in next(row for row in rows if "login.md" in row)
    assert library.ok("context", "010", "--json").json["tokens"] == 24


def test_a_chosen_document_can_be_pinned(library: Repo) -> None:
    """A reference that a person sets is kept by a later choice, even if sow had chosen it before."""
    library.ok("context", "010")
    library.ok("task", "set", "--id", "010", "references", DOCUMENT)
    assert (state(library)["references"], state(library)["context"]) == (["docs/api.md", DOCUMENT], [])
    assert library.ok("context", "010", "--json").json["given"] == ["docs/api.md", DOCUMENT]
    assert state(library)["references"] == ["docs/api.md", DOCUMENT]


def test_the_json_document_of_a_choice(library: Repo) -> None:
    """--json has the budget, the choice with its sizes, given documents, and whether it was stored."""
    document = library.ok("context", "010", "--budget", "4k", "--json").json
    reason = document["references"][0].pop("reason")
    assert reason.startswith("about ")
    project = document.pop("project")
    assert document == {
        "task": "010",
        "memories": [],
        "budget": 4000,
        "tokens": 24,
        "considered": 5,
        "given": ["docs/api.md"],
        "references": [{"path": DOCUMENT, "kind": "knowledge", "size": 95, "tokens": 24}],
        "left_out": [],
        "warnings": [],
        "written": True,
    }
    assert project == {key: library.ok("project", "show", "--json").json[key] for key in ("name", "description")}


def test_goal_and_decisions_are_shown(library: Repo) -> None:
    """sow context and sow task show print the project's goal and its decisions (B3)."""
    library.ok("project", "remember", "Tokens are signed with RS256")
    goal = library.ok("project", "show", "--json").json["name"]
    for case in (("context", "010"), ("task", "show", "010")):
        shown = library.ok(*case).out
        assert goal in shown
        assert "- Tokens are signed with RS256" in shown
        document = library.ok(*case, "--json").json
        assert document["project"]["name"] == goal
        assert document["memories"] == ["Tokens are signed with RS256"]


def test_a_second_choice_replaces_the_first(library: Repo) -> None:
    """Chosen references are replaced, references given by hand stay, and the same choice changes none."""
    library.ok("context", "010")
    library.ok("context", "010")
    assert state(library)["references"] == ["docs/api.md", DOCUMENT]
    (library.root / DOCUMENT).unlink()
    output = library.ok("context", "010").out
    assert "0 of 4 documents" in output
    assert "no document fits" in output
    assert (state(library)["references"], state(library)["context"]) == (["docs/api.md"], [])


def test_a_given_document_is_not_chosen_again(repo: Repo) -> None:
    """A document that the task has already is named once, and stays when others are chosen."""
    shelve(repo.root, {"knowledge": {**FILLER, "designs/tokens.md": TOKENS}})
    repo.ok("task", "create", "--name", "Rotate refresh tokens that are replayed", "--reference", DOCUMENT)
    for _ in range(2):
        assert repo.ok("context", "010", "--json").json["references"] == []
        assert state(repo)["references"] == [DOCUMENT]


@pytest.mark.parametrize(("words", "marks"), [(("--dry-run",), {}), ((), WORKER)], ids=["dry run", "worker"])
def test_a_dry_run_changes_no_state(library: Repo, words: tuple[str, ...], marks: dict[str, str]) -> None:
    """With --dry-run, and for a worker, the choice is shown and no file of .sow changes."""
    before = library.snapshot()
    document = library.ok("context", "010", *words, "--json", **marks).json
    assert ([reference["path"] for reference in document["references"]], document["written"]) == ([DOCUMENT], False)
    assert library.snapshot() == before


def test_the_default_task_is_the_workers(library: Repo) -> None:
    """Without an id, SOW_TASK names the task."""
    assert library.ok("context", "--json", **WORKER).json["task"] == "010"


def test_outputs_of_dependencies_come_first(library: Repo) -> None:
    """Outputs of dependencies are chosen with that reason; while their task is open, the output says so."""
    library.ok("task", "create", "--name", "Paint the fence", "--depends-on", "010")
    write(library.task_folder("010") / "task_output", {"report.md": "# Report\n", "data/numbers.csv": "1,2\n"})
    result = library.ok("context", "020", "--json")
    folder = ".sow/project/phases/implementation/tasks/010/task_output"
    assert [(reference["path"], reference["kind"]) for reference in result.json["references"]] == [
        (f"{folder}/data/numbers.csv", "upstream"),
        (f"{folder}/report.md", "upstream"),
    ]
    assert result.json["references"][0]["reason"] == "output of task 010, which this task builds on"
    assert result.json["warnings"] == ["task 010 is not completed, so its outputs may change; run this again later"]


def test_files_of_dependencies_are_chosen(repo: Repo) -> None:
    """Files that an imported plan gives a task are chosen for its dependents, if they exist."""
    tasks = [
        {"task_number": 1, "name": "Types", "files": ["src/types.py", "src/gone.py", "src/both.py"]},
        {"task_number": 2, "name": "Screens", "files": ["src/both.py"], "depends_on": [1]},
    ]
    plan = {"plan": {"name": "P", "tasks": [{**task, "description": "Make it."} for task in tasks]}}
    write(repo.root, {"plan.yaml": yaml.safe_dump(plan), "src/types.py": "x = 1\n", "src/both.py": "y = 1\n"})
    repo.ok("plan", "import", "plan.yaml", "--yes")
    references = repo.ok("context", "020", "--json").json["references"]
    assert [(reference["path"], reference["reason"]) for reference in references] == [
        ("src/types.py", "task 010 wrote it, and this task builds on that")
    ]


def test_a_broken_index_is_a_warning(library: Repo) -> None:
    """An index of sinks that cannot be read is reported on stderr, and the rest is chosen."""
    write(library.root / ".sow/sinks", {"index.json": "{"})
    result = library.ok("context", "010")
    assert result.err.startswith("warning: .sow/sinks/index.json")
    assert DOCUMENT in result.out


def test_the_budget_of_the_user_s_settings(library: Repo) -> None:
    """context.budget of the config is used if the call names no budget, and 'config show' has it."""
    path = Path(library.environment["HOME"], ".config", "sow", "config.yaml")
    write(path.parent, {path.name: 'context: {budget: "10"}\n'})
    document = library.ok("context", "010", "--json").json
    assert document["budget"] == 10
    assert document["references"] == []
    assert [file["path"] for file in document["left_out"]] == [DOCUMENT]
    assert 'budget: "10"' in library.ok("config", "show").out
    assert "left out, over the budget" in library.ok("context", "010").out


@pytest.mark.parametrize("value", ["0", "much", "8K", "-1"])
def test_an_invalid_budget_in_the_settings_is_refused(library: Repo, value: str) -> None:
    """A budget in the config follows the rule of --budget."""
    path = Path(library.environment["HOME"], ".config", "sow", "config.yaml")
    write(path.parent, {path.name: f'context: {{budget: "{value}"}}\n'})
    result = library.sow("context", "010")
    assert result.code == 2
    assert "context.budget" in result.err


def test_no_control_byte_of_a_document_is_shown(repo: Repo) -> None:
    """Control characters of names and tags in a hostile sink reach neither the terminal nor the state."""
    files = {"to\x1bkens.md": TOKENS, "tokens.md": TOKENS, "b.md": "# B\n", "c.md": "# C\n", "d.md": "# D\n"}
    sink = {"name": "s", "summary": "\x1b[2J", "when_to_use": "\u202e", "tags": ["tokens"], "files": files}
    shelve(repo.root, {"sinks": [sink]})
    repo.ok("task", "create", "--name", "Rotate refresh tokens", "--description", "A replayed token, see to\x1bkens.md")
    result = repo.ok("context", "010")
    assert ".sow/sinks/s/tokens.md" in result.out
    assert not {"\x1b", "\u202e"} & set(result.out + result.err + repo.state("010"))


def test_parallel_calls_agree(library: Repo) -> None:
    """Parallel calls that build the index give the same answer."""
    text = [SOW, "context", "010", "--dry-run", "--json"]
    calls = [
        subprocess.Popen(text, cwd=library.root, env=library.environment, stdout=subprocess.PIPE) for _ in range(6)
    ]
    answers = {call.communicate(timeout=300)[0] for call in calls}
    assert [call.returncode for call in calls] == [0] * 6
    assert len(answers) == 1


def test_a_full_disk_does_not_stop_the_choice(library: Repo) -> None:
    """If the index cannot be written, the choice is made without it, and the task's state is valid."""
    script = f"ulimit -f 16; exec {SOW} context 010 --json"
    result = subprocess.run(["bash", "-c", script], cwd=library.root, env=library.environment, capture_output=True)
    assert (result.returncode, result.stderr) == (0, b"")
    assert [reference["path"] for reference in json.loads(result.stdout)["references"]] == [DOCUMENT]
    assert state(library)["references"] == ["docs/api.md", DOCUMENT]
    assert library.ok("context", "010", "--json").json["written"]
