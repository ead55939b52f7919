"""The command in a hint continues a run with the user's options, from the user's folder."""

from __future__ import annotations

import shlex
import signal
from pathlib import Path

import pytest
from support.journals import MadeUpRun
from support.plan_repo import WORK, PlanRepo
from support.quick_cases import few_of
from support.simulated_workers import wait_for

from sow.reports import next_steps, run_report
from sow.reports.next_steps import ANY_FOLDER, HintContext

SLOW = "trap 'exit 3' INT TERM\nsleep 60 &\nwait\n"
ASKED = ("--executor", "hand", "--agent", "documenter", "--review", "off", "--retries", "0", "--isolation", "none")
LIMITS = ("--max-cost", "1.5", "--timeout", "45m", "--max-wait", "90s", "--schedule", "waves", "--max-concurrency", "1")


def next_commands(plan_repo: PlanRepo, **options: Path) -> list[str]:
    """Returns the commands of the report."""
    return [step["command"] for step in plan_repo.repo.ok("runs", "show", "--json", **options).json["next"]]


def cut_off(plan_repo: PlanRepo, *arguments: str, role: str = "implementer") -> None:
    """A run that Ctrl-C ended while its first worker was working."""
    plan_repo.act(f"{role}-010-1", SLOW)
    run = plan_repo.start(*arguments)
    wait_for(lambda: (plan_repo.folder / f"{role}-010-1.cwd").exists())
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err)


def test_the_command_continues_with_the_same_options(plan_repo: PlanRepo) -> None:
    """Run as printed, it continues the same run, tasks and settings; every command prints the same."""
    plan_repo.act("documenter", WORK)
    plan_repo.plan("First", "Second", "Third")
    plan_repo.repo.git("mv", "plan.yaml", "my plan.yaml")
    plan_repo.repo.git("commit", "-q", "-m", "Another name")
    (plan_repo.repo.root / "plan.yaml").symlink_to("my plan.yaml")
    cut_off(plan_repo, "--task", "1", "--task", "3", *ASKED, *LIMITS, role="documenter")
    asked = plan_repo.runs()[-1]
    command = next_commands(plan_repo)[-1]
    (idle,) = plan_repo.repo.ok("status", "--json").json["idle"]
    assert idle["do"] == command
    assert f"continue it: {command}" in plan_repo.repo.sow("doctor").out
    parts = shlex.split(command)
    assert parts[:3] == ["sow", "run", "my plan.yaml"]
    result = plan_repo.repo.sow(*parts[1:])
    assert result.code == 0, result
    (after,) = plan_repo.runs()
    assert (after["settings"], after["tasks"]) == (asked["settings"], ["010", "030"])
    assert plan_repo.statuses() == {"010": "completed", "020": "pending", "030": "completed"}


@pytest.mark.full
def test_settings_are_not_repeated(plan_repo: PlanRepo) -> None:
    """Only options that differ from the user's present settings are printed."""
    plan_repo.configure(run={"retries": 0, "max_wait": "1h"}, review={"enabled": False})
    plan_repo.plan("First")
    cut_off(plan_repo)
    assert next_commands(plan_repo)[-1] == "sow run plan.yaml"
    plan_repo.configure(run={"retries": 1, "max_wait": "2d"}, review={"enabled": True})
    assert next_commands(plan_repo)[-1] == "sow run plan.yaml --review off --retries 0 --max-wait 1h"


@pytest.mark.full
def test_options_that_override_the_plan_are_repeated(plan_repo: PlanRepo) -> None:
    """An option is repeated although the config says the same, if the plan says otherwise; so are flags."""
    control = {"enabled": True, "retry_on_red": 5}
    plan_repo.plan({"test_commands": ["true | cat"]}, inner={"max_concurrency": 4}, quality_control=control)
    plan_repo.configure(review={"enabled": False})
    options = ("--max-concurrency", "3", "--review", "off", "--retries", "2")
    cut_off(plan_repo, *options, "--update-plan", "--yes")
    asked = plan_repo.runs()[-1]["settings"]
    assert (asked["max_concurrency"], asked["review"], asked["retries"]) == (3, "off", 2)
    command = next_commands(plan_repo)[-1]
    assert command == f"sow run plan.yaml {' '.join(options)} --update-plan --yes"
    plan_repo.plan({"test_commands": ["true | cat", "true"]}, inner={"max_concurrency": 4}, quality_control=control)
    result = plan_repo.repo.sow(*shlex.split(command)[1:])
    assert result.code == 0, result
    assert plan_repo.runs()[-1]["settings"] == asked
    assert "status: completed" in (plan_repo.repo.root / "plan.yaml").read_text()


@pytest.mark.full
def test_the_options_are_those_of_the_last_call(plan_repo: PlanRepo) -> None:
    """An option that the last call did not have is not repeated."""
    plan_repo.act("implementer-010", "sow task set status paused --reason 'Which port?'\n")
    plan_repo.plan("First")
    assert plan_repo.run("--retries", "2", "--yes").code == 4
    assert next_commands(plan_repo)[-1] == "sow run plan.yaml --retries 2 --yes"
    assert plan_repo.run().code == 4
    assert next_commands(plan_repo)[-1] == "sow run plan.yaml"


@pytest.mark.full
def test_without_a_journal_the_hint_uses_the_state(plan_repo: PlanRepo) -> None:
    """Without the journal the hint has the options in the run's state."""
    plan_repo.plan("First")
    cut_off(plan_repo, "--retries", "5", "--yes")
    (path,) = plan_repo.repo.root.glob(".sow/local/runs/*/journal.jsonl")
    path.unlink()
    path.mkdir()
    (idle,) = plan_repo.repo.ok("status", "--json").json["idle"]
    assert idle["do"] == "sow run plan.yaml --retries 5"


@pytest.mark.full
def test_a_broken_config_does_not_stop_a_report(plan_repo: PlanRepo) -> None:
    """With a broken config the hint is compared with the defaults."""
    plan_repo.configure(run={})
    plan_repo.plan("First")
    cut_off(plan_repo, "--retries", "5")
    Path(plan_repo.repo.environment["HOME"], ".config", "sow", "config.yaml").write_text("run: [\n")
    assert next_commands(plan_repo)[-1] == "sow run plan.yaml --retries 5"


@few_of("where", ["config", "call"], 0)
def test_a_spent_budget_is_raised(plan_repo: PlanRepo, where: str) -> None:
    """After a run that spent its money the command has a larger amount, and it completes the rest."""
    turns = [{"write": {"path": "part_{task}.txt", "text": "done\n"}}, {"status": "needs_review"}]
    plan_repo.simulated("paid", "implementer", turns)
    plan_repo.configure(review={"enabled": False}, budgets={"run_usd": 0.0001} if where == "config" else {})
    plan_repo.plan("First", "Second < 1")
    arguments = ("--max-cost", "0.0001") if where == "call" else ()
    assert plan_repo.run(*arguments).code == 4
    step = plan_repo.repo.ok("runs", "show", "--json").json["next"][0]
    assert "is spent" in step["text"]
    assert step["text"].endswith(": raise it, and continue with the open task")
    raised = shlex.split(step["command"])
    assert raised[:-1] == ["sow", "run", "plan.yaml", "--max-cost"]
    assert plan_repo.repo.sow(*raised[1:]).code == 0


@pytest.mark.full
def test_a_budget_of_turns_is_raised_in_the_settings(plan_repo: PlanRepo) -> None:
    """A budget that has no option is raised in the settings."""
    plan_repo.configure(review={"enabled": False}, budgets={"run_spawns": 1})
    plan_repo.plan("First", "Second < 1")
    assert plan_repo.run().code == 4
    step = plan_repo.repo.ok("runs", "show", "--json").json["next"][0]
    assert step["text"].startswith("the budget of 1 start is spent: raise it (sow config edit), and continue")
    assert step["command"] == "sow run plan.yaml"


@pytest.mark.full
def test_the_path_works_in_the_users_folder(plan_repo: PlanRepo) -> None:
    """From a subfolder the plan's path is relative; from outside of the checkout it is absolute."""
    plan_repo.plan("First")
    folder = plan_repo.repo.root / "calc"
    folder.mkdir()
    plan_repo.act("implementer-010", "exit 1\n")
    run = plan_repo.repo.sow("run", "../plan.yaml", cwd=folder)
    assert "    sow run ../plan.yaml --retry-failed\n" in run.out
    assert next_commands(plan_repo, cwd=folder)[-1] == "sow run ../plan.yaml --retry-failed"
    assert next_commands(plan_repo)[-1] == "sow run plan.yaml --retry-failed"
    outside = plan_repo.repo.ok("--root", str(plan_repo.repo.root), "runs", "show", cwd=plan_repo.folder).out
    assert f"    sow --root {plan_repo.repo.root} run {plan_repo.repo.root}/plan.yaml --retry-failed\n" in outside


@pytest.mark.full
def test_the_checkout_is_named_from_elsewhere(plan_repo: PlanRepo) -> None:
    """From outside, or from another checkout, the command has --root and works there; with SOW_ROOT it needs none."""
    root, elsewhere = str(plan_repo.repo.root), plan_repo.folder.parent / "other checkout"
    elsewhere.mkdir()
    plan_repo.repo.git("init", "-q", str(elsewhere))
    plan_repo.plan("First")
    cut_off(plan_repo)
    whole = ["--root", root, "run", f"{root}/plan.yaml"]
    for cwd in (elsewhere, plan_repo.folder):
        steps = plan_repo.repo.ok("--root", root, "runs", "show", "--json", cwd=cwd).json["next"]
        assert shlex.split(steps[-1]["command"]) == ["sow", *whole]
        (idle,) = plan_repo.repo.ok("--root", root, "status", "--json", cwd=cwd).json["idle"]
        assert idle["do"] == steps[-1]["command"]
    named = plan_repo.repo.ok("runs", "show", "--json", cwd=elsewhere, SOW_ROOT=root).json["next"]
    assert named[-1]["command"] == f"sow run {shlex.quote(f'{root}/plan.yaml')}"
    assert plan_repo.repo.sow(*whole, cwd=elsewhere).code == 0
    assert plan_repo.statuses() == {"010": "completed"}


@pytest.mark.parametrize(
    ("cwd", "plan", "path"),
    [
        ("", "plan.md", "/r/plan.md"),
        ("/r", "-x.md", "./-x.md"),
        ("/r/a/b", "a/plan.md", "../plan.md"),
        ("/rest", "plan.md", "/r/plan.md"),
        ("/r", "/other/plan.md", "/other/plan.md"),
    ],
)
def test_a_path_for_a_folder(cwd: str, plan: str, path: str) -> None:
    """A path is relative only below the checkout, and no path looks like an option."""
    assert HintContext({}, cwd).plan_path("/r", plan) == path


def test_a_workflow_s_run_keeps_its_options(repo) -> None:
    """Its command has those options that `sow workflow run` takes."""
    plans = [{"path": ".sow/orchestration/workflow_coordination_plan.md", "digest": "b" * 64}]
    settings = {"max_concurrency": 2, "schedule": "ready", "isolation": "none", "review": "off", "retries": 0}
    asked = ["max_concurrency", "review", "update_plan", "yes"]
    journal = MadeUpRun(repo, [], plans=plans, settings={**settings, "max_cost": 3.0, "timeout": 0.5})
    journal.begin(asked=asked)
    command = f"sow --root {repo.root} workflow run --max-concurrency 2 --max-cost 3 --timeout 500ms --yes"
    assert next_steps.resume_command(journal.folder, ANY_FOLDER) == command


def test_a_run_of_a_removed_project_has_a_command(repo) -> None:
    """Without the project the command names no tasks."""
    journal = MadeUpRun(repo, ["010"], project_id="0f3f7a6f-8a3e-4e53-bb0c-6f1c02d46d21")
    journal.begin()
    command = f"sow --root {repo.root} run {repo.root}/plan.md"
    assert next_steps.resume_command(journal.folder, ANY_FOLDER) == command
    assert run_report.report_data(journal.home, journal.folder)["next"][-1]["command"] == command


@pytest.mark.full
def test_the_printed_steps_complete_a_failed_task(plan_repo: PlanRepo) -> None:
    """After a failure the printed steps, run in order, complete the work."""
    plan_repo.act("implementer-010-1", "exit 1\n")
    plan_repo.plan("First", "Second < 1")
    assert plan_repo.run().code == 1
    commands = next_commands(plan_repo)
    assert commands == ["sow task show 010", "sow run plan.yaml --retry-failed"]
    codes = [plan_repo.repo.sow(*shlex.split(command)[1:]).code for command in commands]
    assert codes == [0, 0]
    assert set(plan_repo.statuses().values()) == {"completed"}


def test_settings_of_the_plan_are_no_options(plan_repo: PlanRepo) -> None:
    """Network and sandbox come from the plan, so the command does not repeat them."""
    plan_repo.plan("First", inner={"network": "all", "sandbox": "auto"})
    cut_off(plan_repo)
    assert plan_repo.runs()[-1]["settings"]["network"] == "all"
    command = next_commands(plan_repo)[-1]
    assert "--network" not in command
    assert "--sandbox" not in command
