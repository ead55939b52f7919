"""The instructions of each agent: there, with all their sections, and naming the files that the plan gives it."""

from __future__ import annotations

from sow.domain import crew_plan
from sow.domain.crew_plan import Complaint
from sow.domain.ids import is_member
from sow.domain.sections import says_something, sections, titled
from sow.domain.wording import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sow.domain.crew_plan import Member, WorkflowPlan

# What each section is called in a complaint, and the words that its heading begins with.
SECTIONS = {
    "inputs": (("input",),),
    "outputs": (("output",),),
    "success criteria": (("success",), ("criteri",)),
    "completion drive": (("completion", "drive"),),
}
MAX_TEXT = 256 << 10
MAX_STRAYS = 20  # of one agent: more of them are one mistake
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./")


def file_of(plan: WorkflowPlan, name: str) -> str:
    """Where an agent's instructions lie: beside the plan."""
    folder = "".join(plan.file.rpartition("/")[:2])
    return f"{folder}agents/{name}/agent_instructions.md"


def check(plan: WorkflowPlan, instructions: Mapping[str, str | None]) -> list[Complaint]:
    """All complaints about instructions; a verifier needs none, but what it has must say something."""
    found: list[Complaint] = []
    for member in plan.members:
        if not plan.is_on_call(member) or instructions.get(member.name) is not None:
            found += _of_member(plan, member, instructions.get(member.name))
    for checker in plan.verifiers:
        text = instructions.get(checker.name)
        if text is not None and not words(text):
            found.append(_empty(plan, checker.name))
    return found


def _empty(plan: WorkflowPlan, name: str) -> Complaint:
    hint = "say what it works on, with inputs, outputs, success criteria and completion drive"
    return Complaint(file_of(plan, name), 1, "instructions-empty", f"the instructions of {name:.63} are empty", hint)


def _of_member(plan: WorkflowPlan, member: Member, text: str | None) -> Iterator[Complaint]:
    file = file_of(plan, member.name)
    if text is None:
        what = f"{member.name:.63} has no instructions"
        yield Complaint(file, 0, "instructions-missing", what, f"write {file}")
        return
    if len(text) > MAX_TEXT:
        what = f"the instructions of {member.name:.63} have more than {MAX_TEXT:,} characters"
        yield Complaint(file, 0, "instructions-size", what, "an agent reads them in every turn: shorten them")
        return
    if not words(text):
        yield _empty(plan, member.name)
        return
    yield from _sections(file, member, text)
    yield from _named(file, member, text)
    yield from (each for _, each in zip(range(MAX_STRAYS), _paths(file, member, text), strict=False))


def _sections(file: str, member: Member, text: str) -> Iterator[Complaint]:
    found = sections(text)
    for name, starts in SECTIONS.items():
        if name == "inputs" and not member.inputs and not titled(found, starts):
            continue
        fitting = titled(found, starts)
        if not fitting:
            what = f"the instructions of {member.name:.63} have no section on {name}"
            hint = f"add a heading such as: ## {name.title()}"
            yield Complaint(file, 1, "instructions-section", what, hint)
        elif not any(says_something(each) for each in fitting):
            what = f"the section {fitting[0].title!r:.80} says nothing"
            hint = f"say what the {name} of {member.name:.63} are"
            yield Complaint(file, fitting[0].line, "instructions-section", what, hint)


def _named(file: str, member: Member, text: str) -> Iterator[Complaint]:
    """Each input and output of the plan is named: an agent does not read the plan."""
    for field, paths in (("input", member.inputs), ("output", member.outputs)):
        for path in paths:
            if path not in text:
                what = f"the instructions of {member.name:.63} do not name the {field} {path:.200}"
                hint = f"name it in its section on {field}s, as the plan writes it"
                yield Complaint(file, 1, f"instructions-{field}", what, hint)


def _paths(file: str, member: Member, text: str) -> Iterator[Complaint]:
    """A file of another desk that the instructions name is among the member's inputs."""
    known = [*member.inputs, *crew_plan.written(member)]
    for number, line in enumerate(text.split("\n"), 1):
        for path in _desk_paths(line):
            desk, rest = crew_plan.desk_path(path)
            if not rest.startswith(f"{crew_plan.OUTPUT_FOLDER}/") or not is_member(desk) or desk == member.name:
                continue
            if not any(path == each or path.startswith(f"{each}/") or each.startswith(f"{path}/") for each in known):
                what = f"the instructions of {member.name:.63} name {path:.200}, which is not among its inputs"
                hint = "mend the path, or add it to the inputs: of the plan"
                yield Complaint(file, number, "instructions-path", what, hint)


def _desk_paths(line: str) -> list[str]:
    """The paths of desks in a line, as the plan writes them."""
    if "agents/" not in line:
        return []
    plain = "".join(letter if letter in LETTERS else " " for letter in line)
    found = (crew_plan.plain_path(word.rstrip(".-/")) for word in plain.split() if "agents/" in word)
    return list(dict.fromkeys(path for path in found if path.startswith("agents/")))
