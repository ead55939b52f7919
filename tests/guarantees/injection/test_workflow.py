"""S1 for workflows: a hostile value is refused without a change, or stays a text; it starts no agent."""

from __future__ import annotations

from pathlib import Path

from conftest import Repo
from support.call_server import Caller
from support.quick_cases import few_of
from support.workflow_repo import WorkflowRepo

from guarantees.folder_snapshot import Picture
from guarantees.hostile_values import HOSTILE
from sow.cli.command import commands

STDIN = "typed on standard input"
# What stands around the value, with {} for it; `+` marks fields whose value may be taken.
FIELDS = {
    ("workflow new", "name"): ["--", "{}"],
    ("workflow new", "--summary"): ["other", "--summary={}", "+"],
    ("workflow design", "--executor"): ["--headless", "--executor={}"],
    ("workflow design", "--timeout"): ["--headless", "--executor=nobody", "--timeout={}"],
    ("workflow verify", "--executor"): ["--executor={}"],
    ("workflow verify", "--timeout"): ["--executor=nobody", "--timeout={}"],
    ("workflow run", "--executor"): ["--executor={}"],
    ("workflow run", "--max-concurrency"): ["--executor=nobody", "--max-concurrency={}"],
    ("workflow run", "--timeout"): ["--executor=nobody", "--timeout={}"],
    ("workflow run", "--max-cost"): ["--executor=nobody", "--max-cost={}"],
    ("workflow run", "--max-wait"): ["--executor=nobody", "--max-wait={}"],
    ("workflow run", "--cluster"): ["--executor=nobody", "--cluster={}"],
    ("workflow set", "field"): ["--agent=api_agent", "--", "{}", "working"],
    ("workflow set", "value"): ["--agent=api_agent", "--", "status", "{}"],
    ("workflow set", "--agent"): ["status", "working", "--agent={}"],
    ("workflow archive", "name"): ["--yes", "--", "{}"],
    ("agent new", "name"): ["--description=d", "--", "{}", "+"],
    ("agent new", "--description"): ["db", "--description={}", "+"],
    ("agent new", "--prompt"): ["db", "--description=d", "--prompt={}", "+"],
}
NO_WORKFLOW = ("workflow new",)


def test_the_table_has_every_field() -> None:
    """A new option of a workflow command, or of `agent new`, without a row here fails."""
    existing = {
        (command.name, entry)
        for command in (*commands("workflow"), *commands("agent"))
        for entry in (
            *(argument.name for argument in command.arguments),
            *(o.flag for o in command.options if o.metavar),
        )
        if command.name.startswith("workflow ") or command.name == "agent new"
    }
    assert existing == set(FIELDS)


@few_of("case", FIELDS, 6, ids=" ".join)
def test_a_hostile_value_has_no_effect(caller: Caller, repo: Repo, tmp_path: Path, case: tuple[str, str]) -> None:
    """Every hostile value is refused with one error and one hint, or stored where any text is allowed."""
    command, _ = case
    if command not in NO_WORKFLOW:
        WorkflowRepo(repo, tmp_path).begin().design()
        repo.ok("workflow", "verify", "--executor", "simulated", "--yes")
    text = FIELDS[case]
    takes = text[-1] == "+"
    before = Picture(repo.root.parent)
    inside = (f"{repo.root}/orchestration", f"{repo.root}/.claude/agents", f"{repo.root}/.git/sow")
    for value in dict.fromkeys(HOSTILE):
        if "\0" in value or (not value and case == ("workflow archive", "name")):
            continue  # no system passes that on; an empty name is none
        given = [word.replace("{}", value) for word in text if word != "+"]
        answer = caller.call(
            *command.split(), *given, cwd=repo.root, environment=repo.environment, stdin=STDIN.encode()
        )
        changed = before.changes()
        assert answer.started == [], value
        if answer.code:
            assert answer.code in (1, 2) and f"\n{answer.err}".count("\nerror: ") == 1, (value, answer)
            assert "\nhint: " in answer.err and changed == [], (value, answer, changed)
            continue
        assert takes or (case == ("workflow new", "name") and value.isidentifier()), (value, answer)
        assert all(path.startswith(inside) or path == f"{repo.root}/.claude" for path in changed), changed
        before.bring_back()
    assert not list(repo.root.parent.rglob("owned"))
