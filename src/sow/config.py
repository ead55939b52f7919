"""User settings: default < file < environment, each value with its origin. None of it comes from a repository."""

from __future__ import annotations

import os
import sys

from sow.errors import InvalidFile, SowError, nearest
from sow.executors.registry import DEFAULT_EXECUTORS
from sow.store import state, yaml_text
from sow.store.disk import Disk, read_text
from sow.store.formats import FORMATS
from sow.system.environment import user_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

DEFAULT = "default"
FROM_FILE = "from config file"
VARIABLE = "SOW_AGENTS_"
DEFAULT_EXECUTOR = "claude-code"
# What a turn may take before it is stopped: the agent's whole work, its silence, its stay after the last word,
# the time that it has to end when it is asked to, and the size of its output.
DEFAULT_LIMITS = {
    "turn_timeout": "60m",
    "silence_timeout": "15m",
    "linger_timeout": "10s",
    "stop_grace": "5s",
    "transcript_mb": 256,
}
# How a plan is run, by whom it is reviewed, what it may cost (no budget: nothing stops it), how its commands
# run, what a worker is pointed to, how much may be fetched for that, and how a person is told what happens.
DEFAULT_SECTIONS: dict[str, dict[str, Any]] = {
    "run": {
        "max_concurrency": 3,
        "schedule": "ready",
        "isolation": "worktree",
        "retries": 2,
        "max_wait": "6h",
        "final_checks": "on",
        "history": "squash",
        "baseline": "on",
    },
    "review": {"enabled": True, "agents": ["quality-control"]},
    "budgets": {"run_usd": None, "task_usd": None, "run_tokens": None, "run_time": None, "run_spawns": None},
    "checks": {"timeout": "20m", "env": [], "parallel": 2, "allow": []},
    "worktree": {"link": [], "copy": [], "setup": []},
    "context": {"enabled": True, "budget": "8k"},
    "knowledge": {"sink_mb": 50, "repo_mb": 1000, "timeout": "2m"},
    "notify": {"command": [], "bell": True},
}
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
MEND = "mend it with 'sow config edit'; 'sow schema show user-config' has the rules"


def path(environment: Mapping[str, str], platform: str = sys.platform) -> str:
    """Where the user's file is, or would be."""
    if platform == "win32":
        folder = environment.get("APPDATA", "")
        if not folder and environment.get("USERPROFILE"):
            folder = f"{environment['USERPROFILE']}\\AppData\\Roaming"
        if not folder:
            raise SowError("APPDATA is not set, so your settings have no place", "set APPDATA to a folder of yours")
        return f"{folder}\\sow\\config.yaml"
    return f"{user_folder(environment, 'XDG_CONFIG_HOME', '.config')}/sow/config.yaml"


class ExecutorConfig:
    """One named configuration of an agent CLI; `settings` holds only what somebody set."""

    __slots__ = ("custom_args", "name", "origin", "settings", "type")

    def __init__(
        self, *, name: str, type: str, settings: Mapping[str, Any], custom_args: tuple[str, ...], origin: str
    ) -> None:
        self.name = name
        self.type = type
        self.settings = dict(settings)
        self.custom_args = custom_args
        self.origin = origin

    @property
    def yolo(self) -> bool:
        return bool(self.settings.get("yolo_mode", False))

    @property
    def model(self) -> str:
        return str(self.settings.get("model", ""))

    def origin_of(self, setting: str) -> str:
        """Where one of its settings was said."""
        return self.origin if setting in self.settings else DEFAULT


class Config:
    """The effective settings."""

    __slots__ = ("bindings", "executors", "exists", "fallbacks", "limits", "overrides", "path", "sections", "trust")

    def __init__(self, where: str, data: dict[str, Any] | None, environment: Mapping[str, str]) -> None:
        self.path = where
        self.exists = data is not None
        data = data or {}
        agents = data.get("agents") or {}
        self.executors = _executors(agents.get("executors") or {})
        self.bindings: dict[str, str] = dict(agents.get("bindings") or {})
        self.overrides = {
            name: value
            for name, value in environment.items()
            if name.startswith(VARIABLE) and name != VARIABLE and value
        }
        self.fallbacks: dict[str, list[str]] = dict(agents.get("fallbacks") or {})
        self.limits = _with_origins(DEFAULT_LIMITS, data.get("limits") or {})
        self.sections = {name: _with_origins(values, data.get(name) or {}) for name, values in DEFAULT_SECTIONS.items()}
        self.trust: list[str] = list(data.get("trust") or [])

    def binding(self, role: str) -> tuple[str, str]:
        """The executor that plays a role, and where that was said."""
        variable = variable_of(role)
        if variable in self.overrides:
            return self.overrides[variable], f"from environment: {variable}"
        return (self.bindings[role], FROM_FILE) if role in self.bindings else (DEFAULT_EXECUTOR, DEFAULT)

    def roles(self, known: Iterable[str]) -> list[str]:
        """The known roles, and besides those every role that the user bound."""
        found = list(dict.fromkeys((*known, *self.bindings, *self.fallbacks)))
        variables = {variable_of(role) for role in found}
        extra = [each for each in self.overrides if each not in variables]
        return [*found, *(each.removeprefix(VARIABLE).lower().replace("_", "-") for each in extra)]

    def in_use(self, known: Iterable[str]) -> list[str]:
        """The names of executors that the user defined, or that some role is bound to."""
        roles = self.roles(known)
        names = [name for name, each in self.executors.items() if each.origin == FROM_FILE]
        names += [self.binding(role)[0] for role in roles]
        names += [name for role in roles for name in self.fallbacks.get(role, ())]
        return list(dict.fromkeys(names))

    def executor(self, name: str) -> ExecutorConfig:
        """A named executor that can be used."""
        found = self.executors.get(name)
        if found is None:
            raise unknown_executor(name, self)
        wrong = misfit(found)
        if wrong:
            raise InvalidFile(f"{self.path}: {wrong}", MEND)
        return found

    def setting(self, section: str, name: str) -> Any:
        """One value of a section such as run, review or budgets."""
        return self.sections[section][name][0]

    def notify_command(self) -> list[str]:
        """The words of the command that tells a person what happens; none where there is none."""
        import shlex

        given = self.setting("notify", "command")
        try:
            words = shlex.split(given) if isinstance(given, str) else [str(each) for each in given]
        except ValueError:
            raise InvalidFile(f"{self.path}: notify.command: a quote is not closed", MEND) from None
        if not words:
            return []
        program = os.path.expanduser(words[0])
        if not program or ("/" in program and not os.path.isabs(program)):
            wanted = "must begin with the name of a program or an absolute path"
            raise InvalidFile(f"{self.path}: notify.command: {wanted}, not {program!r:.80}", MEND)
        if any("\0" in word for word in words):
            raise InvalidFile(f"{self.path}: notify.command: no command line can have a NUL", MEND)
        return [program, *words[1:]]

    def seconds(self, limit: str) -> float:
        """A limit that is a duration."""
        return seconds(str(self.limits[limit][0]))

    def trusts(self, root: str) -> bool:
        """Whether the user lets this repository define judging roles."""
        return any(os.path.realpath(os.path.expanduser(each)) == os.path.realpath(root) for each in self.trust)


def _with_origins(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
    """Every value of a section, and whether the user's file or we said it."""
    return {key: (given.get(key, value), FROM_FILE if key in given else DEFAULT) for key, value in defaults.items()}


def variable_of(role: str) -> str:
    """The variable that binds a role for one call: SOW_AGENTS_IMPLEMENTER."""
    return VARIABLE + role.upper().replace("-", "_")


def _executors(defined: Mapping[str, Any]) -> dict[str, ExecutorConfig]:
    """Every built-in type under its own name, and what the user defined over it."""
    found = {
        name: ExecutorConfig(name=name, type=kind, settings={}, custom_args=(), origin=DEFAULT)
        for name, kind in DEFAULT_EXECUTORS.items()
    }
    for name, entry in defined.items():
        found[name] = ExecutorConfig(
            name=name,
            type=entry["type"],
            settings=entry.get("settings") or {},
            custom_args=tuple(entry.get("custom_args") or ()),
            origin=FROM_FILE,
        )
    return found


def misfit(executor: ExecutorConfig) -> str:
    """What is wrong with an executor beyond what a schema can tell, with its field; empty where all is well."""
    if executor.origin == DEFAULT:
        return ""
    from sow.executors import settings

    named, wanted = FORMATS["sow-agent"]
    if not named(executor.name):
        return f"agents.executors: {executor.name!r} is no name for an executor; use {wanted}"
    wrong = settings.misfit(executor.type, executor.settings, executor.custom_args)
    return f"agents.executors.{executor.name}.{wrong}" if wrong else ""


def load(environment: Mapping[str, str]) -> Config:
    """The effective settings; no file is needed."""
    where = path(environment)
    text = read(where)
    return Config(where, None if text is None else parse(text, where), environment)


def read(where: str) -> str | None:
    """The text of the user's file, if there is one; it may be a link, since people keep their settings in git."""
    try:
        return read_text(Disk(), os.path.realpath(where), yaml_text.MAX_BYTES)
    except FileNotFoundError:
        return None
    except InvalidFile as error:
        raise InvalidFile(error.message, MEND) from None


def document(text: str, where: str) -> Any:
    """The YAML of a config file; an empty file, or one of comments only, is no settings at all."""
    try:
        data = yaml_text.load(text, where) if text.strip() else None
    except InvalidFile as error:
        raise InvalidFile(error.message, MEND) from None
    return {} if data is None else data


def parse(text: str, where: str) -> dict[str, Any]:
    """A config file's content as it was given: the check fills defaults in, so it gets a copy."""
    from sow.store.validators.user_config import validate  # here, because many have no such file

    data = document(text, where)
    try:
        state.check(_copy(data), where, validate)
    except InvalidFile as error:
        raise InvalidFile(error.message, MEND, place=error.place) from None
    return dict(data)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(each) for key, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value


def seconds(duration: str) -> float:
    """`90s`, `45m`, `2h` in seconds."""
    number = duration.rstrip("dhms")
    unit = duration[len(number) :]
    if not (number.isascii() and number.isdigit() and unit in UNITS):
        raise SowError(f"{duration!r} is not a duration", "write a number and a unit, such as 90s, 45m or 2h")
    return int(number) * UNITS[unit]


def unknown_executor(name: str, config: Config) -> SowError:
    """The seed's words for a name that nobody defined, after who said it and what was meant perhaps."""
    lines = ["Available executors:", *(f"  - {each}" for each in sorted(config.executors)), ""]
    lines += [f"Check your configuration at {shown(config.path)}", "Run 'sow config path' to see the full path."]
    lines += ["Run 'sow config init' to create a default configuration."]
    advice = "; ".join(each for each in (_sayer(name, config), nearest(name, config.executors)) if each)
    return SowError(f"unknown executor: {name}", "\n".join([advice, "", *lines] if advice else lines))


def _sayer(name: str, config: Config) -> str:
    """Which setting names this executor."""
    places = [variable for variable, value in config.overrides.items() if value == name]
    places += [f"agents.bindings.{role}" for role, value in config.bindings.items() if value == name]
    places += [f"agents.fallbacks.{role}" for role, values in config.fallbacks.items() if name in values]
    return f"{places[0]} names it" if places else ""


def shown(where: str) -> str:
    """A path with ~ for the home, as people write it."""
    home = os.path.expanduser("~")
    return f"~{where.removeprefix(home)}" if where.startswith(f"{home}/") else where
