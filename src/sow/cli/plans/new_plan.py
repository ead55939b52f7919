"""Has the planner write a plan for a goal or an issue, and shows it (`sow plan new`)."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from sow import config as configs
from sow.agents.registry import PLANNER
from sow.cli import open_cli
from sow.cli.agents.turn_output import TurnOutput
from sow.cli.context import Context
from sow.cli.output import emit
from sow.cli.plans import load
from sow.cli.plans.show import cost_text, finding, print_plan
from sow.domain import inputs
from sow.domain.inputs import branch_slug
from sow.domain.plans import graph
from sow.domain.plans.graph import GUESSED
from sow.domain.plans.planner_answer import open_questions
from sow.engine.launch import issue_plans
from sow.engine.launch.planner import PlanDraft, PlanGoal, PlannerQuestions, PlanWriter
from sow.engine.turns.allowed_commands import sow_path
from sow.engine.turns.turn import TurnSettings
from sow.errors import SowError, Waiting
from sow.executors.adapter import Event
from sow.gitwork.repository import Repository
from sow.store import planning
from sow.store.files.checkout_home import Home
from sow.store.files.disk import Disk, create_file, free_path, make_folders, read_text
from sow.store.layout import create_missing
from sow.store.planning import PlannerFolder
from sow.store.projects import project as projects
from sow.system.process.child_process import run_to_end
from sow.system.process.program import run_in_front
from sow.system.terminal import ask, err, escape_line, is_interactive, out, read_line

MOST = 100_000  # characters of a goal
MOST_SHOWN = 80  # characters of a goal in a command
FOLDER = "plans"
DRAFT = ".draft"  # the ending of a plan with errors: no folder of plans reads it
GIVE = "name one: sow plan new 'what you want', --from FILE or --issue 12"


@dataclass(frozen=True)
class Target:
    """The new file of a plan; without a path it is named after the plan."""

    home: Home
    path: str

    def write(self, draft: PlanDraft) -> str:
        """Writes the plan to a file that did not exist, and returns its path."""
        ending = DRAFT if draft.errors else ".md"
        if self.path and create_file(self.home.disk, self.path + (DRAFT if draft.errors else ""), draft.text):
            return self.path + (DRAFT if draft.errors else "")
        folder = make_folders(self.home.disk, self.home.root, (FOLDER,))
        stem = self.path.removesuffix(".md") or f"{folder}/{branch_slug(draft.reading.plan.name) or 'plan'}"
        path = free_path(stem, ending)
        while not create_file(self.home.disk, path, draft.text):
            path = free_path(stem, ending)
        return path


def new_plan(
    context: Context, *, goal: str, issue: str, output: str, headless: bool, json: bool, **options: str
) -> int:
    actor = context.require_non_worker("have a plan made")
    home = context.checkout()
    if projects.exists(home):
        projects.load(home)  # the planner is told its goal: a project that cannot be read is refused now
    target = Target(home, _new_file(context, output))
    wanted = _goal(context, home, goal, options["from"], issue)
    asks = is_interactive() and not headless and not json
    config = context.config()
    settings = TurnSettings(
        home,
        config,
        context.environment,
        on_event=Screen(quiet=json or headless).show,
        timeout=configs.seconds(options["timeout"]) if options["timeout"] else 0,
        verbs=context.verbs,
    )
    config.require_program(
        config.executors_of(PLANNER.name, context.environment, options["executor"])[0][0],
        PLANNER.name,
        context.environment,
    )
    commit = Repository(home).find_commit("HEAD")
    if not commit:
        raise SowError(f"{home.root} has no commit yet", "make a first one: git commit --allow-empty -m first")
    if create_missing(home):
        err(escape_line(f"created {home.sow}"))
    folder = planning.begin(home, wanted.text)
    command = _command(home, folder, wanted, {"--from": options["from"], "--executor": options["executor"]}, output)
    writer = PlanWriter(
        settings,
        config.agents(home.root, context.environment),
        folder,
        wanted,
        executor=options["executor"],
        tell=lambda text: err(f"# {escape_line(text)}"),
    )
    with home.claim(f"task-{folder.id}", purpose="sow plan new"):
        draft: PlanDraft | PlannerQuestions | None = None
        while not isinstance(draft, PlanDraft):
            question = planning.open_question(folder)
            if question is None:
                draft = run_to_end(writer.write(commit))
                if isinstance(draft, PlannerQuestions):
                    planning.ask(folder, draft.text, command)
                continue
            words = _asked(home, folder) if asks else ""
            if not words:
                raise _waits(folder, question["description"])
            planning.answer(home, f"{planning.NUMBER}{folder.number}", words, actor=actor)
        path = target.write(draft)
        planning.finish(folder)
    return PlanResult(context, wanted, draft, path, options["executor"]).settle(asks=asks, headless=headless, json=json)


def _goal(context: Context, home: Home, goal: str, file: str, issue: str) -> PlanGoal:
    """Returns the goal from the one place where the user gave it."""
    if sum(map(bool, (goal, file, issue))) != 1:
        several = "a goal, --from and --issue cannot be given together" if goal or file or issue else "no goal is given"
        raise SowError(several, GIVE)
    if issue:
        issues = issue_plans.read_issues(home.root, context.environment, numbers=issue)
        if len(issues) != 1:
            raise SowError("a plan is made from one issue", "work on several at once: sow run --issue 12,15")
        err(f"note: {escape_line(issues[0].note)}")
        return PlanGoal(f"{issues[0].issue.url}\n", issues[0])
    text = _text_of(os.path.join(context.cwd, file), file) if file else context.text(goal, "the goal")
    return PlanGoal(f"{inputs.checked_text(text, 'the goal', MOST).strip()}\n")


def _text_of(path: str, shown: str) -> str:
    try:
        return read_text(Disk(), os.path.realpath(path))
    except FileNotFoundError:
        raise SowError(f"--from: there is no file {shown!r:.200}", "give the path of a text file") from None


def _new_file(context: Context, output: str) -> str:
    """Returns the absolute path of --output; raises if the file exists or its folder does not."""
    if not output:
        return ""
    path = os.path.join(context.cwd, inputs.checked_line(output, "--output", 1000))
    if os.path.lexists(path):
        raise SowError(f"--output: {output!r:.200} is there already", "name a new file; sow never overwrites a plan")
    if not os.path.isdir(os.path.dirname(path)):
        raise SowError(f"--output: there is no folder for {output!r:.200}", f"mkdir -p {os.path.dirname(output)}")
    return path


def _command(home: Home, folder: PlannerFolder, goal: PlanGoal, given: Mapping[str, str], output: str) -> str:
    """Returns the command that continues the planning of this goal."""
    words = ["sow", "plan", "new"]
    text = goal.text.strip()
    if goal.issue is not None:
        words += ["--issue", str(goal.issue.issue.number)]
    elif not given["--from"]:
        is_short = len(text) <= MOST_SHOWN and text.isprintable() and text[0] not in "-@"
        words += [text] if is_short else ["--from", home.relative(folder.goal_path)]
    words += [word for option, value in given.items() if value for word in (option, value)]
    return shlex.join([*words, *(["--output", output] if output else [])])


def _asked(home: Home, folder: PlannerFolder) -> str:
    """Asks the planner's question on the terminal; returns the answer, or an empty text."""
    from sow.cli.tasks.inbox import show_item  # few planners ask

    number = f"{planning.NUMBER}{folder.number}"
    for item in planning.items(home):
        if item["number"] == number:
            show_item(item)
    return read_line(f"Your answer to {number} (press Enter to leave it open):").strip()


def _waits(folder: PlannerFolder, question: str) -> Waiting:
    number = f"{planning.NUMBER}{folder.number}"
    return Waiting(
        f"the planner asks ({number}): {question}", f'sow answer {number} "…", then run the same command again'
    )


class Screen(TurnOutput):
    """Shows what the planner does, but not its answer, which is shown as a plan."""

    def show(self, event: Event) -> None:
        if event.kind not in ("text", "raw"):
            super().show(event)


@dataclass(frozen=True)
class PlanResult:
    """A plan that the planner wrote, and its file."""

    context: Context
    goal: PlanGoal
    draft: PlanDraft
    path: str
    executor: str  # that the user gave, or ""

    @property
    def shown_path(self) -> str:
        return issue_plans.shown_path(self.path, self.context.cwd)

    def command(self, *more: str) -> list[str]:
        """Returns the call of sow that runs the plan."""
        root = ["--root", self.context.root] if self.context.root else []
        executor = ["--executor", self.executor] if self.executor else []
        return [*root, "run", self.shown_path, *executor, *more]

    def settle(self, *, asks: bool, headless: bool, json: bool) -> int:
        """Shows the plan, and lets the user edit it, run it or stop; returns the exit code."""
        if self.draft.errors:
            return self._show_errors(json=json)
        reason = self.goal.issue.approval_reason if self.goal.issue is not None else ""
        next_command = shlex.join(["sow", *self.command()])
        if json:
            emit(self._document(reason, next_command))
        elif headless:
            out(escape_line(self.shown_path))
        else:
            load.print_warnings(load.read(self.context, [self.shown_path]).plan)
            self._show()
        if asks:
            return self._choose()
        if reason:
            raise Waiting(
                f"the plan waits for your approval: {reason}",
                f"read {self.shown_path}, then approve it: {shlex.join(['sow', *self.command('--yes')])}",
            )
        if not json:
            (err if headless else out)(escape_line(f"next: {next_command}"))
        return 0

    def _show_errors(self, *, json: bool) -> int:
        errors = self.draft.errors
        if json:
            emit({"plan": self.shown_path, "valid": False, "errors": [finding(error) for error in errors]})
        for error in errors:
            error.file = self.shown_path
            load.print_finding(error)
        err(f"the plan still has errors after {self.draft.sent_back} iterations; it is kept in {self.shown_path}")
        path, plan = (
            shlex.quote(self.shown_path),
            shlex.quote(self.shown_path.removesuffix(DRAFT).removesuffix(".md") + ".md"),
        )
        err(f"next: correct it, then: mv -n {path} {plan} && sow plan validate {plan}")
        return 1

    def _show(self) -> None:
        out(escape_line(f"wrote {self.shown_path}"))
        out("")
        reading = load.read(self.context, [self.shown_path])
        print_plan(reading, json=False)
        if all(estimate.origin == GUESSED for estimate in reading.expected().values()):
            out("estimated work: unknown, because the plan has no times and no task has finished here")
        out(cost_text(reading, reading.roles()))
        questions = open_questions(reading.sources[0].text)
        if questions:
            out("open questions of the planner:")
        for question in questions:
            out(escape_line(f"- {question}"))

    def _choose(self) -> int:
        """Asks what to do with the plan until the user runs it or stops."""
        while True:
            choice = ask("Edit, run or stop? [e/r/S]")
            if choice in ("r", "run"):
                return run_in_front([sow_path(), *self.command()])
            if choice not in ("e", "edit"):
                out(escape_line(f"next: {shlex.join(['sow', *self.command()])}"))
                return 0
            code = run_in_front(
                [*open_cli.editor(self.context.environment, f"edit {self.shown_path} yourself"), self.path]
            )
            if code == 0 and load.load_valid(self.context, [self.shown_path]) is not None:
                self._show()

    def _document(self, reason: str, next_command: str) -> dict[str, object]:
        reading = self.draft.reading
        plan, minutes = reading.plan, {task: estimate.minutes for task, estimate in reading.expected().items()}
        path = graph.critical_path(plan.needs(), minutes)
        return {
            "plan": self.shown_path,
            "valid": True,
            "name": plan.name,
            "waves": graph.waves(plan.needs()),
            "minutes": {
                "work": round(sum(minutes.values()), 2),
                "critical_path": round(sum(minutes[t] for t in path), 2),
            },
            **reading.expected_cost(reading.roles()),
            "open_questions": open_questions(self.draft.text),
            "warnings": [finding(warning) for warning in plan.warnings],
            "needs_approval": reason or None,
            "next": next_command,
        }
