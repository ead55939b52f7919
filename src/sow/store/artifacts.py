"""Where documents that outlive a project are kept: the repository says it in .sow/config.yaml, below its own root."""

from __future__ import annotations

from sow.domain import text
from sow.errors import InvalidFile, SowError
from sow.store import state, yaml_text
from sow.store.layout import ARTIFACTS
from sow.store.validators.repo_config import validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.home import Home


def folders(home: Home) -> dict[str, str]:
    """The folder of each kind of document, below the root; no path of the repository leads out of it."""
    path = f"{home.sow}/config.yaml"
    shown = home.relative(path)
    try:
        data = yaml_text.load(home.read(path, yaml_text.MAX_BYTES), shown)
    except FileNotFoundError:
        return dict(ARTIFACTS)
    if data is None:
        return dict(ARTIFACTS)
    state.check(data, shown, validate)
    return {**ARTIFACTS, **{kind: _below(value, kind, shown) for kind, value in (data.get("artifacts") or {}).items()}}


def _below(value: str, kind: str, shown: str) -> str:
    try:
        found = text.path(value, f"artifacts.{kind}")
    except SowError as error:
        raise InvalidFile(f"{shown}: {error.message}", error.hint) from None
    if found == "." or found.split("/")[0] == ".git" or found.startswith((".sow/project", ".sow/local")):
        raise InvalidFile(f"{shown}: artifacts.{kind}: {value!r:.80} is no place for documents", "such as docs/adrs")
    return found
