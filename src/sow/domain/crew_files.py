"""The files of a crew: who writes what, who reads what, and that every reader comes after its writer."""

from __future__ import annotations

from sow.domain import crew_plan, graph
from sow.domain import text as texts
from sow.domain.crew_plan import Complaint
from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sow.domain.crew_plan import Member, WorkflowPlan

OUTPUT_HINT = "write task_output/<file> for the own desk, or a path in the repository"
INPUT_HINT = "write agents/<name>/task_output/<file> for another desk, or a path in the repository"
CLOSED = (".git", ".sow", "orchestration", "agents")  # where nobody's output lies but on its own desk
MAX_PARTS = 30  # of a path


class Writers:
    """Who writes which path, and who writes something below it."""

    __slots__ = ("below", "paths")

    def __init__(self, plan: WorkflowPlan) -> None:
        self.paths: dict[str, list[str]] = {}
        self.below: dict[str, list[str]] = {}
        for member in plan.members:
            for path in dict.fromkeys(crew_plan.written(member)):
                if not _bad_path(path):
                    self._add(path, member.name)

    def _add(self, path: str, name: str) -> None:
        self.paths.setdefault(path, []).append(name)
        for folder in _folders(path):
            names = self.below.setdefault(folder, [])
            if name not in names[-1:]:
                names.append(name)

    def of(self, path: str) -> list[str]:
        """Who writes a path, something below it, or a folder that holds it."""
        if _bad_path(path):
            return []
        found = [name for each in (*_folders(path), path) for name in self.paths.get(each, ())]
        return list(dict.fromkeys([*found, *self.below.get(path, ())]))


def _folders(path: str) -> list[str]:
    """The folders that a path lies in."""
    parts = path.split("/")
    return ["/".join(parts[:at]) for at in range(1, len(parts))]


def check(plan: WorkflowPlan, existing: Collection[str] | None) -> list[Complaint]:
    """All complaints about inputs and outputs."""
    writers = Writers(plan)
    before = _all_before(plan)
    return [
        *(each for member in plan.members for each in _outputs(plan, member)),
        *(each for member in plan.members for each in _inputs(plan, member, writers, before, existing)),
        *_circles(plan, writers),
        *_shared(plan, writers, before),
    ]


def repository_inputs(plan: WorkflowPlan) -> list[str]:
    """The inputs that no agent writes and that must be in the repository: the caller looks which of them are."""
    writers = Writers(plan)
    paths = (path for member in plan.members for path in member.inputs)
    return [path for path in dict.fromkeys(paths) if not crew_plan.desk_path(path)[0] and not writers.of(path)]


def _all_before(plan: WorkflowPlan) -> dict[str, set[str]]:
    """For each member, all that it depends on, near and far; circles are harmless here."""
    needs = plan.needs()
    found: dict[str, set[str]] = {}
    for name in needs:
        reached: set[str] = set()
        waiting = list(needs[name])
        while waiting:
            each = waiting.pop()
            if each not in reached:
                reached.add(each)
                waiting += needs[each]
        found[name] = reached
    return found


def _bad_path(path: str) -> bool:
    try:
        texts.path(path, "path")
    except SowError:
        return True
    return path.count("/") >= MAX_PARTS


def _outputs(plan: WorkflowPlan, member: Member) -> Iterator[Complaint]:
    line = member.line_of("outputs")
    if not member.outputs and not plan.is_on_call(member):
        what = f"{member.name:.63} has no outputs, so nobody can see that it is done"
        yield Complaint(plan.file, line, "output-missing", what, OUTPUT_HINT)
    for path in member.outputs:
        parts = path.split("/")
        if _bad_path(path) or path == ".":
            what = f"{member.name:.63}: the output {path!r:.200} leaves the repository"
            yield Complaint(plan.file, line, "output-path", what, OUTPUT_HINT)
        elif parts[0] in CLOSED:
            what = f"{member.name:.63}: the output {path:.200} is not on its own desk"
            yield Complaint(plan.file, line, "output-foreign", what, OUTPUT_HINT)
        elif path == crew_plan.OUTPUT_FOLDER:
            what = f"{member.name:.63}: the output {path:.200} names no file"
            yield Complaint(plan.file, line, "output-path", what, OUTPUT_HINT)
        elif "." not in parts[-1]:
            what = f"{member.name:.63}: the output {path:.200} does not tell its format"
            hint = "give it an ending such as .md, or name the files of the folder"
            yield Complaint(plan.file, line, "output-format", what, hint, error=False)


def _inputs(
    plan: WorkflowPlan,
    member: Member,
    writers: Writers,
    before: dict[str, set[str]],
    existing: Collection[str] | None,
) -> Iterator[Complaint]:
    line = member.line_of("inputs")
    for path in dict.fromkeys(member.inputs):
        if _bad_path(path):
            what = f"{member.name:.63}: the input {path!r:.200} leaves the repository"
            yield Complaint(plan.file, line, "input-path", what, INPUT_HINT)
            continue
        made_by = [f"agents/{member.name}/{path}", path] if crew_plan.is_own(path) else [path]
        names = [name for each in made_by for name in writers.of(each)]
        if not names:
            yield from _unwritten(plan, member, path, existing)
        elif member.name not in names and not before[member.name].intersection(names):
            what = f"{member.name:.63} reads {path:.200} of {names[0]:.63}, on which it does not depend"
            hint = f"add {names[0]:.63} to its dependencies:"
            yield Complaint(plan.file, line, "input-not-dependency", what, hint)


def _unwritten(plan: WorkflowPlan, member: Member, path: str, existing: Collection[str] | None) -> Iterator[Complaint]:
    line = member.line_of("inputs")
    desk, _ = crew_plan.desk_path(path)
    if desk and plan.member(desk) is None:
        what = f"{member.name:.63} reads {path:.200}, and there is no agent {desk:.63}"
        yield Complaint(plan.file, line, "input-unwritten", what, "mend the name of the desk")
    elif desk or crew_plan.is_own(path):
        what = f"{member.name:.63} reads {path:.200}, which nobody writes"
        hint = f"add it to the outputs: of {desk or member.name:.63}"
        yield Complaint(plan.file, line, "input-unwritten", what, hint)
    elif existing is not None and path not in existing:
        what = f"{member.name:.63} reads {path:.200}, which nobody writes and which is not in the repository"
        yield Complaint(plan.file, line, "input-unwritten", what, "add it to somebody's outputs:, or mend the path")


def _circles(plan: WorkflowPlan, writers: Writers) -> Iterator[Complaint]:
    """Nobody waits for a file that is made from its own."""
    needs = {
        member.name: [name for path in member.inputs for name in writers.of(path) if name != member.name]
        for member in plan.members
    }
    for circle in graph.cycles(needs):
        member = plan.member(circle[0])
        line = member.line_of("inputs") if member is not None else 0
        what = f"the files go round in a circle: {' reads from '.join(circle[:20])}"
        yield Complaint(plan.file, line, "file-cycle", what, "let one of them end without the other's file")


def _shared(plan: WorkflowPlan, writers: Writers, before: dict[str, set[str]]) -> Iterator[Complaint]:
    """Two that may work at once do not write one file."""
    order = plan.waits_for()
    for path, names in writers.paths.items():
        for at, name in enumerate(names):
            for other in names[at + 1 :]:
                if name == other or other in before[name] or name in before[other]:
                    continue
                if other in order[name] or name in order[other]:
                    continue
                member = plan.member(other)
                line = member.line_of("outputs") if member is not None else 0
                what = f"{name:.63} and {other:.63} may work at once and both write {path:.200}"
                hint = "let one depend on the other, or give them files of their own"
                yield Complaint(plan.file, line, "output-shared", what, hint)
