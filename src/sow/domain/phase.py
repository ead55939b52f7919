"""Phases are ordered: one is active, those before it are completed, those after it wait."""

from __future__ import annotations

from sow.domain.lifecycle import Lifecycle
from sow.errors import IllegalMove, SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sow.domain.shapes import Phase

DEFAULT_PHASE = "implementation"
ALIASES = {"implement": "implementation"}
MAX_NAME = 40

PHASE = Lifecycle(
    "phase",
    start="proposed",
    moves={
        ("proposed", "pending"): "approve",
        ("pending", "active"): "begin",
        ("pending", "completed"): "pass",
        ("active", "completed"): "complete",
        ("active", "pending"): "wait",
        ("completed", "active"): "reopen",
        ("completed", "pending"): "wait",
    },
)


def canonical(name: str) -> str:
    """The phase's own name: `implement` is written `implementation`."""
    return ALIASES.get(name, name)


def check_name(name: str) -> str:
    """The canonical name, if it is fit for a folder."""
    letters = name.replace("-", "").replace("_", "")
    fits = (
        letters.isascii() and letters.isalnum() and name == name.lower() and name[0].isalnum() and len(name) <= MAX_NAME
    )
    if not (name and letters and fits):
        raise SowError(
            f"{name!r} is not a name for a phase", f"use up to {MAX_NAME} of a-z, 0-9, - and _, such as: discovery"
        )
    return canonical(name)


def match(name: str, phases: Sequence[Phase]) -> str:
    """The phase that a person meant: its name, its alias, or a unique prefix."""
    names = [phase["name"] for phase in phases]
    wanted = canonical(name)
    if wanted in names:
        return wanted
    candidates = [each for each in names if name and each.startswith(name)]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise SowError(f"phase {name!r} is ambiguous", "it could be: " + ", ".join(candidates))
    raise SowError(
        f"there is no phase {name!r}",
        f'the phases are: {", ".join(names)}; a new one: sow phase add {name or "NAME"} --reason "…"',
    )


def new_phases(names: Iterable[str], *, now: str) -> list[Phase]:
    """The phases of a new project, the first of them active."""
    checked = [check_name(name) for name in names] or [DEFAULT_PHASE]
    repeated = {name for name in checked if checked.count(name) > 1}
    if repeated:
        raise SowError(f"phase {min(repeated)!r} is given twice", "name each phase once")
    return [
        {"name": name, "status": "pending" if index else "active", "created_at": now}
        for index, name in enumerate(checked)
    ]


def active(phases: Sequence[Phase]) -> Phase | None:
    """The current phase; none when all are completed."""
    return next((phase for phase in phases if phase["status"] == "active"), None)


def usual(phases: Sequence[Phase]) -> str:
    """Where the tasks of a plan go: implementation where there is one, else the current phase, or the last."""
    names = [phase["name"] for phase in phases]
    current = active(phases)
    return DEFAULT_PHASE if DEFAULT_PHASE in names else current["name"] if current else names[-1]


def propose(
    phases: Sequence[Phase], name: str, *, reason: str, before: str = "", after: str = "", question: int, now: str
) -> list[Phase]:
    """The phases with a proposed one at the named place, or behind the active one."""
    name = check_name(name)
    names = [phase["name"] for phase in phases]
    if name in names:
        raise SowError(f"there is a phase {name!r} already", "see 'sow phase list'")
    if before and after:
        raise SowError(f"phase {name!r}: both --before and --after are given", "give one place")
    current = active(phases)
    anchor = match(before or after, phases) if before or after else current["name"] if current else names[-1]
    place = names.index(anchor) + (0 if before else 1)
    proposal: Phase = {"name": name, "status": "proposed", "created_at": now, "reason": reason, "question": question}
    return [*phases[:place], proposal, *phases[place:]]


def approve(phases: Sequence[Phase], name: str) -> list[Phase]:
    """The phases with the proposed one taken in; before the active one it counts as passed until somebody goes back."""
    taken = [_with(phase, "pending") if phase["name"] == name else phase for phase in phases]
    current = active(phases) or next(phase for phase in taken if phase["name"] == name)
    return _arrange(taken, _index(taken, current))


def reject(phases: Sequence[Phase], name: str) -> list[Phase]:
    """The phases without the proposed one."""
    return [phase for phase in phases if not (phase["name"] == name and phase["status"] == "proposed")]


def advance(phases: Sequence[Phase], open_tasks: Mapping[str, Iterable[str]]) -> list[Phase]:
    """The phases one step on; refused while a task up to here is open."""
    current = active(phases)
    if current is None:
        raise IllegalMove(
            "all phases are completed", "add one with 'sow phase add NAME --reason \"…\"', or finish: sow cleanup"
        )
    here = _index(phases, current)
    for phase in phases[: here + 1]:
        waiting = sorted(open_tasks.get(phase["name"], ()))
        if waiting:
            raise IllegalMove(
                f"phase {phase['name']} has open tasks: {', '.join(waiting)}",
                "complete or abandon them first; see 'sow status'",
            )
    following = [index for index in range(here + 1, len(phases)) if phases[index]["status"] != "proposed"]
    return _arrange(phases, following[0] if following else len(phases))


def back(phases: Sequence[Phase], name: str = "") -> list[Phase]:
    """The phases with an earlier one active again."""
    current = active(phases)
    here = _index(phases, current) if current else len(phases)
    earlier = [index for index in range(here) if phases[index]["status"] != "proposed"]
    if not earlier:
        raise IllegalMove("there is no earlier phase to go back to", "see 'sow phase list'")
    if not name:
        return _arrange(phases, earlier[-1])
    target = [phase["name"] for phase in phases].index(match(name, phases))
    if target not in earlier:
        raise IllegalMove(f"phase {phases[target]['name']} is not an earlier phase", "go on with: sow phase advance")
    return _arrange(phases, target)


def may_plan_in(phases: Sequence[Phase], name: str) -> None:
    """Refuse to put a task into a phase that is only proposed: a rejection would take the task with it."""
    if _status(phases, name) == "proposed":
        raise IllegalMove(f"phase {name} is only proposed", f"approve it first: sow phase approve {name}")


def may_start_in(phases: Sequence[Phase], name: str) -> None:
    """Refuse to start a task in a phase that has not begun."""
    may_plan_in(phases, name)
    if _status(phases, name) == "pending":
        raise IllegalMove(f"phase {name} has not begun", "finish the current phase and run: sow phase advance")


def _status(phases: Sequence[Phase], name: str) -> str:
    return next(phase["status"] for phase in phases if phase["name"] == name)


def _index(phases: Sequence[Phase], phase: Phase | None) -> int:
    return next((index for index, each in enumerate(phases) if phase and each["name"] == phase["name"]), len(phases))


def _arrange(phases: Sequence[Phase], here: int) -> list[Phase]:
    """All before `here` completed, `here` active, all after it pending; proposals stay proposals."""
    arranged = []
    for index, phase in enumerate(phases):
        status = "active" if index == here else "completed" if index < here else "pending"
        arranged.append(phase if phase["status"] == "proposed" else _with(phase, status))
    return arranged


def _with(phase: Phase, status: str) -> Phase:
    if phase["status"] == status:
        return phase
    PHASE.move(f"phase {phase['name']}", phase["status"], status)
    changed: Phase = {**phase, "status": status}
    changed.pop("question", None)
    return changed
