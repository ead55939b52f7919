"""The ordered phases of a project: one is active, those before it are completed, those after it are pending."""

from __future__ import annotations

from sow.domain.inputs import is_phase_name
from sow.domain.task import Lifecycle
from sow.errors import IllegalStatusChange, SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sow.domain.documents.state import Phase

DEFAULT_PHASE = "implementation"
ALIASES = {"implement": "implementation"}

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
    """Returns the full name of a phase: `implement` is an alias of `implementation`."""
    return ALIASES.get(name, name)


def check_name(name: str) -> str:
    """Returns the canonical name, or raises SowError if it cannot be the name of a folder."""
    if not is_phase_name(name):
        raise SowError(f"{name!r} is not a name for a phase", "use up to 40 of a-z, 0-9, - and _, such as: discovery")
    return canonical(name)


def find_name(name: str, phases: Sequence[Phase]) -> str:
    """Returns the name of the phase with this name, alias or unique prefix."""
    names = [phase["name"] for phase in phases]
    wanted = canonical(name)
    if wanted in names:
        return wanted
    candidates = [phase_name for phase_name in names if name and phase_name.startswith(name)]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise SowError(f"phase {name!r} is ambiguous", "it could be: " + ", ".join(candidates))
    raise SowError(
        f"there is no phase {name!r}",
        f'the phases are: {", ".join(names)}; a new one: sow phase add {name or "NAME"} --reason "…"',
    )


def new_phases(names: Iterable[str], *, now: str) -> list[Phase]:
    """Returns the phases of a new project. The first one is active."""
    checked = [check_name(name) for name in names] or [DEFAULT_PHASE]
    repeated = {name for name in checked if checked.count(name) > 1}
    if repeated:
        raise SowError(f"phase {min(repeated)!r} is given twice", "name each phase once")
    return [
        {"name": name, "status": "pending" if index else "active", "created_at": now}
        for index, name in enumerate(checked)
    ]


def active(phases: Sequence[Phase]) -> Phase | None:
    """Returns the active phase, or None if all are completed."""
    return next((phase for phase in phases if phase["status"] == "active"), None)


def default_phase(phases: Sequence[Phase]) -> str:
    """Returns the phase for a plan's tasks: implementation if it exists, else the active phase, else the last one."""
    names = [phase["name"] for phase in phases]
    current = active(phases)
    return DEFAULT_PHASE if DEFAULT_PHASE in names else current["name"] if current else names[-1]


def propose(
    phases: Sequence[Phase], name: str, *, reason: str, before: str = "", after: str = "", question: int, now: str
) -> list[Phase]:
    """Returns the phases with a proposed one before or after the named one, by default after the active one."""
    name = check_name(name)
    if any(phase["name"] == name for phase in phases):
        raise SowError(f"there is a phase {name!r} already", "see 'sow phase list'")
    proposal: Phase = {"name": name, "status": "proposed", "created_at": now, "reason": reason, "question": question}
    return _insert(phases, proposal, before=before, after=after)


def move(phases: Sequence[Phase], name: str, *, before: str = "", after: str = "") -> list[Phase]:
    """Returns the phases with one at another place. The first one that is not completed is active."""
    name = find_name(name, phases)
    (moved,) = (phase for phase in phases if phase["name"] == name)
    others = [phase for phase in phases if phase["name"] != name]
    if not (before or after) or name == find_name(before or after, phases):
        raise SowError(
            f"phase {name} needs a place next to another phase",
            f"name that phase: sow phase move {name} --before {others[0]['name']}" if others else "there is no other",
        )
    return _begin_first(_insert(others, moved, before=before, after=after))


def _insert(phases: Sequence[Phase], added: Phase, *, before: str, after: str) -> list[Phase]:
    if before and after:
        raise SowError(f"phase {added['name']!r}: more than one place is given", "give --before, --after or --now")
    names = [phase["name"] for phase in phases]
    current = active(phases)
    anchor = find_name(before or after, phases) if before or after else current["name"] if current else names[-1]
    position = names.index(anchor) + (0 if before else 1)
    return [*phases[:position], added, *phases[position:]]


def approve(phases: Sequence[Phase], name: str) -> list[Phase]:
    """Returns the phases with the proposed one approved. If it comes before the active phase, work begins in it."""
    return _begin_first([_with_status(phase, "pending") if phase["name"] == name else phase for phase in phases])


def _begin_first(phases: Sequence[Phase]) -> list[Phase]:
    """Returns the phases with the first one active that is neither completed nor proposed."""
    waiting = [index for index, phase in enumerate(phases) if phase["status"] in ("active", "pending")]
    return _arrange(phases, waiting[0] if waiting else len(phases))


def reject(phases: Sequence[Phase], name: str) -> list[Phase]:
    """Returns the phases without the proposed one."""
    return [phase for phase in phases if not (phase["name"] == name and phase["status"] == "proposed")]


def advance(phases: Sequence[Phase], open_tasks: Mapping[str, Iterable[str]]) -> list[Phase]:
    """Returns the phases with the next one active; raises if this or an earlier phase has open tasks."""
    current = active(phases)
    if current is None:
        raise IllegalStatusChange(
            "all phases are completed", "add one with 'sow phase add NAME --reason \"…\"', or finish: sow cleanup"
        )
    current_index = _index(phases, current)
    for phase in phases[: current_index + 1]:
        open_ids = sorted(open_tasks.get(phase["name"], ()))
        if open_ids:
            raise IllegalStatusChange(
                f"phase {phase['name']} has open tasks: {', '.join(open_ids)}",
                "complete or abandon them first; see 'sow status'",
            )
    following = [index for index in range(current_index + 1, len(phases)) if phases[index]["status"] != "proposed"]
    return _arrange(phases, following[0] if following else len(phases))


def back(phases: Sequence[Phase], name: str = "") -> list[Phase]:
    """Returns the phases with an earlier one active."""
    current = active(phases)
    current_index = _index(phases, current) if current else len(phases)
    earlier = [index for index in range(current_index) if phases[index]["status"] != "proposed"]
    if not earlier:
        raise IllegalStatusChange("there is no earlier phase to go back to", "see 'sow phase list'")
    if not name:
        return _arrange(phases, earlier[-1])
    target = [phase["name"] for phase in phases].index(find_name(name, phases))
    if target not in earlier:
        raise IllegalStatusChange(
            f"phase {phases[target]['name']} is not an earlier phase", "to start the next phase: sow phase advance"
        )
    return _arrange(phases, target)


def require_approved(phases: Sequence[Phase], name: str) -> None:
    """Raises IllegalStatusChange if the phase is only proposed, because a rejection would delete its tasks."""
    if _status(phases, name) == "proposed":
        raise IllegalStatusChange(f"phase {name} is only proposed", f"approve it first: sow phase approve {name}")


def require_begun(phases: Sequence[Phase], name: str) -> None:
    """Raises IllegalStatusChange if the phase has not begun."""
    require_approved(phases, name)
    if _status(phases, name) == "pending":
        current = active(phases)  # there is one, because another phase waits
        raise IllegalStatusChange(
            f"phase {name} waits: the active phase is {current['name'] if current else 'none'}",
            "finish the active phase and run: sow phase advance",
        )


def _status(phases: Sequence[Phase], name: str) -> str:
    return next(phase["status"] for phase in phases if phase["name"] == name)


def _index(phases: Sequence[Phase], phase: Phase | None) -> int:
    return next(
        (index for index, candidate in enumerate(phases) if phase and candidate["name"] == phase["name"]), len(phases)
    )


def _arrange(phases: Sequence[Phase], active_index: int) -> list[Phase]:
    """Marks all phases before `active_index` as completed and all after it as pending. Proposals stay proposals."""
    arranged = []
    for index, phase in enumerate(phases):
        status = "active" if index == active_index else "completed" if index < active_index else "pending"
        arranged.append(phase if phase["status"] == "proposed" else _with_status(phase, status))
    return arranged


def _with_status(phase: Phase, status: str) -> Phase:
    if phase["status"] == status:
        return phase
    PHASE.move(f"phase {phase['name']}", phase["status"], status)
    changed: Phase = {**phase, "status": status}
    changed.pop("question", None)
    return changed
