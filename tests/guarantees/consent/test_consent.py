"""T4: no command runs without the user's consent, wherever it comes from; `--dry-run` shows all of them."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Repo, Result
from support.plan_repo import PlanRepo
from support.quick_cases import few_of

from sow.store.user import consents

# Ways to write a command that makes the file MARK; each of them is one text that needs consent.
FORMS = (
    "touch {mark}",
    "true; touch {mark}",
    "true && touch {mark}",
    "sh -c 'true; touch {mark}'",
    "bash -c 'touch {mark}'",
    'python3 -c \'open("{mark}", "w")\'',
    "/usr/bin/env touch {mark}",
    "env NAME=value touch {mark}",
    "NAME=value touch {mark}",
    "./script.sh",
    "sh script.sh",
    "make",
    "$(echo touch) {mark}",
    "`echo touch` {mark}",
    "(touch {mark})",
    "true\ntouch {mark}",
    "echo > {mark}",
    "git -c alias.x='!touch {mark}' x",
    "  touch   {mark}  ",
    "xargs touch {mark}",
    "command touch {mark}",
    "'touch' {mark}",
)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """Returns a file that only a command of the test makes."""
    return tmp_path / "mark"


@pytest.fixture
def asking(plan_repo: PlanRepo) -> PlanRepo:
    """A repository in which no command has consent."""
    plan_repo.configure(checks={"allow": []})
    return plan_repo


def import_plan(plan_repo: PlanRepo) -> None:
    plan_repo.repo.ok("init")
    plan_repo.repo.ok("plan", "import", "plan.yaml")


def clone(plan_repo: PlanRepo, mark: Path, command: str, *, status: str = "pending", task: str = "010") -> None:
    """Gives a stored task another command than its plan, as in a repository of somebody else."""
    path = plan_repo.repo.task_folder(task) / "state.yaml"
    state = yaml.safe_load(path.read_text())
    digest = state["task"]["source"]["digest"]
    state["task"]["checks"] = [{"kind": "test", "command": command.format(mark=mark)}]
    if status == "completed":
        at = state["task"]["created_at"]
        approval = {"by": "ada", "at": at, "iteration": 1}
        state["task"] |= {"status": "completed", "completed_at": at, "approval": approval}
    path.write_text(yaml.safe_dump(state, sort_keys=False))
    assert yaml.safe_load(path.read_text())["task"]["source"]["digest"] == digest
    shutil.rmtree(plan_repo.repo.root / ".git" / "sow")  # a clone has no copies of ours


def all_files(plan_repo: PlanRepo) -> dict[str, bytes]:
    files = [path for path in plan_repo.repo.root.rglob("*") if path.is_file() and "/sow/claims/" not in str(path)]
    return {str(path): path.read_bytes() for path in files}


def hint_of(result: Result) -> str:
    """Returns the command that the hint names."""
    return result.err.rsplit("hint: ", 1)[1].strip()


@few_of("form", FORMS, 8)
def test_every_form_of_a_command_needs_consent(asking: PlanRepo, mark: Path, form: str) -> None:
    """No command of a plan runs without consent, in any notation; the whole command is shown."""
    command = form.format(mark=mark)
    script = asking.repo.root / "script.sh"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    (asking.repo.root / "Makefile").write_text(f"all:\n\ttouch {mark}\n")
    asking.repo.git("add", ".")
    asking.plan({"test_commands": [command]})
    before = all_files(asking)
    result = asking.run("--review", "off")
    assert result.code == 4, result
    assert not mark.exists()
    for line in command.strip().split("\n"):
        assert line in result.err
    assert "not the scripts that it runs" in result.err
    assert (all_files(asking), asking.turns("010")) == (before, 0)
    dry = asking.run("--dry-run", "--json")
    assert dry.json["commands"] == [{"command": command.strip(), "for": ["010"], "agreed": False, "why": ""}]
    assert command.strip().split("\n")[0] in asking.run("--dry-run").out
    assert not mark.exists()


@few_of("form", ["touch {mark}", "sh -c 'touch {mark}; true'", "true; touch {mark}"], 1)
def test_the_hint_works_as_printed(asking: PlanRepo, mark: Path, form: str) -> None:
    """The hint repeats the call with --yes; the consent is remembered, and the command runs."""
    asking.plan({"test_commands": [form.format(mark=mark)]})
    refused = asking.run("--review", "off", "--task", "1")
    assert hint_of(refused) == "sow run plan.yaml --task 1 --review off --yes"
    asking.repo.ok(*shlex.split(hint_of(refused))[1:])
    assert mark.exists()
    commands = asking.run("--dry-run", "--json").json["commands"]
    assert [(command["agreed"], command["why"]) for command in commands] == [(True, "you agreed")]


PLACES: dict[str, dict[str, Any]] = {
    "test": {"test_commands": ["touch {mark}"]},
    "criterion": {"success_criteria": [{"criterion": "c", "verification": {"command": "touch {mark}"}}]},
    "integration": {
        "type": "integration",
        "depends_on": [1],
        "integration_criteria": [{"criterion": "c", "verification": {"command": "touch {mark}"}}],
    },
    "dependency": {"runtime_metadata": {"dependency_checks": [{"command": "touch {mark}"}]}},
}


def filled(value: Any, mark: Path) -> Any:
    if isinstance(value, dict):
        return {key: filled(value, mark) for key, value in value.items()}
    if isinstance(value, list):
        return [filled(item, mark) for item in value]
    return value.format(mark=mark) if isinstance(value, str) else value


@pytest.mark.parametrize("place", PLACES)
def test_every_place_of_a_command_needs_consent(asking: PlanRepo, mark: Path, place: str) -> None:
    """Tests, criteria, integration criteria and dependency checks are all asked about, in one question."""
    asking.plan("First", filled(PLACES[place], mark))
    result = asking.run("--review", "off")
    assert result.code == 4, result
    assert f"touch {mark}" in result.err
    assert not mark.exists()
    assert asking.turns("010") == 0


def test_one_question_lists_all_by_program(asking: PlanRepo) -> None:
    """All commands of all tasks are listed once, below the program that they start."""
    asking.plan({"test_commands": ["test -e a", "true"]}, {"test_commands": ["test -e b", "test -e a"]})
    lines = asking.run().err.splitlines()
    start = lines.index("  test")
    assert lines[start : start + 5] == ["  test", "    test -e a", "    test -e b", "  true", "    true"]
    assert sum("test -e a" in line for line in lines) == 1


@pytest.mark.full
def test_stored_checks_that_differ_from_the_plan_do_not_run(asking: PlanRepo, mark: Path) -> None:
    """A stored task with the plan's digest and other checks is shown as a change; the plan's command runs (F60)."""
    asking.configure(checks={"allow": ["grep*"]})
    asking.plan({"test_commands": ["grep by part_010.txt"]})
    import_plan(asking)
    clone(asking, mark, "sh -c 'touch {mark}'")
    before = asking.repo.state("010")
    dry = asking.run("--dry-run")
    assert f"checks: sh -c 'touch {mark}' → grep by part_010.txt" in dry.out
    refused = asking.run("--review", "off")
    assert refused.code == 4, refused
    assert f"checks: sh -c 'touch {mark}' → grep by part_010.txt" in refused.err
    assert asking.repo.state("010") == before
    result = asking.run("--review", "off", "--yes")
    assert result.code == 0, result
    assert not mark.exists()
    assert [check["command"] for check in asking.task("010")["checks"]] == ["grep by part_010.txt"]


def test_a_clone_on_main_runs_no_stored_command(asking: PlanRepo, mark: Path) -> None:
    """Stored state for the branch that a run on main would make is checked before that branch is made (F60)."""
    asking.configure(checks={"allow": ["true"]})
    asking.plan({"test_commands": ["true"]}, {"test_commands": ["true"]})
    asking.repo.git("switch", "-q", "-c", "sow/harbour")
    import_plan(asking)
    asking.repo.git("switch", "-q", "main")
    asking.repo.git("merge", "-q", "feat/harbour")
    asking.repo.git("branch", "-q", "-D", "sow/harbour")
    clone(asking, mark, "touch {mark}", status="completed")
    before = asking.repo.git("for-each-ref"), all_files(asking)
    dry = asking.run("--dry-run")
    assert f"    touch {mark}  [010: needs your consent]" in dry.out
    refused = asking.run("--review", "off")
    assert refused.code == 4, refused
    assert f"touch {mark}" in refused.err
    assert not mark.exists()
    assert (asking.repo.git("for-each-ref"), all_files(asking)) == before
    assert asking.repo.git("branch", "--show-current").strip() == "main"


def test_stored_checks_of_a_completed_task_need_consent(asking: PlanRepo, mark: Path) -> None:
    """The checks of a completed task stay as stored, and so their text needs consent (F60)."""
    asking.configure(checks={"allow": ["grep*", "true"]})
    asking.plan({"test_commands": ["true"]}, {"test_commands": ["grep by part_020.txt"]})
    import_plan(asking)
    clone(asking, mark, "touch {mark}; true", status="completed")
    agreeds = {command["command"]: command["agreed"] for command in asking.run("--dry-run", "--json").json["commands"]}
    assert agreeds == {f"touch {mark}; true": False, "grep by part_020.txt": True}
    refused = asking.run("--review", "off")
    assert refused.code == 4, refused
    assert f"touch {mark}; true" in refused.err
    assert "grep" not in refused.err.replace(hint_of(refused), "")
    assert not mark.exists()


def test_a_wildcard_covers_no_shell_text(asking: PlanRepo, mark: Path) -> None:
    """`true*` in checks.allow does not cover a text that continues after a semicolon."""
    asking.configure(checks={"allow": ["true*"]})
    asking.plan({"test_commands": ["true --anything", f"true; touch {mark}"]})
    refused = asking.run("--review", "off")
    assert refused.code == 4
    assert f"    true; touch {mark}" in refused.err
    assert "--anything" not in refused.err
    assert not mark.exists()


@pytest.mark.full
def test_patterns_of_the_config_are_consent(asking: PlanRepo, mark: Path) -> None:
    """A command that a pattern covers runs without a question, also without a terminal."""
    asking.configure(checks={"allow": ["touch *"]})
    asking.plan({"test_commands": [f"touch {mark}"]})
    assert asking.run("--review", "off").code == 0
    assert mark.exists()


@pytest.mark.full
def test_a_changed_command_needs_consent_again(asking: PlanRepo, mark: Path) -> None:
    """Consent is for the exact text: a changed command is asked about again."""
    asking.plan({"test_commands": ["true"]})
    asking.act("implementer-010-1", "exit 1\n")
    assert asking.run("--review", "off", "--yes").code != 0
    asking.plan({"test_commands": [f"true {mark}"]})
    refused = asking.run("--review", "off")
    assert refused.code == 4
    assert f"true {mark}" in refused.err


@pytest.mark.full
def test_consent_belongs_to_one_repository(asking: PlanRepo, tmp_path: Path) -> None:
    """The same command in another repository is asked about; in a linked worktree it has consent."""
    asking.plan({"test_commands": ["true"]})
    start = asking.repo.git("rev-parse", "HEAD").strip()
    assert asking.run("--review", "off", "--yes").code == 0
    other = tmp_path / "other"
    asking.repo.git("clone", "-q", str(asking.repo.root), str(other))
    linked = tmp_path / "linked"
    asking.repo.git("worktree", "add", "-q", "-b", "feat/linked", str(linked), start)
    for root, agreed in ((other, False), (linked, True)):
        dry = Repo(root, asking.repo.environment).ok("run", "plan.yaml", "--dry-run", "--json")
        assert [command["agreed"] for command in dry.json["commands"]] == [agreed]


@pytest.mark.full
def test_old_and_damaged_consents_are_ignored(asking: PlanRepo) -> None:
    """Consents of older versions are not used, and after damage the user is asked again."""
    asking.plan({"test_commands": ["true"]})
    where = Path(consents.path(asking.repo.environment, str(asking.repo.root / ".git")))
    where.parent.mkdir(parents=True)
    (where.parent / ("ab" * 32)).write_text("2026-01-01T00:00:00Z\n")
    assert asking.run("--review", "off").code == 4
    for damaged in ("", "{", "[]", '{"commands": 3}', "\0", '{"commands": ["true"]}'):
        where.write_text(damaged)
        assert asking.run("--review", "off").code == 4
    assert asking.run("--review", "off", "--yes").code == 0
    assert consents.missing(asking.repo.environment, str(asking.repo.root / ".git"), ["true", "false"]) == ["false"]


def test_consent_is_not_in_the_repository(asking: PlanRepo) -> None:
    """A file of consents in a repository does not count, and sow writes none there."""
    asking.plan({"test_commands": ["true"]})
    folder = asking.repo.root / ".sow" / "local" / "consents"
    folder.mkdir(parents=True)
    name = Path(consents.path(asking.repo.environment, str(asking.repo.root / ".git"))).name
    (folder / name).write_text('{"commands": {"true": "2026-01-01T00:00:00Z"}}')
    assert asking.run("--review", "off").code == 4
    assert asking.run("--review", "off", "--yes").code == 0
    home = Path(asking.repo.environment["HOME"])
    assert list(home.rglob(name)) == [home / ".local/state/sow/consents" / name]
    assert list(asking.repo.root.rglob(name)) == [folder / name]


@pytest.mark.full
def test_an_unwritable_consent_holds_for_the_call(asking: PlanRepo, mark: Path, tmp_path: Path) -> None:
    """With --yes and a read-only state folder the run continues, says so, and asks again next time."""
    asking.plan({"test_commands": [f"touch {mark}"]})
    (tmp_path / "file").write_text("")
    result = asking.run("--review", "off", "--yes", XDG_STATE_HOME=str(tmp_path / "file"))
    assert result.code == 0, result
    assert "your consent is not remembered" in result.err
    assert mark.exists()


@pytest.mark.full
def test_the_users_own_setup_needs_no_question(asking: PlanRepo, mark: Path) -> None:
    """worktree.setup is in the user's own file: it runs, and --dry-run shows it with its origin."""
    asking.configure(worktree={"setup": [["touch", str(mark)]]})
    asking.plan("First")
    commands = asking.run("--dry-run", "--json").json["commands"]
    assert commands == [{"command": f"touch {mark}", "for": ["setup"], "agreed": True, "why": "your config"}]
    assert asking.run("--review", "off").code == 0
    assert mark.exists()


@pytest.mark.full
def test_repeated_evidence_needs_consent(asking: PlanRepo, mark: Path) -> None:
    """`sow runs verify` asks about commands of stored evidence, and its hint works as printed."""
    asking.plan({"test_commands": ["true"]})
    assert asking.run("--review", "off", "--yes").code == 0
    assert asking.repo.sow("runs", "verify").code == 0
    path = asking.repo.task_folder("010") / "state.yaml"
    path.write_text(path.read_text().replace('command: "true"', f'command: "touch {mark}"'))
    refused = asking.repo.sow("runs", "verify")
    assert refused.code == 4, refused
    assert f"touch {mark}" in refused.err
    assert not mark.exists()
    assert hint_of(refused).startswith("sow runs verify ")
    asking.repo.sow(*shlex.split(hint_of(refused))[1:])
    assert mark.exists()


@pytest.mark.full
def test_integrating_needs_consent(asking: PlanRepo, mark: Path) -> None:
    """`sow integrate` asks about the stored checks that it would run on the merge with the user's commits."""
    asking.plan({"test_commands": ["true"]})
    asking.act("implementer-010", f'echo mine > "{asking.repo.root}/part_010.txt"\necho work > part_010.txt\n')
    assert asking.run("--review", "off", "--yes").code == 4  # a file of the user's is in the way
    (asking.repo.root / "part_010.txt").unlink()
    (asking.repo.root / "other.txt").write_text("x\n")
    asking.repo.git("add", "other.txt")
    asking.repo.git("commit", "-q", "-m", "More")
    path = asking.repo.task_folder("010") / "state.yaml"
    path.write_text(path.read_text().replace('command: "true"', f'command: "touch {mark}"'))
    refused = asking.repo.sow("integrate")
    assert refused.code == 4, refused
    assert f"touch {mark}" in refused.err
    assert not mark.exists()
    assert hint_of(refused).startswith("sow integrate ")
    assert hint_of(refused).endswith(" --yes")


def test_a_worker_may_run_only_commands_with_consent(asking: PlanRepo, mark: Path) -> None:
    """A stored command without consent is not among the commands that a worker may run."""
    seen = asking.folder / "seen"
    binary = asking.folder / "claude"
    binary.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {seen}\n')
    binary.chmod(0o755)
    executors = {"claude-code": {"type": "claude", "settings": {"binary": str(binary)}}}
    asking.configure(agents={"executors": executors}, checks={"allow": ["grep *"]})
    asking.plan({"test_commands": [f"touch {mark}", "grep by part_010.txt"]})
    import_plan(asking)
    asking.repo.sow("agent", "spawn", "implementer", "010")
    text = seen.read_text()
    assert "grep by part_010.txt" in text
    assert f"touch {mark}" not in text


@pytest.mark.full
def test_a_detected_setup_is_in_the_same_list(asking: PlanRepo, mark: Path) -> None:
    """Without a terminal the commands of a detected setup are listed with those of the plan, and --yes covers both."""
    tool = asking.folder / "uv"
    tool.write_text(f"#!/bin/sh\ntouch {mark}\n")
    tool.chmod(0o755)
    path = f"{asking.folder}:{asking.repo.environment['PATH']}"
    (asking.repo.root / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "1"\n')
    (asking.repo.root / "uv.lock").write_text("version = 1\n")
    asking.repo.git("add", ".")
    asking.plan({"test_commands": ["true"]})
    fors = {
        command["command"]: command["for"] for command in asking.run("--dry-run", "--json", PATH=path).json["commands"]
    }
    (setup,) = [command for command, reason in fors.items() if reason == ["setup"]]
    assert setup.startswith("uv ")
    refused = asking.run("--review", "off", PATH=path)
    assert refused.code == 4, refused
    assert f"    {setup}\n" in refused.err
    assert "    true\n" in refused.err
    assert not mark.exists()
    assert asking.run("--review", "off", "--yes", PATH=path).code == 0
    assert mark.exists()
