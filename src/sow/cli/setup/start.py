"""Opens the orchestrator in an agent CLI (`sow start`, `sow continue`)."""

from __future__ import annotations

from sow.agents import orchestrator_prompt
from sow.agents.orchestrator_prompt import ROLE, Situation
from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.open_cli import InteractiveCli, require_terminal
from sow.cli.project.project import prepare_project
from sow.domain import inputs
from sow.domain.inputs import branch_slug
from sow.domain.task import new_phases
from sow.engine.launch import preflight
from sow.engine.turns.allowed_commands import session_command
from sow.errors import SowError
from sow.reports.next_steps import HintContext
from sow.store.files.checkout_home import FORBIDDEN_BRANCHES, Home
from sow.store.layout import create_missing
from sow.store.projects import project as projects
from sow.system import clock
from sow.system.terminal import escape_control, escape_line, out

LONGEST_NAME = 100
MOST_DECISIONS = 20  # latest ones that the prompt has


class Goal:
    """The user's goal for a new project, checked before anything is created."""

    def __init__(self, context: Context, goal: str, branch: str, phases: str) -> None:
        raw = context.checked_text(goal, "the goal", 20_000)
        self.text = inputs.checked_text(escape_control(raw), "the goal", 20_000).strip()
        first = next(line for line in self.text.split("\n") if line.strip())
        self.name = inputs.checked_line(" ".join(first.split())[:LONGEST_NAME], "the goal")
        self.phases = [phase.strip() for phase in phases.split(",")] if phases else []
        self.branch = preflight.check_branch_name(branch) if branch else ""
        new_phases(self.phases, now=clock.now())

    def branch_from(self, current: str) -> str:
        """Returns the branch of the new project."""
        default = f"sow/{branch_slug(self.name) or 'project'}"
        return self.branch or (default if current in (*FORBIDDEN_BRANCHES, "") else current)

    @property
    def description(self) -> str:
        """Returns what the project's name does not say, as an argument of sow: a leading @ is doubled there."""
        first, _, rest = self.text.partition("\n")
        text = rest.strip() if " ".join(first.split()) == self.name else self.text
        return f"@{text}" if text.startswith("@") else text


def start(context: Context, *, goal: str, branch: str, phases: str, executor: str, print: bool) -> int:
    home = context.checkout()
    new_goal = Goal(context, goal, branch, phases)
    _require_no_project(home)
    if print:
        return _show(context, home, _new_project_situation(home, new_goal, session_command(context.environment)))
    context.require_person("open the orchestrator")
    instead = "print its prompt: sow start --print …"
    require_terminal("the orchestrator", instead)
    opening = _opening(context, executor, instead)
    _create_project(context, home, new_goal)
    return _open(context, home, opening)


def continue_project(context: Context, *, executor: str, print: bool) -> int:
    home = context.project_home()
    situation = _situation(home, context.hints(), session_command(context.environment))
    if print:
        return _show(context, home, situation)
    context.require_person("open the orchestrator")
    instead = "print its prompt: sow continue --print"
    require_terminal("the orchestrator", instead)
    return _open(context, home, _opening(context, executor, instead))


def _require_no_project(home: Home) -> None:
    if projects.exists(home):
        path = home.relative(projects.path(home))
        raise SowError(f"{path} exists: one project per branch", "continue it: sow continue")


def _create_project(context: Context, home: Home, goal: Goal) -> None:
    """Creates the branch, the .sow folder and the project."""
    if goal.branch:
        preflight.switch_to(home, goal.branch)
        _require_no_project(home)
    else:
        preflight.leave_main(home, goal.branch_from(home.checkout.branch()))
    create_missing(home)
    project = prepare_project(context, home, name=goal.name, description=goal.description, phases=goal.phases)()
    out(escape_line(f"project {project['name']} on branch {project['branch']}"))


def _new_project_situation(home: Home, goal: Goal, sow: str) -> Situation:
    """Returns the prompt's section for a goal without a project."""
    import shlex

    current = home.checkout.branch()
    branch = goal.branch_from(current)
    begin = [] if branch == current else [f"git switch -c {shlex.quote(branch)}"]
    command = [sow, "init", "--project", shlex.quote(goal.name)]
    command += [f"--phase {phase}" for phase in goal.phases]
    if goal.description:
        command.append("--description=" + shlex.quote(" ".join(goal.description.split())))
    begin.append(" ".join(command))
    situation = Situation(root=home.root, branch=current, sow=sow, goal=goal.text)
    return orchestrator_prompt.new_project(situation, begin=begin)


def _situation(home: Home, hint_context: HintContext, sow: str) -> Situation:
    """Returns the prompt's section for the current project or workflow."""
    from sow.cli.project.status import document
    from sow.store.workflows.summary import summary

    situation = Situation(root=home.root, branch=home.checkout.branch(), sow=sow)
    if projects.exists(home):
        status = document(home, hint_context)
        project, step = status["project"], status["next"]
        phases = " → ".join(f"{phase['name']} ({phase['status']})" for phase in status["phases"])
        return orchestrator_prompt.resume_project(
            situation,
            name=escape_line(project["name"]),
            description=escape_line(project["description"])[:2000],
            decisions=[escape_line(memory)[:2000] for memory in status["memories"][-MOST_DECISIONS:]],
            phases=phases,
            step=(escape_line(step["text"]), escape_line(step["command"])),
        )
    crew = summary(home)
    if crew and crew["name"]:
        return orchestrator_prompt.resume_workflow(situation, name=escape_line(crew["name"]))
    raise SowError(f"{home.root} has no project", 'start one: sow start "GOAL"')


def _show(context: Context, home: Home, situation: Situation) -> int:
    agents = context.config().agents(home.root, context.environment)
    out(orchestrator_prompt.prompt(agents.get(ROLE), situation))
    return 0


def _opening(context: Context, executor: str, instead: str) -> InteractiveCli:
    config = context.config()
    return InteractiveCli(
        config, context.environment, role=ROLE, executor=executor, call="continue --print", instead=instead
    )


def _open(context: Context, home: Home, opening: InteractiveCli) -> int:
    """Opens the CLI; its calls of sow count as the orchestrator's, not as the person's."""
    marks = {"SOW_AGENT": ROLE, "SOW_ROOT": home.root}
    return 1 if opening.run(cwd=home.root, environment={**context.environment, **marks}) else 0


PRINT = Option("--print", help="Print the orchestrator's prompt, and change nothing")
EXECUTOR = Option("--executor", "NAME", "Use this agent CLI, not the one bound to orchestrator", completes="executors")

COMMANDS = (
    Command(
        "start",
        start,
        "Begin a project, and talk to its agent, the orchestrator",
        Argument("goal", "What you want (TEXT, @FILE or -)"),
        Option("--branch", "NAME", "The project's branch; created if it is missing"),
        Option("--phases", "LIST", "The phases in order, such as design,implementation"),
        EXECUTOR,
        PRINT,
        details="On main or master, sow creates the branch sow/GOAL, unless you name one with --branch.",
    ),
    Command(
        "continue",
        continue_project,
        "Open the orchestrator for the project of this branch",
        EXECUTOR,
        PRINT,
    ),
)
