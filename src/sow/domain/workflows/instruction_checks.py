"""Checks the instructions of each agent: they exist, have all sections, and name the files of the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sow.domain.inputs import is_member
from sow.domain.text.markdown_text import has_text, sections, with_title_words
from sow.domain.text.similar_text import words
from sow.domain.workflows import crew_plan
from sow.domain.workflows.crew_plan import DesignProblem, Member, WorkflowPlan

# The name of each section in a complaint, and the beginnings of the words of its heading.
SECTIONS = {
    "inputs": (("input",),),
    "outputs": (("output",),),
    "success criteria": (("success",), ("criteri",)),
    "completion drive": (("completion", "drive"),),
}
MAX_TEXT = 256 << 10
MAX_STRAYS = 20  # of one agent; more of them are usually one mistake
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./")


def file_of(plan: WorkflowPlan, name: str) -> str:
    """Returns the path of an agent's instructions, beside the plan."""
    folder = "".join(plan.file.rpartition("/")[:2])
    return f"{folder}agents/{name}/agent_instructions.md"


def check(plan: WorkflowPlan, instructions: Mapping[str, str | None]) -> list[DesignProblem]:
    """Returns all complaints about instructions. A verifier needs none, but if it has some they must not be empty."""
    complaints: list[DesignProblem] = []
    for member in plan.members:
        if not plan.is_on_call(member) or instructions.get(member.name) is not None:
            complaints += _check_member(plan, member, instructions.get(member.name))
    for checker in plan.verifiers:
        text = instructions.get(checker.name)
        if text is not None and not words(text):
            complaints.append(_empty(plan, checker.name))
    return complaints


def _empty(plan: WorkflowPlan, name: str) -> DesignProblem:
    hint = "say what it works on, with inputs, outputs, success criteria and completion drive"
    return DesignProblem(
        file_of(plan, name), 1, "instructions-empty", f"the instructions of {name:.63} are empty", hint
    )


def _check_member(plan: WorkflowPlan, member: Member, text: str | None) -> Iterator[DesignProblem]:
    file = file_of(plan, member.name)
    if text is None:
        message = f"{member.name:.63} has no instructions"
        yield DesignProblem(file, 0, "instructions-missing", message, f"write {file}")
        return
    if len(text) > MAX_TEXT:
        message = f"the instructions of {member.name:.63} have more than {MAX_TEXT:,} characters"
        yield DesignProblem(file, 0, "instructions-size", message, "an agent reads them in every turn: shorten them")
        return
    if not words(text):
        yield _empty(plan, member.name)
        return
    yield from _sections(file, member, text)
    yield from _check_named_files(file, member, text)
    yield from (
        complaint for _, complaint in zip(range(MAX_STRAYS), _check_foreign_paths(file, member, text), strict=False)
    )


def _sections(file: str, member: Member, text: str) -> Iterator[DesignProblem]:
    all_sections = sections(text)
    for name, starts in SECTIONS.items():
        if name == "inputs" and not member.inputs and not with_title_words(all_sections, starts):
            continue
        matching = with_title_words(all_sections, starts)
        if not matching:
            message = f"the instructions of {member.name:.63} have no section on {name}"
            hint = f"add a heading such as: ## {name.title()}"
            yield DesignProblem(file, 1, "instructions-section", message, hint)
        elif not any(has_text(section) for section in matching):
            message = f"the section {matching[0].title!r:.80} says nothing"
            hint = f"say what the {name} of {member.name:.63} are"
            yield DesignProblem(file, matching[0].line, "instructions-section", message, hint)


def _check_named_files(file: str, member: Member, text: str) -> Iterator[DesignProblem]:
    for field, paths in (("input", member.inputs), ("output", member.outputs)):
        for path in paths:
            if path not in text:
                message = f"the instructions of {member.name:.63} do not name the {field} {path:.200}"
                hint = f"name it in its section on {field}s, as the plan writes it"
                yield DesignProblem(file, 1, f"instructions-{field}", message, hint)


def _check_foreign_paths(file: str, member: Member, text: str) -> Iterator[DesignProblem]:
    """Checks that each file of another agent that the instructions name is one of the member's inputs."""
    declared = [*member.inputs, *crew_plan.shared_output_paths(member)]
    for number, line in enumerate(text.split("\n"), 1):
        for path in _agent_folder_paths(line):
            agent, agent_path = crew_plan.split_agent_path(path)
            if not agent_path.startswith(f"{crew_plan.OUTPUT_FOLDER}/") or not is_member(agent) or agent == member.name:
                continue
            if not any(
                path == allowed or path.startswith(f"{allowed}/") or allowed.startswith(f"{path}/")
                for allowed in declared
            ):
                message = f"the instructions of {member.name:.63} name {path:.200}, which is not among its inputs"
                hint = "correct the path, or add it to the inputs: of the plan"
                yield DesignProblem(file, number, "instructions-path", message, hint)


def _agent_folder_paths(line: str) -> list[str]:
    """Returns the paths in agent folders that a line names, as the plan writes them."""
    if "agents/" not in line:
        return []
    plain = "".join(letter if letter in LETTERS else " " for letter in line)
    paths = (crew_plan.normalized_path(word.rstrip(".-/")) for word in plain.split() if "agents/" in word)
    return list(dict.fromkeys(path for path in paths if path.startswith("agents/")))
