"""Writes generated files (`make generate`); with `--check`, fails if one is not current."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sow.domain.task import NOTE, PHASE, TASK
from sow.domain.workflows.lifecycle import WORKFLOW_AGENT
from sow.store.formats import VERSION
from tools import types, validators

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "sow"


def validator_files() -> dict[Path, str]:
    """Returns one validator module for each schema of the current version."""
    folder = PACKAGE / "store" / "validators"
    files = {folder / "__init__.py": '"""Validators, written by `make generate` from the schemas beside them."""\n'}
    for path in sorted((PACKAGE / "store" / "schemas" / f"v{VERSION}").glob("*.json")):
        text = validators.write(path.stem, f"v{VERSION}", json.loads(path.read_text()))
        files[folder / f"{path.stem.replace('-', '_')}.py"] = text
    return files


def type_file() -> dict[Path, str]:
    """Returns the stub with the types of the state files, and the module that has their names."""
    folder = PACKAGE / "store" / "schemas" / f"v{VERSION}"
    text = types.write(lambda name: json.loads((folder / f"{name}.json").read_text()))
    documents = PACKAGE / "domain" / "documents"
    return {documents / "state.pyi": text, documents / "state.py": types.write_runtime()}


def lifecycles() -> str:
    """Returns the page with one table for each lifecycle."""
    parts = [
        "# Lifecycles\n\nEach table lists every legal change of a status. sow refuses all other changes.\n"
        "`make generate` writes this page from the tables in `src/sow/domain`.\n"
    ]
    for lifecycle in (TASK, PHASE, NOTE, WORKFLOW_AGENT):
        final = " and ".join(f"`{status}`" for status in lifecycle.statuses if not lifecycle.targets(status))
        parts.append(
            f"## {lifecycle.noun.capitalize()}\n\nThe first status is `{lifecycle.start}`."
            + (f" No status follows {final}." if final else "")
            + "\n\n| from | to | change |\n|---|---|---|\n"
            + "".join(f"| `{source}` | `{to}` | {move} |\n" for (source, to), move in lifecycle.moves.items())
        )
    return "\n".join(parts)


def docs() -> dict[Path, str]:
    """Returns the generated pages; the import is late because the command line needs the validators."""
    from tools import reference

    folder = ROOT / "docs" / "reference"
    schemas = sorted((PACKAGE / "store" / "schemas" / f"v{VERSION}").glob("*.json"))
    return {
        folder / "lifecycles.md": lifecycles(),
        folder / "commands.md": reference.reference(),
        folder / "executors.md": reference.executors((folder / "executors.md").read_text()),
        folder / "fields.md": reference.fields({path.stem: json.loads(path.read_text()) for path in schemas}),
    }


def plugin() -> dict[Path, str]:
    """Returns the plugin of Claude Code (the texts of `sow install claude`) and the repository's marketplace file."""
    from sow.agents.layer import marketplace, plugin_files

    files = {ROOT / "plugin" / path: text for path, text in plugin_files().items()}
    return files | {ROOT / ".claude-plugin" / "marketplace.json": marketplace("./plugin")}


def stale_files() -> list[Path]:
    """Returns files in the plugin's folder that are no longer generated."""
    generated = plugin()
    return [path for path in sorted((ROOT / "plugin").rglob("*")) if path.is_file() and path not in generated]


def main() -> int:
    stale = 0
    for path in stale_files():
        stale += 1
        if "--check" in sys.argv:
            print(f"{path.relative_to(ROOT)} comes from nothing: run make generate", file=sys.stderr)
        else:
            path.unlink()
            print(f"removed {path.relative_to(ROOT)}")
    for generate in (validator_files, type_file, docs, plugin):
        for path, text in generate().items():
            if path.exists() and path.read_text() == text:
                continue
            stale += 1
            if "--check" in sys.argv:
                print(f"{path.relative_to(ROOT)} is not current: run make generate", file=sys.stderr)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
                print(f"wrote {path.relative_to(ROOT)}")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
