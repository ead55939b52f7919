"""The last good copy of every state file, in the git folder: no stash, switch, clean or careless worker reaches it."""

from __future__ import annotations

from sow.errors import SowError
from sow.store.disk import read_text, replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.home import Home


def keep(home: Home, project_id: str, name: str, text: str) -> None:
    """Remember the text; the state itself is safe already, so a failure here is no failure of the change."""
    try:
        replace_file(home.disk, f"{home.kept(project_id)}/{name}.yaml", text, durable=False)
    except SowError:
        return


def recall(home: Home, project_id: str, name: str) -> str | None:
    """The last good text, if there is one."""
    try:
        return read_text(home.disk, f"{home.checkout.common}/sow/{project_id}/{name}.yaml")
    except FileNotFoundError:
        return None
