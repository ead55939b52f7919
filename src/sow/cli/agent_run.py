"""sow agent spawn and resume: the words on the way to a turn, what is seen of it, and how it ended."""

from __future__ import annotations

import os
import time

from sow import config as configs
from sow.agents.registry import AgentRegistry
from sow.cli.context import Context
from sow.cli.output import emit
from sow.domain.text import is_model
from sow.engine import work
from sow.engine.turn import Crew, Seat
from sow.errors import Failed, SowError, Waiting
from sow.executors.registry import adapter
from sow.store import desk as desks
from sow.store import project as projects
from sow.store import sessions
from sow.system.terminal import err, harmless, harmless_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.agents.agent import Agent
    from sow.config import Config, ExecutorConfig
    from sow.engine.turn import Result
    from sow.executors.story import Event
    from sow.store.home import Home


class Wish:
    """How a person wants the turn to be taken and shown."""

    __slots__ = ("dry_run", "json", "model", "timeout", "verbose")

    def __init__(self, *, model: str, timeout: str, verbose: bool, dry_run: bool, json: bool) -> None:
        self.model = model
        self.timeout = configs.seconds(timeout) if timeout else 0
        self.verbose = verbose
        self.dry_run = dry_run
        self.json = json

    def crew(self, context: Context, home: Home, config: Config) -> Crew:
        tell = _silent if self.json else _live
        return Crew(home, config, context.environment, tell=tell, model=self.model, timeout=self.timeout)


def registry_of(context: Context, home: Home, config: Config) -> AgentRegistry:
    """The roles of this checkout."""
    user_home = context.environment.get("HOME", "")
    return AgentRegistry(root=home.root, user_home=user_home, trusted=config.trusts(home.root))


def spawn_worker(context: Context, agent: str, task: str, wish: Wish, *, executor: str, fresh: bool) -> int:
    actor = context.judge("spawn a worker")
    home = context.home()
    config = configs.load(context.environment)
    role = registry_of(context, home, config).get(agent)
    name, origin = (executor, "from --executor") if executor else config.binding(agent)
    others = [] if executor else config.fallbacks.get(agent, [])
    chosen = [config.executor(each) for each in (name, *others)]
    accept_model(chosen[0], wish.model)
    if wish.verbose:
        explain(config, role.name, chosen[0], origin)
    crew = wish.crew(context, home, config)
    if wish.dry_run:
        return _show_command(crew, task, role, chosen[0], resume=False)
    return _tell(work.spawn(crew, task, role, chosen, actor=actor, fresh=fresh), json=wish.json)


def resume_worker(context: Context, task: str, words: str, wish: Wish) -> int:
    actor = context.judge("resume a worker")
    home = context.home()
    config = configs.load(context.environment)
    desk = desks.find(home, projects.load(home), task)
    state = desk.task()
    role = registry_of(context, home, config).get(state["assigned_agent"])
    bound, origin = config.binding(role.name)
    record = sessions.current(desk, state["session_id"]) if "session_id" in state else None
    name = record.session["executor"] if record else bound
    if name != bound:
        origin = "from the session"
        err(f"note: the session was made with {name}, so it goes on there; {role.name} is bound to {bound} now")
    chosen = config.executor(name)
    accept_model(chosen, wish.model)
    if wish.verbose:
        explain(config, role.name, chosen, origin)
    crew = wish.crew(context, home, config)
    if wish.dry_run:
        return _show_command(crew, task, role, chosen, resume=True)
    return _tell(work.resume(crew, task, role, chosen, words, actor=actor), json=wish.json)


def accept_model(executor: ExecutorConfig, model: str) -> None:
    """Refuse --model where the CLI has no such choice, or where the CLI could take it for a flag."""
    if model and not is_model(model):
        raise SowError(f"--model {model!r:.80} is not the name of a model", "use one word, such as sonnet")
    if model and not adapter(executor.type).capabilities.model:
        raise SowError(
            f'executor "{executor.name}" takes no model',
            "leave --model out, or choose another executor with --executor",
        )


def _silent(event: Event) -> None:
    return


def _live(event: Event) -> None:
    """The worker's own words and its tool calls, as they come."""
    if event.kind in ("text", "raw") and event.text.strip():
        out(harmless(event.text))
    elif event.kind == "tool":
        out(f"  · {harmless_line(event.text)}")
    elif event.kind in ("retry", "limit", "error") and (event.text or event.status):
        err(f"  ! {harmless_line(event.text)} {event.status or ''}".rstrip())


def explain(config: Config, role: str, executor: ExecutorConfig, origin: str) -> None:
    """How the executor was chosen, in the seed's words."""
    state = "exists" if config.exists else "not found, using defaults"
    err("Loading agent configuration...")
    err(f"Config file: {config.path} ({state})")
    err(f"Agent: {role}")
    err(f"Executor: {executor.name} ({origin})")
    settings = f"Settings: yolo_mode={str(executor.yolo).lower()} ({executor.origin_of('yolo_mode')})"
    err(settings + (f", model={executor.model} ({executor.origin_of('model')})" if executor.model else ""))


def _show_command(crew: Crew, task: str, role: Agent, executor: ExecutorConfig, *, resume: bool) -> int:
    """The command line and the names of the environment; nothing is written and nothing is started."""
    project = projects.load(crew.home)
    seat = Seat(crew, desks.find(crew.home, project, task), project, role, executor)
    call, request, names = seat.preview(resume=resume)
    import shlex

    out(shlex.join([seat.binary(), *call.arguments]))
    out(f"in {request.cwd}, with the prompt on stdin")
    out("environment: " + " ".join(names))
    return 0


def _tell(result: Result, *, json: bool) -> int:
    """The end of a turn: remarks, what it cost, and the task's status last."""
    turn = result.record.session["turns"][-1]
    if json:
        emit(
            {
                "task": result.task,
                "executor": result.executor,
                "outcome": result.outcome.kind,
                "reason": result.outcome.reason,
                "turn": turn,
                "transcript": result.record.folder,
                "remarks": result.remarks,
            }
        )
    else:
        for remark in result.remarks:
            err(f"note: {harmless_line(remark)}")
        err(_cost(turn))
    _refuse(result)
    if not json:
        out(f"task {result.task['id']}: status is {result.status}")
    return 0


def _cost(turn: object) -> str:
    facts = turn if isinstance(turn, dict) else {}
    cost = "unknown" if facts.get("cost_usd") is None else f"${facts['cost_usd']:.4f}"
    tokens = (
        "unknown"
        if facts.get("input_tokens") is None
        else f"{facts['input_tokens']} in, {facts.get('output_tokens')} out"
    )
    return f"turn {facts.get('number')}: {facts.get('seconds', 0):.0f} s, cost {cost}, tokens {tokens}"


def _refuse(result: Result) -> None:
    """A turn that did not happen, or did not end, is an error with the next step."""
    kind, reason, task = result.outcome.kind, harmless_line(result.outcome.reason), result.task["id"]
    again = f'sow agent resume {task} "Go on"'
    where = os.path.join(result.record.folder)
    if kind == "limited":
        until = (
            "at " + time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(result.outcome.reset_at))
            if result.outcome.reset_at
            else "later"
        )
        raise Waiting(
            f"{result.executor} has reached its limit: {reason}", f"no attempt was counted; go on {until}: {again}"
        )
    if kind == "interrupted":
        raise KeyboardInterrupt
    if kind == "timeout":
        raise Failed(
            f"the turn on task {task} was stopped: {result.outcome.reason}", f"go on with the same session: {again}"
        )
    if kind != "done" and result.status == "in_progress":
        raise Failed(
            f"the turn on task {task} did not happen: {kind}: {reason}", f"its output is in {where}; try again: {again}"
        )
