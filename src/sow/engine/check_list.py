"""Runs the check list of a task in a clean checkout of one commit."""

from __future__ import annotations

import hashlib
import os
import shlex

from sow.domain import check_list
from sow.domain.ids import is_task_id
from sow.domain.missing_program import missing_program
from sow.engine import furnishing, outside_imports
from sow.engine.checking import run_check
from sow.engine.place import EnvironmentProblem
from sow.engine.setup_plan import reader_at
from sow.errors import Interrupted
from sow.system import linked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sow.domain.shapes import Check, Evidence
    from sow.engine.checking import Ran
    from sow.engine.setup_plan import Setup
    from sow.engine.ship import Ship
    from sow.engine.slot import Slot
    from sow.engine.steps import Steps

COMMIT, FOLDER = "commit", "folder"
# Variables of a terminal or a login session. Checks have no terminal, so these do not make another environment.
OF_A_LOGIN = frozenset({"TERM", "SSH_AUTH_SOCK", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "XDG_SEAT", "XDG_VTNR"})
HERE = "."  # stands for the checkout's own path, so that the same environment in two slots has one digest


class ListRun:
    """The results of one check list on one commit."""

    __slots__ = ("evidence", "imports_outside", "interrupted", "is_elsewhere", "tails")

    def __init__(self) -> None:
        self.evidence: list[Evidence] = []
        self.tails: dict[str, str] = {}  # command: the end of its output
        self.interrupted = False  # a person stopped it, so the results are incomplete
        self.imports_outside = False  # the user accepted that it imports code of their own checkout
        self.is_elsewhere = False  # the environment is not the wanted one, so nothing was run

    @property
    def passed(self) -> bool:
        return not self.interrupted and all(entry["passed"] for entry in self.evidence)


def run_list(
    ship: Ship,
    checks: Sequence[Check],
    *,
    commit: str,
    tree: str,
    iteration: int,
    name: str,
    kind: str = "",
    fresh: bool = False,
    on_base: bool = False,
    environment_wanted: str = "",
) -> Steps[ListRun]:
    """Run all commands of a list in order; `name` is the task, or the folder that keeps their output.

    Without isolation they run in the shared folder, and the evidence belongs to no commit. `kind` replaces the kind of
    each check in the evidence, such as `merge` or `final`. With `fresh` the setup is built again.
    A command or a setup that this machine cannot run raises EnvironmentProblem. With `on_base` a command does not: on
    the base commit it may call what the work is to make. With `environment_wanted`, a digest, nothing is run in any
    other environment.
    """
    done = ListRun()
    if not checks:
        return done
    wanted: Sequence[Check] = [{**check, "kind": kind} for check in checks] if kind else checks
    if ship.slots is None:
        environment = ship.check_environment(ship.home.root)
        facts: Evidence = {"list": check_list.digest(checks), "scope": FOLDER}  # type: ignore[typeddict-item]
        yield from _run_all(ship, done, wanted, facts, Room(ship, ship.home.root, environment, name, iteration, ""))
        return done
    slot = None if ship.stopping else (yield from ship.slots.take())
    if slot is None:
        done.interrupted = True
        return done
    try:
        setup = ship.setups.of(reader_at(ship.home.root, tree))
        environment = setup.environment(slot.path, setting_up=True)
        room = Room(ship, slot.path, environment, name, iteration, tree, slot)
        yield from _set_up(slot, setup, room, commit, fresh=fresh)
        commands = [check["command"] for check in checks]
        done.imports_outside = outside_imports.are_accepted(ship, setup, commands, slot.path)
        if not done.imports_outside:
            setup.sources = None  # the list needs nothing of the user's checkout
        environment = room.environment = setup.environment(slot.path)
        facts = {  # type: ignore[typeddict-item]
            "list": check_list.digest(checks),
            "scope": COMMIT,
            "setup": setup.key,
            "environment": environment_digest(environment, slot.path),
        }
        if environment_wanted not in ("", facts["environment"]):
            done.is_elsewhere = True
            return done
        yield from _run_all(ship, done, wanted, facts, room, on_base=on_base)
    except Interrupted:
        done.interrupted = True
    finally:
        ship.slots.give(slot)
    return done


def reusable(ship: Ship, recorded: Sequence[Evidence], checks: Sequence[Check], tree: str) -> list[Evidence]:
    """Return the evidence of a whole list that passed on an equal tree, setup and environment; else an empty list."""
    if ship.slots is None or not checks:
        return []
    setup = ship.setups.of(reader_at(ship.home.root, tree))
    slot = f"{ship.home.sow}/local/worktrees/slot-1"
    facts = {"setup": setup.key, "environment": environment_digest(setup.environment(slot), slot)}
    comparable = [entry for entry in recorded if facts.items() <= entry.items()]
    evidence = check_list.last_run(comparable, checks, tree=tree)
    return evidence if all(entry["passed"] for entry in evidence) else []


def is_set_up(ship: Ship, tree: str) -> bool:
    """Tell whether commands set up the checkouts of a tree, so that an earlier list may have changed their output."""
    return bool(ship.setups.of(reader_at(ship.home.root, tree)).commands)


def environment_digest(environment: Mapping[str, str], folder: str) -> str:
    """The identity of an environment, wherever the checkout is."""
    counted = sorted((name, value) for name, value in environment.items() if name not in OF_A_LOGIN)
    text = "".join(f"{name}={value.replace(folder, HERE)}\0" for name, value in counted)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


class Room:
    """The checkout and environment in which commands run, and the folder of their output."""

    __slots__ = ("cwd", "environment", "iteration", "name", "ship", "slot", "tree")

    def __init__(
        self,
        ship: Ship,
        cwd: str,
        environment: Mapping[str, str],
        name: str,
        iteration: int,
        tree: str,
        slot: Slot | None = None,
    ) -> None:
        self.ship = ship
        self.cwd = cwd
        self.environment = environment
        self.name = name
        self.iteration = iteration
        self.tree = tree
        self.slot = slot

    def has_file(self, name: str) -> bool:
        """Tell whether the work has a file of this name."""
        return self.slot.has_named(name) if self.slot is not None else os.path.isfile(f"{self.cwd}/{name}")

    def run(self, check: Check) -> Steps[Ran]:
        """Run one command; one that a person stopped has no result."""
        ship, about_task = self.ship, is_task_id(self.name)
        if about_task:
            ship.step(self.name, f"running {check['command']}"[:120])
        ran = yield from run_check(
            check,
            agreed=ship.agreed,
            iteration=self.iteration,
            tree=self.tree,
            cwd=self.cwd,
            folder=ship.checks_folder(self.name),
            environment=self.environment,
            limits=ship.check_limits(),
        )
        if ran.interrupted:
            raise Interrupted(f"interrupted: `{check['command']}` was not ended", "run the same command again")
        if about_task:
            facts = {key: ran.evidence[key] for key in ("kind", "command", "exit", "seconds", "passed", "iteration")}
            ship.tell("check", task=self.name, **facts)
        return ran


def _run_all(
    ship: Ship, done: ListRun, checks: Sequence[Check], facts: Evidence, room: Room, *, on_base: bool = False
) -> Steps[None]:
    """Run every command, with the tracked files restored before each."""
    baselines = ship.folder.run.get("baselines", ())
    # If the list passed on the base commit, this machine has what it needs, so the work must have broken it.
    never_asks = on_base or any(baseline["passed"] for baseline in baselines if baseline["list"] == facts["list"])
    try:
        for number, check in enumerate(checks):
            if number and room.slot is not None:
                room.slot.restore()
            ran = yield from room.run(check)
            if not never_asks:
                _refuse_missing_program(check["command"], ran, room)
            done.evidence.append({**ran.evidence, **facts})
            done.tails[check["command"]] = ran.tail
    except Interrupted:
        done.interrupted = True


def _refuse_missing_program(command: str, ran: Ran, room: Room) -> None:
    """Raise a question about a command that cannot run on this machine: no worker can change that."""
    code = None if ran.evidence["passed"] else ran.evidence["exit"]
    program = missing_program(command, code, ran.tail, room.has_file)
    if program:
        code = ran.evidence["exit"]
        why = "command not found" if code == 127 else "cannot be executed"
        refused = room.ship.setups.refusal(reader_at(room.ship.home.root, room.tree)) if room.tree else ""
        raise EnvironmentProblem(
            f"`{command}` cannot run here (exit {code}): {program}: {why}",
            f"install {program}, or let worktree.setup install it (sow config edit), then answer this question"
            + (f"\n{refused}" if refused else ""),
        )


def _set_up(slot: Slot, setup: Setup, room: Room, commit: str, *, fresh: bool) -> Steps[None]:
    """Show a commit in a slot with its setup; commands run only if the slot has another setup, or none."""
    outputs = _outputs(slot, setup)
    if outputs is None or fresh:
        linked.remove(f"{slot.files}.setup")
        outputs = None
    copies = [os.path.normpath(path) for path in setup.copies]
    # A copied folder can be large, so it stays. Files and links are made again for every list.
    kept = [path for path in copies if outputs is not None and _is_folder(f"{slot.path}/{path}")]
    slot.show(commit, spare=[*(outputs or ()), *kept])
    root = slot.repository.home.root
    for paths, put in ((setup.links, furnishing.link_in), (setup.copies, furnishing.copy_in)):
        for path in paths:
            if slot.has(furnishing.inner_path(root, slot.path, path)):
                raise furnishing.is_committed(path)
            put(root, slot.path, path)
    if outputs is not None:
        return
    before = set(slot.untracked())
    yield from run_setup(room, setup.commands)
    if setup.commands:
        slot.restore()
    made = [path for path in setup.outputs if os.path.lexists(f"{slot.path}/{path}")]
    made += [path for path in slot.untracked() if path not in before]
    linked.write(f"{slot.files}.setup", "\0".join([setup.key, *dict.fromkeys(made)]))


def run_setup(room: Room, commands: Iterable[Sequence[str]]) -> Steps[None]:
    """Run the setup commands of a checkout; one that fails is a question, because no worker can change that."""
    for command in commands:
        shown = shlex.join(command)
        ran = yield from room.run({"kind": "dependency", "command": shown})
        if not ran.evidence["passed"]:
            raise EnvironmentProblem(
                f"the setup of the checkout failed: {shown} (exit {ran.evidence['exit']})\n{ran.tail}".strip(),
                "repair it, or see worktree.setup: sow config edit",
            )


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _outputs(slot: Slot, setup: Setup) -> list[str] | None:
    """Return the outputs of the setup that a slot has; None if it has another setup or lost a part."""
    try:
        with open(f"{slot.files}.setup", encoding="utf-8", errors="surrogateescape") as file:
            key, *paths = file.read().split("\0")
    except FileNotFoundError:
        return None
    is_complete = all(os.path.lexists(f"{slot.path}/{path}") for path in paths)
    return paths if key == setup.key and is_complete else None
