"""A workflow's plan: the crew, who verifies whom, who hands what to whom, and in which order they work."""

from __future__ import annotations

from sow.domain.plan import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PLAN_FILE = "workflow_coordination_plan.md"
DOER, ARCHITECT = "doer", "solution_architect"
KINDS = (DOER, ARCHITECT)
ARCHITECT_DESK, ARCHITECT_VERIFIER = "solution_architect_agent", "solution_verifier"
ON_CALL_DESK = "solution_architect_on_call"  # for questions, where the usual desk has a task of the plan
ARCHIVIST = "archival_agent"
RESERVED = (ARCHIVIST, ON_CALL_DESK)
OUTPUT_FOLDER = "task_output"
TIMEOUT = 3600.0  # seconds of one turn
MAX_MEMBERS = 200
MIN_EPOCH, MAX_EPOCH = 6, 12  # digits
MAX_TASK_ID = 120


class Complaint(Finding):
    """What is wrong at a place of a plan or of an agent's instructions, and by which rule."""

    __slots__ = ("rule",)

    def __init__(self, file: str, line: int, rule: str, text: str, hint: str, *, error: bool = True) -> None:
        super().__init__(file, line, text, hint=hint, error=error)
        self.rule = rule

    @property
    def text(self) -> str:
        return self.message

    def document(self) -> dict[str, object]:
        """The complaint as JSON."""
        return {
            "rule": self.rule,
            "severity": "error" if self.error else "warning",
            "file": self.file,
            "line": self.line,
            "text": self.message,
            "hint": self.hint,
        }


class Member:
    """One agent of the crew that works: a doer, or the solution architect."""

    __slots__ = (
        "agent", "criteria", "dependencies", "inputs", "kind", "line", "lines", "name", "outputs", "task_id", "timeout",
        "verifier",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        *,
        task_id: str = "",
        verifier: str = "",
        agent: str = "",
        kind: str = DOER,
        dependencies: Sequence[str] = (),
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        criteria: Sequence[str] = (),
        timeout: float = TIMEOUT,
        line: int = 0,
    ) -> None:
        self.name = name
        self.agent = agent  # the role that plays it; empty: the plan does not say
        self.kind = kind
        self.task_id = task_id
        self.dependencies = list(dependencies)
        self.verifier = verifier
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.criteria = list(criteria)
        self.timeout = timeout
        self.line = line
        self.lines: dict[str, int] = {}  # where each field stands

    def line_of(self, field: str) -> int:
        """The line of a field, or of the entry where it does not have that field."""
        return self.lines.get(field, self.line)


class Checker:
    """One agent of the crew that verifies the work of others."""

    __slots__ = ("agent", "line", "name", "verifies")

    def __init__(self, name: str, *, agent: str = "verifier", verifies: Sequence[str] = (), line: int = 0) -> None:
        self.name = name
        self.agent = agent
        self.verifies = list(verifies)
        self.line = line


class Required:
    """An agent type that the plan needs and that may not exist yet, with its specification."""

    __slots__ = ("capabilities", "description", "line", "name", "prompt")

    def __init__(
        self, name: str, *, description: str = "", capabilities: str = "", prompt: str = "", line: int = 0
    ) -> None:
        self.name = name
        self.description = description
        self.capabilities = capabilities
        self.prompt = prompt
        self.line = line


class WorkflowPlan:
    """A plan as it was read, with everything that is to be said about it."""

    __slots__ = (
        "complaints", "digest", "file", "groups_line", "members", "name", "order", "prose", "prose_line", "required",
        "sections", "task_id", "verifiers",
    )  # fmt: skip

    def __init__(self, file: str = PLAN_FILE) -> None:
        self.file = file
        self.name = ""
        self.task_id = ""
        self.members: list[Member] = []
        self.verifiers: list[Checker] = []
        self.order: list[list[str]] = []  # groups: each starts when all of the one before are verified
        self.groups_line = 0  # 0: the plan names no groups
        self.required: list[Required] = []
        self.prose = ""
        self.prose_line = 1  # where it begins
        self.digest = ""
        self.sections: dict[str, str] = {}  # a digest of all that concerns one member
        self.complaints: list[Complaint] = []  # of the reader

    @property
    def errors(self) -> list[Complaint]:
        return [each for each in self.complaints if each.error]

    def member(self, name: str) -> Member | None:
        """The member of this name."""
        return next((each for each in self.members if each.name == name), None)

    def checker(self, name: str) -> Checker | None:
        """The verifier of this name."""
        return next((each for each in self.verifiers if each.name == name), None)

    def is_on_call(self, member: Member) -> bool:
        """Whether a member has no place in the order: a solution architect that works when it is asked."""
        return member.kind == ARCHITECT and not any(member.name in group for group in self.order)

    def advisor(self) -> str:
        """The desk of the one who is asked technical questions; who has a task in the plan's order is left to it."""
        on_call = next((each.name for each in self.members if self.is_on_call(each)), "")
        taken = self.member(ARCHITECT_DESK) is not None or self.checker(ARCHITECT_DESK) is not None
        return on_call or (ON_CALL_DESK if taken else ARCHITECT_DESK)

    def needs(self) -> dict[str, list[str]]:
        """For each member, those that it depends on and that exist."""
        known = {each.name for each in self.members}
        return {each.name: [name for name in each.dependencies if name in known] for each in self.members}

    def waits_for(self) -> dict[str, list[str]]:
        """For each member, all that must be verified first: its dependencies, and every group before its own."""
        found = {name: list(before) for name, before in self.needs().items()}
        earlier: list[str] = []
        for group in self.order:
            for name in group:
                if name in found:
                    found[name] += [each for each in earlier if each not in found[name]]
            earlier += group
        return found


def is_task_id(text: str) -> bool:
    """Whether this is {slug}_{unix_epoch_timestamp}: a-z, 0-9 and _, then six to twelve digits."""
    slug, mark, epoch = text.rpartition("_")
    letters = slug.replace("_", "")
    return (
        bool(mark and slug)
        and text.isascii()
        and len(text) <= MAX_TASK_ID
        and MIN_EPOCH <= len(epoch) <= MAX_EPOCH
        and epoch.isdigit()
        and (not letters or letters.isalnum())
        and slug == slug.lower()
    )


def role_of(member: Member, known_agents: Sequence[str] | set[str] | frozenset[str]) -> str:
    """The role that plays a member: what the plan says, a role of the member's own name, or an implementer."""
    if member.agent:
        return member.agent
    if member.kind == ARCHITECT:
        return "solution-architect"
    return member.name if member.name in known_agents else "implementer"


def desk_path(path: str) -> tuple[str, str]:
    """The desk that a path of another desk names, and the path on it; no desk for a path in the repository."""
    parts = path.removeprefix("orchestration/").split("/")
    if parts[0] == "agents" and len(parts) > 2:
        return parts[1], "/".join(parts[2:])
    return "", path


def is_own(path: str) -> bool:
    """Whether an output lies on the member's own desk."""
    return path.split("/")[0] == OUTPUT_FOLDER


def written(member: Member) -> list[str]:
    """The member's outputs as others name them: agents/<name>/task_output/… or a path in the repository."""
    return [f"agents/{member.name}/{path}" if is_own(path) else shown(path) for path in member.outputs]


def shown(path: str) -> str:
    """A path as all compare it: below orchestration/ it is named from there."""
    return path.removeprefix("orchestration/") if path.startswith("orchestration/agents/") else path


def plain_path(path: str) -> str:
    """A path without ./ and doubled slashes, named from orchestration/ where it lies on a desk; /x stays what it is."""
    if path.startswith("/"):
        return path
    return shown("/".join(part for part in path.split("/") if part not in ("", ".")) or path)


def own_path(name: str, path: str) -> str:
    """An output of a member: on its own desk it is named from there."""
    desk, rest = desk_path(plain_path(path))
    return rest if desk == name else plain_path(path)
