"""Runs one turn of a worker for `sow agent spawn` and `sow agent resume`."""

from __future__ import annotations

from sow import config as configs
from sow.cli.agents.screen import Screen
from sow.cli.context import Context
from sow.domain import ids, inputs
from sow.engine.turns import task_turn
from sow.engine.turns.turn_settings import TurnSettings
from sow.errors import SowError
from sow.executors.registry import adapter
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.runs import sessions
from sow.system.process.generator_steps import run_to_end
from sow.system.terminal import err

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sow.config import Config, ExecutorConfig
    from sow.engine.turns.turn_settings import TurnResult
    from sow.store.files.checkout_home import Home


class TurnOptions:
    """The user's options for one turn."""

    __slots__ = ("dry_run", "json", "model", "screen", "timeout", "verbose")

    def __init__(self, *, model: str, timeout: str, verbose: bool, dry_run: bool, json: bool) -> None:
        self.model = model
        self.timeout = configs.seconds(timeout) if timeout else 0
        self.verbose = verbose
        self.dry_run = dry_run
        self.json = json
        self.screen = Screen(quiet=json)

    def settings(self, context: Context, home: Home, config: Config) -> TurnSettings:
        tell = self.screen.show
        return TurnSettings(home, config, context.environment, tell=tell, model=self.model, timeout=self.timeout)


def spawn_worker(context: Context, *, agent: str, task: str, executor: str, fresh: bool, **turn: Any) -> int:
    options, task = TurnOptions(**turn), ids.task_id(task)
    actor = context.require_non_worker("spawn a worker")
    home = context.project_home()
    config = configs.load(context.environment)
    role = context.agents(home.root, config).get(agent)
    name, origin = (executor, "from --executor") if executor else config.binding(agent)
    fallbacks = [] if executor else config.fallbacks.get(agent, [])
    candidates = [config.executor(executor_name) for executor_name in (name, *fallbacks)]
    check_model(candidates[0], options.model)
    if options.verbose:
        explain(config, role.name, candidates[0], origin, options.model)
        explain_fallbacks(candidates, options.model)
    settings = options.settings(context, home, config)
    if options.dry_run:
        from sow.cli.agents.dry_run import show
        from sow.engine.turns import dry_run

        return show(dry_run.spawn(settings, task, role, candidates[0], fresh=fresh), json=options.json)
    return _run_turn(
        home,
        task,
        with_git_guard(
            home,
            candidates,
            lambda: run_to_end(task_turn.spawn(settings, task, role, candidates, actor=actor, fresh=fresh)),
        ),
        options,
    )


def resume_worker(context: Context, *, task: str, prompt: str, executor: str, **turn: Any) -> int:
    message = inputs.checked_text(context.text(prompt, "the prompt"), "the prompt", 4 << 20)
    options, task = TurnOptions(**turn), ids.task_id(task)
    actor = context.require_non_worker("resume a worker")
    home = context.project_home()
    config = configs.load(context.environment)
    folder = task_folder.find(home, projects.load(home), task)
    state = folder.task()
    role = context.agents(home.root, config).get(state["assigned_agent"])
    bound, origin = config.binding(role.name)
    record = sessions.current(folder, state["session_id"]) if "session_id" in state else None
    name = executor or (record.session["executor"] if record else bound)
    if executor:
        origin = "from --executor"
    elif name != bound:
        origin = "from the session"
        err(f"note: the session was made with {name}, so it goes on there; {role.name} is bound to {bound} now")
    chosen = _executor(config, name, task, explicit=bool(executor))
    check_model(chosen, options.model)
    if options.verbose:
        explain(config, role.name, chosen, origin, options.model)
    settings = options.settings(context, home, config)
    if options.dry_run:
        from sow.cli.agents.dry_run import show
        from sow.engine.turns import dry_run

        return show(dry_run.resume(settings, task, role, chosen), json=options.json)
    return _run_turn(
        home,
        task,
        with_git_guard(
            home, [chosen], lambda: run_to_end(task_turn.resume(settings, task, role, chosen, message, actor=actor))
        ),
        options,
    )


def _executor(config: Config, name: str, task: str, *, explicit: bool) -> ExecutorConfig:
    """Returns the executor of a session, or raises an error that says how to choose another one."""
    if name in config.executors or explicit:
        return config.executor(name)
    raise SowError(
        f"the session of task {task} was made with executor {name}, which is not configured any more",
        f"define it again (sow config edit), or name another one: sow agent resume {task} … --executor NAME",
    )


def _run_turn(home: Home, task: str, turn: Callable[[], TurnResult], options: TurnOptions) -> int:
    """Runs a turn and reports its result; the user may interrupt it at any time."""
    try:
        result = turn()
        from sow.cli.agents.result import print_result  # imported late to start the worker sooner

        return print_result(result, json=options.json, shown=options.screen.has_shown(result.outcome.text))
    except KeyboardInterrupt:
        from sow.cli.agents.result import interruption

        raise interruption(home, task) from None


def with_git_guard(
    home: Home, executors: list[ExecutorConfig], turn: Callable[[], TurnResult]
) -> Callable[[], TurnResult]:
    """Guards the git folder during a turn if sow must ask git what the CLI changed."""
    if all(adapter(executor.type).capabilities.structured for executor in executors):
        return turn
    from sow.store import git_watch

    def take() -> TurnResult:
        with git_watch.sealed_repository(home):
            result = turn()
            result.remarks += [
                f"meanwhile {change}; undo it: {git_watch.UNDO}" for change in git_watch.new_changes(home)
            ]
            return result

    return take


def explain_fallbacks(executors: list[ExecutorConfig], model: str) -> None:
    """Prints the fallback executors and their models; --model applies only to the type of the first one."""
    for fallback in executors[1:]:
        given_model = model if fallback.type == executors[0].type else ""
        default_model = f"{fallback.model} ({fallback.origin_of('model')})" if fallback.model else "its own default"
        note = f"; --model {model} is for {executors[0].type} alone" if model and not given_model else ""
        err(f"Fallback: {fallback.name}, model={given_model or default_model}{note}")


def check_model(executor: ExecutorConfig, model: str) -> None:
    """Refuses --model if the executor takes no model, or if the CLI could read the value as a flag."""
    if model and not inputs.is_model(model):
        raise SowError(f"--model {model!r:.80} is not the name of a model", "use one word, such as sonnet")
    if model and not adapter(executor.type).capabilities.model:
        raise SowError(
            f'executor "{executor.name}" takes no model',
            "leave --model out, or choose another executor with --executor",
        )


def explain(config: Config, role: str, executor: ExecutorConfig, origin: str, model: str) -> None:
    """Prints how the executor was chosen."""
    state = "exists" if config.exists else "not found, using defaults"
    err("Loading agent configuration...")
    err(f"Config file: {config.path} ({state})")
    err(f"Agent: {role}")
    err(f"Executor: {executor.name} ({origin})")
    settings = f"Settings: yolo_mode={str(executor.yolo).lower()} ({executor.origin_of('yolo_mode')})"
    model_name, model_origin = (model, "from --model") if model else (executor.model, executor.origin_of("model"))
    err(settings + (f", model={model_name} ({model_origin})" if model_name else ""))
