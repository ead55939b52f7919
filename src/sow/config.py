"""Reads the user's settings: defaults, file and environment, each value with its origin; nothing from a repository."""

from __future__ import annotations

import os
import sys

from sow.agents.registry import DIRECTORIES
from sow.errors import InvalidFile, SowError, suggestion
from sow.executors.settings import DEFAULT_EXECUTORS, adapter, find_binary, missing_binary, program, setting_error
from sow.store.files import state_file
from sow.store.files.disk import Disk, read_text
from sow.store.formats import yaml_text
from sow.store.formats.validation import FORMATS
from sow.system.environment import user_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from sow.agents.registry import AgentRegistry

DEFAULT = "default"
FROM_FILE = "from config file"
FROM_PLAN = "from the plan"
VARIABLE_PREFIX = "SOW_AGENTS_"
SANDBOX_VARIABLE = "SOW_SANDBOX"
DEFAULT_EXECUTOR = "claude-code"
INHERITED_BINDINGS = {"integrator": "implementer"}  # a role without a binding, and the role whose binding it uses
# Limits of a turn: its duration, its silence, the time it may run after its last event, the time it has to stop, and
# the size of its output.
DEFAULT_LIMITS = {
    "turn_timeout": "60m",
    "silence_timeout": "15m",
    "linger_timeout": "10s",
    "stop_grace": "5s",
    "transcript_mb": 256,
}
# Sections of the settings with their defaults. A budget of None never stops a run.
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
    "sandbox": {
        "mode": "auto",
        "roles": {},
        "network": "all",
        "network_roles": {},
        "hosts": [],
        "read": [],
        "write": [],
        "env": [],
    },
    "notify": {"command": [], "bell": True},
    "deliver": {"bots": [], "check_wait": "10m"},
    "cluster": {
        "address": "",
        "namespace": "default",
        "name": "sow",
        "transfer": "",
        "sign": "",
        "tls_ca": "",
        "tls_cert": "",
        "tls_key": "",
        "lost_after": "90s",
        "wait_for_host": "10m",
        "fetch_mb": 2048,
    },
    "host": {
        "name": "",
        "capacity": {},
        "signers": "",
        "transfers": [],
        "keep": "7d",
        "checkpoint": "5m",
        "checks": 0,
    },
}
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
FIX_HINT = "fix it with 'sow config edit'; 'sow schema show user-config' has the rules"


def path(environment: Mapping[str, str], platform: str = sys.platform) -> str:
    """Returns the path of the user's settings file, whether or not it exists."""
    if platform == "win32":
        folder = environment.get("APPDATA", "")
        if not folder and environment.get("USERPROFILE"):
            folder = f"{environment['USERPROFILE']}\\AppData\\Roaming"
        if not folder:
            raise SowError("APPDATA is not set, so your settings have no place", "set APPDATA to a folder of yours")
        return f"{folder}\\sow\\config.yaml"
    return f"{user_folder(environment, 'XDG_CONFIG_HOME', '.config')}/sow/config.yaml"


class ExecutorConfig:
    """One named configuration of an agent CLI; `settings` contains only what the user set."""

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

    @property
    def program(self) -> str:
        """The name or path of the program that it runs."""

        return program(self.type, self.settings)

    def find_program(self, environment: Mapping[str, str]) -> str:
        """Returns the path of its program, or "" if it is not installed."""

        return find_binary(self.program, environment)

    def origin_of(self, setting: str) -> str:
        """Returns the origin of one of its settings."""
        return self.origin if setting in self.settings else DEFAULT


class Config:
    """The effective settings."""

    __slots__ = (
        "bindings", "default", "directories", "executors", "exists", "fallbacks", "limits", "overrides", "path",
        "sections", "trust",
    )  # fmt: skip

    def __init__(self, file_path: str, data: dict[str, Any] | None, environment: Mapping[str, str]) -> None:
        self.path = file_path
        self.exists = data is not None
        data = data or {}
        agents = data.get("agents") or {}
        self.executors = _executors(agents.get("executors") or {})
        self.default: str = agents.get("default") or ""  # the executor of every role without a binding
        self.bindings: dict[str, str] = dict(agents.get("bindings") or {})
        self.overrides = {
            name: value
            for name, value in environment.items()
            if name.startswith(VARIABLE_PREFIX) and name != VARIABLE_PREFIX and value
        }
        self.fallbacks: dict[str, list[str]] = dict(agents.get("fallbacks") or {})
        self.directories = _with_origins({"directories": [*DIRECTORIES]}, agents)["directories"]
        self.limits = _with_origins(DEFAULT_LIMITS, data.get("limits") or {})
        self.sections = {name: _with_origins(values, data.get(name) or {}) for name, values in DEFAULT_SECTIONS.items()}
        self.trust: list[str] = list(data.get("trust") or [])
        mode = environment.get(SANDBOX_VARIABLE, "")
        if mode:
            origin = f"from environment: {SANDBOX_VARIABLE}"
            self.sections["sandbox"] |= {"mode": (_sandbox_mode(mode), origin), "roles": ({}, origin)}
            if mode == "off":  # then nothing limits the network
                self.sections["sandbox"] |= {"network": ("all", origin), "network_roles": ({}, origin)}

    def binding(self, role: str) -> tuple[str, str]:
        """Returns the executor that plays a role, and the origin of that setting."""
        variable = role_variable(role)
        if variable in self.overrides:
            return self.overrides[variable], f"from environment: {variable}"
        if role in self.bindings:
            return self.bindings[role], FROM_FILE
        if role in INHERITED_BINDINGS:
            return self.binding(INHERITED_BINDINGS[role])
        return (self.default, f"{FROM_FILE}: agents.default") if self.default else (DEFAULT_EXECUTOR, DEFAULT)

    def roles(self, names: Iterable[str]) -> list[str]:
        """Returns the given roles and every other role that the user bound."""
        roles = list(dict.fromkeys((*names, *self.bindings, *self.fallbacks)))
        variables = {role_variable(role) for role in roles}
        unlisted = [variable for variable in self.overrides if variable not in variables]
        return [*roles, *(variable.removeprefix(VARIABLE_PREFIX).lower().replace("_", "-") for variable in unlisted)]

    def executors_in_use(self, role_names: Iterable[str]) -> list[str]:
        """Returns the names of executors that the user defined or bound to a role."""
        roles = self.roles(role_names)
        names = [name for name, executor in self.executors.items() if executor.origin == FROM_FILE]
        names += [self.binding(role)[0] for role in roles]
        names += [name for role in roles for name in self.fallbacks.get(role, ())]
        return list(dict.fromkeys(names))

    def executor(self, name: str) -> ExecutorConfig:
        """Returns a named executor, or raises if it is unknown or misconfigured."""
        executor = self.executors.get(name)
        if executor is None:
            raise unknown_executor(name, self)
        problem = executor_error(executor)
        if problem:
            raise InvalidFile(f"{self.path}: {problem}", FIX_HINT)
        return executor

    def executors_of(
        self, role: str, environment: Mapping[str, str], only: str = ""
    ) -> tuple[list[ExecutorConfig], list[str]]:
        """Returns the executor of a role and its installed fallbacks, and a note about each other fallback."""
        names = [only] if only else dict.fromkeys((self.binding(role)[0], *self.fallbacks.get(role, ())))
        first, *fallbacks = map(self.executor, names)
        missing = [fallback for fallback in fallbacks if not fallback.find_program(environment)]
        notes = [
            f"the fallback {fallback.name} is left out: {fallback.program} is not installed" for fallback in missing
        ]
        return [first, *(fallback for fallback in fallbacks if fallback not in missing)], notes

    def require_program(self, executor: ExecutorConfig, role: str, environment: Mapping[str, str]) -> str:
        """Returns the path of an executor's program; an error names the role that needs it and its binding."""
        path = executor.find_program(environment)
        if path:
            return path

        bound, origin = self.binding(role)
        origin = f" ({origin})" if bound == executor.name else ""
        problem = missing_binary(executor.name, executor.program, adapter(executor.type).capabilities)
        raise SowError(
            f"{problem.message} (for role {role})",
            f"{problem.hint}\n\nRole {role} uses executor {executor.name}{origin}.\n"
            f"To use another one: sow config set agents.bindings.{role} NAME\n"
            "For all roles: sow config set agents.default NAME\n"
            "To try sow without an account: --executor simulated\n"
            "Their names: sow config show",
        )

    def setting(self, section: str, name: str) -> Any:
        """Returns one value of a section such as run, review or budgets."""
        return self.sections[section][name][0]

    def sandbox_mode(self, role: str) -> str:
        """Returns whether an agent of this role runs in the sandbox: auto, off or bwrap."""
        return str((self.setting("sandbox", "roles") or {}).get(role) or self.setting("sandbox", "mode"))

    def narrow_sandbox(self, mode: str) -> None:
        """Applies the sandbox mode of a plan; `bwrap` holds for checks and all roles. Raises if it is too wide."""
        from sow.domain.network import BWRAP, OFF, SANDBOX_MODES, is_wider  # here, because few plans name one

        own = str(self.setting("sandbox", "mode"))
        if is_wider(mode, own, SANDBOX_MODES):
            raise SowError(
                f"the plan wants sandbox: {mode}, which is wider than your sandbox.mode ({own})",
                "take it out of the plan, or change your setting: sow config edit",
            )
        if mode == BWRAP and own == OFF:
            raise SowError(
                f"the plan wants sandbox: {mode}, but your sandbox.mode is {own}", "sow config set sandbox.mode auto"
            )
        if mode == BWRAP:
            self.sections["sandbox"] |= {"mode": (mode, FROM_PLAN), "roles": ({}, FROM_PLAN)}

    def sandbox_network(self, role: str = "") -> str:
        """Returns what agents of a role may reach: all, model or none."""
        return str((self.setting("sandbox", "network_roles") or {}).get(role) or self.setting("sandbox", "network"))

    def check_variables(self) -> list[str]:
        """Returns the names of the variables that checks and set-up get besides the usual ones."""
        in_sandbox = self.setting("sandbox", "env") if self.setting("sandbox", "mode") != "off" else ()
        return [*self.setting("checks", "env"), *in_sandbox]

    def checks_network(self) -> str:
        """Returns what checks may reach, or "" if the user did not say."""
        return str((self.setting("sandbox", "network_roles") or {}).get("checks", ""))

    def sandbox_hosts(self) -> list[str]:
        """Returns the hosts that may be reached with `model`; raises for one that is none."""
        from sow.domain.network import host_error  # here, because most users name none

        for host in self.setting("sandbox", "hosts"):
            if problem := host_error(host):
                raise InvalidFile(f"{self.path}: sandbox.hosts: {host!r:.80} {problem}", FIX_HINT)
        return list(self.setting("sandbox", "hosts"))

    def sandbox_paths(self, name: str) -> list[str]:
        """Returns the paths of sandbox.read or sandbox.write; raises for one that is missing or holds the home."""
        home, paths = os.path.realpath(os.path.expanduser("~")), []
        for text in self.setting("sandbox", name):
            path = os.path.realpath(os.path.expanduser(text))
            problem = "" if os.path.exists(path) else "does not exist"
            problem = problem if text.startswith(("/", "~/")) else "must begin with / or ~/"
            if f"{home}/".startswith(f"{path.rstrip('/')}/"):
                problem = "would open your whole home folder"
            if problem:
                raise InvalidFile(f"{self.path}: sandbox.{name}: {text!r:.200} {problem}", FIX_HINT)
            paths.append(path)
        return paths

    def notify_command(self) -> list[str]:
        """Returns the arguments of the notify command, or [] if there is none."""
        import shlex

        command = self.setting("notify", "command")
        try:
            arguments = shlex.split(command) if isinstance(command, str) else [str(argument) for argument in command]
        except ValueError:
            raise InvalidFile(f"{self.path}: notify.command: a quote is not closed", FIX_HINT) from None
        if not arguments:
            return []
        program = os.path.expanduser(arguments[0])
        if not program or ("/" in program and not os.path.isabs(program)):
            rule = "must begin with the name of a program or an absolute path"
            raise InvalidFile(f"{self.path}: notify.command: {rule}, not {program!r:.80}", FIX_HINT)
        if any("\0" in argument for argument in arguments):
            raise InvalidFile(f"{self.path}: notify.command: no command line can have a NUL", FIX_HINT)
        return [program, *arguments[1:]]

    def seconds(self, limit: str) -> float:
        """Returns a limit in seconds."""
        return seconds(str(self.limits[limit][0]))

    def agents(self, root: str, environment: Mapping[str, str], reviewers: Iterable[str] = ()) -> AgentRegistry:
        """Returns the roles of a checkout, or of the user if root is empty."""
        from sow.agents.registry import AgentRegistry  # here, because most calls name no role

        return AgentRegistry(
            root=root,
            user_home=environment.get("HOME", ""),
            directories=self.directories[0],
            trusted=bool(root) and self.trusts(root),
            reviewers=reviewers,
        )

    def trusts(self, root: str) -> bool:
        """Returns whether the user allows this repository to define judges."""
        return any(os.path.realpath(os.path.expanduser(folder)) == os.path.realpath(root) for folder in self.trust)


def _with_origins(defaults: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
    """Returns every value of a section with its origin."""
    return {key: (values.get(key, value), FROM_FILE if key in values else DEFAULT) for key, value in defaults.items()}


def _sandbox_mode(mode: str) -> str:
    from sow.system.sandbox import MODES  # here, because few users set the variable

    if mode not in MODES:
        raise SowError(f"{SANDBOX_VARIABLE} is {mode!r:.80}", f"use one of {', '.join(MODES)}")
    return mode


def role_variable(role: str) -> str:
    """Returns the variable that binds a role for one call: SOW_AGENTS_IMPLEMENTER."""
    return VARIABLE_PREFIX + role.upper().replace("-", "_")


def _executors(defined: Mapping[str, Any]) -> dict[str, ExecutorConfig]:
    """Returns every built-in executor, and the user's executors, which replace them."""
    executors = {
        name: ExecutorConfig(name=name, type=kind, settings={}, custom_args=(), origin=DEFAULT)
        for name, kind in DEFAULT_EXECUTORS.items()
    }
    for name, entry in defined.items():
        executors[name] = ExecutorConfig(
            name=name,
            type=entry["type"],
            settings=entry.get("settings") or {},
            custom_args=tuple(entry.get("custom_args") or ()),
            origin=FROM_FILE,
        )
    return executors


def executor_error(executor: ExecutorConfig) -> str:
    """Returns what is wrong with an executor beyond its schema, with the field, or ""."""
    if executor.origin == DEFAULT:
        return ""

    is_name, rule = FORMATS["sow-agent"]
    if not is_name(executor.name):
        return f"agents.executors: {executor.name!r} is no name for an executor; use {rule}"
    try:
        problem = setting_error(executor.type, executor.settings, executor.custom_args)
    except SowError as error:  # its type is unknown, or cannot be loaded
        problem = f"type: {error.message}; {error.hint}"
    return f"agents.executors.{executor.name}.{problem}" if problem else ""


def yolo_warning(executor: ExecutorConfig) -> str:
    """Returns a warning about a CLI that can change nothing without yolo_mode, or ""."""

    if executor.yolo or not adapter(executor.type).capabilities.needs_yolo:
        return ""
    return f"{executor.name} can change nothing without yolo_mode: true in agents.executors.{executor.name}.settings"


def load(environment: Mapping[str, str]) -> Config:
    """Returns the effective settings; no file is needed."""
    file_path = path(environment)
    text = read(file_path)
    return Config(file_path, None if text is None else parse(text, file_path), environment)


def read(file_path: str) -> str | None:
    """Returns the text of the user's file, or None; it may be a link, since people keep their settings in git."""
    try:
        return read_text(Disk(), os.path.realpath(file_path), yaml_text.MAX_BYTES)
    except FileNotFoundError:
        return None
    except InvalidFile as error:
        raise InvalidFile(error.message, FIX_HINT) from None


def document(text: str, file_path: str) -> Any:
    """Returns the YAML of a config file; an empty file, or one with only comments, is an empty mapping."""
    try:
        data = yaml_text.load(text, file_path) if text.strip() else None
    except InvalidFile as error:
        raise InvalidFile(error.message, FIX_HINT) from None
    return {} if data is None else data


def parse(text: str, file_path: str) -> dict[str, Any]:
    """Returns the content of a config file without defaults; validation fills in defaults, so it gets a copy."""
    from sow.store.validators.user_config import validate  # here, because many users have no such file

    data = document(text, file_path)
    try:
        state_file.check(copy(data), file_path, validate)
    except InvalidFile as error:
        raise InvalidFile(error.message, FIX_HINT, place=error.field_path) from None
    return dict(data)


def copy(value: Any) -> Any:
    """Returns a copy of a document at all levels."""
    if isinstance(value, dict):
        return {key: copy(item) for key, item in value.items()}
    return [copy(item) for item in value] if isinstance(value, list) else value


def seconds(duration: str) -> float:
    """Returns the seconds of `90s`, `45m` or `2h`."""
    number = duration.rstrip("dhms")
    unit = duration[len(number) :]
    if not (number.isascii() and number.isdigit() and unit in UNITS):
        raise SowError(f"{duration!r} is not a duration", "write a number and a unit, such as 90s, 45m or 2h")
    return int(number) * UNITS[unit]


def unknown_executor(name: str, config: Config) -> SowError:
    """Returns the error for an unknown executor, with the setting that names it and the nearest name."""
    lines = ["Available executors:", *(f"  - {executor}" for executor in sorted(config.executors)), ""]
    lines += [
        f"Check your configuration at {abbreviated_path(config.path)}",
        "Run 'sow config path' to see the full path.",
    ]
    lines += ["Run 'sow config init' to create a default configuration."]
    advice = "; ".join(part for part in (_naming_setting(name, config), suggestion(name, config.executors)) if part)
    return SowError(f"unknown executor: {name}", "\n".join([advice, "", *lines] if advice else lines))


def _naming_setting(name: str, config: Config) -> str:
    """Returns which setting names this executor."""
    fields = [variable for variable, value in config.overrides.items() if value == name]
    fields += ["agents.default"] if config.default == name else []
    fields += [f"agents.bindings.{role}" for role, value in config.bindings.items() if value == name]
    fields += [f"agents.fallbacks.{role}" for role, values in config.fallbacks.items() if name in values]
    return f"{fields[0]} names it" if fields else ""


def abbreviated_path(file_path: str) -> str:
    """Returns a path with ~ for the home folder."""
    home = os.path.expanduser("~")
    return f"~{file_path.removeprefix(home)}" if file_path.startswith(f"{home}/") else file_path
