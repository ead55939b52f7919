"""Opens the orchestrator in an agent CLI (`sow start`, `sow continue`)."""

from __future__ import annotations

from sow import config as configs
from sow.agents import orchestrator_prompt
from sow.agents.orchestrator_prompt import ROLE, Situation
from sow.cli import feature_branch
from sow.cli.agent_run import registry_of
from sow.cli.context import Context
from sow.cli.opening import Opening, need_terminal
from sow.cli.project import plan_project
from sow.cli.spec import Argument, Command, Option
from sow.domain import text
from sow.domain.ids import slug_of
from sow.domain.phase import new_phases
from sow.engine.own_command import sow_word
from sow.engine.standpoint import Standpoint
from sow.errors import SowError
from sow.store import project as projects
from sow.store.home import FORBIDDEN_BRANCHES
from sow.store.layout import lay_out
from sow.system import clock
from sow.system.terminal import harmless, harmless_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.home import Home

LONGEST_NAME = 100


class Goal:
    """The user's goal for a new project, checked before anything is created."""

    __slots__ = ("branch", "name", "phases", "words")

    def __init__(self, context: Context, goal: str, branch: str, phases: str) -> None:
        raw = text.text(context.text(goal, "the goal"), "the goal", 20_000)
        self.words = text.text(harmless(raw), "the goal", 20_000).strip()
        first = next(line for line in self.words.split("\n") if line.strip())
        self.name = text.line(" ".join(first.split())[:LONGEST_NAME], "the goal")
        self.phases = [phase.strip() for phase in phases.split(",")] if phases else []
        self.branch = feature_branch.check_name(branch) if branch else ""
        new_phases(self.phases, now=clock.now())

    def branch_from(self, current: str) -> str:
        """Returns the branch of the new project."""
        default = f"sow/{slug_of(self.name) or 'project'}"
        return self.branch or (default if current in (*FORBIDDEN_BRANCHES, "") else current)

    @property
    def about(self) -> str:
        """Returns the goal as an argument of sow; a leading @ is doubled because @ names a file."""
        return self.words.replace("@", "@@", 1) if self.words.startswith("@") else self.words


def start(context: Context, *, goal: str, branch: str, phases: str, executor: str, print: bool) -> int:
    home = context.place()
    new_goal = Goal(context, goal, branch, phases)
    _refuse_second(home)
    if print:
        return _show(context, home, _new(home, new_goal))
    context.person("open the orchestrator")
    instead = "take its prompt elsewhere: sow start --print …"
    need_terminal("the orchestrator", instead)
    opening = _opening(context, executor, instead)
    _begin(context, home, new_goal)
    return _open(context, home, opening)


def go_on(context: Context, *, executor: str, print: bool) -> int:
    home = context.home()
    situation = _situation(home, Standpoint(context.environment, context.cwd))
    if print:
        return _show(context, home, situation)
    context.person("open the orchestrator")
    instead = "take its prompt elsewhere: sow continue --print"
    need_terminal("the orchestrator", instead)
    return _open(context, home, _opening(context, executor, instead))


def _refuse_second(home: Home) -> None:
    if projects.exists(home):
        path = home.relative(projects.path(home))
        raise SowError(f"{path} exists: one project per branch", "go on with it: sow continue")


def _begin(context: Context, home: Home, goal: Goal) -> None:
    """Creates the branch, the .sow folder and the project."""
    if goal.branch:
        feature_branch.go_to(home, goal.branch)
        _refuse_second(home)
    else:
        feature_branch.leave_main(home, goal.branch_from(home.checkout.branch()))
    lay_out(home)
    project = plan_project(context, home, name=goal.name, description=goal.about, phases=goal.phases)()
    out(harmless_line(f"project {project['name']} on branch {project['branch']}"))


def _new(home: Home, goal: Goal) -> Situation:
    """Returns the prompt's section for a goal without a project."""
    import shlex

    sow, current = sow_word(), home.checkout.branch()
    branch = goal.branch_from(current)
    begin = [] if branch == current else [f"git switch -c {shlex.quote(branch)}"]
    command = [sow, "init", "--project", shlex.quote(goal.name)]
    command += [f"--phase {phase}" for phase in goal.phases]
    if goal.words != goal.name:
        command.append("--description=" + shlex.quote(" ".join(goal.about.split())))
    begin.append(" ".join(command))
    situation = Situation(root=home.root, branch=current, sow=sow, goal=goal.words)
    return orchestrator_prompt.new_project(situation, begin=begin)


def _situation(home: Home, standpoint: Standpoint) -> Situation:
    """Returns the prompt's section for the current project or workflow."""
    from sow.cli.status import document
    from sow.store.workflow_glance import glance

    situation = Situation(root=home.root, branch=home.checkout.branch(), sow=sow_word())
    if projects.exists(home):
        status = document(home, standpoint)
        project, step = status["project"], status["next"]
        phases = " → ".join(f"{phase['name']} ({phase['status']})" for phase in status["phases"])
        return orchestrator_prompt.known_project(
            situation,
            name=harmless_line(project["name"]),
            description=harmless_line(project["description"])[:2000],
            phases=phases,
            step=(harmless_line(step["text"]), harmless_line(step["command"])),
        )
    crew = glance(home)
    if crew and crew["name"]:
        return orchestrator_prompt.known_workflow(situation, name=harmless_line(crew["name"]))
    raise SowError(f"{home.root} has no project to go on with", 'start one: sow start "GOAL"')


def _show(context: Context, home: Home, situation: Situation) -> int:
    agents = registry_of(context, home, configs.load(context.environment))
    out(orchestrator_prompt.prompt(agents.get(ROLE), situation))
    return 0


def _opening(context: Context, executor: str, instead: str) -> Opening:
    config = configs.load(context.environment)
    return Opening(config, context.environment, role=ROLE, executor=executor, call="continue --print", instead=instead)


def _open(context: Context, home: Home, opening: Opening) -> int:
    """Opens the CLI; its calls of sow count as the orchestrator's, not as the person's."""
    marks = {"SOW_AGENT": ROLE, "SOW_ROOT": home.root}
    return 1 if opening.run(cwd=home.root, environment={**context.environment, **marks}) else 0


PRINT = Option("--print", help="Print what the orchestrator is told, and start and change nothing")
EXECUTOR = Option("--executor", "NAME", "Another agent CLI than the one that is bound to orchestrator")

COMMANDS = (
    Command(
        "start",
        start,
        "Begin a project for a goal, and open the orchestrator to talk about it",
        arguments=(Argument("goal", "What you want (TEXT, @FILE or -)"),),
        options=(
            Option("--branch", "NAME", "The project's branch, made where it is missing"),
            Option("--phases", "LIST", "Its phases in order, such as design,implementation"),
            EXECUTOR,
            PRINT,
        ),
        details="On main or master without --branch, a branch sow/GOAL is made.",
    ),
    Command(
        "continue",
        go_on,
        "Open the orchestrator to go on with the project of this branch, from what is on disk",
        options=(EXECUTOR, PRINT),
    ),
)
