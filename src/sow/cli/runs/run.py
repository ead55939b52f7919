"""Runs a plan, from its file to merged work (`sow run`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sow.cli.context import Context
from sow.cli.plans import load
from sow.cli.plans.write_back import write_statuses
from sow.cli.runs import live
from sow.cli.runs.dry_run import show_dry_run
from sow.cli.runs.live import Live
from sow.cli.tasks.questions import ask_open_questions
from sow.config import Config, seconds
from sow.engine.launch import launch, preflight, run_request
from sow.engine.launch.run_request import RunRequest
from sow.engine.runs.run_context import LocalTurns, require_sandbox
from sow.errors import SowError
from sow.reports import run_report
from sow.system.terminal import notes

if TYPE_CHECKING:
    from sow.cluster.carrier import Carrier


def run(
    context: Context,
    *,
    plan: list[str],
    tag: str,
    parallel_stories: bool,
    issue: str,
    label: str,
    task: list[str],
    retry_failed: bool,
    give_up: list[str],
    take_over: bool,
    update_plan: bool,
    dry_run: bool,
    yes: bool,
    json: bool,
    **call: str,
) -> int:
    actor = context.require_non_worker("run a plan")
    home = context.checkout()
    if not dry_run:
        home.refuse_second_run()
    config = context.config()
    plan = load.plan_or_issues(context, "run", plan, issue=issue, label=label)
    reading = load.load_valid(context, plan, tag=tag, parallel_stories=parallel_stories)
    if reading is None:
        return load.BAD_PLAN
    turns = _turns(context, config, call, take_over=take_over)
    concurrency = call["max_concurrency"] or (str(turns.capacity()) if turns.is_remote else "")
    settings = run_request.settings_of(config, reading.plan, {**call, "max_concurrency": concurrency})
    default_reviewers = [str(name) for name in config.setting("review", "agents")]
    agents = config.agents(home.root, context.environment, default_reviewers)
    reviewers, remarks = run_request.reviewers_of(config, reading.plan, agents)
    request = RunRequest(
        home=home,
        config=config,
        environment=context.environment,
        actor=actor,
        reading=reading,
        settings=settings,
        agents=agents,
        reviewers=reviewers,
        plan_paths=plan,
        tasks=task,
        typed_options=run_request.typed_options(
            {**call, "tag": tag},
            parallel_stories=parallel_stories,
            retry_failed=retry_failed,
            update_plan=update_plan,
            yes=yes,
        ),
        retry_failed=retry_failed,
        given_up=give_up,
        json=json,
        verbs=context.verbs,
        turns=turns,
    )
    require_sandbox(config, context.environment)
    run_request.check_roles(request)
    wanted = preflight.selected_plan_ids(request)
    notes(remarks if settings["review"] == "on" else ())
    if dry_run:
        return show_dry_run(request, wanted=wanted)
    preflight.refuse_missing_dependencies(request)
    preflight.confirm_doubts(request)
    code, folder = launch.run_plan(request, TerminalDisplay(context, request))
    if folder is not None and not json:
        with suppress(BrokenPipeError):  # a closed pipe does not change the result of the run
            live.show_report(run_report.report_data(request.home, folder, context.hints()))
    return code


def _turns(context: Context, config: Config, call: Mapping[str, str], *, take_over: bool) -> LocalTurns:
    """Returns what takes the turns of the run: this machine, or those of --on or --cluster."""
    cluster = call["cluster"] or ("" if call["on"] else context.environment.get("SOW_CLUSTER", ""))
    option = "--cluster" if cluster else "--on"
    if cluster and call["on"]:
        raise SowError("--on and --cluster are two ways to other hosts", "leave out one of them")
    if take_over and not cluster:
        raise SowError("--take-over is for runs on a cluster", "add --cluster, or leave out --take-over")
    if not (cluster or call["on"]):
        return LocalTurns()
    isolation = call["isolation"] or str(config.setting("run", "isolation"))
    if isolation == "none":
        raise SowError(f"{option} needs a worktree for each task", "leave out --isolation none")
    from sow.cluster.remote_turns import RemoteTurns

    if cluster:
        return RemoteTurns(_cluster(context, config, cluster), config, take_over=take_over)
    from sow.cluster.ssh_carrier import SshCarrier, parse_hosts

    lost_after, fetch_mb = (config.setting("cluster", name) for name in ("lost_after", "fetch_mb"))
    carrier = SshCarrier(parse_hosts(call["on"]), lost_after=seconds(str(lost_after)), fetch_mb=fetch_mb)
    carrier.connect()
    return RemoteTurns(carrier, config)


def _cluster(context: Context, config: Config, address: str) -> Carrier:
    """Returns the connection to the hosts of a cluster."""
    from sow.cluster.cluster_settings import cluster_settings, require_temporal

    require_temporal()
    from sow.cluster.temporal_client import TemporalCarrier

    carrier = TemporalCarrier(cluster_settings(config, context.environment, address))
    carrier.connect(context.checkout().root)
    return carrier


@dataclass(frozen=True)
class TerminalDisplay:
    """Shows the run on the terminal, or as JSON, and asks its questions there."""

    context: Context
    request: RunRequest

    def live(self, expected: Mapping[str, float]) -> Live:
        return Live(json=self.request.json, expected=expected)

    def write_back(self) -> None:
        """Writes the statuses into the plan with --update-plan."""
        if "update_plan" in self.request.typed_options:
            files = self.request.reading.plan.files
            write_statuses(self.context, files, dry_run=False, json=False, quiet=self.request.json)

    def ask_questions(self, tasks: Collection[str]) -> bool:
        return ask_open_questions(self.context, tasks)
