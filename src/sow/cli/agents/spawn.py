"""Runs one turn of a worker for `sow agent spawn` and `sow agent resume`."""

from __future__ import annotations

from sow import config as configs
from sow.cli.agents.turn_output import TurnOutput
from sow.cli.context import Context
from sow.domain import inputs
from sow.domain.task import ORCHESTRATOR
from sow.engine.turns import task_turn
from sow.engine.turns.turn import TurnSettings
from sow.errors import Interrupted, SowError
from sow.executors.settings import adapter
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.runs import sessions
from sow.system import terminal
from sow.system.process.child_process import run_to_end
from sow.system.terminal import err, escape_line, notes, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.agents.registry import Agent
    from sow.config import Config, ExecutorConfig
    from sow.engine.turns.task_turn import FinishedTurn
    from sow.store.files.checkout_home import Home
    from sow.store.projects.task_folder import TaskChange
    from sow.system.process.steps import Steps


class TurnOptions:
    """The user's options for one turn."""

    __slots__ = ("dry_run", "json", "model", "screen", "timeout")

    def __init__(self, *, model: str, timeout: str, dry_run: bool, json: bool) -> None:
        self.model = model
        self.timeout = configs.seconds(timeout) if timeout else 0
        self.dry_run = dry_run
        self.json = json
        self.screen = TurnOutput(quiet=json or terminal.detail < 0)

    def settings(self, context: Context, home: Home, config: Config) -> TurnSettings:
        return TurnSettings(
            home,
            config,
            context.environment,
            on_event=self.screen.show,
            model=self.model,
            timeout=self.timeout,
            verbs=context.verbs,
        )


def spawn_worker(
    context: Context, *, agent: str, task: str, executor: str, fresh: bool, worktree: bool, **turn: Any
) -> int:
    options, task = TurnOptions(**turn), inputs.task_id(task)
    actor = context.require_non_worker("spawn a worker")
    if worktree:
        raise SowError(
            "agent spawn works in your checkout; only sow run uses worktrees",
            "write a plan with this task, then: sow run PLAN",
        )
    home = context.project_home()
    config = context.config()
    role = config.agents(home.root, context.environment).get(agent)
    _refuse_other_role(home, task, role)
    origin = "from --executor" if executor else config.binding(agent)[1]
    candidates, remarks = config.executors_of(agent, context.environment, executor)
    notes(f"{remark} (sow config edit)" for remark in remarks)
    check_model(candidates[0], options.model)
    if terminal.detail > 0:
        explain(config, role.name, candidates[0], origin, options.model)
        explain_fallbacks(candidates, options.model)
    warn_without_yolo(candidates, role)
    settings = options.settings(context, home, config)
    if options.dry_run:
        from sow.cli.agents.dry_run import show
        from sow.engine.turns import dry_run

        return show(dry_run.spawn(settings, task, role, candidates[0], fresh=fresh), json=options.json)
    turn_steps = task_turn.spawn(settings, task, role, candidates, actor=actor, fresh=fresh)
    return _run_turn(context, home, task, turn_steps, candidates, options, failure="agent execution failed")


def _refuse_other_role(home: Home, task: str, role: Agent) -> None:
    """Refuses a role that the task is not for, because the start would give the task to it."""
    assigned = task_folder.find(home, projects.load(home), task).task()["assigned_agent"]
    if role.name not in (assigned, ORCHESTRATOR):
        raise SowError(
            f"task {task} is for {assigned}, not for {role.name}",
            f"spawn that role: sow agent spawn {assigned} {task}\n"
            f"or assign the task to {role.name}: sow task set {task} agent {role.name}",
        )


def resume_worker(context: Context, *, task: str, prompt: str, executor: str, **turn: Any) -> int:
    message = context.checked_text(prompt, "the prompt", 4 << 20)
    return _resume(context, task, message, executor, recorded=False, **turn)


def _resume(context: Context, task: str, message: str, executor: str, *, recorded: bool, **turn: Any) -> int:
    """Resumes a worker; with `recorded` the task's state already holds the message as an answer."""
    options, task = TurnOptions(**turn), inputs.task_id(task)
    actor = context.require_non_worker("resume a worker")
    home = context.project_home()
    config = context.config()
    folder = task_folder.find(home, projects.load(home), task)
    state = folder.task()
    role = config.agents(home.root, context.environment).get(state["assigned_agent"])
    bound, origin = config.binding(role.name)
    record = sessions.current(folder, state["session_id"]) if "session_id" in state else None
    name = executor or (record.session["executor"] if record else bound)
    if executor:
        origin = "from --executor"
    elif name != bound:
        origin = "from the session"
        err(f"note: resuming on {name}, which started this session")
    chosen = _executor(config, name, task, explicit=bool(executor))
    check_model(chosen, options.model)
    if terminal.detail > 0:
        explain(config, role.name, chosen, origin, options.model)
    warn_without_yolo([chosen], role)
    settings = options.settings(context, home, config)
    if options.dry_run:
        from sow.cli.agents.dry_run import show
        from sow.engine.turns import dry_run

        return show(dry_run.resume(settings, task, role, chosen), json=options.json)
    turn_steps = task_turn.resume(settings, task, role, chosen, message, actor=actor, recorded=recorded)
    return _run_turn(context, home, task, turn_steps, [chosen], options, failure="agent resumption failed")


def _executor(config: Config, name: str, task: str, *, explicit: bool) -> ExecutorConfig:
    """Returns the executor of a session, or raises an error that says how to choose another one."""
    if name in config.executors or explicit:
        return config.executor(name)
    raise SowError(
        f"the session of task {task} uses executor {name}, which is no longer configured",
        f"define it (sow config edit), or use another one: sow agent resume {task} … --executor NAME",
    )


def _run_turn(
    context: Context,
    home: Home,
    task: str,
    turn: Steps[FinishedTurn],
    executors: list[ExecutorConfig],
    options: TurnOptions,
    *,
    failure: str,
) -> int:
    """Runs a turn and reports its result; the user may interrupt it at any time."""
    try:
        result = _with_git_guard(home, executors, turn)
        from sow.cli.agents.result import print_result  # imported late to start the worker sooner
        from sow.reports.idle_tasks import ProjectRuns

        runs = ProjectRuns(home, context.hints())
        code = print_result(result, runs, failure=failure, json=options.json, screen=options.screen)
    except KeyboardInterrupt:
        from sow.cli.agents.result import interruption

        raise interruption(home, task) from None
    if result.status != "paused" or options.json:
        return code
    return _ask_and_resume(context, task)


def _ask_and_resume(context: Context, task: str) -> int:
    """Asks the question of a paused task on the terminal, and resumes its worker with the answer."""
    from sow.cli.tasks.questions import ask_open_questions  # imported late to start the worker sooner
    from sow.store.projects.task_folder import TaskChange

    try:
        if not ask_open_questions(context, [task]):
            return 0
    except KeyboardInterrupt:
        err("")
        raise Interrupted("the question is still open", f'answer it: sow answer {task} "…"') from None
    home = context.project_home()
    folder = task_folder.find(home, projects.load(home), task)
    change = TaskChange(folder, folder.task(), [])
    return continue_task(context, change, change.task["questions"][-1]["answer"], resume=True)


def continue_task(context: Context, change: TaskChange, words: str, *, resume: bool) -> int:
    """Resumes the worker of an answered task, or says what continues the task."""
    from sow.reports.idle_tasks import ProjectRuns, continuation
    from sow.reports.next_steps import is_resumable

    task = change.task
    runs = ProjectRuns(change.folder.home, context.hints())
    text, command = continuation(change.folder, task, runs)
    has_session = "session_id" in task
    if text or not (resume and has_session and task["status"] == "in_progress"):
        advice = text or ("resume its worker with the answer" if has_session else "no worker is on it; start one")
        out(escape_line(f"{advice}: {command}" if command else advice))
        return 0
    turn: dict[str, Any] = {"model": "", "timeout": "", "dry_run": False}
    if is_resumable(change.folder, task):
        return _resume(context, task["id"], words, "", recorded=True, json=False, **turn)
    return spawn_worker(
        context, agent=task["assigned_agent"], task=task["id"], executor="", fresh=True, json=False, **turn
    )


def _with_git_guard(home: Home, executors: list[ExecutorConfig], turn: Steps[FinishedTurn]) -> FinishedTurn:
    """Runs a turn; guards the git folder meanwhile if sow must ask git what the CLI changed."""
    if all(adapter(executor.type).capabilities.structured for executor in executors):
        return run_to_end(turn)
    from sow.store import git_watch

    with git_watch.sealed_repository(home):
        result = run_to_end(turn)
        result.remarks += [f"meanwhile {change}; undo it: {git_watch.UNDO}" for change in git_watch.new_changes(home)]
        return result


def explain_fallbacks(executors: list[ExecutorConfig], model: str) -> None:
    """Prints the fallback executors and their models; --model applies only to the type of the first one."""
    for fallback in executors[1:]:
        given_model = model if fallback.type == executors[0].type else ""
        default_model = f"{fallback.model} ({fallback.origin_of('model')})" if fallback.model else "its own default"
        note = f"; --model {model} applies to {executors[0].type} only" if model and not given_model else ""
        err(f"Fallback: {fallback.name}, model={given_model or default_model}{note}")


def warn_without_yolo(executors: list[ExecutorConfig], role: Agent) -> None:
    """Prints a note, before the start, for each CLI that can change nothing with its settings."""
    for executor in executors:
        warning = "" if role.is_judge else configs.yolo_warning(executor)
        if warning:
            err(f"note: {warning} (sow config edit)")


def check_model(executor: ExecutorConfig, model: str) -> None:
    """Refuses --model if the executor takes no model, or if the CLI could read the value as a flag."""
    if model and not inputs.is_model(model):
        raise SowError(f"--model {model!r:.80} is not a model name", "use one word, such as sonnet")
    if model and not adapter(executor.type).capabilities.model:
        raise SowError(
            f'executor "{executor.name}" takes no model',
            "remove --model, or choose another executor with --executor",
        )


def explain(config: Config, role: str, executor: ExecutorConfig, origin: str, model: str) -> None:
    """Prints how the executor was chosen."""
    err("Loading agent configuration...")
    err(f"Agent: {role}")
    err(f"Executor: {executor.name} ({origin})")
    settings = f"Settings: yolo_mode={str(executor.yolo).lower()} ({executor.origin_of('yolo_mode')})"
    model_name, model_origin = (model, "from --model") if model else (executor.model, executor.origin_of("model"))
    err(settings + (f", model={model_name} ({model_origin})" if model_name else ""))
