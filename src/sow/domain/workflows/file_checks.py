"""Checks the files of a crew: every input is written or exists, and every reader depends on its writer."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sow.domain import inputs as texts
from sow.domain.inputs import folders_above
from sow.domain.plans import graph
from sow.domain.workflows import crew_plan
from sow.domain.workflows.crew_plan import DesignProblem, Member, WorkflowPlan
from sow.errors import SowError

OUTPUT_HINT = "write task_output/<file> for its own folder, or a path in the repository"
INPUT_HINT = "write agents/<name>/task_output/<file> for another agent's folder, or a path in the repository"
RESERVED_FOLDERS = (".git", ".sow", "orchestration", "agents")  # top folders that no output may lie in
MAX_PARTS = 30  # of a path


class Writers:
    """The agents that write each path, and those that write something below it."""

    def __init__(self, plan: WorkflowPlan) -> None:
        self.paths: dict[str, list[str]] = {}
        self.below: dict[str, list[str]] = {}
        for member in plan.members:
            for path in dict.fromkeys(crew_plan.shared_output_paths(member)):
                if not _bad_path(path):
                    self._add(path, member.name)

    def _add(self, path: str, name: str) -> None:
        self.paths.setdefault(path, []).append(name)
        for folder in folders_above(path):
            names = self.below.setdefault(folder, [])
            if name not in names[-1:]:
                names.append(name)

    def writers_of(self, path: str) -> list[str]:
        """Returns the agents that write a path, something below it, or a folder that contains it."""
        if _bad_path(path):
            return []
        names = [name for prefix in (*folders_above(path), path) for name in self.paths.get(prefix, ())]
        return list(dict.fromkeys([*names, *self.below.get(path, ())]))


def check(plan: WorkflowPlan, existing: Collection[str] | None) -> list[DesignProblem]:
    """Returns all complaints about inputs and outputs."""
    writers = Writers(plan)
    needs = plan.needs()
    before = {name: graph.reachable(needs, name) for name in needs}  # cycles do no harm here
    return [
        *(complaint for member in plan.members for complaint in _outputs(plan, member)),
        *(complaint for member in plan.members for complaint in _inputs(plan, member, writers, before, existing)),
        *_file_cycles(plan, writers),
        *_shared(plan, writers, before),
    ]


def repository_inputs(plan: WorkflowPlan) -> list[str]:
    """Returns the inputs that no agent writes and that must be in the repository. The caller checks if they exist."""
    writers = Writers(plan)
    paths = (path for member in plan.members for path in member.inputs)
    return [
        path
        for path in dict.fromkeys(paths)
        if not crew_plan.split_agent_path(path)[0] and not writers.writers_of(path)
    ]


def _bad_path(path: str) -> bool:
    try:
        texts.checked_path(path, "path")
    except SowError:
        return True
    return path.count("/") >= MAX_PARTS


def _outputs(plan: WorkflowPlan, member: Member) -> Iterator[DesignProblem]:
    line = member.line_of("outputs")
    if not member.outputs and not plan.is_on_call(member):
        message = f"{member.name:.63} has no outputs, so nobody can see that it is done"
        yield DesignProblem(plan.file, line, "output-missing", message, OUTPUT_HINT)
    for path in member.outputs:
        parts = path.split("/")
        if _bad_path(path) or path == ".":
            message = f"{member.name:.63}: the output {path!r:.200} leaves the repository"
            yield DesignProblem(plan.file, line, "output-path", message, OUTPUT_HINT)
        elif parts[0] in RESERVED_FOLDERS:
            message = f"{member.name:.63}: the output {path:.200} is not in its own folder"
            yield DesignProblem(plan.file, line, "output-foreign", message, OUTPUT_HINT)
        elif path == crew_plan.OUTPUT_FOLDER:
            message = f"{member.name:.63}: the output {path:.200} names no file"
            yield DesignProblem(plan.file, line, "output-path", message, OUTPUT_HINT)
        elif "." not in parts[-1]:
            message = f"{member.name:.63}: the output {path:.200} does not tell its format"
            hint = "give it an ending such as .md, or name the files of the folder"
            yield DesignProblem(plan.file, line, "output-format", message, hint, error=False)


def _inputs(
    plan: WorkflowPlan, member: Member, writers: Writers, before: dict[str, set[str]], existing: Collection[str] | None
) -> Iterator[DesignProblem]:
    line = member.line_of("inputs")
    for path in dict.fromkeys(member.inputs):
        if _bad_path(path):
            message = f"{member.name:.63}: the input {path!r:.200} leaves the repository"
            yield DesignProblem(plan.file, line, "input-path", message, INPUT_HINT)
            continue
        candidates = [f"agents/{member.name}/{path}", path] if crew_plan.is_own_output(path) else [path]
        names = [name for candidate in candidates for name in writers.writers_of(candidate)]
        if not names:
            yield from _unwritten(plan, member, path, existing)
        elif member.name not in names and not before[member.name].intersection(names):
            message = f"{member.name:.63} reads {path:.200} of {names[0]:.63}, on which it does not depend"
            hint = f"add {names[0]:.63} to its dependencies:"
            yield DesignProblem(plan.file, line, "input-not-dependency", message, hint)


def _unwritten(
    plan: WorkflowPlan, member: Member, path: str, existing: Collection[str] | None
) -> Iterator[DesignProblem]:
    line = member.line_of("inputs")
    agent, _ = crew_plan.split_agent_path(path)
    if agent and plan.member(agent) is None:
        message = f"{member.name:.63} reads {path:.200}, and there is no agent {agent:.63}"
        yield DesignProblem(plan.file, line, "input-unwritten", message, "correct the name of the agent")
    elif agent or crew_plan.is_own_output(path):
        message = f"{member.name:.63} reads {path:.200}, which nobody writes"
        hint = f"add it to the outputs: of {agent or member.name:.63}"
        yield DesignProblem(plan.file, line, "input-unwritten", message, hint)
    elif existing is not None and path not in existing:
        message = f"{member.name:.63} reads {path:.200}, which nobody writes and which is not in the repository"
        yield DesignProblem(
            plan.file, line, "input-unwritten", message, "add it to somebody's outputs:, or correct the path"
        )


def _file_cycles(plan: WorkflowPlan, writers: Writers) -> Iterator[DesignProblem]:
    needs = {
        member.name: [name for path in member.inputs for name in writers.writers_of(path) if name != member.name]
        for member in plan.members
    }
    for cycle in graph.cycles(needs):
        member = plan.member(cycle[0])
        line = member.line_of("inputs") if member is not None else 0
        message = f"the files form a cycle: {' reads from '.join(cycle[:20])}"
        yield DesignProblem(plan.file, line, "file-cycle", message, "let one of them end without the other's file")


def _shared(plan: WorkflowPlan, writers: Writers, before: dict[str, set[str]]) -> Iterator[DesignProblem]:
    """Reports two agents that may work at the same time and write the same file."""
    order = plan.waits_for()
    for path, names in writers.paths.items():
        for position, name in enumerate(names):
            for second in names[position + 1 :]:
                if name == second or second in before[name] or name in before[second]:
                    continue
                if second in order[name] or name in order[second]:
                    continue
                member = plan.member(second)
                line = member.line_of("outputs") if member is not None else 0
                message = f"{name:.63} and {second:.63} may work at once and both write {path:.200}"
                hint = "let one depend on the other, or give them files of their own"
                yield DesignProblem(plan.file, line, "output-shared", message, hint)
