"""Installs the real agent CLIs in pinned versions in a cache, and configures them to use the stub."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

# name → (installer, package, version, where its program is; a star stands for the platform's name)
PINNED = {
    "claude": ("npm", "@anthropic-ai/claude-code", "2.1.325", "node_modules/.bin/claude"),
    "codex": ("npm", "@openai/codex", "0.166.0", "node_modules/@openai/codex-*/vendor/*/bin/codex"),
    "gemini": ("npm", "@google/gemini-cli", "0.61.0", "node_modules/.bin/gemini"),
    "qwen": ("npm", "@qwen-code/qwen-code", "0.24.4", "node_modules/.bin/qwen"),
    "opencode": ("npm", "opencode-ai", "1.18.33", "node_modules/.bin/opencode"),
    "copilot": ("npm", "@github/copilot", "1.0.102", "node_modules/@github/copilot-*/copilot"),
    "aider": ("pip", "aider-chat", "0.86.2", "bin/aider"),
}
PATIENCE = 900


class InstallFailed(Exception):
    """A CLI that cannot be installed: its tests fail in their setup with the name of the package."""


def chosen(text: str) -> list[str]:
    """Returns the requested CLIs, as in `claude,codex`; an empty text means all of them."""
    result = [part.strip() for part in text.split(",") if part.strip()] or list(PINNED)
    unknown = [item for item in result if item not in PINNED]
    if unknown:
        raise ValueError(f"CLIS: there is no {', '.join(unknown)}; the CLIs are {', '.join(PINNED)}")
    return result


def main(text: str) -> int:
    """Installs what is missing before any test runs; a package that cannot be installed is named once."""
    try:
        for name in chosen(text):
            binary(name)
    except (InstallFailed, ValueError) as error:
        output = f"missing download: {error}" if isinstance(error, InstallFailed) else f"error: {error}"
        print(output, file=sys.stderr)
        return 1
    return 0


def cache() -> Path:
    """Returns the folder of installed CLIs, for this run and for later ones."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sow-real-clis"


def binary(name: str) -> str:
    """Returns the path of a CLI's program, and installs it first if it is missing."""
    _, package, version, inside = PINNED[name]
    folder = cache() / f"{name}-{version}"
    if not (folder / "ready").is_file():
        _install(name, folder)
    paths = sorted(folder.glob(inside))
    if not paths:
        raise InstallFailed(f"{package} {version} is installed in {folder}, but it has no {inside}")
    return str(paths[0])


def _install(name: str, folder: Path) -> None:
    """Installs in one process while others wait; a folder counts only with its last file."""
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "ready").is_file():
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        installer, package, version, _ = PINNED[name]
        if installer == "npm":
            options = ["--no-audit", "--no-fund", "--loglevel=error", f"--prefix={folder}"]
            options += ["--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]  # no network is soon said
            _run(["npm", "install", *options, f"{package}@{version}"], package, version)
            _check_version(folder, package, version)
        else:  # a virtual environment cannot be moved, so it is made where it stays
            _run([sys.executable, "-m", "venv", str(folder)], package, version)
            _run([str(folder / "bin/python"), "-m", "pip", "install", "-qq", f"{package}=={version}"], package, version)
        (folder / "ready").write_text(f"{package} {version}\n")


def _run(words: list[str], package: str, version: str) -> None:
    try:
        result = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InstallFailed(f"cannot install {package} {version}: {error}") from None
    if result.returncode:
        raise InstallFailed(f"cannot install {package} {version}: {words[0]} says: {result.stderr.strip()[-2000:]}")


def _check_version(folder: Path, package: str, version: str) -> None:
    """Checks the version: npm may choose an older one that fits this Node."""
    got = json.loads((folder / "node_modules" / package / "package.json").read_text())["version"]
    if got != version:
        raise InstallFailed(f"cannot install {package} {version}: npm chose {got}")


def environment(name: str, home: str | Path, port: int) -> dict[str, str]:
    """Returns a CLI's variables for the stub on this port; its settings and files are below its home."""
    home = Path(home)
    temporary = home / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    result: dict[str, str] = globals()[f"_{name}"](home, f"http://127.0.0.1:{port}")
    return {"HOME": str(home), "TMPDIR": str(temporary), **_no_way_out(), **result}


def _no_way_out() -> dict[str, str]:
    """Sends every request to another machine to a proxy that does not exist."""
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    nowhere = {name: "http://127.0.0.1:9" for text in names for name in (text, text.lower())}
    return {**nowhere, "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _claude(home: Path, url: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-dummy-anthropic",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        **({"IS_SANDBOX": "1"} if os.geteuid() == 0 else {}),
    }


def _codex(home: Path, url: str) -> dict[str, str]:
    lines = [
        'model = "gpt-5.5"',
        'model_provider = "stub"',
        "[model_providers.stub]",
        'name = "stub"',
        f'base_url = "{url}/v1"',
        'env_key = "OPENAI_API_KEY"',
        'wire_api = "responses"',
        "[features]",
        "plugins = false",
        "[analytics]",
        "enabled = false",
    ]
    _write(home / ".codex/config.toml", "\n".join(lines) + "\n")
    return {"OPENAI_API_KEY": "sk-dummy-openai"}


def _gemini(home: Path, url: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "telemetry": {"enabled": False},
    }
    _write(home / ".gemini/settings.json", json.dumps(settings))
    return {"GEMINI_API_KEY": "sk-dummy-gemini", "GOOGLE_GEMINI_BASE_URL": url}


def _qwen(home: Path, url: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
    }
    _write(home / ".qwen/settings.json", json.dumps(settings))
    return {"OPENAI_API_KEY": "sk-dummy-openai", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "stub-model"}


def _opencode(home: Path, url: str) -> dict[str, str]:
    model = {"name": "Stub", "limit": {"context": 200000, "output": 8000}, "cost": {"input": 3, "output": 15}}
    options = {"baseURL": f"{url}/v1", "apiKey": "sk-dummy-openai"}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "stub",
        "options": options,
        "models": {"stub-model": model},
    }
    config = {
        "provider": {"stub": provider},
        "model": "stub/stub-model",
        "small_model": "stub/stub-model",
        "autoupdate": False,
        "share": "disabled",
    }
    switches = ("AUTOUPDATE", "MODELS_FETCH", "DEFAULT_PLUGINS", "LSP_DOWNLOAD")
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        **{f"OPENCODE_DISABLE_{switch}": "1" for switch in switches},
    }


def _copilot(home: Path, url: str) -> dict[str, str]:
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": "sk-dummy-openai",
        "COPILOT_MODEL": "stub-model",
        "COPILOT_AUTO_UPDATE": "false",
        "XDG_CACHE_HOME": str(cache() / "copilot-cache"),  # it unpacks 235 MB for every home that has no such cache
    }


def _aider(home: Path, url: str) -> dict[str, str]:
    prices = {"input_cost_per_token": 3e-6, "output_cost_per_token": 15e-6}
    sizes = {"max_tokens": 8000, "max_input_tokens": 200000, "max_output_tokens": 8000}
    existing = {**sizes, **prices, "litellm_provider": "openai", "mode": "chat"}
    _write(home / ".aider.model.metadata.json", json.dumps({"openai/stub-model": existing}))
    return {
        "OPENAI_API_KEY": "sk-dummy-openai",
        "OPENAI_API_BASE": f"{url}/v1",
        "AIDER_ANALYTICS": "false",
        "AIDER_CHECK_UPDATE": "false",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
