"""The user's settings: their place, their effective values, and errors in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.quick_cases import all_of

from sow import config
from sow.agents.registry import STANDARD_AGENTS
from sow.config import DEFAULT, FROM_FILE, Config
from sow.errors import InvalidFile, SowError
from sow.executors.settings import ADAPTERS, adapter, program
from sow.system.environment import user_folder

ROLES = [agent.name for agent in STANDARD_AGENTS]
WINDOWS = {"APPDATA": "C:\\Users\\ada\\AppData\\Roaming", "USERPROFILE": "C:\\Users\\ada"}


def given(text: str, **environment: str) -> Config:
    """Returns the settings of a file with this text."""
    return Config("/home/ada/.config/sow/config.yaml", config.parse(text, "config.yaml"), environment)


def executor(name: str, **lines: str) -> str:
    """Returns a file with one executor."""
    body = "".join(f"      {key}: {value}\n" for key, value in lines.items())
    return f"agents:\n  executors:\n    {name}:\n{body}"


@all_of(
    ("environment", "platform", "path"),
    [
        ({"HOME": "/home/ada"}, "linux", "/home/ada/.config/sow/config.yaml"),
        ({"HOME": "/Users/ada"}, "darwin", "/Users/ada/.config/sow/config.yaml"),
        ({"HOME": "/home/ada", "XDG_CONFIG_HOME": "/etc/ada"}, "linux", "/etc/ada/sow/config.yaml"),
        ({"HOME": "/home/ada", "XDG_CONFIG_HOME": "/etc/ada/"}, "linux", "/etc/ada/sow/config.yaml"),
        ({"HOME": "/home/ada", "XDG_CONFIG_HOME": "relative"}, "linux", "/home/ada/.config/sow/config.yaml"),
        ({"HOME": "/home/ada", "XDG_CONFIG_HOME": ""}, "linux", "/home/ada/.config/sow/config.yaml"),
        ({"XDG_CONFIG_HOME": "/etc/ada"}, "linux", "/etc/ada/sow/config.yaml"),
        (WINDOWS, "win32", "C:\\Users\\ada\\AppData\\Roaming\\sow\\config.yaml"),
        ({"USERPROFILE": "C:\\Users\\ada"}, "win32", "C:\\Users\\ada\\AppData\\Roaming\\sow\\config.yaml"),
        ({**WINDOWS, "HOME": "/c/ada", "XDG_CONFIG_HOME": "/x"}, "win32", f"{WINDOWS['APPDATA']}\\sow\\config.yaml"),
    ],
)
def test_the_path_follows_from_environment_and_platform(environment: dict[str, str], platform: str, path: str):
    """The file's path depends on the environment and the platform only."""
    assert config.path(environment, platform) == path


@pytest.mark.parametrize(
    ("environment", "platform"), [({}, "linux"), ({"HOME": ""}, "linux"), ({"HOME": "here"}, "linux"), ({}, "win32")]
)
def test_without_a_home_there_is_an_error(environment: dict[str, str], platform: str):
    """The error names the variable to set."""
    with pytest.raises(SowError, match=r"is not set|neither XDG_CONFIG_HOME nor HOME") as excinfo:
        config.path(environment, platform)
    assert excinfo.value.hint.startswith("set ")


def test_a_cache_folder_follows_the_same_rules():
    """Other folders of the user are found in the same way."""
    assert user_folder({"HOME": "/home/ada"}, "XDG_CACHE_HOME", ".cache") == "/home/ada/.cache"
    assert user_folder({"HOME": "/", "XDG_CACHE_HOME": ""}, "XDG_CACHE_HOME", ".cache") == "/.cache"


def test_without_a_file_defaults_apply(tmp_path: Path):
    """Every role is played by Claude Code, which asks before it acts."""
    data = config.load({"HOME": str(tmp_path)})
    assert not data.exists
    assert {data.binding(role) for role in ROLES} == {("claude-code", DEFAULT)}
    played = data.executor("claude-code")
    assert (played.type, played.yolo, played.model, played.custom_args) == ("claude", False, "", ())
    assert played.origin_of("yolo_mode") == DEFAULT
    assert list(tmp_path.iterdir()) == []


def test_every_type_is_an_executor_of_its_own_name():
    """Each built-in type can be bound without a definition, except `command`, which has no program."""
    result = given("")
    assert {executor.type for executor in result.executors.values()} == set(ADAPTERS) - {"command"}
    assert all(name == executor.type or name == "claude-code" for name, executor in result.executors.items())


def test_environment_over_file_over_default():
    """SOW_AGENTS_<ROLE> beats the file, the file beats the default, and each value has its origin."""
    result = given(
        "agents:\n  bindings:\n    implementer: codex\n    reviewer: gemini\n", SOW_AGENTS_IMPLEMENTER="cursor"
    )
    assert result.binding("implementer") == ("cursor", "from environment: SOW_AGENTS_IMPLEMENTER")
    assert result.binding("reviewer") == ("gemini", FROM_FILE)
    assert result.binding("planner") == ("claude-code", DEFAULT)


def test_one_setting_binds_every_role():
    """`agents.default` plays each role without a binding, and Claude Code is not needed (A18)."""
    result = given("agents: {default: cursor, bindings: {reviewer: gemini}}\n", SOW_AGENTS_PLANNER="codex")
    assert result.binding("quality-control") == ("cursor", f"{FROM_FILE}: agents.default")
    assert result.binding("reviewer") == ("gemini", FROM_FILE)
    assert result.binding("planner") == ("codex", "from environment: SOW_AGENTS_PLANNER")
    assert set(result.executors_in_use(ROLES)) == {"cursor", "gemini", "codex"}


def test_the_integrator_follows_the_implementer():
    """An integrator without a binding uses the implementer's executor, also where the settings are shown."""
    result = given("agents: {default: cursor, bindings: {implementer: codex}}\n")
    assert result.binding("integrator") == ("codex", FROM_FILE)
    bound = given("agents: {bindings: {implementer: codex, integrator: gemini}}\n")
    assert bound.binding("integrator") == ("gemini", FROM_FILE)


@pytest.mark.parametrize(
    ("text", "role", "reason"),
    [
        ("", "quality-control", "Role quality-control uses executor claude-code (default)."),
        ("agents: {default: cursor}", "planner", "uses executor cursor (from config file: agents.default)."),
        ("agents: {bindings: {planner: codex}}", "planner", "uses executor codex (from config file)."),
    ],
)
def test_a_missing_program_names_the_role_that_needs_it(text: str, role: str, reason: str):
    """The error has the role, and the hint the origin of its binding and the settings that change it (A18)."""
    result = given(text)
    executor = result.executor(result.binding(role)[0])
    with pytest.raises(SowError) as excinfo:
        result.require_program(executor, role, {"PATH": ""})
    assert excinfo.value.message == f"executor binary not found: {executor.program} (for role {role})"
    assert f"Install {executor.program}: {adapter(executor.type).capabilities.install}\n\n" in excinfo.value.hint
    assert reason in excinfo.value.hint
    assert "without an account: --executor simulated" in excinfo.value.hint
    assert f"To use another one: sow config set agents.bindings.{role} NAME\nFor all roles: " in excinfo.value.hint
    assert excinfo.value.hint.endswith("Their names: sow config show")


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (
            {"type": "claude", "settings": "{binary: /opt/x/agent}"},
            ("runs /opt/x/agent, which is not an executable file", "binary"),
        ),
        (
            {"type": "command", "settings": "{command: [/opt/x/agent]}"},
            ("runs /opt/x/agent, which is not an executable file", "command"),
        ),
        (
            {"type": "command", "settings": "{command: [no-such-agent]}"},
            ("requires the no-such-agent CLI to be installed and available on PATH", "command"),
        ),
    ],
)
def test_a_wrong_program_in_the_settings_has_a_hint(lines: dict[str, str], says: tuple[str, str]):
    """The hint corrects the settings, since a program with a wrong name cannot be installed (A24)."""
    result = given(executor("mine", **lines))
    with pytest.raises(SowError) as excinfo:
        result.require_program(result.executor("mine"), "planner", {"PATH": ""})
    need, field = says
    advice = f"Correct agents.executors.mine.settings.{field}: sow config edit\n\n"
    assert excinfo.value.hint.startswith(f'Executor "mine" {need}.\n\n{advice}')


def test_a_missing_fallback_is_left_out_and_named(tmp_path: Path):
    """Only installed fallbacks count; the first executor stays, so that its absence is an error (A18)."""
    (tmp_path / "gemini").write_text("#!/bin/sh\n")
    (tmp_path / "gemini").chmod(0o755)
    result = given("agents: {fallbacks: {planner: [codex, gemini]}}\n")
    executors, notes = result.executors_of("planner", {"PATH": str(tmp_path)})
    assert [executor.name for executor in executors] == ["claude-code", "gemini"]
    assert notes == ["the fallback codex is left out: codex is not installed"]


@pytest.mark.parametrize(
    ("role", "variable"),
    [
        ("workflow-architect", "SOW_AGENTS_WORKFLOW_ARCHITECT"),
        ("db_admin", "SOW_AGENTS_DB_ADMIN"),
        ("qa2", "SOW_AGENTS_QA2"),
    ],
)
def test_a_variable_exists_for_every_role(role: str, variable: str):
    """A role with a dash or an underscore in its name has a variable too."""
    result = given(f"agents:\n  bindings:\n    {role}: codex\n", **{variable: "gemini"})
    assert result.binding(role) == ("gemini", f"from environment: {variable}")
    assert result.roles([]) == [role]


def test_an_empty_variable_does_not_count():
    """An empty SOW_AGENTS_<ROLE> is no override, and neither is a variable without a role."""
    result = given("", SOW_AGENTS_PLANNER="", SOW_AGENTS_="cursor")
    assert result.binding("planner") == ("claude-code", DEFAULT)
    assert result.overrides == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment\n",
        "agents:\n",
        "agents:\n  executors:\n  bindings:\n  fallbacks:\n",
        "agents: null\nlimits: null\ntrust: null\n",
        "agents:\n  executors:\n    # claude-code:\n    #   type: claude\n",
    ],
)
def test_an_empty_section_does_not_count(text: str):
    """A section with only comments is the same as no section."""
    result = given(text)
    assert result.binding("implementer") == ("claude-code", DEFAULT)
    assert result.limits["turn_timeout"] == ("60m", DEFAULT)
    assert result.fallbacks == {}
    assert result.trust == []


def test_an_executor_with_empty_settings_has_the_defaults():
    """`settings:` and `custom_args:` without a value count as not given."""
    result = given(executor("claude-code", type="claude", settings="", custom_args="")).executor("claude-code")
    assert (result.settings, result.custom_args, result.yolo) == ({}, (), False)
    assert result.origin_of("yolo_mode") == DEFAULT


def test_several_executors_of_one_type():
    """Two executors of one type have their own settings and arguments."""
    text = """
agents:
  executors:
    claude-opus:
      type: claude
      settings: {model: opus, yolo_mode: true}
    claude-code:
      type: claude
      settings: {model: sonnet}
      custom_args: ["--effort", "high"]
  bindings: {architect: claude-opus}
"""
    result = given(text)
    opus, sonnet = result.executor("claude-opus"), result.executor("claude-code")
    assert (opus.model, opus.yolo, opus.origin_of("yolo_mode")) == ("opus", True, FROM_FILE)
    assert (sonnet.model, sonnet.yolo, sonnet.origin_of("yolo_mode")) == ("sonnet", False, DEFAULT)
    assert sonnet.custom_args == ("--effort", "high")
    assert result.executors_in_use(ROLES) == ["claude-code", "claude-opus"]


def test_limits_merge_over_the_defaults():
    """A given limit replaces only its own default."""
    result = given("limits:\n  turn_timeout: 2h\n  transcript_mb: 1\n")
    assert result.limits["turn_timeout"] == ("2h", FROM_FILE)
    assert result.limits["transcript_mb"] == (1, FROM_FILE)
    assert result.limits["silence_timeout"] == ("15m", DEFAULT)
    assert result.seconds("turn_timeout") == 7200


@pytest.mark.parametrize(
    ("text", "seconds"), [("250ms", 0.25), ("90s", 90), ("45m", 2700), ("2h", 7200), ("1d", 86400), ("0s", 0)]
)
def test_durations(text: str, seconds: float):
    """A duration is a whole number and a unit."""
    assert config.seconds(text) == seconds


@all_of("text", ["", "5", "m", "1.5h", "-1s", "1 h", "1hm", "٣s", "soon"])
def test_bad_durations_are_refused(text: str):
    """The error has an example."""
    with pytest.raises(SowError, match="is not a duration") as excinfo:
        config.seconds(text)
    assert "45m" in excinfo.value.hint


def test_trust_follows_the_real_path(tmp_path: Path):
    """A repository is trusted by its real path, in any spelling."""
    (tmp_path / "repo").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "repo")
    result = given(f"trust:\n  - {tmp_path}/link\n")
    assert result.trusts(str(tmp_path / "repo"))
    assert not result.trusts(str(tmp_path))


MISFITS = {
    "command missing": (executor("c", type="command"), "c.settings.command: is missing"),
    "command elsewhere": (
        executor("c", type="claude", settings="{command: [x]}"),
        "c.settings.command: only type command has this",
    ),
    "scenario elsewhere": (
        executor("c", type="claude", settings="{scenario: x}"),
        "c.settings.scenario: only type simulated has this",
    ),
    "allow_empty elsewhere": (
        executor("c", type="claude", settings="{allow_empty: true}"),
        "c.settings.allow_empty: only type command has this",
    ),
    "binary of a command": (
        executor("c", type="command", settings="{command: [x], binary: y}"),
        "c.settings.binary: type command has none",
    ),
    "relative binary": (
        executor("c", type="claude", settings="{binary: ./claude}"),
        "c.settings.binary: must be the name of a program or an absolute path",
    ),
    "relative command": (
        executor("c", type="command", settings="{command: [bin/agent]}"),
        "c.settings.command[0]: must be the name of a program or an absolute path",
    ),
    "empty command": (
        executor("c", type="command", settings='{command: [""]}'),
        "c.settings.command[0]: must be the name of a program or an absolute path",
    ),
    "NUL in an argument": (
        executor("c", type="claude", custom_args='["a", "\\0"]'),
        "c.custom_args[1]: has a NUL byte",
    ),
    "NUL in a command": (
        executor("c", type="command", settings='{command: [x, "\\0"]}'),
        "c.settings.command[1]: has a NUL byte",
    ),
    "no name": (executor("My Claude", type="claude"), "'My Claude' is no name for an executor"),
}


@all_of("case", MISFITS)
def test_settings_must_fit_their_type(case: str):
    """A mistake that a schema cannot find is refused when the executor is used, with the file and the field."""
    text, texts = MISFITS[case]
    result = given(text)
    name = next(name for name, executor in result.executors.items() if executor.origin == FROM_FILE)
    with pytest.raises(InvalidFile) as excinfo:
        result.executor(name)
    assert excinfo.value.message.startswith(f"{result.path}: agents.executors")
    assert texts in excinfo.value.message
    assert "sow config edit" in excinfo.value.hint


def test_an_unused_executor_with_an_error_affects_no_other():
    """A misfit is an error of the executor that has it, not of the others."""
    result = given(executor("broken", type="command"))
    assert result.executor("claude-code").type == "claude"


@all_of("kind", ADAPTERS)
def test_a_model_is_accepted_where_the_capability_says_so(kind: str):
    """`model` is refused for exactly those types whose CLI takes none."""
    more = ", command: [x]" if kind == "command" else ""
    result = given(executor("mine", type=kind, settings=f"{{model: big{more}}}"))
    if adapter(kind).capabilities.model:
        assert result.executor("mine").model == "big"
    else:
        with pytest.raises(InvalidFile, match=rf"settings\.model: type {kind} takes no model"):
            result.executor("mine")


@pytest.mark.parametrize(
    ("kind", "settings", "named"),
    [
        ("claude", {}, "claude"),
        ("claude", {"binary": "claude-beta"}, "claude-beta"),
        ("claude", {"binary": "~/bin/claude"}, os.path.expanduser("~/bin/claude")),
        ("command", {"command": ["/opt/agent", "--quiet"]}, "/opt/agent"),
    ],
)
def test_the_program_of_an_executor(kind: str, settings: dict[str, object], named: str):
    """The program is the configured one, with the home for ~, or else that of the type."""
    assert program(kind, settings) == named


def test_an_unknown_executor_has_a_hint():
    """The error names the executor; the hint has its origin, the nearest name, and the existing ones."""
    result = given("agents:\n  bindings:\n    implementer: cusor\n")
    with pytest.raises(SowError) as excinfo:
        result.executor("cusor")
    assert excinfo.value.message == "unknown executor: cusor"
    first, empty, *lines = excinfo.value.hint.split("\n")
    assert first == "agents.bindings.implementer names it; did you mean cursor?"
    assert (empty, lines[0]) == ("", "Available executors:")
    assert "  - claude-code" in lines
    assert lines[-3:] == [
        "Check your configuration at /home/ada/.config/sow/config.yaml",
        "Run 'sow config path' to see the full path.",
        "Run 'sow config init' to create a default configuration.",
    ]


@pytest.mark.parametrize(
    ("text", "environment", "first"),
    [
        ("", {}, "Available executors:"),
        ("", {"SOW_AGENTS_PLANNER": "zzzzzz"}, "SOW_AGENTS_PLANNER names it"),
        ("agents:\n  fallbacks:\n    planner: [zzzzzz]\n", {}, "agents.fallbacks.planner names it"),
        ("agents: {default: zzzzzz}\n", {}, "agents.default names it"),
    ],
)
def test_the_origin_of_an_unknown_executor_is_named(text: str, environment: dict[str, str], first: str):
    """The hint has the variable, the binding or the fallback."""
    with pytest.raises(SowError) as excinfo:
        given(text, **environment).executor("zzzzzz")
    assert excinfo.value.hint.split("\n")[0] == first


@pytest.mark.parametrize(
    "text",
    [
        "trust: []\ntrust: []\n",
        "trust: []\ntrust: []",
        "trust: []\rtrust: []\n",
        "limits: {turn_timeout: 1m, turn_timeout: 2m}\n",
        "limits: {}\nlimits: {}\nlimits: {}\nagents: {bindings: {a: b}}\n",
        "# a comment\ntrust: []\n\n# another\ntrust: []\n",
        "agents:\n  bindings:\n    planner: |\n      # codex\n    planner: codex\n",
    ],
)
def test_a_repeated_key_is_refused_in_any_layout(text: str):
    """Two equal keys are an error, with any brackets, comments or line ends around them."""
    with pytest.raises(InvalidFile, match="is here a second time"):
        config.parse(text, "config.yaml")


def test_a_linked_file_is_read(tmp_path: Path):
    """A link to a settings file in a repository counts as the file."""
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles/sow.yaml").write_text("agents:\n  bindings:\n    planner: codex\n")
    (tmp_path / ".config/sow").mkdir(parents=True)
    (tmp_path / ".config/sow/config.yaml").symlink_to(tmp_path / "dotfiles/sow.yaml")
    data = config.load({"HOME": str(tmp_path)})
    assert data.binding("planner") == ("codex", FROM_FILE)


@pytest.mark.parametrize("text", ["agents: [", "agents: 5\n", "a: &a 1\n", "agents:\n\tbindings:\n", "agnts: {}\n"])
def test_no_hint_mentions_git(text: str):
    """The user's settings are not in git, so the hint is `sow config edit` and never a restore."""
    with pytest.raises(InvalidFile) as excinfo:
        config.parse(text, "config.yaml")
    assert excinfo.value.hint == config.FIX_HINT


def test_validation_adds_no_value():
    """Reading a file adds no default values, so that every origin is right."""
    text = "agents:\n  executors:\n    mine:\n      type: claude\n"
    assert config.parse(text, "config.yaml") == {"agents": {"executors": {"mine": {"type": "claude"}}}}
