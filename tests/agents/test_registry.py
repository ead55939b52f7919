"""The roles of a checkout: which exist, which file defines each, and what a repository may not define."""

from __future__ import annotations

from pathlib import Path

import pytest

from sow import agents
from sow.agents.registry import BUILT_IN, JUDGES, PROJECT, STANDARD_AGENTS, USER, AgentRegistry
from sow.errors import SowError

STANDARD = [
    "orchestrator",
    "implementer",
    "architect",
    "reviewer",
    "planner",
    "researcher",
    "integration-tester",
    "documenter",
    "decomposer",
    "quality-control",
    "verifier",
    "integrator",
    "workflow-architect",
    "instruction-writer",
    "file-structure-designer",
    "checkpoint-designer",
    "design-verifier",
    "solution-architect",
    "archivist",
]


class Place:
    """A repository and a home, with files that define roles."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repo"
        self.home = folder / "home"

    def define(self, where: Path, name: str, *, tools: str = "", words: str = "words") -> None:
        folder = where / ".claude/agents"
        folder.mkdir(parents=True, exist_ok=True)
        given = f"tools: {tools}\n" if tools else ""
        (folder / f"{name}.md").write_text(f"---\nname: {name}\ndescription: by {where.name}\n{given}---\n{words}\n")

    def registry(self, *, trusted: bool = False) -> AgentRegistry:
        return AgentRegistry(root=str(self.root), user_home=str(self.home), trusted=trusted)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_sixteen_roles_are_built_in() -> None:
    """Each role of the package exists without any file and has a description, capabilities and a template."""
    registry = AgentRegistry()
    assert [agent.name for agent in STANDARD_AGENTS] == STANDARD
    assert registry.names() == sorted(STANDARD)
    assert registry.warnings == []
    for agent in registry.agents.values():
        assert agent.source == BUILT_IN and agent.description and agent.capabilities.startswith("Must be able to")
        assert agent.prompt_path == f"{agent.name}.md" and agent.tools == ()


def test_the_folders_with_roles_can_be_chosen(place: Place, tmp_path: Path) -> None:
    """The first folder that has a role counts; one below the repository's root defines no judge (C18)."""
    for name in ("implementer", "planner"):
        place.define(tmp_path / "team", name)
        place.define(place.home, name)
    place.define(place.root / "tools", "implementer")
    place.define(place.root / "tools", "reviewer")
    chosen = [str(place.root / "tools/.claude/agents"), str(tmp_path / "team/.claude/agents"), "~/none", "also/none"]
    registry = AgentRegistry(root=str(place.root), user_home=str(place.home), directories=chosen)
    sources = [(registry.get(name).source, registry.get(name).description) for name in ("implementer", "planner")]
    assert sources == [(PROJECT, "by tools"), (USER, "by team")]
    assert registry.get("reviewer").source == BUILT_IN and "reviewer judges" in registry.warnings[0]


def test_project_roles_come_before_user_roles_and_those_before_packaged_ones(place: Place) -> None:
    """Project, then user, then built-in, role by role."""
    place.define(place.home, "implementer")
    place.define(place.home, "planner")
    place.define(place.root, "implementer")
    registry = place.registry()
    sources = {name: registry.get(name).source for name in ("implementer", "planner", "architect")}
    assert sources == {"implementer": PROJECT, "planner": USER, "architect": BUILT_IN}


def test_a_file_changes_the_text_of_a_built_in_role_only(place: Place) -> None:
    """A built-in role keeps its capabilities, through two files that define it."""
    place.define(place.home, "implementer")
    place.define(place.root, "implementer")
    agent, built_in = place.registry().get("implementer"), AgentRegistry().get("implementer")
    assert agent.capabilities == built_in.capabilities
    assert not agent.is_custom


def test_one_file_defines_a_new_role(place: Place) -> None:
    """One Markdown file is a new role."""
    place.define(place.root, "swiftdev")
    agent = place.registry().get("swiftdev")
    assert agent.is_custom and agent.description == "by repo"


@pytest.mark.parametrize("role", sorted(JUDGES))
def test_a_repository_defines_no_judge(place: Place, role: str) -> None:
    """A repository's file for a judge is refused with a warning, unless the user trusts the repository."""
    place.define(place.root, role)
    registry = place.registry()
    assert registry.get(role).source == BUILT_IN
    assert len(registry.warnings) == 1 and "judges" in registry.warnings[0] and "trust" in registry.warnings[0]
    trusted = place.registry(trusted=True)
    assert trusted.get(role).source == PROJECT and trusted.warnings == []


@pytest.mark.parametrize("role", sorted(JUDGES))
def test_the_user_may_define_a_judge(place: Place, role: str) -> None:
    """The user's own file for a judge counts, and the repository's file does not replace it."""
    place.define(place.home, role)
    place.define(place.root, role)
    assert place.registry().get(role).source == USER


@pytest.mark.parametrize(
    ("user", "project", "allowed"),
    [
        ("Read, Edit", "", ("Read", "Edit")),
        ("Read, Edit", "Read", ("Read",)),
        ("Read, Edit", "Edit, Bash, Read", ("Read", "Edit")),
        ("Read, Edit", "Bash", ("Read", "Edit")),
        ("", "Read", ("Read",)),
        ("", "", ()),
    ],
)
def test_a_repository_can_only_remove_tools(place: Place, user: str, project: str, allowed: tuple[str, ...]) -> None:
    """A repository's file can take away tools that the user's file allows, and cannot add any."""
    place.define(place.home, "implementer", tools=user)
    place.define(place.root, "implementer", tools=project)
    assert place.registry().get("implementer").tools == allowed


def test_a_file_without_common_tools_is_ignored(place: Place) -> None:
    """If two files have no tool in common, the user's own file stays, and the reason is shown."""
    place.define(place.home, "implementer", tools="Read, Edit")
    place.define(place.root, "implementer", tools="Bash")
    registry = place.registry()
    assert registry.get("implementer").source == USER
    assert registry.warnings[0].endswith("names no tool that implementer may use, so it does not count")


def test_a_repository_in_the_home_folder_is_the_users(tmp_path: Path) -> None:
    """If the home folder is the repository, its files are read once, as the user's."""
    place = Place(tmp_path)
    place.home = place.root
    place.define(place.root, "reviewer")
    registry = place.registry()
    assert registry.get("reviewer").source == USER and registry.warnings == []


def test_an_unknown_agent_gets_the_nearest_name() -> None:
    """The error names the unknown agent, and the hint the next step."""
    with pytest.raises(SowError, match=r"^unknown agent: implementor$") as near:
        AgentRegistry().get("implementor")
    assert near.value.hint == "did you mean implementer?"
    with pytest.raises(SowError, match=r"^unknown agent: zzz$") as far:
        AgentRegistry().get("zzz")
    assert "sow agent list" in far.value.hint


def test_two_registries_are_independent(place: Place) -> None:
    """A file that one checkout has changes no role of another."""
    place.define(place.root, "implementer", tools="Read")
    place.registry()
    assert AgentRegistry().get("implementer").tools == ()


def test_a_role_can_be_registered() -> None:
    """A caller can add or replace a role; the exported roles are the built-in ones (A17)."""
    registry, poet = agents.AgentRegistry(), agents.Agent(name="poet", description="Writes")
    registry.register(poet)
    registry.register(agents.Agent(name="planner", description="Plans twice"))
    assert registry.get("poet") is poet and registry.get("planner").description == "Plans twice"
    assert registry.get("implementer") is agents.IMPLEMENTER and agents.ARCHITECT in agents.STANDARD_AGENTS
    assert agents.AgentRegistry().get("planner") is agents.PLANNER
    assert agents.load_prompt(agents.REVIEWER.prompt_path).startswith("# Reviewer\n")
    for name in ("no_such_name", "NO_SUCH_ROLE"):
        with pytest.raises(AttributeError, match=name):
            getattr(agents, name)


def test_a_missing_template_is_named() -> None:
    """The error for a missing template has its file name (A15)."""
    with pytest.raises(SowError, match="failed to load prompt templates/poet: it does not exist"):
        agents.load_prompt("poet.md")
